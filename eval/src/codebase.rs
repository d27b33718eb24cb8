//! The lines of an original repository, as the scorers look them up.
//!
//! All Python files count, tests and unexecuted ones included: a line of a gist may stand anywhere in
//! the repository. Files that cannot be read or decoded are listed, never an error.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    thread,
};

use ruff_python_ast::{
    Expr, Stmt,
    visitor::{Visitor, walk_stmt},
};
use rustc_hash::{FxHashMap, FxHashSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    blocks::{Class, Line, Outline, Role},
    key::Key,
    tokens,
};

/// Larger files are skipped and reported: no person wrote them.
const LARGEST: u64 = 64 << 20;

/// All lines of all Python files of a repository.
#[derive(Debug, Default)]
pub struct Codebase {
    files: Vec<CodeFile>,
    /// Path to the number of its file.
    numbers: FxHashMap<String, u32>,
    /// Block, then key, to the places where such a line stands.
    index: FxHashMap<String, FxHashMap<Key, Vec<CodebaseLine>>>,
    /// Docstrings by block.
    texts: FxHashMap<String, FxHashSet<Key>>,
    /// The imports of all files, computed on demand.
    imported: OnceLock<FxHashSet<String>>,
    /// Files that could not be read, with the reason.
    pub skipped: Vec<(String, String)>,
}

/// One Python file of a repository.
#[derive(Debug)]
pub struct CodeFile {
    /// Path relative to the root, with `/`.
    pub path: String,
    /// Its decoded text.
    pub text: String,
    /// Its lines.
    pub outline: Outline,
}

impl CodeFile {
    fn new(path: String, text: String, outline: Outline) -> Self {
        Self { path, text, outline }
    }
}

/// The place of a line: indices of the file and of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CodebaseLine {
    file: u32,
    line: u32,
}

/// Lines of code and tokens of some text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Extent {
    /// Physical lines on which a statement or a header starts.
    pub lines: u64,
    /// Tokens of o200k.
    pub tokens: u64,
}

impl Codebase {
    /// Reads all Python files below a directory. Links are not followed.
    pub fn read(root: &Path) -> Self {
        let mut paths = Vec::new();
        let mut skipped = Vec::new();
        collect(root, &mut paths, &mut skipped);
        paths.sort();
        let workers = thread::available_parallelism().map_or(1, usize::from).min(8);
        let share = paths.len().div_ceil(workers).max(1);
        let parts: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = paths
                .chunks(share)
                .map(|part| scope.spawn(move || graph::with_deep_stack(|| read_all(root, part))))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
                .collect()
        });
        let mut codebase = Self { skipped, ..Self::default() };
        for (files, skipped) in parts {
            codebase.skipped.extend(skipped);
            for file in files {
                codebase.add(file);
            }
        }
        codebase.skipped.sort();
        codebase
    }

    /// A codebase of texts at hand, by path.
    pub fn of_texts<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut codebase = Self::default();
        for (path, text) in texts {
            let (path, text) = (path.to_owned(), text.to_owned());
            let outline = Outline::of(&text);
            codebase.add(CodeFile::new(path, text, outline));
        }
        codebase
    }

    /// The files, sorted by path.
    pub fn files(&self) -> &[CodeFile] {
        &self.files
    }

    /// The file at a path.
    pub fn file(&self, path: &str) -> Option<&CodeFile> {
        self.numbers.get(path).map(|&number| &self.files[number as usize])
    }

    /// The lines of all blocks of a name, by file, each in source order.
    pub fn block(&self, block: &str) -> Vec<(&CodeFile, Vec<&Line>)> {
        let places = self.index.get(block).into_iter().flat_map(FxHashMap::values).flatten();
        let mut places: Vec<CodebaseLine> = places.copied().collect();
        places.sort_unstable_by_key(|place| (place.file, place.line));
        let by_file = places.chunk_by(|a, b| a.file == b.file);
        by_file
            .map(|part| {
                let lines = part.iter().map(|&place| self.line(place)).collect();
                (&self.files[part[0].file as usize], lines)
            })
            .collect()
    }

    /// Returns true if any file has a block of this name.
    pub fn has_block(&self, block: &str) -> bool {
        self.index.contains_key(block)
    }

    /// Returns true if a block of the same name has this docstring.
    pub fn has_text(&self, text: &Line) -> bool {
        self.texts.get(&text.block).is_some_and(|keys| keys.contains(&text.key))
    }

    /// Returns true if files import, somewhere, all that a statement does, under whatever name.
    pub fn imports(&self, statement: &str) -> bool {
        let all = self.imported.get_or_init(|| {
            let imports =
                |file: &CodeFile| file.text.contains("import").then(|| loaded(&file.text));
            self.files.iter().filter_map(imports).flatten().collect()
        });
        let given = loaded(statement);
        !given.is_empty() && given.is_subset(all)
    }

    /// The places in which a gist's line stands: in a block of the same name, with the same syntax. An
    /// `elif` may appear as an `if`, because the branch before it may be gone.
    pub fn places<'a>(&'a self, line: &'a Line) -> impl Iterator<Item = CodebaseLine> + 'a {
        let places = self.index.get(&line.block).and_then(|keys| keys.get(&line.key));
        let places = places.into_iter().flatten().copied();
        places.filter(|&place| line.role != Role::Elif || self.line(place).role == Role::Elif)
    }

    /// The path of a place's file, and the number of its line in the outline.
    pub fn at(&self, place: CodebaseLine) -> (&str, usize) {
        (&self.files[place.file as usize].path, place.line as usize)
    }

    /// The line at a place.
    pub fn line(&self, place: CodebaseLine) -> &Line {
        &self.files[place.file as usize].outline.lines[place.line as usize]
    }

    /// The path of a place's file.
    pub fn path(&self, place: CodebaseLine) -> &str {
        &self.files[place.file as usize].path
    }

    /// Lines of code and tokens of all files.
    pub fn extent(&self) -> Extent {
        let mut extent = Extent::default();
        for file in &self.files {
            extent.lines += starts(&file.outline).len() as u64;
            extent.tokens += tokens::count(&file.text);
        }
        extent
    }

    fn add(&mut self, file: CodeFile) {
        let number = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        for (at, line) in (0..).zip(&file.outline.lines) {
            if !self.index.contains_key(&line.block) {
                self.index.insert(line.block.clone(), FxHashMap::default());
            }
            if let Some(keys) = self.index.get_mut(&line.block) {
                keys.entry(line.key).or_default().push(CodebaseLine { file: number, line: at });
            }
        }
        for text in &file.outline.texts {
            self.texts.entry(text.block.clone()).or_default().insert(text.key);
        }
        self.numbers.insert(file.path.clone(), number);
        self.files.push(file);
    }
}

