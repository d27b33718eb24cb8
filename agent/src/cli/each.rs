//! `gistify run --each`: a gist for each test of a command, from shared copies, environments and processes.
//!
//! It owns the order of the work, the index and the summary. Each gist is written as that of a single run is, but its
//! runs are forks of waiting processes, and a cold run decides. It judges nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use ::eval::{Task, TaskContext};
use clap::ValueEnum;
use graph::Graph;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::{CaseReport, Forks, Session, TestId, ToolError, Workspace};

use super::{
    Exit, Failure, OrExit,
    formats::Printed,
    progress::{ProgressLine, printable},
    run::{write_gist, write_reasons},
    surroundings::Surroundings,
    target::{OpenedTarget, TargetFlags},
};
use crate::{
    outcome::Outcome,
    record::{RunDirectory, replace},
    writer::{TRAJECTORY, Writer},
};

/// The directory for gists where none is named.
pub const DIRECTORY: &str = "gists";
/// The name of the index in it.
const INDEX: &str = "index.jsonl";
/// The directory of the records in it.
const RECORDS: &str = "records";
/// Version of the index.
const VERSION: u32 = 1;

/// The tests that get a gist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EachSelection {
    /// All that the command runs.
    All,
    /// The tests with a case that fails.
    Failed,
}

/// A command of whose tests each gets a gist.
pub struct Each<'a> {
    /// The repository and the command.
    pub target: &'a TargetFlags,
    /// The tests.
    pub selection: EachSelection,
    /// The directory for gists, index and records.
    pub directory: PathBuf,
    /// Replace the gists of another command.
    pub force: bool,
}

/// The first line of an index: the work that its rows are of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IndexHead {
    #[schemars(extend("const" = VERSION))]
    version: u32,
    gistify: String,
    repository: String,
    fingerprint: String,
    command: String,
    python: String,
    model: String,
}

/// The gist of one test: a line of an index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EachRow {
    /// Its node id, without parameters.
    test: String,
    /// The command of the gist's run on the original.
    command: String,
    outcome: EachOutcome,
    /// The gist's file in the directory.
    gist: Option<String>,
    /// The record's directory in the directory.
    record: String,
    /// Cases that the test has.
    cases: usize,
    /// Lines of the gist.
    lines: usize,
    /// Runs that were made by fork.
    forked: usize,
    /// Sentences that a reader has to know.
    notes: Vec<String>,
    /// Wall-clock seconds of everything.
    seconds: f64,
}

/// A line of an index.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "its schema is all that is asked of it")]
pub enum EachLine {
    /// The first.
    Head(IndexHead),
    /// Any other.
    Row(EachRow),
}

/// The result of all tests as JSON.
#[derive(Serialize, JsonSchema)]
pub struct EachOutput<'a> {
    tests: usize,
    same: usize,
    different: usize,
    none: usize,
    /// Gists that this run made.
    made: usize,
    seconds: f64,
    index: &'a Path,
    rows: &'a [EachRow],
}

/// The result for one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum EachOutcome {
    /// A cold run of the gist does what the test alone does on the original.
    Same,
    /// It does not.
    Different,
    /// There is no gist.
    None,
}

/// A test of the whole command, with its cases' outcomes there.
struct Listed {
    id: String,
    /// A name for files.
    name: String,
    cases: CaseOutcomes,
}

/// The outcomes of the phases of each case, in the order in which they ran.
type CaseOutcomes = Vec<Vec<String>>;

/// The state that a worker hands on from one test to the next.
#[derive(Default)]
struct Handed {
    workspace: Option<Workspace>,
    forks: Option<Forks>,
    graph: Option<Arc<Graph>>,
}

/// The parts that all workers share.
struct Work<'a> {
    around: &'a Surroundings,
    opened: &'a OpenedTarget,
    writer: &'a Writer,
    directory: &'a Path,
}

