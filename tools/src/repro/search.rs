//! The search for a smaller repro: its steps, its proposals, and the runs that decide about them.
//!
//! A step ends with a gist that a cold run confirmed, or not at all.

use std::collections::BTreeSet;

use graph::{
    Arrangement, Gist, GistLine, Reduction, direct_calls, halved_parameters, imported_modules,
    inlined_fixtures, laid_out, unwrapped, with_joined_brackets, without_annotations,
    without_bases, without_choices, without_decorators, without_elements, without_imports,
    without_large_lists, without_name, without_parameters, without_string_lines,
    without_unread_names, without_unread_parameters,
};

use super::{
    Stop, Work,
    bed::{Bed, FileRun},
    complete,
};
use crate::{command::TestId, progress::Progress, tool::ToolError};

/// Proposals that are accepted by runs by fork alone before a cold run confirms them.
const OFTEN: usize = 16;

/// A gist is traced again when it has lost this part of its lines, as one of so many: a trace takes as long as several proposals.
const TRACED_AGAIN: usize = 4;

/// Proposals for annotations before statements are removed: all, both halves and the quarters.
const COARSE: usize = 7;

/// The end of a trial of several proposals.
struct JudgedProposals {
    /// The index of the last proposal that was judged; all before it are refused.
    last: usize,
    /// True if that one holds.
    holds: bool,
}

