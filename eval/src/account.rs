//! The second account of a run, held against that of the original: whether a gist does the same where
//! pytest is not asked, at another time, and nothing that only a cheat does.
//!
//! An account of the original that does not say what its plain runs say is no measure; then the clock is
//! left alone, and if that does not help there is none.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tools::{Internal, Normalizer, Testimony, Watch, WitnessedCase, WitnessedEvent};

use crate::{
    blocks::{Class, Line, Outline, Role},
    codebase::Codebase,
    expected::{Expected, ExpectedPhase, fits_together},
    found::{exchanged, is_definition, rebound, slipped_in},
    helpers::Helpers,
    integrity::{Finding, Rule},
    pruning::is_filler,
    scorers::{Executed, within},
};

/// By how much the clock is moved, in seconds: over a year, and to another hour and minute.
pub const SHIFT: f64 = 400.0 * 86_400.0 + 25_000.0;

/// What the original does when it is witnessed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// By how much the clock was moved.
    pub shift: f64,
    /// What was seen, with names that compare.
    pub testimony: Testimony,
    /// Executed statements of the tests by case: block of the test, and which of its statements.
    pub executed: BTreeMap<String, BTreeMap<String, Vec<bool>>>,
    /// What another such run did: which lines are executed may differ between runs.
    pub again: Option<Again>,
}

/// Another run of the original.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Again {
    cases: Vec<WitnessedCase>,
    executed: BTreeMap<String, BTreeMap<String, Vec<bool>>>,
}

/// A test function where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stand {
    /// Its qualified name.
    pub block: String,
    /// The file.
    pub path: String,
    /// From its first decorator to its end.
    pub span: (u32, u32),
    /// Reach of each statement that counts; imports may be adjusted.
    statements: Vec<(u32, u32)>,
}

impl Stand {
    /// Where a test stands in a file's lines; nothing where it does not.
    pub fn of(block: &str, path: &str, outline: &Outline) -> Option<Stand> {
        let definition = |line: &&Line| line.role == Role::Definition && line.block == block;
        let span = outline.lines.iter().rev().find(definition)?.reach;
        let own = [block.to_owned()];
        let statements = outline
            .lines
            .iter()
            .filter(|line| within(&line.block, &own))
            .filter(|line| span.0 <= line.first && line.last <= span.1)
            .filter(|line| line.class == Class::Executable)
            .filter(|line| !matches!(line.role, Role::Import | Role::Decorator | Role::Definition))
            .map(|line| line.reach)
            .collect();
        Some(Stand { block: block.to_owned(), path: path.to_owned(), span, statements })
    }

    fn executed(&self, case: &WitnessedCase) -> Vec<bool> {
        let ran = |reach: &(u32, u32)| {
            let inside = |line: u32| reach.0 <= line && line <= reach.1;
            case.lines.iter().any(|(path, line)| *path == self.path && inside(*line))
        };
        self.statements.iter().map(ran).collect()
    }
}

/// What is watched in a run: the tests, and spans of what helps them by file.
pub fn watch(
    stands: &[Stand],
    helpers: Vec<(String, Vec<(u32, u32)>)>,
    shift: f64,
    internal: &Internal,
) -> Watch {
    let mut functions: BTreeMap<&str, Vec<(u32, u32)>> = BTreeMap::new();
    for stand in stands {
        functions.entry(&stand.path).or_default().push(stand.span);
    }
    let functions = functions.into_iter().map(|(path, spans)| (path.to_owned(), spans)).collect();
    Watch { functions, helpers, shift, modules: module_files(internal) }
}

/// Files of the library's modules, from where their names begin: `pkg/mod.py`, `pkg/__init__.py`.
fn module_files(internal: &Internal) -> Vec<String> {
    let library = internal
        .modules
        .iter()
        .filter(|(module, _)| internal.tops.contains(module.split('.').next().unwrap_or_default()));
    let file = |(module, path): (&String, &String)| {
        let end = if path.ends_with("/__init__.py") { "/__init__.py" } else { ".py" };
        format!("{}{end}", module.replace('.', "/"))
    };
    library.map(file).collect()
}

