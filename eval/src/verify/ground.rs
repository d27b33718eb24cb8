//! Checks that a gist is grounded: each line is a line of the original in the same block, in the
//! original's order, or glue.
//!
//! The writer's claims about its lines are not trusted: its source map only chooses among places
//! that match. All other lines are foreign. People judge foreign lines; nothing here looks for a
//! cheat.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use graph::{Glue, GlueTarget, Held, Source, Syntax};
use ruff_python_ast::{
    Expr, Stmt,
    token::TokenKind,
    visitor::{Visitor, walk_stmt},
};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use tools::Internal;

use super::{
    meaning::{Meaning, Thing, Timeline, same},
    names::{
        Annotations, all_tokens, bound_by, bound_in_line, imported_in_blocks, placed_tokens,
        string_value, tokens, without_quoted_annotations,
    },
    tree::{Match, Matcher, Original, Tree, hit},
};
use crate::{
    blocks::{Class, Line, Outline, Role, StatementSuite},
    codebase::{CodeFile, Codebase},
    scorers::Executed,
    source_map::SourceMap,
};

/// The lines of a gist that are neither the original's nor glue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grounded {
    /// Lines of the gist: statements and headers.
    pub lines: u64,
    /// Lines of glue among them.
    pub glue: u64,
    /// Every foreign line.
    pub foreign: Vec<ForeignLine>,
}

/// A line of a gist that is neither the original's nor glue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    for (line, why) in outline.errors.iter().take(1) {
        let reason = format!("it is no Python: {why}");
        grounded.foreign.push(foreign(*line, "", "", reason));
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

/// The gist in a spelling of the original: its lines, and the tokens of their text.
struct Reading {
    outline: Outline,
    tokens: Syntax,
    /// The annotations that the gist has as texts and this spelling as expressions.
    quoted: Vec<TextRange>,
}

impl Reading {
    /// Reads a text that has the statements of `gist`. One that is no Python may have others: it then has the gist's lines.
    fn new(text: &str, gist: &Outline, quoted: Vec<TextRange>) -> Self {
        let outline = Outline::of_shallow(text);
        let has_same = outline.lines.len() == gist.lines.len();
        let outline = if has_same { outline } else { gist.clone() };
        Self { outline, tokens: Syntax::parse(Source::new("gist", text)), quoted }
    }
}

