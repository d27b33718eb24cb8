//! Annotations: what a value is said to be.

use ruff_python_ast::{Expr, Operator};
use ruff_text_size::TextSize;

use super::{
    Container, ContainerKey, Op, Slot,
    draw::{Drawing, UNKNOWN},
};

impl<'a> Drawing<'a> {
    /// A slot with the values that an annotation promises.
    pub(super) fn annotated(&mut self, annotation: &Expr) -> Slot {
        if !self.enter() {
            self.depth -= 1;
            return UNKNOWN;
        }
        let value = match annotation {
            Expr::Name(_) | Expr::Attribute(_) => {
                let class = self.type_name(annotation);
                self.instances(class)
            }
            Expr::StringLiteral(literal) => {
                let text = literal.value.to_str();
                match ruff_python_parser::parse_expression(text) {
                    Ok(parsed) if text.len() < 1_000 => {
                        // Lines inside the string are those of the string.
                        let (slot, count) =
                            (self.annotated_at(parsed.expr(), literal.range.start()), ());
                        let () = count;
                        slot
                    }
                    _ => UNKNOWN,
                }
            }
            Expr::BinOp(operation) if operation.op == Operator::BitOr => {
                let left = self.annotated(&operation.left);
                let right = self.annotated(&operation.right);
                self.union_known(&[left, right])
            }
            Expr::Subscript(subscript) => self.parametrised(&subscript.value, &subscript.slice),
            _ => UNKNOWN,
        };
        self.depth -= 1;
        value
    }

    /// An annotation written as a string, whose own offsets mean nothing.
    fn annotated_at(&mut self, annotation: &Expr, at: TextSize) -> Slot {
        let before = self.facts.references.len();
        let slot = self.annotated(annotation);
        let line = self.line(at);
        for reference in &mut self.facts.references[before..] {
            reference.line = line;
        }
        slot
    }

    fn instances(&mut self, class: Slot) -> Slot {
        if class.0 <= UNKNOWN.0 {
            return UNKNOWN;
        }
        let slot = self.fresh();
        self.op(Op::Instances(class, slot));
        slot
    }

    /// The class that a dotted name in an annotation denotes.
    fn type_name(&mut self, expr: &Expr) -> Slot {
        match expr {
            Expr::Name(name) => match name.id.as_str() {
                "int" | "float" | "bool" | "bytes" | "object" | "None" | "Any" | "complex" => {
                    UNKNOWN
                }
                text => self.named(text, name.range.start()),
            },
            Expr::Attribute(attribute) if &attribute.attr == "Any" => UNKNOWN,
            Expr::Attribute(attribute) => {
                let base = self.type_name(&attribute.value);
                let name = self.name(&attribute.attr);
                let slot = self.attribute(base, name);
                self.refer(slot, name, attribute.attr.range.start());
                slot
            }
            _ => UNKNOWN,
        }
    }

    fn parametrised(&mut self, head: &Expr, arguments: &Expr) -> Slot {
        let name = match head {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => "",
        };
        let class = self.type_name(head);
        let one = std::slice::from_ref(arguments);
        let list = match arguments {
            Expr::Tuple(tuple) => tuple.elts.as_slice(),
            _ => one,
        };
        match name {
            "Literal" => UNKNOWN,
            "Optional" | "Union" => {
                let slots: Vec<Slot> =
                    list.iter().map(|argument| self.annotated(argument)).collect();
                self.union_known(&slots)
            }
            "Annotated" | "Final" | "ClassVar" | "Required" | "NotRequired" | "ReadOnly"
            | "InitVar" | "Unpack" => list.first().map_or(UNKNOWN, |first| self.annotated(first)),
            "Awaitable" | "Coroutine" => list.last().map_or(UNKNOWN, |last| self.annotated(last)),
            "type" | "Type" => match list.first() {
                Some(first @ (Expr::Name(_) | Expr::Attribute(_))) => self.type_name(first),
                _ => UNKNOWN,
            },
            "dict" | "Dict" | "Mapping" | "MutableMapping" | "defaultdict" | "DefaultDict"
            | "OrderedDict" => {
                if let Some(first) = list.first() {
                    self.annotated(first);
                }
                let item = list.get(1).map_or(UNKNOWN, |second| self.annotated(second));
                self.container_of(Container::Mapping, item)
            }
            "list" | "List" | "set" | "Set" | "frozenset" | "FrozenSet" | "Sequence"
            | "MutableSequence" | "Iterable" | "Iterator" | "Collection" | "AsyncIterable"
            | "AsyncIterator" | "Generator" | "AsyncGenerator" | "deque" | "Deque" | "KeysView"
            | "ValuesView" => {
                let item = list.first().map_or(UNKNOWN, |first| self.annotated(first));
                self.container_of(Container::Sequence, item)
            }
            "tuple" | "Tuple" => {
                let slots: Vec<Slot> =
                    list.iter().map(|argument| self.annotated(argument)).collect();
                let endless = matches!(list.last(), Some(Expr::EllipsisLiteral(_)));
                let slot = self.fresh();
                self.op(Op::New(Container::Sequence, slot));
                for (at, item) in (0..).zip(slots) {
                    let key =
                        if endless { ContainerKey::Unknown } else { ContainerKey::Integer(at) };
                    self.set_item(slot, key, item);
                }
                slot
            }
            "Callable" => {
                if let Some(Expr::List(list)) = list.first() {
                    for argument in &list.elts {
                        self.annotated(argument);
                    }
                }
                if let Some(result) = list.get(1) {
                    self.annotated(result);
                }
                UNKNOWN
            }
            _ => {
                for argument in list {
                    self.annotated(argument);
                }
                self.instances(class)
            }
        }
    }

    fn container_of(&mut self, kind: Container, item: Slot) -> Slot {
        if item == UNKNOWN {
            return UNKNOWN;
        }
        let slot = self.fresh();
        self.op(Op::New(kind, slot));
        self.set_item(slot, ContainerKey::Unknown, item);
        slot
    }
}
