//! Replaces the gist's test function by the original one (Gistify, arXiv 2510.26790, section 2.2),
//! so that no test can be weakened.
//!
//! Replaces text by byte ranges: decorators, signature and body of the original. Internal imports
//! become `pass`, since a gist cannot import them, or the import at which they failed. Nothing here
//! is executed or scored.

use graph::FailedImport;
use ruff_python_ast::{
    Stmt, StmtClassDef, StmtFunctionDef,
    visitor::{Visitor, walk_stmt},
};
use ruff_source_file::UniversalNewlines;
use ruff_text_size::{Ranged, TextRange, TextSize};
use serde::{Deserialize, Serialize};

/// A test function of the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestFunction {
    /// Qualified name of the block that holds it: for an inherited test that of the base class.
    pub block: String,
    /// Path of the file that defines it.
    pub path: String,
    /// Its text from the first decorator on, internal imports made `pass` or what they failed at, as indented in the
    /// original.
    pub text: String,
    /// Width of that indentation, in characters.
    indent: String,
}

/// A gist with the original tests in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injected {
    /// The text to run.
    pub text: String,
    /// Blocks that were replaced.
    pub replaced: Vec<String>,
    /// Blocks that the gist does not have.
    pub missing: Vec<String>,
}

/// An import that a test may not make from a gist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForbiddenImport<'a> {
    /// An absolute module name.
    Absolute(&'a str),
    /// A relative one.
    Relative,
}

/// Finds a test in the sources of the original. `names` are its classes and its function; `files` are
/// (path, text), the test's own file first: an inherited test is found in its base class by name. `failed` are the
/// original's imports that failed.
pub fn find_test(
    files: &[(&str, &str)],
    names: &[String],
    failed: &[FailedImport],
    is_internal: &(dyn Fn(ForbiddenImport<'_>) -> bool + Sync),
) -> Option<TestFunction> {
    graph::with_deep_stack(|| {
        let syntax: Vec<graph::Syntax> =
            files.iter().map(|(path, text)| source(path, text)).collect();
        let (file, block, def) = locate(&syntax, names)?;
        let text = syntax[file].source().text();
        let start = start_of(def);
        let line = line_start(text, start);
        let indent = &text[line..start.to_usize()];
        let indent: String = indent.chars().take_while(|c| c.is_whitespace()).collect();
        let whole = TextRange::new(start, def.end());
        let mut imports = Imports { found: Vec::new(), is_internal };
        for stmt in &def.body {
            imports.visit_stmt(stmt);
        }
        let path = files[file].0;
        for (range, replacement) in &mut imports.found {
            let place = (path, syntax[file].source().line(range.start()));
            let is_it = |one: &&FailedImport| (&*one.place.path, one.place.line) == place;
            if let Some(one) = failed.iter().find(is_it) {
                replacement.clone_from(&one.text);
            }
        }
        let mut out = String::new();
        let mut at = whole.start();
        for (range, replacement) in imports.found {
            out.push_str(&text[TextRange::new(at, range.start())]);
            out.push_str(&replacement);
            at = range.end();
        }
        out.push_str(&text[TextRange::new(at, whole.end())]);
        Some(TestFunction { block, path: path.to_owned(), text: out, indent })
    })
}

/// Puts tests in place of a gist's own.
pub fn inject(gist: &str, tests: &[TestFunction]) -> Injected {
    graph::with_deep_stack(|| {
        let mut injected =
            Injected { text: gist.to_owned(), replaced: Vec::new(), missing: Vec::new() };
        for test in tests {
            let syntax = source("gist", &injected.text);
            let names: Vec<String> = test.block.split('.').map(str::to_owned).collect();
            let Some(def) = function(syntax.body(), &names) else {
                injected.missing.push(test.block.clone());
                continue;
            };
            let start = start_of(def);
            let line = line_start(&injected.text, start);
            let indent: String = injected.text[line..start.to_usize()]
                .chars()
                .take_while(|c| c.is_whitespace())
                .collect();
            let text = indented(test, &indent);
            let range = start.to_usize()..def.end().to_usize();
            injected.text.replace_range(range, &text);
            injected.replaced.push(test.block.clone());
        }
        injected
    })
}

/// Finds a function by its classes and its name; the last definition wins, as it does when run.
fn function<'a>(body: &'a [Stmt], names: &[String]) -> Option<&'a StmtFunctionDef> {
    let (first, rest) = names.split_first()?;
    if rest.is_empty() {
        return definitions(body).into_iter().rev().find_map(|stmt| match stmt {
            Stmt::FunctionDef(def) if def.name.as_str() == first => Some(def),
            _ => None,
        });
    }
    function(&class(body, first)?.body, rest)
}

