//! `gistify repoexec plot`: verdicts as the paper's figures.

use std::{fs, path::PathBuf};

use ::eval::{Format, ModelFacts, SampleVerdict, figures, read_verdicts, write_tables};
use clap::Args;
use serde::Deserialize;

use super::super::{Exit, Failure, OrExit, flags::Flags};
use crate::record::replace;

#[derive(Debug, Args)]
pub struct Plot {
    /// Files of verdicts of `gistify repoexec eval` or `debug`.
    #[arg(required = true, value_name = "VERDICTS")]
    verdicts: Vec<PathBuf>,
    /// Verdicts on the same generations by tests after coverage enhancement, for figure 5.
    #[arg(long, value_name = "VERDICTS")]
    after: Vec<PathBuf>,
    /// A file of models for figure 9: a `[[model]]` with model, context, size and family for each.
    #[arg(long, value_name = "FILE")]
    models: Option<PathBuf>,
    /// The directory for the figures: SVG, and CSV with the numbers.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

/// A file of models.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Models {
    model: Vec<ModelFacts>,
}

impl Plot {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        Flags::default()
    }

    pub fn act(self) -> Result<Exit, Failure> {
        let models = match &self.models {
            Some(path) => {
                let text = fs::read_to_string(path).or_exit(Exit::Input)?;
                toml::from_str::<Models>(&text).or_exit(Exit::Input)?.model
            }
            None => Vec::new(),
        };
        let made = figures(&read(&self.verdicts)?, &read(&self.after)?, &models);
        fs::create_dir_all(&self.output).or_exit(Exit::Input)?;
        for figure in made {
            let path = self.output.join(format!("{}.svg", figure.name));
            replace(&path, figure.chart.as_bytes()).or_exit(Exit::Input)?;
            println!("{}", path.display());
            let numbers = write_tables(&[figure.table], Format::Csv);
            replace(&path.with_extension("csv"), numbers.as_bytes()).or_exit(Exit::Input)?;
        }
        Ok(Exit::Success)
    }
}

fn read(paths: &[PathBuf]) -> Result<Vec<SampleVerdict>, Failure> {
    let mut verdicts = Vec::new();
    for path in paths {
        let text = fs::read_to_string(path).map_err(|error| {
            Failure::new(Exit::Input, format!("read {}: {error}", path.display()))
        })?;
        let (read, malformed) = read_verdicts(&text);
        if let Some(row) = malformed.first() {
            let message = format!("{}:{}: {}", path.display(), row.line, row.reason);
            return Err(Failure::new(Exit::Input, message));
        }
        verdicts.extend(read);
    }
    Ok(verdicts)
}
