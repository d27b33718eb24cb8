//! `gistify queries solve`: the tasks of a suite, solved by models in scaffolds or by programs, judged, and their tables.
//!
//! A run that was stopped goes on: a task that has a verdict is not solved again, unless the machine or the provider failed.

use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Mutex,
};

use ::eval::{
    AnswerClass, AnswerJudgement, ProgramSolver, QUERY_VERDICT_VERSION, QueryAnswer, QuerySolver,
    QueryTask, QueryVerdict, query_tables, write_tables,
};
use clap::Args;
use serde_json::{Value, json};
use tools::Sandbox;

use super::{
    super::{
        Exit, Failure, OrExit,
        destination::make_directory,
        flags::Flags,
        progress::ProgressLine,
        row_work::{keep_settings, work_through, write_rows},
        solve::{ANSWER, QueryFlags},
        surroundings::{Surroundings, Talk},
        tables::Style,
    },
    suite_source::{SuiteFlags, SuiteSource},
    verdict_file::{VERDICTS, read_verdict_file},
};
use crate::{answering::QueryWriter, record::replace};

#[derive(Debug, Args)]
pub struct SolveTasks {
    #[command(flatten)]
    suite: SuiteFlags,
    #[command(flatten)]
    solving: QueryFlags,
    /// Solve each task in the scaffold `repomaster` and in each of its ablations.
    #[arg(long, conflicts_with = "scaffold")]
    each_ablation: bool,
    /// A program that solves the tasks as well, in the sandbox: it finds `repository`, `inputs` and `outputs` where it
    /// runs, and `{query}` is the task; can be given more than once.
    #[arg(long, value_name = "NAME=COMMAND")]
    program: Vec<String>,
    /// A path that programs may read besides; can be given more than once.
    #[arg(long, value_name = "PATH")]
    reads: Vec<PathBuf>,
    /// The directory for verdicts.jsonl and a record of each task.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Format of the tables.
    #[arg(long, value_enum, default_value = "text")]
    format: Style,
}

/// The scaffolds of the paper's ablation.
const ABLATIONS: [&str; 5] = [
    "repomaster",
    "repomaster-no-analysis",
    "repomaster-no-exploration",
    "repomaster-no-selection",
    "repomaster-no-all",
];
/// Beside the directories of tasks, of which none begins with a dot.
const SETTINGS: &str = ".settings.json";

/// A solver, and its facts for verdicts.
struct NamedSolver<'a> {
    solver: Box<dyn QuerySolver + Send + 'a>,
    scaffold: Option<String>,
    model: Option<String>,
    /// By which a later run sees that it is another one.
    settings: Value,
}

/// The directory of a solver's work on a task, below that of a run.
pub fn record_of(output: &Path, solver: &str, task: &str) -> PathBuf {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let name: String = solver.chars().map(|c| if plain(c) { c } else { '-' }).take(80).collect();
    // Two names that differ in other characters stay apart.
    let hash = blake3::hash(solver.as_bytes()).to_hex();
    output.join(format!("{}-{}", name.trim_start_matches('.'), &hash[..8])).join(task)
}

impl SolveTasks {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        self.solving.flags()
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let source = self.suite.read(around)?;
        let sandbox = around.sandbox()?;
        let solvers = self.solvers(around, &sandbox)?;
        make_directory(&self.output)?;
        let progress = ProgressLine::new(around.talk);
        let path = self.output.join(VERDICTS);
        let mut known = if path.exists() { read_verdict_file(&path)? } else { Vec::new() };
        known.retain(|verdict| verdict.judgement.class != AnswerClass::Failed);
        for solver in &solvers {
            let path = record_of(&self.output, solver.solver.name(), SETTINGS);
            keep_settings(&path, &solver.settings)?;
        }
        let is_open = |solver: &str, task: &str| {
            !known.iter().any(|one| one.solver == solver && one.task == task)
        };
        let open = source.tasks.iter().flat_map(|task| {
            let wanted = solvers.iter().filter(|one| is_open(one.solver.name(), &task.id));
            wanted.map(move |solver| (task, solver))
        });
        let open: Vec<(&QueryTask, &NamedSolver<'_>)> = open.collect();
        let before = source.tasks.len() * solvers.len() - open.len();
        let all = Mutex::new(known);
        let failed: Mutex<Option<Failure>> = Mutex::new(None);
        let workers = self.suite.workers;
        work_through(&open, workers, &around.interrupt, |at, (task, solver)| {
            let name = solver.solver.name();
            progress.say(&format!("[{}/{}] {} {name}", at + 1, open.len(), task.id));
            let Ok(verdict) = self.solve(&source, task, solver, around, &*sandbox) else {
                return ControlFlow::Break(());
            };
            if verdict.judgement.class == AnswerClass::Failed {
                progress.line(&format!("{}: {}", task.id, verdict.judgement.reason));
            }
            let mut all = all.lock().expect("no worker panics");
            all.push(verdict);
            // Each result is on disk before the next task.
            match write_rows(&path, &all) {
                Ok(()) => ControlFlow::Continue(()),
                Err(failure) => {
                    failed.lock().expect("no worker panics").get_or_insert(failure);
                    ControlFlow::Break(())
                }
            }
        });
        progress.clear();
        if let Some(failure) = failed.into_inner().expect("no worker panics") {
            return Err(failure);
        }
        if around.interrupt.is_triggered() {
            return Err(Failure::new(Exit::Interrupted, "interrupted"));
        }
        progress.line(&format!("{} solved now, {before} before", open.len()));
        let verdicts = all.into_inner().expect("no worker panics");
        let is_chosen = |one: &QueryVerdict| source.tasks.iter().any(|task| task.id == one.task);
        let verdicts: Vec<QueryVerdict> = verdicts.into_iter().filter(is_chosen).collect();
        print!("{}", write_tables(&query_tables(&verdicts), self.format.format(around)));
        Ok(Exit::Success)
    }

