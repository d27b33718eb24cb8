//! Turns signals into the wish to stop.
//!
//! Each INT asks for more: a bench first ends what it has begun and begins nothing more; then, and for
//! everything else at once, what runs is stopped, so that nothing is left behind; one more ends the
//! process. TERM and HUP leave out the first; USR1, which engines send before their time is over, is one more INT. TSTP stops the process, and when it is continued no bound has
//! moved: what it had started went on, or ended, meanwhile.

use std::{io, thread};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tools::{Interrupt, STOP_SIGNAL, stand_still};

use super::Exit;

/// Watches for signals from now on, in a thread of its own. The wishes are triggered in their order.
///
/// # Errors
/// The system refuses a thread or a signal's handler.
pub fn watch(wishes: Vec<Interrupt>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let stop = SignalKind::from_raw(STOP_SIGNAL);
    let (interrupt, user) = (SignalKind::interrupt(), SignalKind::user_defined1());
    let kinds = [interrupt, user, SignalKind::terminate(), SignalKind::hangup(), stop];
    let signals = {
        let _inside = runtime.enter();
        kinds.into_iter().map(signal).collect::<Result<Vec<_>, _>>()?
    };
    let wait = move || {
        let Ok([mut int, mut user, mut term, mut hup, mut stop]) = <[Signal; 5]>::try_from(signals)
        else {
            return;
        };
        runtime.block_on(async {
            loop {
                let gently = tokio::select! {
                    _ = int.recv() => true,
                    _ = user.recv() => true,
                    _ = term.recv() => false,
                    _ = hup.recv() => false,
                    _ = stop.recv() => {
                        stand_still(&wishes);
                        continue;
                    }
                };
                let open: Vec<&Interrupt> =
                    wishes.iter().filter(|wish| !wish.is_triggered()).collect();
                match open.as_slice() {
                    [] => std::process::exit(i32::from(Exit::Interrupted.code())),
                    [first, _, ..] if gently => {
                        eprintln!("gistify: ending what has begun (interrupt again to stop it)");
                        first.trigger();
                    }
                    open => open.iter().for_each(|wish| wish.trigger()),
                }
            }
        });
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map(drop)
}
