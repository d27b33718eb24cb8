//! The solvers of queries: a query in, a directory of outputs out.
//!
//! A solver gets the query, copies of the inputs and of the repository. It never gets the criteria.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use tools::{
    Environment, Interrupt, Limits, QueryInput, QueryProgram, QueryWork, Repository, Sandbox,
    Status, Workspace,
};

use crate::{error::EvalError, scorers::Effort};

/// Solves queries; several threads may share it.
pub trait QuerySolver: Sync {
    /// Its name in tables.
    fn name(&self) -> &str;

    /// Solves one query. A failure is returned in the answer.
    fn answer(&self, context: &QueryContext<'_>) -> QueryAnswer;
}

/// All that a solver gets.
#[derive(Clone, Copy)]
pub struct QueryContext<'a> {
    /// The text of the query.
    pub query: &'a str,
    /// The inputs.
    pub inputs: &'a [QueryInput],
    /// The names of the output files; empty where any name of the rule will do.
    pub expected: &'a [String],
    /// The repository, not to be written.
    pub repository: &'a Repository,
    /// The interpreter and packages of its code.
    pub environment: &'a Environment,
    /// Limits of each execution; for a program `time` replaces their wall and CPU time.
    pub limits: Limits,
    /// Wall-clock time of the whole work.
    pub time: Duration,
    /// An existing directory that keeps the record: printed output, and the outputs in `outputs/`.
    pub record: &'a Path,
    /// The directory for working directories.
    pub scratch: &'a Path,
    /// Set when the user wants everything to stop.
    pub interrupt: &'a Interrupt,
}

/// The answer of a solver.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryAnswer {
    /// The directory of outputs, or why there is none.
    pub outputs: Result<PathBuf, String>,
    /// One line on how the work ended: `ended`, a status with the last line of stderr, or a reason.
    pub outcome: String,
    /// True if it ended for a reason outside of the solver's control: its outputs are not judged then.
    pub infrastructure: bool,
    /// The cost, where it is known.
    pub effort: Option<Effort>,
}

/// The name of the directory of outputs in a record.
pub const OUTPUTS: &str = "outputs";

impl QueryAnswer {
    /// An answer that a failure of the machine prevented.
    pub fn failed(reason: impl ToString) -> Self {
        let reason = reason.to_string();
        Self { outputs: Err(reason.clone()), outcome: reason, infrastructure: true, effort: None }
    }
}

/// A program that solves queries, in the sandbox and in the directory of the work.
pub struct ProgramSolver<'a> {
    /// Its name in tables.
    pub name: String,
    /// Its command line; `{query}` in an argument is replaced by the text of the query.
    pub words: Vec<String>,
    /// Files that are put into the directory of the work: names and texts.
    pub files: Vec<(String, String)>,
    /// Paths that it may read besides.
    pub readable: Vec<PathBuf>,
    /// The sandbox.
    pub sandbox: &'a dyn Sandbox,
}

/// The files of a record that keep the program's stdout and stderr.
const STREAMS: [&str; 2] = ["stdout.txt", "stderr.txt"];

impl ProgramSolver<'_> {
    fn try_answer(&self, context: &QueryContext<'_>) -> Result<QueryAnswer, EvalError> {
        let workspace = Workspace::create(context.scratch)?;
        let work = QueryWork::lay_out(&workspace, context.repository, context.inputs)?;
        let failed = |path: PathBuf| {
            move |source| EvalError::Workspace(tools::WorkspaceError::Create { path, source })
        };
        for (name, text) in &self.files {
            let path = work.root().join(name);
            fs::write(&path, text).map_err(failed(path))?;
        }
        let words = self.words.iter().map(|word| word.replace("{query}", context.query));
        // The shell finds the program on the path of the environment.
        let args = ["-c", "exec \"$@\"", "program"].map(str::to_owned).into_iter().chain(words);
        let args: Vec<String> = args.collect();
        let scratch = workspace.directory("scratch")?;
        let mut request = work.request(&QueryProgram {
            program: Path::new("/bin/bash"),
            args: &args,
            environment: context.environment,
            scratch: &scratch,
            limits: Limits { wall: context.time, cpu: context.time, ..context.limits },
            hash_seed: 0,
            variables: &BTreeMap::new(),
        });
        request.readable.extend(self.readable.iter().cloned());
        let ran = self.sandbox.run(&request);
        let ran = ran.map_err(|error| EvalError::Execute(tools::ExecuteError::Sandbox(error)))?;
        if ran.status == Status::Interrupted {
            return Err(EvalError::Interrupted);
        }
        for (name, stream) in STREAMS.into_iter().zip([&ran.stdout, &ran.stderr]) {
            let path = context.record.join(name);
            fs::write(&path, &stream.bytes).map_err(failed(path))?;
        }
        let kept = context.record.join(OUTPUTS);
        work.keep_outputs(&kept)?;
        let outcome = match ran.status {
            Status::Exited(0) => "ended".to_owned(),
            status => {
                let text = ran.stderr.text();
                let last = text.lines().rev().find(|line| !line.trim().is_empty());
                format!("{}: {}", status.describe(), last.unwrap_or_default())
            }
        };
        let effort = Effort {
            wall_seconds: ran.wall.as_secs_f64(),
            cpu_seconds: Some(ran.cpu.as_secs_f64()),
            ..Effort::default()
        };
        Ok(QueryAnswer { outputs: Ok(kept), outcome, infrastructure: false, effort: Some(effort) })
    }
}

impl QuerySolver for ProgramSolver<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer(&self, context: &QueryContext<'_>) -> QueryAnswer {
        self.try_answer(context).unwrap_or_else(QueryAnswer::failed)
    }
}