struct Search<'a> {
    ground: &'a Ground<'a>,
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
        let unread = self.unread_annotations(&syntax, path);
        let postpones = graph::postpones_annotations(syntax.body());
        let mut found = Annotations::default();
        syntax.body().iter().for_each(|stmt| found.visit_stmt(stmt));
        let annotations = [found.found, found.local].concat();
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
    fn unread_annotations(&self, syntax: &Syntax, path: &str) -> Vec<TextRange> {
        let trace = self.ground.meaning.trace;
        let is_postponed = |syntax: &Syntax| graph::postpones_annotations(syntax.body());
        let on_demand = trace.python >= (3, 14, 0) && trace.tracer == "monitoring";
        let mut annotations = Annotations::default();
        syntax.body().iter().for_each(|stmt| annotations.visit_stmt(stmt));
        let Annotations { found, mut local, .. } = annotations;
        if on_demand || is_postponed(syntax) && is_postponed(&self.plain.tokens) {
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
    fn roots(&self, known: Vec<Root>) -> Vec<Root> {
        let mut known: FxHashMap<usize, Root> =
            known.into_iter().map(|root| (root.at, root)).collect();
        let mut found: Vec<Root> = Vec::new();
        let mut last: BTreeMap<String, usize> = BTreeMap::new();
        for at in self.top() {
            let known = known.remove(&at).filter(|root| root.found.missing == 0);
            let claimed = self.ground.map.origin(self.outline.lines[at].first);
            let rank = |root: &Root| {
                let is_claimed = claimed.is_some_and(|place| {
                    place.path == root.path && (root.reach.0..=root.reach.1).contains(&place.line)
                });
                let after = last.get(&root.path).is_none_or(|last| root.position > *last);
                let ran = self.ground.executed.ran(&root.path);
                (root.found.missing, !is_claimed, !ran, !after, root.position)
            };
            let best = known.or_else(|| self.candidates(at).into_iter().min_by_key(rank));
            let Some(best) = best else { continue };
            let place = last.entry(best.path.clone()).or_insert(best.position);
            *place = best.position.max(*place);
            found.push(best);
        }
        found
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

    /// Returns the gist in the spelling in which lines of a file stand there.
    fn reading(&self, file: &File<'_>) -> &Reading {
        self.unquoted.filter(|_| file.postpones).unwrap_or(self.plain)
    }

    /// Returns true if a line of the gist is a line of the original, but for names that glue changes.
    fn is_same_line(&self, gist: usize, file: &File<'_>, original: usize) -> bool {
        let (own, reading) = (&self.outline.lines[gist], self.reading(file));
        let plain = &reading.outline.lines[gist];
        let other = &file.original.outline.lines[original];
        let kinds =
            own.role == other.role || matches!((own.role, other.role), (Role::If, Role::Elif));
        if !kinds || own.block != other.block {
            return false;
        }
        if own.key == other.key || plain.key == other.key {
            return true;
        }
        let Some(names) = &self.names else { return false };
        if own.role == Role::Import {
            return false;
        }
        let left = tokens(&reading.tokens, plain);
        let placed = placed_tokens(&file.syntax, other);
        let is_annotation =
            |at: usize| file.annotations.iter().any(|range| range.contains(placed[at].2));
        let right: Vec<(TokenKind, &str)> =
            placed.iter().map(|(kind, text, _)| (*kind, *text)).collect();
        left.len() == right.len()
            && left.iter().zip(&right).enumerate().all(|(at, (left, there))| {
                left == there || {
                    let behind_dot = at > 0 && right[at - 1].0 == TokenKind::Dot;
                    self.stands_for(names, left, there, behind_dot, file)
                        || is_annotation(at) && self.says_the_same(names, left, there, file)
                }
            })
    }

    /// Returns true if the text of an annotation is that of the original, but for names that glue changes. A name that
    /// means nothing in the original means nothing in the gist.
    fn says_the_same(
        &self,
        names: &Timeline,
        own: &(TokenKind, &str),
        there: &(TokenKind, &str),
        file: &File<'_>,
    ) -> bool {
        let parsed = |token: &(TokenKind, &str)| {
            let value = string_value(token.1).filter(|_| token.0 == TokenKind::String)?;
            Some(Syntax::parse(Source::new("annotation", value)))
        };
        let (Some(own), Some(there)) = (parsed(own), parsed(there)) else { return false };
        let (left, right) = (all_tokens(&own), all_tokens(&there));
        let means_nothing = |own: &str, there: &str| {
            let meaning = self.ground.meaning;
            meaning.is_fresh(own)
                && names.ever(own).is_empty()
                && meaning.in_file(&file.code.path, there).is_none()
        };
        left.len() == right.len()
            && left.iter().zip(&right).enumerate().all(|(at, (left, there))| {
                let behind_dot = at > 0 && right[at - 1].0 == TokenKind::Dot;
                left == there
                    || self.stands_for(names, left, there, behind_dot, file)
                    || !behind_dot
                        && (left.0, there.0) == (TokenKind::Name, TokenKind::Name)
                        && means_nothing(left.1, there.1)
            })
    }

    /// Returns true if a token of the gist may stand in the place of one of the original.
    fn stands_for(
        &self,
        names: &Timeline,
        (own_kind, own): &(TokenKind, &str),
        (kind, there): &(TokenKind, &str),
        behind_dot: bool,
        file: &File<'_>,
    ) -> bool {
        let path = file.code.path.as_str();
        match (own_kind, kind) {
            (TokenKind::String, TokenKind::String) => {
                let value = string_value(own);
                value.is_some() && value == string_value(there)
            }
            (TokenKind::String, TokenKind::Name) => {
                let value = own.trim_matches(['"', '\'']);
                let meaning = self.ground.meaning;
                match *there {
                    "__name__" => meaning.module_of(path) == Some(value),
                    "__package__" => meaning.package_of(path) == Some(value),
                    _ => false,
                }
            }
            (TokenKind::Name, TokenKind::Name) => {
                let things = names.ever(own);
                if behind_dot {
                    return things.iter().any(|thing| match thing {
                        Thing::Own(_, name) => name == there,
                        Thing::Module(module) => module.rsplit('.').next() == Some(there),
                        Thing::Gist => self.ground.meaning.is_last_of_module(there),
                        Thing::External(..) | Thing::Builtin(_) => false,
                    });
                }
                let Some(wanted) = self.ground.meaning.in_file(path, there) else { return false };
                things.iter().any(|thing| same(thing, &wanted))
            }
            _ => false,
        }
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

    /// Returns the test functions that lost a line which the original executes, with their physical
    /// lines: their assertions must stay complete.
    fn lost_of_tests(&self, roots: &[Root]) -> Vec<((u32, u32), ForeignLine)> {
        let mut lost = Vec::new();
        for root in roots.iter().filter(|root| self.ground.internal.support.contains(&root.path)) {
            let Some(file) = self.file(&root.path) else { continue };
            let outline = file.original.outline;
            let pairs: FxHashMap<usize, usize> =
                root.found.pairs.iter().map(|(gist, original)| (*original, *gist)).collect();
            for (&original, &gist) in &pairs {
                let head = &outline.lines[original];
                if head.role != Role::Definition {
                    continue;
                }
                let own = outline.lines.iter().enumerate().filter(|(_, line)| {
                    line.block == head.block
                        && (head.reach.0..=head.reach.1).contains(&line.first)
                        && line.role == Role::Simple
                        && line.class == Class::Executable
                });
                let is_lost = |(at, line): &(usize, &Line)| {
                    file.original.ran_within(line, head) && !pairs.contains_key(at)
                };
                let left_out = own.into_iter().find(is_lost).map(|(_, line)| line.text.clone());
                let left_out = left_out.or_else(|| self.lost_failure(&file, head, &pairs));
                if let Some(text) = left_out {
                    let head = &self.outline.lines[gist];
                    let reason = format!("it leaves out `{text}`, which the original executes");
                    let line = foreign(head.first, &head.block, &head.text, reason);
                    lost.push((head.reach, line));
                }
            }
        }
        lost
    }

    /// An import of a test function that failed in the original and does not fail at the same in its place.
    fn lost_failure(
        &self,
        file: &File<'_>,
        head: &Line,
        pairs: &FxHashMap<usize, usize>,
    ) -> Option<String> {
        let outline = file.original.outline;
        let failed = self.ground.failed.iter().filter(|one| one.place.path == file.code.path);
        failed.into_iter().find_map(|failed| {
            let is_it = |line: &&Line| {
                line.block == head.block
                    && line.role == Role::Import
                    && line.first == failed.place.line
            };
            let line = outline.lines.iter().find(is_it)?;
            let place = |parent: Option<(usize, StatementSuite)>| {
                parent.and_then(|(parent, suite)| Some((*pairs.get(&parent)?, suite)))
            };
            // What stood before it stands before it.
            let in_order = |own: &Line| {
                pairs.iter().all(|(original, gist)| {
                    let (original, gist) = (&outline.lines[*original], &self.outline.lines[*gist]);
                    original.parent != line.parent
                        || (original.first < line.first) == (gist.first < own.first)
                })
            };
            let stands = self.outline.lines.iter().any(|own| {
                own.role == Role::Import
                    && own.block == head.block
                    && own.parent == place(line.parent)
                    && Glue::parse_text(&own.text) == Glue::parse_text(&failed.text)
                    && in_order(own)
            });
            (!stands).then(|| failed.text.clone())
        })
    }

    /// Lines of the original with names that stand for something else in the gist: the function of another module that
    /// has the same name.
    fn exchanged(
        &self,
        names: &Timeline,
        paths: &[Option<String>],
        places: &FxHashMap<usize, usize>,
    ) -> Vec<ForeignLine> {
        let mut found = Vec::new();
        let imported = imported_in_blocks(self.outline);
        let mut locals: FxHashMap<(&str, &str), FxHashSet<String>> = FxHashMap::default();
        for (at, path) in paths.iter().enumerate() {
            let line = &self.outline.lines[at];
            let (Some(path), false) = (path, line.role == Role::Import) else { continue };
            let (Some(file), Some(&place)) = (self.file(path), places.get(&at)) else { continue };
            let original = &file.original.outline.lines[place];
            if !hit(file.original.hits, original.reach) {
                continue;
            }
            let reading = self.reading(&file);
            let own = placed_tokens(&reading.tokens, &reading.outline.lines[at]);
            let placed = placed_tokens(&file.syntax, original);
            let there: Vec<(TokenKind, &str)> =
                placed.iter().map(|(kind, text, _)| (*kind, *text)).collect();
            if own.len() != there.len() {
                continue;
            }
            let is_global = line.block.is_empty();
            let start = placed.first().map_or_else(TextSize::default, |(.., start)| *start);
            let locals = locals
                .entry((path.as_str(), line.block.as_str()))
                .or_insert_with(|| local_names(&file, &line.block));
            let mut bound = FxHashSet::default();
            bound_in_line(&there, &mut bound);
            let exchanged = (0..own.len()).find(|&token| {
                let (kind, name, here) = own[token];
                let before = token.checked_sub(1).map(|before| own[before].0);
                let is_named = own.get(token + 1).is_some_and(|next| next.0 == TokenKind::Equal);
                let is_local = locals.contains(there[token].1) || bound.contains(there[token].1);
                // An annotated variable is bound like a definition.
                let is_annotated =
                    || own.get(token + 1).is_some_and(|next| next.0 == TokenKind::Colon);
                let is_defined = token == 0
                    && (line.role == Role::Definition
                        || line.role == Role::Simple && is_annotated());
                let is_unread = || {
                    file.unread.iter().any(|range| range.contains(placed[token].2))
                        || reading.quoted.iter().any(|range| range.contains(here))
                };
                if kind != TokenKind::Name
                    || before == Some(TokenKind::Dot)
                    || is_named
                    || is_local
                    || is_defined
                    || is_unread()
                {
                    return false;
                }
                let imported = imported.get(&(line.block.as_str(), name.to_owned()));
                let stands_for: Vec<&Thing> = match (is_global, imported) {
                    (true, _) => names.before(line.first, name).into_iter().collect(),
                    (false, Some(imported)) => vec![imported],
                    (false, None) => names.ever(name).into_iter().collect(),
                };
                let meaning = self.ground.meaning;
                let wanted = match is_global {
                    true => meaning.in_file_at(path, there[token].1, start),
                    false => meaning.in_file(path, there[token].1),
                };
                wanted.is_some_and(|wanted| {
                    !stands_for.is_empty() && !stands_for.iter().any(|thing| same(thing, &wanted))
                })
            });
            if let Some(token) = exchanged {
                let reason =
                    format!("`{}` is bound to something else in the original", own[token].1);
                found.push(foreign(line.first, &line.block, &line.text, reason));
            }
        }
        found
    }

    /// Returns true if the original imports the same, whatever stands around it.
    fn is_known_import(&self, line: &Line) -> bool {
        line.role == Role::Import && self.ground.codebase.imports(&line.text)
    }

    /// Returns the reason why a statement with the form of glue is not allowed at its place.
    fn refusal(
        &self,
        found: &FoundGlue,
        at: usize,
        names: &Timeline,
        paths: &[Option<String>],
        places: &FxHashMap<usize, usize>,
    ) -> Option<String> {
        let meaning = self.ground.meaning;
        let line = &self.outline.lines[at];
        let around = line.parent.and_then(|(parent, _)| paths[parent].as_deref());
        let thing = |name: &str| match found.is_global {
            true => names.before(found.first, name).cloned(),
            false => names.last(name).cloned(),
        };
        let thing = |name: &str| {
            let builtin = || meaning.is_builtin(name).then(|| Thing::Builtin(name.to_owned()));
            thing(name).or_else(builtin)
        };
        // A name may be bound if nobody else has it, or if it stands for the same somewhere in the original.
        let may_name = |name: &str, thing: Option<&Thing>| {
            let is_known = |thing: &Thing| {
                meaning.is_anywhere(name, thing)
                    || names.is_rebound(found.first, name) && meaning.is_ever(name, thing)
            };
            meaning.is_fresh(name) || thing.is_some_and(is_known)
        };
        let refused = |reason: String| Some(reason);
        match &found.glue {
            // A warning that it hides is missing on the error stream of the run.
            Glue::QuietScript => (!found.is_global).then(|| "it stands in a function".to_owned()),
            Glue::Pass => None,
            Glue::LateModules | Glue::HiddenLazy => {
                (!found.is_global).then(|| "it stands in a function".to_owned())
            }
            Glue::Late(module) => {
                let path = meaning.path_of(module).filter(|_| line.parent.is_none());
                let mut inside = self.tree.suite(at, StatementSuite::Body).iter();
                let is_other = |at: &usize| {
                    let own = &self.outline.lines[*at];
                    own.role != Role::Import
                        && paths[*at].as_deref().is_some_and(|own| Some(own) != path)
                };
                (path.is_none() || inside.any(is_other))
                    .then(|| format!("its block is not the code of `{module}`"))
            }
            Glue::Load(module) => {
                let is_late =
                    |one: &FoundGlue| matches!(&one.glue, Glue::Late(own) if own == module);
                (!self.glue.iter().any(is_late)).then(|| format!("no block has `{module}`"))
            }
            Glue::Import(imported) => {
                let is_loaded = |module: &str| {
                    ["sys", "types"].contains(&module)
                        || meaning.trace.external.contains_key(module)
                        || self.is_failed(line)
                };
                match imported.iter().find(|one| !is_loaded(&one.name)) {
                    Some(one) => refused(format!("the original does not load `{}`", one.name)),
                    None => imported.iter().find_map(|one| {
                        let name = one.asname.as_ref()?;
                        let thing = Thing::External(one.name.clone(), None);
                        (!may_name(name, Some(&thing)))
                            .then(|| format!("`{name}` is something else in the original"))
                    }),
                }
            }
            Glue::ImportFrom { module, names } => {
                let stays = |name: &str| {
                    let inner = format!("{module}.{name}");
                    meaning.trace.compiled.contains_key(&inner)
                        || meaning.trace.compiled.contains_key(module)
                        || meaning.attribute(module, "__getattr__").is_some()
                };
                let is_known = self.ground.codebase.imports(&line.text)
                    || meaning.is_internal(module) && names.iter().all(|one| stays(&one.name))
                    || module == "__future__"
                    || self.is_failed(line);
                if !is_known {
                    return refused(format!("the original does not import this from `{module}`"));
                }
                names.iter().find_map(|one| {
                    let name = one.asname.as_ref()?;
                    let thing = Thing::External(module.clone(), Some(one.name.clone()));
                    (!may_name(name, Some(&thing)) && !self.is_own_import(at, name, around))
                        .then(|| format!("`{name}` is something else in the original"))
                })
            }
            Glue::GistModule(targets) => targets.iter().find_map(|target| {
                let (is_known, shown) = match target {
                    GlueTarget::Name(name) => (may_name(name, Some(&Thing::Gist)), name),
                    GlueTarget::Registered(module) => (meaning.is_internal(module), module),
                    GlueTarget::Child { package, name } => {
                        (meaning.is_internal(&format!("{package}.{name}")), name)
                    }
                };
                (!is_known).then(|| format!("`{shown}` is no module of the repository"))
            }),
            Glue::ModuleObject { targets, module } => {
                if !meaning.is_internal(module) {
                    return refused(format!("`{module}` is no module of the repository"));
                }
                targets.iter().find_map(|target| {
                    let is_known = match target {
                        GlueTarget::Name(name) => {
                            may_name(name, Some(&Thing::Module(module.clone())))
                        }
                        GlueTarget::Registered(name) => name == module,
                        GlueTarget::Child { .. } => false,
                    };
                    (!is_known).then(|| format!("it binds what is not `{module}`"))
                })
            }
            Glue::Alias { target, source } => {
                let Some(thing) = thing(source) else {
                    return refused(format!("`{source}` is no name of the original"));
                };
                let is_known = match found.is_global {
                    true => may_name(target, Some(&thing)),
                    false => self.imports_here(at, target, &thing, around),
                };
                (!is_known).then(|| format!("`{target}` is something else in the original"))
            }
            Glue::Global(name) => {
                let thing = names.last(name).cloned();
                let is_known =
                    thing.is_some_and(|thing| self.imports_here(at, name, &thing, around));
                (!is_known).then(|| format!("`{name}` is something else in the original"))
            }
            Glue::PackageName { package, name, source } => {
                let thing = thing(source);
                let wanted = meaning.attribute(package, name);
                let is_same = matches!((&thing, &wanted), (Some(a), Some(b)) if same(a, b));
                (!is_same).then(|| format!("`{package}.{name}` is something else in the original"))
            }
            Glue::Fill { object, held } => {
                let Some(module) = names.module_object(object) else {
                    return refused(format!("`{object}` is not bound to a module"));
                };
                held.iter().find_map(|(name, value)| {
                    let value = match value {
                        Held::Name(value) if name == "__loader__" && value == name => return None,
                        Held::Name(value) => thing(value),
                        Held::Gist => Some(Thing::Gist),
                    };
                    let is_own = matches!(
                        &value,
                        Some(Thing::Own(path, own))
                            if meaning.path_of(module) == Some(path)
                                && (own == name || own == "pytest_sessionstart")
                    );
                    let wanted = meaning.attribute(module, name);
                    let is_same = matches!((&value, &wanted), (Some(a), Some(b)) if same(a, b));
                    (!is_own && !is_same)
                        .then(|| format!("`{module}.{name}` is something else in the original"))
                })
            }
            Glue::Located { object, file, directory, spec } => {
                let module = names.module_object(object);
                let path = module.and_then(|module| meaning.path_of(module));
                let leads = |path: &graph::FilePath| path.from(self.ground.gist);
                let is_known = path.is_some()
                    && leads(file).as_deref() == path
                    && directory.as_ref().is_none_or(|directory| {
                        leads(directory).as_deref()
                            == path.and_then(|path| path.strip_suffix("/__init__.py"))
                    })
                    && spec.as_deref().is_none_or(|name| Some(name) == module);
                (!is_known).then(|| "the original's file is another".to_owned())
            }
            Glue::ClassModule(module) => {
                let own = around.and_then(|path| meaning.module_of(path));
                (own != Some(module)).then(|| format!("the class is not of `{module}`"))
            }
            Glue::FunctionModule { function, module } => {
                let is_own = matches!(
                    thing(function),
                    Some(Thing::Own(path, _)) if meaning.module_of(&path) == Some(module)
                );
                (!is_own).then(|| format!("`{function}` is not of `{module}`"))
            }
            Glue::Attribute { target, object, name } => {
                let Some(module) = names.module_object(object) else {
                    return refused(format!("`{object}` is not bound to a module"));
                };
                let held = meaning.trace.modules.get(module);
                let has = held.is_some_and(|held| held.names.contains_key(name));
                (!has || target != name && !meaning.is_fresh(target))
                    .then(|| format!("`{module}.{name}` is something else in the original"))
            }
            Glue::FailedImport(kind) => {
                let place = line.parent.filter(|(_, suite)| *suite == StatementSuite::Body);
                let place = place.and_then(|(parent, _)| Some((parent, *places.get(&parent)?)));
                let failed = place.zip(around).is_some_and(|((parent, place), path)| {
                    let caught = self.tree.suite(parent, StatementSuite::Handlers).iter();
                    let names_kind = |at: &usize| self.outline.lines[*at].text.contains(kind);
                    self.file(path).is_some_and(|file| file.original.ends_in_import(place))
                        && caught.clone().any(names_kind)
                });
                (!failed).then(|| "no import of the original failed here".to_owned())
            }
            Glue::Plugins(modules) => modules.iter().find_map(|module| {
                let is_object = self.glue.iter().any(|one| {
                    matches!(&one.glue, Glue::ModuleObject { module: own, .. } if own == module)
                });
                let named = format!("{module:?}");
                let plain = format!("'{module}'");
                let says = || {
                    self.ground.codebase.files().iter().any(|file| {
                        file.text.contains("pytest_plugins")
                            && (file.text.contains(&named) || file.text.contains(&plain))
                    })
                };
                (!is_object && !says()).then(|| format!("the original has no plugin `{module}`"))
            }),
            Glue::EntryPoint { script, function } => {
                let is_own =
                    meaning.trace.entry.as_ref().is_some_and(|entry| {
                        entry.script == *script && entry.attribute == *function
                    });
                (!is_own).then(|| "the command runs no such entry point".to_owned())
            }
            Glue::Delete(name) => (!meaning.is_builtin(name))
                .then(|| format!("`{name}` is no built-in that would be seen again")),
            // A file to hand on has them; it is made of a gist that was judged without.
            Glue::Data(_) | Glue::LeftOut(_) => {
                refused("a gist that is judged has none".to_owned())
            }
        }
    }

    /// Returns true if an import equals the external import at which an original import failed.
    fn is_failed(&self, line: &Line) -> bool {
        let asked = |failed: &graph::FailedImport| Glue::parse_text(&failed.text);
        let own = Glue::parse_text(&line.text);
        own.is_some() && self.ground.failed.iter().any(|failed| asked(failed) == own)
    }

    /// Returns true if the block of a line imports a thing under a name in the original.
    fn imports_here(&self, at: usize, name: &str, thing: &Thing, path: Option<&str>) -> bool {
        let Some(file) = path.and_then(|path| self.file(path)) else { return false };
        let block = &self.outline.lines[at].block;
        file.original.outline.lines.iter().any(|line| {
            line.role == Role::Import
                && line.block == *block
                && line.binds.iter().any(|bound| bound == name)
                && self.imports_thing(&file, line, name, thing)
        })
    }

    fn is_own_import(&self, at: usize, name: &str, path: Option<&str>) -> bool {
        let Some(file) = path.and_then(|path| self.file(path)) else { return false };
        let block = &self.outline.lines[at].block;
        file.original.outline.lines.iter().any(|line| {
            line.role == Role::Import
                && line.block == *block
                && line.binds.iter().any(|b| b == name)
        })
    }

    /// Returns true if an import statement of a function brings a thing under a name.
    fn imports_thing(&self, file: &File<'_>, line: &Line, name: &str, thing: &Thing) -> bool {
        let meaning = self.ground.meaning;
        let parsed = Syntax::parse(Source::new("import", &*line.text));
        let modules = meaning.resolver.modules();
        let own = modules.of_path(&file.code.path).map(|(id, _)| id);
        parsed.body().iter().any(|stmt| match stmt {
            Stmt::ImportFrom(import) => {
                let from = import.module.as_ref().map(|module| module.as_str());
                let from = own.and_then(|own| modules.absolute(own, import.level, from));
                import.names.iter().any(|alias| {
                    let local = alias.asname.as_ref().unwrap_or(&alias.name);
                    let brought =
                        from.as_ref().and_then(|from| meaning.attribute(from, &alias.name));
                    let outside = from
                        .clone()
                        .map(|from| Thing::External(from, Some(alias.name.to_string())));
                    local.as_str() == name
                        && [brought, outside].iter().flatten().any(|brought| same(brought, thing))
                })
            }
            Stmt::Import(import) => import.names.iter().any(|alias| {
                let whole = Thing::Module(alias.name.to_string());
                let top = alias.name.split('.').next().unwrap_or_default();
                let top = Thing::Module(top.to_owned());
                match &alias.asname {
                    Some(local) => local.as_str() == name && same(&whole, thing),
                    None => same(&top, thing),
                }
            }),
            _ => false,
        })
    }
}

/// Names that a block and the functions around it may bind for themselves; too many rather than too few.
fn local_names(file: &File<'_>, block: &str) -> FxHashSet<String> {
    let mut names = FxHashSet::default();
    if block.is_empty() {
        return names;
    }
    let is_around = |outer: &str| {
        block.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let lines = file.original.outline.lines.iter();
    for line in lines.filter(|line| !line.block.is_empty() && is_around(&line.block)) {
        let all = tokens(&file.syntax, line);
        bound_in_line(&all, &mut names);
        if line.role == Role::Definition {
            // The first is its own name, which stands outside.
            let given = all.iter().skip(1).filter(|(kind, _)| *kind == TokenKind::Name);
            names.extend(given.map(|(_, name)| (*name).to_owned()));
        } else {
            names.extend(line.binds.iter().cloned());
        }
    }
    names
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
