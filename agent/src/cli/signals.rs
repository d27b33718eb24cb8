//! Turns signals into the wish to stop.
//!
//! The first INT, TERM or HUP asks everything that runs to end, so that nothing is left behind; a
//! second one ends the process at once.

use std::{io, thread};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tools::Interrupt;

use super::Exit;

/// Watches for signals from now on, in a thread of its own.
///
/// # Errors
/// The system refuses a thread or a signal's handler.
pub fn watch(interrupt: Interrupt) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let signals = {
        let _inside = runtime.enter();
        kinds.into_iter().map(signal).collect::<Result<Vec<_>, _>>()?
    };
    let wait = move || {
        let Ok([mut int, mut term, mut hup]) = <[Signal; 3]>::try_from(signals) else { return };
        runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = int.recv() => {}
                    _ = term.recv() => {}
                    _ = hup.recv() => {}
                }
                if interrupt.is_triggered() {
                    std::process::exit(i32::from(Exit::Interrupted.code()));
                }
                interrupt.trigger();
            }
        });
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map(drop)
}
