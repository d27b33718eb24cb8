//! Functions of test support as a gist keeps them: the original's with statements left out that never ran.
//!
//! It says which line stands for which of the original, in the same place of the same statement, and puts a
//! guard where something is left out: who gets there does what the original never does, and would go on in
//! silence where that may have failed. Nothing here runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::blocks::{Class, Line, Outline, Role, Suite};

/// What stands in a gist that runs where the original never gets.
const GUARD: &str = "assert 0, 'the original never gets here'";

/// Lines of a gist, and the original's that they are, by their numbers in their outlines.
pub type Pairs = Vec<(usize, usize)>;

/// An outline, and what stands in each suite.
pub struct Tree<'a> {
    lines: &'a [Line],
    suites: BTreeMap<(usize, Suite), Vec<usize>>,
}

impl<'a> Tree<'a> {
    /// Of a file's lines.
    pub fn of(outline: &'a Outline) -> Self {
        let mut suites: BTreeMap<(usize, Suite), Vec<usize>> = BTreeMap::new();
        for (at, line) in outline.lines.iter().enumerate() {
            if let Some(place) = line.parent {
                suites.entry(place).or_default().push(at);
            }
        }
        Self { lines: &outline.lines, suites }
    }

    /// The functions that stand in no other.
    pub fn functions(&self) -> impl Iterator<Item = usize> {
        (0..self.lines.len()).filter(|&at| self.is_outer_function(at))
    }

    /// Whether one of these begins at a line.
    pub fn is_outer_function(&self, at: usize) -> bool {
        self.is_function(at) && !self.is_inner(at)
    }

    /// A line.
    pub fn line(&self, at: usize) -> &'a Line {
        &self.lines[at]
    }

    fn is_function(&self, at: usize) -> bool {
        let line = &self.lines[at];
        line.role == Role::Definition && !line.text.trim_start().starts_with("class ")
    }

    fn is_inner(&self, at: usize) -> bool {
        self.head_of(at).is_some()
    }

    /// The innermost function around a line.
    fn head_of(&self, at: usize) -> Option<usize> {
        let above = |&(at, _): &(usize, Suite)| self.lines[at].parent;
        let mut heads = std::iter::successors(self.lines[at].parent, above).map(|(at, _)| at);
        heads.find(|&at| self.is_function(at))
    }

    /// Whether anything of what a line heads was executed.
    fn did_run(&self, head: usize, ran: &dyn Fn(&Line) -> bool) -> bool {
        let inside = SUITES.into_iter().flat_map(|suite| self.suite(head, suite));
        inside.into_iter().any(|&at| ran(&self.lines[at]))
    }

    /// Whether a definition only declares types: it is an overload, and the next of its name is right behind it.
    fn is_replaced(&self, at: usize) -> bool {
        let line = &self.lines[at];
        let Some((head, suite)) = line.parent else { return false };
        let suite = self.suite(head, suite);
        let before = suite.iter().rev().skip_while(|&&other| other >= at);
        let before = before.map(|&other| &self.lines[other]);
        let mut decorators = before.take_while(|line| line.role == Role::Decorator);
        let mut behind = suite.iter().filter(|&&other| other > at);
        let next = behind.find(|&&other| self.lines[other].role != Role::Decorator);
        let next = next.map(|&other| &self.lines[other]);
        let inside = SUITES.into_iter().flat_map(|suite| self.suite(at, suite));
        decorators.any(|line| line.text.rsplit(['@', '.']).next() == Some("overload"))
            && next.is_some_and(|next| next.role == Role::Definition && next.binds == line.binds)
            && inside.into_iter().all(|&at| is_filler(&self.lines[at]))
    }

    fn suite(&self, head: usize, suite: Suite) -> &[usize] {
        self.suites.get(&(head, suite)).map_or(&[], Vec::as_slice)
    }

    /// The statements of a suite, each with where the list goes on behind what stands in it: a `try` that may go
    /// alone, since none of its handlers ran, is followed by what it tries.
    fn opened(
        &self,
        head: usize,
        suite: Suite,
        ran: &dyn Fn(&Line) -> bool,
    ) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        let mut pending: Vec<(usize, Option<usize>)> = Vec::new();
        pending.extend(self.suite(head, suite).iter().rev().map(|&at| (at, None)));
        while let Some((at, opened)) = pending.pop() {
            if let Some(number) = opened {
                all[number] = (at, all.len());
                continue;
            }
            all.push((at, all.len() + 1));
            if self.is_bare(at, ran) {
                pending.push((at, Some(all.len() - 1)));
                for suite in [Suite::Otherwise, Suite::Body] {
                    pending.extend(self.suite(at, suite).iter().rev().map(|&at| (at, None)));
                }
            }
        }
        all
    }

    /// Whether a line is a `try` that caught nothing and has nothing to do at its end.
    fn is_bare(&self, at: usize, ran: &dyn Fn(&Line) -> bool) -> bool {
        let line = &self.lines[at];
        line.role == Role::Header
            && line.text.starts_with("try")
            && self.suite(at, Suite::Handlers).iter().all(|&at| self.is_idle(at, ran))
            && self.suite(at, Suite::Finally).iter().all(|&at| !ran(&self.lines[at]))
    }

    /// Whether a handler never caught anything: at most it looked at an error, which went on.
    fn is_idle(&self, at: usize, ran: &dyn Fn(&Line) -> bool) -> bool {
        let only_looks = |text: &str| !text.contains(['(', '[', '*']) || is_tuple_of_names(text);
        let body = self.suite(at, Suite::Body);
        !ran(&self.lines[at])
            || only_looks(&self.lines[at].text)
                && body.iter().any(|at| is_told(&self.lines[*at]))
                && !body.iter().any(|at| ran(&self.lines[*at]))
    }
}

