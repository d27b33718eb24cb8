//! `gistify export`: a run in a format that other programs read.

mod harbor;
mod open_env;
mod swe_bench;
mod tasks;

use std::{
    io::{Cursor, Write},
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use serde_json::Value;
use zip::{ZipWriter, write::SimpleFileOptions};

use self::tasks::{TaskExport, TaskLayout};
use super::{
    Exit, Failure, OrExit, destination::check_file, input_file::InputFile,
    surroundings::Surroundings,
};
use crate::{
    atif::atif,
    inspect::inspect_log,
    record::replace,
    trajectory::{TrajectoryRecord, read_trajectory},
    writer::TRAJECTORY,
};

#[derive(Debug, Args)]
pub struct ExportCommand {
    /// A run's record, or its trajectory.
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// The format.
    #[arg(long, value_enum, default_value_t = ExportFormat::Atif)]
    format: ExportFormat,
    /// File to write, which is replaced where it exists [default: standard output]; for tasks a directory, which has to
    /// be empty.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// For tasks, an interpreter with the packages that the gist needs [default: an environment
    /// with the packages that the gist's head names].
    #[arg(long, value_name = "PYTHON")]
    python: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// The Agent Trajectory Interchange Format, JSON.
    Atif,
    /// A log of Inspect with one sample and its scores; the file's name has to end in `.eval` for its readers.
    Inspect,
    /// Directories of Harbor tasks: one for each function whose removal changes the result of the gist. The run was made
    /// with --standalone.
    Harbor,
    /// The same tasks as one environment of OpenEnv, whose server judges answers.
    #[value(name = "openenv")]
    OpenEnv,
    /// The same tasks as a task repository of SWE-bench 5.
    SweBench,
}

impl ExportCommand {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let layout: TaskLayout = match self.format {
            ExportFormat::Atif | ExportFormat::Inspect => return self.export_trajectory(),
            ExportFormat::Harbor => harbor::files,
            ExportFormat::OpenEnv => open_env::files,
            ExportFormat::SweBench => swe_bench::files,
        };
        let (output, python) = (self.require_output()?, self.python.as_deref());
        TaskExport { run: &self.run, output, python, layout }.act(around)
    }

    /// Returns the path of `--output`, without which only the default format can be written.
    fn require_output(&self) -> Result<&Path, Failure> {
        let message = "give the output of this format with --output";
        self.output.as_deref().ok_or_else(|| Failure::new(Exit::Usage, message))
    }

    fn export_trajectory(&self) -> Result<Exit, Failure> {
        if self.python.is_some() {
            let message = "--python is of use with the formats of tasks alone";
            return Err(Failure::new(Exit::Usage, message));
        }
        self.output.as_deref().map_or(Ok(()), |path| check_file(path, true))?;
        let path = if self.run.is_dir() { self.run.join(TRAJECTORY) } else { self.run.clone() };
        let records = read_trajectory(&path).or_exit(Exit::Input)?;
        let exported = if self.format == ExportFormat::Inspect {
            self.require_output()?;
            inspect_archive(&records, &path)?
        } else {
            atif(&records).map(|value| format!("{value:#}\n").into_bytes())
        };
        let exported = exported.ok_or_else(|| {
            let message = format!(
                "read trajectory {}: it has no start (give the directory that a run prints as its record)",
                path.display()
            );
            Failure::new(Exit::Input, message)
        })?;
        match &self.output {
            Some(output) => replace(output, &exported).or_exit(Exit::Infrastructure)?,
            None => std::io::stdout().write_all(&exported).or_exit(Exit::Infrastructure)?,
        }
        Ok(Exit::Success)
    }
}

/// Returns a log of Inspect, with the scores that lie beside a trajectory.
fn inspect_archive(
    records: &[TrajectoryRecord],
    trajectory: &Path,
) -> Result<Option<Vec<u8>>, Failure> {
    let path = trajectory.with_file_name("scores.json");
    let file = InputFile { what: "scores", path: &path, hint: "" };
    let scores: Option<Value> = path.exists().then(|| file.json()).transpose()?;
    let Some(members) = inspect_log(records, scores.as_ref()) else { return Ok(None) };
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, value) in members {
        // The time of an entry is none, so that the same run gives the same bytes.
        let options = SimpleFileOptions::default().last_modified_time(zip::DateTime::default());
        archive.start_file(name, options).or_exit(Exit::Infrastructure)?;
        archive.write_all(value.to_string().as_bytes()).or_exit(Exit::Infrastructure)?;
    }
    let written = archive.finish().or_exit(Exit::Infrastructure)?;
    Ok(Some(written.into_inner()))
}
