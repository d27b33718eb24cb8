//! Names that executed lines read: what binds them is likely needed.

use std::collections::BTreeSet;

use ruff_python_ast::{
    Expr, Parameters, Stmt,
    name::Name,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Draft, Part};
use crate::{
    scope::{bound, bound_directly, local_of_import},
    source::Source,
    syntax::{Syntax, with_deep_stack},
};

/// The lines that bind names, and those that read them, of a gist of which a run was traced.
///
/// ```python
/// size = len(text)      # binds `size`
/// log(text)             # binds nothing: it may go
/// return size * 2       # executed, and reads `size`: without the first line it raises a NameError
/// ```
///
/// Names are resolved by their scopes. Attributes, and names in the bodies of classes, are taken as one name wherever they
/// are. It estimates what is likely needed: it decides the order of a search, never its result.
#[derive(Debug)]
pub(super) struct ExecutedNames {
    names: Vec<NameLines>,
    /// For each line the indexes in `names` of what it binds while it is executed.
    bound: Vec<Vec<usize>>,
}

/// The executed lines with one name.
#[derive(Debug, Default)]
struct NameLines {
    binders: BTreeSet<usize>,
    readers: BTreeSet<usize>,
}

impl ExecutedNames {
    /// Returns the names of a gist; `ran` is true for the ids of the lines that were executed.
    pub(super) fn of(draft: &Draft, ran: &dyn Fn(usize) -> bool) -> Self {
        let executed: Vec<bool> = draft.ids.iter().map(|id| ran(*id)).collect();
        with_deep_stack(|| {
            let syntax = Syntax::parse(Source::new("gist", draft.gist.text.as_str()));
            let mut collector = Collector {
                syntax: &syntax,
                executed: &executed,
                scopes: Vec::new(),
                statement: 0,
                found: FxHashMap::default(),
            };
            collector.visit_in_scope(NameScope::of(syntax.body(), false), |collector| {
                collector.visit_body(syntax.body());
            });
            let names: Vec<NameLines> = collector.found.into_values().collect();
            let mut bound = vec![Vec::new(); executed.len()];
            for (at, name) in names.iter().enumerate() {
                name.binders.iter().for_each(|line| bound[*line].push(at));
            }
            Self { names, bound }
        })
    }

    /// Returns true for each of these parts that a remaining line still needs once all of them are removed. A
    /// remaining executed line reads a name that the part binds, and no remaining executed line binds that name.
    pub(super) fn still_read(&self, parts: &[Part]) -> Vec<bool> {
        let mut is_read = vec![false; parts.len()];
        let mut owners: FxHashMap<usize, usize> = FxHashMap::default();
        for (at, part) in parts.iter().enumerate() {
            owners.extend((part.first..=part.last).map(|line| (line, at)));
        }
        // A part that stays reads what others bind.
        let mut is_changed = true;
        while std::mem::take(&mut is_changed) {
            let goes = |line: &usize| owners.get(line).is_some_and(|at| !is_read[*at]);
            let mut stays = BTreeSet::new();
            for (at, part) in parts.iter().enumerate().filter(|(at, _)| !is_read[*at]) {
                let lines = part.first..=part.last.min(self.bound.len().saturating_sub(1));
                let mut names = lines.flat_map(|line| &self.bound[line]).map(|at| &self.names[*at]);
                if names.any(|name| name.binders.iter().all(goes) && !name.readers.iter().all(goes))
                {
                    stays.insert(at);
                }
            }
            for at in stays {
                (is_read[at], is_changed) = (true, true);
            }
        }
        is_read
    }
}

/// A name, and the first offset of the scope that binds it; `None` for an attribute.
type ScopedName = (Option<TextSize>, Name);

/// The names of a module, a function or a class.
struct NameScope {
    /// The offset of its first statement.
    start: TextSize,
    local: FxHashSet<Name>,
    global: FxHashSet<Name>,
    is_class: bool,
}

impl NameScope {
    fn of(body: &[Stmt], is_class: bool) -> Self {
        let names = bound(body);
        let start = body.first().map_or_else(TextSize::default, Ranged::start);
        Self { start, local: names.local, global: names.global, is_class }
    }

    fn with_parameters(mut self, parameters: &Parameters) -> Self {
        self.local.extend(parameters.iter().map(|parameter| parameter.name().id.clone()));
        self
    }
}

struct Collector<'a> {
    syntax: &'a Syntax,
    executed: &'a [bool],
    scopes: Vec<NameScope>,
    /// The first line of the statement around, counted from 0.
    statement: usize,
    found: FxHashMap<ScopedName, NameLines>,
}

impl Collector<'_> {
    fn visit_in_scope(&mut self, scope: NameScope, act: impl FnOnce(&mut Self)) {
        self.scopes.push(scope);
        act(self);
        self.scopes.pop();
    }

    fn line(&self, at: TextSize) -> usize {
        self.syntax.source().line(at) as usize - 1
    }

    fn key(&self, name: &Name) -> ScopedName {
        let module = self.scopes.first().map(|scope| scope.start);
        let innermost = self.scopes.len().saturating_sub(1);
        for (at, scope) in self.scopes.iter().enumerate().rev() {
            // Functions see no names of the classes around them.
            if scope.is_class && at < innermost {
                continue;
            }
            if scope.global.contains(name) {
                break;
            }
            if scope.local.contains(name) {
                let start = (!scope.is_class).then_some(scope.start);
                return (start, name.clone());
            }
        }
        (module, name.clone())
    }

    fn is_executed(&self, line: usize) -> bool {
        self.executed.get(line).is_some_and(|ran| *ran)
    }

    fn add_binder(&mut self, key: ScopedName, line: usize) {
        if self.is_executed(line) {
            self.found.entry(key).or_default().binders.insert(line);
        }
    }

    fn add_reader(&mut self, key: ScopedName, at: TextSize) {
        let line = self.line(at);
        // Not each line of a long statement is reported as executed.
        if self.is_executed(line) || self.is_executed(self.statement) {
            self.found.entry(key).or_default().readers.insert(line);
        }
    }
}

