//! What names stand for in a repository: whether one is that of a module of its own wherever it is read.
//!
//! The resolver of the `graph` crate takes what it cannot follow for nothing, as a graph may. Here that is what a cheat
//! would use, so that whatever else binds a name, in whatever way, makes it no module's.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

use ruff_python_ast::{
    ExceptHandler, Expr, Identifier, Pattern, Stmt, StmtFunctionDef,
    visitor::{Visitor, walk_except_handler, walk_expr, walk_pattern, walk_stmt},
};

use super::{aliases::Locals, bindings::captured, is_part, mentions::imported};
use crate::{
    blocks::{Line, Role},
    codebase::{CodeFile, Codebase},
    scorers::Executed,
};

/// The repository whose names are asked for. Files are called by their stems: `pkg/mod` for `pkg/mod.py`, `pkg` for
/// `pkg/__init__.py`.
pub struct Originals<'a> {
    files: BTreeMap<&'a str, &'a CodeFile>,
    executed: &'a Executed,
    is_internal: &'a (dyn Fn(&str) -> bool + Sync),
    /// What is known of names already; those who ask have stacks, and threads, of their own.
    named: Mutex<BTreeMap<String, BTreeSet<String>>>,
    /// Whether the files that define a name import a part of a module.
    lent: Mutex<BTreeMap<[String; 3], bool>>,
}

/// What an import gives.
#[derive(Debug, PartialEq, Eq)]
enum Given {
    Module(String),
    /// A class or function of the repository.
    Definition,
    /// Anything else.
    Other,
}

