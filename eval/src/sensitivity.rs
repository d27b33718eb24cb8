//! Measures sensitivity: executes the original and a gist with the same mutants, each by forking
//! one process.
//!
//! A mutant changes one simple statement in a function of the package that the tests executed. The
//! mutants of an original are drawn by seed, function by function, and executed once for all
//! solvers. A mutant is *noticed* if its run differs from the original's. A gist gets the same
//! change in the matching line, and notices it or not. Some runs have no change: if one of them
//! differs, neither side counts.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::{
    Candidate, CandidateSpec, CodeChange, Command, Ends, Execution, GistPlace, Internal, Limits,
    Normalizer, RunDirectories, RunSpec, Status, WaitsAt, Warm, WarmError, WarmRun, WarmSpec,
};

use crate::{
    blocks::{Line, Outline, Role},
    codebase::{CodeFile, Codebase},
    error::EvalError,
    mutants::{Change, Changes, Operator},
    observation::Observation,
    reference::{Reference, ReferenceSpec, key},
    scorers::{Executed, fidelity},
    statistics::{Random, median},
    store::Record,
};

/// The seed of every draw: the same original has the same mutants wherever it is measured.
const SEED: u64 = 7;
/// Times that a run may take beyond one without a change, and seconds besides: a mutant that takes longer is one that
/// does not end.
const PATIENCE: u32 = 10;
const LEAST: Duration = Duration::from_secs(2);

/// The mutants of an original, with what its own tests make of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mutants {
    /// The mutants that were run, in the order of their draw.
    pub drawn: Vec<Mutant>,
    /// The reason why none could be run.
    pub failed: Option<String>,
    /// Median CPU seconds of one.
    pub cpu_seconds: Option<f64>,
    /// Returns false in records of machines where each was run by a process of its own.
    pub forked: bool,
}

impl Record for Mutants {
    const VERSION: u32 = 1;
}

/// One mutant of an original.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mutant {
    /// The file.
    pub path: String,
    /// 1-based line of the statement.
    pub line: u32,
    /// The function.
    pub block: String,
    /// The statement, shortened.
    pub text: String,
    /// Its number among executed lines of the same text in that function.
    pub occurrence: u32,
    /// The kind of change.
    pub operator: Operator,
    /// Its number among changes of this kind in the statement.
    pub index: u32,
    /// The original's tests notice it.
    pub noticed: bool,
}

/// The mutants of an original that its tests notice, in a gist.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SensitivityRuns {
    /// Mutants that were drawn.
    pub drawn: u64,
    /// The mutants that the original's tests detect.
    pub noticed: u64,
    /// The mutants among these that the gist detects too.
    pub noticed_too: u64,
    /// Every mutant that the gist does not notice.
    pub missed: Vec<MissedMutant>,
    /// Runs of the gist without a change.
    pub controls: u64,
    /// The controls among them that differ from the original: the gist depends on chance.
    pub unstable_controls: u64,
    /// The reason why nothing could be run.
    pub failed: Option<String>,
    /// Median CPU seconds of one mutant.
    pub cpu_seconds: Option<f64>,
    /// Each run was a fork of one process.
    pub forked: bool,
}

/// A mutant that a gist does not notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissedMutant {
    /// The mutant.
    #[serde(flatten)]
    pub mutant: Mutant,
    /// The gist's line; nothing where it has none that matches.
    pub gist_line: Option<u32>,
}

/// A gist that is to be measured.
pub(crate) struct MutatedGist<'a> {
    /// The text that runs, with the original test in it.
    pub text: &'a str,
    /// A copy of the repository that nothing ran in.
    pub pristine: &'a Path,
    pub internal: &'a Internal,
    pub place: GistPlace,
    pub codebase: &'a Codebase,
}

impl Mutants {
    /// Draws and runs so many mutants of an original, or reads what was measured.
    ///
    /// # Errors
    /// Something besides the command fails.
    #[tracing::instrument(name = "mutants of the original", level = "debug", skip_all)]
    pub(crate) fn measure(
        spec: &ReferenceSpec<'_>,
        reference: &Reference,
        codebase: &Codebase,
        internal: &Internal,
        count: u32,
    ) -> Result<Self, EvalError> {
        let name = format!("{}-mutants-{count}.json", key(spec));
        let measure = || Self::of_original(spec, reference, codebase, internal, count);
        Ok(spec.stored(&name, measure)?.0)
    }

