//! A flag that asks everything that runs to stop.
//!
//! It only carries the wish; who sets it (a signal handler of the command line) and what is undone
//! afterwards are not its concern.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Asks all running requests, on every thread, to end as
/// [`Status::Interrupted`](crate::Status::Interrupted). Clones share one flag.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// A flag that is not set.
    pub fn new() -> Interrupt {
        Interrupt::default()
    }

    /// Asks everything to stop; safe to call from a signal handler and more than once.
    pub fn trigger(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether something asked to stop.
    pub fn is_triggered(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
