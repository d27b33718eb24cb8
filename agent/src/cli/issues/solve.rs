//! `gistify issues solve`: the issues of a file in SWE-bench's form, solved one by one: predictions in the form that its harness
//! reads, results, and tables.
//!
//! A run that was stopped goes on: a row whose result is there is not solved again.

use std::{
    collections::BTreeSet,
    fs::{self, OpenOptions},
    io::Write,
    ops::ControlFlow,
    path::PathBuf,
    sync::Mutex,
};

use ::eval::{IssueResult, IssueRow, issue_tables, verdict_tables, write_tables};
use clap::Args;

use super::{
    super::{
        Exit, Failure, OrExit,
        destination::{check_directory, make_directory},
        fix::{PATCH, RESULT},
        flags::Flags,
        predictions::PredictionRow,
        progress::ProgressLine,
        row_work::{RowChoice, keep_settings, work_through, write_rows},
        solving::{IssueSolver, IssueTask, OpeningContext, SolvedIssue, Solving},
        surroundings::{Surroundings, Talk},
        tables::Style,
    },
    row_source::{FailingTests, RowSource, issue_rows, read_rows},
    score::{Judging, Predicted},
};
use crate::{record::RunDirectory, writer::TRAJECTORY};

#[derive(Debug, Clone, Args)]
pub struct SolveRows {
    /// A file of rows with instance_id, repo, base_commit, problem_statement and, if known, patch; or a directory of tasks of
    /// SWE-bench 5.
    rows: PathBuf,
    #[command(flatten)]
    solving: Solving,
    /// Solve each row with the gist of its failing tests, with the ranked map, and with neither, in a directory of that name
    /// each.
    #[arg(long, conflicts_with = "context")]
    each_context: bool,
    /// Judge the patches by the tests of their rows too, and print that table.
    #[arg(long)]
    eval: bool,
    /// A directory with clones, as OWNER__NAME, OWNER/NAME or NAME [default: those of github.com].
    #[arg(long, value_name = "DIR")]
    repositories: Option<PathBuf>,
    /// The directory for predictions.jsonl, results.jsonl and a record of each row.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    choice: RowChoice,
    /// Rows at once.
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    workers: usize,
    /// Format of the tables.
    #[arg(long, value_enum, default_value = "text")]
    format: Style,
}

/// The names of the files of all rows.
pub const RESULTS: &str = "results.jsonl";
pub const PREDICTIONS: &str = "predictions.jsonl";
const SETTINGS: &str = "settings.json";
const VERDICTS: &str = "verdicts.jsonl";

/// The texts about the repository that are compared, with the names of their directories.
const CONTEXTS: [(&str, OpeningContext); 3] =
    [("gist", OpeningContext::Gist), ("map", OpeningContext::Map), ("none", OpeningContext::None)];

