//! From a gist that fails as its command does to one file that fails in the same way anywhere, and is as short as an
//! oracle lets it be.
//!
//! The oracle alone decides what is kept. All runs are alone: in an empty directory, with an ordinary shell's
//! environment, and with no other packages than those that the file needs.

mod alone;
mod bed;
mod oracle;
mod script;
mod search;
mod values;

use std::{collections::BTreeSet, path::PathBuf};

use graph::{
    DataFile, Gist, GistLine, Guard, LineOrigin, Place, Reach, Source, Trace, completed,
    imported_modules, with_data,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    command::{Command, CommandProgram, TestId},
    environment::Inventory,
    session::Session,
    tool::{Problem, ToolError},
};
use bed::{Bed, FileRun};
use oracle::Oracle;
use script::{ReproForm, headed, is_of_head};
use values::DecidingValues;

pub use alone::{Alone, alone, standalone};
pub use oracle::require_failure;
pub use script::ReproHead;

/// The part of a failure that a repro keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Same {
    /// The type of the exception, and the line that raises it.
    Type,
    /// Its message as well.
    #[default]
    Message,
    /// The exit code alone.
    Exit,
    /// The exit code and what is printed.
    Output,
}

/// The options of a repro.
#[derive(Debug, Clone, Default)]
pub struct ReproRequest {
    /// The part of the failure that has to stay.
    pub same: Same,
    /// A program that decides instead: it is given the file, and exits with 0 where that is of interest.
    pub oracle: Option<PathBuf>,
    /// The distributions that are part of the repository.
    pub inlined: BTreeSet<String>,
}

/// A file that reproduces a failure.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Repro {
    /// Its text, with its head.
    #[serde(skip)]
    pub text: String,
    /// Origins of its lines.
    #[serde(skip)]
    pub lines: Vec<GistLine>,
    /// The failure: type and message, or how the command ends.
    pub failure: String,
    /// The line of the repository that raises it.
    pub place: Option<Place>,
    /// The other tests that fail under the command, by their names: the file does not reproduce them.
    pub others: Vec<String>,
    /// Runs alone in which it failed in the same way.
    pub reproduced: usize,
    /// Runs alone.
    pub runs: usize,
    /// Seconds of these runs.
    pub confirming_seconds: f64,
    /// The end of the first run alone that failed in another way.
    pub otherwise: Option<String>,
    /// Files of the repository that it reads, and does not have in it.
    pub needs: Vec<String>,
    /// The packages that it imports, pinned.
    pub requires: Vec<String>,
    /// True if it needs pytest to run.
    pub pytest: bool,
    /// Lines of code before the reduction.
    pub before: usize,
    /// Proposals that were tried.
    pub tried: usize,
    /// True if nothing more can be removed.
    pub complete: bool,
    /// The reason why the search for a smaller file ended.
    pub ended: SearchEnd,
    /// Lines that say what was left out; they are among those that are not the original's.
    pub guards: usize,
    /// Lines that are not the original's.
    pub foreign: Vec<ReproForeignLine>,
    /// Lines of its head.
    #[serde(skip)]
    pub head: usize,
}

/// The end of the search for a smaller repro.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchEnd {
    /// Nothing more can be removed.
    Minimal,
    /// The gist does not fail as the command does when it runs alone, so that nothing could be tried.
    NoStart,
    /// The time limit of the session.
    TimeLimit,
    /// The user stopped it.
    Interrupted,
}

impl std::fmt::Display for SearchEnd {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Minimal => {
                "no statement can be removed any more (ends of blocks that were not executed stay)"
            }
            Self::NoStart => {
                "not started, as the gist does not fail in the same way in an empty directory"
            }
            Self::TimeLimit => {
                "stopped by its time limit, a longer search may remove more (--seconds)"
            }
            Self::Interrupted => "interrupted, a longer search may remove more",
        })
    }
}

impl Repro {
    /// Returns the verdict in one line: how often the file failed again, or why it was not run.
    pub fn headline(&self) -> String {
        let first = self.failure.lines().next().unwrap_or_default();
        match self.runs {
            0 => format!("not run again (interrupted): {first}"),
            runs => format!("reproduced in {} of {runs} runs: {first}", self.reproduced),
        }
    }
}