impl Each<'_> {
    /// Writes the gists and prints a summary.
    pub fn act(self, around: &Surroundings, printed: Printed) -> Result<Exit, Failure> {
        if matches!(printed, Printed::Checked(_)) {
            let message = "--each has no --output-format of that kind (full or json)";
            return Err(Failure::new(Exit::Usage, message));
        }
        let began = Instant::now();
        let sandbox = around.sandbox()?;
        let writer = Writer::for_gists(around.settings.clone(), sandbox.clone(), &around.access())
            .or_exit(Exit::Usage)?;
        let progress = ProgressLine::new(around.talk);
        let opened = self.target.open(around, sandbox, &progress, &[&self.directory])?;
        if !opened.command.is_pytest() {
            let message = format!("--each needs a command of pytest, not {}", opened.command);
            return Err(Failure::new(Exit::Input, message));
        }
        let head = IndexHead {
            version: VERSION,
            gistify: env!("CARGO_PKG_VERSION").to_owned(),
            repository: opened.repository.label.clone(),
            fingerprint: opened.repository.fingerprint.clone(),
            command: opened.command.to_string(),
            python: opened.environment.python.display().to_string(),
            model: writer.model().to_owned(),
        };
        let (mut index, done) = self.index(&head)?;
        let work = Work { around, opened: &opened, writer: &writer, directory: &self.directory };
        progress.say("run the whole command");
        let listed = work.list(self.selection, &progress);
        progress.clear();
        let mut listed = listed?;
        let all = listed.len();
        let ids: BTreeSet<&str> = listed.iter().map(|test| test.id.as_str()).collect();
        let rows: Vec<EachRow> =
            done.into_iter().filter(|row| ids.contains(row.test.as_str())).collect();
        let taken: BTreeSet<&str> = rows.iter().map(|row| row.test.as_str()).collect();
        listed.retain(|test| !taken.contains(test.id.as_str()));
        if !rows.is_empty() {
            progress.line(&format!("{} of {all} tests have a gist already", rows.len()));
        }
        let taken = rows.len();
        let rows = work.write_all(&listed, rows, &mut index, &progress)?;
        let seconds = began.elapsed().as_secs_f64();
        self.tell(&rows, all, (rows.len() - taken, seconds), printed)?;
        if rows.len() < all {
            let message = format!(
                "interrupted with {} of {all} tests left (the same command goes on)",
                all - rows.len()
            );
            return Err(Failure::new(Exit::Interrupted, message));
        }
        Ok(match rows.iter().all(|row| row.outcome == EachOutcome::Same) {
            true => Exit::Success,
            false => Exit::NotFaithful,
        })
    }

    /// Opens the index of the directory, or begins one. Returns the rows that it has.
    fn index(&self, head: &IndexHead) -> Result<(File, Vec<EachRow>), Failure> {
        let path = self.directory.join(INDEX);
        let refused = |why: String| {
            let message = format!("use directory {}: {why}", self.directory.display());
            Failure::new(Exit::Input, message)
        };
        fs::create_dir_all(&self.directory).map_err(|error| refused(error.to_string()))?;
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut lines = text.lines();
        let known = lines.next().map(serde_json::from_str::<IndexHead>);
        let rows = match known {
            Some(Ok(known)) if known == *head => {
                // A line that was being written when the program was killed is none.
                lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
            }
            Some(_) if !self.force => {
                let why =
                    "it has gists of another command, state or version (replace them with --force)";
                return Err(refused(why.to_owned()));
            }
            None if !self.force && has_files(&self.directory) => {
                return Err(refused("it has other files (name another, or --force)".to_owned()));
            }
            _ => Vec::new(),
        };
        // Written anew, so that the next row begins a line.
        let mut whole = line(head)?;
        for row in &rows {
            whole += &line::<EachRow>(row)?;
        }
        replace(&path, whole.as_bytes()).or_exit(Exit::Infrastructure)?;
        let file = OpenOptions::new().append(true).open(&path).or_exit(Exit::Infrastructure)?;
        Ok((file, rows))
    }

    /// Prints the summary.
    fn tell(
        &self,
        rows: &[EachRow],
        all: usize,
        (made, seconds): (usize, f64),
        printed: Printed,
    ) -> Result<(), Failure> {
        let count = |outcome| rows.iter().filter(|row| row.outcome == outcome).count();
        let (same, different) = (count(EachOutcome::Same), count(EachOutcome::Different));
        let none = count(EachOutcome::None);
        let rate = made as f64 * 60.0 / seconds.max(1e-6);
        let index = self.directory.join(INDEX);
        if printed == Printed::Json {
            super::output::json(&EachOutput {
                tests: all,
                same,
                different,
                none,
                made,
                seconds,
                index: &index,
                rows,
            });
            return Ok(());
        }
        println!(
            "{all} tests: {same} gists behave as their test, {different} do not, {none} tests have no gist"
        );
        for row in
            rows.iter().filter(|row| row.outcome != EachOutcome::Same || !row.notes.is_empty())
        {
            println!("  {}", printable(&format!("{}: {}", row.test, row.notes.join("; "))));
        }
        let mut lines: Vec<usize> = rows.iter().map(|row| row.lines).filter(|n| *n > 0).collect();
        lines.sort_unstable();
        if let Some(median) = lines.get(lines.len() / 2) {
            println!("  lines       {median} in the median gist");
        }
        println!("  took        {seconds:.1} s for {made} tests, {rate:.1} a minute");
        println!("  gists       {}", self.directory.display());
        println!("  index       {}", index.display());
        Ok(())
    }
}

