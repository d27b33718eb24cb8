//! What defining a function or a class changes: its decorators, the hooks of its bases.

use ruff_python_ast::{Arguments, StmtClassDef, StmtFunctionDef};

use super::{super::changes::CallKind, *};

impl Search<'_, '_> {
    /// A definition whose creation changes something internal waits until that is needed.
    pub(super) fn registers(&mut self, id: UnitId) {
        let program = self.program();
        let unit = program.get(id);
        let mut globals: Vec<(ModuleId, Name)> = Vec::new();
        let decorators: &[ruff_python_ast::Decorator] = match unit.stmt {
            Stmt::FunctionDef(function) => &function.decorator_list,
            Stmt::ClassDef(class) => &class.decorator_list,
            _ => &[],
        };
        // What decorators return is called by those above them, if by anyone.
        let mut above = false;
        for decorator in decorators {
            above |= self.acting(id, &decorator.expression, above, &mut globals);
        }
        if let Stmt::ClassDef(class) = unit.stmt {
            self.class_hooks(unit.module, class, &mut globals, 0);
        }
        globals.sort_unstable();
        globals.dedup();
        for global in globals {
            if !(global.0 == self.program().get(id).module
                && self.program().get(id).binds.contains(&global.1))
            {
                self.waiting.entry(global).or_default().push(id);
            }
        }
    }

    /// Globals that applying a decorator changes. Gives whether the decorator is the repository's own.
    fn acting(
        &self,
        id: UnitId,
        decorator: &Expr,
        above: bool,
        globals: &mut Vec<(ModuleId, Name)>,
    ) -> bool {
        let program = self.program();
        let (callee, arguments) = match decorator {
            Expr::Call(call) => (call.func.as_ref(), Some(&call.arguments)),
            other => (other, None),
        };
        let again = if above { CallKind::OFTEN } else { u32::from(arguments.is_some()) };
        let early = program.ran(program.get(id).module).is_early();
        let mut attributes = Vec::new();
        let mut base = callee;
        while let Expr::Attribute(attribute) = base {
            attributes.push(&attribute.attr.id);
            base = &attribute.value;
        }
        let Expr::Name(name) = base else { return false };
        let mut target = program.target(id, &name.id, false);
        let internal = matches!(target, Some(Target::Own(..) | Target::Module(_)));
        while let Some(Target::Module(module)) = &target
            && let Some(attribute) = attributes.pop()
        {
            target = program.resolver.attribute(module, attribute);
        }
        let Some(Target::Own(home, own)) = target else { return internal };
        if !attributes.is_empty() {
            // The receiver of a method.
            globals.push((home, own));
            return internal;
        }
        self.applied((home, &own), CallKind { early, again }, globals, 0);
        for binder in program.binders(home, &own) {
            if let (Stmt::FunctionDef(function), Some(arguments)) =
                (program.get(binder).stmt, arguments)
            {
                for given in filled(function, arguments) {
                    self.base(id, given, globals);
                }
            }
        }
        internal
    }

    /// Globals that a call of what a name stands for changes: a function, a class, or an object that is called.
    fn applied(
        &self,
        (home, name): (ModuleId, &Name),
        call: CallKind,
        globals: &mut Vec<(ModuleId, Name)>,
        depth: u32,
    ) {
        if depth > 8 {
            return;
        }
        let program = self.program();
        for binder in program.binders(home, name) {
            match program.get(binder).stmt {
                Stmt::FunctionDef(_) => {
                    let changes = program.changes((home, name), call);
                    globals.extend(changes.stored.into_iter().chain(changes.asked));
                }
                Stmt::ClassDef(class) => {
                    for method in methods(class, &["__new__", "__init__", "__call__"]) {
                        collect_stores(&method.body, &mut |name| {
                            globals.extend(self.own(home, name));
                        });
                    }
                }
                Stmt::Assign(assign) => match assign.value.as_ref() {
                    // A method that has a name of its own.
                    Expr::Attribute(_) => {
                        self.base(binder, &assign.value, globals);
                    }
                    Expr::Name(other) => {
                        if let Some((home, name)) = self.own(home, &other.id) {
                            self.applied((home, &name), call, globals, depth + 1);
                        }
                    }
                    Expr::Call(made) => {
                        if self.keeps_what_it_is_given(home, &made.func) {
                            globals.push((home, name.clone()));
                        }
                        // A function of which some arguments are given, as by `functools.partial`.
                        for (at, argument) in made.arguments.args.iter().enumerate() {
                            let Expr::Name(argument) = argument else { continue };
                            let Some((from, held)) = self.own(home, &argument.id) else { continue };
                            let after = &made.arguments.args[at + 1..];
                            for unit in program.binders(from, &held) {
                                let Stmt::FunctionDef(function) = program.get(unit).stmt else {
                                    continue;
                                };
                                let stored = stored_parameters(function);
                                let given = function.parameters.iter().zip(after);
                                for (_, given) in given
                                    .filter(|(parameter, _)| stored.contains(&parameter.name().id))
                                {
                                    self.base(binder, given, globals);
                                }
                            }
                            self.applied((from, &held), CallKind::ANY, globals, depth + 1);
                        }
                    }
                    _ => {}
                },
                _ => {}
            }
        }
    }

