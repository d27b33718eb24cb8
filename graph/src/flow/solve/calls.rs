//! Calls of what the repository defines: arguments go to parameters, returned values come back.

use super::{Ancestor, Field, Key2, Solver, Watch};
use crate::{
    facts::{ArgumentKind, CallForm, EntityKind, ParameterKind},
    flow::{LinkedEntity, LinkedName, LinkedSlot, Object, ObjectId, SiteForm},
};

impl Solver<'_> {
    pub(super) fn call(&mut self, site: u32, object: ObjectId, keep: bool) {
        match self.what(object) {
            Object::Definition(entity) => match self.kind(entity) {
                EntityKind::Function | EntityKind::Lambda => self.invoke(site, entity, None, keep),
                EntityKind::Class => self.construct(site, entity),
                EntityKind::Module => {}
            },
            Object::Bound(entity, receiver) => self.invoke(site, entity, Some(receiver), keep),
            Object::Made(class) if self.kind(class) == EntityKind::Class => {
                match self.lookup(class, self.special.call, None) {
                    Ok(place) => self.watch(place, Watch::CallWith { site, receiver: object }),
                    Err(Ancestor::Class(_)) => {}
                    Err(_) => self.stranger_called(site),
                }
            }
            Object::Method(container, name) => self.method(site, container, name),
            Object::Outside(outside) => {
                self.outside.push((site, outside));
                self.foreign_called(site, outside);
            }
            Object::Stranger => self.stranger_called(site),
            _ => {}
        }
    }

    pub(super) fn result(&self, site: u32) -> Option<LinkedSlot> {
        Some(self.results[site as usize]).filter(|&place| place > 1)
    }

    pub(super) fn is_decorator(&self, site: u32) -> bool {
        self.sites[site as usize].form == SiteForm::Written(CallForm::Decorator)
    }

    pub(super) fn stranger_called(&mut self, site: u32) {
        self.strange[site as usize] = true;
        let Some(result) = self.result(site) else { return };
        // Decorators from outside mostly give back what they decorate, or a wrapper of it.
        if self.is_decorator(site) {
            if let Some(decorated) = self.positional(site, 0) {
                self.copy(decorated, result);
            }
        } else {
            self.insert(result, self.stranger);
        }
    }

    /// The slot of a positional argument.
    pub(super) fn positional(&self, site: u32, at: usize) -> Option<LinkedSlot> {
        let (file, call) = self.sites[site as usize].call?;
        let facts = self.linked.facts(file);
        let call = &facts.calls[call as usize];
        let first = call.first_argument as usize;
        let arguments = &facts.arguments[first..first + call.argument_count as usize];
        let argument = arguments.get(at)?;
        (argument.kind == ArgumentKind::Positional && argument.slot.0 > 1)
            .then(|| self.linked.place(file, argument.slot))
    }

    pub(super) fn keyword(&self, site: u32, name: LinkedName) -> Option<LinkedSlot> {
        let (file, call) = self.sites[site as usize].call?;
        let facts = self.linked.facts(file);
        let call = &facts.calls[call as usize];
        let first = call.first_argument as usize;
        facts.arguments[first..first + call.argument_count as usize].iter().find_map(|argument| {
            match argument.kind {
                ArgumentKind::Keyword(keyword)
                    if self.linked.symbol(file, keyword) == name && argument.slot.0 > 1 =>
                {
                    Some(self.linked.place(file, argument.slot))
                }
                _ => None,
            }
        })
    }

    pub(super) fn construct(&mut self, site: u32, class: LinkedEntity) {
        let made = self.object(Object::Made(class));
        if let Some(result) = self.result(site) {
            self.insert(result, made);
        }
        if let Ok(place) = self.lookup(class, self.special.new, None) {
            self.watch(place, Watch::CallInit { site, receiver: class });
        }
        match self.initialiser(class) {
            Ok(place) => self.watch(place, Watch::CallInit { site, receiver: made }),
            Err(ancestor) => {
                self.edges.push((site, class));
                if let Ancestor::Outside(outside) = ancestor {
                    let text = self.linked.symbols.text(self.special.init);
                    if let Some(init) = self.foreign.attribute(outside, self.special.init, text) {
                        self.outside.push((site, init));
                    }
                }
                if self.is_followed_up(class)
                    && let Ok(place) = self.lookup(class, self.special.post_init, None)
                {
                    self.watch(place, Watch::CallInit { site, receiver: made });
                }
                // Data classes and named tuples store what they are given by name.
                self.store_keywords(site, made);
            }
        }
    }

    /// The slot of a class's `__init__`, unless it is generated or lies outside.
    fn initialiser(&self, class: LinkedEntity) -> Result<LinkedSlot, Ancestor> {
        let init = self.special.init;
        let found = self.lookup(class, init, None)?;
        let order = self.ancestors[class as usize].iter();
        let classes = order.filter_map(|ancestor| match ancestor {
            Ancestor::Class(base) => Some(*base),
            _ => None,
        });
        for base in classes {
            if self.linked.members.contains_key(&(base, init)) {
                break;
            }
            if self.is_dataclass(base) {
                return Err(Ancestor::Class(class));
            }
        }
        Ok(found)
    }

    /// Returns true if the generated `__init__` of a class calls `__post_init__`. Only a dataclass
    /// generates such a call, and only if it had the method when it was created.
    fn is_followed_up(&self, class: LinkedEntity) -> bool {
        let made = self.ancestors[class as usize].iter().find_map(|ancestor| match ancestor {
            Ancestor::Class(base) => Some(*base).filter(|&base| self.is_dataclass(base)),
            _ => None,
        });
        made.is_some_and(|made| self.lookup(made, self.special.post_init, None).is_ok())
    }

    fn is_dataclass(&self, class: LinkedEntity) -> bool {
        self.linked.definition(class).traits.dataclass
    }

    pub(super) fn store_keywords(&mut self, site: u32, made: ObjectId) {
        let Some((file, call)) = self.sites[site as usize].call else { return };
        let facts = self.linked.facts(file);
        let call = &facts.calls[call as usize];
        let first = call.first_argument as usize;
        for argument in &facts.arguments[first..first + call.argument_count as usize] {
            if let ArgumentKind::Keyword(name) = argument.kind
                && argument.slot.0 > 1
            {
                let name = self.linked.symbol(file, name);
                let from = self.linked.place(file, argument.slot);
                let place = self.field(made, Field::Named(name));
                self.copy(from, place);
            }
        }
    }

    /// A function of the repository is called.
    pub(super) fn invoke(
        &mut self,
        site: u32,
        function: LinkedEntity,
        receiver: Option<ObjectId>,
        keep: bool,
    ) {
        let linked = self.linked;
        let file = linked.file_of(function);
        let definition = linked.definition(function);
        let parameters = &definition.parameters;
        if let Some(receiver) = receiver
            && let Some(first) = parameters.first()
            && matches!(first.kind, ParameterKind::Positional | ParameterKind::PositionalOnly)
        {
            self.insert(linked.place(file, first.slot), receiver);
            if keep
                && definition.passed.contains(&0)
                && let Some(result) = self.result(site)
            {
                self.insert(result, receiver);
            }
        }
        if !self.bound.insert((site, function, receiver.is_some())) {
            return;
        }
        self.edges.push((site, function));
        if keep && let Some(result) = self.result(site) {
            if definition.traits.generator {
                let generator = self.object(Object::Made(function));
                self.insert(result, generator);
            } else {
                self.copy(linked.place(file, definition.returned), result);
            }
        }
        let skip = usize::from(receiver.is_some());
        // Where a parameter that is returned as it came leads for this call.
        let result = self.result(site).filter(|_| keep && !definition.traits.generator);
        let back = |index: usize| {
            result.filter(|_| u32::try_from(index).is_ok_and(|at| definition.passed.contains(&at)))
        };
        if let Some(result) = result {
            for &index in &definition.passed {
                let own = parameters[index as usize].own;
                if own.0 > 1 {
                    self.copy(linked.place(file, own), result);
                }
            }
        }
        if let Some(&items) = self.synthetic.get(&site) {
            for (index, parameter) in parameters.iter().enumerate().skip(skip) {
                if matches!(
                    parameter.kind,
                    ParameterKind::Positional | ParameterKind::PositionalOnly
                ) {
                    self.copy(items, linked.place(file, parameter.slot));
                    if let Some(result) = back(index) {
                        self.copy(items, result);
                    }
                }
            }
            return;
        }
        let Some((from, call)) = self.sites[site as usize].call else { return };
        let facts = linked.facts(from);
        let call = &facts.calls[call as usize];
        let first = call.first_argument as usize;
        let arguments = &facts.arguments[first..first + call.argument_count as usize];
        let ordered = parameters.partition_point(|p| {
            matches!(p.kind, ParameterKind::Positional | ParameterKind::PositionalOnly)
        });
        let ordered = &parameters[..ordered];
        let rest = parameters.iter().find(|p| p.kind == ParameterKind::Rest);
        let rest = rest.map(|parameter| linked.place(file, parameter.slot));
        let keywords = parameters.iter().find(|p| p.kind == ParameterKind::Keywords);
        let keywords = keywords.map(|parameter| linked.place(file, parameter.slot));
        // What is given by position or by name cannot come out of `**` as well.
        let mut plain = skip;
        let mut named: Vec<LinkedName> = Vec::new();
        if arguments.iter().any(|argument| argument.kind == ArgumentKind::Keywords) {
            for argument in arguments {
                match argument.kind {
                    ArgumentKind::Positional => plain += 1,
                    ArgumentKind::Keyword(name) => named.push(linked.symbol(from, name)),
                    ArgumentKind::Starred | ArgumentKind::Keywords => {}
                }
            }
        }
        let mut at = skip;
        for argument in arguments {
            if argument.slot.0 <= 1 {
                if argument.kind == ArgumentKind::Positional {
                    at += 1;
                }
                continue;
            }
            let value = linked.place(from, argument.slot);
            match argument.kind {
                ArgumentKind::Positional => {
                    if let Some(parameter) = ordered.get(at) {
                        self.copy(value, linked.place(file, parameter.slot));
                        if let Some(result) = back(at) {
                            self.copy(value, result);
                        }
                    } else if let Some(rest) = rest {
                        let container = self.object(Object::Sequence(rest));
                        let index = i32::try_from(at - ordered.len()).unwrap_or(i32::MAX);
                        self.store_item(container, Key2::Field(Field::Integer(index)), value);
                    }
                    at += 1;
                }
                ArgumentKind::Starred => {
                    for (index, parameter) in (0i32..).zip(ordered.iter().skip(at)) {
                        let key = self.key_id(Key2::Field(Field::Integer(index)));
                        let to = linked.place(file, parameter.slot);
                        self.watch(value, Watch::Item { key, to });
                        if let Some(result) = back(at + usize::try_from(index).unwrap_or(0)) {
                            self.watch(value, Watch::Item { key, to: result });
                        }
                    }
                    if let Some(rest) = rest {
                        if at == ordered.len() {
                            self.copy(value, rest);
                        } else {
                            let key = self.key_id(Key2::Unknown);
                            let items = self.pair(2, value);
                            self.watch(value, Watch::Item { key, to: items });
                            let container = self.object(Object::Sequence(rest));
                            self.store_item(container, Key2::Unknown, items);
                        }
                    }
                }
                ArgumentKind::Keyword(name) => {
                    let name = linked.symbol(from, name);
                    let known = parameters.iter().position(|parameter| {
                        linked.symbol(file, parameter.name) == name
                            && matches!(
                                parameter.kind,
                                ParameterKind::Positional | ParameterKind::KeywordOnly
                            )
                    });
                    if let Some(index) = known {
                        self.copy(value, linked.place(file, parameters[index].slot));
                        if let Some(result) = back(index) {
                            self.copy(value, result);
                        }
                    } else if let Some(keywords) = keywords {
                        let container = self.object(Object::Mapping(keywords));
                        self.store_item(container, Key2::Field(Field::Named(name)), value);
                    }
                }
                ArgumentKind::Keywords => {
                    for (index, parameter) in parameters.iter().enumerate().skip(skip) {
                        let name = linked.symbol(file, parameter.name);
                        let open = match parameter.kind {
                            ParameterKind::Positional => index >= plain,
                            ParameterKind::KeywordOnly => true,
                            _ => false,
                        };
                        if open && !named.contains(&name) {
                            let key = self.key_id(Key2::Field(Field::Named(name)));
                            let to = linked.place(file, parameter.slot);
                            self.watch(value, Watch::Item { key, to });
                            if let Some(result) = back(index) {
                                self.watch(value, Watch::Item { key, to: result });
                            }
                        }
                    }
                    if let Some(keywords) = keywords {
                        self.copy(value, keywords);
                    }
                }
            }
        }
    }
}