impl<'a> Originals<'a> {
    /// Those of a repository, of which lines were executed; `is_internal` tells whether a full name lies in a module
    /// of its own.
    pub fn new(
        codebase: &'a Codebase,
        executed: &'a Executed,
        is_internal: &'a (dyn Fn(&str) -> bool + Sync),
    ) -> Originals<'a> {
        let files = codebase.files().iter().map(|file| (stem(&file.path), file)).collect();
        let (named, lent) = Default::default();
        Originals { files, executed, is_internal, named, lent }
    }

    /// The modules of the repository that a name stands for wherever it does not stand for a class or function of the
    /// repository: in each file that ran and reads it, only imports bind it, and they give these. None where it is
    /// anything else.
    pub(super) fn modules(&self, name: &str) -> BTreeSet<String> {
        let known = self.named.lock().ok().and_then(|named| named.get(name).cloned());
        known.unwrap_or_else(|| {
            let found = self.find_modules(name).unwrap_or_default();
            if let Ok(mut named) = self.named.lock() {
                named.insert(name.to_owned(), found.clone());
            }
            found
        })
    }

    fn find_modules(&self, name: &str) -> Option<BTreeSet<String>> {
        let ran = |file: &&&CodeFile| self.executed.ran(&file.path);
        let says = |file: &&&CodeFile| file.text.contains(name);
        let mut found = BTreeSet::new();
        for file in self.files.values().filter(ran).filter(says) {
            let uses = Uses::of(name, &file.text);
            if !uses.is_read {
                continue;
            }
            if uses.has_others || uses.is_defined || self.may_come_by_star(file, &uses) {
                return None;
            }
            for full in &uses.imports {
                match self.given(file, full) {
                    Given::Module(module) => drop(found.insert(module)),
                    Given::Definition => {}
                    Given::Other => return None,
                }
            }
        }
        Some(found)
    }

    /// The module that a package has as its part under a name, where nothing in the package gives the name to
    /// something else.
    pub(super) fn part(&self, package: &str, name: &str) -> Option<String> {
        let module = format!("{package}/{name}");
        let is_there = self.files.contains_key(module.as_str());
        (is_there && self.is_only(package, name, &module)).then_some(module)
    }

    /// Whether a package gives a name to nothing but a module.
    fn is_only(&self, package: &str, name: &str, module: &str) -> bool {
        let Some(file) = self.files.get(package) else { return true };
        let uses = Uses::of(name, &file.text);
        let is_it = |full: &String| self.resolve(file, full).is_some_and(|one| one == module);
        !uses.has_others
            && !uses.is_defined
            && !self.may_come_by_star(file, &uses)
            && uses.imports.iter().all(is_it)
    }

    /// Whether each file that ran and defines a name imports a part of a module from outside under the part's own name.
    pub(super) fn import_part(&self, defined: &str, module: &str, part: &str) -> bool {
        let key = [defined, module, part].map(str::to_owned);
        let known = self.lent.lock().ok().and_then(|lent| lent.get(&key).copied());
        known.unwrap_or_else(|| {
            let found = !(self.is_internal)(module) && self.do_import(defined, module, part);
            if let Ok(mut lent) = self.lent.lock() {
                lent.insert(key, found);
            }
            found
        })
    }

    fn do_import(&self, defined: &str, module: &str, part: &str) -> bool {
        let defines = |line: &Line| {
            line.parent.is_none()
                && matches!(line.role, Role::Definition | Role::Simple)
                && line.binds.iter().any(|name| name == defined)
        };
        let ran = self.files.values().filter(|file| self.executed.ran(&file.path));
        let mut homes = ran.filter(|file| file.outline.lines.iter().any(defines)).peekable();
        homes.peek().is_some() && homes.all(|file| is_part(&file.text, module, part))
    }

    /// Whether what a file imports under a full name is a module of the repository.
    pub fn gives_module(&self, file: &CodeFile, full: &str) -> bool {
        graph::with_deep_stack(|| matches!(self.given(file, full), Given::Module(_)))
    }

    /// What an import of a file gives.
    fn given(&self, file: &CodeFile, full: &str) -> Given {
        let Some(found) = self.resolve(file, full) else { return Given::Other };
        let (package, name) = found.rsplit_once('/').unwrap_or(("", &found));
        if self.files.contains_key(found.as_str()) {
            return match self.is_only(package, name, &found) {
                true => Given::Module(found),
                false => Given::Other,
            };
        }
        let Some(home) = self.files.get(package) else { return Given::Other };
        let uses = Uses::of(name, &home.text);
        let is_plain = !uses.has_others && uses.imports.is_empty();
        match uses.is_defined && is_plain && !self.may_come_by_star(home, &uses) {
            true => Given::Definition,
            false => Given::Other,
        }
    }

    /// The stem that a full name has, as an import of a file writes it, with dots in front of what is relative.
    fn resolve(&self, file: &CodeFile, full: &str) -> Option<String> {
        let name = full.trim_start_matches('.');
        let path = name.replace('.', "/");
        let dots = full.len() - name.len();
        if dots == 0 {
            let stem = (self.is_internal)(full).then(|| self.absolute(&path));
            return stem.flatten();
        }
        // `from . import name` has a dot more.
        let ups = if name.contains('.') { dots } else { dots - 1 };
        let mut at = file.path.as_str();
        for _ in 0..ups {
            at = at.rsplit_once('/').map_or("", |(directory, _)| directory);
        }
        Some(if at.is_empty() { path } else { format!("{at}/{path}") })
    }

    /// The stem of a module or of what it has, below whatever root.
    fn absolute(&self, path: &str) -> Option<String> {
        let below = format!("/{path}");
        let fits = |stem: &&&str| **stem == path || stem.ends_with(&below);
        let module = self.files.keys().filter(fits).min_by_key(|stem| stem.len());
        module.map(|stem| (*stem).to_owned()).or_else(|| {
            let (home, name) = path.rsplit_once('/')?;
            Some(format!("{}/{name}", self.absolute(home)?))
        })
    }

    /// Whether a name of a file may be one of those that are all taken from a module.
    fn may_come_by_star(&self, file: &CodeFile, uses: &Uses<'_>) -> bool {
        uses.stars.iter().any(|from| {
            let found = match from.strip_suffix(".*").filter(|_| !from.starts_with('.')) {
                Some(module) => self.resolve(file, module),
                None => self.resolve(file, from).map(|stem| stem.replace("/*", "")),
            };
            let other = found.and_then(|stem| self.files.get(stem.as_str()));
            other.is_none_or(|other| Uses::of(uses.name, &other.text).may_lend())
        })
    }
}

fn stem(path: &str) -> &str {
    path.strip_suffix("/__init__.py").or_else(|| path.strip_suffix(".py")).unwrap_or(path)
}

/// What a file does with a name outside functions that give it to something of their own.
#[derive(Default)]
struct Uses<'n> {
    name: &'n str,
    /// Full names of what imports give it.
    imports: Vec<String>,
    is_read: bool,
    is_defined: bool,
    /// Something but an import or a definition binds it.
    has_others: bool,
    /// Imports that take all names: `module.*`.
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
        let mut shared = Shared { name: self.name, found: false };
        shared.visit_body(&function.body);
        local.names().contains(self.name) && !shared.found
    }

    /// Whether a star may take the name from the file.
    fn may_lend(&self) -> bool {
        let binds = self.is_defined || self.has_others || !self.imports.is_empty();
        binds || !self.stars.is_empty()
    }

    fn bound(&mut self, name: Option<&Identifier>) {
        self.has_others |= name.is_some_and(|name| name.as_str() == self.name);
    }
}

/// Whether something within a function imports a name, or means that of the module.
struct Shared<'n> {
    name: &'n str,
    found: bool,
}

