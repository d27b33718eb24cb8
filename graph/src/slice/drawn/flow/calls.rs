//! Passes random values through calls: to the parameters of possible callees, and to the objects
//! that they change.

use ruff_python_ast::{Expr, ExprCall, StmtFunctionDef, name::Name};

use super::{EnteredScope, Flow};
use crate::slice::scan::called;

impl<'a> Flow<'a, '_> {
    /// Passes what a call is given on to the parameters of whatever may be called.
    pub(super) fn pass(&mut self, at: usize, call: &'a ExprCall) {
        let callees = self.callees(at, &call.func).map(|(_, all)| all.to_vec());
        if callees.is_none() || call.func.is_attribute_expr() {
            self.pass_outside(at, call);
        }
        let Some(callees) = callees else { return };
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
        // After one that stands for several, nothing tells which is where.
        let several = call.arguments.args.iter().position(Expr::is_starred_expr);
        // `Base.__init__(self, value)` gives the object itself.
        let is_unbound = call.func.as_attribute_expr().is_some_and(|method| {
            called(&method.value).is_some_and(|name| self.callees.contains_key(name))
                && method.value.is_name_expr()
        });
        for callee in callees {
            let scope = &self.scopes[callee];
            let shift = usize::from(!is_unbound && scope.in_class && has_object(scope));
            let is_made = scope.function.is_some_and(is_constructor);
            let is_given = |name: &Name| {
                keywords.iter().any(|(keyword, reached)| {
                    *reached && keyword.is_none_or(|keyword| keyword == name)
                })
            };
            self.reach_parameters(callee, &|parameter, name| match parameter {
                Parameter::At(index) if index < shift => object && !is_made,
                Parameter::At(index) => {
                    let index = index - shift;
                    let after = several.is_some_and(|first| index >= first);
                    after && positional.contains(&true)
                        || spread
                        || positional.get(index) == Some(&true)
                        || is_given(name)
                }
                Parameter::Keyword => is_given(name),
                Parameter::Rest => positional.contains(&true),
                Parameter::Settings => keywords.iter().any(|(_, reached)| *reached),
            });
        }
    }

    /// Passes random values through a call of external code.
    fn pass_outside(&mut self, at: usize, call: &'a ExprCall) {
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
            && attribute.value.as_name_expr().is_none_or(|name| &name.id != "self")
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
    }

    /// Takes those parameters of a function for reached that `is_given` says.
    fn reach_parameters(&mut self, at: usize, is_given: &dyn Fn(Parameter, &Name) -> bool) {
        let Some(function) = self.scopes[at].function else { return };
        let parameters = &function.parameters;
        let plain = parameters.posonlyargs.iter().chain(&parameters.args).enumerate();
        let plain = plain.map(|(index, one)| (Parameter::At(index), &one.parameter.name.id));
        let keywords = parameters.kwonlyargs.iter();
        let keywords = keywords.map(|one| (Parameter::Keyword, &one.parameter.name.id));
        let rest = parameters.vararg.iter().map(|one| (Parameter::Rest, &one.name.id));
        let settings = parameters.kwarg.iter().map(|one| (Parameter::Settings, &one.name.id));
        for (parameter, name) in plain.chain(keywords).chain(rest).chain(settings) {
            if is_given(parameter, name) {
                self.reached.grew |= self.reached.locals.insert((at, name));
            }
        }
    }
}

/// The way in which a parameter is passed.
#[derive(Debug, Clone, Copy)]
enum Parameter {
    /// By its place, or by its name.
    At(usize),
    /// By its name alone.
    Keyword,
    /// All places that no parameter has.
    Rest,
    /// All names that no parameter has.
    Settings,
}

fn has_object(scope: &EnteredScope<'_>) -> bool {
    scope.function.is_some_and(|function| {
        !function
            .decorator_list
            .iter()
            .any(|one| called(&one.expression).is_some_and(|name| name == "staticmethod"))
    })
}

pub(super) fn is_constructor(function: &StmtFunctionDef) -> bool {
    matches!(function.name.as_str(), "__init__" | "__new__")
}
