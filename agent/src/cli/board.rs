//! Shows the progress of a bench. A terminal shows a line for each worker and one for all, with the
//! rate, the remaining time and the money spent. Elsewhere it prints a line for each result.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use ::eval::{AttemptStanding, BenchEvent, MEASURES, MeasureTable, MeasureUnit, Row};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

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
    /// The number of attempts by outcome, and US dollars spent.
    so_far: Mutex<(BTreeMap<&'static str, usize>, f64)>,
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
        let so_far = Mutex::new((BTreeMap::new(), 0.0));
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
                let rest = self.rest(row, done, total);
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

    /// Returns the rate, the remaining time, the money spent and the number of attempts without a
    /// score.
    fn rest(&self, row: &Row, done: usize, total: usize) -> String {
        let mut so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
        if row.standing != AttemptStanding::Scored {
            *so_far.0.entry(row.standing.name()).or_default() += 1;
        }
        so_far.1 += row.effort.as_ref().and_then(|effort| effort.price).unwrap_or(0.0);
        let each = self.began.elapsed().as_secs_f64() / done.max(1) as f64;
        let mut rest = format!("{:.1} a minute", 60.0 / each.max(1e-6));
        if done < total {
            rest.push_str(&format!(", {} left", span(each * (total - done) as f64)));
        }
        if so_far.1 > 0.0 {
            rest.push_str(&format!(", ${:.2}", so_far.1));
        }
        for (what, count) in &so_far.0 {
            rest.push_str(&format!(", {count} {what}"));
        }
        rest
    }
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
