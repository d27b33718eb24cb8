//! Runs other scaffolds unchanged: a program of the user's writes the gist, in the sandbox, and
//! reaches its model through the gateway alone.
//!
//! It receives the path of the repository's copy, the task and the path for the gist; nothing of it
//! is trusted.

mod chat;
mod gateway;

use std::{collections::BTreeMap, fs, os::unix::net::UnixListener, path::PathBuf, thread};

use eval::{Attempt, AttemptCount, Effort, Solver, TaskContext, read_gist};
use serde_json::json;
use tools::{Interrupt, Limits, Network, Request, Status};

use crate::{
    outcome::Outcome,
    trajectory::Trajectory,
    writer::{TRAJECTORY, Writer},
};
use gateway::{Gateway, serve};

/// A solver that runs the user's program with the model and limits of a [`Writer`].
pub struct External {
    name: String,
    words: Vec<String>,
    readable: Vec<PathBuf>,
    writer: Writer,
}

const RELAY: &str = include_str!("relay.py");

impl External {
    /// Returns a solver that runs the command `words`. `{repo}`, `{task}` and `{output}` are replaced by the copy
    /// of the repository, the task in words, and the gist's path. `readable` are further paths that
    /// it may read.
    pub fn new(name: &str, words: Vec<String>, readable: Vec<PathBuf>, writer: Writer) -> Self {
        let name = format!("{name} {}", writer.model());
        Self { name, words, readable, writer }
    }

    /// The writer whose model it uses.
    pub fn writer(&self) -> &Writer {
        &self.writer
    }

    /// The command, for a plan.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The directories that it may read besides, for a plan.
    pub fn reads(&self) -> &[PathBuf] {
        &self.readable
    }