fn class<'a>(body: &'a [Stmt], name: &str) -> Option<&'a StmtClassDef> {
    definitions(body).into_iter().rev().find_map(|stmt| match stmt {
        Stmt::ClassDef(def) if def.name.as_str() == name => Some(def),
        _ => None,
    })
}

/// Statements of a scope in source order, those inside others that are no definitions included.
fn definitions(body: &[Stmt]) -> Vec<&Stmt> {
    let mut all = Vec::new();
    let mut pending: Vec<&Stmt> = body.iter().rev().collect();
    while let Some(stmt) = pending.pop() {
        all.push(stmt);
        let mut inner: Vec<&Stmt> = Vec::new();
        match stmt {
            Stmt::If(node) => {
                inner.extend(&node.body);
                for clause in &node.elif_else_clauses {
                    inner.extend(&clause.body);
                }
            }
            Stmt::Try(node) => {
                inner.extend(&node.body);
                for handler in &node.handlers {
                    let ruff_python_ast::ExceptHandler::ExceptHandler(handler) = handler;
                    inner.extend(&handler.body);
                }
                inner.extend(node.orelse.iter().chain(&node.finalbody));
            }
            Stmt::With(node) => inner.extend(&node.body),
            Stmt::For(node) => inner.extend(node.body.iter().chain(&node.orelse)),
            Stmt::While(node) => inner.extend(node.body.iter().chain(&node.orelse)),
            Stmt::Match(node) => inner.extend(node.cases.iter().flat_map(|case| &case.body)),
            _ => {}
        }
        pending.extend(inner.into_iter().rev());
    }
    all
}

/// The file, block and definition of a test: its own, or that of the first base class with such a
/// method.
fn locate<'a>(
    files: &'a [graph::Syntax],
    names: &[String],
) -> Option<(usize, String, &'a StmtFunctionDef)> {
    let own = files.first()?;
    if let Some(def) = function(own.body(), names) {
        return Some((0, names.join("."), def));
    }
    let (method, classes) = names.split_last()?;
    let (name, outer) = classes.split_last()?;
    let mut body = own.body();
    for outer in outer {
        body = &class(body, outer)?.body;
    }
    let mut pending: Vec<String> = bases(class(body, name)?);
    let mut seen: Vec<String> = Vec::new();
    while !pending.is_empty() {
        let base = pending.remove(0);
        if seen.contains(&base) {
            continue;
        }
        for (number, file) in files.iter().enumerate() {
            let Some(def) = class(file.body(), &base) else { continue };
            let names = [base.clone(), method.clone()];
            if let Some(test) = function(file.body(), &names) {
                return Some((number, names.join("."), test));
            }
            pending.extend(bases(def));
        }
        seen.push(base);
    }
    None
}

/// Last parts of the names of a class's bases.
fn bases(def: &StmtClassDef) -> Vec<String> {
    let arguments = def.arguments.iter().flat_map(|arguments| &arguments.args);
    arguments
        .filter_map(|base| match base {
            ruff_python_ast::Expr::Name(name) => Some(name.id.to_string()),
            ruff_python_ast::Expr::Attribute(attribute) => Some(attribute.attr.to_string()),
            _ => None,
        })
        .collect()
}

struct Imports<'a> {
    found: Vec<(TextRange, String)>,
    is_internal: &'a (dyn Fn(ForbiddenImport<'_>) -> bool + Sync),
}

impl Visitor<'_> for Imports<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Import(node) => {
                let external: Vec<String> = node
                    .names
                    .iter()
                    .filter(|alias| !(self.is_internal)(ForbiddenImport::Absolute(&alias.name)))
                    .map(|alias| match &alias.asname {
                        Some(name) => format!("{} as {name}", alias.name),
                        None => alias.name.to_string(),
                    })
                    .collect();
                if external.is_empty() {
                    self.found.push((node.range(), "pass".to_owned()));
                } else if external.len() < node.names.len() {
                    self.found.push((node.range(), format!("import {}", external.join(", "))));
                }
            }
            Stmt::ImportFrom(node) => {
                let import = match &node.module {
                    _ if node.level > 0 => ForbiddenImport::Relative,
                    Some(module) => ForbiddenImport::Absolute(module),
                    None => return,
                };
                if (self.is_internal)(import) {
                    self.found.push((node.range(), "pass".to_owned()));
                }
            }
            _ => walk_stmt(self, stmt),
        }
    }
}

