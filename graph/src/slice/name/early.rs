//! Names that something has until something else takes them: nobody asks for it later.

use super::*;

impl Namer<'_, '_> {
    /// Whether a test imports a thing under a name that is bound anew before anything else asks for it, as by a class
    /// that is derived from it: each has the name in its time.
    pub(super) fn is_taken_over(&self, name: &Name, thing: &Thing) -> bool {
        if !matches!(thing, Thing::Own(_, own) if own != name) {
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

    /// Whether nothing but the object that holds it for pytest asks for a thing, before another has its name.
    pub(super) fn is_held_before(
        &self,
        thing: &Thing,
        uses: &[Use],
        own: Option<Moment>,
        others: Option<Moment>,
    ) -> bool {
        let Thing::Own(module, name) = thing else { return false };
        let mut uses = uses.iter().filter(|one| &one.thing == thing);
        self.selection.is_held(*module, name) && uses.all(|one| one.range.is_none()) && own < others
    }
}
