//! The pages of a bench: static files that open without a network, and the data that they load by task.
//!
//! Data are scripts that call one function with JSON, since a browser lets no page read files; the page
//! makes text of everything. Nothing is judged or computed here but places and versions.

mod attempt;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

use eval::{
    BenchPlan, GistLines, Index, IndexError, MEASURES, MeasureTable, MeasureUnit, Row, Sensitivity,
    StoreError, StrictFidelity, TableName, read_text, summarize,
};
use serde::Serialize;
use serde_json::{Value, json};

use attempt::{attempt, usage_by_step};

use crate::hidden::escaped_with;

/// A bench, as it is to be shown.
pub struct Pages {
    directory: PathBuf,
    rows: Vec<Row>,
    solvers: Vec<String>,
    /// The rows of each task by its key.
    tasks: BTreeMap<String, Range<usize>>,
    /// Attempts of the plan.
    planned: usize,
}

/// Why pages cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PagesError {
    /// It is no bench's directory.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its index cannot be used.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A page cannot be written.
    #[error("write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// The files that are the same for all benches: name, media type and text.
pub const ASSETS: [(&str, &str, &str); 8] = [
    ("index.html", "text/html; charset=utf-8", include_str!("index.html")),
    ("style.css", "text/css; charset=utf-8", include_str!("style.css")),
    ("app.js", SCRIPT, include_str!("app.js")),
    ("plots.js", SCRIPT, include_str!("plots.js")),
    ("d3.js", SCRIPT, include_str!("vendor/d3.js")),
    ("plot.js", SCRIPT, include_str!("vendor/plot.js")),
    ("prism.js", SCRIPT, include_str!("vendor/prism.js")),
    ("licences.txt", "text/plain; charset=utf-8", LICENCES),
];

/// The licences of the libraries, which go with each copy of them.
const LICENCES: &str = concat!(
    "d3.js\n\n",
    include_str!("vendor/d3.LICENSE"),
    "\nplot.js\n\n",
    include_str!("vendor/plot.LICENSE"),
    "\nprism.js\n\n",
    include_str!("vendor/prism.LICENSE"),
);

/// Attempts of a solver whose steps are read at most.
const STEPPED: usize = 100;

const SCRIPT: &str = "text/javascript; charset=utf-8";

impl Pages {
    /// Returns the pages of a bench's results so far, from its index.
    ///
    /// # Errors
    /// The directory holds no bench any more, or SQLite refuses.
    pub fn of_index(directory: &Path, index: &Index) -> Result<Self, PagesError> {
        let plan = BenchPlan::read(directory)?;
        let planned = plan.tasks.len() * plan.solvers.len() * plan.repetitions as usize;
        Ok(Self::of(directory, index.rows()?, plan.solvers, planned))
    }

    fn of(directory: &Path, rows: Vec<Row>, mut solvers: Vec<String>, planned: usize) -> Self {
        for row in &rows {
            if !solvers.contains(&row.solver) {
                solvers.push(row.solver.clone());
            }
        }
        // Rows are sorted by suite and task: those of a task are neighbours.
        let mut tasks: BTreeMap<String, Range<usize>> = BTreeMap::new();
        for (at, row) in rows.iter().enumerate() {
            tasks.entry(key(row)).or_insert(at..at).end = at + 1;
        }
        Self { directory: directory.to_path_buf(), rows, solvers, tasks, planned }
    }

