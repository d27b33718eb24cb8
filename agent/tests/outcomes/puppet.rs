//! A tool that does what its arguments request, and a session for it: the loop without its
//! surroundings.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use gistify::{SessionLimits, Start, TRAJECTORY_VERSION};
use serde_json::{Value, json};
use tools::{
    Command, Environment, Findings, GistPlace, Group, Interrupt, Limits, LocalSandbox, Problem,
    Reply, Repository, Session, Tool, ToolError, Workspace,
};

/// Does what its arguments request: `{"do": "..."}`.
pub struct Puppet;

impl Tool for Puppet {
    fn name(&self) -> &'static str {
        "submit"
    }

    fn group(&self) -> Group {
        Group::Other
    }

    fn schema(&self) -> Value {
        json!({ "type": "object" })
    }

    fn call(&self, arguments: Value, session: &mut Session) -> Result<Reply, ToolError> {
        match arguments["do"].as_str() {
            Some("submit") => Ok(Reply { submitted: true, ..Reply::of(&json!("done"))? }),
            Some("refuse") => Err(Problem::NotFound.because("no file a.py")),
            Some("fail") => Err(ToolError::Fatal("the disk is full".to_owned())),
            Some("panic") => panic!("a defect"),
            Some("interrupt") => {
                session.interrupt.trigger();
                Err(ToolError::Fatal("the run was interrupted".to_owned()))
            }
            Some("sleep") => {
                std::thread::sleep(session.deadline.saturating_duration_since(Instant::now()));
                Reply::of(&json!("slept"))
            }
            Some("stand still") => {
                std::thread::sleep(session.deadline.saturating_duration_since(Instant::now()));
                session.interrupt.stood_still(Duration::from_secs(3_600));
                Reply::of(&json!("went on"))
            }
            Some("tell") => {
                // A reply as tools give it: numbered lines of code.
                let lines = 1..=arguments["lines"].as_u64().unwrap_or(0);
                let line = |n| format!("{n}     value = self.method_{n}(argument)\n");
                let text: String = lines.map(line).collect();
                Reply::of(&json!({ "path": "a.py", "text": text, "left_out": 0 }))
            }
            _ => Reply::of(&json!({ "nothing": "done" })),
        }
    }
}

/// Bounds that every session here keeps.
pub fn limits() -> SessionLimits {
    SessionLimits { steps: 5, tokens: 1000, cost: 0.0, seconds: 60.0, format_errors: 2 }
}

/// A session on nothing, whose tools have no use for it.
pub fn session(root: &Path, limits: &SessionLimits) -> Session {
    let interrupt = Interrupt::new();
    Session {
        forks: std::sync::Mutex::default(),
        repository: Repository {
            root: root.to_owned(),
            label: "a repository".to_owned(),
            fingerprint: "0".to_owned(),
            skipped: Vec::new(),
            apart: std::collections::BTreeSet::new(),
            checkout: None,
        },
        environment: Environment {
            python: PathBuf::from("/nowhere/python"),
            version: (3, 12, 0),
            readable: Vec::new(),
            pythonpath: Vec::new(),
            pytest: None,
        },
        command: Command::parse("pytest tests/test_a.py::test_b").unwrap(),
        sandbox: Arc::new(LocalSandbox::new(interrupt.clone())),
        limits: Limits {
            wall: Duration::from_secs(1),
            cpu: Duration::from_secs(1),
            memory: 1 << 20,
            processes: 1,
            output: 1,
            file: 1,
            disk: 1,
        },
        interrupt,
        deadline: Instant::now() + Duration::from_secs_f64(limits.seconds),
        place: GistPlace::BesideTest,
        workspace: Workspace::create(root).unwrap(),
        hash_seed: 0,
        variables: BTreeMap::new(),
        graphs: None,
        traces: None,
        patience: tools::PATIENCE,
        signs: Arc::new(|_| {}),
        execution: true,
        weights: graph::Weights::default(),
        host: None,
        findings: Findings::default(),
    }
}

/// Returns the beginning of a record.
pub fn start() -> Start {
    Start {
        version: TRAJECTORY_VERSION,
        time: 0,
        repository: "a repository".to_owned(),
        fingerprint: "0".to_owned(),
        command: "pytest".to_owned(),
        model: "scripted".to_owned(),
        tools: vec!["submit".to_owned()],
        versions: BTreeMap::new(),
        settings: Value::Null,
    }
}
