//! Which classes a call gives attributes to by `setattr`, wherever it has the classes from.
//!
//! A variable tells no name: whatever class of the repository the function mentions may be what it holds.

use ruff_python_ast::{
    Expr, ExprAttribute, Stmt, StmtClassDef, StmtFunctionDef,
    name::Name,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::FxHashSet;

use super::{changes::CallKind, inner::executed, purity::Purity};
use crate::{module::ModuleId, resolve::Target, scope};

/// Before the first test, and what it returns is not called.
const CALL: CallKind = CallKind { early: true, again: 0 };

impl<'a> Purity<'a, '_> {
    /// The classes that making an object of a class, or calling a function, gives attributes to before the first
    /// test, by what ran in it, in the methods that it calls on itself, and in the functions that it calls.
    pub(crate) fn set_by_name(&self, home: ModuleId, name: &Name) -> FxHashSet<(ModuleId, Name)> {
        let mut walk = Walk { found: FxHashSet::default(), seen: FxHashSet::default() };
        match self.definition(home, name) {
            Some(Stmt::FunctionDef(function)) => self.follow(home, None, function, &mut walk),
            Some(Stmt::ClassDef(class)) => {
                for method in ["__new__", "__init__"] {
                    if let Some(function) = method_of(class, method) {
                        self.follow(home, Some(class), function, &mut walk);
                    }
                }
            }
            _ => {}
        }
        walk.found
    }

    fn definition(&self, home: ModuleId, name: &Name) -> Option<&'a Stmt> {
        let modules: &'a crate::module::Modules = self.resolver.modules();
        modules.get(home).syntax.body().iter().rev().find(|stmt| match stmt {
            Stmt::FunctionDef(function) => &function.name.id == name,
            Stmt::ClassDef(class) => &class.name.id == name,
            _ => false,
        })
    }

    fn follow(
        &self,
        home: ModuleId,
        class: Option<&'a StmtClassDef>,
        function: &'a StmtFunctionDef,
        walk: &mut Walk,
    ) {
        if !walk.seen.insert((home, function.start())) {
            return;
        }
        let source = self.resolver.modules().get(home).syntax.source();
        let ran = |stmt: &Stmt, _: bool| self.ran[home.0 as usize].statement_early(source, stmt);
        let mut asked = Asked::default();
        executed(&function.body, CALL, &ran, &mut |stmt| {
            if !matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
                walk_stmt(&mut asked, stmt);
            }
        });
        let local = scope::bound(&function.body).local;
        let mut parameters = function.parameters.iter().map(|parameter| &parameter.name().id);
        let own = parameters.next();
        let is_parameter =
            |name: &Name| function.parameters.iter().any(|parameter| &parameter.name().id == name);
        let is_variable = |name: &Name| local.contains(name) && !is_parameter(name);
        if asked.set.iter().any(is_variable) {
            let named = asked.chains.iter().filter(|(root, _)| !local.contains(root));
            walk.found.extend(named.filter_map(|(root, chain)| self.class_at(home, root, chain)));
        }
        for (receiver, method) in &asked.called {
            let method = match receiver {
                Some(receiver) if Some(receiver) == own => {
                    class.and_then(|class| method_of(class, method))
                }
                _ => None,
            };
            if let Some(method) = method {
                self.follow(home, class, method, walk);
            }
        }
        for (_, name) in asked.called.iter().filter(|(receiver, _)| receiver.is_none()) {
            if !local.contains(name)
                && let Some(Target::Own(there, own)) = self.resolver.resolve(home, name)
                && let Some(called) = self.function(there, &own)
            {
                self.follow(there, None, called, walk);
            }
        }
    }

    /// The class that a name, or a chain of attributes of a module, stands for.
    fn class_at(&self, home: ModuleId, root: &Name, chain: &[Name]) -> Option<(ModuleId, Name)> {
        let mut target = self.resolver.resolve(home, root)?;
        for attribute in chain {
            let Target::Module(module) = target else { break };
            target = self.resolver.attribute(&module, attribute)?;
        }
        let Target::Own(there, name) = target else { return None };
        matches!(self.definition(there, &name)?, Stmt::ClassDef(_)).then_some((there, name))
    }
}

fn method_of<'s>(class: &'s StmtClassDef, name: &str) -> Option<&'s StmtFunctionDef> {
    class.body.iter().find_map(|stmt| match stmt {
        Stmt::FunctionDef(function) if function.name.as_str() == name => Some(function),
        _ => None,
    })
}

struct Walk {
    found: FxHashSet<(ModuleId, Name)>,
    seen: FxHashSet<(ModuleId, TextSize)>,
}

/// What executed statements call and mention.
#[derive(Default)]
struct Asked {
    /// Names that `setattr` is called on.
    set: Vec<Name>,
    /// Names with the attributes asked of them, one after the other.
    chains: Vec<(Name, Vec<Name>)>,
    /// Called functions; of methods what they are called on, too.
    called: Vec<(Option<Name>, Name)>,
}

impl Asked {
    fn chain(&mut self, outer: &ExprAttribute) -> Option<()> {
        let mut chain = vec![outer.attr.id.clone()];
        let mut expr = outer.value.as_ref();
        while let Expr::Attribute(attribute) = expr {
            chain.push(attribute.attr.id.clone());
            expr = &attribute.value;
        }
        chain.reverse();
        self.chains.push((expr.as_name_expr()?.id.clone(), chain));
        Some(())
    }
}

impl<'v> Visitor<'v> for Asked {
    fn visit_stmt(&mut self, _: &'v Stmt) {}

    fn visit_expr(&mut self, expr: &'v Expr) {
        match expr {
            Expr::Call(call) => match call.func.as_ref() {
                Expr::Name(name) => {
                    if name.id.as_str() == "setattr"
                        && let Some(Expr::Name(given)) = call.arguments.args.first()
                    {
                        self.set.push(given.id.clone());
                    }
                    self.called.push((None, name.id.clone()));
                }
                Expr::Attribute(method) => {
                    if let Expr::Name(receiver) = method.value.as_ref() {
                        self.called.push((Some(receiver.id.clone()), method.attr.id.clone()));
                    }
                }
                _ => {}
            },
            Expr::Attribute(attribute) => {
                let _ = self.chain(attribute);
            }
            Expr::Name(name) => self.chains.push((name.id.clone(), Vec::new())),
            _ => {}
        }
        walk_expr(self, expr);
    }
}
