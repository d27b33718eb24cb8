//! Definitions and imports: functions, classes, their decorators and parameters of type.

use ruff_python_ast::{
    Decorator, Expr, Stmt, StmtClassDef, StmtFunctionDef, StmtImport, StmtImportFrom, TypeParam,
    TypeParams,
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::{
    Argument, ArgumentKind, CallFact, CallForm, Definition, EntityKind, ImportFact, Name, NameUse,
    Op, Slot, Span, Traits,
    draw::{Drawing, UNKNOWN, docstring, span},
    environment::{Owner, ScopeKind},
};

impl<'a> Drawing<'a> {
    pub(super) fn function(&mut self, function: &'a StmtFunctionDef) {
        let before = self.facts.references.len();
        let keyword = self.keyword(&function.decorator_list, function.range);
        let indentation = self.indentation(keyword);
        self.facts.measures.indentation = self.facts.measures.indentation.max(indentation);
        let mut traits =
            Traits { is_async: function.is_async, ..self.traits(&function.decorator_list) };
        traits.abstract_method |= is_unwritten(&function.body);
        let decorators = self.decorators(&function.decorator_list);
        self.type_parameters(function.type_params.as_deref());
        let parameters = self.parameters(&function.parameters);
        let (returned, yielded) = (self.fresh(), self.fresh());
        if let Some(annotation) = &function.returns {
            let value = self.annotated(annotation);
            self.copy(value, returned);
        }
        let name = self.private(&function.name);
        let line = self.line(function.range.start());
        let end_line = self.end_line(function.range);
        let keyword_line = self.line(keyword);
        let header_end = function
            .returns
            .as_ref()
            .map_or(function.parameters.range.end(), |returns| returns.end());
        let plain = self.name(&function.name);
        let definition = self.define(
            Definition {
                kind: EntityKind::Function,
                name: plain,
                parent: self.definition,
                span: span(function.range),
                line,
                end_line,
                keyword_line,
                header: span(TextRange::new(keyword, header_end.max(keyword))),
                doc: docstring(&function.body),
                decorators: spans(&function.decorator_list),
                bases: Vec::new(),
                base_slots: Vec::new(),
                parameters,
                returned,
                passed: Vec::new(),
                yielded,
                members: Vec::new(),
                traits,
            },
            before,
        );
        if self.environment.scopes[self.scope as usize].kind == ScopeKind::Class
            && !traits.static_method
            && let Some(first) = self.facts.definitions[definition as usize].parameters.first()
            && matches!(
                first.kind,
                super::ParameterKind::Positional | super::ParameterKind::PositionalOnly
            )
        {
            let slot = first.slot;
            self.op(Op::Receiver(definition, slot));
        }
        let slot = self.fresh();
        self.op(Op::Define(definition, slot));
        let mut value = self.decorate(&function.decorator_list, &decorators, slot);
        if traits.setter || traits.deleter {
            // One attribute with all of its functions.
            let known = self.environment.find(self.scope, name);
            let known =
                known.map_or(UNKNOWN, |known| self.environment.symbols[known as usize].current);
            value = self.union_known(&[known, value]);
        }
        let variable = self.write(name, value);
        self.environment.symbols[variable as usize].defined = true;
        self.put_off(function, definition);
    }

    /// Bounds and defaults of type parameters.
    pub(super) fn type_parameters(&mut self, parameters: Option<&'a TypeParams>) {
        for parameter in parameters.into_iter().flat_map(|parameters| &parameters.type_params) {
            let (bound, default) = match parameter {
                TypeParam::TypeVar(parameter) => (&parameter.bound, &parameter.default),
                TypeParam::TypeVarTuple(parameter) => (&None, &parameter.default),
                TypeParam::ParamSpec(parameter) => (&None, &parameter.default),
            };
            for expr in [bound, default].into_iter().flatten() {
                self.expression(expr);
            }
        }
    }

    pub(super) fn class_definition(&mut self, class: &'a StmtClassDef) {
        let before = self.facts.references.len();
        let keyword = self.keyword(&class.decorator_list, class.range);
        let decorated = self.traits(&class.decorator_list);
        let decorators = self.decorators(&class.decorator_list);
        self.type_parameters(class.type_params.as_deref());
        let mut bases = Vec::new();
        let mut base_slots = Vec::new();
        let mut header_end = class.name.range.end();
        if let Some(arguments) = &class.arguments {
            header_end = arguments.range.end();
            for base in &arguments.args {
                bases.push(self.text_of(base));
                // `Generic[T]`, `Base[int]`: the class is what is subscripted.
                let expr = match base {
                    Expr::Subscript(subscript) => {
                        self.expression(&subscript.slice);
                        subscript.value.as_ref()
                    }
                    other => other,
                };
                let slot = self.expression(expr);
                base_slots.push(slot);
            }
            for keyword in &arguments.keywords {
                self.expression(&keyword.value);
            }
        }
        let name = self.private(&class.name);
        let line = self.line(class.range.start());
        let end_line = self.end_line(class.range);
        let keyword_line = self.line(keyword);
        let plain = self.name(&class.name);
        let definition = self.define(
            Definition {
                kind: EntityKind::Class,
                name: plain,
                parent: self.definition,
                span: span(class.range),
                line,
                end_line,
                keyword_line,
                header: span(TextRange::new(keyword, header_end.max(keyword))),
                doc: docstring(&class.body),
                decorators: spans(&class.decorator_list),
                bases,
                base_slots,
                parameters: Vec::new(),
                returned: UNKNOWN,
                passed: Vec::new(),
                yielded: UNKNOWN,
                members: Vec::new(),
                traits: Traits { dataclass: decorated.dataclass, ..Traits::default() },
            },
            before,
        );
        let around = (self.scope, self.definition, self.class, self.receiver, self.unreachable);
        self.scope = self.environment.open(ScopeKind::Class, Some(self.scope));
        self.definition = definition;
        self.class = Some(definition);
        self.block(&class.body);
        let mut members: Vec<(Name, u32)> = self.environment.scopes[self.scope as usize]
            .variables
            .iter()
            .map(|(&n, &v)| (n, v))
            .collect();
        members.sort_unstable();
        let members: Vec<(Name, Slot)> = members
            .into_iter()
            .filter_map(|(name, variable)| {
                let symbol = &self.environment.symbols[variable as usize];
                let versions = symbol.versions.clone();
                let current = symbol.current;
                match (current.is_none(), symbol.owner) {
                    (false, Owner::Own) => Some((name, current)),
                    (true, Owner::Own) => Some((name, self.union(&versions))),
                    _ => None,
                }
            })
            .collect();
        self.facts.definitions[definition as usize].members = members;
        // What class code read before it was bound, the scopes around it provide.
        self.settle(self.scope);
        (self.scope, self.definition, self.class, self.receiver, self.unreachable) = around;
        let slot = self.fresh();
        self.op(Op::Define(definition, slot));
        let value = self.decorate(&class.decorator_list, &decorators, slot);
        // A decorated class remains what others derive from, which is settled before calls are followed.
        self.copy(slot, value);
        let variable = self.write(name, value);
        self.environment.symbols[variable as usize].defined = true;
    }

    /// Start of `def`, `async` or `class`, after the decorators.
    pub(super) fn keyword(&self, decorators: &[Decorator], range: TextRange) -> TextSize {
        let Some(last) = decorators.last() else { return range.start() };
        let from = last.range.end();
        let rest = &self.text[TextRange::new(from, range.end())];
        let mut skipped = 0;
        for line in rest.split_inclusive(['\n', '\r']) {
            let trimmed = line.trim_start();
            if trimmed.is_empty() || trimmed.starts_with('#') || skipped == 0 {
                skipped += line.len();
                continue;
            }
            skipped += line.len() - trimmed.len();
            break;
        }
        from + TextSize::try_from(skipped).unwrap_or_default()
    }

    pub(super) fn decorators(&mut self, decorators: &'a [Decorator]) -> Vec<Slot> {
        decorators.iter().map(|decorator| self.expression(&decorator.expression)).collect()
    }

    /// Returns the slot that a definition is bound to after its decorators were applied, the last
    /// one first.
    pub(super) fn decorate(
        &mut self,
        decorators: &'a [Decorator],
        slots: &[Slot],
        defined: Slot,
    ) -> Slot {
        let mut value = defined;
        for (decorator, &callee) in decorators.iter().zip(slots).rev() {
            let name = last_segment(&decorator.expression);
            if name.is_some_and(is_descriptor) {
                continue;
            }
            let result = self.fresh();
            let line = self.line(decorator.range.start());
            let name = self.name(name.unwrap_or(""));
            let argument = Argument { slot: value, kind: ArgumentKind::Positional };
            let call = CallFact {
                callee,
                result,
                caller: self.definition,
                form: CallForm::Decorator,
                name,
                line,
                first_argument: 0,
                argument_count: 0,
            };
            self.call(call, &[argument]);
            value = result;
        }
        value
    }

    pub(super) fn traits(&self, decorators: &[Decorator]) -> Traits {
        let mut traits = Traits::default();
        for decorator in decorators {
            match last_segment(&decorator.expression) {
                Some("staticmethod") => traits.static_method = true,
                Some("classmethod") => traits.class_method = true,
                Some("overload") => traits.overload = true,
                Some("abstractmethod") => traits.abstract_method = true,
                Some("dataclass") => traits.dataclass = makes_init(&decorator.expression),
                Some(name) if is_property(name) => {
                    traits.property = true;
                    traits.setter |= name == "setter";
                    traits.deleter |= name == "deleter";
                }
                _ => {}
            }
        }
        traits
    }

    pub(super) fn import_modules(&mut self, statement: &'a StmtImport) {
        let line = self.line(statement.range.start());
        for alias in &statement.names {
            let dotted = alias.name.as_str();
            let local = match &alias.asname {
                Some(name) => name.as_str(),
                None => dotted.split('.').next().unwrap_or(dotted),
            };
            let import = self.import(ImportFact {
                level: 0,
                module: dotted.into(),
                name: None,
                star: false,
                binds_root: alias.asname.is_none(),
                line,
                place: self.place,
                within: self.definition,
            });
            self.bind_import(local, import);
        }
    }

    pub(super) fn import_names(&mut self, statement: &'a StmtImportFrom) {
        let line = self.line(statement.range.start());
        let module: Box<str> = statement.module.as_ref().map_or("", |name| name.as_str()).into();
        for alias in &statement.names {
            let star = &alias.name == "*";
            let name = self.name(&alias.name);
            let import = self.import(ImportFact {
                level: statement.level,
                module: module.clone(),
                name: (!star).then_some(name),
                star,
                binds_root: false,
                line,
                place: self.place,
                within: self.definition,
            });
            if !star {
                let local = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                let slot = self.bind_import(local, import);
                let (within, part_of) = (self.definition, self.definition);
                let line = self.line(alias.range.start());
                let reference = NameUse { slot, name, line, within, part_of, import: true };
                self.facts.references.push(reference);
            }
        }
    }

    pub(super) fn bind_import(&mut self, local: &str, import: u32) -> Slot {
        let slot = self.fresh();
        self.op(Op::Imported(import, slot));
        let name = self.private(local);
        let variable = self.write(name, slot);
        self.environment.symbols[variable as usize].imports.push(import);
        slot
    }
}

fn spans(decorators: &[Decorator]) -> Vec<Span> {
    decorators.iter().map(|decorator| span(decorator.expression.range())).collect()
}

/// Returns true if a body, without its docstring, does nothing but raise `NotImplementedError`.
fn is_unwritten(body: &[Stmt]) -> bool {
    let body = match body {
        [Stmt::Expr(first), rest @ ..] if first.value.is_string_literal_expr() => rest,
        _ => body,
    };
    let [Stmt::Raise(raise)] = body else { return false };
    let raised = match raise.exc.as_deref() {
        Some(Expr::Call(call)) => &*call.func,
        Some(expr) => expr,
        None => return false,
    };
    matches!(raised, Expr::Name(name) if &name.id == "NotImplementedError")
}

/// The last name of a decorator, calls looked through.
fn last_segment(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        Expr::Call(call) => last_segment(&call.func),
        _ => None,
    }
}

/// Returns true unless a `dataclass` decorator has `init=False`.
fn makes_init(decorator: &Expr) -> bool {
    let Expr::Call(call) = decorator else { return true };
    let init = call.arguments.find_keyword("init");
    init.is_none_or(|init| !matches!(&init.value, Expr::BooleanLiteral(flag) if !flag.value))
}

/// Decorators that change how an attribute is looked up, not what runs.
fn is_descriptor(name: &str) -> bool {
    matches!(name, "staticmethod" | "classmethod" | "overload" | "abstractmethod")
        || is_property(name)
}

/// Descriptors that run the function on access, by the way they are commonly named.
fn is_property(name: &str) -> bool {
    name.ends_with("property") || matches!(name, "setter" | "getter" | "deleter" | "reify")
}
