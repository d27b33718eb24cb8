//! Cuts the text of kept statements out of their sources, re-indented, with its origins.
//!
//! Nothing is re-printed: a line is the original's, but for its indentation and the replacements
//! that were decided before.

use std::collections::BTreeMap;

use ruff_python_ast::{Stmt, StmtFunctionDef, StringFlags, token::TokenKind};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashMap;

use super::{
    name::TextRangeKey,
    plan::{GistLine, LineOrigin, Place},
    prune::{Clause, ClauseHeader, KeptAs, Node},
    ran::counts_lines,
};
use crate::{glue::Glue, module::Module, scope};

/// Lines of a gist with their origins.
#[derive(Debug, Default)]
pub(crate) struct RenderedLines {
    pub(crate) text: Vec<String>,
    pub(crate) origins: Vec<GistLine>,
}

impl RenderedLines {
    pub(crate) fn glue(&mut self, depth: usize, glue: &Glue, reason: &str) {
        for text in glue.render().lines() {
            self.text.push(format!("{}{text}", indent(depth)));
            self.origins
                .push(GistLine { origin: LineOrigin::Glue(reason.to_owned()), adapted: false });
        }
    }

    pub(crate) fn source(&mut self, depth: usize, text: &str, place: Place, adapted: bool) {
        self.text.push(format!("{}{text}", indent(depth)));
        self.origins.push(GistLine { origin: LineOrigin::Source(place), adapted });
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.text.append(&mut other.text);
        self.origins.append(&mut other.origins);
    }
}

/// From an import's level, its module and one of its names to the absolute module.
pub(crate) type ModuleLookup<'r> = dyn Fn(u32, Option<&str>, &str) -> Option<String> + 'r;

/// Why a class or function is told its module.
pub(crate) const HOME: &str = "code shows or asks what module this is of";

/// Renders the statements of one module.
pub(crate) struct Renderer<'r> {
    pub(crate) module: &'r Module,
    /// Replacements by place.
    pub(crate) edits: Option<&'r BTreeMap<TextRangeKey, String>>,
    /// The replacements of inner imports of internal modules, by the start of the import.
    pub(crate) inner: &'r FxHashMap<u32, Vec<Glue>>,
    /// The targets of inner imports that stay because they are external.
    pub(crate) outside: &'r ModuleLookup<'r>,
    /// True if one line suffices for a docstring that is a whole block.
    pub(crate) brief: bool,
    /// The `__module__` assignment for a top-level class.
    pub(crate) home: Option<&'r Glue>,
    /// The depth of the top level: 1 in a block that runs as a module.
    pub(crate) depth: usize,
    /// The local names that functions bind first, by their start.
    pub(crate) locals: &'r FxHashMap<u32, Vec<Glue>>,
}

/// Why a function gives a name of its own to something.
const LOCAL: &str = "the text of an expression in this function is shown";

