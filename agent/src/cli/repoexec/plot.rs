//! `gistify repoexec plot`: verdicts as the paper's figures.

use std::path::PathBuf;

use ::eval::{Format, ModelFacts, SampleVerdict, figures, write_tables};
use clap::Args;
use serde::Deserialize;

use super::{
    super::{
        Exit, Failure, OrExit, destination::make_directory, flags::Flags, input_file::InputFile,
        progress::ProgressLine, surroundings::Surroundings,
    },
    rows,
};
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

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let progress = ProgressLine::new(around.talk);
        let hint = "a [[model]] with model, context, size and family for each";
        let models = self.models.as_ref().map(|path| InputFile { what: "models", path, hint });
        let models = models.map(|file| file.toml::<Models>()).transpose()?;
        let models = models.map(|models| models.model).unwrap_or_default();
        let verdicts = read(&self.verdicts, &progress)?;
        let made = figures(&verdicts, &read(&self.after, &progress)?, &models);
        make_directory(&self.output)?;
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

fn read(paths: &[PathBuf], progress: &ProgressLine) -> Result<Vec<SampleVerdict>, Failure> {
    let mut verdicts = Vec::new();
    for path in paths {
        verdicts.extend(rows::verdicts(path, progress)?);
    }
    Ok(verdicts)
}
