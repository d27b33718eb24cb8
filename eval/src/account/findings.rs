//! What a gist did that only a cheat does.

use super::*;
use crate::integrity::tells_home;

impl Account {
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
                let evidence =
                    format!("{} is given other parameters or examples when it runs", case.id);
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
    /// A gist's text with the original tests in it, whose blocks are named; which modules are the repository's own.
    pub fn new(
        path: &'a str,
        text: &'a str,
        outline: &'a Outline,
        codebase: &'a Codebase,
        executed: &'a Executed,
        tests: &[String],
        is_internal: &dyn Fn(&str) -> bool,
    ) -> Self {
        // A name that the gist had to change because of a collision is changed back before judging.
        let plain = Outline::of(&without_aliases(text, Places::Names, None)).lines;
        let plain = Some(plain).filter(|plain| plain.len() == outline.lines.len());
        let stands = |line: &Line| {
            codebase.places(line).next().is_some() || tells_home(line, codebase, is_internal)
        };
        let invented = outline
            .lines
            .iter()
            .enumerate()
            .filter(|(_, line)| !within(&line.block, tests) && !is_filler(line))
            .filter(|(at, line)| {
                !stands(line) && !plain.as_ref().is_some_and(|plain| stands(&plain[*at]))
            })
            .map(|(_, line)| match line.role {
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
