//! Checks that a gist is grounded: each line is a line of the original in the same block, in the
//! original's order, or glue.
//!
//! The writer's claims about its lines are not trusted: its source map only chooses among places
//! that match. All other lines are foreign. People judge foreign lines; nothing here looks for a
//! cheat.

mod allowed;
mod exchanged;
mod same_line;

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use graph::{Glue, GlueTarget, Source, Syntax};
use ruff_python_ast::{
    Expr, Stmt,
    visitor::{Visitor, walk_stmt},
};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::Internal;

use self::same_line::Reading;
use super::{
    meaning::{Meaning, Thing, Timeline},
    names::{Annotations, bound_by, without_quoted_annotations},
    tree::{Match, Matcher, Original, Tree},
};
use crate::{
    blocks::{Line, Outline, Role, StatementSuite, SyntaxFault},
    codebase::{CodeFile, Codebase},
    scorers::Executed,
    source_map::SourceMap,
};

/// The lines of a gist that are neither the original's nor glue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grounded {
    /// Lines of the gist: statements and headers.
    pub lines: u64,
    /// Lines of glue among them.
    pub glue: u64,
    /// Every foreign line.
    pub foreign: Vec<ForeignLine>,
}

/// A line of a gist that is neither the original's nor glue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForeignLine {
    /// 1-based line of the gist.
    pub line: u32,
    /// Its block; empty for the top level.
    pub block: String,
    /// Its text, shortened.
    pub text: String,
    /// The reason.
    pub reason: String,
}

/// The inputs to which a gist is compared.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// Path of the gist in the repository.
    pub gist: &'a str,
    pub codebase: &'a Codebase,
    pub executed: &'a Executed,
    pub internal: &'a Internal,
    pub meaning: &'a Meaning<'a>,
    /// Imports of functions that failed in the original.
    pub failed: &'a [graph::FailedImport],
    pub map: &'a SourceMap,
}

/// A gist with the place of each of its lines.
pub struct Placed {
    pub grounded: Grounded,
    /// The lines of the gist.
    pub outline: Outline,
    /// The path of the original's file, for each line that has a place.
    pub paths: Vec<Option<String>>,
    /// The glue, with its first and last physical line.
    pub glue: Vec<(u32, u32, Glue)>,
    /// The targets of its global names.
    pub names: Timeline,
}

