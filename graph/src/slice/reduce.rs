//! Proposes statements of a finished gist for removal, one at a time, until every remaining one is
//! needed.
//!
//! It executes nothing: the caller checks each proposal.

use ruff_python_ast::{Stmt, token::TokenKind};
use ruff_text_size::{Ranged, TextRange};

use super::{
    plan::{Gist, GistLine, LineOrigin},
    special_methods::decides,
};
use crate::{
    source::Source,
    syntax::{Syntax, with_deep_stack},
};

/// A search for a gist that is 1-minimal: none of its statements can go by itself (A. Zeller and
/// R. Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002, definition 10).
///
/// Later statements are tried before earlier ones, since they use them, and a statement before what is
/// in it. Clauses (`else`, `except`, `case`) are tried as statements are.
pub struct Reduction<'s> {
    gist: Gist,
    whole: &'s StaysWhole<'s>,
    parts: Vec<Part>,
    at: usize,
    /// Parts that were found to be needed since the gist last changed.
    needed: usize,
}

/// A predicate: true if the statement that begins with a line must stay: a whole function, or an
/// assignment.
pub type StaysWhole<'s> = dyn Fn(&GistLine) -> bool + Sync + 's;

/// The lines that one attempt removes, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    first: usize,
    last: usize,
    /// True if its block would be empty without it.
    alone: bool,
}

impl<'s> Reduction<'s> {
    /// A search that begins with this gist. Functions and assignments of whose first line `whole` holds
    /// stay.
    pub fn new(gist: Gist, whole: &'s StaysWhole<'s>) -> Self {
        let parts = parts(&gist, whole);
        Self { gist, whole, parts, at: 0, needed: 0 }
    }

    /// The gist as it stands.
    pub fn gist(&self) -> &Gist {
        &self.gist
    }

    /// Returns the gist without one further statement, or `None` if every remaining one is needed.
    pub fn propose(&mut self) -> Option<Gist> {
        while self.needed < self.parts.len() {
            let part = self.parts[self.at];
            let proposal = without(&self.gist, part);
            if let Some(proposal) = proposal.filter(|gist| is_whole(&gist.text)) {
                return Some(proposal);
            }
            self.reject();
        }
        None
    }

    /// Goes on from a proposal.
    pub fn accept(&mut self, proposal: Gist) {
        self.gist = proposal;
        self.parts = parts(&self.gist, self.whole);
        self.needed = 0;
        // What was tried before stands before this one still; the next has taken its place.
        self.at %= self.parts.len().max(1);
    }

    /// Rejects the proposal: the statement that it lacked is needed.
    pub fn reject(&mut self) {
        self.needed += 1;
        self.at = (self.at + 1) % self.parts.len().max(1);
    }
}

impl std::fmt::Debug for Reduction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reduction")
            .field("parts", &self.parts.len())
            .field("at", &self.at)
            .field("needed", &self.needed)
            .finish_non_exhaustive()
    }
}

/// A gist without a part; nothing where that makes it no shorter.
fn without(gist: &Gist, part: Part) -> Option<Gist> {
    let mut lines: Vec<(&str, GistLine)> =
        gist.text.lines().zip(gist.lines.iter().cloned()).collect();
    let first = lines.get(part.first)?.0;
    let pass = format!("{}pass", &first[..first.len() - first.trim_start().len()]);
    let reason = "a block needs a statement".to_owned();
    let filler = part
        .alone
        .then_some((pass.as_str(), GistLine { origin: LineOrigin::Glue(reason), adapted: false }));
    if filler.is_some() && part.first == part.last {
        return None;
    }
    let is_blank = |at: usize| lines.get(at).is_none_or(|(text, _)| text.trim().is_empty());
    // Of the blank lines on both sides one side's stay.
    let mut from = part.first;
    while from > 0 && is_blank(from - 1) && is_blank(part.last + 1) {
        from -= 1;
    }
    let mut to = part.last + 1;
    while from == 0 && to < lines.len() && is_blank(to) {
        to += 1;
    }
    lines.splice(from..to, filler);
    let mut text = String::with_capacity(gist.text.len());
    for (line, _) in &lines {
        text.push_str(line);
        text.push('\n');
    }
    Some(Gist { text, lines: lines.into_iter().map(|(_, line)| line).collect() })
}

/// Returns the gist without one import statement, for each whose text `goes` accepts, the last first.
pub fn without_imports(gist: &Gist, goes: &dyn Fn(&str) -> bool) -> Vec<Gist> {
    let lines: Vec<&str> = gist.text.lines().map(str::trim_start).collect();
    let is_one = |part: &Part| {
        let text = lines[part.first..=part.last].join("\n");
        let is_import = text.starts_with("import ") || text.starts_with("from ");
        is_import && goes(&text)
    };
    let proposals = parts(gist, &|_| false).into_iter().filter(is_one);
    proposals.filter_map(|part| without(gist, part)).filter(|gist| is_whole(&gist.text)).collect()
}