/// A line of a repro that is not a line of the repository.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReproForeignLine {
    /// Its 1-based number.
    pub line: usize,
    /// Its text.
    pub text: String,
    /// The line of the repository that it is made of; nothing for one that stands nowhere in it.
    pub made_of: Option<Place>,
}

/// Returns the number of lines that are not empty.
fn code_lines(text: &str) -> usize {
    text.lines().filter(|line| !line.trim().is_empty()).count()
}

/// Runs of the finished file.
const RUNS: usize = 3;

/// The name of the file while it is tried.
const NAME: &str = "repro.py";

/// Makes the gist that stands into a repro.
///
/// # Errors
/// There is no gist, the command does not fail, or a run cannot be made.
#[tracing::instrument(level = "debug", skip_all)]
pub fn reproduce(
    session: &mut Session,
    request: &ReproRequest,
    head: &ReproHead,
) -> Result<Repro, ToolError> {
    let Some(gist) = session.findings.gist.clone() else {
        return Err(Problem::NoGist.because("there is no gist to reduce"));
    };
    let oracle = Oracle::new(session, request)?;
    let mut work = Work::begin(session, &oracle, gist, request.inlined.clone())?;
    let prepared = work.prepare();
    if matches!(prepared, Err(Stop::Interrupted)) {
        work.take_data_untried()?;
    }
    // Whatever ends the search, what it came to until then is a repro.
    let ended = match prepared.and_then(|()| work.reduce()) {
        Ok(()) if work.holds => SearchEnd::Minimal,
        Ok(()) => SearchEnd::NoStart,
        Err(Stop::TimeLimit) => SearchEnd::TimeLimit,
        Err(Stop::Interrupted) => SearchEnd::Interrupted,
        Err(Stop::Unconfirmed) => unreachable!("each step ends by cold runs"),
        Err(Stop::Failed(error)) => return Err(error),
    };
    work.finish(head, ended)
}

/// Why a search ends before its end.
enum Stop {
    /// A cold run did not confirm what runs by fork said.
    Unconfirmed,
    TimeLimit,
    Interrupted,
    Failed(ToolError),
}

impl From<ToolError> for Stop {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

/// A repro in the making.
struct Work<'a> {
    session: &'a Session,
    oracle: &'a Oracle,
    inventory: Inventory,
    bed: Bed,
    /// Inlined packages that are installed nevertheless: the file reads their metadata, or another package imports them.
    installed: BTreeSet<String>,
    form: ReproForm,
    gist: Gist,
    /// The last gist that a cold run confirmed.
    confirmed: Gist,
    /// Proposals that were accepted since then.
    unconfirmed: usize,
    /// True while proposals are run by fork: no cold run has contradicted one.
    is_forking: bool,
    /// True at the end of the search, when only unlikely proposals are left.
    is_patient: bool,
    /// Names of the definitions that the command names.
    tests: Vec<String>,
    /// True if the gist fails in the same way alone.
    holds: bool,
    /// The values that decided its failure there.
    values: DecidingValues,
    otherwise: Option<String>,
    /// Files that it reads beside itself.
    needs: Vec<String>,
    before: usize,
    tried: usize,
}

impl<'a> Work<'a> {
    fn begin(
        session: &'a Session,
        oracle: &'a Oracle,
        gist: Gist,
        installed: BTreeSet<String>,
    ) -> Result<Self, ToolError> {
        let mut form = ReproForm::of(&session.command_without_plugins()?);
        let modules = imported_modules(&gist.text);
        let inventory = session
            .environment
            .inventory(&modules, &*session.sandbox)
            .map_err(|error| ToolError::Fatal(error.to_string()))?;
        // Until a run does without them, the file needs all.
        form.set_plugins(plugins_of(&inventory));
        let gist = form.prepared(&gist, &session.command);
        let before = code_lines(&gist.text);
        let tests: BTreeSet<String> = oracle
            .case()
            .into_iter()
            .chain(session.command.tests())
            .filter_map(|test| test.names.first().cloned())
            .collect();
        Ok(Self {
            session,
            oracle,
            bed: {
                let packages = &form.packages(&inventory, &gist, false) | &installed;
                Bed::new(session, &inventory, &packages)?.with_values(oracle.has_values())
            },
            installed,
            inventory,
            form,
            confirmed: gist.clone(),
            unconfirmed: 0,
            is_forking: true,
            is_patient: false,
            gist,
            tests: tests.into_iter().collect(),
            holds: false,
            values: DecidingValues::default(),
            otherwise: None,
            needs: Vec::new(),
            before,
            tried: 0,
        })
    }

