//! Shows the progress of a bench. A terminal shows a line for each worker and one for all, with the rate, the
//! remaining time, the money spent and the failures by class. Elsewhere it prints a line for each result, as text or JSON.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use ::eval::{AttemptStanding, BenchEvent, MEASURES, MeasureTable, MeasureUnit, Row};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::Serialize;

use super::{
    progress::{ProgressLine, printable},
    surroundings::Talk,
};

/// The lines of a bench.
pub struct Board {
    talk: Talk,
    progress: ProgressLine,
    workers: Vec<ProgressBar>,
    total: ProgressBar,
    began: Instant,
    so_far: Mutex<SoFar>,
}

/// The sums of a bench so far.
#[derive(Default)]
struct SoFar {
    /// Attempts that are no success, by the class of failure.
    failures: BTreeMap<String, usize>,
    /// US dollars.
    spent: f64,
}

/// The state of a bench after a result, as a line of JSON.
#[derive(Serialize)]
struct BenchStatus<'a> {
    event: &'static str,
    task: &'a str,
    solver: &'a str,
    repetition: u32,
    /// The class of failure; null for a success.
    failure: Option<String>,
    seconds: f64,
    done: usize,
    total: usize,
    per_minute: f64,
    seconds_left: f64,
    spent: f64,
    failures: &'a BTreeMap<String, usize>,
}

impl Board {
    /// Lines for so many workers and attempts.
    pub fn new(talk: Talk, workers: usize, attempts: usize) -> Self {
        let lines = MultiProgress::new();
        let progress = ProgressLine::among(talk, &lines);
        let bar = |template: &str| {
            let bar = match talk {
                Talk::Bar => lines.add(ProgressBar::new(attempts as u64)),
                _ => ProgressBar::hidden(),
            };
            let style = ProgressStyle::with_template(template);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        };
        let worker = |_| bar("  {spinner} {elapsed:>4} {wide_msg}");
        let workers = (0..workers.min(attempts.max(1))).map(worker).collect();
        let total = bar("{bar:24} {pos}/{len} {wide_msg}");
        let so_far = Mutex::default();
        Self { talk, progress, workers, total, began: Instant::now(), so_far }
    }

    /// Returns the progress messages of long steps of all workers.
    pub fn progress(&self) -> &ProgressLine {
        &self.progress
    }

    /// Shows an event.
    pub fn tell(&self, event: BenchEvent<'_>) {
        match event {
            BenchEvent::Started { task, solver, worker } => {
                self.progress.detail(&format!("start {} ({solver})", task.id));
                if let (Talk::Bar, Some(bar)) = (self.talk, self.workers.get(worker)) {
                    bar.reset();
                    bar.enable_steady_tick(Duration::from_millis(200));
                    bar.set_message(printable(&format!("{} ({solver})", task.id)));
                }
            }
            BenchEvent::Finished { row, worker, done, total } => {
                if let Some(bar) = self.workers.get(worker) {
                    bar.set_message("");
                    bar.disable_steady_tick();
                }
                let mut so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
                so_far.add(row);
                let each = self.began.elapsed().as_secs_f64() / done.max(1) as f64;
                let left = each * total.saturating_sub(done) as f64;
                let per_minute = 60.0 / each.max(1e-6);
                if self.talk == Talk::Lines {
                    let line = BenchStatus {
                        event: "finished",
                        task: &row.task,
                        solver: &row.solver,
                        repetition: row.repetition,
                        failure: row.what(),
                        seconds: rounded(row.seconds),
                        done,
                        total,
                        per_minute: rounded(per_minute),
                        seconds_left: rounded(left),
                        spent: so_far.spent,
                        failures: &so_far.failures,
                    };
                    self.progress.json(&line);
                    return;
                }
                let rest = so_far.progress_text(per_minute, left);
                drop(so_far);
                self.progress.line(&format!(
                    "[{done}/{total}] {} ({}): {}, {:.1} s; {rest}",
                    row.task,
                    row.solver,
                    scores(row),
                    row.seconds
                ));
                self.total.set_position(done as u64);
                self.total.set_message(rest);
            }
        }
    }

    /// Leaves no trace on the terminal.
    pub fn clear(&self) {
        self.workers.iter().chain([&self.total]).for_each(ProgressBar::finish_and_clear);
        self.progress.clear();
    }
}

impl SoFar {
    fn add(&mut self, row: &Row) {
        if let Some(what) = row.what() {
            *self.failures.entry(what).or_default() += 1;
        }
        self.spent += row.effort.as_ref().and_then(|effort| effort.price).unwrap_or(0.0);
    }

    /// Returns the rate, the remaining time, the money spent and the failures by class.
    fn progress_text(&self, per_minute: f64, left: f64) -> String {
        let mut text = format!("{per_minute:.1} a minute");
        if left > 0.0 {
            text.push_str(&format!(", {} left", span(left)));
        }
        if self.spent > 0.0 {
            text.push_str(&format!(", ${:.2}", self.spent));
        }
        for (what, count) in &self.failures {
            text.push_str(&format!(", {count} {what}"));
        }
        text
    }
}

/// A figure with one decimal.
fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// The scores of an attempt on one line.
fn scores(row: &Row) -> String {
    if row.standing != AttemptStanding::Scored {
        return format!("{}: {}", row.standing.name(), row.evidence);
    }
    let mut text = row.what().unwrap_or_else(|| "faithful".to_owned());
    for measure in MEASURES {
        let is_share = measure.shown == MeasureTable::Main && measure.unit == MeasureUnit::Share;
        if let Some(value) = row.scores.get(measure.name).filter(|_| is_share) {
            text.push_str(&format!(", {} {:.1}", measure.label, value * 100.0));
        }
    }
    text
}

/// A time as people say it.
fn span(seconds: f64) -> String {
    match seconds {
        ..60.0 => format!("{seconds:.0} s"),
        ..3600.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}
