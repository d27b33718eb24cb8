//! Stores the objects of each slot in sixteen bytes: most slots hold one object or none, few hold
//! more.

use super::{LinkedSlot, ObjectId};

/// A slot that would hold more is given up on: its callees would be guesses.
pub(super) const FULL: usize = 16;
/// No reaction is listed.
pub(super) const NO_WATCH: u32 = u32::MAX;

/// All slots.
#[derive(Debug, Default)]
pub(super) struct Slots {
    list: Vec<State>,
    /// Objects after the first, for slots that hold several.
    more: Vec<[ObjectId; FULL - 1]>,
    queue: Vec<LinkedSlot>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    first: ObjectId,
    /// Index of the objects after the first.
    more: u32,
    /// First of the reactions to what arrives.
    watch: u32,
    count: u8,
    /// The number of objects that were reacted to.
    done: u8,
    full: bool,
    queued: bool,
}

const EMPTY: State =
    State { first: 0, more: 0, watch: NO_WATCH, count: 0, done: 0, full: false, queued: false };

impl Slots {
    /// As many empty slots.
    pub(super) fn new(count: usize) -> Self {
        Self { list: vec![EMPTY; count], ..Self::default() }
    }

    /// One more slot.
    pub(super) fn fresh(&mut self) -> LinkedSlot {
        let place = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.list.push(EMPTY);
        place
    }

    pub(super) fn count(&self, place: LinkedSlot) -> usize {
        usize::from(self.list[place as usize].count)
    }

    /// Returns the number of a slot's objects that were reacted to.
    pub(super) fn done(&self, place: LinkedSlot) -> usize {
        usize::from(self.list[place as usize].done)
    }

    pub(super) fn is_full(&self, place: LinkedSlot) -> bool {
        self.list[place as usize].full
    }

    /// One of the objects of a slot, by its order of arrival.
    pub(super) fn get(&self, place: LinkedSlot, at: usize) -> ObjectId {
        let state = &self.list[place as usize];
        match at.checked_sub(1) {
            None => state.first,
            Some(at) => self.more[state.more as usize][at],
        }
    }

    /// Returns the objects of a slot, in order of arrival.
    pub(super) fn held(&self, place: LinkedSlot) -> impl Iterator<Item = ObjectId> + '_ {
        (0..self.count(place)).map(move |at| self.get(place, at))
    }

    pub(super) fn holds(&self, place: LinkedSlot, object: ObjectId) -> bool {
        let state = &self.list[place as usize];
        match state.count {
            0 => false,
            1 => state.first == object,
            count => {
                state.first == object
                    || self.more[state.more as usize][..usize::from(count) - 1].contains(&object)
            }
        }
    }

    /// Adds an object that the slot does not hold yet, or gives up on the slot.
    pub(super) fn add(&mut self, place: LinkedSlot, object: ObjectId) {
        let state = &mut self.list[place as usize];
        match usize::from(state.count) {
            0 => state.first = object,
            FULL.. => {
                state.full = true;
                return;
            }
            count => {
                if count == 1 {
                    state.more = u32::try_from(self.more.len()).unwrap_or(u32::MAX);
                    self.more.push([0; FULL - 1]);
                }
                self.more[state.more as usize][count - 1] = object;
            }
        }
        state.count += 1;
        if !state.queued {
            state.queued = true;
            self.queue.push(place);
        }
    }

    /// Returns true if no slot has unprocessed objects.
    pub(super) fn is_quiet(&self) -> bool {
        self.queue.is_empty()
    }

    /// A slot with news.
    pub(super) fn next(&mut self) -> Option<LinkedSlot> {
        let place = self.queue.pop()?;
        self.list[place as usize].queued = false;
        Some(place)
    }

    /// The next object of a slot that was not reacted to.
    pub(super) fn news(&mut self, place: LinkedSlot) -> Option<ObjectId> {
        let state = &mut self.list[place as usize];
        if state.done >= state.count {
            return None;
        }
        let at = usize::from(state.done);
        state.done += 1;
        Some(self.get(place, at))
    }

    pub(super) fn watch(&self, place: LinkedSlot) -> u32 {
        self.list[place as usize].watch
    }

    /// Makes a reaction the first of a slot and tells which was first before.
    pub(super) fn set_watch(&mut self, place: LinkedSlot, watch: u32) -> u32 {
        std::mem::replace(&mut self.list[place as usize].watch, watch)
    }
}
