//! Expressions: what may hold a function, a class, a module or a container of such.

use ruff_python_ast::{
    Arguments, Comprehension, Expr, ExprCall, FStringPart, InterpolatedStringElement,
    InterpolatedStringElements, Number, Operator,
};
use ruff_text_size::{Ranged, TextSize};

use super::{
    Argument, ArgumentKind, CallFact, CallForm, Container, ContainerKey, Definition, EntityKind,
    Op, Slot, Span, Traits,
    draw::{Drawing, UNKNOWN, span},
    environment::ScopeKind,
};

/// Stack that must be left before more is taken, in bytes.
pub(super) const RED_ZONE: usize = 256 << 10;
/// Stack taken at a time, in bytes.
pub(super) const SEGMENT: usize = 4 << 20;

impl<'a> Drawing<'a> {
    /// Looks through an expression and tells the slot that holds its value.
    pub(super) fn expression(&mut self, expr: &'a Expr) -> Slot {
        // Names and literals are most of all expressions, and nest nothing.
        if let Expr::Name(name) = expr {
            return self.named(&name.id, name.range.start());
        }
        let value = if !self.enter() {
            UNKNOWN
        } else if self.depth.is_multiple_of(8) {
            stacker::maybe_grow(RED_ZONE, SEGMENT, || self.compound(expr))
        } else {
            self.compound(expr)
        };
        self.depth -= 1;
        value
    }

    pub(super) fn named(&mut self, text: &str, at: TextSize) -> Slot {
        let name = self.private(text);
        let (slot, notable) = self.read(name);
        if notable {
            self.refer(slot, name, at);
        }
        slot
    }

    fn all(&mut self, expressions: &'a [Expr]) {
        for expr in expressions {
            self.expression(expr);
        }
    }

