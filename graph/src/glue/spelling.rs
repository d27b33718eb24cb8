//! Expressions of a gist in the place of others: the original's `__file__` is not the gist's.

use ruff_python_ast::{
    Expr, Stmt,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashSet;

use super::parse::{file_path, is_rendered};
use crate::{source::Source, syntax::Syntax};

/// An expression that replaces another inside a line of the repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Spelling {
    /// For `__file__`: code looks for data beside its module.
    ///
    /// ```python
    /// HERE = dirname(__file__)
    /// HERE = dirname(__file__.rsplit('/', 2)[0] + '/pkg/mod.py')
    /// ```
    File(FilePath),
    /// For `__path__` of a package.
    ///
    /// ```python
    /// for module in iter_modules(__path__): ...
    /// for module in iter_modules([__file__.rsplit('/', 2)[0] + '/pkg']): ...
    /// ```
    Directory(FilePath),
    /// For `__name__`, `__package__`, `__spec__.parent` or `__spec__.name`: code looks by a name for data, takes it apart, or shows it.
    ///
    /// ```python
    /// files(__package__)
    /// files("pkg")
    /// ```
    ModuleName(String),
    /// For `__doc__` of a module: a gist has none.
    ///
    /// ```python
    /// parser = ArgumentParser(description=__doc__)
    /// parser = ArgumentParser(description="Counts words.\n")
    /// ```
    Docstring(String),
    /// For `globals()` in the code of a module that is an object beside the gist.
    ///
    /// ```python
    /// globals()["table"] = {}
    /// vars(shapes)["table"] = {}
    /// ```
    Globals(String),
    /// For `__builtins__` of a module in the gist of a script: it is a dictionary in modules and a module in `__main__`.
    ///
    /// ```python
    /// __builtins__["_"] = translate
    /// vars(__import__("builtins"))["_"] = translate
    /// ```
    Builtins,
}

/// The path of an original file, computed from the gist's own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath {
    /// Number of parts that go from the end of the gist's path.
    pub up: usize,
    /// The path to append, without a leading slash; empty for a directory above.
    pub rest: String,
}

impl FilePath {
    /// Returns the path that leads from a gist to a file or a directory.
    pub fn between(gist: &str, path: &str) -> Self {
        let mut base: Vec<&str> = gist.split('/').collect();
        base.pop();
        let parts: Vec<&str> = path.split('/').collect();
        let shared = base.iter().zip(&parts).take_while(|(left, right)| left == right).count();
        Self { up: base.len() - shared + 1, rest: parts[shared..].join("/") }
    }

    /// Returns the path that leads from a gist, or nothing where it leaves the directory of all.
    pub fn from(&self, gist: &str) -> Option<String> {
        let parts: Vec<&str> = gist.split('/').collect();
        let kept = &parts[..parts.len().checked_sub(self.up)?];
        let rest = Some(self.rest.as_str()).filter(|rest| !rest.is_empty());
        Some(kept.iter().copied().chain(rest).collect::<Vec<_>>().join("/"))
    }

    /// Returns the path that an expression computes, if it has the form of this one.
    pub(crate) fn parse(expr: &Expr) -> Option<Self> {
        matches!(expr, Expr::BinOp(_) | Expr::Subscript(_)).then(|| file_path(expr)).flatten()
    }

    /// Returns the expression.
    pub fn render(&self) -> String {
        let above = format!("__file__.rsplit('/', {})[0]", self.up);
        match self.rest.as_str() {
            "" => above,
            rest => format!("{above} + '/{rest}'"),
        }
    }
}

/// The namespace of the built-ins.
const BUILTINS: &str = "vars(__import__(\"builtins\"))";

impl Spelling {
    /// Returns the expression.
    pub fn render(&self) -> String {
        match self {
            Self::File(path) => path.render(),
            Self::Directory(path) => format!("[{}]", path.render()),
            Self::ModuleName(name) => format!("{name:?}"),
            Self::Docstring(text) => serde_json::to_string(text).expect("a text serialises"),
            Self::Globals(object) => format!("vars({object})"),
            Self::Builtins => BUILTINS.to_owned(),
        }
    }

    /// Returns the spelling that an expression is. A string literal is none: only a place tells it from one of the
    /// original.
    fn parse(expr: &Expr, objects: &FxHashSet<String>) -> Option<Self> {
        match expr {
            Expr::BinOp(_) | Expr::Subscript(_) => FilePath::parse(expr).map(Self::File),
            Expr::List(list) => file_path(list.elts.first()?).map(Self::Directory),
            Expr::Call(call) => match call.arguments.args.first()? {
                Expr::Name(object) if objects.contains(object.id.as_str()) => {
                    Some(Self::Globals(object.id.to_string()))
                }
                Expr::Call(_) => Some(Self::Builtins),
                _ => None,
            },
            _ => None,
        }
        .filter(|spelling| is_rendered(&spelling.render(), expr))
    }

