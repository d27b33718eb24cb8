//! Stores traces between sessions: one is valid until a file changes that its run looked at.
//!
//! A run looked at every file that it executed, opened or listed, and at any file other than Python
//! source or prose. A file that appeared or vanished counts as well, since the run may have
//! searched for it. An unreadable trace is ignored.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use graph::{TRACE_VERSION, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{execute::Execution, repository::Repository};

/// Version of the kept form; any other is ignored and replaced.
const VERSION: u32 = 6;

/// The extensions of files that a run can notice only by reading them. Changes of other files, such
/// as settings, may matter without being read.
const READ: [&str; 5] = ["py", "pyi", "md", "rst", "txt"];

/// The result of looking for an earlier trace of the same command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind", content = "changed")]
pub enum Reuse {
    /// There was none.
    None,
    /// It held, though these files changed.
    Held(Vec<String>),
    /// It did not, because of these files.
    Outdated(Vec<String>),
}

/// A directory of traces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TraceStore<'s> {
    directory: &'s Path,
}

#[derive(Serialize, Deserialize)]
struct StoredTrace<T, E> {
    version: u32,
    /// A hash of each file by its path.
    files: BTreeMap<String, String>,
    trace: T,
    original: E,
}

/// The files of a repository as they are now.
pub(crate) type Files = BTreeMap<String, String>;

impl<'s> TraceStore<'s> {
    pub(crate) fn new(directory: &'s Path) -> Self {
        Self { directory }
    }

    /// Hashes of the files of a repository.
    pub(crate) fn files(repository: &Repository) -> io::Result<Files> {
        let snapshot = repository.snapshot().map_err(|(_, error)| error)?;
        let hashes = snapshot.hashes(&repository.root).map_err(|(_, error)| error)?;
        let path = |path: &Path| path.to_string_lossy().into_owned();
        Ok(snapshot.entries.iter().map(|entry| path(&entry.path)).zip(hashes).collect())
    }

    /// The trace of an earlier session, where it holds.
    pub(crate) fn get(&self, key: &str, now: &Files) -> (Reuse, Option<(Execution, Trace)>) {
        let read = || -> Option<StoredTrace<Trace, Execution>> {
            serde_json::from_slice(&fs::read(self.path(key)).ok()?).ok()
        };
        let found =
            read().filter(|kept| kept.version == VERSION && kept.trace.version == TRACE_VERSION);
        let Some(kept) = found else { return (Reuse::None, None) };
        let changed = changed(&kept.files, now);
        let matters: Vec<String> = changed
            .iter()
            .filter(|path| {
                let both = kept.files.contains_key(*path) && now.contains_key(*path);
                !both || looked_at(&kept.trace, path)
            })
            .cloned()
            .collect();
        match matters.is_empty() {
            true => (Reuse::Held(changed), Some((kept.original, kept.trace))),
            false => (Reuse::Outdated(matters), None),
        }
    }

    /// Keeps a trace of the files as they were when it was made. Whether that succeeds is nobody's matter.
    pub(crate) fn put(&self, key: &str, files: Files, original: &Execution, trace: &Trace) {
        let kept = StoredTrace { version: VERSION, files, trace, original };
        let write = || -> io::Result<()> {
            fs::create_dir_all(self.directory)?;
            let mut file = tempfile::NamedTempFile::new_in(self.directory)?;
            serde_json::to_writer(&mut file, &kept)?;
            file.persist(self.path(key))?;
            Ok(())
        };
        let _ = write();
    }

    fn path(&self, key: &str) -> PathBuf {
        self.directory.join(format!("{key}.json"))
    }
}

fn changed(before: &Files, now: &Files) -> Vec<String> {
    let differs = |path: &&String| before.get(*path) != now.get(*path);
    let mut paths: Vec<String> = before.keys().chain(now.keys()).filter(differs).cloned().collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// Returns true if a run read the content of a file, or may have read it.
fn looked_at(trace: &Trace, path: &str) -> bool {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    !extension.is_some_and(|extension| READ.contains(&extension))
        || trace.files.iter().any(|file| file.path == path)
        || trace.data.iter().any(|data| data == path)
        || trace.fixtures.iter().any(|fixture| fixture.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Status;
    use graph::FileTrace;
    use std::time::Duration;

    fn run() -> Execution {
        Execution {
            status: Status::Exited(0),
            collected: vec!["a.py::test".to_owned()],
            checks: Vec::new(),
            collection_errors: Vec::new(),
            cases: Vec::new(),
            complete: true,
            stdout: "out".to_owned(),
            stderr: String::new(),
            dropped: 0,
            raised: None,
            caught: Vec::new(),
            ended: Vec::new(),
            opened: Vec::new(),
            decided: Vec::new(),
            wall: Duration::from_millis(1500),
            cpu: Duration::from_millis(700),
        }
    }

    /// Changes a repository of four files, of which the run executed `a.py` and opened `data.txt`; an
    /// empty content removes.
    #[track_caller]
    fn check(changes: &[(&str, &str)], expected: Reuse) {
        let root = tempfile::tempdir().unwrap();
        let store = tempfile::tempdir().unwrap();
        for name in ["a.py", "b.py", "data.txt", "setup.cfg"] {
            fs::write(root.path().join(name), "x = 1\n").unwrap();
        }
        let trace = Trace {
            version: TRACE_VERSION,
            files: vec![FileTrace { path: "a.py".to_owned(), ..FileTrace::default() }],
            data: vec!["data.txt".to_owned()],
            ..Trace::default()
        };
        let original = run();
        let repository = || Repository::of_directory(root.path()).unwrap();
        let traces = TraceStore::new(store.path());
        traces.put("key", TraceStore::files(&repository()).unwrap(), &original, &trace);
        for (name, content) in changes {
            match *content {
                "" => fs::remove_file(root.path().join(name)).unwrap(),
                content => fs::write(root.path().join(name), content).unwrap(),
            }
        }
        let (reuse, kept) = traces.get("key", &TraceStore::files(&repository()).unwrap());
        assert_eq!(kept.is_some(), matches!(reuse, Reuse::Held(_)));
        assert!(kept.is_none_or(|kept| kept == (original, trace)));
        assert_eq!(reuse, expected);
        let files = TraceStore::files(&repository()).unwrap();
        assert_eq!(traces.get("other", &files).0, Reuse::None);
    }

    #[test]
    fn a_trace_holds_until_something_changes_that_its_run_looked_at() {
        let paths = |paths: &[&str]| paths.iter().map(|&path| path.to_owned()).collect();
        check(&[], Reuse::Held(Vec::new()));
        check(&[("b.py", "y = 2\n")], Reuse::Held(paths(&["b.py"])));
        check(&[("a.py", "y = 2\n"), ("b.py", "z\n")], Reuse::Outdated(paths(&["a.py"])));
        check(&[("data.txt", "y")], Reuse::Outdated(paths(&["data.txt"])));
        // Settings are read in ways of their own, and whatever is there may be looked for.
        check(&[("setup.cfg", "[x]")], Reuse::Outdated(paths(&["setup.cfg"])));
        check(&[("c.py", "y = 2\n")], Reuse::Outdated(paths(&["c.py"])));
        check(&[("b.py", "")], Reuse::Outdated(paths(&["b.py"])));
    }
}
