//! `gistify completion`: a completion script on standard output.

use std::io;

use clap::Args;
use clap_complete::Shell;

use super::{Exit, Failure};

#[derive(Debug, Args)]
pub struct Completion {
    /// The shell.
    shell: Shell,
}

impl Completion {
    pub fn act(self) -> Result<Exit, Failure> {
        clap_complete::generate(self.shell, &mut super::command(), "gistify", &mut io::stdout());
        Ok(Exit::Success)
    }
}