    #[allow(clippy::too_many_lines)]
    fn compound(&mut self, expr: &'a Expr) -> Slot {
        match expr {
            Expr::Name(name) => self.named(&name.id, name.range.start()),
            Expr::Attribute(attribute) => {
                let base = self.expression(&attribute.value);
                let name = self.private(&attribute.attr);
                let slot = self.attribute(base, name);
                self.refer(slot, name, attribute.attr.range.start());
                slot
            }
            Expr::Call(call) => self.call_expression(call),
            Expr::BoolOp(operation) => {
                let slots: Vec<Slot> =
                    operation.values.iter().map(|value| self.expression(value)).collect();
                self.union_known(&slots)
            }
            Expr::Named(named) => {
                let value = self.expression(&named.value);
                self.assign(&named.target, value);
                value
            }
            Expr::BinOp(operation) => {
                let left = self.expression(&operation.left);
                let right = self.expression(&operation.right);
                match operation.op {
                    // Sequences joined keep their items; instances usually give their own kind.
                    Operator::Add | Operator::BitOr => self.union_known(&[left, right]),
                    _ => UNKNOWN,
                }
            }
            Expr::UnaryOp(operation) => {
                self.expression(&operation.operand);
                UNKNOWN
            }
            Expr::Lambda(lambda) => {
                let before = self.facts.references.len();
                let parameters = match &lambda.parameters {
                    Some(parameters) => self.parameters(parameters),
                    None => Vec::new(),
                };
                let (returned, yielded) = (self.fresh(), self.fresh());
                let name = self.name("<lambda>");
                let line = self.line(lambda.range.start());
                let end_line = self.end_line(lambda.range);
                let definition = self.define(
                    Definition {
                        kind: EntityKind::Lambda,
                        name,
                        parent: self.definition,
                        span: span(lambda.range),
                        line,
                        end_line,
                        keyword_line: line,
                        header: span(lambda.range),
                        doc: Span::default(),
                        decorators: Vec::new(),
                        bases: Vec::new(),
                        base_slots: Vec::new(),
                        parameters,
                        returned,
                        passed: Vec::new(),
                        yielded,
                        members: Vec::new(),
                        traits: Traits::default(),
                    },
                    before,
                );
                let slot = self.fresh();
                self.op(Op::Define(definition, slot));
                self.put_off_lambda(lambda, definition);
                slot
            }
            Expr::If(conditional) => {
                self.expression(&conditional.test);
                let body = self.expression(&conditional.body);
                let otherwise = self.expression(&conditional.orelse);
                self.union_known(&[body, otherwise])
            }
            Expr::Dict(dict) => {
                let slot = self.fresh();
                self.op(Op::New(Container::Mapping, slot));
                for item in &dict.items {
                    let value = self.expression(&item.value);
                    match &item.key {
                        Some(key) => {
                            let key = self.key(key);
                            self.set_item(slot, key, value);
                        }
                        None => self.copy_items(value, slot),
                    }
                }
                slot
            }
            Expr::Set(set) => self.display(&set.elts),
            Expr::List(list) => self.display(&list.elts),
            Expr::Tuple(tuple) => self.display(&tuple.elts),
            Expr::ListComp(comprehension) => {
                self.comprehension(&comprehension.generators, Some(&comprehension.elt), None)
            }
            Expr::SetComp(comprehension) => {
                self.comprehension(&comprehension.generators, Some(&comprehension.elt), None)
            }
            Expr::Generator(comprehension) => {
                self.comprehension(&comprehension.generators, Some(&comprehension.elt), None)
            }
            Expr::DictComp(comprehension) => self.comprehension(
                &comprehension.generators,
                comprehension.key.as_deref(),
                Some(&comprehension.value),
            ),
            Expr::Await(awaited) => self.expression(&awaited.value),
            Expr::Yield(statement) => {
                let value = match &statement.value {
                    Some(value) => self.expression(value),
                    None => UNKNOWN,
                };
                let definition = &mut self.facts.definitions[self.definition as usize];
                definition.traits.generator = true;
                let yielded = definition.yielded;
                self.copy(value, yielded);
                UNKNOWN
            }
            Expr::YieldFrom(statement) => {
                let value = self.expression(&statement.value);
                let item = self.iterate(value);
                let definition = &mut self.facts.definitions[self.definition as usize];
                definition.traits.generator = true;
                let yielded = definition.yielded;
                self.copy(item, yielded);
                UNKNOWN
            }
            Expr::Compare(comparison) => {
                self.expression(&comparison.left);
                self.all(&comparison.comparators);
                UNKNOWN
            }
            Expr::FString(string) => {
                for part in &string.value {
                    if let FStringPart::FString(string) = part {
                        self.interpolated(&string.elements);
                    }
                }
                self.any_text()
            }
            Expr::TString(string) => {
                for part in &string.value {
                    self.interpolated(&part.elements);
                }
                UNKNOWN
            }
            Expr::StringLiteral(literal) => {
                let text = literal.value.to_str();
                // Only what can be a key or an attribute is worth telling apart.
                if text.len() <= 40 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                {
                    let name = self.name(text);
                    let slot = self.fresh();
                    self.op(Op::Text(name, slot));
                    slot
                } else {
                    self.any_text()
                }
            }
            Expr::NumberLiteral(literal) => match &literal.value {
                Number::Int(number) => match number.as_i32() {
                    Some(number) => {
                        let slot = self.fresh();
                        self.op(Op::Integer(number, slot));
                        slot
                    }
                    None => UNKNOWN,
                },
                Number::Float(_) | Number::Complex { .. } => UNKNOWN,
            },
            Expr::Subscript(subscript) => {
                let base = self.expression(&subscript.value);
                if let Expr::Slice(slice) = subscript.slice.as_ref() {
                    for bound in [&slice.lower, &slice.upper, &slice.step].into_iter().flatten() {
                        self.expression(bound);
                    }
                    let from = match slice.lower.as_deref() {
                        None => Some(0),
                        Some(Expr::NumberLiteral(literal)) => match &literal.value {
                            Number::Int(number) => {
                                number.as_i32().and_then(|n| u32::try_from(n).ok())
                            }
                            _ => None,
                        },
                        Some(_) => None,
                    };
                    if base == UNKNOWN {
                        return UNKNOWN;
                    }
                    let slot = self.fresh();
                    self.op(match from {
                        Some(from) if slice.step.is_none() => Op::Tail(base, from, slot),
                        _ => Op::Tail(base, u32::MAX, slot),
                    });
                    return slot;
                }
                let key = self.key(&subscript.slice);
                self.item(base, key)
            }
            Expr::Starred(starred) => self.expression(&starred.value),
            Expr::Slice(slice) => {
                for bound in [&slice.lower, &slice.upper, &slice.step].into_iter().flatten() {
                    self.expression(bound);
                }
                UNKNOWN
            }
            Expr::BytesLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::EllipsisLiteral(_)
            | Expr::IpyEscapeCommand(_) => UNKNOWN,
        }
    }

