//! The classes that a class comes from: its bases and metaclasses, and what these come from in turn.

use std::collections::VecDeque;

use ruff_python_ast::{Expr, ExprCall, Stmt, StmtClassDef, StmtFunctionDef, name::Name};
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;

use super::{super::changes::CallChanges, Search};
use crate::{module::ModuleId, resolve::Target, scope, slice::program::UnitId};

/// A class of the repository, and whether it makes classes.
#[derive(Clone, Copy)]
pub(super) struct FamilyClass<'a> {
    pub(super) home: ModuleId,
    pub(super) class: &'a StmtClassDef,
    pub(super) is_meta: bool,
}

impl<'a> Search<'a, '_> {
    /// A class with all that it comes from.
    pub(super) fn family(&self, home: ModuleId, class: &'a StmtClassDef) -> Vec<FamilyClass<'a>> {
        let mut family = vec![FamilyClass { home, class, is_meta: false }];
        self.join(home, &mut bases(class), &mut family);
        family
    }

    /// The classes that expressions of a module mention, with all that they come from.
    pub(super) fn join(
        &self,
        home: ModuleId,
        mentioned: &mut Vec<(&'a Expr, bool)>,
        family: &mut Vec<FamilyClass<'a>>,
    ) {
        let mut pending: VecDeque<_> =
            mentioned.drain(..).map(|(expr, is_meta)| (home, expr, is_meta)).collect();
        let mut seen = FxHashSet::default();
        // In the order of the bases, as Python looks for a method.
        while let Some((home, expr, is_meta)) = pending.pop_front() {
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
                        family.push(FamilyClass { home, class, is_meta });
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
    pub(super) fn bindings(&self, home: ModuleId, own: &Name) -> Vec<(UnitId, &'a Stmt)> {
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

/// Returns the arguments of a class's decorators: one of them may be its metaclass.
pub(super) fn given_to_decorators(class: &StmtClassDef) -> impl Iterator<Item = (&Expr, bool)> {
    let calls = class.decorator_list.iter().filter_map(|one| one.expression.as_call_expr());
    calls.flat_map(|call| &call.arguments.args).map(|given| (given, true))
}

/// Bases of a class, and its metaclass.
pub(super) fn bases(class: &StmtClassDef) -> Vec<(&Expr, bool)> {
    let Some(arguments) = &class.arguments else { return Vec::new() };
    let is_meta = |name: Option<&str>| name == Some("metaclass");
    let keywords = arguments
        .keywords
        .iter()
        .map(|keyword| (&keyword.value, is_meta(keyword.arg.as_ref().map(|name| name.as_str()))));
    arguments.args.iter().map(|base| (base, false)).chain(keywords).collect()
}

/// Returns the expressions inside an expression for a class, each with true if it may be called to
/// create the class.
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
pub(super) fn shared(method: &StmtFunctionDef, changes: &CallChanges) -> Vec<Name> {
    let own = method.parameters.iter().next().map(|own| &own.name().id);
    // What they are given may be the class itself, whose attributes all its objects share.
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