/// Looks each line of a gist up. The caller's stack must come from [`graph::with_deep_stack`].
pub fn ground(text: &str, ground: &Ground<'_>) -> Placed {
    let syntax = Syntax::parse(Source::new("gist", text));
    let mut glue = GlueFinder { syntax: &syntax, depth: 0, found: Vec::new() };
    syntax.body().iter().for_each(|stmt| glue.visit_stmt(stmt));
    let glue = glue.found;
    let objects: FxHashSet<String> =
        glue.iter().filter_map(|one| objects(&one.glue)).flatten().collect();
    let is_path = |path: &str| {
        let mut modules = ground.internal.modules.values();
        modules.any(|own| own == path || own.strip_suffix("/__init__.py") == Some(path))
            || ground.codebase.file(path).is_some()
    };
    let undone = graph::undo_spellings(text, ground.gist, &objects, &is_path);
    let outline = Outline::of_shallow(text);
    let postpones = graph::postpones_annotations(syntax.body());
    let unquoted = (!postpones).then(|| without_quoted_annotations(&undone));
    let unquoted = unquoted.map(|(text, quoted)| Reading::new(&text, &outline, quoted));
    let plain = Reading::new(&undone, &outline, Vec::new());
    let mut search = Search {
        ground,
        text,
        tree: Tree::of(&outline),
        outline: &outline,
        plain: &plain,
        unquoted: unquoted.as_ref(),
        files: RefCell::default(),
        names: None,
        glue: &glue,
    };
    let roots = search.roots(Vec::new());
    let names = search.timeline(&roots);
    search.names = Some(names);
    let roots = search.roots(roots);
    let names = search.timeline(&roots);
    search.names = None;
    let (paths, places, moved) = search.placed(&roots);
    let mut grounded = Grounded { lines: outline.lines.len() as u64, ..Grounded::default() };
    for fault in outline.errors.iter().take(1).filter(|fault| !is_broken_alike(text, fault, ground))
    {
        let reason = format!("it is no Python: {}", fault.message);
        grounded.foreign.push(foreign(fault.line, "", "", reason));
    }
    if let Some(name) = other_encoding(text) {
        let reason = format!("Python reads the file as {name}, so that it has another text");
        grounded.foreign.push(foreign(1, "", "", reason));
    }
    for (at, line) in outline.lines.iter().enumerate() {
        if paths[at].is_some() {
            continue;
        }
        let found = glue.iter().rfind(|one| (one.first..=one.last).contains(&line.first));
        let reason = match found {
            _ if moved.contains(&at) => {
                Some("it is out of the original's order, or stands twice".to_owned())
            }
            Some(one) => search.refusal(one, at, &names, &paths, &places),
            None if search.is_known_import(line) => None,
            None if ground.codebase.has_block(&line.block) => {
                Some("the original has no such line in this block".to_owned())
            }
            None => Some("the original has no block of this name".to_owned()),
        };
        match reason {
            Some(reason) => {
                grounded.foreign.push(foreign(line.first, &line.block, &line.text, reason));
            }
            None => grounded.glue += 1,
        }
    }
    grounded.foreign.extend(changed_examples(text, ground.codebase, ground.executed));
    // A foreign line stands for what it replaces.
    let lost = search.lost_of_tests(&roots).into_iter();
    let is_changed = |lost: &ForeignLine, reach: (u32, u32)| {
        let mut lines = grounded.foreign.iter().filter(|one| one.line != lost.line);
        lines.any(|one| (reach.0..=reach.1).contains(&one.line))
    };
    let lost: Vec<ForeignLine> =
        lost.filter(|(reach, lost)| !is_changed(lost, *reach)).map(|(_, lost)| lost).collect();
    grounded.foreign.extend(lost);
    grounded.foreign.extend(search.exchanged(&names, &paths, &places));
    grounded.foreign.sort_by_key(|line| line.line);
    let glue = glue.into_iter().map(|one| (one.first, one.last, one.glue)).collect();
    Placed { grounded, outline, paths, glue, names }
}

/// Returns true if the original ended because it could not compile a file, and that file has the same syntax error and the
/// lines of the gist in their order.
fn is_broken_alike(text: &str, fault: &SyntaxFault, ground: &Ground<'_>) -> bool {
    let broken = ground.meaning.trace.broken.as_ref();
    broken.and_then(|place| ground.codebase.file(&place.path)).is_some_and(|file| {
        let has_fault = file.outline.errors.first().is_some_and(|own| own.message == fault.message);
        let mut lines = file.text.lines().map(str::trim_end);
        let mut own = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
        has_fault && own.all(|line| lines.any(|original| original == line))
    })
}

/// Returns the encoding that a gist declares, but for that of all gists.
fn other_encoding(text: &str) -> Option<String> {
    let name = graph::declared_encoding(text.as_bytes())?;
    let is_usual = ["utf-8", "utf8"].contains(&name.to_lowercase().replace('_', "-").as_str());
    (!is_usual).then_some(name)
}

fn foreign(line: u32, block: &str, text: &str, reason: String) -> ForeignLine {
    ForeignLine { line, block: block.to_owned(), text: text.to_owned(), reason }
}

/// Names of objects in the place of modules.
fn objects(glue: &Glue) -> Option<Vec<String>> {
    let Glue::ModuleObject { targets, .. } = glue else { return None };
    let names = targets.iter().filter_map(|target| match target {
        GlueTarget::Name(name) => Some(name.clone()),
        _ => None,
    });
    Some(names.collect())
}

/// A statement with the form of glue, allowed at its place or not.
struct FoundGlue {
    first: u32,
    last: u32,
    /// It stands at the top level, in whatever block but a function or a class.
    is_global: bool,
    glue: Glue,
}

struct GlueFinder<'a> {
    syntax: &'a Syntax,
    depth: usize,
    found: Vec<FoundGlue>,
}

