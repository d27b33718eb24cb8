//! Follows random values: a data flow by names, from random generators to the conditions that
//! depend on them.
//!
//! Variables are distinguished by function and name, attributes by name, and results by the
//! function's name. An item of a container is the container. The result of an external call depends
//! on all of its arguments.

mod calls;
mod decided;

use ruff_python_ast::{
    Arguments, Comprehension, Expr, Stmt, StmtFunctionDef,
    name::Name,
    visitor::{Visitor, walk_expr},
};
use ruff_text_size::Ranged;
use rustc_hash::{FxHashMap, FxHashSet};

use super::sources::{ExternalImports, may_draw};
use crate::{
    module::{Module, ModuleId, Modules},
    scope::{self, Bound},
    slice::{
        ran::ModuleRun,
        scan::{called, parameter_names, path},
    },
};

/// A module, or a function that was entered.
pub(super) struct EnteredScope<'a> {
    pub(super) home: ModuleId,
    pub(super) body: &'a [Stmt],
    function: Option<&'a StmtFunctionDef>,
    /// Index of the scope around it.
    outer: Option<usize>,
    in_class: bool,
    bound: Bound,
}

/// All scopes, and the names in them that random values reach.
pub(super) struct Flow<'a, 'f> {
    modules: &'a Modules,
    ran: &'f [ModuleRun],
    imported: Vec<ExternalImports>,
    pub(super) scopes: Vec<EnteredScope<'a>>,
    /// Functions, and classes by their constructors, by name.
    callees: FxHashMap<&'a Name, Vec<usize>>,
    seeded: bool,
    reached: Reached<'a>,
}

/// The variables, attributes and results that random values reach.
#[derive(Default)]
struct Reached<'a> {
    locals: FxHashSet<(usize, &'a Name)>,
    globals: FxHashSet<&'a Name>,
    attributes: FxHashSet<&'a Name>,
    /// Functions that give them back.
    results: FxHashSet<&'a Name>,
    grew: bool,
}

impl<'a, 'f> Flow<'a, 'f> {
    /// Follows random values to a fixpoint. Returns `None` if the code creates none.
    pub(super) fn new(modules: &'a Modules, ran: &'f [ModuleRun]) -> Option<Self> {
        if !modules.iter().any(|(home, module)| draws(module, modules, &ran[home.0 as usize])) {
            return None;
        }
        let imported =
            modules.iter().map(|(_, module)| ExternalImports::of(module, modules)).collect();
        let mut flow = Self {
            modules,
            ran,
            imported,
            scopes: Vec::new(),
            callees: FxHashMap::default(),
            seeded: false,
            reached: Reached::default(),
        };
        for (home, module) in modules.iter() {
            flow.add_scope(home, module.syntax.body(), None, None, false);
        }
        flow.seeded = flow.seeds();
        flow.follow();
        Some(flow)
    }

    fn add_scope(
        &mut self,
        home: ModuleId,
        body: &'a [Stmt],
        function: Option<&'a StmtFunctionDef>,
        outer: Option<usize>,
        in_class: bool,
    ) {
        let at = self.scopes.len();
        let mut bound = scope::bound(body);
        scope::for_each_statement(body, &mut |stmt| {
            each_expression(stmt, &mut |expr| {
                for generator in generators(expr) {
                    scope::target_names(&generator.target, &mut bound.local);
                }
            });
        });
        if let Some(function) = function {
            bound.local.extend(parameter_names(&function.parameters));
            self.callees.entry(&function.name.id).or_default().push(at);
        }
        self.scopes.push(EnteredScope { home, body, function, outer, in_class, bound });
        self.add_inner(body, at, None);
    }

