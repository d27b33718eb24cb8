//! Graphs kept on disk: what did not change is neither read nor parsed nor analysed again.
//!
//! One file per repository, replaced in one step, so that concurrent users see a whole one, older or
//! newer. It holds, by path, the size, time and content hash of each file with its facts, and the graph
//! made of them. A file is read again when its size or time changed, parsed again when its content did,
//! and only a change of meaning (not of lines and comments) makes the analysis run again.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::{
    assemble,
    facts::Facts,
    graph::{BuildOptions, FileId, Graph},
    load,
    walk::{FoundFile, Skipped, read, walk},
};

/// Version of the persisted form; any other is ignored and replaced.
const VERSION: u32 = 5;

/// A directory of cached graphs.
#[derive(Debug, Clone)]
pub struct GraphCache {
    directory: PathBuf,
}

/// What a cached build had to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheReport {
    /// Files of the repository.
    pub files: usize,
    /// Files whose content was read.
    pub read: usize,
    /// Files that were parsed.
    pub parsed: usize,
    /// Whether values were followed again.
    pub analysed: bool,
}

/// Why a graph could not be kept; the graph itself is never lost over it.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The directory or a file in it cannot be written.
    #[error("write {path}: {source} (the cache can be removed at any time)")]
    Write {
        /// What was to be written.
        path: PathBuf,
        /// Why it was not.
        source: std::io::Error,
    },
    /// The graph cannot be encoded.
    #[error("encode the graph: {0}")]
    Encode(postcard::Error),
}

/// First part of a cache file: small, always read whole.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    version: u32,
    program: String,
    root: String,
    files: Vec<Entry>,
    projects: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    path: String,
    size: u64,
    modified: i128,
    hash: [u8; 32],
    /// Where the facts stand in the facts part; empty for a file without any.
    facts: Span64,
    skipped: Option<crate::walk::SkipReason>,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Span64 {
    start: u64,
    end: u64,
}

/// What a cache file holds: lengths, then head, graph and facts.
struct Kept {
    head: Head,
    bytes: Vec<u8>,
    graph: std::ops::Range<usize>,
    facts: usize,
}

impl GraphCache {
    /// A cache in a directory, which is made when it is first written to.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Builds a graph, re-using what is kept, and keeps the result.
    ///
    /// # Errors
    /// None of the build; a failure to keep it comes beside the graph.
    pub fn build(
        &self,
        root: &Path,
        options: &BuildOptions,
    ) -> (Graph, CacheReport, Result<(), CacheError>) {
        let real = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        let key = format!("{}\n{options:?}", real.display());
        let path = self.directory.join(format!("{}.graph", blake3::hash(key.as_bytes()).to_hex()));
        let kept = Kept::open(&path, &key);
        let (files, skipped) = walk(root, &options.walk);
        let projects = load::projects(root, &files);
        let mut report = CacheReport { files: files.len(), ..CacheReport::default() };
        let examined = examine(root, &files, kept.as_ref(), options);
        report.read = examined.iter().filter(|file| file.read).count();
        report.parsed = examined.iter().filter(|file| file.new.is_some()).count();
        let graph = kept
            .as_ref()
            .filter(|kept| kept.head.projects == projects)
            .and_then(|kept| reuse(kept, &files, &examined, &skipped));
        if let Some(graph) = graph {
            let untouched = report.read == 0;
            let kept_again = if untouched {
                Ok(())
            } else {
                self.keep(&path, &key, &files, &examined, kept.as_ref(), &projects, &graph)
            };
            return (graph, report, kept_again);
        }
        report.analysed = true;
        let mut skipped = skipped;
        let mut paths = Vec::new();
        let mut facts = Vec::new();
        for (file, examined) in files.iter().zip(&examined) {
            if let Some(reason) = &examined.entry.skipped {
                skipped.push(Skipped { path: file.path.clone(), reason: reason.clone() });
            }
            let found = match &examined.new {
                Some(new) => new.clone(),
                None => kept.as_ref().and_then(|kept| kept.facts_of(&examined.entry)),
            };
            if let Some(found) = found {
                paths.push(file.path.clone());
                facts.push(found);
            }
        }
        skipped.sort_unstable();
        let graph = assemble::assemble(paths, &facts, &projects, skipped);
        let kept = self.keep(&path, &key, &files, &examined, kept.as_ref(), &projects, &graph);
        (graph, report, kept)
    }

