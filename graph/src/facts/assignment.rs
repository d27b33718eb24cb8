//! Assignments: what targets hold.

use ruff_python_ast::{Expr, ExprAttribute, Stmt, StmtAssign, StmtAugAssign};

use super::{
    Container, ContainerKey, Name, Op, Slot,
    draw::{Drawing, UNKNOWN},
};
use crate::resolve::{Exports, exports};

impl<'a> Drawing<'a> {
    pub(super) fn assignment(&mut self, statement: &'a StmtAssign) {
        // A display on the right is taken apart, so each target gets its own item.
        let literal = matches!(statement.value.as_ref(), Expr::Tuple(_) | Expr::List(_));
        let unpacks = statement.targets.iter().any(|t| matches!(t, Expr::Tuple(_) | Expr::List(_)));
        if literal && unpacks && statement.targets.len() == 1 {
            self.assign_parts(&statement.targets[0], &statement.value);
            return;
        }
        let value = self.expression(&statement.value);
        for target in &statement.targets {
            self.assign(target, value);
        }
    }

    /// Applies a module-level statement to the recorded `__all__`.
    pub(super) fn list_exports(&mut self, statement: &Stmt) {
        let mut names = |names: Vec<&str>| -> Vec<Name> {
            names.into_iter().map(|name| self.name(name)).collect()
        };
        match exports(statement) {
            Some(Exports::Are(listed)) => self.facts.all = Some(names(listed)),
            Some(Exports::More(listed)) => {
                let more = names(listed);
                if let Some(all) = &mut self.facts.all {
                    all.extend(more);
                }
            }
            Some(Exports::Unknown) => self.facts.all = None,
            None => {}
        }
    }

    /// Assigns the items of a display to the parts of a target.
    fn assign_parts(&mut self, target: &'a Expr, value: &'a Expr) {
        let (Some(targets), Some(values)) = (elements(target), elements(value)) else {
            let value = self.expression(value);
            self.assign(target, value);
            return;
        };
        let star = targets.iter().position(|target| matches!(target, Expr::Starred(_)));
        let spread = values.iter().any(|value| matches!(value, Expr::Starred(_)));
        let fits = match star {
            None => targets.len() == values.len(),
            Some(_) => targets.len() - 1 <= values.len(),
        };
        if spread || !fits {
            let value = self.expression(value);
            self.assign(target, value);
            return;
        }
        // All values exist before the first target is bound.
        let slots: Vec<Slot> = values
            .iter()
            .zip(0usize..)
            .map(|(value, at)| {
                let nested = star.is_none() && elements(&targets[at]).is_some();
                if nested && elements(value).is_some() { UNKNOWN } else { self.expression(value) }
            })
            .collect();
        let Some(star) = star else {
            for ((target, value), slot) in targets.iter().zip(values).zip(slots) {
                if elements(target).is_some() && elements(value).is_some() {
                    self.assign_parts(target, value);
                } else {
                    self.assign(target, slot);
                }
            }
            return;
        };
        let after = targets.len() - star - 1;
        for (target, &slot) in targets[..star].iter().zip(&slots) {
            self.assign(target, slot);
        }
        let middle = self.fresh();
        self.op(Op::New(Container::Sequence, middle));
        for (at, &slot) in (0..).zip(&slots[star..slots.len() - after]) {
            self.set_item(middle, ContainerKey::Integer(at), slot);
        }
        if let Expr::Starred(starred) = &targets[star] {
            self.assign(&starred.value, middle);
        }
        for (target, &slot) in targets[star + 1..].iter().zip(&slots[slots.len() - after..]) {
            self.assign(target, slot);
        }
    }

