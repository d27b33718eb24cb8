//! What is left elsewhere when a statement makes something: the object that notes itself in a table, the class that
//! its base, its metaclass or a decorator enters there.
//!
//! A statement that leaves something waits until that is needed, where anything but what left it there reads it.

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{ExprCall, StmtClassDef, StmtFunctionDef};

use super::{
    super::changes::{CallKind, Changes, Part},
    *,
};

/// A class of the repository, and whether it makes classes.
#[derive(Clone, Copy)]
struct Member<'a> {
    home: ModuleId,
    class: &'a StmtClassDef,
    is_meta: bool,
}

/// What is changed, and by which functions.
#[derive(Default)]
struct Left {
    parts: Vec<Part>,
    through: Vec<(ModuleId, TextRange)>,
    seen: FxHashSet<(ModuleId, Name)>,
}

impl Left {
    fn by(&mut self, changes: &Changes) {
        self.parts.extend(changes.parts.iter().cloned());
        self.through.extend(&changes.through);
    }
}

/// Something that is called where it stands, and how often what that returns is, in turn.
struct Called<'s> {
    callee: &'s Expr,
    again: u32,
    /// In a class body, which may be told what it is called there.
    in_class: bool,
}

impl<'a> Search<'a, '_> {
    /// A statement waits for what it leaves elsewhere.
    pub(super) fn leaves(&mut self, id: UnitId) {
        let program = self.program();
        let unit = program.get(id);
        let (home, stmt) = (unit.module, unit.stmt);
        let mut evaluated = Evaluated::new(|stmt| {
            program.ran(home).statement(program.modules.get(home).syntax.source(), stmt)
        });
        evaluated.statement(stmt);
        let mut left = Left::default();
        let early = program.ran(home).is_early();
        for called in evaluated.calls {
            left.seen.clear();
            let kind = CallKind { early, again: called.again };
            self.call(id, called.callee, kind, called.in_class, &mut left);
        }
        for class in evaluated.classes {
            self.class(home, class, early, &mut left);
        }
        if left.parts.is_empty() {
            return;
        }
        left.parts.sort_unstable();
        left.parts.dedup();
        left.through.push((home, stmt.range()));
        let mentions = program.mentions();
        let is_own = |global: &(ModuleId, Name)| {
            global.0 == home && program.get(id).binds.contains(&global.1)
        };
        let read = left.parts.into_iter().filter(|(global, attribute)| {
            let name = attribute.as_ref().unwrap_or(&global.1);
            !is_own(global) && mentions.is_read_outside(name, &left.through)
        });
        let globals: Vec<_> = read.map(|(global, _)| global).collect();
        for global in globals {
            self.waiting.entry(global).or_default().push(id);
        }
    }

    /// What a call changes of what an expression stands for, or by it.
    fn call(&self, id: UnitId, callee: &Expr, kind: CallKind, in_class: bool, left: &mut Left) {
        let program = self.program();
        let mut attributes = Vec::new();
        let mut base = callee;
        while let Expr::Attribute(attribute) = base {
            attributes.push(&attribute.attr.id);
            base = &attribute.value;
        }
        let Expr::Name(name) = base else { return };
        let mut target = program.target(id, &name.id, false);
        while let Some(Target::Module(module)) = &target
            && let Some(attribute) = attributes.pop()
        {
            target = program.resolver.attribute(module, attribute);
        }
        let Some(Target::Own(home, own)) = target else { return };
        if !left.seen.insert((home, own.clone())) {
            return;
        }
        if let [method, ..] = attributes[..] {
            let held = (attributes.len() > 1).then(|| attributes[attributes.len() - 1].clone());
            self.method((home, own), held, method, kind, left);
            return;
        }
        for (binder, stmt) in self.bindings(home, &own) {
            match stmt {
                Stmt::FunctionDef(function) => left.by(&program.changes(home, function, kind)),
                Stmt::ClassDef(class) => {
                    let family = self.family(home, class);
                    self.follow(&family, &["__new__", "__init__"], false, kind, left);
                    let makers = family.iter().filter(|one| one.is_meta).copied();
                    let makers: Vec<_> = makers.collect();
                    self.follow(&makers, &["__call__"], false, kind, left);
                    if in_class {
                        // What it tells the class around it is told to that alone.
                        let mut told = Left::default();
                        self.follow(&family, &["__set_name__"], true, kind, &mut told);
                        left.parts.extend(told.parts);
                        left.through.extend(told.through);
                    }
                }
                // Another name of it.
                Stmt::Assign(assign) => self.call(binder, &assign.value, kind, in_class, left),
                _ => {}
            }
        }
    }

    /// What a method changes of a global, a class or an object, or of what that holds.
    fn method(
        &self,
        (home, own): (ModuleId, Name),
        held: Option<Name>,
        method: &Name,
        kind: CallKind,
        left: &mut Left,
    ) {
        let program = self.program();
        let bindings = self.bindings(home, &own);
        let class = bindings.iter().find_map(|(_, stmt)| stmt.as_class_def_stmt());
        if let Some(class) = class.filter(|_| held.is_none()) {
            self.follow(&self.family(home, class), &[method], false, kind, left);
            return;
        }
        let (changed, through) = program.purity.changed_by(method);
        left.through.extend(through);
        left.parts
            .extend(changed.into_iter().map(|one| ((home, own.clone()), held.clone().or(one))));
        for &(home, function) in program.purity.entered.get(method.as_str()).into_iter().flatten() {
            left.by(&program.changes(home, function, kind));
        }
    }

    /// What the hooks of its bases and of its metaclass change where a class is made.
    fn class(&self, home: ModuleId, class: &'a StmtClassDef, early: bool, left: &mut Left) {
        let kind = CallKind { early, again: 0 };
        let mut family = Vec::new();
        self.join(home, &mut bases(class), &mut family);
        // What a metaclass changes of a class may be what its bases have.
        let hooks = ["__init_subclass__", "__prepare__", "__new__", "__init__", "__call__"];
        self.follow(&family, &hooks, true, kind, left);
        let globals = family.iter().map(|one| (one.home, one.class.name.id.clone()));
        left.parts.extend(globals.map(|global| (global, Some(Name::new("__subclasses__")))));
    }

    /// What methods of classes change, and those that they call in turn: of globals, and of the classes.
    fn follow(
        &self,
        family: &[Member<'_>],
        methods: &[&str],
        makes_class: bool,
        kind: CallKind,
        left: &mut Left,
    ) {
        let program = self.program();
        let mut pending: Vec<Name> = methods.iter().map(|name| Name::new(*name)).collect();
        let mut seen = FxHashSet::default();
        while let Some(name) = pending.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            for member in family {
                // An object of a base is not made where a class is.
                let makes_object = matches!(name.as_str(), "__new__" | "__init__" | "__call__");
                if makes_class && makes_object && !member.is_meta {
                    continue;
                }
                for method in scope::methods(member.class, &[name.as_str()]) {
                    let line =
                        program.modules.get(member.home).syntax.source().line(method.start());
                    if program.ran(member.home).function(line).is_none() {
                        continue;
                    }
                    let changes = program.changes(member.home, method, kind);
                    left.by(&changes);
                    pending.extend(changes.methods.iter().cloned());
                    let shared = shared(method, &changes);
                    for one in family {
                        let global = (one.home, one.class.name.id.clone());
                        left.parts
                            .extend(shared.iter().map(|part| (global.clone(), Some(part.clone()))));
                    }
                }
            }
        }
    }

    /// A class with all that it comes from.
    fn family(&self, home: ModuleId, class: &'a StmtClassDef) -> Vec<Member<'a>> {
        let mut family = vec![Member { home, class, is_meta: false }];
        self.join(home, &mut bases(class), &mut family);
        family
    }

    /// The classes that expressions of a module mention, with all that they come from.
    fn join(
        &self,
        home: ModuleId,
        mentioned: &mut Vec<(&'a Expr, bool)>,
        family: &mut Vec<Member<'a>>,
    ) {
        let mut pending: Vec<_> =
            mentioned.drain(..).map(|(expr, is_meta)| (home, expr, is_meta)).collect();
        let mut seen = FxHashSet::default();
        while let Some((home, expr, is_meta)) = pending.pop() {
            let Some(Target::Own(home, own)) = self.dotted(home, expr) else {
                pending.extend(
                    inside(expr).into_iter().map(|(one, made)| (home, one, is_meta || made)),
                );
                continue;
            };
            for (_, stmt) in self.bindings(home, &own) {
                if !seen.insert((home, stmt.start())) {
                    continue;
                }
                let mut all = |more: Vec<(&'a Expr, bool)>| {
                    pending
                        .extend(more.into_iter().map(|(one, made)| (home, one, is_meta || made)));
                };
                match stmt {
                    Stmt::ClassDef(class) => {
                        family.push(Member { home, class, is_meta });
                        all(bases(class));
                    }
                    Stmt::Assign(assign) => all(vec![(&assign.value, false)]),
                    // What it returns may be of a class that it makes.
                    Stmt::FunctionDef(function) => {
                        scope::for_each_statement(&function.body, &mut |stmt| match stmt {
                            Stmt::ClassDef(class) => all(bases(class)),
                            Stmt::Return(node) => {
                                all(node.value.iter().map(|value| (&**value, false)).collect());
                            }
                            _ => {}
                        });
                    }
                    _ => {}
                }
            }
        }
    }

    /// Definitions and assignments that bind a global.
    fn bindings(&self, home: ModuleId, own: &Name) -> Vec<(UnitId, &'a Stmt)> {
        let program = self.program();
        let mut found = Vec::new();
        for unit in program.binders(home, own) {
            scope::for_each_statement(std::slice::from_ref(program.get(unit).stmt), &mut |stmt| {
                if scope::bound_directly(stmt).contains(own) {
                    found.push((unit, stmt));
                }
            });
        }
        found
    }

    fn dotted(&self, home: ModuleId, expr: &Expr) -> Option<Target> {
        let resolver = &self.program().resolver;
        match expr {
            Expr::Name(name) => resolver.resolve(home, &name.id),
            Expr::Attribute(attribute) => match self.dotted(home, &attribute.value)? {
                Target::Module(module) => resolver.attribute(&module, &attribute.attr.id),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Bases of a class, and its metaclass.
fn bases(class: &StmtClassDef) -> Vec<(&Expr, bool)> {
    let Some(arguments) = &class.arguments else { return Vec::new() };
    let is_meta = |name: Option<&str>| name == Some("metaclass");
    let keywords = arguments
        .keywords
        .iter()
        .map(|keyword| (&keyword.value, is_meta(keyword.arg.as_ref().map(|name| name.as_str()))));
    arguments.args.iter().map(|base| (base, false)).chain(keywords).collect()
}

/// What an expression for a class mentions; whether it is called to make one.
fn inside(expr: &Expr) -> Vec<(&Expr, bool)> {
    match expr {
        Expr::Call(ExprCall { func, arguments, .. }) => {
            let given =
                arguments.args.iter().chain(arguments.keywords.iter().map(|one| &one.value));
            // `with_metaclass(Meta, Base)`: what is given may make it as well.
            std::iter::once((&**func, true)).chain(given.map(|one| (one, true))).collect()
        }
        Expr::Subscript(node) => vec![(&node.value, false)],
        Expr::Tuple(node) => node.elts.iter().map(|one| (one, false)).collect(),
        Expr::If(node) => vec![(&node.body, false), (&node.orelse, false)],
        _ => Vec::new(),
    }
}

/// Attributes that a method changes of an object and that its class may have.
fn shared(method: &StmtFunctionDef, changes: &Changes) -> Vec<Name> {
    let own = method.parameters.iter().next().map(|own| &own.name().id);
    // The class itself, whose attributes all its objects share.
    let is_of_all = matches!(method.name.as_str(), "__new__" | "__call__");
    let set = |name: &Name, attribute: &Name| {
        method.body.iter().any(|stmt| match stmt {
            Stmt::Assign(assign) => assign.targets.iter().any(|target| match target {
                Expr::Attribute(node) => {
                    node.attr.id == *attribute
                        && node.value.as_name_expr().is_some_and(|of| of.id == *name)
                }
                _ => false,
            }),
            _ => false,
        })
    };
    // `for base in bases: base.last = cls`
    let mut others = FxHashSet::default();
    scope::for_each_statement(&method.body, &mut |stmt| {
        if let Stmt::For(each) = stmt {
            scope::target_names(&each.target, &mut others);
        }
    });
    let mut found = Vec::new();
    for inner in &changes.inner {
        let Some(attribute) = &inner.attribute else { continue };
        let is_shared = is_of_all && own == Some(&inner.name)
            || others.contains(&inner.name)
            || !inner.is_set && !set(&inner.name, attribute);
        if is_shared {
            found.push(attribute.clone());
        }
    }
    found
}

/// What is called, and which classes are made, where a statement is executed.
struct Evaluated<'s, R> {
    calls: Vec<Called<'s>>,
    classes: Vec<&'s StmtClassDef>,
    in_class: bool,
    ran: R,
}

impl<'s, R: Fn(&Stmt) -> bool> Evaluated<'s, R> {
    fn new(ran: R) -> Self {
        Self { calls: Vec::new(), classes: Vec::new(), in_class: false, ran }
    }

    /// Of the decorators of a whole unit, others take care.
    fn statement(&mut self, stmt: &'s Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => self.defaults(function),
            Stmt::ClassDef(class) => self.inside(class),
            _ => self.visit_stmt(stmt),
        }
    }

    fn defaults(&mut self, function: &'s StmtFunctionDef) {
        let defaults = function.parameters.iter().filter_map(|one| one.default());
        defaults.for_each(|default| self.visit_expr(default));
    }

    fn inside(&mut self, class: &'s StmtClassDef) {
        self.classes.push(class);
        if let Some(arguments) = &class.arguments {
            self.visit_arguments(arguments);
        }
        let around = std::mem::replace(&mut self.in_class, true);
        class.body.iter().for_each(|stmt| self.visit_stmt(stmt));
        self.in_class = around;
    }

    fn called(&mut self, callee: &'s Expr, again: u32) {
        self.calls.push(Called { callee, again, in_class: self.in_class });
    }

    fn decorator(&mut self, expr: &'s Expr) {
        match expr {
            Expr::Call(call) => {
                self.visit_arguments(&call.arguments);
                self.called(&call.func, 1);
            }
            other => self.called(other, 0),
        }
    }
}

impl<'s, R: Fn(&Stmt) -> bool> Visitor<'s> for Evaluated<'s, R> {
    fn visit_stmt(&mut self, stmt: &'s Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                function.decorator_list.iter().for_each(|one| self.decorator(&one.expression));
                self.defaults(function);
            }
            Stmt::ClassDef(class) => {
                class.decorator_list.iter().for_each(|one| self.decorator(&one.expression));
                self.inside(class);
            }
            _ if (self.ran)(stmt) => walk_stmt(self, stmt),
            _ => {}
        }
    }

    fn visit_expr(&mut self, expr: &'s Expr) {
        match expr {
            Expr::Lambda(_) => return,
            Expr::Call(call) => self.called(&call.func, 0),
            _ => {}
        }
        walk_expr(self, expr);
    }
}
