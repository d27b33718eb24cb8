//! In which order a class and its bases are searched.

use super::{Ancestor, Solver};
use crate::{
    facts::EntityKind,
    flow::{LinkedEntity, LinkedName, LinkedSlot, Object},
};

impl Solver<'_> {
    /// The order in which each class is searched (C3; where bases contradict it, depth first).
    pub(super) fn order_bases(&mut self) {
        let linked = self.linked;
        let mut direct: Vec<Vec<Ancestor>> = vec![Vec::new(); self.entities as usize];
        for entity in 0..self.entities {
            let definition = linked.definition(entity);
            if definition.kind != EntityKind::Class {
                continue;
            }
            let file = linked.file_of(entity);
            for &slot in &definition.base_slots {
                let place = linked.place(file, slot);
                let found = self.slots.held(place).find_map(|object| match self.what(object) {
                    Object::Definition(base)
                        if base != entity && self.kind(base) == EntityKind::Class =>
                    {
                        Some(Ancestor::Class(base))
                    }
                    Object::Outside(outside) => Some(Ancestor::Outside(outside)),
                    _ => None,
                });
                let ancestor = found.unwrap_or(Ancestor::Unknown);
                if !direct[entity as usize].contains(&ancestor) {
                    direct[entity as usize].push(ancestor);
                }
            }
        }
        self.ancestors = vec![Vec::new(); self.entities as usize];
        let mut state = vec![0u8; self.entities as usize];
        for entity in 0..self.entities {
            if linked.definition(entity).kind == EntityKind::Class {
                self.linearise(entity, &direct, &mut state);
            }
        }
    }

    pub(super) fn linearise(
        &mut self,
        class: LinkedEntity,
        direct: &[Vec<Ancestor>],
        state: &mut [u8],
    ) {
        // Bases first, without recursion: chains of classes may be long.
        let mut stack = vec![class];
        while let Some(&top) = stack.last() {
            let at = top as usize;
            if state[at] == 2 {
                stack.pop();
                continue;
            }
            if state[at] == 0 {
                state[at] = 1;
                let before = stack.len();
                for ancestor in &direct[at] {
                    if let Ancestor::Class(base) = ancestor
                        && state[*base as usize] == 0
                    {
                        stack.push(*base);
                    }
                }
                if stack.len() > before {
                    continue;
                }
            }
            let mut lists: Vec<Vec<Ancestor>> = direct[at]
                .iter()
                .map(|ancestor| match ancestor {
                    // A class that is its own ancestor is nobody's.
                    Ancestor::Class(base) if state[*base as usize] == 2 => {
                        self.ancestors[*base as usize].clone()
                    }
                    other => vec![*other],
                })
                .collect();
            lists.push(direct[at].clone());
            let mut order = vec![Ancestor::Class(top)];
            order.extend(merge(lists));
            self.ancestors[at] = order;
            state[at] = 2;
            stack.pop();
        }
    }

    /// Returns the slot of a class member, found along the ancestors, or else the unknown or
    /// external ancestor.
    pub(super) fn lookup(
        &self,
        class: LinkedEntity,
        name: LinkedName,
        after: Option<LinkedEntity>,
    ) -> Result<LinkedSlot, Ancestor> {
        let mut outside = Ancestor::Class(class);
        let mut skipping = after.is_some();
        for ancestor in &self.ancestors[class as usize] {
            match *ancestor {
                Ancestor::Class(base) => {
                    if skipping {
                        skipping = Some(base) != after;
                        continue;
                    }
                    if let Some(&place) = self.linked.members.get(&(base, name)) {
                        return Ok(place);
                    }
                }
                other => {
                    if !skipping && matches!(outside, Ancestor::Class(_)) {
                        outside = other;
                    }
                }
            }
        }
        Err(outside)
    }
}

/// C3's merge; where no candidate is left, the first of the rest is taken.
fn merge(mut lists: Vec<Vec<Ancestor>>) -> Vec<Ancestor> {
    let mut order: Vec<Ancestor> = Vec::new();
    loop {
        lists.retain(|list| !list.is_empty());
        let Some(fallback) = lists.first().map(|list| list[0]) else { return order };
        let good = lists
            .iter()
            .map(|list| list[0])
            .find(|candidate| !lists.iter().any(|list| list[1..].contains(candidate)));
        let chosen = good.unwrap_or(fallback);
        for list in &mut lists {
            list.retain(|other| *other != chosen);
        }
        if !order.contains(&chosen) {
            order.push(chosen);
        }
    }
}
