//! `gistify issues eval`: predicted patches, judged by the tests of their rows.

use std::{
    collections::BTreeMap,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use ::eval::{
    Effort, IssueBed, IssueResult, IssueRow, IssueVerdict, MalformedRow, ResolvedClass,
    judge_absent, judge_patch, read_json_lines, verdict_tables, write_tables,
};
use clap::Args;
use tools::{Sandbox, Workspace};

use super::{
    super::{
        Exit, Failure, OrExit,
        destination::check_file,
        flags::Flags,
        input_file::InputFile,
        predictions::PredictionRow,
        progress::ProgressLine,
        row_work::{RowChoice, work_through, write_rows},
        surroundings::{Surroundings, Talk},
        tables::Style,
    },
    row_source::{RowSource, read_rows, row_environment},
    solve::{PREDICTIONS, RESULTS},
};

#[derive(Debug, Args)]
pub struct JudgeRows {
    /// A file of rows, of `gistify issues build` or in SWE-bench's form, with FAIL_TO_PASS and PASS_TO_PASS; or a directory
    /// of tasks of SWE-bench 5.
    rows: PathBuf,
    /// Files of predictions in SWE-bench's form, directories of `gistify issues solve`, or `gold` for the true patches.
    #[arg(required = true, value_name = "PREDICTIONS")]
    predictions: Vec<PathBuf>,
    /// A directory with clones, as OWNER__NAME, OWNER/NAME or NAME [default: those of github.com].
    #[arg(long, value_name = "DIR")]
    repositories: Option<PathBuf>,
    /// The file for the verdicts.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    choice: RowChoice,
    /// Runs at once.
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    workers: usize,
    /// The interpreter, or its version [default: that of the rows, or the repository's own choice].
    #[arg(long, value_name = "PYTHON")]
    python: Option<String>,
    /// Format of the tables.
    #[arg(long, value_enum, default_value = "text")]
    format: Style,
    /// Replace a file that exists.
    #[arg(long)]
    force: bool,
}

/// The word for the true patches, as SWE-bench's harness has it.
const GOLD: &str = "gold";

/// The patches of one solver, by row, and their cost.
#[derive(Default)]
pub struct Predicted {
    solver: String,
    patches: BTreeMap<String, String>,
    efforts: BTreeMap<String, Effort>,
    /// Rows at which the machine or the provider failed, with the reason.
    failures: BTreeMap<String, String>,
}

/// The means of judging.
#[derive(Clone, Copy)]
pub struct Judging<'a> {
    /// The surroundings.
    pub around: &'a Surroundings,
    /// The directory with clones of the rows' repositories.
    pub repositories: Option<&'a Path>,
    /// Rows at once.
    pub workers: usize,
    /// The receiver of progress messages.
    pub progress: &'a ProgressLine,
}

impl JudgeRows {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.text("--python", "environment.python", self.python.as_deref());
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let output = self.output.as_deref();
        output.map_or(Ok(()), |path| check_file(path, self.force))?;
        let progress = ProgressLine::new(around.talk);
        let (mut rows, malformed) = read_rows(&self.rows, &progress)?;
        let mut malformed = vec![(self.rows.display().to_string(), malformed)];
        let predicted = self.predicted(&rows, &mut malformed, &progress)?;
        self.choice.choose(&mut rows, |row| &row.instance_id);
        let judging = Judging {
            around,
            repositories: self.repositories.as_deref(),
            workers: self.workers,
            progress: &progress,
        };
        let verdicts = judging.judge(&rows, &predicted)?;
        progress.clear();
        if let Some(path) = output {
            write_rows(path, &verdicts)?;
        }
        let tables = verdict_tables(&verdicts, &malformed);
        print!("{}", write_tables(&tables, self.format.format(around)));
        Ok(Exit::Success)
    }

    /// The patches of all solvers; lines that are no predictions are added to `malformed`.
    fn predicted(
        &self,
        rows: &[IssueRow],
        malformed: &mut Vec<(String, Vec<MalformedRow>)>,
        progress: &ProgressLine,
    ) -> Result<Vec<Predicted>, Failure> {
        let mut all: Vec<Predicted> = Vec::new();
        for named in &self.predictions {
            if named.as_os_str() == GOLD {
                let patches = rows.iter().map(|row| (row.instance_id.clone(), row.patch.clone()));
                let patches = patches.collect();
                all.push(Predicted { solver: GOLD.to_owned(), patches, ..Predicted::default() });
                continue;
            }
            let path = if named.is_dir() { named.join(PREDICTIONS) } else { named.clone() };
            let (mut predicted, bad) = Predicted::read(&path, rows, progress)?;
            all.append(&mut predicted);
            malformed.push((path.display().to_string(), bad));
        }
        match all.is_empty() {
            true => Err(Failure::new(Exit::Input, "no prediction is of a row of the file")),
            false => Ok(all),
        }
    }
}

