//! Runs a file alone: in an empty directory, with a fresh home, an ordinary shell's environment and only some
//! packages.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use graph::{DataFile, Gist};

use super::{NAME, oracle::Oracle, script::ReproForm};
use crate::{
    command::Command,
    environment::{Environment, Inventory},
    execute::{Around, Execution, Raised, RunSpec, Shell, execute},
    normalize::Normalizer,
    sandbox::{Limits, Status},
    session::Session,
    slice::failures,
    tool::ToolError,
};

/// A file is stopped after this many times what the original took, and this much more.
const SLOWER: u32 = 5;
const GRACE: Duration = Duration::from_secs(20);

/// Packages to run a file with.
pub(super) struct Bed {
    environment: Environment,
    directory: PathBuf,
}

/// A run of a file.
pub(super) struct FileRun {
    /// The run, normalised.
    pub(super) execution: Execution,
    /// The same in its own words.
    pub(super) raw: Execution,
}

impl FileRun {
    pub(super) fn interrupted(&self) -> bool {
        self.execution.status == Status::Interrupted
    }

    /// Returns the end of the run, in a sentence.
    pub(super) fn describe_end(&self) -> String {
        let found = failures(&self.execution);
        match found.first().map(|failure| failure.raised.as_deref()) {
            None => "it does not fail".to_owned(),
            Some(Some(Raised { kind, message, .. })) => {
                let first = message.lines().next().unwrap_or_default();
                format!("it fails with {kind}: {first}")
            }
            Some(None) => {
                let told = [&self.execution.stderr, &self.execution.stdout];
                let last = told.iter().find_map(|text| text.trim().lines().last());
                format!(
                    "{}: {}",
                    self.execution.status.describe(),
                    last.unwrap_or("it prints nothing")
                )
            }
        }
    }
}

impl Bed {
    /// A bed with these packages of the session's environment.
    pub(super) fn new(
        session: &Session,
        inventory: &Inventory,
        packages: &BTreeSet<String>,
    ) -> Result<Self, ToolError> {
        let directory = session.workspace.directory("packages")?;
        let environment = session
            .environment
            .part(inventory, packages, &directory)
            .map_err(|error| ToolError::Fatal(error.to_string()))?;
        Ok(Self { environment, directory })
    }

    /// Returns the environment of the file.
    pub(super) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Runs a gist as its form says.
    pub(super) fn run(
        &self,
        session: &Session,
        gist: &Gist,
        form: &ReproForm,
    ) -> Result<FileRun, ToolError> {
        self.runs(session, &Trial::of(&gist.text, &form.command(session)))
    }

    /// Returns true if the finished file fails as `python FILE`, and says so.
    pub(super) fn runs_by_itself(
        &self,
        session: &Session,
        gist: &Gist,
        oracle: &Oracle,
        form: &ReproForm,
    ) -> Result<bool, ToolError> {
        // What is no pytest's runs in no other way.
        if !matches!(form, ReproForm::Pytest { .. }) {
            return Ok(true);
        }
        let program = ReproForm::Program { options: form.interpreter_options() };
        let run = self.runs(session, &Trial::of(&gist.text, &program.command(session)))?;
        let says = |text: &str| oracle.kind().is_none_or(|kind| text.contains(kind));
        let is_failed = matches!(run.execution.status, Status::Exited(code) if code != 0);
        Ok(is_failed && says(&format!("{}{}", run.execution.stdout, run.execution.stderr)))
    }

    /// Runs a file in a directory that holds nothing else than what the trial names.
    pub(super) fn runs(&self, session: &Session, trial: &Trial<'_>) -> Result<FileRun, ToolError> {
        let directory = session.workspace.directory("alone")?;
        let scratch = session.workspace.directory("scratch")?;
        let ran = self.runs_in(session, trial, [&directory, &scratch]);
        for directory in [&directory, &scratch] {
            session.workspace.discard(directory);
        }
        ran
    }

    fn runs_in(
        &self,
        session: &Session,
        trial: &Trial<'_>,
        [directory, scratch]: [&Path; 2],
    ) -> Result<FileRun, ToolError> {
        let failed = |error: std::io::Error| ToolError::Fatal(error.to_string());
        for file in trial.files {
            let path = directory.join(&file.path);
            fs::create_dir_all(path.parent().unwrap_or(directory)).map_err(failed)?;
            fs::write(path, &file.contents).map_err(failed)?;
        }
        let path = directory.join(trial.path);
        fs::create_dir_all(path.parent().unwrap_or(directory)).map_err(failed)?;
        fs::write(path, trial.text).map_err(failed)?;
        let original = session.findings.original.as_deref();
        let usual = original.map_or(session.limits.wall, |run| run.wall);
        let wall = session.limits.wall.min(usual * SLOWER + GRACE);
        let spec = RunSpec {
            sandbox: &*session.sandbox,
            environment: &self.environment,
            command: trial.command,
            directory,
            scratch,
            limits: Limits { wall, ..session.limits },
            hash_seed: session.hash_seed,
            variables: trial.variables,
            absent: &[],
            max_failures: None,
            link: None,
            around: Around { shell: trial.shell, opens: false },
        };
        let raw = match execute(&spec) {
            Ok(raw) => raw,
            // A package that the form needs may be what was taken away.
            Err(error) => {
                Execution::spoiled(&error).ok_or_else(|| ToolError::Fatal(error.to_string()))?
            }
        };
        let Some(trace) = &session.findings.trace else {
            return Err(ToolError::Fatal("the trace was lost".to_owned()));
        };
        let internal = &session.pristine(trace)?.internal;
        let normalizer = Normalizer::of_run(directory, scratch, internal, Some(trial.path));
        Ok(FileRun { execution: normalizer.execution(&raw), raw })
    }
}

/// A file to run alone, and what else there is.
pub(super) struct Trial<'a> {
    /// Its text.
    pub(super) text: &'a str,
    /// The path of the file.
    pub(super) path: &'a str,
    /// The command that runs it.
    pub(super) command: &'a Command,
    /// Files beside it.
    pub(super) files: &'a [DataFile],
    /// The environment variables.
    pub(super) shell: Shell,
    /// Variables besides those.
    pub(super) variables: &'a BTreeMap<String, String>,
}

/// No variables.
static NONE: BTreeMap<String, String> = BTreeMap::new();

impl<'a> Trial<'a> {
    /// A file with nothing beside it.
    pub(super) fn of(text: &'a str, command: &'a Command) -> Self {
        let (path, files, shell) = (NAME, &[][..], Shell::Ordinary);
        Self { text, path, command, files, shell, variables: &NONE }
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        crate::workspace::remove_tree(&self.directory);
    }
}