    /// The solvers that the flags name.
    fn solvers<'a>(
        &self,
        around: &'a Surroundings,
        sandbox: &'a std::sync::Arc<dyn Sandbox>,
    ) -> Result<Vec<NamedSolver<'a>>, Failure> {
        let mut solvers = Vec::new();
        let model = &around.settings.writer.model;
        let mut settings = Vec::new();
        match (QueryFlags::has_model(around), self.each_ablation) {
            (false, false) if !self.program.is_empty() => {}
            (false, _) => {
                let message = "the offline model solves no tasks in words (name a model with -m, or --program)";
                return Err(Failure::new(Exit::Usage, message));
            }
            (true, false) => settings.push(around.settings.clone()),
            (true, true) => {
                for scaffold in ABLATIONS {
                    settings.push(around.settings_with(model, scaffold)?);
                }
            }
        }
        for settings in settings {
            let quiet = || ProgressLine::new(Talk::Quiet).watch();
            let writer =
                QueryWriter::new(&settings, sandbox.clone(), &around.access(), Box::new(quiet));
            let writer = writer.or_exit(Exit::Usage)?;
            let own = writer.writer().settings();
            solvers.push(NamedSolver {
                scaffold: Some(own.writer.scaffold.clone()),
                model: Some(writer.writer().model().to_owned()),
                settings: serde_json::to_value(own).or_exit(Exit::Infrastructure)?,
                solver: Box::new(writer),
            });
        }
        for given in &self.program {
            let unfit = |reason: &str| {
                Failure::new(Exit::Usage, format!("--program {given}: {reason} (NAME=COMMAND)"))
            };
            let (name, command) = given.split_once('=').ok_or_else(|| unfit("no name"))?;
            let words = shlex::split(command).filter(|words| !words.is_empty());
            let words = words.ok_or_else(|| unfit("no command"))?;
            if solvers.iter().any(|one: &NamedSolver<'_>| one.solver.name() == name) {
                return Err(unfit("the name is used twice"));
            }
            let reads = self.reads.iter().map(|path| fs::canonicalize(path).or_exit(Exit::Input));
            solvers.push(NamedSolver {
                scaffold: None,
                model: None,
                settings: json!({ "program": words }),
                solver: Box::new(ProgramSolver {
                    name: name.to_owned(),
                    words,
                    files: Vec::new(),
                    readable: reads.collect::<Result<_, _>>()?,
                    sandbox: &**sandbox,
                }),
            });
        }
        Ok(solvers)
    }

    /// Solves one task, with a record of its own.
    ///
    /// # Errors
    /// The user interrupts; everything else is a verdict.
    fn solve(
        &self,
        source: &SuiteSource,
        task: &QueryTask,
        solver: &NamedSolver<'_>,
        around: &Surroundings,
        sandbox: &dyn Sandbox,
    ) -> Result<QueryVerdict, Failure> {
        let record = record_of(&self.output, solver.solver.name(), &task.id);
        let quiet = ProgressLine::new(Talk::Quiet);
        let solved = (|| {
            if record.exists() {
                // It is of a run that was stopped, or that failed.
                fs::remove_dir_all(&record).or_exit(Exit::Infrastructure)?;
            }
            fs::create_dir_all(&record).or_exit(Exit::Infrastructure)?;
            let record = fs::canonicalize(&record).or_exit(Exit::Infrastructure)?;
            let prepared = source.prepare(task, around, sandbox, &quiet)?;
            let time = self.solving.time(around, task.seconds);
            prepared.solve(&*solver.solver, &record, time, around, sandbox)
        })();
        let (answer, judgement) = match solved {
            Ok(solved) => solved,
            Err(failure) if failure.exit == Exit::Interrupted => return Err(failure),
            Err(failure) => {
                let reason = failure.message();
                let judgement = AnswerJudgement::of_class(AnswerClass::Failed, reason.clone());
                (QueryAnswer::failed(reason), judgement)
            }
        };
        let verdict = QueryVerdict {
            version: QUERY_VERDICT_VERSION,
            task: task.id.clone(),
            solver: solver.solver.name().to_owned(),
            scaffold: solver.scaffold.clone(),
            model: solver.model.clone(),
            outcome: answer.outcome,
            judgement,
            effort: answer.effort,
        };
        if record.is_dir() {
            let text = serde_json::to_vec_pretty(&verdict).or_exit(Exit::Infrastructure)?;
            let _ = replace(&record.join(ANSWER), &text);
        }
        Ok(verdict)
    }
}
