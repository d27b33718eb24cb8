//! Reads and parses the files of a repository, in parallel, keeping only their facts.

use std::path::Path;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};

use crate::{
    facts::{FileFacts, draw},
    graph::BuildOptions,
    pythons::Pythons,
    source::{Source, SourceError},
    syntax::syntax_errors,
    walk::{FileSkipReason, FoundFile, SkippedFile, read, walk},
};

/// The files of a repository, read and reduced to facts.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub paths: Vec<String>,
    pub facts: Vec<FileFacts>,
    /// Directories with a build configuration.
    pub projects: Vec<String>,
    pub skipped: Vec<SkippedFile>,
}

/// Errors kept of one file.
const ERRORS: usize = 20;
/// Stack that freeing one level of a tree may take, in bytes.
const FREED_PER_BYTE: usize = 512;
/// Trees that would need more stack than this to be freed are leaked, in bytes.
const FREED_AT_MOST: usize = 4 << 30;
/// Brackets nested deeper than this would take gigabytes to parse.
const BRACKETS: usize = 1_000_000;

/// Reads, parses and draws all files.
pub(crate) fn load(root: &Path, options: &BuildOptions) -> Loaded {
    let (files, mut skipped) = walk(root, &options.walk);
    let drawn = in_pool(options.threads, || {
        files
            .par_iter()
            .map(|file| of_file(root, file, options))
            .collect::<Vec<(Option<FileFacts>, Option<FileSkipReason>)>>()
    });
    let mut loaded = Loaded { projects: projects(root, &files), ..Loaded::default() };
    for (file, (facts, reason)) in files.into_iter().zip(drawn) {
        if let Some(reason) = reason {
            skipped.push(SkippedFile { path: file.path.clone(), reason });
        }
        if let Some(facts) = facts {
            loaded.paths.push(file.path);
            loaded.facts.push(facts);
        }
    }
    skipped.sort_unstable();
    loaded.skipped = skipped;
    loaded
}

/// Runs work on as many threads as were asked for.
pub(crate) fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(8 << 20).build();
    match pool {
        Ok(pool) => pool.install(work),
        // A machine without threads to spare still gives its one.
        Err(_) => work(),
    }
}

pub(crate) fn of_file(
    root: &Path,
    file: &FoundFile,
    options: &BuildOptions,
) -> (Option<FileFacts>, Option<FileSkipReason>) {
    match read(root, &file.path, &options.walk) {
        Ok(bytes) => of_bytes(&file.path, bytes, options.pythons),
        Err(reason) => (None, Some(reason)),
    }
}

/// Facts of a file's bytes; undecodable ones are read as far as they make sense.
pub(crate) fn of_bytes(
    path: &str,
    bytes: Vec<u8>,
    pythons: Pythons,
) -> (Option<FileFacts>, Option<FileSkipReason>) {
    if bytes.len() > BRACKETS && nests_too_deep(&bytes) {
        let reason = FileSkipReason::Unreadable("brackets nested too deeply".to_owned());
        return (None, Some(reason));
    }
    match Source::text_of(path, &bytes) {
        Ok(text) => {
            drop(bytes);
            (Some(facts_of(&text, pythons)), None)
        }
        Err(error @ SourceError::TooLarge { .. }) => {
            (None, Some(FileSkipReason::Unreadable(error.to_string())))
        }
        Err(error) => {
            let text = String::from_utf8_lossy(&bytes);
            (Some(facts_of(&text, pythons)), Some(FileSkipReason::Unreadable(error.to_string())))
        }
    }
}

/// The number of words in a text that algorithm 2 of RepoMaster takes for branches and loops; it counts in the
/// text, comments and strings included.
fn branch_words(text: &str) -> u32 {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let counted = words.filter(|word| matches!(*word, "if" | "for" | "while" | "except"));
    u32::try_from(counted.count()).unwrap_or(u32::MAX)
}

/// Facts of a text.
pub(crate) fn facts_of(text: &str, pythons: Pythons) -> FileFacts {
    let parsed = parse_unchecked(text, ParseOptions::from(Mode::Module));
    let parsed = parsed.try_into_module().unwrap_or_else(|| {
        unreachable!("parsing in module mode gives a module, broken source included")
    });
    let errors = syntax_errors(&parsed)
        .take(ERRORS)
        .map(|error| {
            let before = text.get(..error.location.start().to_usize()).unwrap_or("");
            (line_of(before), error.error.to_string())
        })
        .collect();
    let mut facts = draw(text, parsed.suite(), errors, pythons);
    facts.measures.branches = branch_words(text);
    if facts.too_deep {
        // Freeing the tree recurses as deep as it nests.
        let stack = text.len().saturating_mul(FREED_PER_BYTE);
        if stack > FREED_AT_MOST {
            std::mem::forget(parsed);
        } else {
            stacker::grow(stack.max(64 << 20), || drop(parsed));
        }
    } else if facts.deep {
        stacker::grow(64 << 20, || drop(parsed));
    }
    facts
}

fn line_of(before: &str) -> u32 {
    let bytes = before.as_bytes();
    let ends = memchr::memchr2_iter(b'\n', b'\r', bytes)
        .filter(|&at| bytes[at] == b'\n' || bytes.get(at + 1) != Some(&b'\n'))
        .count();
    u32::try_from(ends + 1).unwrap_or(u32::MAX)
}

/// Returns true if more brackets are open at once than can be parsed in reasonable memory. Brackets
/// in string literals count too; a file that exceeds the limit through them is data.
fn nests_too_deep(bytes: &[u8]) -> bool {
    let mut open = 0usize;
    let mut run = 0usize;
    for &byte in bytes {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        run = if matches!(byte, b'-' | b'~' | b'+') { run + 1 } else { 0 };
        if open > BRACKETS || run > BRACKETS {
            return true;
        }
    }
    false
}

/// Directories, the root excepted, that hold a build configuration beside or above Python files.
pub(crate) fn projects(root: &Path, files: &[FoundFile]) -> Vec<String> {
    let mut directories: Vec<&str> = Vec::new();
    for file in files {
        let mut directory = file.path.as_str();
        while let Some((parent, _)) = directory.rsplit_once('/') {
            directory = parent;
            match directories.binary_search(&directory) {
                Ok(_) => break,
                Err(at) => directories.insert(at, directory),
            }
        }
    }
    directories
        .into_iter()
        .filter(|directory| {
            ["pyproject.toml", "setup.py", "setup.cfg"]
                .iter()
                .any(|name| root.join(directory).join(name).is_file())
        })
        .map(str::to_owned)
        .collect()
}