    /// Whether this makes an object of a class of the repository that, when it is called, changes itself.
    fn keeps_what_it_is_given(&self, module: ModuleId, class: &Expr) -> bool {
        let Expr::Name(name) = class else { return false };
        let Some((home, name)) = self.own(module, &name.id) else { return false };
        let program = self.program();
        program.binders(home, &name).iter().any(|&binder| match program.get(binder).stmt {
            Stmt::ClassDef(class) => methods(class, &["__call__"]).any(|method| {
                let own = method.parameters.iter().next().map(|own| &own.name().id);
                let mut changed = false;
                collect_stores(&method.body, &mut |name| changed |= Some(name) == own);
                changed
            }),
            _ => false,
        })
    }

    fn own(&self, module: ModuleId, name: &Name) -> Option<(ModuleId, Name)> {
        match self.program().resolver.resolve(module, name) {
            Some(Target::Own(home, own)) => Some((home, own)),
            _ => None,
        }
    }

    /// Globals that `__init_subclass__` of internal bases, or an internal metaclass, changes.
    fn class_hooks(
        &self,
        module: ModuleId,
        class: &ruff_python_ast::StmtClassDef,
        globals: &mut Vec<(ModuleId, Name)>,
        depth: u32,
    ) {
        let Some(arguments) = &class.arguments else { return };
        if depth > 8 {
            return;
        }
        let bases =
            arguments.args.iter().chain(arguments.keywords.iter().map(|keyword| &keyword.value));
        for base in bases {
            let Expr::Name(name) = base else { continue };
            let program = self.program();
            let Some(Target::Own(home, own)) = program.resolver.resolve(module, &name.id) else {
                continue;
            };
            let definition =
                program.modules.get(home).syntax.body().iter().find_map(|stmt| match stmt {
                    Stmt::ClassDef(class) if class.name.id == own => Some(class),
                    _ => None,
                });
            let Some(definition) = definition else { continue };
            let hooks = ["__init_subclass__", "__new__", "__init__", "__prepare__"];
            for method in methods(definition, &hooks) {
                let line = program.modules.get(home).syntax.source().line(method.start());
                if program.ran(home).function(line).is_some_and(|call| call.import) {
                    collect_stores(&method.body, &mut |name| {
                        globals.extend(self.own(home, name));
                    });
                }
            }
            self.class_hooks(home, definition, globals, depth + 1);
        }
    }
}

fn methods<'s>(
    class: &'s StmtClassDef,
    names: &[&str],
) -> impl Iterator<Item = &'s StmtFunctionDef> {
    class.body.iter().filter_map(move |stmt| match stmt {
        Stmt::FunctionDef(method) if names.contains(&method.name.as_str()) => Some(method),
        _ => None,
    })
}

/// Arguments of which a function changes something.
fn filled<'s>(
    function: &StmtFunctionDef,
    arguments: &'s Arguments,
) -> impl Iterator<Item = &'s Expr> {
    let stored = stored_parameters(function);
    let positional = function.parameters.iter().zip(&arguments.args);
    let mut given: Vec<&Expr> = positional
        .filter(|(parameter, _)| stored.contains(&parameter.name().id))
        .map(|(_, given)| given)
        .collect();
    given.extend(arguments.keywords.iter().filter_map(|keyword| {
        let name = &keyword.arg.as_ref()?.id;
        stored.contains(name).then_some(&keyword.value)
    }));
    given.into_iter()
}

fn stored_parameters(function: &StmtFunctionDef) -> FxHashSet<Name> {
    let mut stored = FxHashSet::default();
    collect_stores(&function.body, &mut |name| {
        stored.insert(name.clone());
    });
    let names: FxHashSet<&Name> =
        function.parameters.iter().map(|parameter| &parameter.name().id).collect();
    stored.retain(|name| names.contains(name));
    stored
}

fn collect_stores(body: &[Stmt], found: &mut impl FnMut(&Name)) {
    each_statement(body, &mut |stmt| {
        let target = match stmt {
            Stmt::Assign(assign) => assign.targets.first(),
            Stmt::Expr(expr) => match expr.value.as_ref() {
                Expr::Call(call) => match call.func.as_ref() {
                    Expr::Attribute(method) => Some(method.value.as_ref()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        let mut target = match target {
            Some(target) if !matches!(target, Expr::Name(_)) || matches!(stmt, Stmt::Expr(_)) => {
                target
            }
            _ => return,
        };
        loop {
            match target {
                Expr::Attribute(attribute) => target = &attribute.value,
                Expr::Subscript(subscript) => target = &subscript.value,
                Expr::Name(name) => return found(&name.id),
                _ => return,
            }
        }
    });
}