fn is_whole(text: &str) -> bool {
    with_deep_stack(|| Syntax::parse(Source::new("gist", text)).errors().is_empty())
}

/// Returns the removable parts, the last statement first.
fn parts(gist: &Gist, whole: &StaysWhole<'_>) -> Vec<Part> {
    with_deep_stack(|| {
        let syntax = Syntax::parse(Source::new("gist", gist.text.as_str()));
        let mut search = Search { syntax: &syntax, gist, whole, parts: Vec::new() };
        search.block(syntax.body(), true);
        search.parts
    })
}

struct Search<'a> {
    syntax: &'a Syntax,
    gist: &'a Gist,
    whole: &'a StaysWhole<'a>,
    parts: Vec<Part>,
}

impl<'a> Search<'a> {
    fn line_span(&self, range: TextRange) -> (usize, usize) {
        let line = |at| self.syntax.source().line(at) as usize - 1;
        (line(range.start()), line(range.end()))
    }

    /// Returns true if a function or an assignment is excluded from the search.
    fn stays(&self, stmt: &Stmt, first: usize) -> bool {
        let is_one =
            stmt.is_assign_stmt() || stmt.is_ann_assign_stmt() || stmt.is_aug_assign_stmt();
        let is_whole = || self.gist.lines.get(first).is_some_and(|line| (self.whole)(line));
        match stmt {
            Stmt::FunctionDef(function) => decides(&function.name) || is_whole(),
            _ => is_one && is_whole(),
        }
    }

    fn block(&mut self, body: &'a [Stmt], top: bool) {
        // Statements that share a line go together.
        let mut groups: Vec<(usize, usize, Vec<&Stmt>)> = Vec::new();
        for stmt in body {
            let (first, last) = self.line_span(stmt.range());
            match groups.last_mut() {
                Some(group) if group.1 >= first => {
                    group.1 = last;
                    group.2.push(stmt);
                }
                _ => groups.push((first, last, vec![stmt])),
            }
        }
        let alone = groups.len() == 1 && !top;
        for (first, last, stmts) in groups.into_iter().rev() {
            // What stands behind its block's colon goes with that.
            let start = stmts[0].start();
            let source = self.syntax.source();
            let before =
                &source.text()[source.line_start(source.line(start)).to_usize()..start.to_usize()];
            if !before.trim().is_empty() {
                return;
            }
            if stmts.iter().any(|stmt| self.stays(stmt, first)) {
                continue;
            }
            self.parts.push(Part { first, last, alone });
            if let [stmt] = stmts[..] {
                self.inner(stmt);
            }
        }
    }

    fn clause(&mut self, keyword: Option<ruff_text_size::TextSize>, body: &'a [Stmt]) {
        if let (Some(start), Some(stmt)) = (keyword, body.last()) {
            let (first, last) = self.line_span(TextRange::new(start, stmt.end()));
            self.parts.push(Part { first, last, alone: false });
        }
        self.block(body, false);
    }

