//! `gistify export`: a trajectory in a format that other programs read.

use std::path::PathBuf;

use clap::Args;

use super::{Exit, Failure, OrExit};
use crate::{atif::atif, trajectory::read_trajectory, writer::TRAJECTORY};

#[derive(Debug, Args)]
pub struct Export {
    /// A run's record, or its trajectory.
    #[arg(value_name = "RUN")]
    run: PathBuf,
}

impl Export {
    pub fn act(self) -> Result<Exit, Failure> {
        let path = if self.run.is_dir() { self.run.join(TRAJECTORY) } else { self.run };
        let records = read_trajectory(&path).or_exit(Exit::Input)?;
        let exported = atif(&records).ok_or_else(|| {
            let message = format!("read {}: it has no beginning", path.display());
            Failure::new(Exit::Input, message)
        })?;
        println!("{exported:#}");
        Ok(Exit::Success)
    }
}