    fn of_original(
        spec: &ReferenceSpec<'_>,
        reference: &Reference,
        codebase: &Codebase,
        internal: &Internal,
        count: u32,
    ) -> Result<Self, EvalError> {
        let executed = Executed::of_tests(&reference.trace);
        let drawn = draw(codebase, internal, &executed, count as usize);
        let place = spec.workspace.process_directory()?;
        let lay_out = |into: &Path| {
            let copy = spec.workspace.copy(spec.repository)?;
            std::fs::rename(&copy, into).map_err(|source| unwritten(into, source))
        };
        let bed =
            Bed { spec, command: spec.command, absent: &[], place: &place, lay_out: &lay_out };
        let directory = bed.directory();
        let observe = |run: &Execution| {
            let normalizer = Normalizer::of_run(&directory, &bed.scratch(), internal, None);
            let explained = |file: &str| {
                let file = Path::new(file);
                let file = file.strip_prefix(&directory).unwrap_or(file);
                internal.support.contains(file.to_string_lossy().as_ref())
            };
            Observation::of(run, &normalizer, explained, spec.command.is_pytest())
        };
        let changes: Vec<(&str, &str, Changes, &Drawn<'_>)> = drawn
            .iter()
            .map(|one| (&*one.file.path, &*one.file.text, Changes::of(&one.file.text), one))
            .collect();
        let wanted: Vec<Wanted<'_>> = changes
            .iter()
            .map(|(path, text, changes, one)| Wanted { path, text, changes, change: &one.change })
            .collect();
        let ran =
            bed.run(&wanted, &|run| fidelity(&reference.expected, &observe(run)).score == 1)?;
        spec.workspace.discard(&place);
        let mutants = drawn.iter().zip(&ran.verdicts).filter_map(|(one, verdict)| {
            // One that does not end, or reached no function, is none.
            let noticed = match verdict {
                Verdict::Same => false,
                Verdict::Differs => true,
                Verdict::Endless | Verdict::Unreached => return None,
            };
            Some(one.mutant(noticed))
        });
        Ok(Self {
            drawn: mutants.collect(),
            failed: ran.failed,
            cpu_seconds: median(&ran.cpu),
            forked: ran.forked,
        })
    }

    /// Runs a gist with the mutants that the original notices.
    ///
    /// # Errors
    /// Something besides the gist fails.
    #[tracing::instrument(name = "mutants of the gist", level = "debug", skip_all)]
    pub(crate) fn of_gist(
        &self,
        spec: &ReferenceSpec<'_>,
        reference: &Reference,
        gist: &MutatedGist<'_>,
    ) -> Result<SensitivityRuns, EvalError> {
        let noticed: Vec<&Mutant> = self.drawn.iter().filter(|mutant| mutant.noticed).collect();
        let mut runs = SensitivityRuns {
            drawn: self.drawn.len() as u64,
            noticed: noticed.len() as u64,
            failed: self.failed.clone(),
            ..SensitivityRuns::default()
        };
        if noticed.is_empty() {
            return Ok(runs);
        }
        let outline = Outline::of(gist.text);
        let changes = Changes::of(gist.text);
        let place = spec.workspace.process_directory()?;
        let candidate = |into: &Path| {
            let spec = CandidateSpec {
                original: gist.pristine,
                internal: gist.internal,
                gist: gist.text,
                place: gist.place,
                command: spec.command,
            };
            tools::lay_out(&spec, into)
        };
        let lay_out = |into: &Path| {
            candidate(into)?;
            Ok(())
        };
        let first = candidate(&RunDirectories::of(&place).directory)?;
        let Candidate { command, directory, absent, gist: path } = &first;
        let bed = Bed { spec, command, absent, place: &place, lay_out: &lay_out };
        let observe = |run: &Execution| {
            let normalizer =
                Normalizer::of_run(directory, &bed.scratch(), gist.internal, Some(path));
            Observation::of(run, &normalizer, |_| true, spec.command.is_pytest())
        };
        let matching: Vec<Option<(&Line, &Change)>> = noticed
            .iter()
            .map(|mutant| matching(mutant, &outline, &changes, gist.codebase))
            .collect();
        let wanted: Vec<Wanted<'_>> = matching
            .iter()
            .flatten()
            .map(|(_, change)| Wanted { path, text: gist.text, changes: &changes, change })
            .collect();
        let ran =
            bed.run(&wanted, &|run| fidelity(&reference.expected, &observe(run)).score == 1)?;
        spec.workspace.discard(&place);
        let mut verdicts = ran.verdicts.iter();
        for (mutant, matching) in noticed.into_iter().zip(matching) {
            let verdict = matching.and_then(|_| verdicts.next());
            if matches!(verdict, Some(Verdict::Differs | Verdict::Endless)) {
                runs.noticed_too += 1;
            } else {
                let gist_line = matching.map(|(line, _)| line.first);
                runs.missed.push(MissedMutant { mutant: mutant.clone(), gist_line });
            }
        }
        runs.controls = ran.controls;
        runs.unstable_controls = ran.unstable_controls;
        runs.failed = runs.failed.or(ran.failed);
        runs.cpu_seconds = median(&ran.cpu);
        runs.forked = ran.forked;
        Ok(runs)
    }
}

/// A mutant that was drawn.
struct Drawn<'a> {
    file: &'a CodeFile,
    line: &'a Line,
    occurrence: u32,
    change: Change,
}