    /// Writes everything below a directory.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, into: &Path) -> Result<(), PagesError> {
        let write = |name: &str, text: &str| {
            let path = into.join(name);
            let made = path.parent().map_or(Ok(()), fs::create_dir_all);
            made.and_then(|()| fs::write(&path, text))
                .map_err(|source| PagesError::Write { path: path.clone(), source })
        };
        for (name, _, text) in ASSETS {
            write(name, text)?;
        }
        // One task at a time: a bench may have more than fits into memory.
        let mut texts = BTreeSet::new();
        for key in self.tasks.keys() {
            let Some((text, own)) = self.loaded(key) else { continue };
            write(&format!("data/task-{key}.js"), &text)?;
            texts.extend(own);
        }
        for key in texts {
            if let Some(text) = self.text(&key) {
                write(&format!("data/source-{key}.js"), &text)?;
            }
        }
        write("data/index.js", &self.index())
    }

    /// Returns a hash that changes with the results.
    pub fn version(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for row in &self.rows {
            hasher.update(&serde_json::to_vec(row).expect("texts and numbers serialise"));
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }

    /// The script with everything but the tasks.
    pub fn index(&self) -> String {
        let names: Vec<&str> = self.solvers.iter().map(String::as_str).collect();
        let summary = summarize(&self.rows, &names);
        let tables = summary.tables(&TableName::ALL);
        let tables = tables.iter().map(|table| {
            let heads: Vec<Value> =
                table.heads.iter().map(|(head, align)| json!([head, align.is_figures()])).collect();
            json!({
                "name": table.name,
                "title": table.title,
                "heads": heads,
                "rows": table.rows,
            })
        });
        let rows = self.rows.iter().map(|row| {
            json!({
                "key": key(row),
                "suite": row.suite,
                "task": row.task,
                "solver": row.solver,
                "repetition": row.repetition,
                "standing": row.standing.name(),
                "what": row.what(),
                "evidence": row.evidence.chars().take(300).collect::<String>(),
                "fidelity": row.value::<StrictFidelity>(),
                "lines": row.value::<GistLines>(),
                "sensitivity": row.value::<Sensitivity>(),
                "seconds": row.seconds,
            })
        });
        let mut ranges: Vec<(&String, &Range<usize>)> = self.tasks.iter().collect();
        ranges.sort_unstable_by_key(|(_, range)| range.start);
        let tasks = ranges.into_iter().map(|(key, range)| {
            let Row { suite, task, calls, files, .. } = &self.rows[range.start];
            json!({ "key": key, "suite": suite, "task": task, "calls": calls, "files": files })
        });
        let measures = MEASURES.iter().map(|measure| {
            json!({
                "name": measure.name,
                "label": measure.label,
                "doc": measure.doc,
                "rate": measure.unit.is_rate(),
                "success": measure.unit == MeasureUnit::Success,
                "main": measure.shown == MeasureTable::Main,
            })
        });
        let name = self.directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let data = json!({
            "name": name,
            "version": self.version(),
            "planned": self.planned,
            "solvers": self.solvers,
            "summary": {
                "suites": summary.suites,
                "comparisons": summary.comparisons,
                "lengths": summary.lengths,
            },
            "measures": measures.collect::<Vec<_>>(),
            "tables": tables.collect::<Vec<_>>(),
            "tokens_by_step": self.tokens_by_step(),
        });
        // Tasks and rows are written one by one: as values, those of a large bench would not fit.
        let mut text = script(&data);
        text.pop();
        let mut add = |name: &str, values: &mut dyn Iterator<Item = Value>| {
            text.push_str(&format!(",\"{name}\":["));
            for (at, value) in values.enumerate() {
                text.push_str(if at == 0 { "" } else { "," });
                text.push_str(&script(&value));
            }
            text.push(']');
        };
        add("tasks", &mut { tasks });
        add("rows", &mut { rows });
        format!("gistify.index({text}}});\n")
    }

    /// Returns the mean tokens of each solver at each step: read, read from a cache, written. An attempt that has ended
    /// counts as 0.
    ///
    /// The attempts are those with tokens: at most [`STEPPED`] of each solver, evenly spaced.
    fn tokens_by_step(&self) -> Vec<Value> {
        let has_tokens = |row: &&Row| {
            row.effort.as_ref().is_some_and(|effort| effort.tokens_in + effort.tokens_out > 0)
        };
        let mut steps = Vec::new();
        for solver in &self.solvers {
            let own = self.rows.iter().filter(|row| row.solver == *solver).filter(has_tokens);
            let own: Vec<&Row> = own.collect();
            let every = own.len().div_ceil(STEPPED).max(1);
            let (mut sums, mut attempts) = (BTreeMap::<usize, [u64; 3]>::new(), 0);
            for row in own.iter().step_by(every) {
                let used = usage_by_step(&self.directory.join(&row.place));
                attempts += usize::from(!used.is_empty());
                for (step, usage) in used {
                    let sum = sums.entry(step).or_default();
                    sum[0] += usage.input.saturating_sub(usage.cached);
                    sum[1] += usage.cached;
                    sum[2] += usage.output;
                }
            }
            for (step, sum) in sums {
                let means = sum.map(|tokens| tokens as f64 / attempts as f64);
                steps.push(json!({ "solver": solver, "step": step, "tokens": means }));
            }
        }
        steps
    }

    /// The script of one task; nothing where there is none of this key.
    pub fn task(&self, key: &str) -> Option<String> {
        self.loaded(key).map(|(text, _)| text)
    }

    /// The script of one file of an original; nothing where there is none of this key.
    pub fn text(&self, key: &str) -> Option<String> {
        let text = read_text(&self.directory, key)?;
        Some(format!("gistify.source(\"{key}\", {});\n", script(&text)))
    }

    /// The script of one task, and the keys of the files that it shows.
    fn loaded(&self, key: &str) -> Option<(String, Vec<String>)> {
        let own = self.rows.get(self.tasks.get(key)?.clone())?;
        let Row { suite, task, .. } = own.first()?;
        let (mut attempts, mut texts) = (Vec::new(), Vec::new());
        let (mut command, mut touched) = (None, None);
        for row in own {
            let made = attempt(&self.directory.join(&row.place), row);
            command = command.or(made.command);
            touched = touched.or(made.touched);
            texts.extend(made.texts);
            attempts.push(made.data);
        }
        let data = json!({
            "key": key,
            "suite": suite,
            "task": task,
            "command": command,
            "touched": touched,
            "attempts": attempts,
        });
        Some((format!("gistify.task(\"{key}\", {});\n", script(&data)), texts))
    }
}

/// Returns the name of a task in addresses and files.
fn key(row: &Row) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(row.suite.as_bytes()).update(&[0]).update(row.task.as_bytes());
    hasher.finalize().to_hex()[..12].to_owned()
}

/// JSON as it may stand in a script, wherever that stands, with escapes for characters that nobody sees.
fn script(data: &impl Serialize) -> String {
    let text = serde_json::to_string(data).expect("texts and numbers serialise");
    // A reader has to see what nobody would: the text of the page has the escape.
    escaped_with(&text.replace('<', "\\u003c"), "\\\\u").into_owned()
}