    /// Searches the blocks of a statement, the last one first.
    fn inner(&mut self, stmt: &'a Stmt) {
        let keyword = |kind, body: &'a [Stmt]| self.syntax.keyword_before(kind, body);
        match stmt {
            Stmt::FunctionDef(function) => self.block(&function.body, false),
            Stmt::ClassDef(class) => self.block(&class.body, false),
            Stmt::With(with) => self.block(&with.body, false),
            Stmt::For(each) => {
                self.clause(keyword(TokenKind::Else, &each.orelse), &each.orelse);
                self.block(&each.body, false);
            }
            Stmt::While(each) => {
                self.clause(keyword(TokenKind::Else, &each.orelse), &each.orelse);
                self.block(&each.body, false);
            }
            Stmt::If(choice) => {
                for clause in choice.elif_else_clauses.iter().rev() {
                    self.clause(Some(clause.start()), &clause.body);
                }
                self.block(&choice.body, false);
            }
            Stmt::Match(choice) => {
                for case in choice.cases.iter().rev() {
                    self.clause(Some(case.start()), &case.body);
                }
            }
            Stmt::Try(attempt) => {
                self.clause(keyword(TokenKind::Finally, &attempt.finalbody), &attempt.finalbody);
                self.clause(keyword(TokenKind::Else, &attempt.orelse), &attempt.orelse);
                for handler in attempt.handlers.iter().rev() {
                    let handler = handler.as_except_handler();
                    if let Some(handler) = handler {
                        self.clause(Some(handler.start()), &handler.body);
                    }
                }
                self.block(&attempt.body, false);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slice::plan::Place;

    fn gist(text: &str) -> Gist {
        let line = |(at, _): (usize, &str)| GistLine {
            origin: LineOrigin::Source(Place { path: "m.py".to_owned(), line: at as u32 + 1 }),
            adapted: false,
        };
        Gist { text: text.to_owned(), lines: text.lines().enumerate().map(line).collect() }
    }

    /// Reduces a text as long as all lines that end in `# need` remain; returns the number of
    /// proposals.
    #[track_caller]
    fn check(text: &str, expected: &str) -> usize {
        let needed = |text: &str| text.lines().filter(|line| line.ends_with("# need")).count();
        let all = needed(text);
        let whole = |line: &GistLine| match &line.origin {
            LineOrigin::Source(place) => text
                .lines()
                .nth(place.line as usize - 1)
                .is_some_and(|line| line.ends_with("# need whole")),
            LineOrigin::Glue(_) => false,
        };
        let mut reduction = Reduction::new(gist(text), &whole);
        let mut asked = 0;
        while let Some(proposal) = reduction.propose() {
            asked += 1;
            assert_eq!(proposal.text.lines().count(), proposal.lines.len());
            if needed(&proposal.text) == all
                && proposal.text.contains("whole") == text.contains("whole")
            {
                reduction.accept(proposal);
            } else {
                reduction.reject();
            }
        }
        assert_eq!(reduction.gist().text, expected);
        asked
    }

    #[test]
    fn statements_go_with_all_that_is_in_them() {
        let text = "import a\n\n\nclass C:\n    x = 1\n    y = 2  # need\n\n    def f(self):\n        return 1\n\n\nz = 3\n";
        check(text, "class C:\n    y = 2  # need\n");
    }

    #[test]
    fn only_imports_that_may_go_are_proposed() {
        let text = "import os\nfrom pkg import (\n    a,\n    b,\n)\ntry:\n    import pkg.c\nexcept ImportError:\n    x = 1\n";
        let proposals = without_imports(&gist(text), &|import| import.contains("pkg"));
        let texts: Vec<&str> = proposals.iter().map(|gist| gist.text.as_str()).collect();
        // The import is all that its block has, and `pass` is no shorter.
        assert_eq!(texts, ["import os\ntry:\n    import pkg.c\nexcept ImportError:\n    x = 1\n"]);
    }

    #[test]
    fn clauses_go_where_the_rest_is_still_a_statement() {
        let text = "try:\n    a = 1  # need\nexcept A:\n    b = 2\nexcept B:\n    c = 3\nelse:\n    d = 4\nfinally:\n    e = 5\n";
        // The last clause cannot go without the `try` itself.
        check(text, "try:\n    a = 1  # need\nexcept A:\n    b = 2\n");
        check(
            "if a:\n    b = 1  # need\nelif c:\n    d = 2\nelse:\n    e = 3\n",
            "if a:\n    b = 1  # need\n",
        );
        check(
            "for a in b:\n    c = 1  # need\nelse:\n    d = 2\n",
            "for a in b:\n    c = 1  # need\n",
        );
        check(
            "match a:\n    case 1:\n        b = 2\n    case 3:\n        c = 4  # need\n",
            "match a:\n    case 3:\n        c = 4  # need\n",
        );
    }

    #[test]
    fn what_is_alone_in_its_block_gives_way_to_pass_where_that_is_shorter() {
        check("def f():  # need\n    return (1,\n            2)\n", "def f():  # need\n    pass\n");
        check("def f():  # need\n    return 1\n", "def f():  # need\n    return 1\n");
    }

    #[test]
    fn statements_of_one_line_go_together() {
        check("a = 1; b = 2\nc = 3; d = 4  # need\nif a: b = 5\n", "c = 3; d = 4  # need\n");
    }

    #[test]
    fn functions_that_are_kept_whole_are_not_looked_into() {
        let text = "def f():  # need whole\n    a = 1\n    b = 2\n\n\nclass C:  # need\n    d = 4  # need whole\n    e = 5\n\n\nc = 3\n";
        let expected = "def f():  # need whole\n    a = 1\n    b = 2\n\n\nclass C:  # need\n    d = 4  # need whole\n";
        // What stays is not even tried.
        assert_eq!(check(text, expected), 4);
    }

    #[test]
    fn nothing_is_asked_twice_of_the_same_text() {
        // Three rejections; then the search is over.
        assert_eq!(
            check(
                "a = 1  # need\nb = 2  # need\nc = 3  # need\n",
                "a = 1  # need\nb = 2  # need\nc = 3  # need\n"
            ),
            3
        );
    }
}