impl<'a> Visitor<'a> for GlueFinder<'_> {
    fn visit_expr(&mut self, _: &'a Expr) {}

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Some(glue) = Glue::parse(stmt) {
            let (first, last) = self.syntax.source().line_span(stmt.range());
            let is_global = self.depth == 0;
            // Of a late module the head is glue, and the block the original's.
            let is_head = matches!(glue, Glue::Late(_));
            let last = if is_head { first } else { last };
            self.found.push(FoundGlue { first, last, is_global, glue });
            if is_head {
                walk_stmt(self, stmt);
            }
            return;
        }
        let opens = matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_));
        self.depth += usize::from(opens);
        walk_stmt(self, stmt);
        self.depth -= usize::from(opens);
    }
}

/// The place of a statement of the top level.
struct Root {
    at: usize,
    path: String,
    /// Its number among the candidates for the top level of that file.
    position: usize,
    /// Its physical lines there.
    reach: (u32, u32),
    found: Rc<Match>,
}

/// A file of the original with what its lines are looked up by.
struct File<'a> {
    code: &'a CodeFile,
    original: Original<'a>,
    syntax: Syntax,
    /// Statements that may stand at the top level, with their positions.
    positions: FxHashMap<usize, usize>,
    /// True if its annotations are texts, by `from __future__ import annotations`.
    postpones: bool,
    annotations: Vec<TextRange>,
    /// Annotations that the run did not evaluate.
    unread: Vec<TextRange>,
}

struct Search<'a> {
    ground: &'a Ground<'a>,
    /// The text of the gist.
    text: &'a str,
    outline: &'a Outline,
    /// The gist with the original's spellings.
    plain: &'a Reading,
    /// The same, with expressions for annotations that are texts, if the gist does not postpone them all.
    unquoted: Option<&'a Reading>,
    tree: Tree,
    files: RefCell<FxHashMap<String, Rc<File<'a>>>>,
    /// The targets of names, once known: then lines that differ only in names of equal targets
    /// match.
    names: Option<Timeline>,
    glue: &'a [FoundGlue],
}

