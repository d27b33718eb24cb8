//! Reads the tracer's logs, one or more files a process, and merges them into one [`Trace`].
//!
//! A record that is cut or garbled is skipped: the process that wrote it may have been killed. The
//! format is described at the top of the tracer.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    fs,
    io::{self, Read},
    path::Path,
};

use graph::{
    FileTrace, Fixture, FunctionTrace, Generated, ModuleLine, ModuleSnapshot, Place, TRACE_VERSION,
    Trace, TracePhase,
};
use serde::Deserialize;

use crate::execute::open_regular;

/// Merges the logs of a directory. The process that was started comes first, its children in the
/// order of their start, each on the clock after those before it.
pub(super) fn read(directory: &Path) -> io::Result<Trace> {
    let mut processes: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut names = Vec::new();
    // A directory that the program removed or replaced has nothing to say.
    let there = directory.symlink_metadata().is_ok_and(|there| there.is_dir());
    for entry in there.then(|| fs::read_dir(directory)).transpose()?.into_iter().flatten() {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    for name in names {
        let Some((stem, _)) = name.rsplit_once('.') else { continue };
        // A log that was replaced by something else is as lost as one that was never written.
        let Ok(mut file) = open_regular(&directory.join(&name)) else { continue };
        let log = processes.entry(stem.to_string()).or_default();
        let begin = log.len();
        file.read_to_end(log)?;
        let written = log[begin..].iter().position(|byte| *byte == 0);
        log.truncate(written.map_or(log.len(), |length| begin + length));
        // What follows the last end of line was being written when the process died.
        let whole = log[begin..].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        log.truncate(begin + whole);
    }
    let mut logs: Vec<Log> = processes.into_values().map(|bytes| Log::parse(&bytes)).collect();
    logs.sort_by_key(|log| log.header.child);
    let mut merged = Merged::default();
    for log in logs {
        merged.add(log);
    }
    Ok(merged.finish())
}

#[derive(Debug, Default, Deserialize)]
struct Header {
    python: (u8, u8, u8),
    tracer: String,
    child: bool,
    clock: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Snapshot {
    modules: BTreeMap<String, ModuleSnapshot>,
    compiled: BTreeMap<String, String>,
    external: BTreeMap<String, String>,
    abstract_overrides: BTreeMap<String, Vec<String>>,
    fixtures: Vec<Fixture>,
    roots: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Mentions {
    names: Vec<String>,
    imports: Vec<String>,
}

/// One process.
#[derive(Debug, Default)]
struct Log {
    header: Header,
    files: BTreeMap<u32, FileLog>,
    data: BTreeSet<String>,
    names: BTreeSet<String>,
    imports: BTreeSet<String>,
    /// Modules, and names in them.
    pickled: BTreeSet<(String, String)>,
    snapshot: Snapshot,
    /// True if a snapshot was read.
    began: bool,
    /// True if functions without unseen lines were called very often.
    busy: bool,
    /// Modules from outside that were loaded when the tests began.
    early: Option<BTreeSet<String>>,
    /// The last position of its clock.
    clock: u64,
    /// Functions that were entered so far.
    entered: u64,
}

/// One file in one process, then in all.
#[derive(Debug, Default)]
struct FileLog {
    path: String,
    modules: Vec<String>,
    phase: Option<TracePhase>,
    importer: Option<Place>,
    import_lines: BTreeSet<u32>,
    test_lines: BTreeSet<u32>,
    /// (line, name) to whether it was entered in the import phase and in the test phase.
    functions: BTreeMap<(u32, String), (bool, bool)>,
    /// (line, name) to its place among the functions that were entered.
    orders: BTreeMap<(u32, String), u64>,
    /// The functions that were first entered outside the main thread.
    threaded: BTreeSet<(u32, String)>,
    starts: BTreeMap<u32, u64>,
    ends: BTreeMap<u32, u64>,
    branches: BTreeSet<(u32, u32)>,
    unwatched: BTreeSet<(u32, u32)>,
    evaluated: BTreeSet<(u32, u32)>,
}

impl Log {
    fn parse(bytes: &[u8]) -> Log {
        let mut log = Log::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(line);
            let mut letters = line.chars();
            if let Some(kind) = letters.next() {
                // `None` says that a record is garbled; the next one may be whole again.
                let _ = log.record(kind, letters.as_str());
            }
        }
        log
    }

    fn record(&mut self, kind: char, rest: &str) -> Option<()> {
        match kind {
            'h' => self.header = serde_json::from_str(rest).ok()?,
            's' => {
                let next: Snapshot = serde_json::from_str(rest).ok()?;
                let last = std::mem::replace(&mut self.snapshot, next);
                if self.began {
                    self.early.get_or_insert_with(|| last.external.into_keys().collect());
                }
                self.began = true;
            }
            'q' if rest.is_empty() => self.busy = true,
            'd' => {
                self.data.insert(rest.to_string());
            }
            'g' => {
                let mentions: Mentions = serde_json::from_str(rest).ok()?;
                self.names.extend(mentions.names);
                self.imports.extend(mentions.imports);
            }
            'u' => {
                self.pickled.insert(serde_json::from_str(rest).ok()?);
            }
            _ => {
                let (number, rest) = rest.split_once(' ')?;
                let number = number.parse().ok()?;
                if kind == 'F' {
                    self.files.entry(number).or_default().path = rest.to_string();
                    return Some(());
                }
                if kind == 'i' {
                    let (by, line) = rest.split_once(' ')?;
                    let by = self.files.get(&by.parse().ok()?)?.path.clone();
                    let importer = Place { path: by, line: line.parse().ok()? };
                    self.files.get_mut(&number)?.importer.get_or_insert(importer);
                    return Some(());
                }
                let file = self.files.get_mut(&number)?;
                if matches!(kind, 'c' | 'C') {
                    self.entered += 1;
                    let (line, name) = rest.split_once(' ')?;
                    let key = (line.parse().ok()?, name.to_owned());
                    file.orders.entry(key).or_insert(self.entered);
                }
                file.record(kind, rest, &mut self.clock)?;
            }
        }
        Some(())
    }
}

impl FileLog {
    fn record(&mut self, kind: char, rest: &str, clock: &mut u64) -> Option<()> {
        let pair = || {
            let (first, second) = rest.split_once(' ')?;
            Some((first.parse::<u32>().ok()?, second))
        };
        match kind {
            'l' => {
                self.import_lines.insert(rest.parse().ok()?);
            }
            'L' => {
                self.test_lines.insert(rest.parse().ok()?);
            }
            'c' | 'C' => {
                let (line, name) = pair()?;
                let entered = self.functions.entry((line, name.to_string())).or_default();
                entered.0 |= kind == 'c';
                entered.1 |= kind == 'C';
            }
            't' => {
                let (line, name) = pair()?;
                self.threaded.insert((line, name.to_string()));
            }
            'm' => {
                let (at, line) = rest.split_once(' ')?;
                let at = at.parse().ok()?;
                self.starts.entry(line.parse().ok()?).or_insert(at);
                *clock = at.max(*clock);
            }
            'e' => {
                for end in rest.split(' ') {
                    let (line, at) = end.split_once(':')?;
                    let (line, at) = (line.parse().ok()?, at.parse::<u64>().ok()?);
                    let known = self.ends.entry(line).or_default();
                    *known = at.max(*known);
                    *clock = at.max(*clock);
                }
            }
            'a' => {
                for place in rest.split(' ') {
                    let (line, column) = place.split_once(':')?;
                    self.evaluated.insert((line.parse().ok()?, column.parse().ok()?));
                }
            }
            'N' => {
                let (phase, name) = pair()?;
                let phase = if phase == 0 { TracePhase::Import } else { TracePhase::Test };
                self.phase.get_or_insert(phase);
                if !self.modules.iter().any(|known| known == name) {
                    self.modules.push(name.to_string());
                }
            }
            'b' | 'p' => {
                let (line, target) = pair()?;
                let target = target.parse().ok()?;
                let jumps = if kind == 'b' { &mut self.branches } else { &mut self.unwatched };
                jumps.insert((line, target));
            }
            _ => return None,
        }
        Some(())
    }

    fn finish(mut self) -> FileTrace {
        let (import, test) = (&self.import_lines, &self.test_lines);
        // A condition that was no longer watched may have taken its other way, if that was executed.
        let executed = |line: &u32| import.contains(line) || test.contains(line);
        self.branches.extend(self.unwatched.into_iter().filter(|(_, target)| executed(target)));
        let ends = self.ends;
        let threaded = self.threaded;
        let orders = self.orders;
        FileTrace {
            path: self.path,
            modules: self.modules,
            phase: self.phase.unwrap_or_default(),
            importer: self.importer,
            import_lines: self.import_lines.into_iter().collect(),
            test_lines: self.test_lines.into_iter().collect(),
            functions: self
                .functions
                .into_iter()
                .map(|(place, (import, test))| {
                    let threaded = threaded.contains(&place);
                    let order = orders.get(&place).copied().unwrap_or_default();
                    FunctionTrace { line: place.0, name: place.1, import, test, threaded, order }
                })
                .collect(),
            module_lines: self
                .starts
                .into_iter()
                .map(|(line, start)| ModuleLine { line, start, end: ends[&line] })
                .collect(),
            branches: self.branches.into_iter().collect(),
            raised: Vec::new(),
            ended: Vec::new(),
            evaluated: self.evaluated.into_iter().collect(),
        }
    }
}

/// All processes so far.
#[derive(Default)]
struct Merged {
    trace: Trace,
    files: BTreeMap<String, FileLog>,
    names: BTreeSet<String>,
    imports: BTreeSet<String>,
    pickled: BTreeSet<(String, String)>,
    data: BTreeSet<String>,
    clock: u64,
    entered: u64,
    /// True once a log with a snapshot was added.
    began: bool,
}

impl Merged {
    fn add(&mut self, log: Log) {
        if self.trace.tracer.is_empty() {
            self.trace.python = log.header.python;
            self.trace.tracer = log.header.tracer;
        }
        // A process that waits to be forked ends before its tests begin; the run is its fork.
        if log.began && !self.began {
            self.began = true;
            self.trace.fixtures = log.snapshot.fixtures;
            self.trace.roots = log.snapshot.roots;
            if let Some(early) = log.early {
                let loaded = log.snapshot.external.keys();
                self.trace.late = loaded.filter(|name| !early.contains(*name)).cloned().collect();
            }
        }
        // A fork's clock goes on from its parent's.
        let (begin, offset) = (log.header.clock, self.clock);
        let end = log.clock.max(begin) + 1;
        let shift = |at: u64| at.saturating_sub(begin) + offset;
        for (_, file) in log.files {
            let known = self.files.entry(file.path.clone()).or_default();
            for (line, start) in file.starts {
                // What ran in an earlier process keeps its place.
                if let Entry::Vacant(vacant) = known.starts.entry(line) {
                    vacant.insert(shift(start));
                    // Without a record of its end, it was running when the process was killed.
                    let last = file.ends.get(&line).copied().filter(|at| *at > 0).unwrap_or(end);
                    known.ends.insert(line, shift(last));
                }
            }
            known.path = file.path;
            if known.phase.is_none() {
                (known.phase, known.importer) = (file.phase, file.importer);
            }
            for module in file.modules {
                if !known.modules.contains(&module) {
                    known.modules.push(module);
                }
            }
            known.import_lines.extend(file.import_lines);
            known.test_lines.extend(file.test_lines);
            known.branches.extend(file.branches);
            known.unwatched.extend(file.unwatched);
            known.evaluated.extend(file.evaluated);
            known.threaded.extend(file.threaded);
            for (function, order) in file.orders {
                known.orders.entry(function).or_insert(self.entered + order);
            }
            for (function, (import, test)) in file.functions {
                let entered = known.functions.entry(function).or_default();
                *entered = (entered.0 | import, entered.1 | test);
            }
        }
        self.clock = shift(end);
        self.entered += log.entered;
        self.trace.busy |= log.busy;
        self.data.extend(log.data);
        self.names.extend(log.names);
        self.imports.extend(log.imports);
        self.pickled.extend(log.pickled);
        add_new(&mut self.trace.modules, log.snapshot.modules);
        add_new(&mut self.trace.compiled, log.snapshot.compiled);
        add_new(&mut self.trace.external, log.snapshot.external);
        add_new(&mut self.trace.abstract_overrides, log.snapshot.abstract_overrides);
    }

    fn finish(mut self) -> Trace {
        let mut trace = self.trace;
        trace.version = TRACE_VERSION;
        let ran = |file: &FileLog| !(file.import_lines.is_empty() && file.test_lines.is_empty());
        trace.files = self.files.into_values().filter(ran).map(FileLog::finish).collect();
        let internal = |name: &String| trace.modules.contains_key(name);
        for (module, name) in self.pickled {
            if internal(&module) {
                // Packages are asked for before their modules.
                let ends = module.match_indices('.').map(|(at, _)| at).chain([module.len()]);
                self.imports.extend(ends.map(|end| module[..end].to_owned()));
                self.names.insert(name);
            }
        }
        let defines = |name: &&String| !MODULE_OWN.contains(&name.as_str());
        let names = trace.modules.values().flat_map(|module| module.names.keys());
        let held: BTreeSet<&String> = names.filter(defines).collect();
        let names = self.names.into_iter().filter(|name| held.contains(name)).collect();
        let imports = self.imports.into_iter().filter(internal).collect();
        trace.generated = Generated { imports, names };
        trace.data = self.data.into_iter().collect();
        trace
    }
}

/// The attributes of every module: a mention of one of these does not refer to a module of the
/// repository.
const MODULE_OWN: [&str; 9] = [
    "__builtins__",
    "__cached__",
    "__doc__",
    "__file__",
    "__loader__",
    "__name__",
    "__package__",
    "__path__",
    "__spec__",
];

/// Adds what is not yet known: the process that was started wins over its children.
fn add_new<T>(known: &mut BTreeMap<String, T>, new: BTreeMap<String, T>) {
    for (name, value) in new {
        known.entry(name).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads logs, given as (file name, text), and shows what the test is about.
    fn merged(logs: &[(&str, &str)]) -> Trace {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in logs {
            fs::write(directory.path().join(name), text).unwrap();
        }
        read(directory.path()).unwrap()
    }

    fn show(trace: &Trace) -> String {
        let mut text = String::new();
        for file in &trace.files {
            let module_lines: Vec<_> =
                file.module_lines.iter().map(|l| (l.line, l.start, l.end)).collect();
            text += &format!(
                "{} {:?} {:?} import {:?} test {:?} clock {module_lines:?}\n",
                file.path, file.modules, file.phase, file.import_lines, file.test_lines,
            );
        }
        text
    }

    const HEADER: &str =
        r#"h{"python": [3, 13, 0], "tracer": "monitoring", "child": false, "clock": 0}"#;
    const CHILD: &str =
        r#"h{"python": [3, 13, 0], "tracer": "monitoring", "child": true, "clock": 0}"#;
    const FORK: &str =
        r#"h{"python": [3, 13, 0], "tracer": "monitoring", "child": true, "clock": 2}"#;

    #[test]
    fn children_come_after_their_parent() {
        let parent = format!(
            "{HEADER}\nF0 a.py\nN0 0 a\nl0 1\nm0 1 1\nl0 3\nm0 2 3\ne0 1:2 3:4\nL0 2\n\0\0"
        );
        let child = format!(
            "{CHILD}\nF0 b.py\nN0 1 __main__\nL0 1\nm0 1 1\nF1 a.py\nN1 1 a\nL1 1\nm1 2 1\nL1 9\n\
             m1 3 9\ne1 1:3 9:4\ne0 1:5\n"
        );
        let fork = format!("{FORK}\nF0 a.py\nL0 5\nm0 3 5\n");
        // The name of a log begins with the time of its start.
        let trace = merged(&[("1-p.000", &parent), ("2-c.000", &child), ("3-f.000", &fork)]);
        assert_eq!(
            show(&trace),
            "a.py [\"a\"] Import import [1, 3] test [1, 2, 5, 9] \
             clock [(1, 1, 2), (3, 2, 4), (5, 12, 13), (9, 8, 9)]\n\
             b.py [\"__main__\"] Test import [] test [1] clock [(1, 6, 10)]\n"
        );
        assert_eq!(trace.python, (3, 13, 0));
    }

    #[test]
    fn what_is_cut_or_garbled_is_skipped() {
        let log = format!("{HEADER}\nF0 a.py\nl0 1\nl0 x\nl7 3\nz\n\nl0\ny0 5\nl0 4\nl0 12");
        let more = "l0 6\n\u{fffd}l0 7\ns{\"modules\": {\nl0 8\n\0\0l0 9\n";
        let trace =
            merged(&[("1-p.000", &log), ("1-p.001", more), ("tests-began", ""), ("x.000", "")]);
        assert_eq!(
            show(&trace),
            "a.py [] Import import [1, 4, 6, 8] test [] clock []\n",
            "and the record that was being written is not `l0 1`"
        );
        assert_eq!(show(&merged(&[])), "");
    }

    #[test]
    fn an_unwatched_condition_takes_what_was_executed() {
        let log = format!("{HEADER}\nF0 a.py\nl0 1\nl0 2\nL0 3\nb0 1 2\np0 1 3\np0 2 9\n");
        let trace = merged(&[("1-p.000", &log)]);
        assert_eq!(trace.files[0].branches, [(1, 2), (1, 3)]);
    }

    #[test]
    fn mentions_are_those_of_internal_names() {
        let log = format!(
            "{HEADER}\nF0 a.py\nl0 1\n\
             g{{\"names\": [\"f\", \"other\", \"__doc__\"], \"imports\": [\"a\", \"os\"]}}\n\
             s{{\"modules\": {{\"a\": {{\"path\": \"a.py\", \"names\": \
             {{\"f\": {{\"other\": \"int\"}}, \"__doc__\": {{\"other\": \"str\"}}}}}}}}}}\n"
        );
        let trace = merged(&[("1-p.000", &log)]);
        assert_eq!(trace.generated.names, ["f"]);
        assert_eq!(trace.generated.imports, ["a"]);
    }

    #[test]
    fn the_first_run_of_a_module_says_who_asked_for_it() {
        let parent = format!(
            "{HEADER}\nF0 a.py\nN0 0 a\nl0 1\nF1 b.py\nN1 1 b\ni1 0 7\nL1 1\nF2 c.py\nN2 0 c\nl2 1\n\
             i2 9 1\ni2 0 x\n"
        );
        // The child numbers its files anew, and runs one that its parent ran without being asked by a file.
        let child = format!(
            "{CHILD}\nF0 b.py\nF1 d.py\nN1 1 d\ni1 0 4\nL1 1\nF2 c.py\nN2 1 c\ni2 0 5\nL2 1\n"
        );
        let trace = merged(&[("1-p.000", &parent), ("2-c.000", &child)]);
        let importers: Vec<_> = trace
            .files
            .iter()
            .map(|file| file.importer.as_ref().map(|place| (place.path.as_str(), place.line)))
            .collect();
        assert_eq!(importers, [None, Some(("a.py", 7)), None, Some(("b.py", 4))]);
        // Traces of earlier versions do not tell.
        let mut old = serde_json::to_value(&trace.files[1]).unwrap();
        old.as_object_mut().unwrap().remove("importer");
        let old: FileTrace = serde_json::from_value(old).unwrap();
        assert_eq!(old, FileTrace { importer: None, ..trace.files[1].clone() });
    }

    #[test]
    fn modules_that_the_tests_load_are_late() {
        let snapshot = |names: &str| format!("s{{\"external\": {{{names}}}}}\n");
        let began = snapshot(r#""os": "", "re": "/re.py""#);
        let ended = snapshot(r#""os": "", "json": "", "re": "/re.py", "zlib": "/z.so""#);
        let trace = merged(&[("1-p.000", &format!("{HEADER}\n{began}{ended}"))]);
        assert_eq!(trace.late, ["json", "zlib"]);
        // A command without tests has no earlier snapshot.
        assert_eq!(merged(&[("1-p.000", &format!("{HEADER}\n{ended}"))]).late, [""; 0]);
    }

    #[test]
    fn a_log_that_was_replaced_is_lost_alone() {
        let directory = tempfile::tempdir().unwrap();
        let log = format!("{HEADER}\nF0 a.py\nl0 1\n");
        fs::write(directory.path().join("1-p.000"), log).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", directory.path().join("1-p.001")).unwrap();
        fs::create_dir(directory.path().join("2-c.000")).unwrap();
        assert_eq!(show(&read(directory.path()).unwrap()).lines().count(), 1);
    }
}