/// A function of a gist beside one of the original.
pub struct Pairing<'a> {
    own: &'a Tree<'a>,
    original: &'a Tree<'a>,
    /// Whether the original executed one of its lines.
    ran: &'a dyn Fn(&Line) -> bool,
    /// Names that the original's function imports: a gist gives them otherwise.
    imported: BTreeSet<&'a str>,
    known: HashMap<(usize, usize), Option<Pairs>>,
}

impl<'a> Pairing<'a> {
    /// Which lines are which, where the gist's function is the original's with nothing left out that ran.
    pub fn of(
        (own, at): (&'a Tree<'a>, usize),
        (original, from): (&'a Tree<'a>, usize),
        ran: &'a dyn Fn(&Line) -> bool,
    ) -> Option<Pairs> {
        let reach = original.lines[from].reach;
        let inside = |line: &&Line| reach.0 <= line.first && line.last <= reach.1;
        let imported = original.lines.iter().filter(|line| line.role == Role::Import);
        let imported = imported.filter(inside).flat_map(|line| line.binds.iter());
        let imported = imported.map(String::as_str).collect();
        let mut pairing = Self { own, original, ran, imported, known: HashMap::new() };
        pairing.line(at, from)
    }

    fn line(&mut self, own: usize, original: usize) -> Option<Pairs> {
        let (line, other) = (&self.own.lines[own], &self.original.lines[original]);
        let role = |role: Role| if role == Role::Elif { Role::If } else { role };
        if line.key != other.key || role(line.role) != role(other.role) {
            return None;
        }
        if let Some(known) = self.known.get(&(own, original)) {
            return known.clone();
        }
        let mut pairs = Some(vec![(own, original)]);
        for suite in SUITES {
            let inner = self.suite((own, original), suite);
            pairs = pairs.zip(inner).map(|(all, inner)| [all, inner].concat());
        }
        self.known.insert((own, original), pairs.clone());
        pairs
    }

    /// The gist's statements, each of which has to be one of the original's in their order.
    fn suite(&mut self, (own, original): (usize, usize), suite: Suite) -> Option<Pairs> {
        let tells = |line: &Line| !is_filler(line) && !self.is_given(line);
        let ours = self.own.suite(own, suite).iter().copied();
        let ours: Vec<usize> = ours.filter(|&at| tells(&self.own.lines[at])).collect();
        let theirs = self.original.opened(original, suite, self.ran);
        // From the end: whether the rest of the one can be the rest of the other.
        let mut fits = vec![vec![false; theirs.len() + 1]; ours.len() + 1];
        fits[ours.len()][theirs.len()] = true;
        let mut found: HashMap<(usize, usize), Pairs> = HashMap::new();
        for at in (0..=ours.len()).rev() {
            for (to, &(other, behind)) in theirs.iter().enumerate().rev() {
                let skipped = fits[at][to + 1] && self.may_go(other);
                let pairs = (at < ours.len() && fits[at + 1][behind])
                    .then(|| self.line(ours[at], other))
                    .flatten();
                fits[at][to] = skipped || pairs.is_some();
                found.extend(pairs.map(|pairs| ((at, to), pairs)));
            }
        }
        if !fits[0][0] {
            // Whatever stands for what never ran: a guard keeps all from it.
            let lines = theirs.iter().map(|(at, _)| self.original.line(*at));
            let is_guarded = lines.clone().any(is_told) && !lines.clone().any(self.ran);
            return is_guarded.then(Pairs::new);
        }
        let (mut at, mut to, mut pairs) = (0, 0, Pairs::new());
        while let Some(&(other, behind)) = theirs.get(to) {
            let skips = fits[at][to + 1] && self.may_go(other);
            match found.remove(&(at, to)) {
                Some(inner) if !skips || (self.ran)(&self.original.lines[other]) => {
                    pairs.extend(inner);
                    (at, to) = (at + 1, behind);
                }
                _ => to += 1,
            }
        }
        Some(pairs)
    }