impl Renderer<'_> {
    pub(crate) fn node(&self, node: &Node<'_>, depth: usize, out: &mut RenderedLines) {
        if node.clauses.is_empty() {
            if let KeptAs::Failed(kind) = node.role {
                let kind = self.module.syntax.source().slice(kind).to_owned();
                let reason = "an import from inside the repository failed here";
                out.glue(depth, &Glue::FailedImport(kind), reason);
                return;
            }
            if depth > self.depth
                && matches!(node.stmt, Stmt::Import(_) | Stmt::ImportFrom(_))
                && let Some(lines) = self.inner.get(&node.stmt.start().to_u32())
            {
                self.inner_import(node.stmt, lines, depth, out);
                return;
            }
            let brief = self.brief && node.role == KeptAs::Filler;
            match brief.then(|| self.summary(node.stmt)).flatten() {
                Some((text, line)) => out.source(depth, &text, self.place(line), true),
                None => self.cut(node.stmt.range(), depth, None, out),
            }
            return;
        }
        if let Some(range) = self.one_line(node) {
            return self.cut(range, depth, None, out);
        }
        for (at, clause) in node.clauses.iter().enumerate() {
            self.clause(node.stmt, clause, at == 0, depth, out);
        }
    }

    /// The text of a compound statement that stands on one line, where all of it is kept: a traceback shows that line.
    fn one_line(&self, node: &Node<'_>) -> Option<TextRange> {
        let [clause] = &node.clauses[..] else { return None };
        let body: &[Stmt] = match (node.stmt, clause.head) {
            (Stmt::FunctionDef(one), ClauseHeader::Function(..))
                if one.decorator_list.is_empty() =>
            {
                &one.body
            }
            (Stmt::If(one), ClauseHeader::If(_)) if one.elif_else_clauses.is_empty() => &one.body,
            (Stmt::For(one), ClauseHeader::For(_)) if one.orelse.is_empty() => &one.body,
            (Stmt::While(one), ClauseHeader::While(_)) if one.orelse.is_empty() => &one.body,
            (Stmt::With(one), ClauseHeader::With(_)) => &one.body,
            _ => return None,
        };
        let (range, source) = (node.stmt.range(), self.module.syntax.source());
        let (first, last) = source.line_span(range);
        let is_kept = body.len() == clause.body.len()
            && clause.body.iter().all(|one| one.clauses.is_empty() && one.role != KeptAs::Filler)
            && !clause.body.iter().any(|one| matches!(one.role, KeptAs::Failed(_)));
        let grows =
            clause.body.iter().any(|one| self.inner.contains_key(&one.stmt.start().to_u32()))
                || self.locals.contains_key(&node.stmt.start().to_u32());
        (first == last && is_kept && !grows).then_some(range)
    }

    /// The first line with text of a docstring of several lines, as a docstring of its own, and its number.
    fn summary(&self, stmt: &Stmt) -> Option<(String, u32)> {
        let source = self.module.syntax.source();
        let Stmt::Expr(stmt) = stmt else { return None };
        let literal = stmt.value.as_string_literal_expr()?.as_single_part_string()?;
        let (first, last) = source.line_span(literal.range());
        if first == last || first != source.line(stmt.start()) {
            return None;
        }
        let all = source.slice(literal);
        let (open, close) = (literal.flags.opener_len(), literal.flags.closer_len());
        let content = &all[open.to_usize()..all.len() - close.to_usize()];
        let mut lines = content.lines().map(str::trim).zip(first..);
        let (text, line) = lines.find(|(text, _)| !matches!(*text, "" | "\\"))?;
        let quoted = all[..open.to_usize()].chars().next_back();
        // A doctest prompt without its output is a different test.
        let ends_well = !text.ends_with('\\')
            && text.chars().next_back() != quoted
            && !text.contains('\r')
            && !text.starts_with(">>>");
        let quote = &all[..open.to_usize()];
        let end = &all[all.len() - close.to_usize()..];
        ends_well.then(|| (format!("{quote}{text}{end}"), line))
    }

    /// Returns true if a function is written line by line without changes. An inner import of an
    /// internal module prevents that, since it must be replaced.
    fn is_verbatim(&self, function: &StmtFunctionDef) -> bool {
        let within = |start: &&u32| function.range.contains(TextSize::new(**start));
        counts_lines(function, &self.module.syntax)
            && !self.inner.keys().chain(self.locals.keys()).any(|start| within(&start))
    }

    fn clause(
        &self,
        stmt: &Stmt,
        clause: &Clause<'_>,
        first: bool,
        depth: usize,
        out: &mut RenderedLines,
    ) {
        let syntax = &self.module.syntax;
        let mut body_depth = depth + 1;
        match clause.head {
            ClauseHeader::If(branch) => {
                self.cut(syntax.header(stmt.start(), &branch.body), depth, None, out)
            }
            ClauseHeader::Elif(branch) => {
                let header = syntax.header(branch.range.start(), &branch.body);
                let start = if first { header.start() + TextSize::from(2) } else { header.start() };
                self.cut(TextRange::new(start, header.end()), depth, None, out);
            }
            ClauseHeader::Else(body) => self.keyword(TokenKind::Else, "else:", body, depth, out),
            ClauseHeader::Finally(body) => {
                self.keyword(TokenKind::Finally, "finally:", body, depth, out)
            }
            ClauseHeader::Try(attempt) => {
                self.keyword(TokenKind::Try, "try:", &attempt.body, depth, out)
            }
            ClauseHeader::For(each) => {
                self.cut(syntax.header(stmt.start(), &each.body), depth, None, out)
            }
            ClauseHeader::While(repeat) => {
                self.cut(syntax.header(stmt.start(), &repeat.body), depth, None, out)
            }
            ClauseHeader::With(with) => {
                self.cut(syntax.header(stmt.start(), &with.body), depth, None, out)
            }
            ClauseHeader::Except(handler) => {
                self.cut(syntax.header(handler.range.start(), &handler.body), depth, None, out);
            }
            ClauseHeader::Match(matching) => {
                let start = stmt.start();
                let end = matching.cases.first().map_or(stmt.end(), |case| case.range.start());
                let subject = matching.subject.end();
                let colon = syntax
                    .tokens(TextRange::new(subject, end))
                    .iter()
                    .find(|token| token.kind() == TokenKind::Colon)
                    .map_or(subject, Ranged::end);
                self.cut(TextRange::new(start, colon), depth, None, out);
                return;
            }
            ClauseHeader::Case(case) => {
                self.cut(syntax.header(case.range.start(), &case.body), depth + 1, None, out);
                body_depth = depth + 2;
            }
            ClauseHeader::Function(function, called)
                if called.any() && self.is_verbatim(function) =>
            {
                return self.cut(stmt.range(), depth, None, out);
            }
            ClauseHeader::Function(function, _) => {
                self.decorated(stmt, &function.decorator_list, &function.body, depth, out);
            }
            ClauseHeader::Class(class) => {
                self.decorated(stmt, &class.decorator_list, &class.body, depth, out);
            }
        }
        let before = out.text.len();
        let mut home = self
            .home
            .filter(|_| depth == self.depth && matches!(clause.head, ClauseHeader::Class(_)));
        let is_told = home.is_some();
        let mut locals = match clause.head {
            ClauseHeader::Function(..) => self.locals.get(&stmt.start().to_u32()),
            _ => None,
        };
        let has_locals = locals.is_some();
        for inner in &clause.body {
            let is_text =
                matches!(inner.stmt, Stmt::Expr(text) if text.value.is_string_literal_expr());
            // A docstring comes first.
            if let Some(glue) = home.take_if(|_| !is_text) {
                out.glue(body_depth, glue, HOME);
            }
            for glue in locals.take_if(|_| !is_text).into_iter().flatten() {
                out.glue(body_depth, glue, LOCAL);
            }
            self.node(inner, body_depth, out);
        }
        home.into_iter().for_each(|glue| out.glue(body_depth, glue, HOME));
        let only_declarations =
            clause.body.iter().all(|node| matches!(node.stmt, Stmt::Global(_) | Stmt::Nonlocal(_)));
        if out.text.len() == before
            || (clause.needs_pass && only_declarations && !is_told && !has_locals)
        {
            out.glue(body_depth, &Glue::Pass, "a block needs a statement");
        }
    }

    fn decorated(
        &self,
        stmt: &Stmt,
        decorators: &[ruff_python_ast::Decorator],
        body: &[Stmt],
        depth: usize,
        out: &mut RenderedLines,
    ) {
        for decorator in decorators {
            self.cut(decorator.range, depth, None, out);
        }
        let start = match decorators.last() {
            Some(last) => self.module.syntax.keyword_after(last.range.end()),
            None => stmt.start(),
        };
        self.cut(self.module.syntax.header(start, body), depth, None, out);
    }

    fn keyword(
        &self,
        kind: TokenKind,
        text: &str,
        body: &[Stmt],
        depth: usize,
        out: &mut RenderedLines,
    ) {
        let at = self.module.syntax.keyword_before(kind, body);
        let line = self.module.syntax.source().line(at.unwrap_or_default());
        out.source(depth, text, self.place(line), false);
    }

    fn place(&self, line: u32) -> Place {
        Place { path: self.module.path().to_owned(), line }
    }

    /// An import in a block of which some names, or all, are in the gist itself.
    fn inner_import(&self, stmt: &Stmt, lines: &[Glue], depth: usize, out: &mut RenderedLines) {
        let line = self.module.syntax.source().line(stmt.start());
        match stmt {
            Stmt::Import(import) => {
                for alias in &import.names {
                    if (self.outside)(0, Some(&alias.name), "").is_some() {
                        let text = format!("import {}", self.module.syntax.source().slice(alias));
                        out.source(depth, &text, self.place(line), false);
                    }
                }
            }
            Stmt::ImportFrom(import) => {
                let from = import.module.as_ref().map(|name| name.as_str());
                for alias in &import.names {
                    if let Some(module) = (self.outside)(import.level, from, &alias.name) {
                        let alias = self.module.syntax.source().slice(alias);
                        let text = format!("from {module} import {alias}");
                        out.source(depth, &text, self.place(line), import.level > 0);
                    }
                }
            }
            _ => {}
        }
        let mut seen = Vec::new();
        for glue in lines {
            if !seen.contains(&glue) {
                out.glue(depth, glue, "imported here from inside the repository");
                seen.push(glue);
            }
        }
    }

    /// Cuts a range, line by line.
    pub(crate) fn cut(
        &self,
        range: TextRange,
        depth: usize,
        from: Option<u32>,
        out: &mut RenderedLines,
    ) {
        let source = self.module.syntax.source();
        let text = source.text();
        let (first, last) = source.line_span(range);
        let strings = self.module.syntax.lines_in_strings(range);
        let first_start = usize::from(source.line_start(first));
        let old_indent: &str = {
            let line = &text[first_start..usize::from(range.end())];
            &line[..line.len() - line.trim_start_matches([' ', '\t', '\x0c']).len()]
        };
        let mut next = first;
        while next <= last {
            let line = next;
            next = self.last_edited(line, last) + 1;
            let start = source.line_start(line).max(range.start());
            let end = source.line_start(next).min(range.end());
            let (body, adapted) = self.edited(TextRange::new(start.min(end), end));
            let mut body = body.trim_end_matches(['\n', '\r']).to_owned();
            if next > last {
                // Tracebacks show whole lines, their comments included.
                let rest = &text[usize::from(end)..usize::from(source.line_start(next))];
                let comment = rest.trim_end();
                if comment.trim_start().starts_with('#') {
                    body.push_str(comment);
                }
            }
            let body = body.as_str();
            let place = self.place(from.unwrap_or(line));
            if strings.binary_search(&line).is_ok() {
                out.text.push(body.to_owned());
                out.origins.push(GistLine { origin: LineOrigin::Source(place), adapted });
            } else if line == first {
                out.source(depth, body, place, adapted);
            } else {
                let rest = body.strip_prefix(old_indent).unwrap_or(body.trim_start());
                if rest.trim().is_empty() {
                    out.text.push(String::new());
                    out.origins.push(GistLine { origin: LineOrigin::Source(place), adapted });
                } else {
                    out.source(depth, rest, place, adapted);
                }
            }
        }
    }

    /// Returns the line on which the replacements that begin on a line end, at most `last`.
    fn last_edited(&self, line: u32, last: u32) -> u32 {
        let source = self.module.syntax.source();
        let mut end = line;
        let from = source.line_start(line).to_u32();
        while let Some(edits) = self.edits.filter(|_| end < last) {
            let places = edits.range((from, 0)..(source.line_start(end + 1).to_u32(), 0));
            let until = places.map(|((_, until), _)| *until).max().unwrap_or_default();
            let further = source.line(TextSize::new(until.max(from))).min(last);
            if further <= end {
                break;
            }
            end = further;
        }
        end
    }

    fn edited(&self, range: TextRange) -> (String, bool) {
        let text = self.module.syntax.source().text();
        let Some(edits) = self.edits else { return (text[range].to_owned(), false) };
        let (from, to) = (range.start().to_u32(), range.end().to_u32());
        let mut out = String::new();
        let mut at = from;
        let mut adapted = false;
        for (&(start, end), replacement) in edits.range((from, 0)..(to, 0)) {
            if end > to || start < at {
                continue;
            }
            out.push_str(&text[at as usize..start as usize]);
            out.push_str(replacement);
            at = end;
            adapted = true;
        }
        out.push_str(&text[at as usize..to as usize]);
        (out, adapted)
    }
}

