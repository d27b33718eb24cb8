//! The repositories of problems, each opened once with the environment of its tests.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use ::eval::{CompletionBed, CompletionProblem};
use tools::{Environment, Limits, Repository, Sandbox, Workspace};

use super::super::{
    Exit, Failure, OrExit,
    progress::ProgressLine,
    surroundings::Surroundings,
    target::{Wanted, environment, of_environment},
};

/// Opened repositories.
pub struct Beds {
    sandbox: Arc<dyn Sandbox>,
    workspace: Workspace,
    limits: Limits,
    opened: BTreeMap<String, (Repository, Environment)>,
}

impl Beds {
    /// Opens no repository yet.
    ///
    /// # Errors
    /// There is no sandbox, or no place for runs.
    pub fn new(around: &Surroundings) -> Result<Self, Failure> {
        let sandbox = around.sandbox()?;
        let scratch: PathBuf = around.scratch()?;
        let workspace = Workspace::create(&scratch).or_exit(Exit::Infrastructure)?;
        let limits = around.settings.command.limits();
        Ok(Self { sandbox, workspace, limits, opened: BTreeMap::new() })
    }

    /// The repositories of problems that have tests.
    ///
    /// # Errors
    /// One of them, or its environment, cannot be had.
    pub fn of_problems(
        problems: &[CompletionProblem],
        around: &Surroundings,
        progress: &ProgressLine,
    ) -> Result<Self, Failure> {
        let mut beds = Self::new(around)?;
        for problem in problems.iter().filter(|problem| problem.tests.is_some()) {
            beds.open_of(problem, around, progress)?;
        }
        Ok(beds)
    }

    /// Opens the repository of a problem: a release with the version of Python that its tests ran on, unless the user
    /// names another interpreter.
    ///
    /// # Errors
    /// It, or its environment, cannot be had.
    pub fn open_of(
        &mut self,
        problem: &CompletionProblem,
        around: &Surroundings,
        progress: &ProgressLine,
    ) -> Result<(), Failure> {
        let (wanted, source) = (around.settings.environment.python.as_str(), &problem.source);
        let is_release = source.repository.starts_with("pypi:");
        let python = if wanted.is_empty() && is_release { source.python.as_str() } else { wanted };
        self.open(&source.repository, python, around, progress)
    }

    /// Opens a repository with an interpreter, unless it is open.
    ///
    /// # Errors
    /// It, or its environment, cannot be had.
    pub fn open(
        &mut self,
        repository: &str,
        python: &str,
        around: &Surroundings,
        progress: &ProgressLine,
    ) -> Result<(), Failure> {
        if self.opened.contains_key(repository) {
            return Ok(());
        }
        progress.say(&format!("open {repository}"));
        let opened = around.repository(repository, &*self.sandbox, progress)?;
        let wanted = Wanted { python, ..Wanted::of_settings(around, repository) };
        let environment = environment(&opened, wanted, around, &*self.sandbox, progress)?;
        environment.require_pytest().map_err(of_environment)?;
        self.opened.insert(repository.to_owned(), (opened, environment));
        Ok(())
    }

    /// An opened repository and its environment.
    pub fn of(&self, repository: &str) -> Option<(&Repository, &Environment)> {
        self.opened.get(repository).map(|(repository, environment)| (repository, environment))
    }

    /// All of them, by their names.
    pub fn all(&self) -> BTreeMap<String, CompletionBed<'_>> {
        let beds = self.opened.iter().map(|(name, (repository, environment))| {
            let bed = CompletionBed {
                sandbox: &*self.sandbox,
                repository,
                environment,
                workspace: &self.workspace,
                limits: self.limits,
            };
            (name.clone(), bed)
        });
        beds.collect()
    }
}