    #[allow(clippy::too_many_arguments)]
    fn keep(
        &self,
        path: &Path,
        key: &str,
        files: &[FoundFile],
        examined: &[Examined],
        kept: Option<&Kept>,
        projects: &[String],
        graph: &Graph,
    ) -> Result<(), CacheError> {
        let mut facts: Vec<u8> = Vec::new();
        let mut entries = Vec::with_capacity(files.len());
        for examined in examined {
            let start = facts.len() as u64;
            match (&examined.new, kept) {
                (Some(Some(new)), _) => {
                    facts.extend(postcard::to_stdvec(new).map_err(CacheError::Encode)?);
                }
                (Some(None), _) => {}
                (None, Some(kept)) => facts.extend(kept.bytes_of(&examined.entry)),
                (None, None) => {}
            }
            let span = Span64 { start, end: facts.len() as u64 };
            entries.push(Entry { facts: span, ..examined.entry.clone() });
        }
        let head = Head {
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            root: key.to_owned(),
            files: entries,
            projects: projects.to_vec(),
        };
        let head = postcard::to_stdvec(&head).map_err(CacheError::Encode)?;
        let graph = postcard::to_stdvec(graph).map_err(CacheError::Encode)?;
        let failed = |source| CacheError::Write { path: path.to_owned(), source };
        fs::create_dir_all(&self.directory).map_err(failed)?;
        let (temporary, mut file) = aside(path).map_err(failed)?;
        let written = (|| {
            file.write_all(&(head.len() as u64).to_le_bytes())?;
            file.write_all(&(graph.len() as u64).to_le_bytes())?;
            for part in [&head, &graph, &facts] {
                file.write_all(part)?;
            }
            let mut whole = blake3::Hasher::new();
            for part in [&head, &graph] {
                whole.update(part);
            }
            file.write_all(whole.finalize().as_bytes())?;
            drop(file);
            fs::rename(&temporary, path)
        })();
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written.map_err(failed)
    }
}

/// A new file beside another, of nobody else: other processes and other threads write at the same time.
fn aside(path: &Path) -> io::Result<(PathBuf, fs::File)> {
    let mut at = 0u32;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}.{at}.new", std::process::id()));
        let name = PathBuf::from(name);
        match fs::File::create_new(&name) {
            Ok(file) => return Ok((name, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => at += 1,
            Err(error) => return Err(error),
        }
    }
}

impl Kept {
    fn open(path: &Path, key: &str) -> Option<Self> {
        let bytes = fs::read(path).ok()?;
        let number = |at: usize| -> Option<usize> {
            let bytes: [u8; 8] = bytes.get(at..at + 8)?.try_into().ok()?;
            usize::try_from(u64::from_le_bytes(bytes)).ok()
        };
        let head_end = number(0)?.checked_add(16)?;
        let graph_end = head_end.checked_add(number(8)?)?;
        let end = bytes.len().checked_sub(32)?;
        // A file that was cut short or overwritten counts as none.
        let sum = blake3::hash(bytes.get(16..graph_end)?);
        if graph_end > end || sum.as_bytes() != bytes.get(end..)? {
            return None;
        }
        let head: Head = postcard::from_bytes(bytes.get(16..head_end)?).ok()?;
        let current = head.version == VERSION
            && head.program == env!("CARGO_PKG_VERSION")
            && head.root == key;
        current.then_some(Self { head, graph: head_end..graph_end, facts: graph_end, bytes })
    }

    fn bytes_of(&self, entry: &Entry) -> &[u8] {
        let end = self.bytes.len() - 32;
        let place = |at: u64| usize::try_from(at).ok().and_then(|at| at.checked_add(self.facts));
        match (place(entry.facts.start), place(entry.facts.end)) {
            (Some(from), Some(to)) if to <= end => self.bytes.get(from..to).unwrap_or(&[]),
            _ => &[],
        }
    }

    fn facts_of(&self, entry: &Entry) -> Option<Facts> {
        let bytes = self.bytes_of(entry);
        if bytes.is_empty() { None } else { postcard::from_bytes(bytes).ok() }
    }
}

/// A file beside what is kept of it.
struct Examined {
    entry: Entry,
    read: bool,
    /// Facts, if the file was parsed.
    new: Option<Option<Facts>>,
}