impl Work<'_> {
    /// Runs the whole command once, as it is, and lists its tests in their order.
    fn list(
        &self,
        selection: EachSelection,
        progress: &ProgressLine,
    ) -> Result<Vec<Listed>, Failure> {
        let context = self.opened.context(self.around, &self.opened.scratch);
        let mut session = self.writer.session(&context).or_exit(Exit::Infrastructure)?;
        let whole = session.plain().map_err(|error| self.failed(&mut session, error))?;
        for (id, raised) in &whole.collection_errors {
            progress.line(&format!("{id} cannot be collected: {}", raised.kind));
        }
        let (mut listed, mut places, mut names) =
            (Vec::<Listed>::new(), BTreeMap::new(), BTreeSet::new());
        for case in whole.cases.iter().filter(|case| !whole.checks.contains(&case.id)) {
            let id = TestId { param: None, ..TestId::parse(&case.id) }.to_string();
            let at = *places.entry(id.clone()).or_insert_with(|| {
                let name = unique(file_name(&id), &mut names);
                listed.push(Listed { id, name, cases: Vec::new() });
                listed.len() - 1
            });
            listed[at].cases.push(outcomes(case));
        }
        // Tests of one file have more in common: processes that wait serve them all.
        listed.sort_by_cached_key(|test| TestId::parse(&test.id).path);
        if selection == EachSelection::Failed {
            let fails = |test: &Listed| test.cases.iter().flatten().any(|one| one == "failed");
            listed.retain(fails);
        }
        match listed.is_empty() {
            true => Err(Failure::new(Exit::Input, "no test of the command is to have a gist")),
            false => Ok(listed),
        }
    }

    /// Writes the gists of tests, several at once. Returns all rows; tests that were not begun, or were stopped, have
    /// none.
    fn write_all(
        &self,
        tests: &[Listed],
        rows: Vec<EachRow>,
        index: &mut File,
        progress: &ProgressLine,
    ) -> Result<Vec<EachRow>, Failure> {
        let (next, began, before) = (AtomicUsize::new(0), Instant::now(), rows.len());
        let shared = Mutex::new((rows, index, None::<Failure>));
        let locked = || shared.lock().unwrap_or_else(PoisonError::into_inner);
        let work = || {
            let mut handed = Handed::default();
            loop {
                let Some(test) = tests.get(next.fetch_add(1, Ordering::SeqCst)) else { return };
                if self.around.interrupt.is_triggered() || locked().2.is_some() {
                    return;
                }
                let made = self.write_one(test, &mut handed, progress);
                let mut shared: MutexGuard<'_, _> = locked();
                match made {
                    _ if self.around.interrupt.is_triggered() => return,
                    Ok(row) => {
                        let noted = line(&row).and_then(|text| {
                            shared.1.write_all(text.as_bytes()).or_exit(Exit::Infrastructure)
                        });
                        if let Err(failure) = noted {
                            shared.2 = Some(failure);
                            return;
                        }
                        shared.0.push(row);
                        let done = shared.0.len() - before;
                        progress.line(&sign(shared.0.last(), (done, tests.len()), began));
                    }
                    Err(failure) => {
                        shared.2 = Some(failure);
                        return;
                    }
                }
            }
        };
        let workers = self.around.settings.bench.workers.clamp(1, tests.len().max(1));
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(work);
            }
        });
        let (rows, _, failure) = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        match failure {
            Some(failure) => Err(failure),
            None => Ok(rows),
        }
    }

    /// Writes the gist of one test.
    fn write_one(
        &self,
        test: &Listed,
        handed: &mut Handed,
        progress: &ProgressLine,
    ) -> Result<EachRow, Failure> {
        let began = Instant::now();
        let command = self.opened.command.for_test(&test.id);
        let task = Task::of_command(&self.opened.repository.label, &command.to_string());
        let record = self.directory.join(RECORDS).join(&test.name);
        let context = TaskContext {
            task: &task,
            command: &command,
            ..self.opened.context(self.around, &record)
        };
        let mut session = self.writer.session(&context).or_exit(Exit::Infrastructure)?;
        if let Some(workspace) = handed.workspace.take() {
            session.workspace = workspace;
        }
        session.findings.graph = handed.graph.take();
        session.allow_forks(handed.forks.take().unwrap_or_default());
        let made = self.attempt(test, &record, &mut session, progress);
        handed.graph = session.findings.graph.clone();
        let row = made.map(|made| EachRow {
            test: test.id.clone(),
            command: command.to_string(),
            record: format!("{RECORDS}/{}", test.name),
            seconds: began.elapsed().as_secs_f64(),
            ..made
        });
        let (workspace, forks) = session.into_parts();
        (handed.workspace, handed.forks) = (Some(workspace), forks);
        row
    }

    /// Writes a gist with runs by fork, and where a cold run does not confirm it, with cold runs alone.
    fn attempt(
        &self,
        test: &Listed,
        record: &Path,
        session: &mut Session,
        progress: &ProgressLine,
    ) -> Result<EachRow, Failure> {
        let mut notes = Vec::new();
        let mut set_aside = None;
        let row = loop {
            let is_forked = set_aside.is_none();
            let before = session.forked_runs();
            let mut clock = Instant::now();
            let mut step = |what: &str| {
                let took = std::mem::replace(&mut clock, Instant::now()).elapsed().as_secs_f64();
                progress.detail(&format!("{}: {what} in {took:.2} s", test.id));
            };
            if let Ok((alone, _)) = session.traced() {
                let alone: CaseOutcomes = alone.cases.iter().map(outcomes).collect();
                if alone != test.cases {
                    if is_forked {
                        set_aside = session.end_forks();
                        session.forget();
                        continue;
                    }
                    notes.push(depends(&test.cases, &alone));
                }
            }
            step("traced");
            let _ = fs::remove_dir_all(record);
            let place = RunDirectory::create_at(record).or_exit(Exit::Infrastructure)?;
            let trajectory = record.join(TRAJECTORY);
            let end = self.writer.write(session, &trajectory, Vec::new(), Box::new(|_| {}));
            let end = end.or_exit(Exit::Infrastructure)?;
            step("written");
            if matches!(end.outcome, Outcome::Interrupted | Outcome::Fatal { .. })
                && self.around.interrupt.is_triggered()
            {
                return Err(Failure::new(Exit::Interrupted, "interrupted"));
            }
            let mut outcome = match &session.findings.gist {
                None => EachOutcome::None,
                Some(_) if session.findings.standing.is_some_and(|standing| standing.same) => {
                    EachOutcome::Same
                }
                Some(_) => EachOutcome::Different,
            };
            if is_forked && outcome == EachOutcome::Same {
                match session.confirm() {
                    Ok(None) => {}
                    Ok(Some(_)) => outcome = EachOutcome::Different,
                    Err(error) => return Err(self.failed(session, error)),
                }
                step("confirmed");
            }
            if is_forked && outcome != EachOutcome::Same {
                set_aside = session.end_forks();
                session.forget();
                continue;
            }
            if outcome == EachOutcome::None {
                let why = session.findings.unusable.as_ref().map(ToString::to_string);
                notes.push(why.unwrap_or_else(|| end.outcome.to_string()));
            }
            if outcome == EachOutcome::Different {
                notes.push(
                    "the gist does not behave as the test does when it runs alone".to_owned(),
                );
            }
            let forked = session.forked_runs() - before;
            let row = self.keep(test, &place, session, (outcome, forked))?;
            step("kept");
            break row;
        };
        if let Some(forks) = set_aside {
            notes.push("traced again in new processes".to_owned());
            session.allow_forks(forks);
        }
        Ok(EachRow { notes, ..row })
    }

    /// Writes a gist, and the parts of its record that `gistify why` reads.
    fn keep(
        &self,
        test: &Listed,
        place: &RunDirectory,
        session: &mut Session,
        (outcome, forked): (EachOutcome, usize),
    ) -> Result<EachRow, Failure> {
        let mut row = EachRow {
            test: String::new(),
            command: String::new(),
            outcome,
            gist: None,
            record: String::new(),
            cases: test.cases.len(),
            lines: 0,
            forked,
            notes: Vec::new(),
            seconds: 0.0,
        };
        write_reasons(place, session)?;
        let Some(gist) = &session.findings.gist else { return Ok(row) };
        let name = format!("{}.py", test.name);
        write_gist(&self.directory.join(&name), &gist.text, session)?;
        (row.gist, row.lines) = (Some(name), gist.text.lines().count());
        Ok(row)
    }

    fn failed(&self, session: &mut Session, error: ToolError) -> Failure {
        match session.findings.unusable.take() {
            Some(unusable) => Failure { exit: Exit::Input, error: unusable.into() },
            None => self.around.stopped(error),
        }
    }
}

