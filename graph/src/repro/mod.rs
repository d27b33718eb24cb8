//! Rewrites of a gist that keep a failure and make its file shorter, plainer or easier to read.
//!
//! Each function proposes; whether a proposal still fails in the same way is for the caller to find out. Nothing here
//! runs anything, and a proposal may be wrong.

mod call;
mod choices;
mod complete;
mod data;
mod erase;
mod fixture;
mod items;
mod join;
mod layout;
mod lists;
mod narrow;
mod splice;
mod string_lines;
mod unwrap;

use std::collections::BTreeSet;

use ruff_python_ast::{
    Stmt, StmtFunctionDef,
    visitor::{Visitor, walk_stmt},
};

use crate::{
    slice::Gist,
    source::Source,
    syntax::{Syntax, with_deep_stack},
};

pub use call::{MAIN_HEAD, direct_calls};
pub use choices::without_choices;
pub use complete::completed;
pub use data::{Reach, with_data};
pub use erase::without_name;
pub use fixture::inlined_fixtures;
pub use items::{
    without_elements, without_large_lists, without_unread_names, without_unread_parameters,
};
pub use join::with_joined_brackets;
pub use layout::{Arrangement, laid_out};
pub use narrow::{
    halved_parameters, without_annotations, without_bases, without_decorators, without_parameters,
};
pub use string_lines::without_string_lines;
pub use unwrap::unwrapped;

/// Dotted names of the modules that a file imports anywhere, relative ones left out. Of `from a import b` that is
/// `a` and `a.b`, since `b` may be a module.
pub fn imported_modules(text: &str) -> BTreeSet<String> {
    struct Finder(BTreeSet<String>);
    impl<'a> Visitor<'a> for Finder {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::Import(import) => {
                    self.0.extend(import.names.iter().map(|alias| alias.name.to_string()));
                }
                Stmt::ImportFrom(import) if import.level == 0 => {
                    let Some(from) = &import.module else { return };
                    let names = import.names.iter().filter(|alias| &alias.name != "*");
                    self.0.extend(names.map(|alias| format!("{from}.{}", alias.name)));
                    self.0.insert(from.to_string());
                }
                _ => walk_stmt(self, stmt),
            }
        }
    }
    with_deep_stack(|| {
        let syntax = Syntax::parse(Source::new("gist", text));
        let mut finder = Finder(BTreeSet::new());
        syntax.body().iter().for_each(|stmt| finder.visit_stmt(stmt));
        finder.0
    })
}

fn parse(gist: &Gist) -> Syntax {
    Syntax::parse(Source::new("gist", gist.text.as_str()))
}

/// Every statement of a file, those of inner scopes included, in order.
fn statements(syntax: &Syntax) -> Vec<&Stmt> {
    struct Finder<'a>(Vec<&'a Stmt>);
    impl<'a> Visitor<'a> for Finder<'a> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            self.0.push(stmt);
            walk_stmt(self, stmt);
        }
    }
    let mut finder = Finder(Vec::new());
    syntax.body().iter().for_each(|stmt| finder.visit_stmt(stmt));
    finder.0
}

/// Every function of a file, methods and inner ones included, in order.
fn functions(syntax: &Syntax) -> Vec<&StmtFunctionDef> {
    statements(syntax).into_iter().filter_map(Stmt::as_function_def_stmt).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slice::{GistLine, LineOrigin, Place};

    /// A gist whose lines stand in one file, in this order.
    pub(super) fn gist(text: &str) -> Gist {
        let line = |(at, _): (usize, &str)| GistLine {
            origin: LineOrigin::Source(Place { path: "m.py".to_owned(), line: at as u32 + 1 }),
            adapted: false,
        };
        Gist { text: text.to_owned(), lines: text.lines().enumerate().map(line).collect() }
    }

    /// Each line of a gist behind its place: its number in the original, `~` where it is adapted, `+` where it is
    /// glue.
    pub(super) fn shown(gist: &Gist) -> String {
        assert_eq!(gist.text.lines().count(), gist.lines.len(), "{}", gist.text);
        let lines = gist.text.lines().zip(&gist.lines).map(|(text, line)| {
            let mark = if line.adapted { "~" } else { "" };
            match &line.origin {
                LineOrigin::Source(place) => format!("{}{mark}|{text}\n", place.line),
                LineOrigin::Glue(_) => format!("+|{text}\n"),
            }
        });
        lines.collect()
    }

    #[test]
    fn imported_modules_are_those_of_all_imports() {
        let text = "import a.b as c, d\ndef f():\n    from e import g\n    from . import h\n";
        let found: Vec<String> = imported_modules(text).into_iter().collect();
        assert_eq!(found, ["a.b", "d", "e", "e.g"]);
    }
}
