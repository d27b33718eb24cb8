//! Decides if a run is of interest: the failure of the original, or whatever a program of the user's says.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use graph::{Gist, LineOrigin, Place, Trace};

use super::{
    NAME, ReproRequest, Same,
    bed::{Bed, FileRun},
    test_of,
    values::DecidingValues,
};
use crate::{
    command::TestId,
    execute::{DecidedFailure, Execution, Raised},
    pattern::Pattern,
    sandbox::{Network, Request, Status},
    session::Session,
    slice::{RunFailure, failures, place_in_original},
    tool::{Problem, ToolError},
};

/// The failure that a repro has to have.
pub(super) struct Oracle {
    same: Same,
    program: Option<PathBuf>,
    /// The first failure of the original.
    case: Option<TestId>,
    raised: Option<Raised>,
    /// The tests of all cases that fail, without their parameters and files.
    failed: BTreeSet<Vec<String>>,
    /// The cases that fail besides the first.
    others: Vec<String>,
    /// The exception, and those that its traceback shows besides.
    links: Vec<RaisedLink>,
    status: Status,
    /// The first line that pytest added to the message of a failed assertion: the values compared.
    explanation: Option<Pattern>,
    /// The last line that is printed, which is the message of a program that exits without an exception.
    last_line: Pattern,
    /// The same, as the original prints it.
    original_last_line: String,
    /// True if that is on the error stream.
    is_on_stderr: bool,
    stdout: Pattern,
    stderr: Pattern,
    is_pytest: bool,
}

/// Traces the command, and fails if it has no failure to reproduce.
///
/// # Errors
/// The command passes and nothing but its failure was to be kept, or it cannot be run.
pub fn require_failure(session: &mut Session, request: &ReproRequest) -> Result<(), ToolError> {
    let (original, _) = session.traced()?;
    let is_needed = request.oracle.is_none() && request.same != Same::Output;
    if is_needed && failures(&original).is_empty() {
        let why = "the command does not fail (`gistify run` writes the gist of one that passes; a command sees \
                       no variables of your shell and the time zone UTC: what it needs stands before it, as in \
                       `-- TZ=Asia/Tokyo pytest tests/test_a.py`)";
        return Err(Problem::Failed.because(why));
    }
    Ok(())
}