/// Returns the outcomes of the phases of a case.
fn outcomes(case: &CaseReport) -> Vec<String> {
    case.phases.iter().map(|phase| phase.outcome.clone()).collect()
}

/// Returns the note on a test that does something else alone than after those before it.
fn depends(whole: &CaseOutcomes, alone: &CaseOutcomes) -> String {
    let most = whole.len().max(alone.len());
    let at = (0..most).find(|at| whole.get(*at) != alone.get(*at)).unwrap_or_default();
    let (before, after) = (outcome_word(whole, at), outcome_word(alone, at));
    format!("depends on tests before it: case {} {before} in the whole run, {after} alone", at + 1)
}

/// Returns the outcome of a case in a word: that of its first phase which did not pass.
fn outcome_word(cases: &CaseOutcomes, at: usize) -> &str {
    match cases.get(at) {
        None => "did not run",
        Some(phases) => phases.iter().find(|one| *one != "passed").map_or("passed", String::as_str),
    }
}

/// Returns a file's name for a node id, without ending.
fn file_name(id: &str) -> String {
    let (path, names) = id.split_once("::").unwrap_or((id, ""));
    let path = path.strip_suffix(".py").unwrap_or(path);
    let text = format!("{path}--{}", names.replace("::", "."));
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let text: String = text.chars().map(|c| if allowed(c) { c } else { '-' }).collect();
    // Most file systems take no name of more than 255 bytes.
    let hash = blake3::hash(id.as_bytes()).to_hex();
    let text = text.trim_matches(['-', '.']);
    if text.len() > 150 { format!("{}-{}", &text[..130], &hash[..16]) } else { text.to_owned() }
}