    /// Whether a gist may lack a line: nobody ran it, or it does nothing by itself.
    fn may_go(&self, at: usize) -> bool {
        let line = &self.original.lines[at];
        if line.role == Role::Definition {
            return !self.original.did_run(at, self.ran) || self.original.is_replaced(at);
        }
        if let Some(shared) = shared(line) {
            return !self.is_bound(at, &shared);
        }
        line.class == Class::Inert
            || !(self.ran)(line)
            || is_filler(line)
            || self.is_given(line)
            || self.original.is_bare(at, self.ran)
    }

    /// Whether a line that ran gives one of some names to something, in the function around a line.
    fn is_bound(&self, at: usize, names: &[&str]) -> bool {
        let around = self.original.head_of(at).map_or(&[][..], |head| {
            let reach = self.original.lines[head].reach;
            let end = self.original.lines.partition_point(|line| line.first <= reach.1);
            &self.original.lines[head..end]
        });
        let binds = |line: &Line| line.binds.iter().any(|name| names.contains(&name.as_str()));
        around.iter().any(|line| binds(line) && (self.ran)(line))
    }

    /// Whether a line gives a name that the original imports.
    fn is_given(&self, line: &Line) -> bool {
        let is_imported = |name: &String| self.imported.contains(name.as_str());
        line.role == Role::Import || line.alias && line.binds.iter().all(is_imported)
    }
}

/// Whether a handler names what it catches in a row: nothing is called to know it.
fn is_tuple_of_names(handler: &str) -> bool {
    let row = handler.strip_prefix("except (").and_then(|rest| rest.split_once(')'));
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ',' | ' ');
    row.is_some_and(|(names, rest)| names.chars().all(is_of_name) && !rest.contains(['(', '[']))
}

const SUITES: [Suite; 4] = [Suite::Body, Suite::Handlers, Suite::Otherwise, Suite::Finally];

/// The names that a line says to be others'.
fn shared(line: &Line) -> Option<Vec<&str>> {
    let names =
        ["global ", "nonlocal "].into_iter().find_map(|word| line.text.strip_prefix(word))?;
    Some(names.split(',').map(str::trim).collect())
}

/// Whether a line does nothing, or nothing but fail.
pub fn is_filler(line: &Line) -> bool {
    matches!(line.text.as_str(), "pass" | "...") || is_guard(line)
}

/// Whether a function is one that pytest calls about its run: of those stays what ran, not what was evaluated.
pub fn is_hook(block: &str) -> bool {
    block.starts_with("pytest_")
}

/// Whether a line is a guard, which does nothing but fail.
pub fn is_guard(line: &Line) -> bool {
    line.text == GUARD
}

/// Whether Python tells when a line is executed: it drops what it need not do.
pub fn is_told(line: &Line) -> bool {
    const NEVER: [&str; 6] =
        ["if 0:", "if False:", "if None:", "while 0:", "while False:", "if not __debug__:"];
    let text = line.text.as_str();
    line.class != Class::Inert
        && !matches!(line.role, Role::Import | Role::Decorator | Role::Definition)
        && !matches!(text, "continue" | "break" | "pass" | "...")
        && !NEVER.contains(&text)
}

/// Whether sorted hits have one of a statement's.
pub fn was_hit(hits: &[u32], line: &Line) -> bool {
    let from = hits.partition_point(|hit| *hit < line.reach.0);
    hits.get(from).is_some_and(|hit| *hit <= line.reach.1)
}

/// Puts guards into the functions of a gist.
pub struct Guards<'a> {
    text: &'a str,
    /// Where lines end, without their ends.
    ends: Vec<usize>,
    found: Vec<(usize, String)>,
}

