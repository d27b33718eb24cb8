//! Finds the classes to which a call adds attributes by `setattr`, before the first test.
//!
//! `setattr` may name the class, or a variable may hold it. A variable may hold any class of the
//! repository that is mentioned on the way. Changes to parameters are not followed.

use std::rc::Rc;

use ruff_python_ast::{
    Expr, Stmt, StmtClassDef, StmtFunctionDef, StmtImportFrom,
    name::Name,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    changes::CallKind,
    inner::executed,
    purity::{DEPTH, Purity},
    scan::path,
};
use crate::{
    module::{ModuleId, Modules},
    resolve::Target,
    scope,
};

/// Before the first test; what it returns is not called.
const CALL: CallKind = CallKind { early: true, again: 0 };

/// Classes, by the module that defines them and their names.
pub(crate) type Classes = FxHashSet<(ModuleId, Name)>;

type Class<'a> = (ModuleId, &'a StmtClassDef);

impl<'a> Purity<'a, '_> {
    /// The classes that a call of a name of a module, of a function or to make an object, gives attributes to: by what
    /// ran in it, in the methods that it calls on the object, and in the functions that it calls.
    pub(crate) fn set_by_name(&self, home: ModuleId, name: &Name) -> Rc<Classes> {
        let key = (home, name.clone());
        if let Some(known) = self.set.borrow().get(&key) {
            return Rc::clone(known);
        }
        let mut walk = Walk::default();
        if let Some(function) = self.function(home, name) {
            self.follow(home, None, function, &mut walk, 0);
        } else if let Some(class) = self.class(home, name) {
            for method in ["__new__", "__init__"] {
                self.follow_method(class, method, &mut walk, 0);
            }
        }
        self.know_set(key, walk)
    }

    /// The classes that a call of a method gives attributes to, of an object that a module makes and names.
    pub(crate) fn set_by_method(&self, home: ModuleId, object: &Name, method: &str) -> Rc<Classes> {
        let key = (home, Name::new(format!("{object}.{method}")));
        if let Some(known) = self.set.borrow().get(&key) {
            return Rc::clone(known);
        }
        let mut walk = Walk::default();
        let modules: &'a Modules = self.resolver.modules();
        let made = modules.get(home).syntax.body().iter().filter_map(|stmt| match stmt {
            Stmt::Assign(assign) => {
                let is_it =
                    |target: &Expr| matches!(target, Expr::Name(name) if &name.id == object);
                assign.value.as_call_expr().filter(|_| assign.targets.iter().any(is_it))
            }
            Stmt::AnnAssign(assign) => {
                let name = assign.target.as_name_expr().filter(|name| &name.id == object);
                name.and_then(|_| assign.value.as_deref()?.as_call_expr())
            }
            _ => None,
        });
        for call in made {
            if let Some(class) = self.class_at(home, &call.func) {
                self.follow_method(class, method, &mut walk, 0);
            }
        }
        self.know_set(key, walk)
    }

    fn know_set(&self, key: (ModuleId, Name), walk: Walk) -> Rc<Classes> {
        let mut found = walk.named;
        found.extend(walk.mentioned.into_iter().filter(|_| walk.by_variable));
        let found = Rc::new(found);
        self.set.borrow_mut().insert(key, Rc::clone(&found));
        found
    }

    /// The class of a module that has a name.
    pub(super) fn class(&self, home: ModuleId, name: &Name) -> Option<Class<'a>> {
        let modules: &'a Modules = self.resolver.modules();
        modules.get(home).syntax.body().iter().find_map(|stmt| match stmt {
            Stmt::ClassDef(class) if &class.name.id == name => Some((home, class)),
            _ => None,
        })
    }

    /// Follows a method of a class, or else that of a base of the repository's.
    fn follow_method(&self, class: Class<'a>, name: &str, walk: &mut Walk, depth: u32) {
        let (mut pending, mut seen) = (vec![class], FxHashSet::default());
        while let Some((home, base)) = pending.pop() {
            if !seen.insert((home, base.start())) {
                continue;
            }
            if let Some(method) = scope::methods(base, &[name]).next() {
                return self.follow(home, Some(class), method, walk, depth);
            }
            let bases = base.arguments.iter().flat_map(|arguments| &arguments.args);
            let bases: Vec<Class<'a>> =
                bases.filter_map(|base| self.class_at(home, base)).collect();
            pending.extend(bases.into_iter().rev());
        }
    }

    /// Follows a function of a module, called as a method of an object of a class, or as itself.
    fn follow(
        &self,
        home: ModuleId,
        class: Option<Class<'a>>,
        function: &StmtFunctionDef,
        walk: &mut Walk,
        depth: u32,
    ) {
        if depth > DEPTH || !walk.seen.insert((home, function.start())) {
            return;
        }
        let source = self.resolver.modules().get(home).syntax.source();
        let ran = |stmt: &Stmt, _: bool| self.ran[home.0 as usize].statement_early(source, stmt);
        let mut asked = CalledExpressions::default();
        let mut imported: FxHashMap<&Name, Class<'a>> = FxHashMap::default();
        executed(&function.body, CALL, &ran, &mut |stmt| match stmt {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            Stmt::ImportFrom(import) => imported.extend(self.imported_classes(home, import)),
            _ => walk_stmt(&mut asked, stmt),
        });
        let variables = scope::bound(&function.body).local;
        let parameters: Vec<&Name> =
            function.parameters.iter().map(|parameter| &parameter.name().id).collect();
        let is_local = |name: &Name| variables.contains(name) || parameters.contains(&name);
        let named = |expr: &Expr| {
            let root = path(expr).0.as_name_expr()?;
            let (home, class) = match imported.get(&root.id) {
                Some(class) => *class,
                None => self.class_at(home, expr).filter(|_| !is_local(&root.id))?,
            };
            Some((home, class.name.id.clone()))
        };
        walk.mentioned.extend(asked.mentioned.iter().filter_map(|expr| named(expr)));
        walk.named.extend(asked.set.iter().filter_map(|expr| named(expr)));
        walk.by_variable |= asked.set.iter().any(|expr| {
            let root = path(expr).0.as_name_expr();
            root.is_some_and(|root| {
                let is_given = parameters.contains(&&root.id) || imported.contains_key(&root.id);
                variables.contains(&root.id) && !is_given
            })
        });
        for callee in asked.called {
            match (path(callee), class) {
                ((Expr::Name(name), chain), _) if chain.is_empty() && !is_local(&name.id) => {
                    if let Some(Target::Own(there, own)) = self.resolver.resolve(home, &name.id)
                        && let Some(called) = self.function(there, &own)
                    {
                        self.follow(there, None, called, walk, depth + 1);
                    }
                }
                ((Expr::Name(object), chain), Some(class))
                    if chain.len() == 1 && parameters.first() == Some(&&object.id) =>
                {
                    self.follow_method(class, &chain[0].0, walk, depth + 1);
                }
                _ => {}
            }
        }
    }

    /// The classes that a function imports, by the names that it gives them.
    fn imported_classes<'s>(
        &self,
        home: ModuleId,
        import: &'s StmtImportFrom,
    ) -> Vec<(&'s Name, Class<'a>)> {
        let from = import.module.as_ref().map(|name| name.as_str());
        let Some(from) = self.resolver.modules().absolute(home, import.level, from) else {
            return Vec::new();
        };
        let classes = import.names.iter().filter_map(|alias| {
            let target = self.resolver.attribute(&from, &alias.name.id)?;
            let Target::Own(there, name) = target else { return None };
            Some((&alias.asname.as_ref().unwrap_or(&alias.name).id, self.class(there, &name)?))
        });
        classes.collect()
    }

    /// The class of the repository that a name, or an attribute of a module, stands for.
    fn class_at(&self, home: ModuleId, expr: &Expr) -> Option<Class<'a>> {
        let (root, chain) = path(expr);
        let mut target = self.resolver.resolve(home, &root.as_name_expr()?.id)?;
        for (attribute, _) in &chain {
            let Target::Module(module) = target else { break };
            target = self.resolver.attribute(&module, attribute)?;
        }
        let Target::Own(there, name) = target else { return None };
        self.class(there, &name)
    }
}

#[derive(Default)]
struct Walk {
    /// Classes that `setattr` names.
    named: Classes,
    /// All that are mentioned.
    mentioned: Classes,
    /// True if a variable may hold one of them.
    by_variable: bool,
    seen: FxHashSet<(ModuleId, TextSize)>,
}

/// The expressions that executed statements call and mention.
#[derive(Default)]
struct CalledExpressions<'v> {
    /// The first arguments of `setattr`.
    set: Vec<&'v Expr>,
    mentioned: Vec<&'v Expr>,
    called: Vec<&'v Expr>,
}

impl<'v> Visitor<'v> for CalledExpressions<'v> {
    fn visit_stmt(&mut self, _: &'v Stmt) {}

    fn visit_expr(&mut self, expr: &'v Expr) {
        match expr {
            Expr::Call(call) => {
                let sets = call.func.as_name_expr().is_some_and(|name| &name.id == "setattr");
                self.set.extend(call.arguments.args.first().filter(|_| sets));
                self.called.push(&call.func);
            }
            Expr::Attribute(_) | Expr::Name(_) => {
                self.mentioned.push(expr);
                if let (base, _) = path(expr)
                    && !base.is_name_expr()
                {
                    self.visit_expr(base);
                }
                return;
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}