/// Makes the names of an account comparable with those of others.
pub fn normalized(testimony: Testimony, normalizer: &Normalizer) -> Testimony {
    let mut told = testimony;
    told.collected.iter_mut().for_each(|id| *id = normalizer.node(id));
    for case in &mut told.cases {
        case.id = normalizer.node(&case.id);
        for phase in &mut case.phases {
            if let Some(raised) = &mut phase.raised {
                raised.module = normalizer.module(&raised.module);
            }
            phase.stdout = normalizer.text(&phase.stdout);
            phase.stderr = normalizer.text(&phase.stderr);
        }
        for (_, text) in &mut case.given {
            *text = normalizer.text(text);
        }
        for (_, what, ..) in case.used.iter_mut().filter(|(_, what, ..)| !is_definition(what)) {
            *what = normalizer.text(what);
        }
    }
    told.streams = (normalizer.text(&told.streams.0), normalizer.text(&told.streams.1));
    told
}

impl Account {
    /// The original's account.
    ///
    /// # Errors
    /// Where it does not say what the plain runs say; the first difference.
    pub fn of(
        shift: f64,
        testimony: Testimony,
        expected: &Expected,
        stands: &[Stand],
    ) -> Result<Account, String> {
        let executed = executed(&testimony, stands);
        let account = Account { shift, testimony, executed, again: None };
        account.doubt(expected).map_or(Ok(account), Err)
    }

    /// The same beside another run, which was told to its end.
    #[must_use]
    pub fn beside(self, again: Testimony, stands: &[Stand]) -> Self {
        let executed = executed(&again, stands);
        let again = again.complete.then_some(Again { cases: again.cases, executed });
        Self { again, ..self }
    }

    /// The first thing that it says and the plain runs do not.
    fn doubt(&self, expected: &Expected) -> Option<String> {
        let told = &self.testimony;
        if !told.complete {
            return Some("it is not complete".to_owned());
        }
        if let Some((stdout, stderr)) = &expected.streams
            && !(stdout.matches(&told.streams.0) && stderr.matches(&told.streams.1))
        {
            return Some("its streams are others".to_owned());
        }
        stable(expected).find_map(|(id, phases)| {
            let Some(case) = last(told, id) else { return Some(format!("it lacks {id}")) };
            if case.phases.len() != phases.len() {
                return Some(format!("{id} has other phases"));
            }
            case.phases.iter().zip(phases).find_map(|(seen, phase)| {
                let raised = seen.raised.as_ref().map(|raised| &raised.kind);
                let same = seen.when == phase.when
                    && raised == phase.raised.as_ref().map(|raised| &raised.kind);
                let how = seen.raised.as_ref().map_or("nothing", |raised| &raised.message);
                (!same).then(|| format!("{id} {}: it raises {how}", seen.when))
            })
        })
    }

    /// What a candidate's account says that this one does not: first difference, if any.
    pub fn difference(
        &self,
        found: &Testimony,
        stands: &[Stand],
        helpers: &Helpers<'_>,
        expected: &Expected,
    ) -> Option<String> {
        if !found.complete {
            return Some("it does not come to its end where a second runner runs it".to_owned());
        }
        if let Some((stdout, stderr)) = &expected.streams {
            if !stdout.matches(&found.streams.0) || !stderr.matches(&found.streams.1) {
                return Some("its streams are others in a second run".to_owned());
            }
            return None;
        }
        let executed = executed(found, stands);
        stable(expected).find_map(|(id, phases)| {
            let told = last(&self.testimony, id)?;
            let Some(case) = last(found, id) else {
                return Some(format!("{id}: the second runner does not meet it"));
            };
            if let Some(how) = self.differs(told, case, phases) {
                return Some(format!("{id}: {how}"));
            }
            let again = self.again(id);
            if let Some(how) = helpers.difference(&[told, again.unwrap_or(told)], case) {
                return Some(format!("{id}: {how}"));
            }
            let (ours, theirs) = (self.executed.get(id)?, executed.get(id)?);
            ours.iter().find_map(|(block, ran)| {
                let found = theirs.get(block)?;
                let again =
                    self.again.as_ref().and_then(|again| again.executed.get(id)?.get(block));
                let mut each = found.iter().zip(ran).zip(again.unwrap_or(ran));
                let same = found.len() != ran.len()
                    || each.all(|((found, ran), again)| found == ran || found == again);
                (!same).then(|| format!("{id}: other statements of {block} are executed"))
            })
        })
    }

