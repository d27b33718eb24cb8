//! The files of a suite of tasks, beside it or in the program, and its tasks with all that they need.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ::eval::{
    AnswerClass, AnswerJudgement, CriteriaScript, JudgedTask, QueryAnswer, QueryBed, QuerySolver,
    QuerySuite, QueryTask, judge_answer,
};
use clap::Args;
use tools::{Environment, QueryInput, Repository, Sandbox, Workspace};

use super::super::{
    Exit, Failure, OrExit,
    issues::pinned_environment,
    named_suite::{NamedSuite, SuiteFiles, SuiteKind},
    progress::ProgressLine,
    row_work::RowChoice,
    surroundings::Surroundings,
    target::{Wanted, environment},
};

/// A suite, and the choice of its tasks.
#[derive(Debug, Clone, Args)]
pub struct SuiteFlags {
    /// A file of tasks, or the name of one of the program's: eighteen-tasks.
    #[arg(default_value = "eighteen-tasks")]
    suite: String,
    #[command(flatten)]
    choice: RowChoice,
    /// Tasks at once.
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub workers: usize,
}

/// A suite with its files.
pub struct SuiteSource {
    suite: QuerySuite,
    /// The tasks that were chosen.
    pub tasks: Vec<QueryTask>,
    /// The files that it names.
    pub files: SuiteFiles,
    /// The place of inputs that the program has.
    unpacked: tempfile::TempDir,
}

/// A task with all that it needs.
pub struct PreparedTask<'a> {
    /// The task.
    pub task: &'a QueryTask,
    /// Its inputs.
    pub inputs: Vec<QueryInput>,
    /// Its criteria.
    criteria: CriteriaScript,
    /// Its repository.
    pub repository: Repository,
    /// The interpreter and packages of its code.
    pub environment: Environment,
}

impl SuiteFlags {
    /// Reads the suite.
    ///
    /// # Errors
    /// There is none of the name, it is no suite, or no task is chosen.
    pub fn read(&self, around: &Surroundings) -> Result<SuiteSource, Failure> {
        let NamedSuite { text, files } = NamedSuite::read(&self.suite, SuiteKind::Queries)?;
        let suite = QuerySuite::parse(&self.suite, &text).or_exit(Exit::Input)?;
        let mut tasks = suite.tasks.clone();
        self.choice.choose(&mut tasks, |task| &task.id);
        if tasks.is_empty() {
            return Err(Failure::new(Exit::Input, "the suite has no task of that kind"));
        }
        let unpacked = tempfile::tempdir_in(around.scratch()?).or_exit(Exit::Infrastructure)?;
        Ok(SuiteSource { suite, tasks, files, unpacked })
    }
}

impl SuiteSource {
    /// A task with its repository, environment, inputs and criteria.
    ///
    /// # Errors
    /// One of them cannot be had.
    pub fn prepare<'a>(
        &'a self,
        task: &'a QueryTask,
        around: &Surroundings,
        sandbox: &dyn Sandbox,
        progress: &ProgressLine,
    ) -> Result<PreparedTask<'a>, Failure> {
        let modules = self.suite.named_modules();
        let modules = modules.map(|(name, path)| Ok((name.to_owned(), self.files.text(path)?)));
        let modules = modules.collect::<Result<_, Failure>>()?;
        let criteria = CriteriaScript { text: self.files.text(&task.criteria)?, modules };
        let mut inputs = Vec::new();
        for input in &task.inputs {
            let source = match &self.files.directory {
                Some(beside) => beside.join(&input.path),
                None => self.unpack(&task.id, input.name(), &self.files.bytes(&input.path)?)?,
            };
            if !source.is_file() {
                let message = format!("read {} of suite: it is no file", source.display());
                return Err(Failure::new(Exit::Input, message));
            }
            let (name, description) = (input.name().to_owned(), input.description.clone());
            inputs.push(QueryInput { name, description, source });
        }
        progress.say(&format!("{}: open {}", task.id, task.repository));
        let repository =
            around.repository_of(&task.repository, task.artifact.as_ref(), sandbox, progress)?;
        let environment = match task.lock(&self.suite) {
            Some(lock) => {
                let (python, lock) = (&self.suite.python, self.files.text(lock)?);
                pinned_environment(python, &lock, &repository, around, sandbox, progress)?
            }
            None => {
                let mut wanted = Wanted::of_settings(around, &task.repository);
                if wanted.python.is_empty() {
                    wanted.python = &self.suite.python;
                }
                environment(&repository, wanted, around, sandbox, progress)?
            }
        };
        Ok(PreparedTask { task, inputs, criteria, repository, environment })
    }

    /// Writes a file of the program to where it can be copied from.
    fn unpack(&self, task: &str, name: &str, bytes: &[u8]) -> Result<PathBuf, Failure> {
        let directory = self.unpacked.path().join(task);
        fs::create_dir_all(&directory).or_exit(Exit::Infrastructure)?;
        let path = directory.join(name);
        fs::write(&path, bytes).or_exit(Exit::Infrastructure)?;
        Ok(path)
    }
}

