//! Lets a thing have a name until another thing takes it, if no code uses the first one later, or
//! pytest finds it elsewhere. Names that are used again are handled elsewhere.

use std::collections::BTreeSet;

use ruff_python_ast::name::Name;

use super::{Namer, Referent, Use};
use crate::slice::{hooks, plan::Reason, program::Moment};

impl Namer<'_, '_> {
    /// Returns true if a test imports a thing under a name that is rebound before its next use.
    ///
    /// A subclass of the imported class may take its name, for example. Each has the name in its
    /// time.
    pub(super) fn is_taken_over(&self, name: &Name, thing: &Referent) -> bool {
        if !matches!(thing, Referent::Own(_, own) if own != name) {
            return false;
        }
        let moment = |one: &Use| self.selection.program.get(one.unit).moment;
        let uses = self.book.uses.get(name).into_iter().flatten().filter(|one| &one.thing == thing);
        let events = self.book.events.get(name).map_or(&[][..], Vec::as_slice);
        let (Some(defined), Some(first)) =
            (self.definition(thing), events.iter().map(|event| event.moment).min())
        else {
            return false;
        };
        let early = |one: &Use| !one.late && defined < moment(one) && moment(one) <= first;
        let mut pinned = false;
        uses.inspect(|one| pinned |= one.pinned).all(early) && pinned
    }

    /// Returns true if only the object that holds a thing for pytest uses it, before another thing
    /// takes its name.
    pub(super) fn is_held_before(
        &self,
        thing: &Referent,
        uses: &[Use],
        own: Option<Moment>,
        others: Option<Moment>,
    ) -> bool {
        let Referent::Own(module, name) = thing else { return false };
        let mut uses = uses.iter().filter(|one| &one.thing == thing);
        self.selection.is_held(*module, name) && uses.all(|one| one.range.is_none()) && own < others
    }

    /// Requests objects for fixtures that share their name with another thing that cannot be
    /// renamed. A package's object gives access to a module. The order of two fixtures is unknown
    /// here.
    pub(super) fn hold_fixtures(&mut self, pinned: &BTreeSet<&Referent>) {
        let is_other =
            |thing: &&&Referent| matches!(thing, Referent::Own(..)) && !self.is_fixture(thing);
        if pinned.iter().any(|thing| is_other(&thing)) {
            let fixtures = pinned.iter().filter(|thing| self.is_fixture(thing));
            let fixtures = fixtures.filter_map(|thing| match thing {
                Referent::Own(module, name) => Some((*module, name.clone())),
                _ => None,
            });
            let program = &self.selection.program;
            let fixtures = fixtures.filter(|(module, name)| {
                !self.selection.is_held(*module, name) && hooks::is_holdable(program, *module, name)
            });
            self.to_hold.extend(fixtures.collect::<Vec<_>>());
        }
    }

    fn is_fixture(&self, thing: &Referent) -> bool {
        let Referent::Own(module, name) = thing else { return false };
        let program = &self.selection.program;
        let mut binders = program.binders(*module, name).into_iter();
        binders.any(|unit| {
            let chosen = self.selection.chosen.get(&unit);
            chosen.is_some_and(|one| one.reason == Reason::Fixture)
        })
    }
}