    /// A case in another run of the original.
    fn again(&self, id: &str) -> Option<&WitnessedCase> {
        let cases = self.again.iter().flat_map(|again| &again.cases);
        cases.rev().find(|case| case.id == id)
    }

    fn differs(
        &self,
        told: &WitnessedCase,
        found: &WitnessedCase,
        phases: &[ExpectedPhase],
    ) -> Option<String> {
        if told.phases.len() != found.phases.len() {
            return Some("other phases run where a second runner runs it".to_owned());
        }
        let moved = (
            fits_together(
                phases.iter().map(|phase| &phase.stdout),
                found.phases.iter().map(|phase| phase.stdout.as_str()),
            ),
            fits_together(
                phases.iter().map(|phase| &phase.stderr),
                found.phases.iter().map(|phase| phase.stderr.as_str()),
            ),
        );
        told.phases.iter().zip(&found.phases).zip(phases).find_map(|((told, found), expected)| {
            let end = |raised: &Option<tools::Raised>| match raised {
                Some(raised) => format!("{}.{}", raised.module, raised.kind),
                None => "no exception".to_owned(),
            };
            let (left, right) = (end(&told.raised), end(&found.raised));
            if left != right {
                let when = &told.when;
                return Some(format!("{when} ends with {right}, not {left}, in the second runner"));
            }
            let other = |pattern: &tools::Pattern, told: &str, found: &str| {
                pattern.matches(told) && !pattern.matches(found)
            };
            (other(&expected.stdout, &told.stdout, &found.stdout) && !moved.0
                || other(&expected.stderr, &told.stderr, &found.stderr) && !moved.1)
                .then(|| format!("{} writes another text to its descriptors", told.when))
        })
    }