fn examine(
    root: &Path,
    files: &[FoundFile],
    kept: Option<&Kept>,
    options: &BuildOptions,
) -> Vec<Examined> {
    let known: FxHashMap<&str, &Entry> = kept
        .into_iter()
        .flat_map(|kept| &kept.head.files)
        .map(|entry| (entry.path.as_str(), entry))
        .collect();
    load::in_pool(options.threads, || {
        files
            .par_iter()
            .map(|file| {
                let known = known.get(file.path.as_str()).copied();
                if let Some(entry) = known
                    && entry.size == file.size
                    && entry.modified == file.modified
                {
                    return Examined { entry: entry.clone(), read: false, new: None };
                }
                let entry = |hash, skipped| Entry {
                    path: file.path.clone(),
                    size: file.size,
                    modified: file.modified,
                    hash,
                    facts: Span64::default(),
                    skipped,
                };
                let bytes = match read(root, &file.path, &options.walk) {
                    Ok(bytes) => bytes,
                    Err(reason) => {
                        let entry = entry([0; 32], Some(reason));
                        return Examined { entry, read: true, new: Some(None) };
                    }
                };
                let hash = *blake3::hash(&bytes).as_bytes();
                if let Some(known) = known
                    && known.hash == hash
                {
                    let entry = Entry { size: file.size, modified: file.modified, ..known.clone() };
                    return Examined { entry, read: true, new: None };
                }
                let (facts, reason) = load::of_bytes(&file.path, bytes);
                Examined { entry: entry(hash, reason), read: true, new: Some(facts) }
            })
            .collect()
    })
}

/// The kept graph, if all that changed since are places; those are brought up to date.
fn reuse(
    kept: &Kept,
    files: &[FoundFile],
    examined: &[Examined],
    skipped: &[Skipped],
) -> Option<Graph> {
    let same = kept.head.files.len() == files.len()
        && kept.head.files.iter().zip(files).all(|(entry, file)| entry.path == file.path);
    if !same {
        return None;
    }
    let mut moved: Vec<(usize, Facts, &Facts)> = Vec::new();
    let mut with_facts = 0;
    for (old, examined) in kept.head.files.iter().zip(examined) {
        if let Some(new) = &examined.new {
            let new = new.as_ref()?;
            if old.skipped != examined.entry.skipped {
                return None;
            }
            let old = kept.facts_of(old)?;
            if old.without_places() != new.without_places() {
                return None;
            }
            moved.push((with_facts, old, new));
        }
        let present = examined
            .new
            .as_ref()
            .map_or(examined.entry.facts.end > examined.entry.facts.start, Option::is_some);
        with_facts += usize::from(present);
    }
    let mut graph: Graph = postcard::from_bytes(&kept.bytes[kept.graph.clone()]).ok()?;
    if graph.modules.len() != with_facts {
        return None;
    }
    let mut now: Vec<Skipped> = skipped.to_vec();
    now.extend(examined.iter().filter_map(|examined| {
        let reason = examined.entry.skipped.clone()?;
        Some(Skipped { path: examined.entry.path.clone(), reason })
    }));
    now.sort_unstable();
    graph.skipped = now;
    for (at, old, new) in moved {
        move_places(&mut graph, FileId(u32::try_from(at).ok()?), &old, new)?;
    }
    Some(graph)
}