    /// Runs the gist alone, and gives it what it needs there.
    fn prepare(&mut self) -> Result<(), Stop> {
        let gist = self.gist.clone();
        if let Some(otherwise) = self.starts_from(gist)? {
            self.otherwise = Some(otherwise);
            self.set_variables_first()?;
        }
        if !self.holds {
            self.configure()?;
        }
        if !self.holds {
            self.complete()?;
        }
        if !self.holds {
            self.take_data()?;
        }
        Ok(())
    }

    /// Leaves the variables of the command to the command line: the interpreter and pytest read some of them before any
    /// line of the file runs, such as `PYTHONHASHSEED`.
    fn set_variables_first(&mut self) -> Result<(), Stop> {
        let command = &self.session.command;
        let Some(gist) = &self.session.findings.gist else { return Ok(()) };
        if command.variables().is_empty() {
            return Ok(());
        }
        let form = self.form.with_variables(command);
        let gist = form.prepared(gist, command);
        let before = std::mem::replace(&mut self.form, form);
        if self.starts_from(gist)?.is_some() {
            self.form = before;
        }
        Ok(())
    }

    /// Gives pytest the repository's configuration as options.
    fn configure(&mut self) -> Result<(), Stop> {
        let configuration = self.session.configuration()?;
        if configuration.is_empty() || !self.form.is_pytest() {
            return Ok(());
        }
        let form = self.form.with_configuration(configuration);
        let before = std::mem::replace(&mut self.form, form);
        if self.starts_from(self.gist.clone())?.is_some() {
            self.form = before;
        }
        Ok(())
    }

    /// Runs a gist, and starts from it if it holds; returns the end of the run if it does not.
    fn starts_from(&mut self, gist: Gist) -> Result<Option<String>, Stop> {
        let run = self.bed.run(self.session, &gist, &self.form)?;
        if !self.fails_alike(&gist, &run)? {
            return Ok(Some(run.describe_end()));
        }
        // Another environment may have other values than the original's; the gist is faithful.
        self.values =
            self.oracle.decided_values(&gist, &run).map(DecidingValues::of).unwrap_or_default();
        (self.gist, self.holds, self.otherwise) = (gist, true, None);
        self.confirmed = self.gist.clone();
        if !self.values.is_empty() {
            // One line lower, each value that contains a line number of the file changes.
            let lower = lowered(&self.gist);
            let again = self.bed.run(self.session, &lower, &self.form)?;
            if again.interrupted() {
                return Err(Stop::Interrupted);
            }
            // A run that failed otherwise says nothing about the values.
            if let Some(values) = self.oracle.decided_values(&lower, &again) {
                self.values.widen(values);
            }
        }
        self.before = code_lines(&self.gist.text);
        Ok(None)
    }

