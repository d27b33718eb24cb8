//! `gistify why`: the chain of reasons for which a line is in a gist, or why it went, from a run's record.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ::eval::{SourceMap, read};
use clap::Args;
use graph::{
    GistLine, LineAnswer, LineFate, LineOrigin, Place, Plan, Recorded, Trace, known_files, why,
};
use serde_json::json;
use tools::{GIST_NAME, without_mark};

use super::{
    Exit, Failure, OrExit,
    explain::{place, unit},
    help::nearest,
    input_file::InputFile,
    progress::{ProgressLine, printable},
    surroundings::Surroundings,
};
use crate::writer::PLAN;

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub struct Why {
    /// The record of a run, or of an attempt of a bench [default: the newest run with a plan].
    #[arg(value_name = "RUN_DIR")]
    run: Option<PathBuf>,
    /// A line of the repository, or of the gist (concise.py:12).
    #[arg(value_name = "FILE:LINE", value_parser = file_line)]
    line: Place,
}

/// The parts of a run's record that have reasons.
struct RunReasons {
    directory: PathBuf,
    plan: Plan,
    lines: Vec<GistLine>,
    trace: Option<Trace>,
}

impl Why {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let directory = match self.run {
            Some(directory) => directory,
            None => {
                let newest = newest(&around.state.join("runs"), &self.line)?;
                ProgressLine::new(around.talk).line(&format!("record: {}", newest.display()));
                newest
            }
        };
        let reasons = RunReasons::read(directory)?;
        let line = match reasons.line_of_gist(&self.line) {
            None => reasons.known_place(&self.line)?,
            Some(line) => match &line.origin {
                LineOrigin::Source(place) => place.clone(),
                LineOrigin::Glue(reason) => {
                    let text = format!("{} of the gist is glue: {reason}", place(&self.line));
                    match around.json {
                        true => println!("{:#}", json!({ "place": self.line, "glue": reason })),
                        false => println!("{}", printable(&text)),
                    }
                    return Ok(Exit::Success);
                }
            },
        };
        let Some(answer) = why(reasons.recorded(), &line) else {
            return Err(reasons.behind(&line));
        };
        match around.json {
            true => println!("{:#}", serde_json::to_value(&answer).or_exit(Exit::Infrastructure)?),
            false => print!("{}", answer_text(&answer)),
        }
        Ok(Exit::Success)
    }
}

impl RunReasons {
    /// Reads the plan, the origins and, where there is one, the trace of a run.
    fn read(directory: PathBuf) -> Result<Self, Failure> {
        let path = directory.join(PLAN);
        if directory.is_dir() && !path.exists() {
            let message = format!(
                "{}: the record has no {PLAN}, so it has no reasons (a model or an older version wrote the gist)",
                directory.display()
            );
            return Err(Failure::new(Exit::Input, message));
        }
        let plan = read(&path).or_exit(Exit::Input)?;
        // Older benches wrote the map without a version.
        let map = fs::read_to_string(directory.join("source-map.json")).ok();
        let map = map.and_then(|text| serde_json::from_str::<SourceMap>(&text).ok());
        let lines = map.unwrap_or_default().lines;
        let path = directory.join("trace.json");
        let file = InputFile { what: "trace", path: &path, hint: "" };
        let trace = path.exists().then(|| file.json()).transpose()?;
        Ok(Self { directory, plan, lines, trace })
    }

