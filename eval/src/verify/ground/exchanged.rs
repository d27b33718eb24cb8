//! Finds lines of the original that do something else in the gist: a name stands for another thing, or a test lost one.

use graph::{Glue, TracePhase};
use ruff_python_ast::token::TokenKind;
use ruff_text_size::TextSize;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{File, ForeignLine, Root, Search, foreign};
use crate::{
    blocks::{Class, Line, Role, StatementSuite},
    verify::{
        meaning::{Thing, Timeline, same},
        names::{bound_in_line, imported_in_blocks, placed_tokens, tokens},
        tree::hit,
    },
};

impl Search<'_> {
    /// Returns the test functions that lost a line which the original executes, with their physical
    /// lines: their assertions must stay complete.
    pub(super) fn lost_of_tests(&self, roots: &[Root]) -> Vec<((u32, u32), ForeignLine)> {
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
            // The lines before it are still before it.
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
                    && Glue::parse_text(own.statement(self.text)) == Glue::parse_text(&failed.text)
                    && in_order(own)
            });
            (!stands).then(|| failed.text.clone())
        })
    }

    /// Lines of the original with names that stand for something else in the gist: the function of another module that
    /// has the same name.
    pub(super) fn exchanged(
        &self,
        names: &Timeline,
        paths: &[Option<String>],
        places: &FxHashMap<usize, usize>,
    ) -> Vec<ForeignLine> {
        let mut found = Vec::new();
        let imported = imported_in_blocks(self.outline, self.text);
        let has_late_modules = self.glue.iter().any(|one| matches!(one.glue, Glue::Late(_)));
        // An import in a `try` may have failed.
        let in_blocks = self.outline.lines.iter().filter(|line| {
            line.role == Role::Import && line.block.is_empty() && line.parent.is_some()
        });
        let may_bind: FxHashSet<&str> =
            in_blocks.flat_map(|line| line.binds.iter().map(String::as_str)).collect();
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
            let mut own = placed_tokens(&reading.tokens, &reading.outline.lines[at]);
            let placed = placed_tokens(&file.syntax, original);
            let there: Vec<(TokenKind, &str)> =
                placed.iter().map(|(kind, text, _)| (*kind, *text)).collect();
            if own.len() > there.len() {
                own = self.without_packages(own, |(kind, text, _)| (*kind, *text), &file);
            }
            if own.len() != there.len() {
                continue;
            }
            let is_global = line.block.is_empty();
            let runs_late = !has_late_modules && self.runs_in_tests_alone(path, original);
            let start = placed.first().map_or_else(TextSize::default, |(.., start)| *start);
            // A decorator is evaluated around its definition.
            let outer = || line.block.rsplit_once('.').map_or("", |(outer, _)| outer);
            let scope = if line.role == Role::Decorator { outer() } else { &line.block };
            let locals =
                locals.entry((path.as_str(), scope)).or_insert_with(|| local_names(&file, scope));
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
                    // All of the gist has run by then.
                    (false, None) if runs_late && !may_bind.contains(name) => {
                        names.last(name).into_iter().collect()
                    }
                    (false, None) => names.ever(name).into_iter().collect(),
                };
                let meaning = self.ground.meaning;
                let wanted = match is_global {
                    true => meaning.in_file_at(path, there[token].1, start),
                    false => meaning.in_file(path, there[token].1),
                };
                wanted.is_some_and(|wanted| {
                    !stands_for.is_empty()
                        && !stands_for.iter().any(|thing| same(thing, &wanted))
                        && !is_defined_before(&file, scope, there[token].1, original)
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
}

impl Search<'_> {
    /// Returns true if the original executed a line after its modules were loaded, and never before. Returns false for a
    /// file that was loaded later, as the modules of a script are.
    fn runs_in_tests_alone(&self, path: &str, line: &Line) -> bool {
        let trace = self.ground.meaning.trace;
        let Some(file) = trace.file(path).filter(|file| file.phase == TracePhase::Import) else {
            return false;
        };
        let has = |lines: &[u32]| {
            let at = lines.partition_point(|own| *own < line.reach.0);
            lines.get(at).is_some_and(|own| *own <= line.reach.1)
        };
        has(&file.test_lines) && !has(&file.import_lines)
    }
}

/// Returns true if a block defines a function or class of a name before one of its lines, as a class body does for
/// `@type.setter` below `def type`.
fn is_defined_before(file: &File<'_>, block: &str, name: &str, line: &Line) -> bool {
    let lines = file.original.outline.lines.iter().take_while(|other| other.first < line.first);
    let mut defined = lines.filter(|other| other.role == Role::Definition);
    !block.is_empty() && defined.any(|other| other.block.rsplit_once('.') == Some((block, name)))
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
    let lines = &file.original.outline.lines;
    for line in lines.iter().filter(|line| !line.block.is_empty() && is_around(&line.block)) {
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
