//! The gist of a command that ended because a file of the repository cannot be compiled.
//!
//! Nothing of that file ran, and the error is raised wherever its text is compiled: so the gist is that text.

use ruff_python_ast::Stmt;
use ruff_text_size::Ranged;

use super::plan::{Gist, GistLine, LineOrigin, Place, Plan, PlannedUnit, Reason};
use crate::{source::Source, syntax::Syntax};

/// Returns the gist of a file that cannot be compiled: its whole text, or the top-level statement
/// around the broken line.
pub(super) fn gist(syntax: &Syntax, broken: &Place, is_whole: bool) -> (Plan, Gist) {
    let source = syntax.source();
    let all: Vec<&str> = source.text().lines().collect();
    let (first, last) = match is_whole {
        true => (1, all.len()),
        false => around(source, syntax.body(), broken.line as usize, all.len()),
    };
    let lines = all.get(first.saturating_sub(1)..last).unwrap_or_default();
    let mut text = lines.join("\n");
    text.push('\n');
    let number = |at: usize| u32::try_from(first + at).unwrap_or(u32::MAX);
    let place = |at| Place { path: broken.path.clone(), line: number(at) };
    let origins = (0..lines.len().max(1))
        .map(|at| GistLine { origin: LineOrigin::Source(place(at)), adapted: false });
    let kept = PlannedUnit {
        place: place(0),
        last_line: number(lines.len().saturating_sub(1)),
        binds: Vec::new(),
        reason: Reason::Ends,
    };
    let gist = Gist { text, lines: origins.collect() };
    (Plan { kept: vec![kept], ..Plan::default() }, gist)
}

/// Returns the first and last line of the top-level statement around a line, as an error-tolerant
/// parser sees it.
fn around(source: &Source, body: &[Stmt], line: usize, all: usize) -> (usize, usize) {
    let start = |stmt: &Stmt| source.line(stmt.start()) as usize;
    let first = body.iter().map(start).filter(|first| *first <= line).max().unwrap_or(1);
    let next = body.iter().map(start).filter(|next| *next > line).min();
    (first, next.map_or(all, |next| next - 1).max(line))
}
