//! The original test function put in place of the gist's (Gistify, arXiv 2510.26790, section 2.2), so
//! that no test can be weakened.
//!
//! Text is exchanged by byte ranges: decorators, signature and body of the original, its internal imports
//! made `pass` because a gist has nothing to import them from. Nothing here runs or scores.

use std::borrow::Cow;

use ruff_python_ast::{
    Stmt, StmtClassDef, StmtFunctionDef,
    visitor::{Visitor, walk_stmt},
};
use ruff_source_file::UniversalNewlines;
use ruff_text_size::{Ranged, TextRange, TextSize};
use serde::{Deserialize, Serialize};

use crate::{integrity::imports, kept::words};

/// A test function of the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestFunction {
    /// Qualified name of the block that holds it: for an inherited test that of the base class.
    pub block: String,
    /// Path of the file that defines it.
    pub path: String,
    /// Its text from the first decorator on, internal imports made `pass`, as indented in the original.
    pub text: String,
    /// Width of that indentation, in characters.
    indent: String,
    /// Where in the text each `pass` stands for an import, and how many statements that are none come before it.
    taken: Vec<(usize, usize)>,
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
pub enum Import<'a> {
    /// An absolute module name.
    Absolute(&'a str),
    /// A relative one.
    Relative,
}

/// Finds a test in the sources of the original. `names` are its classes and its function; `files` are
/// (path, text), the test's own file first: an inherited test is found in its base class by name.
pub fn find_test(
    files: &[(&str, &str)],
    names: &[String],
    is_internal: &(dyn Fn(Import<'_>) -> bool + Sync),
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
        let mut imports = Imports { found: Vec::new(), before: 0, is_internal };
        for stmt in &def.body {
            imports.visit_stmt(stmt);
        }
        let mut out = String::new();
        let mut at = whole.start();
        let mut taken = Vec::new();
        for (range, replacement, before) in imports.found {
            out.push_str(&text[TextRange::new(at, range.start())]);
            if replacement == PASS {
                taken.push((out.len(), before));
            }
            out.push_str(&replacement);
            at = range.end();
        }
        out.push_str(&text[TextRange::new(at, whole.end())]);
        Some(TestFunction { block, path: files[file].0.to_owned(), text: out, indent, taken })
    })
}

/// Puts tests in place of a gist's own. Where an import of the gist's own in the place of one of the repository
/// brings something from outside that `is_imported` by the original as well, it stays: that is what the import failed
/// at, and it gives the test nothing that it names.
pub fn inject(
    gist: &str,
    tests: &[TestFunction],
    is_imported: &(dyn Fn(&str) -> bool + Sync),
) -> Injected {
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
            let text = indented(&failing(test, def, &injected.text, is_imported), &indent);
            let range = start.to_usize()..def.end().to_usize();
            injected.text.replace_range(range, &text);
            injected.replaced.push(test.block.clone());
        }
        injected
    })
}

/// A test with what its imports of the repository failed at, as a gist's own has it.
fn failing<'a>(
    test: &'a TestFunction,
    own: &StmtFunctionDef,
    gist: &str,
    is_imported: &(dyn Fn(&str) -> bool + Sync),
) -> Cow<'a, TestFunction> {
    let mut brought = Brought::default();
    own.body.iter().for_each(|stmt| brought.visit_stmt(stmt));
    let mut test = Cow::Borrowed(test);
    for (before, stmt) in brought.found.into_iter().rev() {
        let text = &gist[stmt.range()];
        let says = |name: &String| words(&test.text).any(|(word, _)| word == name);
        let is_harmless = !text.contains('\n') && !imports(text).keys().any(says);
        let place = test.taken.iter().find(|(_, count)| *count == before).map(|(at, _)| *at);
        if let Some(at) = place.filter(|_| is_harmless && is_imported(text)) {
            test.to_mut().text.replace_range(at..at + PASS.len(), text);
        }
    }
    test
}

/// The imports in a test, and how many statements that are none come before each.
#[derive(Default)]
struct Brought<'a> {
    before: usize,
    found: Vec<(usize, &'a Stmt)>,
}

impl<'a> Visitor<'a> for Brought<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if matches!(stmt, Stmt::Import(_) | Stmt::ImportFrom(_)) {
            self.found.push((self.before, stmt));
        } else {
            self.before += 1;
            walk_stmt(self, stmt);
        }
    }
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

/// What stands for an import that a test may not make from a gist.
const PASS: &str = "pass";

struct Imports<'a> {
    found: Vec<(TextRange, String, usize)>,
    /// Statements so far that are no imports.
    before: usize,
    is_internal: &'a (dyn Fn(Import<'_>) -> bool + Sync),
}

impl Visitor<'_> for Imports<'_> {
    fn visit_stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Import(node) => {
                let external: Vec<String> = node
                    .names
                    .iter()
                    .filter(|alias| !(self.is_internal)(Import::Absolute(&alias.name)))
                    .map(|alias| match &alias.asname {
                        Some(name) => format!("{} as {name}", alias.name),
                        None => alias.name.to_string(),
                    })
                    .collect();
                if external.is_empty() {
                    self.found.push((node.range(), PASS.to_owned(), self.before));
                } else if external.len() < node.names.len() {
                    let rest = format!("import {}", external.join(", "));
                    self.found.push((node.range(), rest, self.before));
                }
            }
            Stmt::ImportFrom(node) => {
                let import = match &node.module {
                    _ if node.level > 0 => Import::Relative,
                    Some(module) => Import::Absolute(module),
                    None => return,
                };
                if (self.is_internal)(import) {
                    self.found.push((node.range(), PASS.to_owned(), self.before));
                }
            }
            _ => {
                self.before += 1;
                walk_stmt(self, stmt);
            }
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

    fn internal(import: Import<'_>) -> bool {
        match import {
            Import::Relative => true,
            Import::Absolute(name) => name == "pkg" || name.starts_with("pkg."),
        }
    }

    fn names(dotted: &str) -> Vec<String> {
        dotted.split('.').map(str::to_owned).collect()
    }

    fn check(original: &str, test: &str, gist: &str, expected: &str) {
        let found = find_test(&[("t.py", original)], &names(test), &internal).expect("the test");
        let injected = inject(gist, &[found], &|text| text == "import missing");
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
    fn what_an_import_of_the_test_failed_at_stays() {
        let original = "def test_a(missing_too):\n    x = 1\n    if x:\n        from pkg import m\n        from pkg.m import n\n    y()\n";
        let check = |own: &str, expected: &str| {
            let gist = format!("def test_a(missing_too):\n    x = 1\n{own}    y()\n");
            let expected = format!("def test_a(missing_too):\n    x = 1\n{expected}    y()\n");
            super::tests::check(original, "test_a", &gist, &expected);
        };
        let stays = "    if x:\n        import missing\n        pass\n";
        let goes = "    if x:\n        pass\n        pass\n";
        check("    if x:\n        import missing\n", stays);
        check("    import missing\n    if x:\n        pass\n", goes);
        check("    if x:\n        import missing as y\n", goes);
        check("    if x:\n        import other\n", goes);
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
        let test = find_test(&[("t.py", "def test_a(): x()\n")], &names("test_a"), &internal);
        let injected = inject("def test_b(): pass\n", &[test.unwrap()], &|_| true);
        assert_eq!(injected.missing, ["test_a"]);
        assert_eq!(injected.text, "def test_b(): pass\n");
    }
}