impl<'a> Visitor<'a> for Collector<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let line = self.line(stmt.start());
        let around = std::mem::replace(&mut self.statement, line);
        let names = match stmt {
            Stmt::Import(import) => import.names.iter().map(local_of_import).collect(),
            Stmt::ImportFrom(import) => import.names.iter().map(local_of_import).collect(),
            // `n += 1` reads `n`: it cannot replace the first binding.
            Stmt::AugAssign(_) => Vec::new(),
            _ => bound_directly(stmt),
        };
        for name in names {
            self.add_binder(self.key(&name), line);
        }
        match stmt {
            Stmt::FunctionDef(function) => {
                function.decorator_list.iter().for_each(|one| self.visit_decorator(one));
                self.visit_parameters(&function.parameters);
                function.returns.iter().for_each(|returns| self.visit_annotation(returns));
                let scope = NameScope::of(&function.body, false);
                self.visit_in_scope(scope.with_parameters(&function.parameters), |all| {
                    for parameter in &function.parameters {
                        all.add_binder(all.key(&parameter.name().id), line);
                    }
                    all.visit_body(&function.body);
                });
            }
            Stmt::ClassDef(class) => {
                class.decorator_list.iter().for_each(|one| self.visit_decorator(one));
                class.arguments.iter().for_each(|arguments| self.visit_arguments(arguments));
                let scope = NameScope::of(&class.body, true);
                self.visit_in_scope(scope, |all| all.visit_body(&class.body));
            }
            Stmt::AugAssign(assign) => {
                match &*assign.target {
                    Expr::Name(name) => self.add_reader(self.key(&name.id), name.start()),
                    Expr::Attribute(attribute) => {
                        self.add_reader((None, attribute.attr.id.clone()), attribute.attr.start());
                        self.visit_expr(&attribute.value);
                    }
                    target => self.visit_expr(target),
                }
                self.visit_expr(&assign.value);
            }
            _ => walk_stmt(self, stmt),
        }
        self.statement = around;
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if !name.ctx.is_store() => {
                self.add_reader(self.key(&name.id), name.start())
            }
            Expr::Attribute(attribute) => {
                let key = (None, attribute.attr.id.clone());
                match attribute.ctx.is_store() {
                    true => self.add_binder(key, self.statement),
                    false => self.add_reader(key, attribute.attr.start()),
                }
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slice::{
        Gist,
        plan::{GistLine, LineOrigin},
    };

    /// Removes the lines that end in `# goes` or `# stays` together, and compares those that are still read with the latter.
    /// Lines that end in `# not` were not executed.
    #[track_caller]
    fn check(text: &str) {
        let line = |_| GistLine { origin: LineOrigin::Glue(String::new()), adapted: false };
        let lines: Vec<&str> = text.lines().collect();
        let gist = Gist { text: text.to_owned(), lines: lines.iter().copied().map(line).collect() };
        let draft = Draft { gist, ids: (0..lines.len()).collect() };
        let uses = ExecutedNames::of(&draft, &|at| !lines[at].ends_with("# not"));
        let part = |(at, _): (usize, &&str)| Part { first: at, last: at, id: at };
        let removed = lines.iter().enumerate();
        let removed =
            removed.filter(|(_, line)| line.ends_with("# goes") || line.ends_with("# stays"));
        let parts: Vec<Part> = removed.map(part).collect();
        let read: Vec<&str> = parts
            .iter()
            .zip(uses.still_read(&parts))
            .filter_map(|(part, is_read)| is_read.then_some(lines[part.first]))
            .collect();
        let stays: Vec<&str> =
            lines.iter().copied().filter(|line| line.ends_with("# stays")).collect();
        assert_eq!(read, stays, "{text}");
    }

    #[test]
    fn what_an_executed_line_reads_stays() {
        check("def f(t):\n    n = len(t)  # stays\n    log(t)  # goes\n    return n\n");
        check("def f(t):\n    n = len(t)  # goes\n    return n  # not\n");
        check("def f(t):\n    n = len(t)  # goes\n    return n  # goes\n");
        // The second reads the first, and the last one the second.
        check("a = 1  # stays\nb = a  # stays\nprint(b)\n");
        check("import os  # stays\nfrom a import b as c  # stays\nc(os.sep)\n");
    }

    #[test]
    fn another_binding_serves_as_well() {
        check("a = 1  # goes\na = 2\nprint(a)\n");
        check("a = 1  # stays\nif a:\n    a = 2  # not\nprint(a)\n");
        check("n = 0  # stays\nfor x in y:\n    n += x\nprint(n)\n");
        check("class C:\n    def f(self):\n        self.n = 0  # stays\n        self.n += 1\n");
        check("if a:\n    b = 1  # goes\nelif b:\n    b = 2\n    print(b)\n");
    }

    #[test]
    fn names_belong_to_their_scopes() {
        check("a = 1  # goes\ndef f(a):\n    return a\n");
        check("a = 1  # stays\ndef f():\n    return a\n");
        check("def f():\n    a = 1  # goes\ndef g(a):\n    return a\n");
        check("def f():\n    global a\n    a = 1  # stays\nprint(a)\n");
        check("class C:\n    a = 1  # stays\n    def f(self):\n        return self.a\n");
        check("class C:\n    a = 1  # goes\n    def f(self):\n        return a\n");
        check("class C:\n    def f(self):\n        self.a = 1  # stays\n        return self.a\n");
    }
}
