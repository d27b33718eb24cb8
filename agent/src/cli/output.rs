//! What is printed, for readers that may go away: `gistify rank . | head -1` ends quietly.
//!
//! The macros of this module take the place of the standard ones below `cli`. What nobody reads is
//! dropped and the work goes on, so that records are written and processes are ended all the same.

use std::{
    fmt::Arguments,
    io::{self, ErrorKind, Write},
};

macro_rules! print {
    ($($what:tt)*) => { $crate::cli::output::out(format_args!($($what)*)) };
}

macro_rules! println {
    () => { print!("\n") };
    ($format:literal $($what:tt)*) => { print!("{}\n", format_args!($format $($what)*)) };
}

macro_rules! eprintln {
    ($($what:tt)*) => { $crate::cli::output::error(format_args!($($what)*)) };
}

/// Writes to standard output.
///
/// # Panics
/// The output exists and cannot be written to: a full disk must not look like success.
pub fn out(what: Arguments<'_>) {
    if let Err(error) = io::stdout().write_fmt(what)
        && error.kind() != ErrorKind::BrokenPipe
    {
        panic!("write to standard output: {error}");
    }
}

/// Writes a line to standard error; where that fails there is nobody left to tell.
pub fn error(what: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{what}");
}
