//! What names stand for in a repository: whether one is that of a module of its own wherever it is read.

use ruff_python_ast::{
    ExceptHandler, Expr, Identifier, Pattern, Stmt, StmtFunctionDef,
    visitor::{Visitor, walk_except_handler, walk_expr, walk_pattern, walk_stmt},
};

use super::{aliases::Locals, bindings::captured, mentions::imported, told::is_module};
use crate::codebase::{CodeFile, Codebase};

/// The repository whose names are asked for.
#[derive(Clone, Copy)]
pub struct Originals<'a> {
    /// Its files.
    pub codebase: &'a Codebase,
    /// Whether a full name lies in a module of its own.
    pub is_internal: &'a (dyn Fn(&str) -> bool + Sync),
}

impl Originals<'_> {
    /// Whether a name is that of a module of the repository, and of nothing from outside: in each file that reads it,
    /// only imports from inside bind it, and in one of them that of the module does.
    pub(super) fn names_module(&self, name: &str) -> bool {
        let says = |file: &&CodeFile| file.text.contains(name);
        let mut found = false;
        for file in self.codebase.files().iter().filter(says) {
            let uses = Uses::of(name, &file.text);
            if !uses.is_read {
                continue;
            }
            if !self.is_inner(&uses) {
                return false;
            }
            found |= uses.imports.iter().any(|full| self.has(full.trim_start_matches('.')));
        }
        found
    }

    /// Whether a part of a package is a module of it, and the package gives the name to nothing from outside.
    pub(super) fn is_part(&self, package: &str, name: &str) -> bool {
        let mut packages = self.codebase.files().iter().filter(|file| is_module(file, package));
        self.has(&format!("{package}.{name}"))
            && packages.all(|file| self.is_inner(&Uses::of(name, &file.text)))
    }

    /// Whether all that a file gives a name is the repository's.
    fn is_inner(&self, uses: &Uses<'_>) -> bool {
        let stars = uses.stars.iter().filter(|_| uses.imports.is_empty());
        !uses.has_others && uses.imports.iter().chain(stars).all(|full| self.is_own(full))
    }

    fn is_own(&self, full: &str) -> bool {
        full.starts_with('.') || (self.is_internal)(full)
    }

    fn has(&self, module: &str) -> bool {
        self.codebase.files().iter().any(|file| is_module(file, module))
    }
}

/// What a file does with a name outside functions that give it to something of their own.
#[derive(Default)]
struct Uses<'n> {
    name: &'n str,
    /// Full names of what imports give it.
    imports: Vec<String>,
    is_read: bool,
    /// Something but an import binds it.
    has_others: bool,
    /// Modules whose names are all taken.
    stars: Vec<String>,
}

impl<'n> Uses<'n> {
    fn of(name: &'n str, text: &str) -> Self {
        let mut uses = Self { name, ..Self::default() };
        match ruff_python_parser::parse_module(text) {
            Ok(parsed) => parsed.suite().iter().for_each(|stmt| uses.visit_stmt(stmt)),
            Err(_) => (uses.is_read, uses.has_others) = (true, true),
        }
        uses
    }

    /// Whether a function has the name for something of its own that it does not import.
    fn is_local(&self, function: &StmtFunctionDef) -> bool {
        let mut local = Locals::of(Some(&function.parameters));
        local.visit_body(&function.body);
        let mut inner = Self { name: self.name, ..Self::default() };
        inner.visit_body(&function.body);
        local.names().contains(self.name) && inner.imports.is_empty()
    }

    fn bound(&mut self, name: Option<&Identifier>) {
        self.has_others |= name.is_some_and(|name| name.as_str() == self.name);
    }
}

impl<'a> Visitor<'a> for Uses<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        for (_, name, full, _) in imported(stmt) {
            match name.as_str() {
                "*" => self.stars.push(full.trim_end_matches(".*").to_owned()),
                name if name == self.name => self.imports.push(full),
                _ => {}
            }
        }
        match stmt {
            Stmt::FunctionDef(node) => {
                self.bound(Some(&node.name));
                if self.is_local(node) {
                    let decorators = node.decorator_list.iter();
                    decorators.for_each(|decorator| self.visit_decorator(decorator));
                    return self.visit_parameters(&node.parameters);
                }
            }
            Stmt::ClassDef(node) => self.bound(Some(&node.name)),
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Some(name) = expr.as_name_expr().filter(|name| name.id.as_str() == self.name) {
            self.is_read |= name.ctx.is_load();
            self.has_others |= !name.ctx.is_load();
        }
        walk_expr(self, expr);
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(node) = handler;
        self.bound(node.name.as_ref());
        walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        self.bound(captured(pattern));
        walk_pattern(self, pattern);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn originals(check: impl FnOnce(&Originals<'_>), text: &str, package: &str) {
        let files = [("pkg/__init__.py", package), ("pkg/util.py", ""), ("tests/a.py", text)];
        let codebase = Codebase::of_texts(files);
        let is_internal = |name: &str| name == "pkg" || name.starts_with("pkg.");
        check(&Originals { codebase: &codebase, is_internal: &is_internal });
    }

    #[test]
    fn modules_of_the_repository_are_told_from_others() {
        let check = |text: &str, expected: bool| {
            let read = format!("{text}\nx = util.f\n");
            originals(|all| assert_eq!(all.names_module("util"), expected, "{text}"), &read, "");
        };
        for own in ["from pkg import util", "import pkg.util as util", "from . import util"] {
            check(own, true);
            for other in [
                "import util",
                "from other import util",
                "util = load('util')",
                "with all as util: pass",
                "for util in all: pass",
                "def f():\n    global util\n    util = other",
                "class util: pass",
            ] {
                check(other, false);
                check(&format!("{own}\n{other}"), false);
            }
        }
        check("from pkg import util\nfrom other import *", true);
        check("from pkg import util\ndef f(util):\n    util.g", true);
        check("from pkg import util\ndef f():\n    util = other", true);
        check("from pkg import util\ndef f():\n    import util", false);
        check("from pkg import util\nclass A:\n    util = other", false);
        check("from other import *", false);
        check("from pkg import other as util", false);
        check("", false);
        check("def f(:", false);
    }

    #[test]
    fn a_part_of_a_package_is_its_module() {
        let check = |package: &str, name: &str, expected: bool| {
            originals(
                |all| assert_eq!(all.is_part("pkg", name), expected, "{package}"),
                "",
                package,
            );
        };
        check("", "util", true);
        check("from . import util", "util", true);
        check("", "other", false);
        for other in ["import util", "util = 1", "from other import util", "from other import *"] {
            check(other, "util", false);
        }
    }
}
