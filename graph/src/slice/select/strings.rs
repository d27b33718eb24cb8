//! Keeps definitions that only strings or data files name: dotted paths, Python code in a string of a
//! test, data files that import the repository.

use ruff_python_ast::{Expr, Stmt, name::Name};
use rustc_hash::FxHashMap;

use super::{Search, each_statement, is_definition};
use crate::{
    resolve::Target,
    scope,
    slice::{
        program::UnitId,
        scan::{GlobalUsage, GlobalUse, Scan},
    },
    syntax::Syntax,
    syntax::is_identifier,
};

impl Search<'_, '_> {
    /// Keeps the globals that a template names: each identifier after `(` or `{` in a string literal.
    ///
    /// ```python
    /// print("%(name)s {other}" % globals())    # keeps `name` and `other`
    /// ```
    pub(super) fn template_names(&mut self, id: UnitId, scan: &Scan<'_>) {
        let module = self.program().get(id).module;
        for (text, range) in &scan.strings {
            for (at, _) in text.match_indices(['(', '{']) {
                let rest = &text[at + 1..];
                let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric());
                let name = &rest[..end.unwrap_or(rest.len())];
                let name = Name::new(name);
                if self.program().resolver.bindings(module, &name).is_some() {
                    let late = is_definition(self.program().get(id).stmt);
                    let reference = GlobalUse {
                        name,
                        range: *range,
                        chain: Vec::new(),
                        usage: GlobalUsage::Load,
                        late,
                        on_demand: false,
                        shown: None,
                        class_local: false,
                        dead: false,
                        listed: false,
                    };
                    self.refer(id, &reference);
                }
            }
        }
    }

    /// Keeps the definition that a string literal names by its path, as `mock.patch("package.module.name")` does.
    pub(super) fn dotted_string(&mut self, id: UnitId, text: &str) {
        // `package.module:attribute`, as entry points and settings name things.
        if let Some((module, attribute)) = text.split_once(':')
            && self.program().modules.find(module).is_some()
            && attribute.split('.').all(is_identifier)
        {
            self.dotted_string(id, module);
            let first = attribute.split('.').next().unwrap_or_default();
            self.selection.registered.insert(module.to_owned());
            self.demand(module, &Name::new(first));
            return;
        }
        if text.len() > 200 || !text.contains('.') || !text.split('.').all(is_identifier) {
            if self.program().is_support(self.program().get(id).module) && text.contains("import ")
            {
                self.code_string(text);
            }
            return;
        }
        let parts: Vec<&str> = text.split('.').collect();
        if !self.program().modules.is_internal(parts[0]) {
            return;
        }
        self.dotted_strings.insert(text.to_owned());
        // The name of a module is often only compared or shown; where it is imported, the error tells.
        let support = self.program().is_support(self.program().get(id).module);
        if self.program().modules.find(text).is_some() {
            self.selection.named.insert(text.to_owned());
        }
        if !support && self.program().modules.is_internal(text) {
            return;
        }
        if self.imports_by_name && self.program().modules.find(text).is_some() {
            // A test that names a module means to have it imported: it becomes an object of its own.
            self.selection.registered.insert(text.to_owned());
            self.selection.escaped.insert(text.to_owned());
            return;
        }
        for at in (1..parts.len()).rev() {
            let module = parts[..at].join(".");
            if self.program().modules.find(&module).is_some() {
                // `"report.ini"` beside a module `report` is a file.
                let name = Name::new(parts[at]);
                let program = self.program();
                let is_known = program.resolver.attribute(&module, &name).is_some()
                    || program.is_answered(&module, &name);
                if !is_known {
                    return;
                }
                self.selection.registered.insert(module.clone());
                self.demand(&module, &Name::new(parts[at]));
                // `mock.patch` reads each part of the path as an attribute of the package before it.
                for inner in 1..at {
                    let (package, name) = (parts[..inner].join("."), Name::new(parts[inner]));
                    let reached = self.program().resolver.attribute(&package, &name);
                    if matches!(reached, Some(Target::Module(_))) {
                        self.selection.dotted.insert((package, name));
                    }
                }
                return;
            }
        }
    }

    /// Keeps every module of a package that kept strings name, once two or more were imported by
    /// computed names. The code iterates over a table of module names.
    pub(super) fn gone_through(&mut self) {
        let mut counts: FxHashMap<&str, usize> = FxHashMap::default();
        let imported = self.adjustments.namespaces.iter();
        let imported = imported.filter(|module| self.adjustments.register.contains(module));
        for (package, _) in imported.filter_map(|module| module.rsplit_once('.')) {
            *counts.entry(package).or_default() += 1;
        }
        for (package, _) in counts.into_iter().filter(|(_, count)| *count > 1) {
            let inside = |text: &&String| {
                let name = text.strip_prefix(package).and_then(|rest| rest.strip_prefix('.'));
                name.is_some_and(is_identifier)
            };
            let named: Vec<String> = self.dotted_strings.iter().filter(inside).cloned().collect();
            let program = self.program();
            if named.iter().all(|module| program.modules.find(module).is_some()) {
                for set in [
                    &mut self.selection.named,
                    &mut self.selection.registered,
                    &mut self.selection.escaped,
                ] {
                    set.extend(named.iter().cloned());
                }
            }
        }
    }

    /// Keeps the names that Python code in a string of a test imports, such as a file that the test writes. Ignores
    /// strings that do not parse.
    fn code_string(&mut self, text: &str) {
        let names_package = text
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .any(|word| !word.is_empty() && self.program().modules.is_internal(word));
        if !names_package {
            return;
        }
        let syntax = Syntax::parse(crate::source::Source::new("<string>", dedent(text)));
        if syntax.errors().is_empty() {
            self.foreign_code(&syntax);
        }
    }

    /// Keeps the names that data files import from the repository.
    pub(super) fn foreign(&mut self, data: &[Syntax]) {
        for syntax in data {
            self.foreign_code(syntax);
        }
    }

    fn foreign_code(&mut self, syntax: &Syntax) {
        let mut local: FxHashMap<Name, String> = FxHashMap::default();
        let mut demands: Vec<(String, Name)> = Vec::new();
        let mut registered = Vec::new();
        each_statement(syntax.body(), &mut |stmt| match stmt {
            Stmt::ImportFrom(import) if import.level == 0 => {
                let Some(from) = &import.module else { return };
                if self.program().modules.is_internal(from) {
                    registered.push(from.to_string());
                    demands.extend(
                        import.names.iter().map(|alias| (from.to_string(), alias.name.id.clone())),
                    );
                }
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    if self.program().modules.is_internal(&alias.name) {
                        registered.push(alias.name.to_string());
                        let bound = match &alias.asname {
                            Some(_) => alias.name.to_string(),
                            None => scope::local_of_import(alias).to_string(),
                        };
                        local.insert(scope::local_of_import(alias), bound);
                    }
                }
            }
            _ => {}
        });
        let mut chains = Chains { local: &local, found: Vec::new() };
        for stmt in syntax.body() {
            ruff_python_ast::visitor::Visitor::visit_stmt(&mut chains, stmt);
        }
        demands.extend(chains.found);
        self.selection.registered.extend(registered);
        for (module, name) in demands {
            self.demand(&module, &name);
        }
    }
}