impl<'a> Search<'a> {
    fn file(&self, path: &str) -> Option<Rc<File<'a>>> {
        if let Some(known) = self.files.borrow().get(path) {
            return Some(known.clone());
        }
        let code = self.ground.codebase.file(path)?;
        let tree = Tree::of(&code.outline);
        let hits = self.ground.executed.lines_of(&code.path);
        let original = Original { outline: &code.outline, tree, hits };
        let flat = original.flatten(original.tree.roots());
        let positions = flat.iter().enumerate().map(|(at, (line, _))| (*line, at)).collect();
        let syntax = Syntax::parse(Source::new(&*code.path, &*code.text));
        let postpones = graph::postpones_annotations(syntax.body());
        let mut found = Annotations::default();
        syntax.body().iter().for_each(|stmt| found.visit_stmt(stmt));
        let annotations = [&*found.found, &*found.local].concat();
        let unread = self.unread_annotations(&syntax, path, found, postpones);
        let file =
            Rc::new(File { code, original, syntax, positions, postpones, annotations, unread });
        self.files.borrow_mut().insert(path.to_owned(), file.clone());
        Some(file)
    }

    /// Returns the annotations of a file that the original's run did not evaluate, if the gist's run
    /// evaluates them as late. A name in one may stand for nothing:
    ///
    /// ```python
    /// from __future__ import annotations
    /// def send(data: Response): ...    # `Response` may be another class, or undefined
    /// ```
    fn unread_annotations(
        &self,
        syntax: &Syntax,
        path: &str,
        annotations: Annotations,
        postpones: bool,
    ) -> Vec<TextRange> {
        let trace = self.ground.meaning.trace;
        let on_demand = trace.python >= (3, 14, 0) && trace.tracer == "monitoring";
        let Annotations { found, mut local, .. } = annotations;
        // The gist postpones its annotations if it has no second reading.
        if on_demand || postpones && self.unquoted.is_none() {
            let file = trace.file(path);
            let is_unread = |range: &TextRange| {
                !file.is_some_and(|file| file.evaluates(syntax.source(), *range))
            };
            local.extend(found.into_iter().filter(is_unread));
        }
        local
    }

    /// Finds a place for each statement of the top level that has one. `known` are places that were found before; those
    /// without a missing line stay.
    ///
    /// A statement may occur in several files. Then the candidate wins that keeps the order of its file; after that, the
    /// file of the next, then of the previous statement that occurs in one file only.
    ///
    /// ```python
    /// log = getLogger(__name__)    # in each file: of a.py, since the next statement is
    /// def of_a(): ...
    /// log = getLogger(__name__)    # of b.py
    /// def of_b(): ...
    /// ```
    fn roots(&self, known: Vec<Root>) -> Vec<Root> {
        let mut known: FxHashMap<usize, Root> =
            known.into_iter().map(|root| (root.at, root)).collect();
        let top = self.top();
        let mut all: Vec<Vec<Root>> = Vec::with_capacity(top.len());
        for at in top {
            let known = known.remove(&at).filter(|root| root.found.missing == 0);
            let candidates = known.map_or_else(|| self.candidates(at), |root| vec![root]);
            all.push(self.best(at, candidates));
        }
        let neighbours = Neighbours::of(&all);
        let mut found: Vec<Root> = Vec::new();
        let mut taken = FxHashSet::default();
        for (number, candidates) in all.into_iter().enumerate() {
            let best = candidates.into_iter().min_by_key(|root| {
                let is_taken = taken.contains(&(root.path.clone(), root.position));
                (is_taken, neighbours.rank(number, root), root.position)
            });
            let Some(best) = best else { continue };
            // Glue may read like a line of the original that stands elsewhere: `Path_io = Path` like `Path = _Path`.
            if !taken.insert((best.path.clone(), best.position)) && self.is_glue(best.at) {
                continue;
            }
            found.push(best);
        }
        found
    }

    /// Returns the candidates with the fewest missing lines, of them those that the source map names, of them those in
    /// files that were executed.
    fn best(&self, at: usize, candidates: Vec<Root>) -> Vec<Root> {
        let claimed = self.ground.map.origin(self.outline.lines[at].first);
        let rank = |root: &Root| {
            let is_claimed = claimed.is_some_and(|place| {
                place.path == root.path && (root.reach.0..=root.reach.1).contains(&place.line)
            });
            (root.found.missing, !is_claimed, !self.ground.executed.ran(&root.path))
        };
        let Some(least) = candidates.iter().map(rank).min() else { return Vec::new() };
        candidates.into_iter().filter(|root| rank(root) == least).collect()
    }

    /// Returns true if a statement of the top level has the form of glue.
    fn is_glue(&self, at: usize) -> bool {
        let line = self.outline.lines[at].first;
        self.glue.iter().any(|one| one.is_global && one.first == line)
    }

    /// The statements of the top level, and those of modules that run when they are first used.
    fn top(&self) -> Vec<usize> {
        let is_head = |at: usize| {
            let line = self.outline.lines[at].first;
            self.glue.iter().any(|one| one.first == line && matches!(one.glue, Glue::Late(_)))
        };
        let of = |at: usize| match is_head(at) {
            true => self.tree.suite(at, StatementSuite::Body).to_vec(),
            false => vec![at],
        };
        self.tree.roots().iter().flat_map(|at| of(*at)).collect()
    }

    /// Places of a statement of the top level.
    fn candidates(&self, at: usize) -> Vec<Root> {
        let line = &self.outline.lines[at];
        let codebase = self.ground.codebase;
        let mut there: Vec<(&str, usize)> = match line.role {
            Role::Definition => {
                let blocks = codebase.block(&line.block).into_iter();
                blocks
                    .flat_map(|(file, lines)| lines.into_iter().map(move |one| (file, one)))
                    .filter(|(_, one)| one.role == Role::Definition && one.block == line.block)
                    .map(|(file, one)| (file.path.as_str(), one))
                    .filter_map(|(path, one)| {
                        let lines = &codebase.file(path)?.outline.lines;
                        Some((path, lines.iter().position(|other| other == one)?))
                    })
                    .collect()
            }
            _ => {
                let readings = [Some(self.plain), self.unquoted].into_iter().flatten();
                let readings = readings.map(|reading| &reading.outline.lines[at]);
                let places = [line].into_iter().chain(readings);
                places
                    .flat_map(|line| codebase.places(line))
                    .map(|place| codebase.at(place))
                    .collect()
            }
        };
        if there.is_empty() && self.names.is_some() && line.role != Role::Import {
            let files = codebase.files().iter();
            for code in files.filter(|file| self.ground.executed.ran(&file.path)) {
                let Some(file) = self.file(&code.path) else { continue };
                let alike =
                    file.positions.keys().filter(|other| self.is_same_line(at, &file, **other));
                there.extend(alike.map(|other| (code.path.as_str(), *other)));
            }
        }
        there.sort_unstable();
        there.dedup();
        let mut found = Vec::new();
        for (path, other) in there {
            let Some(file) = self.file(path) else { continue };
            let Some(&position) = file.positions.get(&other) else { continue };
            let alike = |gist: usize, original: usize| self.is_same_line(gist, &file, original);
            let matcher = Matcher {
                gist: self.outline,
                tree: &self.tree,
                original: &file.original,
                alike: &alike,
                known: RefCell::default(),
            };
            if let Some(matched) = matcher.statement(at, other) {
                let reach = file.original.outline.lines[other].reach;
                found.push(Root { at, path: path.to_owned(), position, reach, found: matched });
            }
        }
        found
    }

    /// Returns the targets of the gist's global names, from the origins of its lines and from its
    /// glue.
    fn timeline(&self, roots: &[Root]) -> Timeline {
        let mut paths: FxHashMap<usize, &str> = FxHashMap::default();
        for root in roots {
            paths.extend(root.found.pairs.iter().map(|(gist, _)| (*gist, root.path.as_str())));
            self.tree.for_each(root.at, &mut |at| {
                paths.entry(at).or_insert(&root.path);
            });
        }
        let mut names = Timeline::of(self.ground.meaning.trace.pythons());
        let mut glue = self.glue.iter().filter(|one| one.is_global).peekable();
        for (at, line) in self.outline.lines.iter().enumerate() {
            while let Some(one) = glue.next_if(|one| one.first <= line.first) {
                // A line of the original that looks like glue binds what it binds there.
                if one.first < line.first || !paths.contains_key(&at) || line.role == Role::Import {
                    names.bind_glue(one.first, &one.glue);
                }
            }
            let is_global = match line.role {
                Role::Definition => !line.block.contains('.'),
                Role::Import => false,
                _ => line.block.is_empty(),
            };
            if is_global && let Some(path) = paths.get(&at) {
                for name in bound_by(&self.plain.tokens, &self.plain.outline.lines[at]) {
                    let thing = Thing::Own((*path).to_owned(), name.clone());
                    names.bind(line.first, &name, Some(thing));
                }
            }
        }
        glue.for_each(|one| names.bind_glue(one.first, &one.glue));
        names
    }

    /// The files of all lines that have a place, their partners, and the lines that are out of order.
    fn placed(
        &self,
        roots: &[Root],
    ) -> (Vec<Option<String>>, FxHashMap<usize, usize>, FxHashSet<usize>) {
        let mut paths: Vec<Option<String>> = vec![None; self.outline.lines.len()];
        let mut places = FxHashMap::default();
        let mut moved = FxHashSet::default();
        let mut by_file: BTreeMap<&str, Vec<&Root>> = BTreeMap::new();
        for root in roots {
            if self.outline.lines[root.at].role == Role::Import {
                paths[root.at] = Some(root.path.clone());
            } else {
                by_file.entry(&root.path).or_default().push(root);
            }
        }
        for (path, roots) in by_file {
            // Of several that stand in one place the first with the fewest changes is the original's.
            let mut best: BTreeMap<usize, &Root> = BTreeMap::new();
            for root in &roots {
                let one = best.entry(root.position).or_insert(root);
                if root.found.missing < one.found.missing {
                    *one = root;
                }
            }
            let (roots, others): (Vec<&Root>, Vec<&Root>) =
                roots.into_iter().partition(|root| best[&root.position].at == root.at);
            for root in others {
                self.tree.for_each(root.at, &mut |at| {
                    moved.insert(at);
                });
            }
            let kept = increasing(&roots.iter().map(|root| root.position).collect::<Vec<_>>());
            for (root, kept) in roots.iter().zip(kept) {
                if !kept {
                    self.tree.for_each(root.at, &mut |at| {
                        moved.insert(at);
                    });
                    continue;
                }
                for &(gist, original) in &root.found.pairs {
                    paths[gist] = Some(path.to_owned());
                    places.insert(gist, original);
                }
            }
        }
        (paths, places, moved)
    }

    /// Returns true if the original imports the same, whatever stands around it.
    fn is_known_import(&self, line: &Line) -> bool {
        line.role == Role::Import && self.ground.codebase.imports(line.statement(self.text))
    }
}

