//! `gistify completion`: a completion script on standard output.

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
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::command(), "gistify", &mut script);
        print!("{}", String::from_utf8_lossy(&script));
        Ok(Exit::Success)
    }
}
