//! The names that scopes of the whole standard library bind equal those that CPython's symtable tells.

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use ruff_python_ast::{Stmt, name::Name};
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;

use super::{bound, for_each_statement};
use crate::{
    source::Source,
    syntax::{Syntax, with_deep_stack},
};

/// Kind, name, line of its keyword, names that it binds.
type Scope = (String, String, u32, Vec<String>);

/// The names that symtable gives to scopes without a statement. Functions of these names are left
/// out too.
const COMPREHENSIONS: &[&str] = &["lambda", "listcomp", "setcomp", "dictcomp", "genexpr"];

/// An interpreter whose symtable does not yet merge comprehensions into what is around them.
fn interpreter() -> Option<&'static str> {
    ["python3.11", "python3.10", "python3.9", "python3"].into_iter().find(|name| {
        let old = "import sys; sys.exit(sys.version_info >= (3, 12))";
        let works = Command::new(name).args(["-c", old]).output();
        works.is_ok_and(|output| output.status.success())
    })
}

fn scopes(syntax: &Syntax) -> Vec<Scope> {
    let mut found =
        vec![("module".to_owned(), String::new(), 0, sorted(bound(syntax.body()).local))];
    inside(syntax, syntax.body(), &mut found);
    found.sort();
    found
}

fn inside(syntax: &Syntax, body: &[Stmt], found: &mut Vec<Scope>) {
    for_each_statement(body, &mut |stmt| {
        let (kind, name, body, parameters) = match stmt {
            Stmt::FunctionDef(function) => {
                let parameters = function.parameters.iter().map(|p| p.name().id.clone()).collect();
                ("function", &function.name, &function.body, parameters)
            }
            Stmt::ClassDef(class) => ("class", &class.name, &class.body, Vec::new()),
            _ => return,
        };
        let mut names = bound(body).local;
        names.extend(parameters);
        let line = syntax.source().line(name.start());
        if !COMPREHENSIONS.contains(&name.as_str()) {
            found.push((kind.to_owned(), name.to_string(), line, sorted(names)));
        }
        inside(syntax, body, found);
    });
}

fn sorted(names: FxHashSet<Name>) -> Vec<String> {
    let mut names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    names.sort_unstable();
    names
}

#[test]
fn scopes_of_the_standard_library_bind_what_symtable_says() {
    let Some(python) = interpreter() else {
        println!("skipped: no Python 3.9 to 3.11 is on the path");
        return;
    };
    let ask = |arguments: &[&str]| {
        let output = Command::new(python).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let root = ask(&["-c", "import os; print(os.path.dirname(os.__file__))"]);
    let root = PathBuf::from(root.trim());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/symtable_reference.py");
    let said = ask(&[script, root.to_str().unwrap()]);
    let theirs: BTreeMap<String, Vec<Scope>> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(theirs.len() > 500, "{} files", theirs.len());
    let wrong: Vec<String> = theirs
        .into_par_iter()
        .filter_map(|(path, mut theirs)| {
            theirs.sort();
            let bytes = fs::read(root.join(&path)).unwrap();
            let source = Source::decode(&path, &bytes).ok()?;
            let ours = with_deep_stack(|| scopes(&Syntax::parse(source)));
            (ours != theirs).then(|| {
                let missing: Vec<_> = theirs.iter().filter(|s| !ours.contains(s)).take(2).collect();
                let more: Vec<_> = ours.iter().filter(|s| !theirs.contains(s)).take(2).collect();
                format!("{path}: symtable {missing:?}, here {more:?}")
            })
        })
        .collect();
    let first = &wrong[..wrong.len().min(8)];
    assert!(wrong.is_empty(), "{} files differ\n{}", wrong.len(), first.join("\n"));
}