    /// Binds a target to a value.
    pub(super) fn assign(&mut self, target: &'a Expr, value: Slot) {
        if !self.enter() {
            self.depth -= 1;
            return;
        }
        match target {
            Expr::Name(name) => {
                let name = self.private(&name.id);
                self.write(name, value);
            }
            Expr::Attribute(attribute) => {
                if let Some(target) = self.attribute_target(attribute) {
                    self.store_attribute(target, value);
                }
            }
            Expr::Subscript(subscript) => {
                let base = self.expression(&subscript.value);
                let key = self.key(&subscript.slice);
                self.set_item(base, key, value);
            }
            Expr::Starred(starred) => self.assign(&starred.value, value),
            Expr::Tuple(_) | Expr::List(_) => {
                let targets = elements(target).unwrap_or(&[]);
                let star = targets.iter().position(|target| matches!(target, Expr::Starred(_)));
                for (at, target) in (0u32..).zip(targets) {
                    let before = star.is_none_or(|star| (at as usize) < star);
                    let item = if Some(at as usize) == star {
                        if value == UNKNOWN {
                            UNKNOWN
                        } else {
                            let slot = self.fresh();
                            self.op(Op::Tail(value, at, slot));
                            slot
                        }
                    } else if before {
                        self.item(
                            value,
                            ContainerKey::Integer(i32::try_from(at).unwrap_or(i32::MAX)),
                        )
                    } else {
                        self.item(value, ContainerKey::Unknown)
                    };
                    self.assign(target, item);
                }
            }
            _ => {
                self.expression(target);
            }
        }
        self.depth -= 1;
    }

    /// Reads a target and stores in it; what it is a part of is evaluated once.
    pub(super) fn augment(&mut self, statement: &'a StmtAugAssign) {
        match statement.target.as_ref() {
            Expr::Attribute(attribute) => {
                let target = self.attribute_target(attribute);
                let old = target.map_or(UNKNOWN, |(base, name, _)| {
                    let slot = self.attribute(base, name);
                    self.refer(slot, name, attribute.attr.range.start());
                    slot
                });
                let value = self.expression(&statement.value);
                if let Some(target) = target {
                    let both = self.union_known(&[old, value]);
                    self.store_attribute(target, both);
                }
            }
            Expr::Subscript(subscript) => {
                let base = self.expression(&subscript.value);
                let key = self.key(&subscript.slice);
                let old = self.item(base, key);
                let value = self.expression(&statement.value);
                let both = self.union_known(&[old, value]);
                self.set_item(base, key, both);
            }
            target => {
                let old = self.expression(target);
                let value = self.expression(&statement.value);
                let both = self.union_known(&[old, value]);
                self.assign(target, both);
            }
        }
    }

    pub(super) fn store_attribute(&mut self, (base, name, line): (Slot, Name, u32), value: Slot) {
        self.op(Op::Store(base, name, self.definition, line));
        if value != UNKNOWN {
            self.op(Op::SetAttribute(base, name, value));
        }
    }

    /// Returns the object, name and line of an attribute that is stored or deleted, or `None` for
    /// an unknown object.
    pub(super) fn attribute_target(
        &mut self,
        attribute: &'a ExprAttribute,
    ) -> Option<(Slot, Name, u32)> {
        let base = self.expression(&attribute.value);
        let name = self.private(&attribute.attr);
        let line = self.line(attribute.attr.range.start());
        (base != UNKNOWN).then_some((base, name, line))
    }

    pub(super) fn delete(&mut self, target: &'a Expr) {
        match target {
            Expr::Attribute(attribute) => {
                if let Some((base, name, line)) = self.attribute_target(attribute) {
                    self.op(Op::Delete(base, name, self.definition, line));
                }
            }
            target => match elements(target) {
                Some(targets) if self.enter() => {
                    targets.iter().for_each(|target| self.delete(target));
                    self.depth -= 1;
                }
                Some(_) => self.depth -= 1,
                None => {
                    self.expression(target);
                }
            },
        }
    }
}

fn elements(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Tuple(tuple) => Some(&tuple.elts),
        Expr::List(list) => Some(&list.elts),
        _ => None,
    }
}