    /// Adds the functions of a body, those of its classes included.
    fn add_inner(&mut self, body: &'a [Stmt], outer: usize, class: Option<&'a Name>) {
        let home = self.scopes[outer].home;
        let source = self.modules.get(home).syntax.source();
        scope::for_each_statement(body, &mut |stmt| match stmt {
            Stmt::FunctionDef(function) => {
                let entered = self.ran[home.0 as usize].function(source.line(stmt.start()));
                if entered.is_none() {
                    return;
                }
                let at = self.scopes.len();
                let is_made = calls::is_constructor(function);
                if let Some(class) = class.filter(|_| is_made) {
                    self.callees.entry(class).or_default().push(at);
                }
                self.add_scope(home, &function.body, Some(function), Some(outer), class.is_some());
            }
            Stmt::ClassDef(class) => self.add_inner(&class.body, outer, Some(&class.name.id)),
            _ => {}
        });
    }

    /// Calls `visit` with each statement of a scope that ran, those of class bodies included, and whether it is one of
    /// those.
    fn statements(&self, scope: &EnteredScope<'a>, visit: &mut impl FnMut(&'a Stmt, bool)) {
        let source = self.modules.get(scope.home).syntax.source();
        let ran = &self.ran[scope.home.0 as usize];
        each_statement(scope.body, false, &mut |stmt, in_class| {
            if ran.statement(source, stmt) {
                visit(stmt, in_class);
            }
        });
    }

    /// Returns true if any executed code seeds the shared random generator.
    fn seeds(&self) -> bool {
        let mut found = false;
        for scope in &self.scopes {
            let imported = &self.imported[scope.home.0 as usize];
            self.statements(scope, &mut |stmt, _| {
                each_expression(stmt, &mut |expr| {
                    found |= expr.as_call_expr().is_some_and(|call| imported.seeds(call));
                });
            });
        }
        found
    }

    fn is_drawn(&self, home: ModuleId, expr: &Expr) -> bool {
        self.imported[home.0 as usize].draws(expr, self.seeded)
    }

    fn follow(&mut self) {
        let of_scope = |scope| {
            let mut found = Vec::new();
            self.statements(scope, &mut |stmt, in_class| found.push((stmt, in_class)));
            found
        };
        let statements: Vec<Vec<(&Stmt, bool)>> = self.scopes.iter().map(of_scope).collect();
        loop {
            self.reached.grew = false;
            for (at, statements) in statements.iter().enumerate() {
                for &(stmt, in_class) in statements {
                    self.step(at, stmt);
                    if in_class {
                        self.reach_attributes(at, stmt);
                    }
                }
            }
            if !self.reached.grew {
                return;
            }
        }
    }

    fn step(&mut self, at: usize, stmt: &'a Stmt) {
        let mut expressions = Vec::new();
        each_expression(stmt, &mut |expr| expressions.push(expr));
        for expr in expressions {
            self.step_expression(at, expr);
        }
        match stmt {
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.assign(at, target, &assign.value);
                }
            }
            Stmt::AugAssign(assign) => self.assign(at, &assign.target, &assign.value),
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    self.assign(at, &assign.target, value);
                }
            }
            Stmt::For(each) => self.assign(at, &each.target, &each.iter),
            Stmt::With(with) => {
                for item in &with.items {
                    if let Some(target) = &item.optional_vars {
                        self.assign(at, target, &item.context_expr);
                    }
                }
            }
            Stmt::Return(back) => {
                if let Some(value) = &back.value {
                    self.give_back(at, value);
                }
            }
            _ => {}
        }
        self.decide(at, stmt);
    }

    /// Marks the names that a class body binds to random values as attributes.
    fn reach_attributes(&mut self, at: usize, stmt: &'a Stmt) {
        let Stmt::Assign(assign) = stmt else { return };
        if self.is_reached(at, &assign.value) {
            for name in assign.targets.iter().filter_map(Expr::as_name_expr) {
                self.reached.grew |= self.reached.attributes.insert(&name.id);
            }
        }
    }

    fn step_expression(&mut self, at: usize, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => self.pass(at, call),
            Expr::Named(named) => self.assign(at, &named.target, &named.value),
            Expr::Yield(given) => {
                if let Some(value) = &given.value {
                    self.give_back(at, value);
                }
            }
            Expr::YieldFrom(given) => self.give_back(at, &given.value),
            _ => {
                for generator in generators(expr) {
                    self.assign(at, &generator.target, &generator.iter);
                }
            }
        }
    }

    fn give_back(&mut self, at: usize, value: &'a Expr) {
        if self.is_reached(at, value) {
            self.reach_result(at);
        }
    }

    fn reach_result(&mut self, at: usize) {
        let Some(function) = self.scopes[at].function else { return };
        self.reached.grew |= self.reached.results.insert(&function.name.id);
        if function.decorator_list.iter().any(|one| names_property(&one.expression)) {
            self.reached.grew |= self.reached.attributes.insert(&function.name.id);
        }
    }

    fn assign(&mut self, at: usize, target: &'a Expr, value: &'a Expr) {
        if let (Expr::Tuple(targets), Expr::Tuple(values)) = (target, value)
            && targets.elts.len() == values.elts.len()
        {
            for (target, value) in targets.elts.iter().zip(&values.elts) {
                self.assign(at, target, value);
            }
        } else if self.is_reached(at, value) {
            self.reach(at, target);
        }
    }

    /// Takes a target for reached.
    fn reach(&mut self, at: usize, target: &'a Expr) {
        match target {
            Expr::Name(name) => self.reach_name(at, &name.id),
            Expr::Attribute(attribute) => {
                self.reached.grew |= self.reached.attributes.insert(&attribute.attr.id);
            }
            Expr::Subscript(subscript) => self.reach(at, &subscript.value),
            Expr::Starred(starred) => self.reach(at, &starred.value),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|one| self.reach(at, one)),
            Expr::List(list) => list.elts.iter().for_each(|one| self.reach(at, one)),
            _ => {}
        }
    }

    fn reach_name(&mut self, at: usize, name: &'a Name) {
        let new = match self.owner(at, name) {
            Some(owner) => self.reached.locals.insert((owner, name)),
            None => self.reached.globals.insert(name),
        };
        self.reached.grew |= new;
    }

    /// The function that binds a name; none where the module does.
    fn owner(&self, at: usize, name: &Name) -> Option<usize> {
        let mut inner = Some(at);
        while let Some(at) = inner {
            let scope = &self.scopes[at];
            if scope.function.is_some() && scope.bound.local.contains(name) {
                return Some(at);
            }
            inner = scope.outer;
            if scope.bound.global.contains(name) {
                break;
            }
        }
        None
    }

    fn is_any_reached(&self, at: usize, arguments: &Arguments) -> bool {
        arguments.args.iter().any(|one| self.is_reached(at, one))
            || arguments.keywords.iter().any(|one| self.is_reached(at, &one.value))
    }

    /// The functions of the repository that an expression may name to call them, with that name.
    fn callees(&self, at: usize, callee: &Expr) -> Option<(&'a Name, &[usize])> {
        let imported = &self.imported[self.scopes[at].home.0 as usize];
        let name = called(callee).filter(|_| !imported.knows(callee))?;
        let (name, all) = self.callees.get_key_value(name)?;
        Some((name, all))
    }

    /// Returns true if the variable at the root of an expression is a local that random values
    /// reach.
    fn is_local_reached(&self, at: usize, expr: &Expr) -> bool {
        let Some(name) = path(expr).0.as_name_expr() else { return false };
        let owner = self.owner(at, &name.id);
        owner.is_some_and(|owner| self.reached.locals.contains(&(owner, &name.id)))
    }

    /// Returns true if the value of an expression depends on a random value.
    pub(super) fn is_reached(&self, at: usize, expr: &Expr) -> bool {
        let home = self.scopes[at].home;
        let imported = &self.imported[home.0 as usize];
        match expr {
            _ if self.is_drawn(home, expr) => true,
            // An import may have the name of something else in a function.
            Expr::Name(_) | Expr::Attribute(_)
                if imported.knows(expr) && !self.is_local_reached(at, expr) =>
            {
                false
            }
            Expr::Name(name) => match self.owner(at, &name.id) {
                Some(owner) => self.reached.locals.contains(&(owner, &name.id)),
                None => self.reached.globals.contains(&name.id),
            },
            Expr::Attribute(attribute) => {
                self.reached.attributes.contains(&attribute.attr.id)
                    || self.is_reached(at, &attribute.value)
            }
            Expr::Call(call) => match self.callees(at, &call.func) {
                Some((name, _)) => self.reached.results.contains(name),
                None => self.is_any_reached(at, &call.arguments) || self.is_reached(at, &call.func),
            },
            // What a function does with what it is given is not followed.
            Expr::Lambda(_) => false,
            _ => {
                let mut parts = Parts { flow: self, at, reached: false };
                walk_expr(&mut parts, expr);
                parts.reached
            }
        }
    }
}