    fn interpolated(&mut self, elements: &'a InterpolatedStringElements) {
        for element in elements {
            if let InterpolatedStringElement::Interpolation(element) = element {
                self.expression(&element.expression);
                if let Some(specification) = &element.format_spec {
                    if self.enter() {
                        self.interpolated(&specification.elements);
                    }
                    self.depth -= 1;
                }
            }
        }
    }

    /// Some string, whatever it says: its methods are the builtin ones.
    fn any_text(&mut self) -> Slot {
        let name = self.name("");
        let slot = self.fresh();
        self.op(Op::Text(name, slot));
        slot
    }

    fn display(&mut self, elements: &'a [Expr]) -> Slot {
        let slot = self.fresh();
        self.op(Op::New(Container::Sequence, slot));
        let mut exact = true;
        for (at, element) in (0..).zip(elements) {
            if let Expr::Starred(starred) = element {
                let value = self.expression(&starred.value);
                self.copy_items(value, slot);
                exact = false;
                continue;
            }
            let value = self.expression(element);
            // Long displays of constants are data: one entry stands for all.
            if matches!(element, Expr::StringLiteral(_) | Expr::NumberLiteral(_)) && at >= 32 {
                continue;
            }
            let key = if exact { ContainerKey::Integer(at) } else { ContainerKey::Unknown };
            self.set_item(slot, key, value);
        }
        slot
    }

    fn copy_items(&mut self, from: Slot, to: Slot) {
        let item = self.item(from, ContainerKey::Unknown);
        self.set_item(to, ContainerKey::Unknown, item);
    }

    fn comprehension(
        &mut self,
        generators: &'a [Comprehension],
        element: Option<&'a Expr>,
        value: Option<&'a Expr>,
    ) -> Slot {
        let around = self.scope;
        // The first iterable is evaluated outside.
        let mut first = generators.first().map(|generator| self.expression(&generator.iter));
        self.scope = self.environment.open(ScopeKind::Comprehension, Some(around));
        let inner = self.scope;
        for generator in generators {
            let iterated = match first.take() {
                Some(slot) => slot,
                None => self.expression(&generator.iter),
            };
            let item = self.iterate(iterated);
            self.bind_inside(inner, &generator.target, item);
            self.all(&generator.ifs);
        }
        let element = element.map(|element| self.expression(element));
        let value = value.map(|value| self.expression(value));
        self.settle(inner);
        self.scope = around;
        let slot = self.fresh();
        let kind = if value.is_some() { Container::Mapping } else { Container::Sequence };
        self.op(Op::New(kind, slot));
        if let Some(item) = value.or(element) {
            self.set_item(slot, ContainerKey::Unknown, item);
        }
        slot
    }

    /// Binds a comprehension's target in the comprehension's own scope.
    fn bind_inside(&mut self, scope: u32, target: &'a Expr, value: Slot) {
        match target {
            Expr::Name(name) => {
                let name = self.private(&name.id);
                self.write_in(scope, name, value);
            }
            Expr::Tuple(tuple) => {
                for (at, target) in (0..).zip(&tuple.elts) {
                    let item = self.item(value, ContainerKey::Integer(at));
                    self.bind_inside(scope, target, item);
                }
            }
            Expr::List(list) => {
                for (at, target) in (0..).zip(&list.elts) {
                    let item = self.item(value, ContainerKey::Integer(at));
                    self.bind_inside(scope, target, item);
                }
            }
            Expr::Starred(starred) => self.bind_inside(scope, &starred.value, UNKNOWN),
            other => self.assign(other, value),
        }
    }

    fn call_expression(&mut self, call: &'a ExprCall) -> Slot {
        let (form, name, at) = match call.func.as_ref() {
            Expr::Name(name) => (CallForm::Name, name.id.as_str(), name.range.start()),
            Expr::Attribute(attribute) => {
                (CallForm::Attribute, attribute.attr.as_str(), attribute.attr.range.start())
            }
            other => (CallForm::Other, "", other.start()),
        };
        let callee = self.expression(&call.func);
        let arguments = self.arguments(&call.arguments);
        if form == CallForm::Name
            && let Some(value) = self.builtin_call(name, call, &arguments)
        {
            return value;
        }
        let result = self.fresh();
        let name = self.private(name);
        let line = self.line(at);
        let site = CallFact {
            callee,
            result,
            caller: self.definition,
            form,
            name,
            line,
            first_argument: 0,
            argument_count: 0,
        };
        self.call(site, &arguments);
        result
    }

