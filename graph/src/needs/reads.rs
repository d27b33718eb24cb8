//! The names that a piece of code asks for: global names, attributes by their receiver, imports within
//! functions.
//!
//! Pure syntax: it resolves nothing.

use ruff_python_ast::{
    Comprehension, Expr, ExprAttribute, Parameters, Stmt,
    name::Name,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::TextSize;
use rustc_hash::FxHashSet;

use crate::{
    scope::{bound, target_names},
    syntax::is_identifier,
};

/// The receiver of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Receiver {
    /// `self`, `cls` or `super()`.
    Own,
    /// A global name, with the attributes between it and the last one.
    Global(Name, Vec<Name>),
    /// Anything else.
    Value,
}

/// Names of a piece of code.
#[derive(Debug, Default)]
pub(crate) struct Reads<'a> {
    /// Names that it takes from its module, and where.
    pub(crate) names: Vec<Name>,
    pub(crate) places: Vec<TextSize>,
    /// Attributes with what they are asked of.
    pub(super) attributes: Vec<(Name, Receiver)>,
    /// Import statements inside functions.
    pub(super) imports: Vec<&'a Stmt>,
    scopes: Vec<FxHashSet<Name>>,
    with_annotations: bool,
}

impl<'a> Reads<'a> {
    /// Reads nothing yet; `with_annotations` says whether annotations are evaluated.
    pub(crate) fn new(with_annotations: bool) -> Self {
        Self { with_annotations, ..Self::default() }
    }

    fn is_local(&self, name: &Name) -> bool {
        self.scopes.iter().any(|scope| scope.contains(name))
    }

    fn within(&mut self, names: FxHashSet<Name>, visit: impl FnOnce(&mut Self)) {
        self.scopes.push(names);
        visit(self);
        self.scopes.pop();
    }

    fn parameters(&mut self, parameters: &'a Parameters) -> FxHashSet<Name> {
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = &parameter.default {
                self.visit_expr(default);
            }
        }
        if self.with_annotations {
            for parameter in parameters {
                if let Some(annotation) = parameter.annotation() {
                    self.visit_expr(annotation);
                }
            }
        }
        parameters.iter().map(|parameter| parameter.name().id.clone()).collect()
    }

    fn receiver(&self, attribute: &ExprAttribute) -> Option<Receiver> {
        let mut between = Vec::new();
        let mut root = &*attribute.value;
        while let Expr::Attribute(inner) = root {
            between.insert(0, inner.attr.id.clone());
            root = &inner.value;
        }
        Some(match root {
            Expr::StringLiteral(_)
            | Expr::BytesLiteral(_)
            | Expr::FString(_)
            | Expr::NumberLiteral(_)
            | Expr::List(_)
            | Expr::Dict(_)
            | Expr::Set(_)
            | Expr::ListComp(_)
            | Expr::DictComp(_)
            | Expr::SetComp(_) => return None,
            Expr::Name(name) if between.is_empty() && matches!(&*name.id, "self" | "cls") => {
                Receiver::Own
            }
            Expr::Name(name) if !self.is_local(&name.id) => {
                Receiver::Global(name.id.clone(), between)
            }
            Expr::Call(call) if between.is_empty() => match &*call.func {
                Expr::Name(name) if &name.id == "super" => Receiver::Own,
                _ => Receiver::Value,
            },
            _ => Receiver::Value,
        })
    }

    fn comprehension(&mut self, expr: &'a Expr, generators: &'a [Comprehension]) {
        let mut names = FxHashSet::default();
        generators.iter().for_each(|generator| target_names(&generator.target, &mut names));
        self.within(names, |reads| walk_expr(reads, expr));
    }
}

impl<'a> Visitor<'a> for Reads<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => {
                for decorator in &function.decorator_list {
                    self.visit_expr(&decorator.expression);
                }
                let mut names = self.parameters(&function.parameters);
                if let Some(returns) = function.returns.as_ref().filter(|_| self.with_annotations) {
                    self.visit_expr(returns);
                }
                names.extend(bound(&function.body).local);
                // Annotations of a function's own names are never evaluated.
                let around = std::mem::replace(&mut self.with_annotations, false);
                self.within(names, |reads| {
                    function.body.iter().for_each(|stmt| reads.visit_stmt(stmt));
                });
                self.with_annotations = around;
            }
            Stmt::ClassDef(class) => {
                for decorator in &class.decorator_list {
                    self.visit_expr(&decorator.expression);
                }
                if let Some(arguments) = &class.arguments {
                    self.visit_arguments(arguments);
                }
                self.within(bound(&class.body).local, |reads| {
                    class.body.iter().for_each(|stmt| reads.visit_stmt(stmt));
                });
            }
            Stmt::Import(_) | Stmt::ImportFrom(_) => self.imports.push(stmt),
            Stmt::AnnAssign(assign) => {
                self.visit_expr(&assign.target);
                if self.with_annotations {
                    self.visit_expr(&assign.annotation);
                }
                if let Some(value) = &assign.value {
                    self.visit_expr(value);
                }
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => {
                if name.ctx.is_load() && !self.is_local(&name.id) {
                    self.names.push(name.id.clone());
                    self.places.push(name.range.start());
                }
            }
            Expr::Attribute(attribute) => {
                if let Some(receiver) = self.receiver(attribute) {
                    self.attributes.push((attribute.attr.id.clone(), receiver));
                }
                self.visit_expr(&attribute.value);
            }
            Expr::Call(call) => {
                // `getattr(cart, "total")`, `Proxy(current, "total")`: the called code may ask for it by this name.
                let texts =
                    call.arguments.iter_source_order().filter_map(|argument| {
                        match argument.value() {
                            Expr::StringLiteral(text) => Some(text.value.to_str()),
                            _ => None,
                        }
                    });
                for text in texts.filter(|text| is_identifier(text)) {
                    self.attributes.push((Name::new(text), Receiver::Value));
                }
                walk_expr(self, expr);
            }
            Expr::Lambda(lambda) => {
                let names = match &lambda.parameters {
                    Some(parameters) => self.parameters(parameters),
                    None => FxHashSet::default(),
                };
                self.within(names, |reads| reads.visit_expr(&lambda.body));
            }
            Expr::ListComp(node) => self.comprehension(expr, &node.generators),
            Expr::SetComp(node) => self.comprehension(expr, &node.generators),
            Expr::DictComp(node) => self.comprehension(expr, &node.generators),
            Expr::Generator(node) => self.comprehension(expr, &node.generators),
            _ => walk_expr(self, expr),
        }
    }
}