impl<'a> Visitor<'a> for Shared<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.found |= imported(stmt).iter().any(|(_, name, ..)| name == self.name);
        if let Stmt::Global(node) = stmt {
            self.found |= node.names.iter().any(|name| name.as_str() == self.name);
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, _: &'a Expr) {}
}

impl<'a> Visitor<'a> for Uses<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        for (_, name, full, _) in imported(stmt) {
            match name.as_str() {
                "*" => self.stars.push(full),
                name if name == self.name => self.imports.push(full),
                _ => {}
            }
        }
        match stmt {
            Stmt::FunctionDef(node) => {
                self.is_defined |= node.name.as_str() == self.name;
                if self.is_local(node) {
                    let decorators = node.decorator_list.iter();
                    decorators.for_each(|decorator| self.visit_decorator(decorator));
                    return self.visit_parameters(&node.parameters);
                }
            }
            Stmt::ClassDef(node) => self.is_defined |= node.name.as_str() == self.name,
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

    /// Asks originals of a few files, of which `tests/a.py` has this text.
    fn ask<T>(text: &str, package: &str, ask: impl FnOnce(&Originals<'_>) -> T) -> T {
        let files = [
            ("src/pkg/__init__.py", package),
            ("src/pkg/util.py", "def util():\n    pass\n"),
            ("src/pkg/json.py", ""),
            ("src/pkg/compat.py", "import json\nimport json as util\n"),
            ("src/pkg/base.py", "def join(): pass\ndef util(): pass\nutil = join\n"),
            ("tests/__init__.py", ""),
            ("tests/kit.py", ""),
            ("tests/a.py", text),
        ];
        let codebase = Codebase::of_texts(files);
        let is_internal = |name: &str| ["pkg", "tests"].contains(&name.split('.').next().unwrap());
        let executed = Executed::new([("tests/a.py".to_owned(), vec![1])]);
        ask(&Originals::new(&codebase, &executed, &is_internal))
    }

    #[test]
    fn modules_of_the_repository_are_told_from_others() {
        let check = |text: &str, expected: bool| {
            let found = ask(&format!("{text}\nx = util.f\n"), "", |all| all.modules("util"));
            let expected = if expected { &["src/pkg/util"][..] } else { &[] };
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{text}");
        };
        for own in ["from pkg import util", "import pkg.util as util"] {
            check(own, true);
            for other in [
                "import util",
                "from other import util",
                "from pkg.compat import util",
                "from pkg.base import util",
                "util = load('util')",
                "with all as util: pass",
                "for util in all: pass",
                "def f():\n    global util\n    util = other",
                "def f():\n    import util",
                "class util: pass",
                "class A:\n    util = other",
                "from other import *",
                "from pkg.compat import *",
            ] {
                check(other, false);
                check(&format!("{own}\n{other}"), false);
            }
            for other in [
                "def f(util):\n    util.g",
                "def f():\n    util = other",
                "from pkg.json import *",
                "from pkg.util import util",
            ] {
                check(&format!("{own}\n{other}"), true);
            }
        }
        for other in ["", "def f(:", "from . import util", "from pkg.util import util"] {
            check(other, false);
        }
        let two = "from pkg import util\ndef f():\n    from pkg import json as util\nutil.f";
        let found = ask(two, "", |all| all.modules("util"));
        assert_eq!(found.iter().collect::<Vec<_>>(), ["src/pkg/json", "src/pkg/util"]);
        let found = ask("from . import kit\nkit.f", "", |all| all.modules("kit"));
        assert_eq!(found.iter().collect::<Vec<_>>(), ["tests/kit"]);
        for package in ["import util", "from .compat import util", "from .base import *"] {
            let found = ask("from pkg import util\nutil.f", package, |all| all.modules("util"));
            assert!(found.is_empty(), "{package}");
        }
    }

    #[test]
    fn a_part_of_a_package_is_its_module() {
        let check = |package: &str, name: &str, expected: bool| {
            let found = ask("", package, |all| all.part("src/pkg", name).is_some());
            assert_eq!(found, expected, "{package}");
        };
        for own in ["", "from . import util", "import pkg.util as util", "from .json import *"] {
            check(own, "util", true);
        }
        check("", "other", false);
        for other in [
            "import util",
            "util = 1",
            "from other import util",
            "from .compat import util",
            "from other import *",
            "from .base import *",
        ] {
            check(other, "util", false);
        }
    }

    #[test]
    fn a_name_is_found_in_functions_of_functions() {
        let mut text = String::from("from pkg import util\n");
        for depth in 0..60 {
            text.push_str(&format!("{}def f{depth}():\n", " ".repeat(depth)));
        }
        text.push_str(&format!("{}return util.f", " ".repeat(60)));
        let found = ask(&text, "", |all| all.modules("util"));
        assert_eq!(found.iter().collect::<Vec<_>>(), ["src/pkg/util"]);
    }
}
