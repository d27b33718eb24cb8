//! Learns from one run of a gist: its executed lines, and the stubs that were called.
//!
//! It prepares the text and reads the records; the caller executes it.

use std::collections::BTreeSet;

use graph::{ExecutedFile, FileTrace, Gist, GistLine, LineOrigin, Place, Plan, Trace};

/// Variable that names the file to which the probe appends.
pub const PROBE_VARIABLE: &str = "GISTIFY_PROBE";

const PROBE: &str = include_str!("probe.py");

/// A gist that reports which of its uncalled methods something asks for.
#[derive(Debug, Clone)]
pub struct Probed {
    /// The text to run in the gist's place.
    pub text: String,
    /// For each of its lines the gist's line (from 0) that it stands for; none for the probe's own.
    lines: Vec<Option<usize>>,
}

/// The facts learned from a run of a gist.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Learned {
    /// Executed lines and entered functions, by original file.
    pub executed: Vec<ExecutedFile>,
    /// Uncalled methods that were asked for.
    pub asked: Vec<Place>,
    /// Modules from outside that only the tests loaded.
    pub late: Vec<String>,
}

impl Learned {
    /// Executed lines, each with its file.
    pub(crate) fn executed_lines(&self) -> impl Iterator<Item = (&str, u32)> {
        self.executed.iter().flat_map(|one| one.lines.iter().map(|line| (one.path.as_str(), *line)))
    }

    /// Takes whatever the original executed for executed, in the place of what was seen.
    pub fn assume(&mut self, original: &Trace) {
        let executed = |file: &FileTrace| {
            let both: BTreeSet<u32> =
                file.import_lines.iter().chain(&file.test_lines).copied().collect();
            let functions: BTreeSet<u32> = file.functions.iter().map(|one| one.line).collect();
            ExecutedFile {
                path: file.path.clone(),
                lines: both.into_iter().collect(),
                functions: functions.into_iter().collect(),
                ..ExecutedFile::default()
            }
        };
        self.executed = original.files.iter().map(executed).collect();
    }
}

impl Probed {
    /// Puts a probe above every stub of a plan.
    pub fn new(gist: &Gist, plan: &Plan) -> Self {
        Self::at(gist, &plan.stubs)
    }

    /// Returns the gist without probes: its run still shows the needed lines.
    pub fn without(gist: &Gist) -> Self {
        Self::at(gist, &[])
    }

    fn at(gist: &Gist, stubs: &[Place]) -> Self {
        let stubs: BTreeSet<&Place> = stubs.iter().collect();
        let mut text: Vec<String> = Vec::new();
        let mut lines = Vec::new();
        let mut begun = false;
        for (at, (line, entry)) in gist.text.lines().zip(&gist.lines).enumerate() {
            let future = line.starts_with("from __future__ import");
            if !begun && !future && !stubs.is_empty() {
                begun = true;
                text.extend(PROBE.lines().map(str::to_owned));
                lines.extend(PROBE.lines().map(|_| None));
            }
            let trimmed = line.trim_start();
            let opens = ["@", "def ", "async def "].iter().any(|word| trimmed.starts_with(word));
            if opens
                && let GistLine { origin: LineOrigin::Source(place), .. } = entry
                && stubs.contains(place)
            {
                let indent = &line[..line.len() - trimmed.len()];
                text.push(format!("{indent}@__gist_probe__({:?})", tag(place)));
                lines.push(Some(at));
            }
            text.push(line.to_owned());
            lines.push(Some(at));
        }
        let mut text = text.join("\n");
        text.push('\n');
        Self { text, lines }
    }

    /// The gist's line (1-based) that a line of this text stands for.
    pub fn gist_line(&self, line: u32) -> Option<u32> {
        let at = (*self.lines.get((line as usize).checked_sub(1)?)?)?;
        u32::try_from(at + 1).ok()
    }

    /// Reads what a traced run of this text did: its trace, the gist's path in it, the probe's log.
    pub fn learn(&self, gist: &Gist, trace: &Trace, path: &str, log: &str) -> Learned {
        let mut learned = Learned::default();
        let asked: BTreeSet<Place> = log.lines().filter_map(untag).collect();
        learned.asked = asked.into_iter().collect();
        learned.late.clone_from(&trace.late);
        let Some(file) = trace.file(path) else { return learned };
        let place = |line: u32| {
            let at = (*self.lines.get((line as usize).checked_sub(1)?)?)?;
            match &gist.lines.get(at)?.origin {
                LineOrigin::Source(place) => Some(place),
                LineOrigin::Glue(_) => None,
            }
        };
        let mut add = |place: &Place, function: bool| {
            let at = match learned.executed.iter().position(|one| one.path == place.path) {
                Some(at) => at,
                None => {
                    learned
                        .executed
                        .push(ExecutedFile { path: place.path.clone(), ..ExecutedFile::default() });
                    learned.executed.len() - 1
                }
            };
            let one = &mut learned.executed[at];
            if function { one.functions.push(place.line) } else { one.lines.push(place.line) }
        };
        for &line in file.import_lines.iter().chain(&file.test_lines) {
            if let Some(place) = place(line) {
                add(place, false);
            }
        }
        for function in &file.functions {
            if let Some(place) = place(function.line) {
                add(place, true);
            }
        }
        let all = file.import_lines.iter().chain(&file.test_lines);
        let ran: BTreeSet<u32> = all.filter_map(|&line| self.gist_line(line)).collect();
        // Before 3.10 no trace tells of what only jumps.
        let tells = trace.python >= (3, 10, 0);
        for one in &mut learned.executed {
            let of_file = |at: usize| match &gist.lines.get(at)?.origin {
                LineOrigin::Source(place) => (place.path == one.path).then_some(place.line),
                LineOrigin::Glue(_) => None,
            };
            one.kept = Some((0..gist.lines.len()).filter_map(of_file).collect());
            let is_idle = |at: usize, text: &str| {
                let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
                let is_glue = matches!(gist.lines[at].origin, LineOrigin::Glue(_));
                tells && is_glue && text.trim() == "pass" && !ran.contains(&number)
            };
            let texts = gist.text.lines().take(gist.lines.len()).enumerate();
            let idle = texts.filter(|(at, text)| *at > 0 && is_idle(*at, text));
            one.idle = idle.filter_map(|(at, _)| of_file(at - 1)).collect();
            one.lines.sort_unstable();
            one.lines.dedup();
            one.functions.sort_unstable();
            one.functions.dedup();
        }
        learned.executed.sort_by(|left, right| left.path.cmp(&right.path));
        learned
    }
}

fn tag(place: &Place) -> String {
    format!("{}:{}", place.path, place.line)
}

fn untag(tag: &str) -> Option<Place> {
    let (path, line) = tag.rsplit_once(':')?;
    Some(Place { path: path.to_owned(), line: line.parse().ok()? })
}
