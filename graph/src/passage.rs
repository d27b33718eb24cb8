//! A passage of a file as somebody reads it who has nothing else of it: the lines of a definition or a
//! statement, the blocks around them, and the imports that its names come through.
//!
//! Works on one text at a time; [`statement`] follows a name from file to file.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{Expr, Stmt, token::TokenKind};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::{
    graph::{Graph, ModuleNode},
    module::climb,
    needs::{NumberedFile, is_for_types},
    scope::{self, for_each_block, for_each_statement},
    source::Source,
    syntax::{Syntax, with_deep_stack},
    tree::Texts,
};

/// Lines of one file that are shown together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Passage {
    /// First and last line of each definition or statement.
    pub spans: Vec<(u32, u32)>,
    /// The heads of the blocks that these stand in.
    pub around: Vec<(u32, u32)>,
    /// The imports at the top of the file that bind names of theirs.
    pub imports: Vec<(u32, u32)>,
    /// Lines behind which code is left out, and how many lines of it.
    pub cuts: BTreeMap<u32, usize>,
}

/// Lines of a statement up to which it is shown whole for an import in it.
const LONGEST_AROUND: u32 = 12;

impl Passage {
    /// Reads what surrounds some lines of a text. Of a class with more than `longest` lines of code the
    /// bodies of its methods are left out; the first and the last line of a span are those of a definition.
    pub fn of(text: &str, spans: &[(u32, u32)], longest: usize) -> Self {
        with_deep_stack(|| {
            let syntax = Syntax::parse(Source::new("", text));
            let code = NumberedFile::of(text);
            let mut passage = Self::default();
            for &span in spans {
                passage.add(&syntax, &code, span, longest);
            }
            passage.add_imports(&syntax);
            passage
        })
    }

    fn add(&mut self, syntax: &Syntax, code: &NumberedFile, span: (u32, u32), longest: usize) {
        let lines = |range: TextRange| syntax.source().line_span(range);
        let mut found = None;
        let mut heads = Vec::new();
        find(syntax.body(), span, &lines, &mut heads, &mut found);
        for stmt in heads {
            let mut first = None;
            match stmt {
                Stmt::ClassDef(class) => {
                    let head = lines(syntax.header(class.start(), &class.body));
                    self.around.push(head);
                    continue;
                }
                stmt => for_each_block(stmt, |block| {
                    let holds = block.iter().any(|inner| {
                        let (from, to) = lines(inner.range());
                        from <= span.0 && span.1 <= to
                    });
                    if first.is_none() || holds {
                        first = block.first().map(Ranged::start);
                    }
                }),
            }
            let start = lines(stmt.range()).0;
            let end = first.map_or(start, |at| syntax.source().line(at).saturating_sub(1));
            // Of an `else` far below, the condition is what matters.
            let head = (start, end.clamp(start, start + 3));
            self.around.push(head);
            let hidden = code.count(head.1 + 1, span.0.saturating_sub(1));
            if hidden > 0 {
                self.cuts.insert(head.1, hidden);
            }
        }
        let class = match found {
            Some(Stmt::ClassDef(class)) if code.count(span.0, span.1) > longest => class,
            _ => return self.spans.push(span),
        };
        let mut from = span.0;
        for stmt in &class.body {
            let Stmt::FunctionDef(function) = stmt else { continue };
            let (_, head) = lines(syntax.header(function.start(), &function.body));
            let (_, last) = lines(function.range());
            let hidden = code.count(head + 1, last);
            if hidden > 1 {
                self.spans.push((from, head));
                self.cuts.insert(head, hidden);
                from = last + 1;
            }
        }
        if from <= span.1 {
            self.spans.push((from, span.1));
        }
    }

    /// Adds the imports at the top whose names stand in the shown lines.
    fn add_imports(&mut self, syntax: &Syntax) {
        let source = syntax.source();
        let mut words: BTreeSet<&str> = BTreeSet::new();
        let whole = TextRange::new(TextSize::new(0), TextSize::of(source.text()));
        for token in syntax.tokens(whole) {
            if token.kind() == TokenKind::Name {
                let line = source.line(token.start());
                let shown = self.spans.iter().chain(&self.around);
                if shown.into_iter().any(|&(first, last)| (first..=last).contains(&line)) {
                    words.insert(source.slice(token));
                }
            }
        }
        let binds = |stmt: &Stmt| match stmt {
            Stmt::ImportFrom(import) if import.module.as_deref() == Some("__future__") => true,
            Stmt::Import(import) => {
                let mut names = import.names.iter().map(scope::local_of_import);
                names.any(|name| words.contains(name.as_str()))
            }
            Stmt::ImportFrom(import) => import.names.iter().any(|alias| {
                let name = alias.asname.as_ref().unwrap_or(&alias.name);
                words.contains(name.as_str()) || name == "*"
            }),
            _ => false,
        };
        // An import alone would lack the `try` or `if` around it. What is only for types is never executed.
        for top in syntax.body().iter().filter(|top| !is_for_types(top)) {
            let (first, last) = source.line_span(top.range());
            for_each_statement(std::slice::from_ref(top), &mut |stmt| {
                let own = source.line_span(stmt.range());
                let span = if last - first < LONGEST_AROUND { (first, last) } else { own };
                let covers = |&(from, to): &(u32, u32)| from <= span.0 && span.1 <= to;
                let mut shown = self.spans.iter().chain(&self.imports);
                if binds(stmt) && !shown.any(covers) {
                    self.imports.push(span);
                }
            });
        }
    }
}