/// The statements of a gist that have one place each, by which others are told apart.
struct Neighbours {
    /// For each statement the file of the next one with one place, and that of the one before.
    around: Vec<(Option<String>, Option<String>)>,
    /// For each file their numbers in the gist and their positions, in order.
    of_file: BTreeMap<String, Vec<(usize, usize)>>,
}

impl Neighbours {
    fn of(all: &[Vec<Root>]) -> Self {
        let path = |candidates: &Vec<Root>| match candidates.as_slice() {
            [only] => Some(only.path.clone()),
            _ => None,
        };
        let mut around = vec![(None, None); all.len()];
        let (mut before, mut after) = (None, None);
        for at in 0..all.len() {
            around[at].1 = before.clone();
            before = path(&all[at]).or(before);
            let at = all.len() - 1 - at;
            around[at].0 = after.clone();
            after = path(&all[at]).or(after);
        }
        let mut of_file: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
        for (number, candidates) in all.iter().enumerate() {
            if let [only] = candidates.as_slice() {
                of_file.entry(only.path.clone()).or_default().push((number, only.position));
            }
        }
        Self { around, of_file }
    }

    /// Returns a smaller value for a place that fits better.
    fn rank(&self, number: usize, root: &Root) -> (bool, bool, bool, bool) {
        let there = self.of_file.get(&root.path).map_or(&[][..], Vec::as_slice);
        let at = there.partition_point(|(other, _)| *other < number);
        let before = at.checked_sub(1).map(|at| there[at].1);
        let after = there[at..].iter().find(|(other, _)| *other > number).map(|(_, p)| *p);
        let fits = before.is_none_or(|before| before < root.position)
            && after.is_none_or(|after| root.position < after);
        let (next, last) = &self.around[number];
        let is_of = |path: &Option<String>| path.as_deref() == Some(&root.path);
        (!fits, !is_of(next), !is_of(last), there.is_empty())
    }
}