/// Returns true if any executed code of a module creates a random value.
fn draws(module: &Module, modules: &Modules, ran: &ModuleRun) -> bool {
    let (syntax, source) = (&module.syntax, module.syntax.source());
    if !may_draw(source.text()) {
        return false;
    }
    let imported = ExternalImports::of(module, modules);
    let mut found = false;
    let mut look = |body: &[Stmt]| {
        each_statement(body, false, &mut |stmt, _| {
            if !found && ran.statement(source, stmt) {
                each_expression(stmt, &mut |expr| found |= imported.draws(expr, false));
            }
        });
    };
    look(syntax.body());
    scope::for_each_function(syntax.body(), &mut |_, function| look(&function.body));
    found
}

/// A visitor that checks whether random values reach any part of an expression.
struct Parts<'p, 'a, 'f> {
    flow: &'p Flow<'a, 'f>,
    at: usize,
    reached: bool,
}

impl<'v> Visitor<'v> for Parts<'_, '_, '_> {
    fn visit_expr(&mut self, expr: &'v Expr) {
        self.reached = self.reached || self.flow.is_reached(self.at, expr);
    }
}

/// Calls `visit` with each statement of a scope, those of class bodies included, and whether it is one of those.
fn each_statement<'v>(body: &'v [Stmt], in_class: bool, visit: &mut impl FnMut(&'v Stmt, bool)) {
    scope::for_each_statement(body, &mut |stmt| {
        visit(stmt, in_class);
        if let Stmt::ClassDef(class) = stmt {
            each_statement(&class.body, true, visit);
        }
    });
}

/// Calls `visit` with the expressions of a statement itself, not of its blocks, the parts of each included.
pub(super) fn each_expression<'v>(stmt: &'v Stmt, visit: &mut impl FnMut(&'v Expr)) {
    struct Each<'f, F>(&'f mut F);
    impl<'v, F: FnMut(&'v Expr)> Visitor<'v> for Each<'_, F> {
        fn visit_stmt(&mut self, _: &'v Stmt) {}

        fn visit_expr(&mut self, expr: &'v Expr) {
            (self.0)(expr);
            walk_expr(self, expr);
        }
    }
    ruff_python_ast::visitor::walk_stmt(&mut Each(visit), stmt);
}

/// Returns the generators of a comprehension.
fn generators(expr: &Expr) -> &[Comprehension] {
    match expr {
        Expr::ListComp(comp) => &comp.generators,
        Expr::SetComp(comp) => &comp.generators,
        Expr::DictComp(comp) => &comp.generators,
        Expr::Generator(comp) => &comp.generators,
        _ => &[],
    }
}

fn names_property(decorator: &Expr) -> bool {
    called(decorator).is_some_and(|name| name.ends_with("property"))
}