/// Returns a name that is not among those before, also where case does not count.
fn unique(name: String, names: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut all = std::iter::once(name.clone()).chain(numbered);
    all.find(|one| names.insert(one.to_lowercase())).unwrap_or(name)
}

/// A row of an index with the end of its line.
fn line<T: Serialize>(value: &T) -> Result<String, Failure> {
    Ok(serde_json::to_string(value).or_exit(Exit::Infrastructure)? + "\n")
}

/// Returns the line of progress after a row.
fn sign(row: Option<&EachRow>, (done, all): (usize, usize), began: Instant) -> String {
    let Some(row) = row else { return String::new() };
    let outcome = match row.outcome {
        EachOutcome::Same => "same",
        EachOutcome::Different => "different",
        EachOutcome::None => "no gist",
    };
    let notes = row.notes.iter().map(|note| format!(" ({note})")).collect::<String>();
    let rate = done as f64 * 60.0 / began.elapsed().as_secs_f64().max(1e-6);
    format!(
        "[{done}/{all}] {}: {outcome}, {} lines, {:.1} s{notes}; {rate:.1} a minute",
        row.test, row.lines, row.seconds
    )
}

/// Returns true if a directory holds anything.
fn has_files(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_has_a_file_of_its_own() {
        let mut names = BTreeSet::new();
        let mut of = |id: &str| unique(file_name(id), &mut names);
        assert_eq!(of("tests/test_a.py::TestX::test_y"), "tests-test_a--TestX.test_y");
        assert_eq!(of("tests/test_a.py::TestX::test_Y"), "tests-test_a--TestX.test_Y-2");
        assert_eq!(of("../a b.py::t[1]"), "a-b--t-1");
        assert!(of(&format!("a.py::{}", "x".repeat(300))).len() < 200);
    }
}