impl Drawn<'_> {
    fn mutant(&self, noticed: bool) -> Mutant {
        Mutant {
            path: self.file.path.clone(),
            line: self.line.first,
            block: self.line.block.clone(),
            text: self.line.text.clone(),
            occurrence: self.occurrence,
            operator: self.change.operator,
            index: self.change.index,
            noticed,
        }
    }
}

/// Draws mutants: one of each function in turn, until there are enough.
fn draw<'a>(
    codebase: &'a Codebase,
    internal: &Internal,
    executed: &Executed,
    count: usize,
) -> Vec<Drawn<'a>> {
    let modules: BTreeSet<&String> = internal.modules.values().collect();
    let mut functions: BTreeMap<(&str, &str), Vec<Drawn<'a>>> = BTreeMap::new();
    for file in codebase.files() {
        let hits = executed.lines_of(&file.path);
        let is_package = modules.contains(&file.path) && !internal.support.contains(&file.path);
        if hits.is_empty() || !is_package {
            continue;
        }
        let changes = Changes::of(&file.text);
        let mut seen: BTreeMap<(&str, crate::Key), u32> = BTreeMap::new();
        for line in &file.outline.lines {
            if line.role != Role::Simple || !executed.has(&file.path, line) {
                continue;
            }
            let occurrence = seen.entry((&line.block, line.key)).or_default();
            for change in changes.of_statement(line.range) {
                functions.entry((&file.path, &line.block)).or_default().push(Drawn {
                    file,
                    line,
                    occurrence: *occurrence,
                    change: change.clone(),
                });
            }
            *occurrence += 1;
        }
    }
    let mut random = Random::of(SEED);
    let mut functions: Vec<Vec<Drawn<'a>>> = functions.into_values().collect();
    random.shuffle(&mut functions);
    functions.iter_mut().for_each(|changes| random.shuffle(changes));
    let mut drawn = Vec::new();
    while drawn.len() < count && functions.iter().any(|changes| !changes.is_empty()) {
        for changes in &mut functions {
            drawn.extend(changes.pop());
            if drawn.len() == count {
                break;
            }
        }
    }
    drawn
}