/// Returns the tests of failures besides that of the first, by their names in their file. Tests of one name in two files
/// count once.
fn other_cases(found: &[RunFailure<'_>]) -> Vec<String> {
    let first = found.first().map_or("", |failure| failure.case);
    let mut others: Vec<String> = Vec::new();
    for failure in found.iter().filter(|failure| failure.case != first) {
        let Some((_, names)) = failure.case.split_once("::") else { continue };
        if !others.iter().any(|known| known == names) {
            others.push(names.to_owned());
        }
    }
    others
}

impl Oracle {
    /// The oracle of the original's failure; the original runs once more, to see what of it varies.
    pub(super) fn new(session: &mut Session, request: &ReproRequest) -> Result<Self, ToolError> {
        require_failure(session, request)?;
        let (original, trace) = session.traced()?;
        let again = session.once_more()?;
        let found = failures(&original);
        let others = failures(&again);
        let first = found.first();
        let raised = first.and_then(|first| first.raised.as_deref()).cloned();
        let other = others.first().and_then(|other| other.raised.as_deref());
        let is_on_stderr = !original.stderr.trim().is_empty();
        Ok(Self {
            same: request.same,
            program: request.oracle.clone(),
            case: first.and_then(|first| test_of(first.case)),
            failed: found
                .iter()
                .chain(&others)
                .filter_map(|one| test_of(one.case))
                .map(|id| id.names)
                .collect(),
            others: other_cases(&found),
            links: raised.as_ref().map_or_else(Vec::new, |raised| links(raised, other, &trace)),
            explanation: raised
                .as_ref()
                .and_then(explanation)
                .map(|line| Pattern::of([line].into_iter().chain(other.and_then(explanation)))),
            last_line: Pattern::of([
                last_line(&original, is_on_stderr),
                last_line(&again, is_on_stderr),
            ]),
            original_last_line: last_line(&original, is_on_stderr).to_owned(),
            is_on_stderr,
            status: original.status,
            stdout: Pattern::of([original.stdout.as_str(), again.stdout.as_str()]),
            stderr: Pattern::of([original.stderr.as_str(), again.stderr.as_str()]),
            is_pytest: session.command.is_pytest(),
            raised,
        })
    }

    /// The tests that fail besides the first.
    pub(super) fn others(&self) -> &[String] {
        &self.others
    }

    /// The test that fails.
    pub(super) fn case(&self) -> Option<TestId> {
        self.case.clone()
    }

    /// The line that raises.
    pub(super) fn place(&self) -> Option<&Place> {
        self.links.first()?.place.as_ref()
    }

    /// The type of what is raised.
    pub(super) fn kind(&self) -> Option<&str> {
        self.raised.as_ref().map(|raised| raised.kind.as_str())
    }

    /// The failure in words.
    pub(super) fn describe(&self) -> String {
        match &self.raised {
            Some(raised) if raised.message.is_empty() => raised.kind.clone(),
            Some(raised) => format!("{}: {}", raised.kind, raised.message),
            None if self.same == Same::Message && !self.original_last_line.is_empty() => {
                format!("{}: {}", self.status.describe(), self.original_last_line)
            }
            None => self.status.describe(),
        }
    }

    /// Returns true if a program of the user's decides.
    pub(super) fn has_user_program(&self) -> bool {
        self.program.is_some()
    }

    /// Returns the answer of the user's program about a file; `None` where there is no such program.
    pub(super) fn run_user_program(
        &self,
        session: &Session,
        bed: &Bed,
        gist: &Gist,
    ) -> Result<Option<bool>, ToolError> {
        let Some(program) = &self.program else { return Ok(None) };
        self.asks(program, session, bed, &gist.text).map(Some)
    }

    /// Returns true if a run of a gist has the original's failure, decided by these values.
    pub(super) fn holds(&self, gist: &Gist, run: &FileRun, values: &DecidingValues) -> bool {
        let found = failures(&run.execution);
        let raw = failures(&run.raw);
        match self.same {
            Same::Exit => run.execution.status == self.status,
            Same::Output => {
                let is_its = found.is_empty()
                    || found.iter().zip(&raw).any(|(one, raw)| {
                        self.fits(one.raised.as_deref(), raw.raised.as_deref(), gist)
                            && values.match_values(values_of(&run.execution, one))
                    });
                run.execution.status == self.status
                    && (self.is_pytest || self.stderr.matches(&run.execution.stderr))
                    && (self.is_pytest || self.stdout.matches(&run.execution.stdout))
                    && is_its
            }
            // A case that failed nowhere else is a fault of the gist, and the first one that its reader sees.
            Same::Type | Same::Message if found.iter().any(|one| !self.is_failed(one.case)) => {
                false
            }
            Same::Type | Same::Message => found.iter().zip(&raw).any(|(one, raw)| {
                self.fits(one.raised.as_deref(), raw.raised.as_deref(), gist)
                    && (one.raised.is_some() || self.has_same_exit(&run.execution))
                    && values.match_values(values_of(&run.execution, one))
            }),
        }
    }

    /// Returns the values that decided the original's failure in a run of a gist; `None` if it has another failure, or none.
    pub(super) fn decided_values<'r>(&self, gist: &Gist, run: &'r FileRun) -> Option<&'r [String]> {
        let (found, raw) = (failures(&run.execution), failures(&run.raw));
        let mut pairs = found.iter().zip(&raw);
        let (its, _) = pairs
            .find(|(one, raw)| self.fits(one.raised.as_deref(), raw.raised.as_deref(), gist))?;
        Some(values_of(&run.execution, its))
    }

    /// Returns true if a run without an exception has the original's exit code, and its last line as well if the message
    /// counts.
    fn has_same_exit(&self, run: &Execution) -> bool {
        let says_it = self.same == Same::Type
            || self.is_pytest
            || self.last_line.matches(last_line(run, self.is_on_stderr));
        run.status == self.status && says_it
    }

    /// Returns true if a case is one that fails in the original as well, or no case of pytest.
    fn is_failed(&self, case: &str) -> bool {
        test_of(case).is_none_or(|id| self.failed.contains(&id.names))
    }

    /// Returns true if the values that decide a failure are a part of it.
    pub(super) fn has_values(&self) -> bool {
        self.program.is_none() && self.same != Same::Type && self.same != Same::Exit
    }

    fn fits(&self, found: Option<&Raised>, raw: Option<&Raised>, gist: &Gist) -> bool {
        let (found, first) = match (self.links.first(), found) {
            (Some(first), Some(found)) => (found, first),
            (None, None) => return true,
            _ => return false,
        };
        // Without pytest there is no explanation.
        let explains = match (&self.explanation, explanation(found)) {
            (Some(wanted), Some(line)) => wanted.matches(line),
            _ => true,
        };
        // A printed traceback of the original has no lines left once it is normalised.
        let raw = raw.unwrap_or(found);
        if self.same == Same::Type {
            return first.has_type(found) && first.has_place(raw, gist);
        }
        let is_shown = || {
            let others = self.links[1..].iter().zip(&found.shown).zip(&raw.shown);
            self.links.len() == found.shown.len() + 1
                && others.into_iter().all(|((link, found), raw)| link.fits(found, raw, gist))
        };
        explains && first.fits(found, raw, gist) && is_shown()
    }

    /// Asks a program of the user's.
    fn asks(
        &self,
        program: &Path,
        session: &Session,
        bed: &Bed,
        text: &str,
    ) -> Result<bool, ToolError> {
        let directory = session.workspace.directory("oracle")?;
        let file = directory.join(NAME);
        fs::write(&file, text).map_err(|error| ToolError::Fatal(error.to_string()))?;
        let mut readable = bed.environment().readable.clone();
        readable.extend([program.to_path_buf(), directory.clone()]);
        let path = bed.environment().python.parent().map(|bin| bin.to_string_lossy().into_owned());
        let request = Request {
            program: program.to_path_buf(),
            args: vec![OsString::from(&file)],
            cwd: directory.clone(),
            env: BTreeMap::from([
                (
                    "PATH".to_owned(),
                    format!("{}:/usr/local/bin:/usr/bin:/bin", path.unwrap_or_default()),
                ),
                ("HOME".to_owned(), directory.to_string_lossy().into_owned()),
                ("LANG".to_owned(), "C.UTF-8".to_owned()),
                ("TERM".to_owned(), "xterm-256color".to_owned()),
            ]),
            readable,
            writable: vec![directory.clone()],
            hidden: Vec::new(),
            network: Network::Loopback,
            limits: session.limits(),
        };
        let finished = session.sandbox.run(&request);
        session.workspace.discard(&directory);
        let finished = finished.map_err(|error| ToolError::Fatal(error.to_string()))?;
        Ok(finished.status == Status::Exited(0))
    }
}