/// The statement that fills a span, and the compound statements around it.
fn find<'a>(
    body: &'a [Stmt],
    span: (u32, u32),
    lines: &impl Fn(TextRange) -> (u32, u32),
    heads: &mut Vec<&'a Stmt>,
    found: &mut Option<&'a Stmt>,
) {
    for stmt in body {
        let (first, last) = lines(stmt.range());
        if (first, last) == span {
            *found = Some(stmt);
            return;
        }
        if first <= span.0 && span.1 <= last {
            heads.push(stmt);
            match stmt {
                Stmt::FunctionDef(function) => find(&function.body, span, lines, heads, found),
                Stmt::ClassDef(class) => find(&class.body, span, lines, heads, found),
                stmt => for_each_block(stmt, |block| find(block, span, lines, heads, found)),
            }
            // What a function holds is shown without it.
            if matches!(stmt, Stmt::FunctionDef(_)) {
                heads.retain(|head| !std::ptr::eq(*head, stmt));
            }
            return;
        }
    }
}

/// The place at the top of a file that binds a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Path of the file.
    pub path: String,
    /// First and last line of each statement that binds it there.
    pub spans: Vec<(u32, u32)>,
    /// The imports that hand it on, from the module that was named to that file.
    pub through: Vec<(String, u32, u32)>,
}

/// Finds what binds a name that is no definition or is handed on by imports: `pkg.LIMIT`,
/// `pkg/__init__.py::Thing`. Of a name from outside it is the import.
pub fn statement(graph: &Graph, texts: &Texts, name: &str) -> Option<Statement> {
    let (module, name) = named(graph, name)?;
    with_deep_stack(|| {
        let (mut module, mut name) = (module, name);
        let mut through = Vec::new();
        // Longer chains of imports are circles.
        for _ in 0..16 {
            let text = texts.of(&module.path);
            let syntax = Syntax::parse(Source::new(module.path.as_str(), text));
            let bound = bindings(&syntax, &name);
            let spans: Vec<(u32, u32)> =
                bound.iter().map(|stmt| syntax.source().line_span(stmt.range())).collect();
            let (&first, &last) = (spans.first()?, spans.last()?);
            let next = bound.last().and_then(|stmt| imported(graph, module, stmt, &name));
            let Some((from, original)) = next else {
                return Some(Statement { path: module.path.clone(), spans, through });
            };
            through.push((module.path.clone(), first.0, last.1));
            (module, name) = (from, original);
        }
        None
    })
}

/// The module and the name in it that a dotted name or `path::name` selects.
pub(crate) fn named<'g>(graph: &'g Graph, name: &str) -> Option<(&'g ModuleNode, String)> {
    if let Some((path, inner)) = name.split_once("::") {
        let suffix = format!("/{path}");
        let exact = graph.modules.iter().find(|module| module.path == path);
        let near = || graph.modules.iter().find(|module| module.path.ends_with(&suffix));
        let module = exact.or_else(near)?;
        return (!inner.contains("::")).then(|| (module, inner.to_owned()));
    }
    let (module, inner) = name.rsplit_once('.')?;
    let suffix = format!(".{module}");
    let exact = graph.modules.iter().find(|known| known.name == module);
    let near = || graph.modules.iter().find(|known| known.name.ends_with(&suffix));
    exact.or_else(near).map(|module| (module, inner.to_owned()))
}

/// The statements at the top of a module, blocks included, that bind a name.
fn bindings<'s>(syntax: &'s Syntax, name: &str) -> Vec<&'s Stmt> {
    let mut found = Vec::new();
    for_each_statement(syntax.body(), &mut |stmt| {
        let binds = match stmt {
            Stmt::Import(import) => {
                import.names.iter().any(|alias| scope::local_of_import(alias) == name)
            }
            Stmt::ImportFrom(import) => import
                .names
                .iter()
                .any(|alias| alias.asname.as_ref().unwrap_or(&alias.name).as_str() == name),
            stmt => scope::bound_directly(stmt).iter().any(|bound| bound == name),
        };
        if binds {
            found.push(stmt);
        }
    });
    // What adds to it belongs to it: `names += [...]`, `table["key"] = ...`.
    for stmt in syntax.body() {
        let target = match stmt {
            Stmt::AugAssign(assign) => &*assign.target,
            Stmt::Assign(assign) => match assign.targets.as_slice() {
                [Expr::Subscript(subscript)] => &*subscript.value,
                _ => continue,
            },
            _ => continue,
        };
        let is_it = matches!(target, Expr::Name(target) if &*target.id == name);
        if is_it && !found.is_empty() && !found.iter().any(|other| other.start() == stmt.start()) {
            found.push(stmt);
        }
    }
    found
}