fn indent(depth: usize) -> String {
    "    ".repeat(depth)
}

/// The text of an external import of some of a statement's names, each under the name given.
pub(crate) fn import_text(
    module: &Module,
    stmt: &Stmt,
    absolute: Option<&str>,
    names: &[(ruff_python_ast::name::Name, ruff_python_ast::name::Name)],
) -> Vec<(String, u32, bool)> {
    let source = module.syntax.source();
    let mut lines = Vec::new();
    match stmt {
        Stmt::Import(import) => {
            let lazy = if import.is_lazy { "lazy " } else { "" };
            for alias in &import.names {
                let local = scope::local_of_import(alias);
                for (_, flat) in names.iter().filter(|(name, _)| *name == local) {
                    let (text, adapted) = if *flat == local {
                        (format!("{lazy}import {}", source.slice(alias)), false)
                    } else if alias.asname.is_some() {
                        (format!("{lazy}import {} as {flat}", alias.name), true)
                    } else {
                        (format!("{lazy}import {local} as {flat}"), true)
                    };
                    lines.push((text, source.line(alias.start()), adapted));
                }
            }
        }
        Stmt::ImportFrom(import) => {
            let mut parts = Vec::new();
            let mut adapted = absolute.is_some();
            let mut line = None;
            for alias in &import.names {
                // A star gives way to what is needed of it.
                if &alias.name == "*" && !names.iter().any(|(name, _)| name == "*") {
                    line = Some(source.line(stmt.start()));
                    adapted = true;
                    parts.extend(names.iter().map(|(name, flat)| match name == flat {
                        true => name.to_string(),
                        false => format!("{name} as {flat}"),
                    }));
                    continue;
                }
                let local = alias.asname.as_ref().unwrap_or(&alias.name).id.clone();
                for (_, flat) in names.iter().filter(|(name, _)| *name == local) {
                    line.get_or_insert_with(|| source.line(stmt.start()));
                    if *flat == local {
                        parts.push(
                            source.slice(alias).split_whitespace().collect::<Vec<_>>().join(" "),
                        );
                    } else {
                        adapted = true;
                        parts.push(format!("{} as {flat}", alias.name));
                    }
                }
            }
            if let Some(line) = line {
                let written = import.module.as_ref().map(|name| name.as_str());
                let from = absolute.or(written).unwrap_or_default();
                let lazy = if import.is_lazy { "lazy " } else { "" };
                let text = format!("{lazy}from {from} import {}", parts.join(", "));
                lines.push((text, line, adapted));
            }
        }
        _ => {}
    }
    lines
}
