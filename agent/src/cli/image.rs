//! `gistify image`: an image for the Docker sandbox, made of a repository's environment. No registry has a
//! part in it, and nothing of this machine but the environment and the system's programs.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{
    Exit, Failure, OrExit, flags::Flags, progress::ProgressLine, surroundings::Surroundings, target,
};

/// The image is in the engine that `--set sandbox.docker_host` or `DOCKER_HOST` names, and is chosen with
/// `--set sandbox.docker_image`.
#[derive(Debug, Args)]
pub struct Image {
    /// A directory, a git URL or path at a revision (PATH@REV, git+URL@REV), or pypi:NAME==VERSION.
    repository: String,
    /// The interpreter, or its version [default: the repository's own choice].
    #[arg(long, value_name = "PYTHON")]
    python: Option<String>,
    /// Requirements that pin a package's dependencies.
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
}

impl Image {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.text("--python", "environment.python", self.python.as_deref());
        flags.path("--lock", "environment.lock", self.lock.as_deref());
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let progress = ProgressLine::new(around.talk);
        let engine = around.docker("").or_exit(Exit::Infrastructure)?;
        progress.say(&format!("open {}", self.repository));
        let repository = around.repository(&self.repository, &engine, &progress)?;
        let wanted = target::Wanted::of_settings(around, &self.repository);
        let environment = target::environment(&repository, wanted, around, &engine, &progress)?;
        progress.say("make the image");
        let made = engine.make_image(&environment.readable, &around.scratch()?);
        progress.clear();
        let name = made.map_err(|error| around.stopped(error))?;
        if around.json {
            println!("{}", json!({ "image": name, "python": environment.python }));
        } else {
            println!("{name}");
            eprintln!("use it with --set sandbox.kind=docker --set sandbox.docker_image={name}");
        }
        Ok(Exit::Success)
    }
}
