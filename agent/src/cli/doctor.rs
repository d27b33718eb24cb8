//! `gistify doctor`: reports the abilities of this machine, and the promises that hold here. It
//! changes nothing, and executes nothing but the interpreters themselves.

use clap::Args;
use serde::Serialize;
use tools::{Environment, Promise, find_interpreters};

use super::{Exit, Failure, OrExit, progress::printable, surroundings::Surroundings};
use crate::config::SandboxKind;

/// Exits with 0 where the sandbox of the settings, git and an interpreter are there, with 5 without the
/// sandbox and with 4 without the others.
#[derive(Debug, Args)]
pub struct Doctor {}

/// The result of the checks.
#[derive(Debug, Serialize)]
struct Report {
    /// The setting `sandbox.kind`.
    wanted: SandboxKind,
    sandboxes: Vec<SandboxCheck>,
    /// `None` where no sandbox can start them.
    interpreters: Option<Vec<Interpreter>>,
    git: Option<std::path::PathBuf>,
    uv: Option<std::path::PathBuf>,
}

/// One kind of sandbox.
#[derive(Debug, Serialize)]
struct SandboxCheck {
    kind: SandboxKind,
    /// The sandbox's name in records; `None` if it is not available.
    name: Option<&'static str>,
    promises: Vec<Promise>,
    /// The reason why it is not available.
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Interpreter {
    python: std::path::PathBuf,
    version: String,
    pytest: Option<String>,
}

impl Doctor {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let report = Report::of(around);
        if around.json {
            println!("{}", serde_json::to_string_pretty(&report).or_exit(Exit::Infrastructure)?);
        } else {
            print!("{}", printable(&report.text()));
        }
        Ok(report.exit())
    }
}

impl Report {
    fn of(around: &Surroundings) -> Self {
        let wanted = around.settings.sandbox.kind;
        let mut sandboxes = Vec::new();
        let mut usable = None;
        for kind in SandboxKind::ALL {
            if kind == SandboxKind::Local || kind == SandboxKind::None && wanted != kind {
                continue;
            }
            sandboxes.push(match around.sandbox_of(kind) {
                Ok(sandbox) => SandboxCheck {
                    kind,
                    name: Some(sandbox.name()),
                    promises: sandbox.promises(),
                    error: None,
                },
                Err(error) => SandboxCheck {
                    kind,
                    name: None,
                    promises: vec![],
                    error: Some(error.to_string()),
                },
            });
            if kind.serves(wanted) && usable.is_none() {
                usable = around.sandbox_of(kind).ok();
            }
        }
        let interpreters = usable.map(|sandbox| {
            let all = find_interpreters(&around.host).into_iter();
            let nowhere = std::path::Path::new("/nonexistent");
            let known = all.filter_map(|python| {
                let found = Environment::of_interpreter(&python, nowhere, &*sandbox).ok()?;
                let (major, minor, micro) = found.version;
                let version = format!("{major}.{minor}.{micro}");
                Some(Interpreter { python, version, pytest: found.pytest })
            });
            known.collect()
        });
        let (git, uv) = (around.host.find("git"), around.host.find("uv"));
        Self { wanted, sandboxes, interpreters, git, uv }
    }

    /// The sandbox that would be used.
    fn chosen(&self) -> Option<&SandboxCheck> {
        let mut can = self.sandboxes.iter().filter(|found| found.error.is_none());
        can.find(|found| found.kind.serves(self.wanted))
    }

    fn exit(&self) -> Exit {
        match &self.interpreters {
            None => Exit::Infrastructure,
            Some(found) if found.is_empty() || self.git.is_none() => Exit::Environment,
            Some(_) => Exit::Success,
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let chosen = self.chosen().map(|found| found.kind);
        for found in &self.sandboxes {
            let used = if Some(found.kind) == chosen { " (used)" } else { "" };
            match &found.error {
                Some(error) => text += &format!("sandbox {}: not available: {error}\n", found.kind),
                None => text += &format!("sandbox {}: available{used}\n", found.kind),
            }
            for promise in &found.promises {
                let holds = if promise.holds { "yes" } else { "no " };
                text += &format!("  {holds}  {}\n", promise.what);
            }
        }
        if chosen.is_none() {
            text += &format!("no command can run: the setting sandbox.kind is {}\n", self.wanted);
        }
        for found in self.interpreters.iter().flatten() {
            let pytest = found
                .pytest
                .as_ref()
                .map_or("without pytest".to_owned(), |version| format!("with pytest {version}"));
            text += &format!("python {} {}, {pytest}\n", found.version, found.python.display());
        }
        if self.interpreters.as_ref().is_some_and(Vec::is_empty) {
            text += "python: none (install python 3.9 or newer)\n";
        }
        match &self.git {
            Some(git) => text += &format!("git {}\n", git.display()),
            None => text += "git: none (install git)\n",
        }
        match &self.uv {
            Some(uv) => text += &format!("uv {}\n", uv.display()),
            None => text += "uv: none (pip is used, which is slower)\n",
        }
        text
    }
}