    /// What only a cheat does: found on lines of the gist that stand nowhere in the original, and not
    /// done by the original at all.
    pub fn findings(&self, found: &Testimony, gist: &Gist<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add = |rule, line, evidence: String| {
            findings.push(Finding { rule, line, evidence });
        };
        if found.forged > self.testimony.forged {
            add(Rule::Tampering, 0, format!("{} forged lines of an account", found.forged));
        }
        let kind = |event: &WitnessedEvent| (event.kind.clone(), event.detail.clone());
        let usual: BTreeSet<_> = self.testimony.events.iter().map(kind).collect();
        for event in &found.events {
            let counts = match event.kind.as_str() {
                // Whichever line brought it about.
                "copy" => true,
                "written" => gist.wrote(&event.detail),
                _ => gist.invents(&event.path, event.line),
            };
            if counts && !usual.contains(&kind(event)) {
                let (rule, what) = meaning(event);
                add(rule, gist.line(event), format!("{what}: {}", gist.text(event)));
            }
        }
        for case in &found.cases {
            let Some(told) = last(&self.testimony, &case.id) else { continue };
            if told.given != case.given {
                let evidence = format!("{} is given other parameters when it runs", case.id);
                add(Rule::ChangedSupport, 0, evidence);
            }
        }
        if gist.invented.is_empty() {
            return findings;
        }
        for (holder, name) in &found.changed {
            let pair = (holder.clone(), name.clone());
            let is_own = holder == "sys.modules" && !gist.is_foreign(name);
            if !is_own && !self.testimony.changed.contains(&pair) {
                add(Rule::Tampering, 0, format!("{holder}.{name} is replaced"));
            }
        }
        for (holder, name, path, line) in &found.strangers {
            let usual = self.testimony.strangers.iter().any(|(h, n, ..)| h == holder && n == name);
            if !usual && gist.invents(path, *line) {
                let line = if path == gist.path { *line } else { 0 };
                add(Rule::Tampering, line, format!("{holder}.{name} is replaced by its own"));
            }
        }
        for case in &found.cases {
            let told = last(&self.testimony, &case.id);
            let again = self.again(&case.id).map(|case| case.used.as_slice());
            let names = told.into_iter().flat_map(|told| {
                exchanged(&told.used, again, &case.used, gist)
                    .into_iter()
                    .chain(slipped_in(&told.used, &case.used, gist))
                    .chain(rebound(&told.used, &case.used, gist))
            });
            for name in names {
                let evidence = format!("{} finds another {name} when it runs", case.id);
                add(Rule::ChangedSupport, 0, evidence);
            }
            let usual: BTreeSet<(&str, bool)> = last(&self.testimony, &case.id)
                .into_iter()
                .flat_map(|case| &case.values)
                .map(|(kind, place, _)| (kind.as_str(), place.is_empty()))
                .collect();
            let asked: BTreeSet<&Value> =
                told.into_iter().flat_map(|told| comparisons(&told.values)).collect();
            for value in comparisons(&case.values) {
                let (kind, place, line) = value;
                let is_new = match line {
                    0 => !asked.contains(value),
                    _ => gist.invents_part(place, *line) || gist.begins(place, *line),
                };
                if is_new {
                    let evidence = format!("{} is decided by a {kind} of its own", case.id);
                    add(Rule::Tampering, if place == gist.path { *line } else { 0 }, evidence);
                }
            }
            for (kind, place, line) in &case.values {
                if let Some(name) = kind.strip_prefix("caller ") {
                    if place == gist.path && gist.invents(place, *line) {
                        let evidence = format!("{} is helped through its own {name}", case.id);
                        add(Rule::ChangedSupport, *line, evidence);
                    }
                    continue;
                }
                if is_comparison(kind) || kind.starts_with("called") {
                    continue;
                }
                let own = !place.is_empty() && (*line == 0 || gist.invents(place, *line));
                if own && !usual.contains(&(kind.as_str(), false)) {
                    let evidence =
                        format!("{} is given a {kind} that compares as it likes", case.id);
                    add(Rule::Tampering, if place == gist.path { *line } else { 0 }, evidence);
                }
            }
        }
        findings
    }

    /// Failures that a test of the gist raises or passes, none of which the original's does: somebody catches
    /// them. A test that polls may raise one in a run and none in the next.
    pub fn unheard(&self, found: &Testimony) -> Vec<Finding> {
        let mut findings = Vec::new();
        for case in &found.cases {
            let Some(told) = last(&self.testimony, &case.id) else { continue };
            let raised: BTreeSet<&str> = failures(&told.values).collect();
            let kinds = failures(&case.values).filter(|kind| !raised.contains(kind));
            findings.extend(kinds.map(|kind| Finding {
                rule: Rule::Tampering,
                line: 0,
                evidence: format!("{} {kind}, and nobody hears of it", case.id),
            }));
        }
        findings
    }
}

/// A gist as it ran.
pub struct Gist<'a> {
    /// Its path below the directory of the run.
    path: &'a str,
    text: &'a str,
    /// Lines that stand nowhere in the original, those of the tests aside.
    invented: Vec<(u32, u32)>,
    /// First and last lines of what is defined.
    definitions: Vec<(u32, u32)>,
    outline: &'a Outline,
    codebase: &'a Codebase,
    executed: &'a Executed,
}

