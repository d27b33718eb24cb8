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
    /// Results, one JSON object a line: competition, score (or null), valid; made, tokens and solver, where they are known.
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
                let text = input("competitions", path).text()?;
                Competitions::parse(&path.display().to_string(), &text)
            }
        };
        let competitions = competitions.or_exit(Exit::Input)?;
        let rows = input("results", &self.results)
            .all_rows(|text| read_competition_rows(text, &competitions))?;
        let tables = medal_tables(&competitions, &rows);
        print!("{}", write_tables(&tables, self.format.format(around)));
        Ok(Exit::Success)
    }
}

fn input<'a>(what: &'a str, path: &'a Path) -> InputFile<'a> {
    InputFile { what, path, hint: "see `gistify medals --help`" }
}
