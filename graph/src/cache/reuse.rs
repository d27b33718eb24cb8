//! Decides which parts of a cached graph are still valid.

use std::path::Path;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rustc_hash::FxHashMap;

use super::{CachedGraph, Entry, Span64};
use crate::{
    facts::FileFacts,
    graph::{BuildOptions, FileId, Graph},
    load,
    walk::{FoundFile, SkippedFile, read},
};

/// A file beside what is kept of it.
pub(super) struct Examined {
    pub(super) entry: Entry,
    pub(super) read: bool,
    /// Facts, if the file was parsed.
    pub(super) new: Option<Option<FileFacts>>,
}

pub(super) fn examine(
    root: &Path,
    files: &[FoundFile],
    kept: Option<&CachedGraph>,
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
                let (facts, reason) = load::of_bytes(&file.path, bytes, options.pythons);
                Examined { entry: entry(hash, reason), read: true, new: Some(facts) }
            })
            .collect()
    })
}

/// The kept graph, if all that changed since are places; those are brought up to date.
pub(super) fn reuse(
    kept: &CachedGraph,
    files: &[FoundFile],
    examined: &[Examined],
    skipped: &[SkippedFile],
) -> Option<Graph> {
    let same = kept.head.files.len() == files.len()
        && kept.head.files.iter().zip(files).all(|(entry, file)| entry.path == file.path);
    if !same {
        return None;
    }
    let mut moved: Vec<(usize, FileFacts, &FileFacts)> = Vec::new();
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
    let mut now: Vec<SkippedFile> = skipped.to_vec();
    now.extend(examined.iter().filter_map(|examined| {
        let reason = examined.entry.skipped.clone()?;
        Some(SkippedFile { path: examined.entry.path.clone(), reason })
    }));
    now.sort_unstable();
    graph.skipped = now;
    for (at, old, new) in moved {
        move_places(&mut graph, FileId(u32::try_from(at).ok()?), &old, new)?;
    }
    Some(graph)
}

/// Updates the lines and ranges of one module. Returns `None` if old lines do not map to new ones
/// uniquely.
fn move_places(graph: &mut Graph, module: FileId, old: &FileFacts, new: &FileFacts) -> Option<()> {
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
