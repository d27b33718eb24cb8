//! `gistify man`: the manual page, as roff on standard output.

use clap::Args;

use super::{Exit, Failure, OrExit};

#[derive(Debug, Args)]
pub struct Man {
    /// The subcommand that it describes; left out, the whole program.
    subcommand: Option<String>,
}

impl Man {
    pub fn act(self) -> Result<Exit, Failure> {
        let mut command = super::command();
        command.build();
        if let Some(name) = self.subcommand {
            command = command
                .find_subcommand(&name)
                .cloned()
                .ok_or_else(|| Failure::new(Exit::Usage, format!("no subcommand {name:?}")))?;
        }
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).or_exit(Exit::Infrastructure)?;
        print!("{}", String::from_utf8_lossy(&page));
        Ok(Exit::Success)
    }
}
