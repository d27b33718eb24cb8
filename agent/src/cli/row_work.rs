//! Rows of a file: the choice among them, the work on them by several threads, and their writing;
//! the writing of whole files of JSON beside them.

use std::{
    fs,
    ops::ControlFlow,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use ::eval::settings_differences;
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use tools::Interrupt;

use super::{Exit, Failure, OrExit};
use crate::record::replace;

/// The rows that are worked on.
#[derive(Debug, Clone, Args)]
pub struct RowChoice {
    /// Only rows whose id contains the text.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Only so many rows.
    #[arg(long, value_name = "N")]
    first: Option<usize>,
}

impl RowChoice {
    /// Removes the rows that were not chosen.
    pub fn choose<T>(&self, rows: &mut Vec<T>, id: impl Fn(&T) -> &str) {
        if let Some(text) = &self.filter {
            rows.retain(|row| id(row).contains(text.as_str()));
        }
        rows.truncate(self.first.unwrap_or(usize::MAX));
    }
}

/// Works on rows with several threads, and returns the results in the order of the rows. Nothing begins after a break or
/// an interrupt.
pub fn work_through<T: Sync, R: Send>(
    rows: &[T],
    workers: usize,
    interrupt: &Interrupt,
    work: impl Fn(usize, &T) -> ControlFlow<(), R> + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let made: Mutex<Vec<(usize, R)>> = Mutex::default();
    let one_thread = || {
        while !interrupt.is_triggered() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(row) = rows.get(at) else { break };
            match work(at, row) {
                ControlFlow::Continue(result) => {
                    made.lock().expect("no worker panics").push((at, result));
                }
                ControlFlow::Break(()) => next.store(rows.len(), Ordering::Relaxed),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..workers.clamp(1, rows.len().max(1)) {
            scope.spawn(one_thread);
        }
    });
    let mut made = made.into_inner().expect("no worker panics");
    made.sort_by_key(|(at, _)| *at);
    made.into_iter().map(|(_, result)| result).collect()
}

/// Writes rows, one JSON object a line.
pub fn write_rows<T: Serialize>(path: &Path, rows: &[T]) -> Result<(), Failure> {
    let mut text = String::new();
    for row in rows {
        text.push_str(&serde_json::to_string(row).or_exit(Exit::Infrastructure)?);
        text.push('\n');
    }
    replace(path, text.as_bytes()).or_exit(Exit::Input)
}

/// Writes the settings of a run beside its results, unless an earlier run left others there.
///
/// # Errors
/// The earlier ones differ, or the file cannot be written.
pub fn keep_settings(path: &Path, settings: &Value) -> Result<(), Failure> {
    let kept = fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let differences =
        kept.map_or_else(Vec::new, |kept: Value| settings_differences(&kept, settings));
    if !differences.is_empty() {
        let message = format!(
            "the results beside {} are of other settings: {} (name another directory)",
            path.display(),
            differences.join("; ")
        );
        return Err(Failure::new(Exit::Input, message));
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).or_exit(Exit::Input)?;
    }
    write_json(path, settings)
}

/// Writes a value as JSON.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).or_exit(Exit::Infrastructure)?;
    replace(path, format!("{text}\n").as_bytes()).or_exit(Exit::Input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_order_and_a_break_begins_no_more() {
        let rows: Vec<usize> = (0..100).collect();
        let double = |at: usize, row: &usize| match *row {
            50 => ControlFlow::Break(()),
            row => ControlFlow::Continue((at, row * 2)),
        };
        let made = work_through(&rows[..50], 4, &Interrupt::new(), double);
        assert_eq!(made, (0..50).map(|row| (row, row * 2)).collect::<Vec<_>>());
        let made = work_through(&rows, 1, &Interrupt::new(), double);
        assert_eq!(made.len(), 50);
        let stopped = Interrupt::new();
        stopped.trigger();
        assert!(work_through(&rows, 2, &stopped, double).is_empty());
    }

    #[test]
    fn rows_are_chosen_by_their_ids() {
        let choice = RowChoice { filter: Some("b".to_owned()), first: Some(1) };
        let mut rows = vec!["a", "b", "ab"];
        choice.choose(&mut rows, |row| row);
        assert_eq!(rows, ["b"]);
    }
}