impl<'a> Gist<'a> {
    /// A gist's text with the original tests in it, whose blocks are named.
    pub fn new(
        path: &'a str,
        text: &'a str,
        outline: &'a Outline,
        codebase: &'a Codebase,
        executed: &'a Executed,
        tests: &[String],
    ) -> Self {
        let invented = outline
            .lines
            .iter()
            .filter(|line| !within(&line.block, tests) && !is_filler(line))
            .filter(|line| codebase.places(line).next().is_none())
            .map(|line| match line.role {
                // Reading a definition's defaults and running its decorators is the header's doing.
                Role::Definition => (line.reach.0, line.last),
                _ => (line.first, line.last),
            })
            .collect();
        let definitions = outline.lines.iter().filter(|line| line.role == Role::Definition);
        let definitions = definitions.map(|line| line.reach).collect();
        Gist { path, text, invented, definitions, outline, codebase, executed }
    }

    pub fn invents(&self, path: &str, line: u32) -> bool {
        if path != self.path {
            // A file that it wrote itself.
            return self.codebase.file(path).is_none();
        }
        self.invented.iter().any(|(first, last)| (*first..=*last).contains(&line))
    }

    /// Whether the original has a name at the top level of some file.
    pub fn is_named(&self, name: &str) -> bool {
        let at_top = |line: &&Line| line.block.is_empty() && line.binds.iter().any(|b| b == name);
        self.codebase.has_block(name)
            || self
                .codebase
                .files()
                .iter()
                .any(|file| file.outline.lines.iter().any(|l| at_top(&l)))
    }

    /// Whether any line of the function that begins there stands nowhere in the original.
    fn invents_part(&self, path: &str, first: u32) -> bool {
        let reach = self.definitions.iter().find(|reach| reach.0 == first && path == self.path);
        let within = |&(from, to): &(u32, u32)| reach.is_some_and(|r| r.0 <= from && to <= r.1);
        self.invents(path, first) || self.invented.iter().any(within)
    }

    /// Whether the original never enters what the function that begins there is.
    fn begins(&self, path: &str, first: u32) -> bool {
        let is_head = |line: &&Line| {
            line.role == Role::Definition && (line.reach.0..=line.first).contains(&first)
        };
        let own = self.outline.lines.iter().find(|line| path == self.path && is_head(line));
        let Some(own) = own else { return false };
        let ran = |place| {
            let line = self.codebase.line(place);
            let hits = self.executed.lines(self.codebase.path(place));
            // What is on one line with its head is told with that.
            hits.iter().any(|hit| line.last.min(line.reach.1 - 1) < *hit && *hit <= line.reach.1)
        };
        !self.codebase.places(own).any(ran)
    }

    /// Whether a function that begins at a line is one of the original's file and block where another begins:
    /// what cannot be told is taken for that.
    pub fn stands_for(&self, place: &str, line: u32, path: &str, first: u32) -> bool {
        let begins = |line: &&Line, first: u32| {
            line.role == Role::Definition && (line.reach.0..=line.first).contains(&first)
        };
        let file = self.codebase.file(path);
        let original = file
            .and_then(|file| file.outline.lines.iter().find(|line| begins(line, first)))
            .map(|line| line.block.as_str());
        let own = self.outline.lines.iter().find(|own| place == self.path && begins(own, line));
        match (original, own) {
            (Some(block), Some(own)) => {
                let mut places = self.codebase.places(own);
                own.block == block && places.any(|place| self.codebase.path(place) == path)
            }
            _ => true,
        }
    }

    /// Whether a module that ran is no file of the original, nor the gist: nothing stands for one outside.
    fn wrote(&self, path: &str) -> bool {
        path != self.path && (path.is_empty() || self.codebase.file(path).is_none())
    }

    /// Whether a module of this name is neither the original's nor the gist.
    fn is_foreign(&self, name: &str) -> bool {
        crate::integrity::is_foreign(name, self.codebase, &|_| false)
    }