    fn try_attempt(&self, context: &TaskContext<'_>) -> Result<Attempt, String> {
        let text = |error: &dyn std::error::Error| error.to_string();
        let session = self.writer.session(context).map_err(|error| text(&error))?;
        let place = |name| session.workspace.directory(name).map_err(|error| text(&error));
        let copy = session.workspace.copy(&session.repository).map_err(|error| text(&error))?;
        let (scratch, output) = (place("home")?, place("output")?);
        let gist = output.join(tools::GIST_NAME);
        // Unix limits a socket's path to about 108 bytes, so it is directly below `/tmp`.
        let sockets = tempfile::Builder::new().prefix("gistify-gw").tempdir_in("/tmp");
        let sockets = sockets.map_err(|error| text(&error))?;
        let socket = sockets.path().join("s");
        let listener = UnixListener::bind(&socket).map_err(|error| text(&error))?;
        // The sandbox may run the program as another user, who must reach the socket.
        let shared = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(&socket, shared).map_err(|error| text(&error))?;
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(sockets.path(), open).map_err(|error| text(&error))?;
        let relay = scratch.join("relay.py");
        fs::write(&relay, RELAY).map_err(|error| text(&error))?;
        let values = json!({
            "repository": copy.to_string_lossy(),
            "command": session.command.to_string(),
            "output": gist.to_string_lossy(),
        });
        let task = self.writer.prompts().render("external.md", values);
        let task = task.map_err(|error| text(&error))?;
        let word = |word: &String| {
            word.replace("{repo}", &copy.to_string_lossy())
                .replace("{output}", &gist.to_string_lossy())
                .replace("{task}", &task)
        };
        let environment = &session.environment;
        let path = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let programs = environment.python.parent().map(path).unwrap_or_default();
        let env: BTreeMap<String, String> = [
            ("PATH", format!("{programs}:/usr/local/bin:/usr/bin:/bin")),
            ("HOME", path(&scratch)),
            ("TMPDIR", path(&scratch)),
            ("LANG", "C.UTF-8".to_owned()),
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
            // A placeholder for clients that require a key; the gateway checks none.
            ("OPENAI_API_KEY", "gateway".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let mut args: Vec<String> = vec![path(&relay), path(&socket)];
        args.extend(self.words.iter().map(word));
        let settings = self.writer.settings();
        let time = std::time::Duration::from_secs_f64(settings.session.seconds);
        let mut readable = environment.readable.clone();
        readable.extend(self.readable.iter().cloned());
        readable.extend([copy.clone(), scratch.clone(), output.clone()]);
        let request = Request {
            program: environment.python.clone(),
            args: args.into_iter().map(Into::into).collect(),
            cwd: copy.clone(),
            env,
            readable,
            writable: vec![copy, scratch, output, sockets.path().to_path_buf()],
            hidden: Vec::new(),
            network: Network::Loopback,
            limits: Limits { wall: time, cpu: time, ..context.limits },
        };

        let record = context.record.join(TRAJECTORY);
        let (model, _) = self.writer.open_model(context.record).map_err(|error| text(&error))?;
        let start = self.writer.start(&session, &*model);
        let trajectory = Trajectory::create(&record, start, Box::new(|_| {}));
        let spent = self.writer.spent();
        let gateway = Gateway {
            model,
            trajectory: trajectory.map_err(|error| text(&error))?,
            limits: &settings.session,
            spent: &spent,
            recorded: 0,
            refused: None,
        };
        let stop = Interrupt::new();
        let (finished, gateway) = thread::scope(|scope| {
            let stop = &stop;
            let served =
                thread::Builder::new().spawn_scoped(scope, move || serve(gateway, listener, stop));
            let finished = session.sandbox.run(&request);
            stop.trigger();
            let gateway = served.map(|served| served.join());
            (finished, gateway)
        });
        let finished = finished.map_err(|error| text(&error))?;
        let gateway = gateway.map_err(|error| text(&error))?;
        let mut gateway = gateway
            .map_err(|_| "the gateway panicked".to_owned())?
            .map_err(|error| text(&error))?;
        fs::write(context.record.join("stdout.txt"), &finished.stdout.bytes)
            .map_err(|e| text(&e))?;
        fs::write(context.record.join("stderr.txt"), &finished.stderr.bytes)
            .map_err(|e| text(&e))?;
        let outcome = match (gateway.refused.take(), finished.status) {
            (_, Status::Interrupted) => Outcome::Interrupted,
            (Some(refused), _) => refused,
            (None, Status::TimedOut) => Outcome::TimeLimit,
            (None, _) => Outcome::Submitted,
        };
        let end = gateway.trajectory.end(outcome).map_err(|error| text(&error))?;
        let told = match (&end.outcome, finished.status) {
            (Outcome::Submitted, Status::Exited(0)) => end.outcome.to_string(),
            (outcome, status) => format!("{outcome} ({})", status_words(status)),
        };
        let mut effort = self.writer.effort(&end, &session);
        effort.cpu_seconds = Some(finished.cpu.as_secs_f64());
        effort.wall_seconds = finished.wall.as_secs_f64();
        Ok(Attempt {
            gist: read_gist(&gist).map_err(|_| format!("no gist was written: {told}")),
            source_map: None,
            counts: match self.writer.is_infrastructure(&end.outcome) {
                true => AttemptCount::Infrastructure,
                false => AttemptCount::Scored,
            },
            outcome: told,
            trajectory: Some(record),
            effort,
            writer: eval::WriterAbilities { trace: false, execute: true },
            alone: None,
        })
    }
}

fn status_words(status: Status) -> String {
    match status {
        Status::Exited(code) => format!("exit code {code}"),
        Status::Signaled(signal) => format!("signal {signal}"),
        Status::TimedOut => "stopped by its time limit".to_owned(),
        Status::OutOfMemory => "stopped by its memory limit".to_owned(),
        Status::Interrupted => "interrupted".to_owned(),
    }
}

impl Solver for External {
    fn name(&self) -> &str {
        &self.name
    }

    fn attempt(&self, context: &TaskContext<'_>) -> Attempt {
        self.try_attempt(context).unwrap_or_else(|reason| Attempt {
            gist: Err(reason.clone()),
            source_map: None,
            outcome: reason,
            counts: AttemptCount::Infrastructure,
            trajectory: None,
            effort: Effort::default(),
            writer: eval::WriterAbilities { trace: false, execute: true },
            alone: None,
        })
    }
}
