//! Runs real commands with the interpreters of this machine, plainly and under the tracer.

mod caught;
mod hostile;
mod probing;
mod pythons;
mod running;
mod tracing;
mod warming;

use std::{collections::BTreeMap, fs, path::PathBuf, time::Duration};

use gistify_tools::{
    Command, Environment, ExecuteError, Execution, Limits, LocalSandbox, Observer, RunSpec,
    TraceOptions, execute, trace_with,
};
use graph::Trace;

/// A small repository in a directory of its own.
struct Project {
    _home: tempfile::TempDir,
    root: PathBuf,
    scratch: PathBuf,
    variables: BTreeMap<String, String>,
    limits: Limits,
}

impl Project {
    /// Writes files from one text: each begins with a line `#- path`.
    fn new(text: &str) -> Project {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().canonicalize().unwrap();
        let root = place.join("repository");
        fs::create_dir(&root).unwrap();
        for part in text.split("#- ").skip(1) {
            let (name, contents) = part.split_once('\n').unwrap();
            let path = root.join(name.trim());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, contents).unwrap();
        }
        let limits = Limits {
            wall: Duration::from_secs(60),
            cpu: Duration::from_secs(60),
            memory: 4 << 30,
            processes: 200,
            output: 1 << 20,
            file: 1 << 30,
            disk: 4 << 30,
        };
        let scratch = place.join("scratch");
        Project { _home: home, root, scratch, variables: BTreeMap::new(), limits }
    }

    fn execute(&self, environment: &Environment, command: &str) -> Result<Execution, ExecuteError> {
        let command = Command::parse(command).unwrap();
        let sandbox = LocalSandbox::default();
        execute(&self.spec(&sandbox, environment, &command))
    }

    fn trace(
        &self,
        environment: &Environment,
        command: &str,
        observer: Observer,
    ) -> (Execution, Trace) {
        let command = Command::parse(command).unwrap();
        let sandbox = LocalSandbox::default();
        trace_with(&self.spec(&sandbox, environment, &command), observer, TraceOptions::default())
            .unwrap()
    }

    fn spec<'a>(
        &'a self,
        sandbox: &'a LocalSandbox,
        environment: &'a Environment,
        command: &'a Command,
    ) -> RunSpec<'a> {
        RunSpec {
            sandbox,
            environment,
            command,
            directory: &self.root,
            scratch: &self.scratch,
            limits: self.limits,
            hash_seed: 0,
            variables: &self.variables,
            absent: &[],
            max_failures: None,
            link: None,
            around: gistify_tools::Around::default(),
        }
    }
}