    /// Returns the expression of the original that it replaces.
    fn replaced(&self) -> &'static str {
        match self {
            Self::File(_) => "__file__",
            Self::Directory(_) => "__path__",
            Self::ModuleName(_) => "__name__",
            Self::Docstring(_) => "__doc__",
            Self::Globals(_) => "globals()",
            Self::Builtins => "__builtins__",
        }
    }
}

/// Returns the text of a gist with the original's expressions in the place of those that replaced them, line by line the
/// same. `gist` is its path, `objects` are names of objects in the place of modules, and `path_exists` tells paths of the
/// original's files and directories.
pub fn undo_spellings(
    text: &str,
    gist: &str,
    objects: &FxHashSet<String>,
    path_exists: &dyn Fn(&str) -> bool,
) -> String {
    let syntax = Syntax::parse(Source::new("gist", text));
    let mut finder = Finder { gist, objects, path_exists, found: Vec::new() };
    syntax.body().iter().for_each(|stmt| finder.visit_stmt(stmt));
    let mut out = text.to_owned();
    for (range, replaced) in finder.found.into_iter().rev() {
        let mut range = range.start().to_usize()..range.end().to_usize();
        if is_grouped(text, &range) {
            range = range.start - 1..range.end + 1;
        }
        if !text[range.clone()].contains('\n') {
            out.replace_range(range, replaced);
        }
    }
    out
}

/// Returns true if parentheses around an expression group it, as an operand of another, and are none of a call.
fn is_grouped(text: &str, range: &std::ops::Range<usize>) -> bool {
    let (before, behind) = (&text[..range.start], &text[range.end..]);
    let Some(before) = before.strip_suffix('(').filter(|_| behind.starts_with(')')) else {
        return false;
    };
    let is_called = |c: char| c == '_' || c.is_alphanumeric() || matches!(c, ')' | ']');
    !before.ends_with(is_called)
}

struct Finder<'a> {
    gist: &'a str,
    objects: &'a FxHashSet<String>,
    path_exists: &'a dyn Fn(&str) -> bool,
    found: Vec<(TextRange, &'static str)>,
}

impl<'a> Visitor<'a> for Finder<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        // What is glue as a whole has no original.
        if super::Glue::parse(stmt).is_none() {
            walk_stmt(self, stmt);
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        let leads =
            |path: &FilePath| path.from(self.gist).is_some_and(|path| (self.path_exists)(&path));
        match Spelling::parse(expr, self.objects) {
            Some(Spelling::File(path) | Spelling::Directory(path)) if !leads(&path) => {}
            Some(spelling) => return self.found.push((expr.range(), spelling.replaced())),
            None => {}
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_from_a_gist_and_back() {
        for (path, expected) in [
            ("tests/data.txt", "__file__.rsplit('/', 1)[0] + '/data.txt'"),
            ("src/pkg/mod.py", "__file__.rsplit('/', 2)[0] + '/src/pkg/mod.py'"),
            ("tests", "__file__.rsplit('/', 1)[0]"),
        ] {
            let found = FilePath::between("tests/concise.py", path);
            assert_eq!(found.render(), expected);
            assert_eq!(found.from("tests/concise.py").as_deref(), Some(path));
        }
    }

    #[test]
    fn undone_lines_are_the_originals() {
        let objects = FxHashSet::from_iter(["mod".to_owned()]);
        let undone = undo_spellings(
            "HERE = dirname(__file__.rsplit('/', 2)[0] + '/pkg/mod.py')\n\
             THERE = [__file__.rsplit('/', 2)[0] + '/pkg']\n\
             NAME = (__file__.rsplit('/', 2)[0] + '/pkg/mod.py').split('/')\n\
             ELSEWHERE = dirname(__file__.rsplit('/', 2)[0] + '/secret.py')\n\
             vars(mod)['table'] = vars(other)\n\
             vars(__import__('builtins'))['_'] = vars(__import__('sys'))\n\
             vars(mod).update(make=make)\n",
            "tests/concise.py",
            &objects,
            &|path| path.starts_with("pkg"),
        );
        assert_eq!(
            undone,
            "HERE = dirname(__file__)\n\
             THERE = __path__\n\
             NAME = __file__.split('/')\n\
             ELSEWHERE = dirname(__file__.rsplit('/', 2)[0] + '/secret.py')\n\
             globals()['table'] = vars(other)\n\
             __builtins__['_'] = vars(__import__('sys'))\n\
             vars(mod).update(make=make)\n"
        );
    }
}