/// The module and name that an import takes a name from, where that is a module of the repository.
pub(crate) fn imported<'g>(
    graph: &'g Graph,
    module: &ModuleNode,
    stmt: &Stmt,
    name: &str,
) -> Option<(&'g ModuleNode, String)> {
    let Stmt::ImportFrom(import) = stmt else { return None };
    let is_package = module.path.ends_with("__init__.py");
    let from = match import.level {
        0 => import.module.as_deref()?.to_owned(),
        level => {
            let package = climb(&module.name, '.', is_package, level)?;
            match import.module.as_deref() {
                Some(inner) if package.is_empty() => inner.to_owned(),
                Some(inner) => format!("{package}.{inner}"),
                None => package.to_owned(),
            }
        }
    };
    let alias = import
        .names
        .iter()
        .find(|alias| alias.asname.as_ref().unwrap_or(&alias.name).as_str() == name)?;
    let found = graph.modules.iter().find(|known| known.name == from)?;
    Some((found, alias.name.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, span: (u32, u32), longest: usize, expected: &str) {
        let passage = Passage::of(text, &[span], longest);
        let mut spans = passage.spans.clone();
        spans.extend(&passage.around);
        let shown = NumberedFile::of(text).numbered(&spans, &passage.cuts);
        let imports = NumberedFile::of(text).numbered(&passage.imports, &BTreeMap::new());
        assert_eq!(format!("{imports}--\n{shown}"), expected);
    }

    #[test]
    fn blocks_around_and_imports_are_shown() {
        let text = "import sys\nfrom a import (\n    b,\n    c,\n)\nimport idle\nif sys.platform == 'x':\n    def f():\n        pass\n\n    def g():\n        # why\n        return c\n";
        check(
            text,
            (11, 13),
            99,
            "1 import sys\n2 from a import (\n3     b,\n4     c,\n5 )\n--\n\
             7 if sys.platform == 'x':\n[2 lines left out]\n11     def g():\n13         return c\n",
        );
    }

    #[test]
    fn an_import_is_shown_with_the_statement_around_it() {
        let text = "import typing\nif typing.TYPE_CHECKING:\n    from a import X\ntry:\n    import fast\nexcept ImportError:\n    fast = None\n\n\ndef f(x: X):\n    return fast\n";
        check(
            text,
            (10, 11),
            99,
            "4 try:\n5     import fast\n6 except ImportError:\n7     fast = None\n--\n10 def f(x: X):\n11     return fast\n",
        );
        let text = "if TYPE_CHECKING:\n    from a import X\nelse:\n    from b import X\ny = X\n";
        let whole = "1 if TYPE_CHECKING:\n2     from a import X\n3 else:\n4     from b import X\n--\n5 y = X\n";
        check(text, (5, 5), 99, whole);
    }

    #[test]
    fn long_classes_are_shown_by_their_heads() {
        let text = "class A(B):\n    '''Doc.'''\n    x = 1\n    def f(self):\n        a = 1\n        return a\n    y = 2\n    def g(self): return 1\n";
        let expected = "--\n1 class A(B):\n3     x = 1\n4     def f(self):\n[2 lines left out]\n7     y = 2\n8     def g(self): return 1\n";
        check(text, (1, 8), 4, expected);
        check(
            text,
            (4, 6),
            4,
            "--\n1 class A(B):\n4     def f(self):\n5         a = 1\n6         return a\n",
        );
    }

    #[test]
    fn names_are_followed_to_their_statement() {
        let files = [
            ("pkg/__init__.py", "from .core import LIMIT as MOST\nfrom os import path\n"),
            ("pkg/core.py", "LIMIT = 3\nNAMES = []\nNAMES += ['a']\n"),
        ];
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("pkg")).unwrap();
        for (path, text) in files {
            std::fs::write(directory.path().join(path), text).unwrap();
        }
        let graph = Graph::build(directory.path(), &crate::BuildOptions::default());
        let texts = Texts::new(directory.path(), crate::WalkOptions::default());
        let found = |name| {
            let found = statement(&graph, &texts, name)?;
            Some((found.path, found.spans, found.through.len()))
        };
        let core = || "pkg/core.py".to_owned();
        assert_eq!(found("pkg.MOST"), Some((core(), vec![(1, 1)], 1)));
        assert_eq!(found("pkg/core.py::NAMES"), Some((core(), vec![(2, 2), (3, 3)], 0)));
        assert_eq!(found("pkg.path"), Some(("pkg/__init__.py".to_owned(), vec![(2, 2)], 0)));
        assert_eq!(found("pkg.nothing"), None);
    }
}
