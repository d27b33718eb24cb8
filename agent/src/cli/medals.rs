//! `gistify medals`: results on competitions, as medals and shares.

use std::path::{Path, PathBuf};

use ::eval::{Competitions, medal_tables, read_competition_rows, write_tables};
use clap::Args;

use super::{
    Exit, Failure, OrExit, input_file::InputFile, surroundings::Surroundings, tables::Style,
};

/// The competitions of RepoMaster's MLE-R.
const MLE_R: &str = include_str!("../../../configs/competitions/mle-r.toml");

#[derive(Debug, Args)]
pub struct Medals {
    /// Results, one JSON object a line: competition, score (or null), valid; made and solver, where they are known.
    results: PathBuf,
    /// The competitions with their thresholds [default: the 22 of MLE-R].
    #[arg(long, value_name = "FILE")]
    competitions: Option<PathBuf>,
    /// Format of the tables.
    #[arg(long, value_enum, default_value = "text")]
    format: Style,
}

impl Medals {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let competitions = match &self.competitions {
            None => Competitions::parse("mle-r.toml", MLE_R),
            Some(path) => {
                Competitions::parse(&path.display().to_string(), &text("competitions", path)?)
            }
        };
        let competitions = competitions.or_exit(Exit::Input)?;
        let rows = read_competition_rows(&text("results", &self.results)?, &competitions);
        let rows = rows.map_err(|error| {
            let message = format!("read {}: {error}", self.results.display());
            Failure::new(Exit::Input, message)
        })?;
        let tables = medal_tables(&competitions, &rows);
        print!("{}", write_tables(&tables, self.format.format(around)));
        Ok(Exit::Success)
    }
}

fn text(what: &str, path: &Path) -> Result<String, Failure> {
    InputFile { what, path, hint: "see `gistify medals --help`" }.text()
}