impl Work<'_> {
    /// Makes the gist smaller as long as it fails in the same way, until nothing more can go.
    pub(super) fn reduce(&mut self) -> Result<(), Stop> {
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
        self.step("unmentioned definitions", Self::drop_unmentioned)?;
        self.step("packages", Self::drop_packages)?;
        self.step("halves of parameters", |work| work.rewrite(each(halved_parameters)))?;
        self.step("annotations", |work| {
            work.rewrite(|gist, at| without_annotations(gist, at).filter(|_| at < COARSE))
        })?;
        self.step("fixtures and runner", Self::simplify)?;
        self.step("large lists", |work| work.rewrite(without_large_lists))?;
        self.step("statements", Self::statements)?;
        // Statements may have no further use once a parameter or a block is gone, and the other way round.
        loop {
            let before = self.gist.text.clone();
            self.step("blocks", Self::unwrap_blocks)?;
            self.step("annotations", |work| work.rewrite(without_annotations))?;
            self.step("unread parameters", |work| work.rewrite(without_unread_parameters))?;
            self.step("names", |work| work.rewrite(without_name))?;
            self.step("elements", |work| work.rewrite(without_elements))?;
            self.step("bases", |work| work.rewrite(without_bases))?;
            self.step("operands of choices", |work| work.rewrite(without_choices))?;
            self.step("lines of strings", |work| work.rewrite(without_string_lines))?;
            self.step("unread names", |work| work.rewrite(without_unread_names))?;
            self.step("decorators", |work| work.rewrite(each(without_decorators)))?;
            self.step("parameters", |work| work.rewrite(each(without_parameters)))?;
            self.step("halves of parameters", |work| work.rewrite(each(halved_parameters)))?;
            self.step("fixtures and runner", Self::simplify)?;
            let is_unchanged = self.gist.text == before;
            // Proposals may have been refused because a value varies: then they are tried again.
            if is_unchanged && self.is_patient && !self.widen_values()? {
                break;
            }
            // Statements that are likely needed are tried last.
            self.is_patient |= is_unchanged;
            self.step("statements", Self::statements)?;
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
    #[tracing::instrument(level = "debug", skip(self, step), fields(before = self.gist.lines.len(), after))]
    fn step(
        &mut self,
        removes: &str,
        step: impl Fn(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let (before, tried) = (self.gist.lines.len(), self.tried);
        let mut ended = self.confirmed_step(&step);
        // All proposals are refused once the gist itself no longer holds.
        let is_unchanged = self.gist.lines.len() == before && self.tried > tried;
        if ended.is_ok() && is_unchanged && self.widen_values()? {
            ended = self.confirmed_step(&step);
        }
        tracing::Span::current().record("after", self.gist.lines.len());
        ended
    }

    fn confirmed_step(&mut self, step: impl Fn(&mut Self) -> Result<(), Stop>) -> Result<(), Stop> {
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
        if self.holds_cold(&gist)? || self.widen_values()? && self.holds_cold(&gist)? {
            self.confirmed = gist;
            return Ok(());
        }
        self.gist = self.confirmed.clone();
        self.is_forking = false;
        Err(Stop::Unconfirmed)
    }

    /// Lays the gist out for its readers, whatever time is left.
    fn tidy(&mut self) -> Result<(), Stop> {
        // A file that runs elsewhere, or after the failure is mended, says which lines are missing.
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
    pub(super) fn renew_bed(&mut self) -> Result<(), ToolError> {
        self.bed = Bed::new(self.session, &self.inventory, &self.packages())?
            .with_values(self.oracle.has_values());
        Ok(())
    }

    /// The distributions that the gist needs in its form.
    pub(super) fn packages(&self) -> BTreeSet<String> {
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

    /// Takes out definitions that nothing mentions, such as other tests: they make every further run longer.
    fn drop_unmentioned(&mut self) -> Result<(), Stop> {
        let names = self.oracle.case().map(|case| case.names).unwrap_or_default();
        let whole = |_: &GistLine, _: Option<&str>| false;
        let mut reduction = Reduction::new(self.gist.clone(), &whole).with_mentioned(&names);
        if self.time_left().is_zero() {
            return Err(Stop::TimeLimit);
        }
        let traced = self.bed.trace_gist(self.session, &self.gist, &self.form)?;
        if let Some(file) = traced {
            reduction = reduction.with_executed(&|line| file.executed(line as u32 + 1));
        }
        while let Some(proposal) = reduction.propose_unmentioned() {
            match self.accepts(proposal)? {
                true => reduction.accept(),
                false => reduction.reject(),
            }
        }
        Ok(())
    }

    /// Takes out one statement after the other, until none of those that are left can go. Before the end of the search it tries
    /// no single statement that binds what an executed line reads.
    fn statements(&mut self) -> Result<(), Stop> {
        let whole = |_: &GistLine, _: Option<&str>| false;
        let names = self.oracle.case().map(|case| case.names).unwrap_or_default();
        let mut reduction = Reduction::new(self.gist.clone(), &whole).with_mentioned(&names);
        if !self.is_patient {
            reduction = reduction.without_unlikely();
        }
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
        let runs = self.bed.run_forked(self.session, gists, &self.form, self.is_patient)?;
        let verdict = |(gist, run): (&Gist, Option<FileRun>)| {
            let Some(run) = run else { return Ok(None) };
            let holds = self.fails_alike(gist, &run)?;
            if !holds {
                let last = run.execution.stderr.trim_end().lines().next_back();
                tracing::trace!(
                    lines = gist.lines.len(),
                    end = last.unwrap_or_default(),
                    "refused"
                );
            }
            if holds {
                self.bed.note_held(&run);
            }
            Ok(Some(holds))
        };
        gists.iter().zip(runs).map(verdict).collect()
    }

    pub(super) fn fails_alike(&self, gist: &Gist, run: &FileRun) -> Result<bool, Stop> {
        match run.interrupted() {
            true => Err(Stop::Interrupted),
            false => Ok(match self.oracle.run_user_program(self.session, &self.bed, gist)? {
                Some(holds) => holds,
                None => self.oracle.holds(gist, run, &self.values),
            }),
        }
    }
}

/// Makes a list of proposals a function of an index.
fn each(rewrite: impl Fn(&Gist) -> Vec<Gist>) -> impl Fn(&Gist, usize) -> Option<Gist> {
    move |gist, at| rewrite(gist).into_iter().nth(at)
}