    /// Runs the gist that was confirmed last once more. Returns true if other values decided its failure than before, such as a
    /// time of day. From then on any values are accepted in their place.
    fn widen_values(&mut self) -> Result<bool, Stop> {
        if self.values.is_empty() {
            return Ok(false);
        }
        let run = self.bed.run(self.session, &self.confirmed, &self.form)?;
        if run.interrupted() {
            return Err(Stop::Interrupted);
        }
        match self.oracle.decided_values(&self.confirmed, &run) {
            Some(values) if !values.is_empty() && !self.values.match_values(values) => {
                self.values.widen(values);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Returns true if a run of the finished file has the failure. The search took minutes, so that a time of day may differ only
    /// now: then the values are widened, and compared again.
    fn confirms_failure(&mut self, whole: &Gist, run: &FileRun) -> Result<bool, Stop> {
        let fails = self.fails_alike(whole, run)?;
        Ok(fails || self.widen_values()? && self.fails_alike(whole, run)?)
    }

    /// Puts back what did not run where the command was traced, and may run here.
    fn complete(&mut self) -> Result<(), Stop> {
        let longer = complete(self.session, &self.gist);
        if longer.text != self.gist.text {
            self.starts_from(longer)?;
        }
        Ok(())
    }

    /// Puts the data files into the gist that it reads in the repository's place, and finds out how it looks for them.
    fn take_data(&mut self) -> Result<(), Stop> {
        let found = data_files(self.session, &self.gist.text);
        if self.session.interrupt.is_triggered() {
            return Err(Stop::Interrupted);
        }
        let (files, larger) = found?;
        self.needs.extend(larger);
        if files.is_empty() {
            return Ok(());
        }
        let paths = files.iter().map(|file| file.path.clone());
        let path = self.session.gist_path();
        for reach in [Reach::File, Reach::Directory, Reach::Package] {
            let longer = with_data(&self.gist, &files, &path, reach);
            if self.starts_from(longer)?.is_none() {
                return Ok(());
            }
        }
        self.needs.extend(paths);
        Ok(())
    }

    /// Puts the data files that the traced command read into a gist whose preparation was interrupted: no run can tell
    /// any more if it needs them.
    fn take_data_untried(&mut self) -> Result<(), ToolError> {
        let Some(trace) = self.session.findings.trace.clone() else { return Ok(()) };
        let is_data = |path: &&String| !path.ends_with(".py") && !path.ends_with(".pyc");
        let paths = trace.data.iter().filter(is_data).cloned();
        let (files, larger) = contents(self.session, &trace, paths)?;
        self.needs = larger;
        if !files.is_empty() {
            self.gist = with_data(&self.gist, &files, &self.session.gist_path(), Reach::Package);
            self.before = code_lines(&self.gist.text);
        }
        Ok(())
    }

    fn time_left(&self) -> std::time::Duration {
        self.session.deadline.saturating_duration_since(self.session.interrupt.now())
    }

    /// Writes the head and runs the finished file, as a reader would.
    fn finish(mut self, head: &ReproHead, ended: SearchEnd) -> Result<Repro, ToolError> {
        let requires = self.inventory.pinned(&self.packages());
        let place = self.oracle.place().map(|place| format!(" ({}:{})", place.path, place.line));
        let expected = format!("{}{}", self.oracle.describe(), place.unwrap_or_default());
        let head = ReproHead { expected, requires: requires.clone(), ..head.clone() };
        let whole = headed(&self.form.with_main(&self.gist), &self.form, &head);
        let mut reproduced = 0;
        let mut runs = 0;
        let began = self.session.interrupt.now();
        if !self.session.interrupt.is_triggered() {
            self.renew_bed()?;
            for _ in 0..RUNS {
                let run = self.bed.run(self.session, &whole, &self.form)?;
                let as_program =
                    self.bed.runs_by_itself(self.session, &whole, self.oracle, &self.form)?;
                // A run that was cut short says nothing of the file.
                if self.session.interrupt.is_triggered() {
                    break;
                }
                let holds = match self.confirms_failure(&whole, &run) {
                    Ok(holds) => holds,
                    Err(Stop::Failed(error)) => return Err(error),
                    Err(_) => break,
                };
                runs += 1;
                if holds && as_program {
                    reproduced += 1;
                } else {
                    self.otherwise.get_or_insert_with(|| run.describe_end());
                }
            }
        }
        let confirming = self.session.interrupt.now().saturating_duration_since(began);
        let foreign =
            whole.text.lines().zip(&whole.lines).enumerate().filter_map(|(at, (text, line))| {
                let made_of = match &line.origin {
                    LineOrigin::Source(_) if !line.adapted => return None,
                    LineOrigin::Source(place) => Some(place.clone()),
                    LineOrigin::Glue(_) if text.trim().is_empty() => return None,
                    LineOrigin::Glue(_) => None,
                };
                Some(ReproForeignLine { line: at + 1, text: text.to_owned(), made_of })
            });
        Ok(Repro {
            guards: whole.text.lines().filter(|line| Guard::parse(line).is_some()).count(),
            head: whole.lines.iter().take_while(|line| is_of_head(line)).count(),
            foreign: foreign.collect(),
            failure: self.oracle.describe(),
            place: self.oracle.place().cloned(),
            others: self.oracle.others().to_vec(),
            reproduced,
            runs,
            confirming_seconds: confirming.as_secs_f64(),
            otherwise: self.otherwise,
            needs: self.needs,
            requires,
            pytest: self.form.is_pytest(),
            before: self.before,
            tried: self.tried,
            complete: ended == SearchEnd::Minimal,
            ended,
            lines: whole.lines,
            text: whole.text,
        })
    }
}

/// Returns a gist with a comment before its first line.
fn lowered(gist: &Gist) -> Gist {
    let origin = LineOrigin::Glue("another line number".to_owned());
    let mut lower = Gist { text: format!("#\n{}", gist.text), lines: gist.lines.clone() };
    lower.lines.insert(0, GistLine { origin, adapted: false });
    lower
}

/// A gist with the ends of blocks that the traced run did not execute.
fn complete(session: &Session, gist: &Gist) -> Gist {
    let Some(trace) = &session.findings.trace else { return gist.clone() };
    let root = &session.repository.root;
    let source = |path: &str| {
        let bytes = std::fs::read(root.join(path)).ok()?;
        Some(Source::decode(path, &bytes).ok()?.text().to_owned())
    };
    let ran = |path: &str, line: u32| {
        let file = trace.file(path);
        file.is_some_and(|file| {
            file.import_lines.binary_search(&line).is_ok()
                || file.test_lines.binary_search(&line).is_ok()
        })
    };
    completed(gist, &source, &ran)
}

/// The data files that a gist reads and may have in it, and the paths of those that are too large.
fn data_files(session: &Session, text: &str) -> Result<(Vec<DataFile>, Vec<String>), ToolError> {
    let Some(trace) = session.findings.trace.clone() else { return Ok(Default::default()) };
    let paths = session.data_read(&trace, text)?;
    contents(session, &trace, paths.into_iter())
}

/// The files of these paths that may be in a gist, and the paths of those that are too large.
fn contents(
    session: &Session,
    trace: &Trace,
    paths: impl Iterator<Item = String>,
) -> Result<(Vec<DataFile>, Vec<String>), ToolError> {
    let root = session.pristine(trace)?.directory.clone();
    let (mut files, mut larger) = (Vec::new(), Vec::new());
    for path in paths {
        let Ok(there) = root.join(&path).symlink_metadata() else { continue };
        match std::fs::read(root.join(&path)) {
            // It was listed, not read.
            _ if !there.is_file() => {}
            Ok(contents) if there.len() <= DataFile::LIMIT => {
                files.push(DataFile { path, contents });
            }
            _ => larger.push(path),
        }
    }
    Ok((files, larger))
}

/// The distributions of an environment that have plugins of pytest.
fn plugins_of(inventory: &Inventory) -> Vec<String> {
    let all = inventory.distributions().iter();
    let plugins = all.filter(|one| one.plugin && !one.editable && one.name != "pytest");
    plugins.map(|one| one.name.clone()).collect()
}

/// The test that a case of pytest belongs to.
fn test_of(case: &str) -> Option<TestId> {
    Some(TestId::parse(case)).filter(|id| !id.names.is_empty())
}

/// The options of a command: its arguments without the files and tests that it names.
fn options(command: &Command) -> Vec<String> {
    match command.program() {
        CommandProgram::Pytest | CommandProgram::PytestModule => command.options(),
        CommandProgram::Module(name) if name == "unittest" || name == "doctest" => {
            command.options()
        }
        CommandProgram::Module(_) | CommandProgram::Script(_) | CommandProgram::Console(_) => {
            command.args().to_vec()
        }
    }
}