/// Repositories that were read, by fingerprint: scoring several tasks of one reads it once.
#[derive(Debug, Default)]
pub struct Codebases(Mutex<Vec<(String, Arc<Codebase>)>>);

impl Codebases {
    /// Most repositories kept at a time; they are large.
    const KEPT: usize = 2;

    /// A repository, where it was read and is still kept.
    pub(crate) fn known(&self, fingerprint: &str) -> Option<Arc<Codebase>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(name, _)| name == fingerprint).map(|(_, codebase)| codebase.clone())
    }

    pub(crate) fn get(&self, fingerprint: &str, root: &Path) -> Arc<Codebase> {
        // Held while reading, so that two workers do not read the same repository.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, codebase)) = known.iter().find(|(name, _)| name == fingerprint) {
            return codebase.clone();
        }
        let codebase = Arc::new(Codebase::read(root));
        if known.len() == Self::KEPT {
            known.remove(0);
        }
        known.push((fingerprint.to_owned(), codebase.clone()));
        codebase
    }
}

/// Reads a Python file: what Python would decode, at most 64 MiB, never a link or a device.
///
/// # Errors
/// A reason, to be shown.
pub fn read_source(path: &Path) -> Result<String, String> {
    let metadata = fs::symlink_metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    if metadata.len() > LARGEST {
        return Err("larger than 64 MiB".to_owned());
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let name = path.display().to_string();
    let source = graph::Source::decode(name, &bytes).map_err(|error| error.to_string())?;
    Ok(source.text().to_owned())
}

/// Physical lines on which something starts, sorted, with the lines of the outline that start there.
pub fn starts(outline: &Outline) -> Vec<(u32, Vec<usize>)> {
    let mut at: std::collections::BTreeMap<u32, Vec<usize>> = std::collections::BTreeMap::new();
    for (index, line) in outline.lines.iter().enumerate() {
        if line.class != Class::Inert || line.role != Role::Decorator {
            at.entry(line.first).or_default().push(index);
        }
    }
    at.into_iter().collect()
}

fn read_all(root: &Path, paths: &[PathBuf]) -> (Vec<CodeFile>, Vec<(String, String)>) {
    let mut files = Vec::new();
    let mut skipped = Vec::new();
    for path in paths {
        let relative = relative(root, path);
        match read_source(path) {
            Ok(text) => {
                let outline = Outline::of_shallow(&text);
                files.push(CodeFile::new(relative, text, outline));
            }
            Err(reason) => skipped.push((relative, reason)),
        }
    }
    (files, skipped)
}

fn collect(root: &Path, paths: &mut Vec<PathBuf>, skipped: &mut Vec<(String, String)>) {
    let mut pending = vec![root.to_path_buf()];
    while let Some(directory) = pending.pop() {
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) => {
                skipped.push((relative(root, &directory), error.to_string()));
                continue;
            }
        };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() {
                if entry.file_name() != ".git" {
                    pending.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "py") {
                paths.push(path);
            }
        }
    }
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// The full names of what import statements of a text load, packages around modules included.
fn loaded(text: &str) -> FxHashSet<String> {
    struct Loaded(FxHashSet<String>);
    impl<'a> Visitor<'a> for Loaded {
        fn visit_expr(&mut self, _: &'a Expr) {}

        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::Import(import) => {
                    for name in import.names.iter().map(|one| one.name.as_str()) {
                        let ends = name.match_indices('.').map(|(end, _)| end).chain([name.len()]);
                        self.0.extend(ends.map(|end| name[..end].to_owned()));
                    }
                }
                Stmt::ImportFrom(import) => {
                    let module = import.module.as_ref().map_or("", |module| module.as_str());
                    let from = ".".repeat(import.level as usize) + module;
                    self.0.extend(import.names.iter().map(|one| format!("{from}.{}", one.name)));
                }
                _ => walk_stmt(self, stmt),
            }
        }
    }
    graph::with_deep_stack(|| {
        let syntax = graph::Syntax::parse(graph::Source::new("file", text));
        let mut found = Loaded(FxHashSet::default());
        syntax.body().iter().for_each(|stmt| found.visit_stmt(stmt));
        found.0
    })
}