impl PreparedTask<'_> {
    /// Judges a directory of outputs.
    ///
    /// # Errors
    /// The machine fails or the user interrupts.
    pub fn judge(
        &self,
        outputs: &Path,
        around: &Surroundings,
        sandbox: &dyn Sandbox,
    ) -> Result<AnswerJudgement, Failure> {
        let workspace = Workspace::create(&around.scratch()?).or_exit(Exit::Infrastructure)?;
        let bed = QueryBed {
            sandbox,
            environment: &self.environment,
            workspace: &workspace,
            limits: around.settings.command.limits(),
        };
        let judged = JudgedTask {
            inputs: &self.inputs,
            expected: &self.task.outputs,
            criteria: Some(&self.criteria),
        };
        judge_answer(&bed, &judged, outputs).map_err(|error| around.unevaluated(error))
    }

    /// Has a solver answer the task, with the record in an existing directory, and judges the answer.
    ///
    /// # Errors
    /// The user interrupts, or the judgement's machine fails; a solver's failure is a judgement.
    pub fn solve(
        &self,
        solver: &dyn QuerySolver,
        record: &Path,
        time: std::time::Duration,
        around: &Surroundings,
        sandbox: &dyn Sandbox,
    ) -> Result<(QueryAnswer, AnswerJudgement), Failure> {
        let answer = solver.answer(&::eval::QueryContext {
            query: &self.task.query,
            inputs: &self.inputs,
            expected: &self.task.outputs,
            repository: &self.repository,
            environment: &self.environment,
            limits: around.settings.command.limits(),
            time,
            record,
            scratch: &around.scratch()?,
            interrupt: &around.interrupt,
        });
        if around.interrupt.is_triggered() {
            return Err(Failure::new(Exit::Interrupted, "interrupted"));
        }
        let judged = match &answer.outputs {
            _ if answer.infrastructure => {
                AnswerJudgement::of_class(AnswerClass::Failed, answer.outcome.clone())
            }
            Err(reason) => AnswerJudgement::of_class(AnswerClass::NoAnswer, reason.clone()),
            Ok(outputs) => self.judge(outputs, around, sandbox)?,
        };
        Ok((answer, judged))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn suites_of_the_program_are_whole() {
        let embedded = SuiteKind::Queries.directory();
        let names: Vec<&str> = embedded
            .files()
            .filter_map(|file| file.path().to_str()?.strip_suffix(".toml"))
            .collect();
        assert_eq!(names, ["eighteen-tasks"]);
        let text = embedded.get_file("eighteen-tasks.toml").unwrap().contents_utf8().unwrap();
        let suite = QuerySuite::parse("eighteen-tasks", text).unwrap();
        assert_eq!(suite.tasks.len(), 18);
        let repositories: BTreeSet<&str> =
            suite.tasks.iter().map(|task| task.repository.as_str()).collect();
        assert_eq!(repositories.len(), 6);
        for path in &suite.modules {
            assert!(embedded.get_file(path).is_some(), "no {path}");
        }
        for task in &suite.tasks {
            let scripts = [Some(&task.criteria), task.reference.as_ref(), task.wrong.as_ref()];
            let inputs = task.inputs.iter().map(|input| &input.path);
            for path in scripts.into_iter().map(|path| path.unwrap()).chain(inputs) {
                assert!(embedded.get_file(path).is_some(), "{}: no {path}", task.id);
            }
            let lock = task.lock(&suite).unwrap();
            assert!(embedded.get_file(lock).is_some(), "{}: no {lock}", task.id);
            assert!(task.artifact.is_some() && !task.licence.is_empty(), "{}", task.id);
            assert!(!task.outputs.is_empty() && !task.domain.is_empty(), "{}", task.id);
        }
    }
}