/// For each number whether it is part of a longest increasing run of them.
fn increasing(numbers: &[usize]) -> Vec<bool> {
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(numbers.len());
    for (at, number) in numbers.iter().enumerate() {
        let place = ends.partition_point(|end| numbers[*end] < *number);
        before.push(place.checked_sub(1).map(|place| ends[place]));
        match ends.get_mut(place) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut kept = vec![false; numbers.len()];
    let mut next = ends.last().copied();
    while let Some(at) = next {
        kept[at] = true;
        next = before[at];
    }
    kept
}

/// Docstrings of a gist whose examples are no docstring's of the same block.
fn changed_examples(text: &str, codebase: &Codebase, executed: &Executed) -> Vec<ForeignLine> {
    let documented = |path: &str, text: &str| {
        graph::documented(graph::Source::new(path, text)).into_iter().filter_map(|one| {
            let block = match &one.names[..] {
                [name] if name == graph::DOCSTRING => String::new(),
                names => names.join("."),
            };
            Some((block, one.examples?))
        })
    };
    let own: Vec<(String, String)> = documented("gist", text).collect();
    if own.is_empty() {
        return Vec::new();
    }
    let files = codebase.files().iter().filter(|file| executed.ran(&file.path));
    let known: FxHashSet<(String, String)> =
        files.flat_map(|file| documented(&file.path, &file.text)).collect();
    let changed = own.into_iter().filter(|one| !known.contains(one));
    changed
        .map(|(block, examples)| {
            let shown = examples.lines().next().unwrap_or_default();
            foreign(0, &block, shown, "the original has no such examples".to_owned())
        })
        .collect()
}
