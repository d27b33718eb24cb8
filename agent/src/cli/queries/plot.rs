//! `gistify queries plot`: rates and tokens of verdicts by solver, as charts and as numbers.

use std::path::PathBuf;

use ::eval::{Format, query_figures, write_tables};
use clap::Args;

use super::{
    super::{Exit, Failure, OrExit, destination::make_directory},
    verdict_file::{VERDICTS, read_verdict_file},
};
use crate::record::replace;

#[derive(Debug, Args)]
pub struct PlotAnswers {
    /// Files of verdicts, or directories of `gistify queries solve`.
    #[arg(required = true, value_name = "VERDICTS")]
    verdicts: Vec<PathBuf>,
    /// The directory for the figures: SVG, and CSV with the numbers.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

impl PlotAnswers {
    pub fn act(self) -> Result<Exit, Failure> {
        let mut verdicts = Vec::new();
        for path in &self.verdicts {
            let path = if path.is_dir() { path.join(VERDICTS) } else { path.clone() };
            verdicts.append(&mut read_verdict_file(&path)?);
        }
        if verdicts.is_empty() {
            return Err(Failure::new(Exit::Input, "there is no verdict in these files"));
        }
        make_directory(&self.output)?;
        for figure in query_figures(&verdicts) {
            let path = self.output.join(format!("{}.svg", figure.name));
            replace(&path, figure.chart.as_bytes()).or_exit(Exit::Input)?;
            println!("{}", path.display());
            let numbers = write_tables(&[figure.table], Format::Csv);
            replace(&path.with_extension("csv"), numbers.as_bytes()).or_exit(Exit::Input)?;
        }
        Ok(Exit::Success)
    }
}