/// A test's text as it reads at another indentation; lines inside strings stay as they are.
fn indented(test: &TestFunction, indent: &str) -> String {
    if test.indent == indent {
        return test.text.clone();
    }
    // The text starts at its first decorator, so its own first line has no indentation.
    let padded = format!("{}{}", test.indent, test.text);
    let wrapped = if test.indent.is_empty() { padded } else { format!("if 1:\n{padded}") };
    let syntax = source("test", &wrapped);
    let all = TextRange::new(TextSize::new(0), TextSize::of(wrapped.as_str()));
    let fixed = syntax.lines_in_strings(all);
    let mut out = String::new();
    let skipped = usize::from(!test.indent.is_empty());
    for (number, line) in wrapped.universal_newlines().enumerate().skip(skipped) {
        let text = line.as_full_str();
        let number = u32::try_from(number + 1).unwrap_or(u32::MAX);
        match text.strip_prefix(test.indent.as_str()) {
            Some(rest) if !fixed.contains(&number) && !rest.trim().is_empty() => {
                out.push_str(indent);
                out.push_str(rest);
            }
            _ => out.push_str(text),
        }
    }
    // The first line's indentation stands in the gist already.
    out.strip_prefix(indent).map(str::to_owned).unwrap_or(out)
}

fn source(path: &str, text: &str) -> graph::Syntax {
    graph::Syntax::parse(graph::Source::new(path, text))
}

fn start_of(def: &StmtFunctionDef) -> TextSize {
    def.decorator_list.first().map_or(def.start(), Ranged::start).min(def.start())
}

fn line_start(text: &str, offset: TextSize) -> usize {
    text[..offset.to_usize()].rfind(['\n', '\r']).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn internal(import: ForbiddenImport<'_>) -> bool {
        match import {
            ForbiddenImport::Relative => true,
            ForbiddenImport::Absolute(name) => name == "pkg" || name.starts_with("pkg."),
        }
    }

    fn names(dotted: &str) -> Vec<String> {
        dotted.split('.').map(str::to_owned).collect()
    }

    /// The import whose line says `# fails` failed in the original.
    fn check(original: &str, test: &str, gist: &str, expected: &str) {
        let failed = (1..).zip(original.lines()).filter(|(_, line)| line.contains("# fails"));
        let failed: Vec<_> = failed
            .map(|(line, _)| FailedImport {
                place: graph::Place { path: "t.py".to_owned(), line },
                text: "import missing".to_owned(),
            })
            .collect();
        let found =
            find_test(&[("t.py", original)], &names(test), &failed, &internal).expect("the test");
        let injected = inject(gist, &[found]);
        assert_eq!(injected.text, expected);
        assert_eq!(injected.missing, Vec::<String>::new());
    }

    #[test]
    fn the_original_test_replaces_the_gists() {
        check(
            "import pkg\n\n@mark(1)\ndef test_a(x):\n    import pkg, os\n    from pkg.m import (a,\n        b)\n    assert x == 1  # yes\n\ny = 2\n",
            "test_a",
            "z = 1\n@mark(2)\n@other\ndef test_a(x): pass\nw = 3\n",
            "z = 1\n@mark(1)\ndef test_a(x):\n    import os\n    pass\n    assert x == 1\nw = 3\n",
        );
        check(
            "class T:\n    def test_a(self):\n        '''a\n    b'''\n        x()\n",
            "T.test_a",
            "class T:\n  y = 1\n  def test_a(self):\n    pass\n",
            "class T:\n  y = 1\n  def test_a(self):\n      '''a\n    b'''\n      x()\n",
        );
    }

    #[test]
    fn an_import_that_failed_fails_at_what_it_asked_for() {
        check(
            "def test_a():\n    from pkg import (a,  # fails\n        b)\n    import pkg\n",
            "test_a",
            "def test_a():\n    pass\n",
            "def test_a():\n    import missing\n    pass\n",
        );
    }

    #[test]
    fn the_last_definition_is_the_test() {
        check(
            "def test_a():\n    first()\nif x:\n    def test_a():\n        second()\n",
            "test_a",
            "def test_a():\n    pass\n",
            "def test_a():\n    second()\n",
        );
    }

    #[test]
    fn an_inherited_test_is_found_in_its_base() {
        check(
            "class Base:\n    def test_a(self):\n        x()\nclass Middle(Base): pass\nclass T(mod.Middle): pass\n",
            "T.test_a",
            "class Base:\n    def test_a(self):\n        y()\nclass T(Base): pass\n",
            "class Base:\n    def test_a(self):\n        x()\nclass T(Base): pass\n",
        );
    }

    #[test]
    fn a_gist_without_the_test_is_reported() {
        let test = find_test(&[("t.py", "def test_a(): x()\n")], &names("test_a"), &[], &internal);
        let injected = inject("def test_b(): pass\n", &[test.unwrap()]);
        assert_eq!(injected.missing, ["test_a"]);
        assert_eq!(injected.text, "def test_b(): pass\n");
    }
}