impl SolveRows {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        self.solving.flags()
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        check_directory(&self.output)?;
        let progress = ProgressLine::new(around.talk);
        let (mut rows, malformed) = read_rows(&self.rows, &progress)?;
        let malformed = [(self.rows.display().to_string(), malformed)];
        self.choice.choose(&mut rows, |row| &row.instance_id);
        if rows.is_empty() {
            return Err(issue_rows(&self.rows).fault("no row has that id"));
        }
        let runs: Vec<Self> = match self.each_context {
            false => vec![self.clone()],
            true => CONTEXTS.map(|(name, context)| self.with_context(name, context)).to_vec(),
        };
        let mut results = Vec::new();
        for run in &runs {
            results.append(&mut run.solve_rows(around, &rows, &progress)?);
        }
        let tables = match self.eval {
            false => issue_tables(&results, &malformed),
            true => {
                let mut predicted = Vec::new();
                for run in &runs {
                    let path = run.output.join(PREDICTIONS);
                    predicted.append(&mut Predicted::read(&path, &rows, &progress)?.0);
                }
                let judging = Judging {
                    around,
                    repositories: self.repositories.as_deref(),
                    workers: self.workers,
                    progress: &progress,
                };
                let verdicts = judging.judge(&rows, &predicted)?;
                write_rows(&self.output.join(VERDICTS), &verdicts)?;
                verdict_tables(&verdicts, &malformed)
            }
        };
        progress.clear();
        print!("{}", write_tables(&tables, self.format.format(around)));
        Ok(Exit::Success)
    }

    /// The same with one context, in a directory of its name.
    fn with_context(&self, name: &str, context: OpeningContext) -> Self {
        let solving = self.solving.with_context(context);
        Self { solving, output: self.output.join(name), ..self.clone() }
    }

    /// Solves the rows that have no result yet, and returns the results of all.
    fn solve_rows(
        &self,
        around: &Surroundings,
        rows: &[IssueRow],
        progress: &ProgressLine,
    ) -> Result<Vec<IssueResult>, Failure> {
        let solver = self.solving.solver(around)?;
        make_directory(&self.output)?;
        let known = self.known(&solver)?;
        let settings = serde_json::to_value(solver.settings()).or_exit(Exit::Infrastructure)?;
        keep_settings(&self.output.join(SETTINGS), &settings)?;
        // A row that the machine or the provider failed at is tried again.
        let done: BTreeSet<&str> = known
            .iter()
            .filter(|one| one.repair.is_some())
            .map(|one| one.instance_id.as_str())
            .collect();
        let open: Vec<&IssueRow> =
            rows.iter().filter(|row| !done.contains(row.instance_id.as_str())).collect();
        let count = open.len();
        self.solve_all(around, &solver, &open, progress)?;
        progress.clear();
        let results = self.known(&solver)?;
        self.predict(&results)?;
        progress.line(&format!("{count} solved now, {} before", rows.len() - count));
        if around.interrupt.is_triggered() {
            return Err(Failure::new(Exit::Interrupted, "interrupted"));
        }
        let wanted: BTreeSet<&str> = rows.iter().map(|row| row.instance_id.as_str()).collect();
        let results = results.into_iter();
        Ok(results.filter(|result| wanted.contains(result.instance_id.as_str())).collect())
    }

    /// The results that the output has, the last of each row.
    fn known(&self, solver: &IssueSolver<'_>) -> Result<Vec<IssueResult>, Failure> {
        let path = self.output.join(RESULTS);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(Failure::new(Exit::Input, format!("read {}: {error}", path.display())));
            }
        };
        let mut results: Vec<IssueResult> = Vec::new();
        // A torn last line is of a run that was killed.
        for result in text.lines().filter_map(|line| serde_json::from_str::<IssueResult>(line).ok())
        {
            if result.solver != solver.name() {
                let message = format!(
                    "{} is of {}, not of {} (name another directory)",
                    path.display(),
                    result.solver,
                    solver.name()
                );
                return Err(Failure::new(Exit::Input, message));
            }
            results.retain(|earlier| earlier.instance_id != result.instance_id);
            results.push(result);
        }
        Ok(results)
    }

    /// Solves rows, several at once, and appends each result as it is there.
    fn solve_all(
        &self,
        around: &Surroundings,
        solver: &IssueSolver<'_>,
        rows: &[&IssueRow],
        progress: &ProgressLine,
    ) -> Result<(), Failure> {
        let path = self.output.join(RESULTS);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let mut file = file.or_exit(Exit::Input)?;
        let is_torn = fs::read(&path).or_exit(Exit::Input)?.last().is_some_and(|end| *end != b'\n');
        if is_torn {
            // The next result begins a line, so that only the torn one is lost.
            file.write_all(b"\n").or_exit(Exit::Infrastructure)?;
        }
        let file = Mutex::new(file);
        let failed = Mutex::new(None);
        work_through(rows, self.workers, &around.interrupt, |at, row| {
            progress.say(&format!("[{}/{}] {}", at + 1, rows.len(), row.instance_id));
            let solved = self.solve(around, solver, row);
            if matches!(&solved, Err(failure) if failure.exit == Exit::Interrupted) {
                return ControlFlow::Break(());
            }
            let result = IssueResult {
                instance_id: row.instance_id.clone(),
                solver: solver.name().to_owned(),
                failure: solved.as_ref().err().map(Failure::message),
                repair: solved.ok().map(|solved| solved.result),
            };
            if let Some(failure) = &result.failure {
                progress.line(&format!("{}: {failure}", row.instance_id));
            }
            let line = serde_json::to_string(&result).map_err(std::io::Error::other);
            let written = line.and_then(|line| {
                let mut file = file.lock().expect("no worker panics");
                file.write_all(format!("{line}\n").as_bytes())
            });
            match written {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed.lock().expect("no worker panics").get_or_insert(error);
                    ControlFlow::Break(())
                }
            }
        });
        match failed.into_inner().expect("no worker panics") {
            Some(error) => {
                let message = format!("write {}: {error}", path.display());
                Err(Failure::new(Exit::Infrastructure, message))
            }
            None => Ok(()),
        }
    }

    /// Solves one row, with a record of its own.
    fn solve(
        &self,
        around: &Surroundings,
        solver: &IssueSolver<'_>,
        row: &IssueRow,
    ) -> Result<SolvedIssue, Failure> {
        let record = self.output.join(&row.instance_id);
        if record.join(TRAJECTORY).exists() {
            // It is of a run that was stopped, or that failed.
            fs::remove_dir_all(&record).or_exit(Exit::Infrastructure)?;
        }
        let record = RunDirectory::create_at(&record).or_exit(Exit::Infrastructure)?;
        let source = RowSource::of(row, self.repositories.as_deref())?;
        let progress = ProgressLine::new(Talk::Quiet);
        let tests = match self.solving.needs_command() {
            true => Some(FailingTests::of(row, &source, around, &progress)?),
            false => None,
        };
        // The workspace has the copy with the tests until the row is solved.
        let (failing, _workspace) = tests.map_or((None, None), |tests| {
            let FailingTests { target, workspace } = tests;
            (Some(target), Some(workspace))
        });
        let RowSource { named, artifact } = source;
        let gold =
            (!row.patch.trim().is_empty()).then(|| (row.instance_id.clone(), row.patch.clone()));
        let text = row.problem_statement.clone();
        let issue = IssueTask {
            repository: &named,
            artifact,
            command: &[],
            text,
            gold,
            apart: &[],
            failing,
        };
        let opened = solver.open(issue, &progress)?;
        let solved = solver.solve(opened, &record, &progress)?;
        record.write_json(RESULT, &solved.result).or_exit(Exit::Infrastructure)?;
        record.write(PATCH, solved.patch.as_bytes()).or_exit(Exit::Infrastructure)?;
        Ok(solved)
    }

    /// Writes the predictions of all rows that have a repair.
    fn predict(&self, results: &[IssueResult]) -> Result<(), Failure> {
        let mut rows = Vec::new();
        for result in results.iter().filter(|result| result.repair.is_some()) {
            let path = self.output.join(&result.instance_id).join(PATCH);
            let patch = fs::read_to_string(&path).map_err(|error| {
                Failure::new(Exit::Input, format!("read {}: {error}", path.display()))
            })?;
            rows.push(PredictionRow {
                instance_id: result.instance_id.clone(),
                model_name_or_path: result.solver.clone(),
                model_patch: Some(patch),
            });
        }
        write_rows(&self.output.join(PREDICTIONS), &rows)
    }
}