/// Brings the lines and ranges of one module up to date; nothing where old lines do not tell new ones.
fn move_places(graph: &mut Graph, module: FileId, old: &Facts, new: &Facts) -> Option<()> {
    let mut lines: FxHashMap<u32, u32> = FxHashMap::default();
    let mut learn = |from: u32, to: u32| *lines.entry(from).or_insert(to) == to;
    let mut clear = true;
    // The module itself always starts on the first line.
    for (old, new) in old.definitions.iter().zip(&new.definitions).skip(1) {
        clear &= learn(old.line, new.line);
    }
    for (old, new) in old.calls.iter().zip(&new.calls) {
        clear &= learn(old.line, new.line);
    }
    for (old, new) in old.references.iter().zip(&new.references) {
        clear &= learn(old.line, new.line);
    }
    for (old, new) in old.imports.iter().zip(&new.imports) {
        clear &= learn(old.line, new.line);
    }
    for (old, new) in old.ops.iter().zip(&new.ops) {
        if let (Some(from), Some(to)) = (old.line(), new.line()) {
            clear &= learn(from, to);
        }
    }
    if !clear {
        return None;
    }
    let node = &mut graph.modules[module.0 as usize];
    node.measures = new.measures;
    node.errors.clone_from(&new.errors);
    let first = node.entity.0 as usize;
    for (entity, definition) in graph.entities[first..].iter_mut().zip(&new.definitions) {
        entity.line = definition.line;
        entity.end_line = definition.end_line;
        entity.keyword_line = definition.keyword_line;
        entity.span = definition.span;
        entity.header = definition.header;
        entity.doc = definition.doc;
        entity.decorators.clone_from(&definition.decorators);
        entity.bases.clone_from(&definition.bases);
    }
    let range = first..first + new.definitions.len();
    let inside = |id: crate::graph::EntityId| range.contains(&(id.0 as usize));
    let shift = |line: &mut u32| *line = lines.get(line).copied().unwrap_or(*line);
    graph
        .sites
        .iter_mut()
        .filter(|site| inside(site.caller))
        .for_each(|site| shift(&mut site.line));
    graph
        .calls
        .iter_mut()
        .filter(|edge| inside(edge.caller))
        .for_each(|edge| shift(&mut edge.line));
    graph
        .imports
        .iter_mut()
        .filter(|edge| edge.from == module)
        .for_each(|edge| shift(&mut edge.line));
    graph
        .uses
        .iter_mut()
        .filter(|used| used.module == module)
        .for_each(|used| shift(&mut used.line));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Case {
        directory: tempfile::TempDir,
        cache: GraphCache,
    }

    impl Case {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let cache = GraphCache::new(directory.path().join("cache"));
            let case = Self { directory, cache };
            case.write("a.py", "from b import f\n\ndef g():\n    return f(1)\n");
            case.write("b.py", "def f(x):\n    return x\n");
            case
        }

        fn write(&self, path: &str, text: &str) {
            let root = self.directory.path().join("repo");
            fs::create_dir_all(&root).unwrap();
            fs::write(root.join(path), text).unwrap();
        }

        fn check(&self, read: usize, parsed: usize, analysed: bool) {
            let root = self.directory.path().join("repo");
            let options = BuildOptions::default();
            let (graph, report, kept) = self.cache.build(&root, &options);
            kept.unwrap();
            assert_eq!(graph, Graph::build(&root, &options));
            assert_eq!((report.read, report.parsed, report.analysed), (read, parsed, analysed));
        }
    }

    #[test]
    fn only_what_changed_is_done_again() {
        let case = Case::new();
        case.check(2, 2, true);
        case.check(0, 0, false);
        case.write("a.py", "# moved\n\nfrom b import f\n\ndef g():\n    # here\n    return f(1)\n");
        case.check(1, 1, false);
        case.write("a.py", "from b import f\n\ndef g():\n    return f(f)\n");
        case.check(1, 1, true);
        case.write("c.py", "import a\n");
        case.check(1, 1, true);
        case.check(0, 0, false);
    }

    #[test]
    fn many_may_use_it_at_once() {
        let case = Case::new();
        let root = case.directory.path().join("repo");
        let options = BuildOptions { threads: 1, ..BuildOptions::default() };
        let expected = Graph::build(&root, &options);
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let (case, root, options, expected) = (&case, &root, &options, &expected);
                scope.spawn(move || {
                    for _ in 0..20 {
                        if writer == 0 {
                            // The same text at another time is read again.
                            case.write("b.py", "def f(x):\n    return x\n");
                        }
                        let (graph, _, kept) = case.cache.build(root, options);
                        kept.unwrap();
                        // A file is empty for a moment while it is written.
                        if writer > 0 && graph.modules[1].measures.lines > 1 {
                            assert_eq!(graph, *expected);
                        }
                    }
                });
            }
        });
        let (graph, _, _) = case.cache.build(&root, &options);
        assert_eq!(graph, expected);
        let left: Vec<_> = fs::read_dir(case.directory.path().join("cache")).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn d02_a_damaged_cache_is_replaced() {
        let case = Case::new();
        case.check(2, 2, true);
        let file = fs::read_dir(case.directory.path().join("cache"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        let whole = fs::read(&file).unwrap();
        for cut in (0..whole.len()).step_by(7) {
            fs::write(&file, &whole[..cut]).unwrap();
            case.check(2, 2, true);
        }
    }
}