    fn arguments(&mut self, arguments: &'a Arguments) -> Vec<Argument> {
        let mut list = Vec::with_capacity(arguments.args.len() + arguments.keywords.len());
        for argument in &arguments.args {
            let kind = match argument {
                Expr::Starred(_) => ArgumentKind::Starred,
                _ => ArgumentKind::Positional,
            };
            list.push(Argument { slot: self.expression(argument), kind });
        }
        for keyword in &arguments.keywords {
            let slot = self.expression(&keyword.value);
            let kind = match &keyword.arg {
                Some(name) => ArgumentKind::Keyword(self.name(name)),
                None => ArgumentKind::Keywords,
            };
            list.push(Argument { slot, kind });
        }
        list
    }

    /// Calls that say something of attributes or receivers; the call itself is recorded too.
    fn builtin_call(
        &mut self,
        name: &str,
        call: &'a ExprCall,
        arguments: &[Argument],
    ) -> Option<Slot> {
        let slot_of = |at: usize| arguments.get(at).map_or(UNKNOWN, |argument| argument.slot);
        match name {
            "super" => {
                let class = self.class?;
                let receiver = if arguments.len() == 2 { slot_of(1) } else { self.receiver };
                let slot = self.fresh();
                self.op(Op::Super(class, receiver, slot));
                Some(slot)
            }
            "getattr" => {
                let Some(Expr::StringLiteral(attribute)) = call.arguments.args.get(1) else {
                    return None;
                };
                let attribute = self.private(attribute.value.to_str());
                let value = self.attribute(slot_of(0), attribute);
                Some(self.union_known(&[value, slot_of(2)]))
            }
            "setattr" => {
                if let Some(Expr::StringLiteral(attribute)) = call.arguments.args.get(1) {
                    let attribute = self.private(attribute.value.to_str());
                    if slot_of(0) != UNKNOWN && slot_of(2) != UNKNOWN {
                        self.op(Op::SetAttribute(slot_of(0), attribute, slot_of(2)));
                    }
                }
                Some(UNKNOWN)
            }
            _ => None,
        }
    }

    pub(super) fn union_known(&mut self, slots: &[Slot]) -> Slot {
        let mut known: Vec<Slot> =
            slots.iter().copied().filter(|&slot| slot.0 > UNKNOWN.0).collect();
        known.sort_unstable();
        known.dedup();
        self.union(&known)
    }

    pub(super) fn key(&mut self, expr: &'a Expr) -> ContainerKey {
        match expr {
            Expr::StringLiteral(literal) => ContainerKey::Text(self.name(literal.value.to_str())),
            Expr::NumberLiteral(literal) => match &literal.value {
                Number::Int(number) => {
                    number.as_i32().map_or(ContainerKey::Unknown, ContainerKey::Integer)
                }
                _ => ContainerKey::Unknown,
            },
            Expr::Name(_) | Expr::Attribute(_) | Expr::Call(_) => {
                let slot = self.expression(expr);
                if slot == UNKNOWN { ContainerKey::Unknown } else { ContainerKey::Held(slot) }
            }
            _ => {
                self.expression(expr);
                ContainerKey::Unknown
            }
        }
    }

    pub(super) fn item(&mut self, base: Slot, key: ContainerKey) -> Slot {
        if base.0 <= UNKNOWN.0 {
            return UNKNOWN;
        }
        let slot = self.fresh();
        self.op(Op::Item(base, key, slot));
        slot
    }

    pub(super) fn set_item(&mut self, base: Slot, key: ContainerKey, value: Slot) {
        if base.0 > UNKNOWN.0 && value.0 > UNKNOWN.0 {
            self.op(Op::SetItem(base, key, value));
        }
    }

    pub(super) fn iterate(&mut self, iterated: Slot) -> Slot {
        if iterated.0 <= UNKNOWN.0 {
            return UNKNOWN;
        }
        let slot = self.fresh();
        self.op(Op::Iterate(iterated, slot, self.definition));
        slot
    }
}
