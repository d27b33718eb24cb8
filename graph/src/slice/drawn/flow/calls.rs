//! What calls pass on: to the parameters of what they may call, and to the objects that they change.

use ruff_python_ast::{Expr, ExprCall, StmtFunctionDef, name::Name};

use super::{Flow, Scope, called};

impl<'a> Flow<'a, '_> {
    /// Passes what a call is given on to the parameters of whatever may be called.
    pub(super) fn pass(&mut self, at: usize, call: &'a ExprCall) {
        let callees = called(&call.func).and_then(|name| self.callees.get(name)).cloned();
        let Some(callees) = callees else {
            let arguments = &call.arguments;
            // What changes an argument: `random.shuffle(list)`.
            if called(&call.func).is_some_and(|name| name == "shuffle")
                && self.is_reached(at, &call.func)
                && let Some(shuffled) = arguments.args.first()
            {
                self.reach(at, shuffled);
            }
            if !self.is_any_reached(at, arguments) {
                return;
            }
            // What changes an object: `list.append(drawn)`.
            if let Expr::Attribute(attribute) = call.func.as_ref()
                && matches!(*attribute.value, Expr::Name(_) | Expr::Attribute(_))
                && !self.imported[self.scopes[at].home.0 as usize].knows(&attribute.value)
            {
                self.reach(at, &attribute.value);
            }
            // What calls a function with the rest: `map(function, drawn)`.
            let given = arguments.args.iter().filter_map(called);
            let given: Vec<usize> =
                given.filter_map(|name| self.callees.get(name)).flatten().copied().collect();
            for callee in given {
                self.reach_parameters(callee, &|_, _| true);
            }
            return;
        };
        let object = match call.func.as_ref() {
            Expr::Attribute(attribute) => self.is_reached(at, &attribute.value),
            _ => false,
        };
        let is_reached = |expr: &Expr| self.is_reached(at, expr);
        let positional: Vec<bool> = call.arguments.args.iter().map(is_reached).collect();
        let is_spread = |(one, reached): (&Expr, &bool)| *reached && one.is_starred_expr();
        let spread = call.arguments.args.iter().zip(&positional).any(is_spread);
        let keywords: Vec<(Option<&Name>, bool)> = call
            .arguments
            .keywords
            .iter()
            .map(|one| (one.arg.as_ref().map(|name| &name.id), is_reached(&one.value)))
            .collect();
        if !object && !positional.contains(&true) && !keywords.iter().any(|(_, reached)| *reached) {
            return;
        }
        for callee in callees {
            let shift =
                usize::from(self.scopes[callee].in_class && has_object(&self.scopes[callee]));
            let is_made = self.scopes[callee].function.is_some_and(is_constructor);
            self.reach_parameters(callee, &|index, name| {
                let Some(index) = index else {
                    // Of `**settings` and `*rest`: all that no parameter has.
                    return spread
                        || positional.contains(&true)
                        || keywords.iter().any(|(_, reached)| *reached);
                };
                spread
                    || index < shift && object && !is_made
                    || index >= shift && positional.get(index - shift) == Some(&true)
                    || keywords.iter().any(|(keyword, reached)| {
                        *reached && keyword.is_none_or(|keyword| keyword == name)
                    })
            });
        }
    }

    /// Takes those parameters of a function for reached that `is_given` says, by their places, none for those that
    /// take what is left, and names.
    fn reach_parameters(&mut self, at: usize, is_given: &dyn Fn(Option<usize>, &Name) -> bool) {
        let Some(function) = self.scopes[at].function else { return };
        let parameters = &function.parameters;
        let plain = parameters.posonlyargs.iter().chain(&parameters.args);
        let plain = plain.chain(&parameters.kwonlyargs).map(|one| &one.parameter.name.id);
        let rest = [&parameters.vararg, &parameters.kwarg];
        let rest = rest.into_iter().flatten().map(|one| (None, &one.name.id));
        let all: Vec<(Option<usize>, &'a Name)> =
            plain.enumerate().map(|(index, name)| (Some(index), name)).chain(rest).collect();
        for (index, name) in all {
            if is_given(index, name) {
                self.reached.grew |= self.reached.locals.insert((at, name));
            }
        }
    }
}

fn has_object(scope: &Scope<'_>) -> bool {
    scope.function.is_some_and(|function| {
        !function
            .decorator_list
            .iter()
            .any(|one| called(&one.expression).is_some_and(|name| name == "staticmethod"))
    })
}

fn is_constructor(function: &StmtFunctionDef) -> bool {
    matches!(function.name.as_str(), "__init__" | "__new__")
}