/// The line of a gist that matches a mutant's, and the same change in it: the same statement of the same function, or
/// one that differs from it in names alone.
fn matching<'a>(
    mutant: &Mutant,
    gist: &'a Outline,
    changes: &'a Changes,
    codebase: &Codebase,
) -> Option<(&'a Line, &'a Change)> {
    let original = codebase.file(&mutant.path)?;
    let line = original.outline.lines.iter().find(|line| {
        (line.first, &line.block) == (mutant.line, &mutant.block) && line.text == mutant.text
    })?;
    let same = |other: &&'a Line| other.block == line.block && other.role == Role::Simple;
    let equal: Vec<&Line> =
        gist.lines.iter().filter(same).filter(|other| other.key == line.key).collect();
    let theirs = Changes::of(&original.text);
    let kinds = |changes: &[Change]| -> Vec<(Operator, u32)> {
        changes.iter().map(|change| (change.operator, change.index)).collect()
    };
    let wanted = kinds(theirs.of_statement(line.range));
    let found = equal.get(mutant.occurrence as usize).or(equal.last()).copied().or_else(|| {
        let mut renamed = gist.lines.iter().filter(same).filter(|other| {
            kinds(changes.of_statement(other.range)) == wanted
                && shape(&other.text) == shape(&line.text)
        });
        renamed.next().filter(|_| renamed.next().is_none())
    })?;
    let own = changes.of_statement(found.range).iter();
    let mut own = own.filter(|one| (one.operator, one.index) == (mutant.operator, mutant.index));
    Some((found, own.next()?))
}

/// A text without its names.
fn shape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            c if c.is_alphanumeric() || c == '_' => {
                if !out.ends_with('n') {
                    out.push('n');
                }
            }
            // A name may have got or lost its module.
            '.' | ' ' => {}
            c => out.push(c),
        }
    }
    out
}

/// A change that is to be run in one file.
struct Wanted<'a> {
    path: &'a str,
    text: &'a str,
    changes: &'a Changes,
    change: &'a Change,
}

/// The verdict on a run with a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It is the original's.
    Same,
    /// It is not.
    Differs,
    /// It went over its time.
    Endless,
    /// No function got the change.
    Unreached,
}

/// The results of all runs.
#[derive(Debug, Default)]
struct Ran {
    /// One for each change; none where nothing could be run.
    verdicts: Vec<Verdict>,
    cpu: Vec<f64>,
    controls: u64,
    unstable_controls: u64,
    failed: Option<String>,
    forked: bool,
}

/// The directories of the runs of one side.
struct Bed<'a> {
    spec: &'a ReferenceSpec<'a>,
    command: &'a Command,
    absent: &'a [String],
    /// It holds the directory and the scratch directory of a run.
    place: &'a Path,
    /// Makes the directory.
    lay_out: &'a dyn Fn(&Path) -> Result<(), EvalError>,
}

/// The way in which runs are made.
enum Runner {
    /// Forks of one process.
    Warm(Box<Warm>),
    /// Processes of their own, where a fork is not safe or cannot be had.
    Cold,
}