impl Predicted {
    /// Reads a file of predictions, with the cost of each where the results of their making lie beside it. Of a row that a
    /// solver predicts twice the last counts. Lines that are no predictions are returned as well.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(
        path: &Path,
        rows: &[IssueRow],
        progress: &ProgressLine,
    ) -> Result<(Vec<Self>, Vec<MalformedRow>), Failure> {
        let hint = "one JSON object a line, with instance_id, model_name_or_path and model_patch, as \
                    `gistify issues solve` writes them";
        let file = InputFile { what: "predictions", path, hint };
        // A solver that made no patch at all writes an empty file.
        let (read, malformed) = match fs::metadata(path).is_ok_and(|there| there.len() == 0) {
            true => (Vec::new(), Vec::new()),
            false => {
                file.rows(|text| read_json_lines::<PredictionRow>(text, |_| None), progress)?
            }
        };
        let is_row = |id: &str| rows.iter().any(|row| row.instance_id == id);
        let mut all: BTreeMap<String, Self> = BTreeMap::new();
        let of = |all: &mut BTreeMap<String, Self>, solver: &str| {
            let new = || Self { solver: solver.to_owned(), ..Self::default() };
            std::mem::take(all.entry(solver.to_owned()).or_insert_with(new))
        };
        for PredictionRow { instance_id, model_name_or_path: solver, model_patch } in read {
            if !is_row(&instance_id) {
                let path = path.display();
                progress.line(&format!("{path}: there is no row {instance_id} (left out)"));
                continue;
            }
            let mut one = of(&mut all, &solver);
            one.patches.insert(instance_id, model_patch.unwrap_or_default());
            all.insert(solver, one);
        }
        for result in results_beside(path) {
            let IssueResult { instance_id, solver, repair, failure } = result;
            if !is_row(&instance_id) {
                continue;
            }
            let mut one = of(&mut all, &solver);
            match (repair, failure) {
                (Some(repair), _) => {
                    one.failures.remove(&instance_id);
                    one.efforts.insert(instance_id, repair.effort);
                }
                (None, failure) => {
                    one.failures.insert(instance_id, failure.unwrap_or_default());
                }
            }
            all.insert(solver, one);
        }
        Ok((all.into_values().collect(), malformed))
    }
}

impl Judging<'_> {
    /// The verdicts of all rows, in the order of the rows for each solver.
    ///
    /// # Errors
    /// There is no sandbox, or the user interrupts. A failure of one row is a verdict.
    pub fn judge(
        &self,
        rows: &[IssueRow],
        predicted: &[Predicted],
    ) -> Result<Vec<IssueVerdict>, Failure> {
        let Self { around, progress, .. } = *self;
        let sandbox = around.sandbox()?;
        let judged = work_through(rows, self.workers, &around.interrupt, |at, row| {
            progress.say(&format!("[{}/{}] {}", at + 1, rows.len(), row.instance_id));
            let verdicts = self.judge_row(row, predicted, &*sandbox);
            for one in &verdicts {
                if let (ResolvedClass::Failed, Some(reason)) = (one.class, &one.reason) {
                    progress.line(&format!("{}: {reason}", row.instance_id));
                }
            }
            ControlFlow::Continue(verdicts)
        });
        match around.interrupt.is_triggered() {
            true => Err(Failure::new(Exit::Interrupted, "interrupted")),
            false => Ok(judged.into_iter().flatten().collect()),
        }
    }

    /// The verdicts of one row, one for each solver. A failure of the machine is one as well.
    fn judge_row(
        &self,
        row: &IssueRow,
        predicted: &[Predicted],
        sandbox: &dyn Sandbox,
    ) -> Vec<IssueVerdict> {
        let around = self.around;
        let failed = |failure: Failure| {
            IssueVerdict::unmeasured(row, ResolvedClass::Failed, Some(failure.message()))
        };
        let judge = |one: &Predicted, bed: &Result<IssueBed<'_>, IssueVerdict>| {
            let verdict = match (bed, one.patches.get(&row.instance_id)) {
                // A row that cannot be judged counts for no solver.
                (Err(verdict), _) => verdict.clone(),
                (Ok(bed), None) => match one.failures.get(&row.instance_id) {
                    Some(reason) => failed(Failure::new(Exit::Infrastructure, reason.clone())),
                    None => judge_absent(bed, row)
                        .unwrap_or_else(|error| failed(around.unevaluated(error))),
                },
                (Ok(bed), Some(patch)) => judge_patch(bed, row, patch)
                    .unwrap_or_else(|error| failed(around.unevaluated(error))),
            };
            let effort = one.efforts.get(&row.instance_id).cloned();
            IssueVerdict { solver: one.solver.clone(), effort, ..verdict }
        };
        if let Some(reason) = row.without_tests() {
            let verdict = IssueVerdict::unmeasured(row, ResolvedClass::NoTests, Some(reason));
            let each = predicted.iter();
            return each.map(|one| judge(one, &Err(verdict.clone()))).collect();
        }
        let opened = (|| {
            let quiet = ProgressLine::new(Talk::Quiet);
            let source = RowSource::of(row, self.repositories)?;
            let repository = source.open(around, sandbox, &quiet)?;
            let environment = row_environment(row, &repository, around, sandbox, &quiet)?;
            let workspace = Workspace::create(&around.scratch()?).or_exit(Exit::Infrastructure)?;
            Ok((repository, environment, workspace))
        })();
        let (repository, environment, workspace) = match opened {
            Ok(opened) => opened,
            Err(failure) => {
                let verdict = failed(failure);
                return predicted.iter().map(|one| judge(one, &Err(verdict.clone()))).collect();
            }
        };
        let bed = Ok(IssueBed {
            sandbox,
            host: &around.host,
            repository: &repository,
            environment: &environment,
            workspace: &workspace,
            limits: around.settings.command.limits(),
        });
        predicted.iter().map(|one| judge(one, &bed)).collect()
    }
}

/// The results of the making of predictions, where they lie beside them.
fn results_beside(path: &Path) -> Vec<IssueResult> {
    let text = fs::read_to_string(path.with_file_name(RESULTS)).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