    fn recorded(&self) -> Recorded<'_> {
        Recorded { plan: &self.plan, lines: &self.lines, trace: self.trace.as_ref() }
    }

    /// Returns the line of the gist that a place names: a file that is no file of the repository and has the gist's
    /// text, or its name in the record.
    fn line_of_gist(&self, line: &Place) -> Option<&GistLine> {
        if known_files(self.recorded()).any(|path| path == line.path) {
            return None;
        }
        let gist = fs::read_to_string(self.directory.join(GIST_NAME)).ok();
        let has_text =
            |gist| fs::read_to_string(&line.path).is_ok_and(|text| without_mark(&text) == gist);
        let is_gist = line.path == GIST_NAME || gist.is_some_and(has_text);
        let at = usize::try_from(line.line).ok()?.checked_sub(1)?;
        self.lines.get(at).filter(|_| is_gist)
    }

    /// Returns the line with the path that the record has for its file: the path itself, or the longest one that it
    /// ends in.
    fn known_place(&self, line: &Place) -> Result<Place, Failure> {
        if known_files(self.recorded()).any(|path| path == line.path) {
            return Ok(line.clone());
        }
        // From a folder of the repository, a path may lack the folders above it.
        let typed = std::path::absolute(&line.path).or_exit(Exit::Input)?;
        let paths = known_files(self.recorded()).filter(|path| typed.ends_with(path));
        match paths.max_by_key(|path| path.len()) {
            Some(path) => Ok(Place { path: path.to_owned(), line: line.line }),
            None => Err(self.unknown(&line.path)),
        }
    }

    fn behind(&self, line: &Place) -> Failure {
        let length = self.plan.lengths.get(&line.path).copied().unwrap_or_default();
        let message = format!("{}: the file has {length} lines", place(line));
        Failure::new(Exit::Input, message)
    }

    fn unknown(&self, path: &str) -> Failure {
        let near = nearest(path, known_files(self.recorded()));
        let hint = near.map(|known| format!(" (did you mean {known}?)")).unwrap_or_default();
        let message = format!(
            "{path}: by the record {}, the command executed nothing of such a file{hint}",
            self.directory.display()
        );
        Failure::new(Exit::Input, message)
    }
}

/// The newest record with a plan whose gist is the file of a line; for a file that is no gist, the newest of all. The names
/// of records begin with the time.
fn newest(runs: &Path, line: &Place) -> Result<PathBuf, Failure> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    let mut records: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.join(PLAN).exists() && path.join(GIST_NAME).exists())
        .collect();
    records.sort();
    let text = fs::read_to_string(&line.path).ok();
    let text = text.as_deref().map(without_mark);
    let is_of_line = |record: &&PathBuf| {
        text.is_some() && fs::read_to_string(record.join(GIST_NAME)).ok().as_deref() == text
    };
    let found = records.iter().rev().find(is_of_line).or(records.last());
    found.cloned().ok_or_else(|| {
        let message =
            format!("no run with a plan below {} (name a record before the line)", runs.display());
        Failure::new(Exit::Input, message)
    })
}

/// An answer as text: the fate of the line, and the chain of units below it.
fn answer_text(answer: &LineAnswer) -> String {
    let lines: Vec<String> = answer.gist_lines.iter().map(u32::to_string).collect();
    let fate = match answer.fate {
        LineFate::Kept => format!("is in the gist, line {}", lines.join(", ")),
        LineFate::Stub => "begins a method that was never called; the gist has it as a stub, since code may look it up".to_owned(),
        LineFate::UncalledMethod => {
            "begins a method that was never called, and no line of the gist looks it up".to_owned()
        }
        LineFate::UnitLeftOut => "was executed and is not in the gist".to_owned(),
        LineFate::NotNeeded => {
            "was executed and is not in the gist, although its block is: the gist behaves the same without it"
                .to_owned()
        }
        LineFate::NotExecuted => {
            "is not in the gist: no statement that begins there was executed".to_owned()
        }
        LineFate::Unknown => "is not in the gist (the record has no trace, so the reason is unknown)".to_owned(),
    };
    let mut text = format!("{} {fate}\n", place(&answer.place));
    for one in &answer.chain {
        text += &format!("  {}\n", unit(one));
    }
    printable(&text)
}

fn file_line(text: &str) -> Result<Place, String> {
    let wrong = || "not FILE:LINE, such as pkg/module.py:12".to_owned();
    let (path, line) = text.rsplit_once(':').ok_or_else(wrong)?;
    let line = line.parse().ok().filter(|line| *line > 0).ok_or_else(wrong)?;
    let path = path.strip_prefix("./").unwrap_or(path);
    if path.is_empty() { Err(wrong()) } else { Ok(Place { path: path.to_owned(), line }) }
}