struct Chains<'c> {
    local: &'c FxHashMap<Name, String>,
    found: Vec<(String, Name)>,
}

impl<'v> ruff_python_ast::visitor::Visitor<'v> for Chains<'_> {
    fn visit_expr(&mut self, expr: &'v Expr) {
        if let Expr::Attribute(attribute) = expr
            && let Expr::Name(base) = attribute.value.as_ref()
            && let Some(module) = self.local.get(&base.id)
        {
            self.found.push((module.clone(), attribute.attr.id.clone()));
        }
        ruff_python_ast::visitor::walk_expr(self, expr);
    }
}

/// Removes the indentation that all lines share, as `textwrap.dedent` does.
fn dedent(text: &str) -> String {
    let indent = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    text.lines().map(|line| line.get(indent..).unwrap_or("")).collect::<Vec<_>>().join("\n")
}

/// Returns true if a statement reads all names of its module at once, for example to fill a
/// template.
pub(super) fn fills_templates(stmt: &Stmt, scan: &Scan<'_>) -> bool {
    let own = |name: &str| match name {
        "globals" => true,
        // In a definition, these two return its local names.
        "locals" | "vars" => !is_definition(stmt),
        _ => false,
    };
    scan.references.iter().any(|one| !one.dead && own(&one.name))
}
