//! From a gist that fails as its command does to one file that fails in the same way anywhere, and is as short as an
//! oracle lets it be.
//!
//! The oracle alone decides what is kept. All runs are alone: in an empty directory, with an ordinary shell's
//! environment, and with no other packages than those that the file needs.

mod alone;
mod bed;
mod oracle;
mod script;
mod values;

use std::{collections::BTreeSet, path::PathBuf};

use graph::{
    Arrangement, DataFile, Gist, GistLine, Guard, LineOrigin, Place, Reach, Reduction, Source,
    Trace, completed, direct_calls, halved_parameters, imported_modules, inlined_fixtures,
    laid_out, unwrapped, with_data, with_joined_brackets, without_annotations, without_decorators,
    without_elements, without_imports, without_large_lists, without_name, without_parameters,
    without_unread_names, without_unread_parameters,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    command::{Command, CommandProgram, TestId},
    environment::Inventory,
    progress::Progress,
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
    /// Lines before the reduction.
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
            Self::Minimal => "no statement can be removed any more",
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

/// Runs of the finished file.
const RUNS: usize = 3;

/// Proposals that are accepted by runs by fork alone before a cold run confirms them.
const OFTEN: usize = 16;

/// A gist is traced again when it has lost this part of its lines, as one of so many: a trace takes as long as several proposals.
const TRACED_AGAIN: usize = 4;

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

/// The end of a trial of several proposals.
struct JudgedProposals {
    /// The index of the last proposal that was judged; all before it are refused.
    last: usize,
    /// True if that one holds.
    holds: bool,
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
        let before = gist.lines.len();
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
        if !run.execution.decided.is_empty() {
            // Another environment may have other values than the original's; the gist is faithful.
            let again = self.bed.run(self.session, &gist, &self.form)?;
            self.values = self.oracle.values(&gist, &run, &again);
        }
        (self.gist, self.holds, self.otherwise) = (gist, true, None);
        self.confirmed = self.gist.clone();
        self.before = self.gist.lines.len();
        Ok(None)
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
            self.before = self.gist.lines.len();
        }
        Ok(())
    }

    /// Makes the gist smaller as long as it fails in the same way, until nothing more can go.
    fn reduce(&mut self) -> Result<(), Stop> {
        if !self.holds {
            return Ok(());
        }
        self.confirmed = self.gist.clone();
        match self.shorten() {
            Err(stop @ (Stop::Interrupted | Stop::Failed(_))) => {
                self.gist = self.confirmed.clone();
                Err(stop)
            }
            ended => self.coldly(Self::tidy).and(ended),
        }
    }

    fn shorten(&mut self) -> Result<(), Stop> {
        self.coldly(Self::drop_installed)?;
        self.drop_plugins()?;
        self.coldly(Self::drop_configuration)?;
        self.step(Self::drop_unmentioned)?;
        self.step(Self::drop_packages)?;
        self.step(|work| work.rewrite(each(halved_parameters)))?;
        self.step(|work| work.rewrite(without_annotations))?;
        self.step(Self::simplify)?;
        self.step(|work| work.rewrite(without_large_lists))?;
        self.step(Self::statements)?;
        // Statements may have no further use once a parameter or a block is gone, and the other way round.
        loop {
            let before = self.gist.text.clone();
            self.step(Self::unwrap_blocks)?;
            self.step(|work| work.rewrite(without_annotations))?;
            self.step(|work| work.rewrite(without_unread_parameters))?;
            self.step(|work| work.rewrite(without_name))?;
            self.step(|work| work.rewrite(without_elements))?;
            self.step(|work| work.rewrite(without_unread_names))?;
            self.step(|work| work.rewrite(each(without_decorators)))?;
            self.step(|work| work.rewrite(each(without_parameters)))?;
            self.step(|work| work.rewrite(each(halved_parameters)))?;
            self.step(Self::simplify)?;
            if self.gist.text == before {
                break;
            }
            self.step(Self::statements)?;
        }
        // The import that needed a package may be gone.
        self.coldly(Self::drop_installed)
    }

    /// Takes inlined packages away that the failure does not need besides their code in the gist.
    fn drop_installed(&mut self) -> Result<(), Stop> {
        for name in self.installed.clone() {
            self.installed.remove(&name);
            self.renew_bed()?;
            let accepted = self.accepts(self.gist.clone());
            if !matches!(accepted, Ok(true)) {
                self.installed.insert(name);
                self.renew_bed()?;
            }
            accepted?;
        }
        Ok(())
    }

    /// Does one step of the search by runs by fork, and confirms its result by a cold run; where that fails, does it again
    /// by cold runs alone, from the gist that was confirmed last.
    fn step(&mut self, step: impl Fn(&mut Self) -> Result<(), Stop>) -> Result<(), Stop> {
        let ended = match step(self) {
            Err(Stop::Unconfirmed) => return step(self),
            Err(stop @ (Stop::Interrupted | Stop::Failed(_))) => return Err(stop),
            ended => ended,
        };
        match self.confirm() {
            Err(Stop::Unconfirmed) => ended.and_then(|()| step(self)),
            confirmed => confirmed.and(ended),
        }
    }

    /// Runs a gist cold that runs by fork led to.
    fn confirm(&mut self) -> Result<(), Stop> {
        if self.unconfirmed == 0 {
            return Ok(());
        }
        self.unconfirmed = 0;
        let gist = self.gist.clone();
        if self.holds_cold(&gist)? {
            self.confirmed = gist;
            return Ok(());
        }
        self.gist = self.confirmed.clone();
        self.is_forking = false;
        Err(Stop::Unconfirmed)
    }

    /// Lays the gist out for its readers, whatever time is left.
    fn tidy(&mut self) -> Result<(), Stop> {
        // What runs elsewhere, or once the failure is mended, says what is missing.
        let completed = complete(self.session, &self.gist);
        self.holds_as(completed)?;
        self.holds_as(with_joined_brackets(&self.gist))?;
        let tests = self.tests.clone();
        for arrangement in [Arrangement::Ordered, Arrangement::Spaced] {
            if self.holds_as(laid_out(&self.gist, arrangement, &tests))? {
                break;
            }
        }
        Ok(())
    }

    /// Puts fixtures into tests, and calls the test itself where that needs no runner.
    fn simplify(&mut self) -> Result<(), Stop> {
        self.rewrite(each(inlined_fixtures))?;
        if !self.form.is_pytest() {
            return Ok(());
        }
        let Some(case) = self.oracle.case() else { return Ok(()) };
        self.confirm()?;
        let program = self.form.as_program();
        let runner = std::mem::replace(&mut self.form, program);
        self.renew_bed()?;
        let called = self.coldly(|work| work.calls_directly(&case));
        if let Ok(true) = called {
            return Ok(());
        }
        // On a stop as well the form of pytest comes back: the gist still needs pytest.
        self.form = runner;
        self.renew_bed()?;
        called.map(|_| ())
    }

    /// Makes a bed with the packages that the gist needs in its form.
    fn renew_bed(&mut self) -> Result<(), ToolError> {
        self.bed = Bed::new(self.session, &self.inventory, &self.packages())?
            .with_values(self.oracle.has_values());
        Ok(())
    }

    /// The distributions that the gist needs in its form.
    fn packages(&self) -> BTreeSet<String> {
        &self.form.packages(&self.inventory, &self.gist, false) | &self.installed
    }

    /// Does something by cold runs: its proposals are of another form than those before.
    fn coldly<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        let is_forking = std::mem::replace(&mut self.is_forking, false);
        let done = act(self);
        self.is_forking = is_forking;
        done
    }

    /// Returns true if the gist fails in the same way once it calls the test itself.
    fn calls_directly(&mut self, case: &TestId) -> Result<bool, Stop> {
        for proposal in direct_calls(&self.gist, &case.names) {
            if self.accepts(proposal)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes plugins away that the failure does not need.
    fn drop_plugins(&mut self) -> Result<(), Stop> {
        if !self.form.is_pytest() {
            return Ok(());
        }
        let mut kept = self.form.plugins().to_vec();
        let ended = self.coldly(|work| work.fewer_plugins(&mut kept));
        // Also where the search ends here: those that are kept are those of the last run that held.
        self.form.set_plugins(kept);
        self.renew_bed()?;
        ended
    }

    /// Takes options away that stand in the place of the configuration, and that the failure does not need.
    fn drop_configuration(&mut self) -> Result<(), Stop> {
        let mut at = 0;
        while at < self.form.configuration().len() {
            let mut fewer = self.form.configuration().to_vec();
            fewer.remove(at);
            let form = self.form.with_configuration(fewer);
            let before = std::mem::replace(&mut self.form, form);
            match self.accepts(self.gist.clone()) {
                Ok(true) => {}
                refused => {
                    self.form = before;
                    refused?;
                    at += 1;
                }
            }
        }
        Ok(())
    }

    /// Takes out imports of packages that the failure does not need, before anything else that is in the gist: each
    /// package makes the file harder to run.
    fn drop_packages(&mut self) -> Result<(), Stop> {
        let mut modules = imported_modules(&self.gist.text);
        modules.retain(|name| {
            let one = BTreeSet::from([name.clone()]);
            !self.inventory.owners_of(&one).is_empty()
        });
        let goes = |import: &str| !imported_modules(import).is_disjoint(&modules);
        self.rewrite(each(|gist: &Gist| without_imports(gist, &goes)))
    }

    fn fewer_plugins(&mut self, kept: &mut Vec<String>) -> Result<(), Stop> {
        if kept.is_empty() {
            return Ok(());
        }
        if self.tries_plugins(&[])? {
            kept.clear();
            return Ok(());
        }
        let mut at = 0;
        while at < kept.len() {
            let mut fewer = kept.clone();
            fewer.remove(at);
            if self.tries_plugins(&fewer)? { *kept = fewer } else { at += 1 }
        }
        Ok(())
    }

    /// Returns true if the gist holds with these plugins alone; the bed has them from then on.
    fn tries_plugins(&mut self, names: &[String]) -> Result<bool, Stop> {
        self.form.set_plugins(names.to_vec());
        self.renew_bed()?;
        let gist = self.gist.clone();
        self.accepts(gist)
    }

    /// Goes on from each proposal that holds, until none does. `rewrite` returns the proposal at an index that may come in a
    /// gist's place; the best has index 0.
    fn rewrite(&mut self, rewrite: impl Fn(&Gist, usize) -> Option<Gist>) -> Result<(), Stop> {
        let mut refused: BTreeSet<String> = BTreeSet::new();
        // Each pass goes on behind the proposal that held; the next one tries again what was refused before it.
        loop {
            let (mut at, mut is_changed) = (0, false);
            loop {
                let (mut places, mut proposals) = (Vec::new(), Vec::new());
                let mut next = at;
                while proposals.len() < self.parallel_runs()
                    && let Some(proposal) = rewrite(&self.gist, next)
                {
                    if proposal.text != self.gist.text && !refused.contains(&proposal.text) {
                        places.push(next);
                        proposals.push(proposal);
                    }
                    next += 1;
                }
                if proposals.is_empty() {
                    break;
                }
                let judged = self.accepts_first(&proposals)?;
                // A proposal that holds leaves the list, so that the next one has its index.
                let is_refused = usize::from(!judged.holds);
                at = places[judged.last] + is_refused;
                is_changed |= judged.holds;
                let texts = proposals.into_iter().map(|proposal| proposal.text);
                refused.extend(texts.take(judged.last + is_refused));
            }
            if !is_changed {
                return Ok(());
            }
        }
    }

    /// Puts blocks in the place of the statements around them, but where that would hide that another block is missing: a
    /// reader learns of that by the guard which the end of the search adds.
    fn unwrap_blocks(&mut self) -> Result<(), Stop> {
        let session = self.session;
        let ends = |gist: &Gist| complete(session, gist).lines.len() - gist.lines.len();
        self.rewrite(|gist, at| {
            let proposal = unwrapped(gist, at)?;
            let hides = ends(&proposal) < ends(gist);
            Some(if hides { gist.clone() } else { proposal })
        })
    }

    /// Takes out all definitions that nothing mentions, such as other tests: they make every further run longer.
    fn drop_unmentioned(&mut self) -> Result<(), Stop> {
        let whole = |_: &GistLine, _: Option<&str>| false;
        let names = self.oracle.case().map(|case| case.names).unwrap_or_default();
        let mut reduction = Reduction::new(self.gist.clone(), &whole).with_mentioned(&names);
        while let Some(proposal) = reduction.propose_unmentioned() {
            if self.accepts(proposal)? {
                reduction.accept();
            } else {
                reduction.reject();
            }
        }
        Ok(())
    }

    /// Takes out one statement after the other, until none of those that are left can go.
    fn statements(&mut self) -> Result<(), Stop> {
        let whole = |_: &GistLine, _: Option<&str>| false;
        let names = self.oracle.case().map(|case| case.names).unwrap_or_default();
        let mut reduction = Reduction::new(self.gist.clone(), &whole).with_mentioned(&names);
        let mut trace_below = usize::MAX;
        loop {
            // Functions may have lost their callers since the last trace.
            let lines = self.gist.lines.len();
            if lines < trace_below && !self.time_left().is_zero() {
                trace_below = lines - lines / TRACED_AGAIN;
                let traced = self.bed.trace_gist(self.session, &self.gist, &self.form)?;
                if let Some(file) = traced {
                    reduction = reduction.with_executed(&|line| file.executed(line as u32 + 1));
                }
            }
            let mut ahead = reduction.ahead(self.parallel_runs());
            let proposals: Vec<Gist> =
                ahead.iter().filter_map(|next| next.proposed().cloned()).collect();
            if proposals.is_empty() {
                return Ok(());
            }
            let judged = self.accepts_first(&proposals)?;
            reduction = ahead.swap_remove(judged.last);
            match judged.holds {
                true => reduction.accept(),
                false => reduction.reject(),
            }
        }
    }

    /// Returns the number of proposals to make before the first of them is judged.
    fn parallel_runs(&self) -> usize {
        match self.is_forking && !self.oracle.has_user_program() {
            true => self.bed.parallel_runs(),
            false => 1,
        }
    }

    /// Runs proposals at once and goes on from the first that holds. Each is made for the case that those before it are
    /// refused. At least one of them is judged.
    fn accepts_first(&mut self, proposals: &[Gist]) -> Result<JudgedProposals, Stop> {
        if self.time_left().is_zero() {
            return Err(Stop::TimeLimit);
        }
        let forked = self.holds_forked(proposals)?;
        let mut judged = JudgedProposals { last: 0, holds: false };
        for (last, (proposal, forked)) in proposals.iter().zip(forked).enumerate() {
            let holds = self.goes_on_from(proposal.clone(), forked)?;
            judged = JudgedProposals { last, holds };
            if holds {
                break;
            }
        }
        Ok(judged)
    }

    /// Runs a proposal of the search, as long as there is time, and goes on from it where it holds.
    fn accepts(&mut self, proposal: Gist) -> Result<bool, Stop> {
        match self.time_left().is_zero() {
            true => Err(Stop::TimeLimit),
            false => self.holds_as(proposal),
        }
    }

    /// Runs a proposal, and goes on from it where it holds.
    fn holds_as(&mut self, proposal: Gist) -> Result<bool, Stop> {
        let forked = self.holds_forked(std::slice::from_ref(&proposal))?;
        self.goes_on_from(proposal, forked.into_iter().next().flatten())
    }

    /// Goes on from a proposal where it holds; `forked` is the verdict of a run by fork, where there is one.
    fn goes_on_from(&mut self, proposal: Gist, forked: Option<bool>) -> Result<bool, Stop> {
        if self.session.interrupt.is_triggered() {
            return Err(Stop::Interrupted);
        }
        self.tried += 1;
        let lines = self.gist.lines.len();
        (self.session.signs)(Progress::Reduced {
            tried: self.tried,
            removed: self.before.saturating_sub(lines),
            lines,
            left: self.time_left(),
        });
        let holds = match forked {
            Some(false) => false,
            // A process that has loaded a module cannot say if its import is needed.
            Some(true) if imported_modules(&proposal.text) == imported_modules(&self.gist.text) => {
                self.unconfirmed += 1;
                true
            }
            Some(true) | None => {
                let holds = self.holds_cold(&proposal)?;
                if holds {
                    (self.confirmed, self.unconfirmed) = (proposal.clone(), 0);
                }
                holds
            }
        };
        if holds {
            self.gist = proposal;
        }
        if self.unconfirmed >= OFTEN {
            self.confirm()?;
        }
        Ok(holds)
    }

    /// Runs a gist in a new process; returns true if it fails in the same way.
    fn holds_cold(&self, gist: &Gist) -> Result<bool, Stop> {
        if let Some(holds) = self.oracle.run_user_program(self.session, &self.bed, gist)? {
            return Ok(holds);
        }
        let run = self.bed.try_out(self.session, gist, &self.form)?;
        self.fails_alike(gist, &run)
    }

    /// The same of gists at once, by forks; `None` where these cannot say. There may be fewer verdicts than gists.
    fn holds_forked(&self, gists: &[Gist]) -> Result<Vec<Option<bool>>, Stop> {
        if !self.is_forking || self.oracle.has_user_program() {
            return Ok(vec![None]);
        }
        let runs = self.bed.run_forked(self.session, gists, &self.form)?;
        let verdict = |(gist, run): (&Gist, Option<FileRun>)| {
            let Some(run) = run else { return Ok(None) };
            let holds = self.fails_alike(gist, &run)?;
            if holds {
                self.bed.note_held(&run);
            }
            Ok(Some(holds))
        };
        gists.iter().zip(runs).map(verdict).collect()
    }

    fn fails_alike(&self, gist: &Gist, run: &FileRun) -> Result<bool, Stop> {
        match run.interrupted() {
            true => Err(Stop::Interrupted),
            false => Ok(match self.oracle.run_user_program(self.session, &self.bed, gist)? {
                Some(holds) => holds,
                None => self.oracle.holds(gist, run, &self.values),
            }),
        }
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
                runs += 1;
                // The user's program ends before it can be interrupted, and answers all the same.
                let holds = match self.oracle.run_user_program(self.session, &self.bed, &whole)? {
                    Some(holds) => holds,
                    None => self.oracle.holds(&whole, &run, &self.values),
                };
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

/// Makes a list of proposals a function of an index.
fn each(rewrite: impl Fn(&Gist) -> Vec<Gist>) -> impl Fn(&Gist, usize) -> Option<Gist> {
    move |gist, at| rewrite(gist).into_iter().nth(at)
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