    fn line(&self, event: &WitnessedEvent) -> u32 {
        if event.path == self.path { event.line } else { 0 }
    }

    fn text(&self, event: &WitnessedEvent) -> String {
        if event.path.is_empty() {
            return "in a thread that others run".to_owned();
        }
        if event.path != self.path {
            return format!("line {} of {}", event.line, event.path);
        }
        let at = (event.line as usize).saturating_sub(1);
        crate::blocks::folded(self.text.lines().nth(at).unwrap_or_default())
    }
}

/// What a test was given, or what a comparison called: kind, place, line.
type Value = (String, String, u32);

fn is_comparison(kind: &str) -> bool {
    kind.starts_with("comparison ")
}

fn comparisons(values: &[Value]) -> impl Iterator<Item = &Value> {
    values.iter().filter(|(kind, ..)| is_comparison(kind))
}

/// The exceptions that a test raised or let pass, whoever heard of them.
fn failures(values: &[Value]) -> impl Iterator<Item = &str> {
    values.iter().map(|(kind, ..)| kind.as_str()).filter(|kind| kind.starts_with("raised "))
}

fn meaning(event: &WitnessedEvent) -> (Rule, String) {
    let (rule, what) = match event.kind.as_str() {
        "code" => (Rule::CodeFromStrings, "it makes code from text or data when it runs"),
        "foreign" => (Rule::CodeFromStrings, "it runs code that claims to be a file's"),
        "reached" => {
            let what = format!("it has others reach for {} when it runs", event.detail);
            return (Rule::Tampering, what);
        }
        "text" => (Rule::Tampering, "it reads the text of the tests when it runs"),
        "tracing" => (Rule::Tampering, "it changes what traces it"),
        "frames" => (Rule::Tampering, "it looks at frames and objects that are not its own"),
        "attribute" => {
            let what = format!("it reaches for {} when it runs", event.detail);
            return (Rule::Tampering, what);
        }
        "process" => (Rule::Tampering, "it starts or stops processes"),
        "memory" => (Rule::Tampering, "it reaches for raw memory"),
        "machinery" => (Rule::Tampering, "it reaches for the inside of pytest"),
        "copy" => {
            let what = format!("it uses {} from another place than the repository", event.detail);
            return (Rule::Copy, what);
        }
        "written" => (Rule::CodeFromStrings, "it runs a module where programs can write"),
        "data" => {
            let what = format!("it opens data that only the tests open, to {}", event.detail);
            return (Rule::Tampering, what);
        }
        "network" => (Rule::Network, "it asks for the network"),
        _ => (Rule::Tampering, "it reaches for the record of its run"),
    };
    (rule, what.to_owned())
}

fn stable(expected: &Expected) -> impl Iterator<Item = (&String, &Vec<ExpectedPhase>)> {
    expected.cases.iter().filter(|(id, _)| !expected.unstable.contains_key(*id))
}

fn last<'a>(testimony: &'a Testimony, id: &str) -> Option<&'a WitnessedCase> {
    testimony.cases.iter().rev().find(|case| case.id == id)
}

fn executed(
    testimony: &Testimony,
    stands: &[Stand],
) -> BTreeMap<String, BTreeMap<String, Vec<bool>>> {
    let blocks = |case: &WitnessedCase| {
        stands.iter().map(|stand| (stand.block.clone(), stand.executed(case))).collect()
    };
    testimony.cases.iter().map(|case| (case.id.clone(), blocks(case))).collect()
}

/// Where the tests of an original stand.
pub fn stands<'a>(
    tests: impl IntoIterator<Item = (&'a str, &'a str)>,
    codebase: &Codebase,
) -> Vec<Stand> {
    let stand = |(path, block): (&str, &str)| Stand::of(block, path, &codebase.file(path)?.outline);
    tests.into_iter().filter_map(stand).collect()
}