impl<'a> Guards<'a> {
    /// In a text.
    pub fn of(text: &'a str) -> Self {
        let mut ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        ends.push(text.len());
        Self { text, ends, found: Vec::new() }
    }

    /// Guards a function whose lines are known.
    pub fn add(
        &mut self,
        own: &Tree<'_>,
        original: &Tree<'_>,
        pairs: &Pairs,
        ran: &dyn Fn(&Line) -> bool,
    ) {
        let standing: HashMap<usize, usize> = pairs.iter().map(|&(own, at)| (at, own)).collect();
        let paired: BTreeSet<usize> = pairs.iter().map(|&(own, _)| own).collect();
        for &(head, from) in pairs {
            for suite in SUITES {
                let mut theirs = Vec::new();
                let opened = original.opened(from, suite, ran);
                let mut to = 0;
                while let Some(&(at, behind)) = opened.get(to) {
                    theirs.push(at);
                    to = if standing.contains_key(&at) { behind } else { to + 1 };
                }
                let is_case = |&at: &usize| {
                    let line = original.line(at);
                    line.role == Role::Except || line.text.starts_with("case ")
                };
                if theirs.is_empty() || theirs.iter().any(is_case) {
                    continue;
                }
                let left_out = |at: usize| {
                    let line = original.line(at);
                    !standing.contains_key(&at) && is_told(line) && !ran(line)
                };
                if theirs.iter().all(|at| !ran(original.line(*at))) {
                    let mut ours = own.suite(head, suite).iter();
                    let stands = |at: &usize| paired.contains(at) || is_filler(own.line(*at));
                    let told = theirs.iter().any(|at| is_told(original.line(*at)));
                    let is_other = told && !ours.all(stands);
                    if is_other || theirs.iter().any(|&at| left_out(at)) {
                        self.suite(own, head, suite);
                    }
                    continue;
                }
                for (&at, &next) in theirs.iter().zip(&theirs[1..]) {
                    if let Some(&before) = standing.get(&at).filter(|_| left_out(next)) {
                        self.behind(own.line(before));
                    }
                }
            }
        }
    }

    /// A suite of which nothing ran.
    fn suite(&mut self, own: &Tree<'_>, head: usize, suite: Suite) {
        let line = own.line(head);
        match own.suite(head, suite).first() {
            Some(first) if matches!(own.line(*first).role, Role::Simple | Role::Import) => {
                self.found.push((own.line(*first).range.0, format!("{GUARD}; ")));
            }
            Some(first) => {
                let from = self.start(own.line(*first));
                self.found.push((from, format!("{}{GUARD}\n", self.indent(from))));
            }
            None if suite == Suite::Otherwise && !line.text.starts_with("try") => {
                self.line_after(line, &format!("else: {GUARD}"));
            }
            None => {}
        }
    }

    fn behind(&mut self, line: &Line) {
        match line.role {
            Role::Simple => self.found.push((line.range.1, format!("; {GUARD}"))),
            _ => self.line_after(line, GUARD),
        }
    }

    /// Where the physical line of a statement begins.
    fn start(&self, line: &Line) -> usize {
        (line.first as usize).checked_sub(2).map_or(0, |before| self.ends[before] + 1)
    }

    fn indent(&self, from: usize) -> &'a str {
        let rest = &self.text[from..];
        &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
    }

    /// A line of its own behind a statement, as far in.
    fn line_after(&mut self, line: &Line, text: &str) {
        let indent = self.indent(self.start(line));
        let end = self.ends[(line.reach.1 as usize).saturating_sub(1).min(self.ends.len() - 1)];
        self.found.push((end, format!("\n{indent}{text}")));
    }

    /// The text with them.
    pub fn done(mut self) -> String {
        // What is put to the same place stands as deep as it was found, the innermost first; of those as deep what
        // belongs to the statement before comes before what follows it.
        self.found.sort_by_key(|(at, text)| {
            (*at, std::cmp::Reverse(indent(text)), !text.trim_start().starts_with("else:"))
        });
        self.found.dedup();
        let mut out = String::with_capacity(self.text.len());
        let mut done = 0;
        for (at, text) in self.found {
            out.push_str(&self.text[done..at]);
            out.push_str(&text);
            done = at;
        }
        out.push_str(&self.text[done..]);
        out
    }
}

fn indent(text: &str) -> usize {
    // What stays on the line comes first.
    text.strip_prefix('\n').map_or(usize::MAX, |line| line.len() - line.trim_start().len())
}

#[cfg(test)]
#[path = "pruning_tests.rs"]
mod tests;
