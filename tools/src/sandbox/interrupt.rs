//! Signals the user's wishes to everything that runs: the request to stop, and the time that the
//! program was suspended.
//!
//! It only carries these. A signal handler of the command line sets them; undoing work is up to the
//! receivers.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Asks all running requests, on every thread, to end as
/// [`Status::Interrupted`](crate::Status::Interrupted), and provides the time for limits. Clones
/// share one flag.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    told: Arc<InterruptState>,
    /// A flag that is set with [narrower](Interrupt::narrowed) ones alone.
    own: Option<Arc<AtomicBool>>,
}

#[derive(Debug, Default)]
struct InterruptState {
    triggered: AtomicBool,
    clock: Mutex<Clock>,
}

/// The time by which a clock lags that halts while the program is suspended.
#[derive(Debug, Default)]
struct Clock {
    behind: Duration,
    /// Since when the program stands still; other threads may go on before the one that knows how long.
    still: Option<Instant>,
}

/// The signal by which a terminal suspends a program.
pub const STOP_SIGNAL: i32 = libc::SIGTSTP;

impl Interrupt {
    /// A flag that is not set.
    pub fn new() -> Interrupt {
        Interrupt::default()
    }

    /// Asks everything to stop; safe to call from a signal handler and more than once. A narrower
    /// flag stops only the requests that have it.
    pub fn trigger(&self) {
        let flag = self.own.as_deref().unwrap_or(&self.told.triggered);
        flag.store(true, Ordering::SeqCst);
    }

    /// Returns true if a stop was requested.
    pub fn is_triggered(&self) -> bool {
        let own = self.own.as_ref().is_some_and(|own| own.load(Ordering::SeqCst));
        own || self.told.triggered.load(Ordering::SeqCst)
    }

    /// A flag with the same clock that is set with this one, and by itself alone.
    pub(crate) fn narrowed(&self) -> Interrupt {
        Interrupt { told: self.told.clone(), own: Some(Arc::default()) }
    }

    /// Leaves out of all bounds a time in which the program stood still.
    pub fn stood_still(&self, time: Duration) {
        self.clock().behind += time;
    }

    /// Returns the time of a clock that halts while the program is suspended. Limits on wall-clock
    /// time use it.
    pub fn now(&self) -> Instant {
        let Clock { behind, still } = *self.clock();
        let now = still.unwrap_or_else(Instant::now);
        now.checked_sub(behind).unwrap_or(now)
    }

    fn clock(&self) -> MutexGuard<'_, Clock> {
        self.told.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops this process, and the clocks of these flags with it, until somebody continues it.
pub fn stand_still(flags: &[Interrupt]) {
    let began = Instant::now();
    for flag in flags {
        flag.clock().still = Some(began);
    }
    // SAFETY: it has no conditions.
    unsafe { libc::raise(libc::SIGSTOP) };
    let took = began.elapsed();
    for flag in flags {
        let mut clock = flag.clock();
        clock.still = None;
        clock.behind += took;
    }
}