/// An exception that a repro has to raise.
struct RaisedLink {
    kind: String,
    module: String,
    /// Its message, but for what varies between two runs.
    message: Pattern,
    /// The line of the repository that raises it.
    place: Option<Place>,
}

impl RaisedLink {
    fn fits(&self, found: &Raised, raw: &Raised, gist: &Gist) -> bool {
        self.has_type(found)
            && self.message.matches(found.own_message())
            && self.has_place(raw, gist)
    }

    fn has_type(&self, found: &Raised) -> bool {
        self.kind == found.kind && self.module == found.module
    }

    fn has_place(&self, raw: &Raised, gist: &Gist) -> bool {
        self.place.is_none() || self.place == place_of(raw, gist)
    }
}

/// Returns an exception and those that its traceback shows besides, the first one first. `again` is the same exception of
/// another run.
fn links(raised: &Raised, again: Option<&Raised>, trace: &Trace) -> Vec<RaisedLink> {
    let link = |one: &Raised, other: Option<&Raised>| RaisedLink {
        kind: one.kind.clone(),
        module: one.module.clone(),
        message: Pattern::of([one.own_message()].into_iter().chain(other.map(Raised::own_message))),
        place: place_in_original(one, trace),
    };
    let shown = raised.shown.iter().enumerate();
    let shown = shown.map(|(at, one)| link(one, again.and_then(|again| again.shown.get(at))));
    [link(raised, again)].into_iter().chain(shown).collect()
}

/// Returns the values that decided a failure of a run; none where nothing recorded them.
fn values_of<'a>(run: &'a Execution, failure: &RunFailure<'_>) -> &'a [String] {
    let its = |values: &&DecidedFailure| values.case == failure.case && values.when == failure.when;
    run.decided.iter().find(its).map_or(&[][..], |decided| &decided.values)
}

/// Returns the last line that a run prints on one of its streams.
fn last_line(run: &Execution, is_on_stderr: bool) -> &str {
    let stream = if is_on_stderr { &run.stderr } else { &run.stdout };
    stream.trim_end().lines().next_back().unwrap_or_default().trim()
}

/// Returns the first line of the explanation that pytest adds to a failed assertion: `assert 120 == 121`.
fn explanation(raised: &Raised) -> Option<&str> {
    let added = raised.message[raised.own_message().len()..].trim_start_matches('\n');
    added.lines().next().filter(|_| raised.kind == "AssertionError")
}

/// The line of the repository that raised an error of a repro.
fn place_of(raised: &Raised, gist: &Gist) -> Option<Place> {
    raised.frames.iter().rev().find_map(|(file, line, _)| {
        if !(file == NAME || file.ends_with(&format!("/{NAME}"))) {
            return None;
        }
        match &gist.lines.get((*line as usize).checked_sub(1)?)?.origin {
            LineOrigin::Source(place) => Some(place.clone()),
            LineOrigin::Glue(_) => None,
        }
    })
}
