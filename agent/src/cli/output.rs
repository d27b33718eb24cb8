//! Prints text for readers that may close the pipe: `gistify rank . | head -1` ends quietly.
//!
//! The macros of this module replace the standard ones below `cli`. They drop text without a reader
//! and the work continues, so that records are written and processes are ended.
//!
//! It prints no control sequences of foreign texts: all output may contain text of other people's
//! files, names and programs. The program's own colours go through [`styled`].

use std::{
    borrow::Cow,
    fmt::{Arguments, Write as _},
    io::{self, ErrorKind, Write},
};

use serde::Serialize;

use crate::hidden::escaped;

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

/// Writes to standard output, without control characters.
///
/// # Panics
/// The output exists and cannot be written to: a full disk must not look like success.
pub fn out(what: Arguments<'_>) {
    styled(&neutral(&what.to_string()));
}

/// Writes a text to standard output that has been made neutral, and then coloured.
///
/// # Panics
/// As for [`out`].
pub fn styled(text: &str) {
    if let Err(error) = io::stdout().write_all(text.as_bytes())
        && error.kind() != ErrorKind::BrokenPipe
    {
        panic!("write to standard output: {error}");
    }
}

/// Writes a value to standard output as JSON.
///
/// # Panics
/// As for [`out`].
pub fn json(value: &impl Serialize) {
    let text = serde_json::to_string_pretty(value).expect("texts and numbers serialise");
    out(format_args!("{text}\n"));
}

/// Writes a line to standard error; where that fails there is nobody left to tell.
pub fn error(what: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{}", neutral(&what.to_string()));
}

/// A text without the characters that a terminal obeys. In JSON they are escaped, so that nothing is lost.
/// Characters that nobody sees are shown as escapes.
fn neutral(text: &str) -> Cow<'_, str> {
    match escaped(text) {
        Cow::Borrowed(text) => without_controls(text),
        Cow::Owned(text) => Cow::Owned(without_controls(&text).into_owned()),
    }
}

fn without_controls(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let is_json = text.starts_with(['{', '[', '"']);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if !obeyed(c) => out.push(c),
            c if is_json => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push('\u{fffd}'),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_does_not_go_out() {
        let check = |text: &str, expected: &str| assert_eq!(neutral(text), expected);
        check("plain\n\ttext é\n", "plain\n\ttext é\n");
        check(
            "a\x1b]52;c;eA==\x07b\u{9b}2Jc\rd\x7f",
            "a\u{fffd}]52;c;eA==\u{fffd}b\u{fffd}2Jc\u{fffd}d\u{fffd}",
        );
        check("{\"a\": \"\u{9b}2J\"}", "{\"a\": \"\\u009b2J\"}");
    }
}
