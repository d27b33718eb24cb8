//! Calls of containers' methods and of the best known functions from outside.

use super::{Field, Held, Key2, Solver, Watch};
use crate::{
    facts::ArgumentKind,
    flow::{
        ForeignName, LinkedName, LinkedSlot, Object, ObjectId, Site, SiteForm, foreign::Behaviour,
    },
};

impl Solver<'_> {
    /// A method of a list, a dictionary or a string.
    pub(super) fn method(&mut self, site: u32, container: ObjectId, name: LinkedName) {
        let linked = self.linked;
        let text = linked.symbols.text(name);
        let kind = match self.what(container) {
            Object::Sequence(_) => "list",
            Object::Mapping(_) => "dict",
            _ => "str",
        };
        let id = self.foreign.root(&format!("builtins.{kind}.{text}"));
        self.outside.push((site, id));
        if kind == "str" {
            return;
        }
        let caller = self.sites[site as usize].caller;
        let all = self.field(container, Field::All);
        let result = self.result(site);
        match text {
            "append" | "add" | "appendleft" => {
                if let Some(value) = self.positional(site, 0) {
                    self.store_item(container, Key2::Unknown, value);
                }
            }
            "insert" => {
                if let Some(value) = self.positional(site, 1) {
                    self.store_item(container, Key2::Unknown, value);
                }
            }
            "extend" | "extendleft" | "union" | "update" if kind == "list" => {
                if let Some(value) = self.positional(site, 0) {
                    let items = self.pair(3, value);
                    self.watch(value, Watch::Iterate { to: items, caller });
                    self.store_item(container, Key2::Unknown, items);
                }
                if let (Some(result), "union") = (result, text) {
                    self.insert(result, container);
                }
            }
            "update" => {
                if let Some(value) = self.positional(site, 0) {
                    let items = self.pair(4, value);
                    let key = self.key_id(Key2::Unknown);
                    self.watch(value, Watch::Item { key, to: items });
                    self.store_item(container, Key2::Unknown, items);
                }
                let Some((file, call)) = self.sites[site as usize].call else { return };
                let facts = linked.facts(file);
                let call = &facts.calls[call as usize];
                let first = call.first_argument as usize;
                for argument in &facts.arguments[first..first + call.argument_count as usize] {
                    if let ArgumentKind::Keyword(name) = argument.kind
                        && argument.slot.0 > 1
                    {
                        let key = Key2::Field(Field::Named(linked.symbol(file, name)));
                        self.store_item(container, key, linked.place(file, argument.slot));
                    }
                }
            }
            "get" | "pop" | "setdefault" if kind == "dict" => {
                let Some(result) = result else { return };
                let default = self.positional(site, 1);
                if let Some(default) = default {
                    self.copy(default, result);
                    if text == "setdefault" {
                        self.store_item(container, Key2::Unknown, default);
                    }
                }
                match self.positional(site, 0) {
                    Some(key) => {
                        let base = self.fresh();
                        let at = u32::try_from(self.helds.len()).unwrap_or(u32::MAX);
                        let other = result;
                        let held = Held { base, key, other, store: false, satisfied: false };
                        self.helds.push(held);
                        self.insert(base, container);
                        self.watch(base, Watch::HeldBase(at));
                        self.watch(key, Watch::HeldKey(at));
                    }
                    None => self.copy(all, result),
                }
            }
            "pop" | "popleft" | "popitem" => {
                if let Some(result) = result {
                    self.copy(all, result);
                }
            }
            "copy" | "keys" | "difference" | "intersection" => {
                if let Some(result) = result {
                    self.insert(result, container);
                }
            }
            "values" => {
                if let Some(result) = result {
                    let values = self.object(Object::Sequence(result));
                    self.store_item(values, Key2::Unknown, all);
                    self.insert(result, values);
                }
            }
            "items" => {
                if let Some(result) = result {
                    let inner = self.pair(5, result);
                    let pair = self.object(Object::Sequence(inner));
                    self.store_item(pair, Key2::Field(Field::Integer(1)), all);
                    self.insert(inner, pair);
                    let items = self.object(Object::Sequence(result));
                    self.store_item(items, Key2::Unknown, inner);
                    self.insert(result, items);
                }
            }
            "sort" => self.call_key(site, all),
            _ => {}
        }
    }

    /// The function given as `key=` is called with items.
    pub(super) fn call_key(&mut self, site: u32, items: LinkedSlot) {
        if let Some(function) = self.keyword(site, self.special.key) {
            self.call_with_items(site, function, items);
        }
    }

    /// A function is called by something outside on behalf of a site; the slot of its result.
    pub(super) fn call_with_items(
        &mut self,
        site: u32,
        function: LinkedSlot,
        items: LinkedSlot,
    ) -> LinkedSlot {
        let result = self.pair(6, function);
        let Site { caller, name, line, .. } = self.sites[site as usize];
        if !self.implicit.contains_key(&(7, function)) {
            let form = SiteForm::Implicit;
            let called =
                self.add_site(Site { caller, form, name, line, callee: function, call: None });
            self.implicit.insert((7, function), called);
            self.results[called as usize] = result;
            self.synthetic.insert(called, items);
            self.watch(function, Watch::Call(called));
        }
        result
    }

    #[allow(clippy::too_many_lines)]
    pub(super) fn foreign_called(&mut self, site: u32, outside: ForeignName) {
        let Some(result) = self.result(site) else { return };
        let caller = self.sites[site as usize].caller;
        let behaviour = self.foreign.behaviour(outside);
        let first = self.positional(site, 0);
        if self.is_decorator(site) && behaviour != Behaviour::Property {
            if let Some(first) = first {
                self.copy(first, result);
            }
            return;
        }
        match behaviour {
            Behaviour::Opaque => self.insert(result, self.stranger),
            Behaviour::Class => {
                let object = self.object(Object::Outside(outside));
                self.insert(result, object);
            }
            Behaviour::Wrapper => {
                let wrapper = self.object(Object::Outside(outside));
                match first {
                    Some(first) => self.watch(first, Watch::Wrapped { to: result, wrapper }),
                    None => self.insert(result, wrapper),
                }
            }
            Behaviour::First | Behaviour::Partial => match first {
                Some(first) => self.copy(first, result),
                None if behaviour == Behaviour::First => {
                    // `list()` and its like begin empty.
                    let name = self.foreign.name(outside);
                    if name.starts_with("builtins.") || name == "collections.deque" {
                        let container = self.object(Object::Sequence(result));
                        self.insert(result, container);
                    }
                }
                None => {}
            },
            Behaviour::Cast => {
                if let Some(class) = first {
                    self.watch(class, Watch::Instances(result));
                }
                if let Some(value) = self.positional(site, 1) {
                    self.copy(value, result);
                }
            }
            Behaviour::Item => {
                if let Some(first) = first {
                    self.watch(first, Watch::Next { to: result, caller });
                    self.call_key(site, result);
                }
            }
            Behaviour::Enumerate | Behaviour::Zip => {
                let inner = self.pair(5, result);
                let tuple = self.object(Object::Sequence(inner));
                self.insert(inner, tuple);
                let from = i32::from(behaviour == Behaviour::Enumerate);
                for at in 0..6 {
                    let Some(argument) = self.positional(site, at) else { break };
                    let items = self.pair(3, argument);
                    self.watch(argument, Watch::Iterate { to: items, caller });
                    let index = from + i32::try_from(at).unwrap_or(0);
                    self.store_item(tuple, Key2::Field(Field::Integer(index)), items);
                }
                let pairs = self.object(Object::Sequence(result));
                self.store_item(pairs, Key2::Unknown, inner);
                self.insert(result, pairs);
            }
            Behaviour::Map => {
                let items = self.pair(3, result);
                let list = self.object(Object::Sequence(result));
                self.insert(result, list);
                for at in 0..4 {
                    let Some(argument) = self.positional(site, at) else { continue };
                    self.watch(argument, Watch::Iterate { to: items, caller });
                    let made = self.call_with_items(site, argument, items);
                    self.store_item(list, Key2::Unknown, made);
                }
            }
            Behaviour::Sorted => {
                if let Some(first) = first {
                    self.copy(first, result);
                    let items = self.pair(3, first);
                    self.watch(first, Watch::Iterate { to: items, caller });
                    self.call_key(site, items);
                }
            }
            Behaviour::Type => {
                if let Some(first) = first {
                    self.watch(first, Watch::ClassOf(result));
                }
            }
            Behaviour::Property => {
                if let Some(first) = first {
                    self.watch(first, Watch::PropertyOf(result));
                }
            }
            Behaviour::Mapping => {
                let mapping = self.object(Object::Mapping(result));
                self.insert(result, mapping);
                if let Some(first) = first {
                    self.copy(first, result);
                }
                let Some((file, call)) = self.sites[site as usize].call else { return };
                let linked = self.linked;
                let facts = linked.facts(file);
                let call = &facts.calls[call as usize];
                let start = call.first_argument as usize;
                for argument in &facts.arguments[start..start + call.argument_count as usize] {
                    if let ArgumentKind::Keyword(name) = argument.kind
                        && argument.slot.0 > 1
                    {
                        let key = Key2::Field(Field::Named(linked.symbol(file, name)));
                        self.store_item(mapping, key, linked.place(file, argument.slot));
                    }
                }
            }
            Behaviour::WithMetaclass => {
                for at in 1..8 {
                    let Some(base) = self.positional(site, at) else { break };
                    self.copy(base, result);
                }
            }
        }
    }
}
