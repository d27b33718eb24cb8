//! Stores graphs on disk: unchanged files are neither read nor parsed nor analysed again.
//!
//! A cache has one file per repository. It is replaced in one step, so that concurrent users read a
//! complete one, older or newer. It holds, by path, the size, time and content hash of each file
//! with its facts, and the graph. A file is read again when its size or time changed, and parsed
//! again when its content changed. The analysis is repeated only if facts other than lines changed.

mod reuse;
#[cfg(test)]
mod tests;

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use self::reuse::{Examined, examine, reuse};
use crate::{
    assemble,
    facts::FileFacts,
    graph::{BuildOptions, Graph},
    load,
    walk::{FoundFile, SkippedFile, walk},
};

/// Version of the persisted form; any other is ignored and replaced.
const VERSION: u32 = 6;

/// A directory of cached graphs.
#[derive(Debug, Clone)]
pub struct GraphCache {
    directory: PathBuf,
}

/// The work that a cached build had to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheReport {
    /// Files of the repository.
    pub files: usize,
    /// Files whose content was read.
    pub read: usize,
    /// Files that were parsed.
    pub parsed: usize,
    /// True if the value flow was solved again.
    pub analysed: bool,
}

/// Why a graph could not be kept; the graph itself is never lost over it.
#[derive(Debug, thiserror::Error)]
pub enum GraphCacheError {
    /// The directory or a file in it cannot be written.
    #[error("write {path}: {source} (the cache can be removed at any time)")]
    Write {
        /// The path that was to be written.
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
    /// The byte range of the facts in the facts part; empty for a file without facts.
    facts: Span64,
    skipped: Option<crate::walk::FileSkipReason>,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Span64 {
    start: u64,
    end: u64,
}

/// The contents of a cache file: lengths, then head, graph and facts.
struct CachedGraph {
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
    ) -> (Graph, CacheReport, Result<(), GraphCacheError>) {
        let real = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        let key = format!("{}\n{options:?}", real.display());
        let path = self.directory.join(format!("{}.graph", blake3::hash(key.as_bytes()).to_hex()));
        let kept = CachedGraph::open(&path, &key);
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
                skipped.push(SkippedFile { path: file.path.clone(), reason: reason.clone() });
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
        let graph = assemble::assemble(paths, &facts, &projects, skipped, options.pythons);
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
        kept: Option<&CachedGraph>,
        projects: &[String],
        graph: &Graph,
    ) -> Result<(), GraphCacheError> {
        let mut facts: Vec<u8> = Vec::new();
        let mut entries = Vec::with_capacity(files.len());
        for examined in examined {
            let start = facts.len() as u64;
            match (&examined.new, kept) {
                (Some(Some(new)), _) => {
                    facts.extend(postcard::to_stdvec(new).map_err(GraphCacheError::Encode)?);
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
        let head = postcard::to_stdvec(&head).map_err(GraphCacheError::Encode)?;
        let graph = postcard::to_stdvec(graph).map_err(GraphCacheError::Encode)?;
        let failed = |source| GraphCacheError::Write { path: path.to_owned(), source };
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

impl CachedGraph {
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

    fn facts_of(&self, entry: &Entry) -> Option<FileFacts> {
        let bytes = self.bytes_of(entry);
        if bytes.is_empty() { None } else { postcard::from_bytes(bytes).ok() }
    }
}