impl Bed<'_> {
    fn directory(&self) -> PathBuf {
        RunDirectories::of(self.place).directory
    }

    fn scratch(&self) -> PathBuf {
        RunDirectories::of(self.place).scratch
    }

    /// Runs each change; `is_same` tells the original's behaviour.
    fn run(
        &self,
        wanted: &[Wanted<'_>],
        is_same: &dyn Fn(&Execution) -> bool,
    ) -> Result<Ran, EvalError> {
        let (directory, scratch) = (self.directory(), self.scratch());
        (self.lay_out)(&directory)?;
        let run = self.run_spec(&directory, &scratch);
        let waits_at = match self.command.is_pytest() {
            true => WaitsAt::Tests,
            false => WaitsAt::Start,
        };
        let lifetime = self.spec.limits.wall * 4 + Duration::from_secs(600);
        let place = self.place;
        let warm = WarmSpec { run, place, waits_at, imports: &[], trace: None, lifetime };
        match Warm::start(&warm) {
            Ok(warm) => {
                let ran = self.run_by(Runner::Warm(Box::new(warm)), waits_at, wanted, is_same)?;
                if ran.failed.is_none() {
                    return Ok(ran);
                }
            }
            Err(WarmError::Interrupted) => return Err(EvalError::Interrupted),
            Err(_) => {}
        }
        self.run_by(Runner::Cold, WaitsAt::Start, wanted, is_same)
    }

    /// Runs each change; runs without one come first, in the middle and last.
    fn run_by(
        &self,
        mut runner: Runner,
        waits_at: WaitsAt,
        wanted: &[Wanted<'_>],
        is_same: &dyn Fn(&Execution) -> bool,
    ) -> Result<Ran, EvalError> {
        let mut ran = Ran { forked: matches!(runner, Runner::Warm(_)), ..Ran::default() };
        let mut limits = self.spec.limits;
        let mut turns: Vec<Option<&Wanted<'_>>> = wanted.iter().map(Some).collect();
        turns.insert(wanted.len() / 2, None);
        turns.insert(0, None);
        turns.push(None);
        for turn in turns {
            let (execution, changed) = match self.turn(&mut runner, turn, waits_at, limits) {
                Ok(made) => made,
                Err(EvalError::Interrupted) => return Err(EvalError::Interrupted),
                Err(error) => {
                    ran.failed = Some(error.to_string());
                    ran.verdicts.clear();
                    return Ok(ran);
                }
            };
            let same = is_same(&execution);
            if turn.is_none() {
                ran.controls += 1;
                ran.unstable_controls += u64::from(!same);
                if ran.controls == 1 {
                    if !same {
                        ran.failed = Some("a run without a change differs".to_owned());
                        return Ok(ran);
                    }
                    limits = patience(limits, &execution);
                }
                continue;
            }
            ran.cpu.push(execution.cpu.as_secs_f64());
            ran.verdicts.push(match execution.status {
                Status::TimedOut => Verdict::Endless,
                _ if waits_at == WaitsAt::Tests && changed == 0 => Verdict::Unreached,
                _ if same => Verdict::Same,
                _ => Verdict::Differs,
            });
        }
        Ok(ran)
    }

    /// Makes one run, and gives the number of functions with other code.
    fn turn(
        &self,
        runner: &mut Runner,
        turn: Option<&Wanted<'_>>,
        waits_at: WaitsAt,
        limits: Limits,
    ) -> Result<(Execution, u64), EvalError> {
        let code = turn.filter(|_| waits_at == WaitsAt::Tests).map(Wanted::code);
        let text =
            turn.filter(|_| code.is_none()).map(|one| (one.path, one.change.apply(one.text)));
        let files: Vec<(&str, &str)> = text.iter().map(|(path, text)| (*path, &**text)).collect();
        match runner {
            Runner::Warm(warm) => {
                let changes = code.unwrap_or_default();
                let ends = match waits_at {
                    WaitsAt::Tests => Ends::Tests,
                    WaitsAt::Start | WaitsAt::Collection => Ends::Process,
                };
                let wanted = WarmRun { files: &files, tests: &[], changes: &changes, limits, ends };
                let made = warm.run(&wanted)?;
                Ok((made.execution, made.changed))
            }
            Runner::Cold => {
                let (directory, scratch) = (self.directory(), self.scratch());
                self.spec.workspace.discard(&directory);
                (self.lay_out)(&directory)?;
                for (path, text) in files {
                    let path = directory.join(path);
                    std::fs::write(&path, text).map_err(|source| unwritten(&path, source))?;
                }
                let run = RunSpec { limits, ..self.run_spec(&directory, &scratch) };
                let execution = tools::execute(&run)
                    .or_else(|error| Execution::spoiled(&error).ok_or(error))?;
                match execution.status {
                    Status::Interrupted => Err(EvalError::Interrupted),
                    _ => Ok((execution, 0)),
                }
            }
        }
    }

    fn run_spec<'s>(&'s self, directory: &'s Path, scratch: &'s Path) -> RunSpec<'s> {
        RunSpec {
            sandbox: self.spec.sandbox,
            environment: self.spec.environment,
            command: self.command,
            directory,
            scratch,
            limits: self.spec.limits,
            hash_seed: 0,
            variables: self.spec.variables,
            absent: self.absent,
            max_failures: None,
            link: None,
            around: tools::Around::default(),
        }
    }
}

impl Wanted<'_> {
    fn code(&self) -> Vec<CodeChange> {
        let within = self.change.within(self.text, self.changes);
        let code = within.map(|(first, before, after)| CodeChange {
            file: self.path.to_owned(),
            first,
            before,
            after,
        });
        code.into_iter().collect()
    }
}

/// The limits of a run with a change, by one without.
fn patience(limits: Limits, control: &Execution) -> Limits {
    Limits {
        wall: limits.wall.min((control.wall + LEAST) * PATIENCE),
        cpu: limits.cpu.min(control.cpu * PATIENCE + LEAST),
        ..limits
    }
}

fn unwritten(path: &Path, source: std::io::Error) -> EvalError {
    tools::WorkspaceError::Create { path: path.to_path_buf(), source }.into()
}
