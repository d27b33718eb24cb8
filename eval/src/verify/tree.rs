//! Matches the statements of a gist with statements of an original file, suite by suite.
//!
//! A gist may drop statements and must keep the order of the rest. It may drop the header of a
//! block and keep the block's statements only if the original's run shows that the header decided
//! nothing. The caller decides which two lines match.

use std::{cell::RefCell, rc::Rc};

use rustc_hash::FxHashMap;

use crate::blocks::{Class, Line, Outline, Role, StatementSuite};

/// The suites of a statement, in source order.
const SUITES: [StatementSuite; 4] = [
    StatementSuite::Body,
    StatementSuite::Handlers,
    StatementSuite::Otherwise,
    StatementSuite::Finally,
];

/// The statements of a file as a tree over the lines of its outline.
#[derive(Debug, Default)]
pub struct Tree {
    roots: Vec<usize>,
    children: Vec<[Vec<usize>; 4]>,
    /// Lines of each statement, its own included.
    sizes: Vec<usize>,
}

impl Tree {
    /// Builds the tree of an outline.
    pub fn of(outline: &Outline) -> Self {
        let mut tree = Self {
            roots: Vec::new(),
            children: outline.lines.iter().map(|_| Default::default()).collect(),
            sizes: vec![1; outline.lines.len()],
        };
        for (at, line) in outline.lines.iter().enumerate() {
            match line.parent {
                Some((parent, suite)) => tree.children[parent][suite as usize].push(at),
                None => tree.roots.push(at),
            }
        }
        for at in (0..outline.lines.len()).rev() {
            if let Some((parent, _)) = outline.lines[at].parent {
                tree.sizes[parent] += tree.sizes[at];
            }
        }
        tree
    }

    /// Returns the statements of the top level.
    pub fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// Returns the statements of a suite.
    pub fn suite(&self, parent: usize, suite: StatementSuite) -> &[usize] {
        &self.children[parent][suite as usize]
    }

    /// Calls `visit` with each line of a statement.
    pub fn for_each(&self, at: usize, visit: &mut dyn FnMut(usize)) {
        visit(at);
        for inner in self.children[at].iter().flatten() {
            self.for_each(*inner, visit);
        }
    }
}

/// A file of the original: its outline, its tree, and the physical lines that its run executed, sorted.
pub struct Original<'a> {
    pub outline: &'a Outline,
    pub tree: Tree,
    pub hits: &'a [u32],
}

/// A statement that may stand in a suite of a gist, and where its own blocks' statements end in the same list.
type Candidate = (usize, usize);

impl Original<'_> {
    fn line(&self, at: usize) -> &Line {
        &self.outline.lines[at]
    }

    /// Returns true if the run executed something of a statement.
    fn ran(&self, at: usize) -> bool {
        hit(self.hits, self.line(at).reach)
    }

    /// Returns true if the run executed a line of a function's own body.
    pub fn ran_within(&self, line: &Line, head: &Line) -> bool {
        line.first > head.last && hit(self.hits, line.reach)
    }

    fn entered(&self, parent: usize, suite: StatementSuite) -> bool {
        self.tree.suite(parent, suite).iter().any(|&at| self.ran(at))
    }

    /// Returns the statements of a list and those in blocks whose headers decided nothing.
    pub fn flatten(&self, list: &[usize]) -> Vec<Candidate> {
        let mut found = Vec::new();
        self.flatten_into(list, &mut found);
        found
    }

    fn flatten_into(&self, list: &[usize], found: &mut Vec<Candidate>) {
        for &at in list {
            let start = found.len();
            found.push((at, 0));
            for suite in self.open_suites(at) {
                self.flatten_into(&suite, found);
            }
            found[start].1 = found.len();
        }
    }

    /// The suites that may stand without the header of their statement:
    ///
    /// ```python
    /// if fast:        # no line of this body ran: what `else` has may stand alone
    ///     ...
    /// else:
    ///     step()
    /// ```
    fn open_suites(&self, at: usize) -> Vec<Vec<usize>> {
        let line = self.line(at);
        let list = |suite| self.tree.suite(at, suite).to_vec();
        let is_loop =
            ["for ", "while ", "async for "].iter().any(|head| line.text.starts_with(head))
                || line.text.starts_with("while(");
        match line.role {
            Role::If | Role::Elif => match self.entered(at, StatementSuite::Body) {
                true => Vec::new(),
                false => vec![list(StatementSuite::Otherwise)],
            },
            Role::Header if is_loop && !self.entered(at, StatementSuite::Body) => {
                vec![list(StatementSuite::Otherwise)]
            }
            Role::Header if line.text.starts_with("try") => {
                let handlers = self.tree.suite(at, StatementSuite::Handlers);
                let caught: Vec<usize> = handlers
                    .iter()
                    .copied()
                    .filter(|h| self.entered(*h, StatementSuite::Body))
                    .collect();
                match caught.as_slice() {
                    [] => vec![
                        list(StatementSuite::Body),
                        list(StatementSuite::Otherwise),
                        list(StatementSuite::Finally),
                    ],
                    [one] if self.ends_in_import(at) => {
                        vec![
                            list(StatementSuite::Body),
                            self.tree.suite(*one, StatementSuite::Body).to_vec(),
                        ]
                    }
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    /// Returns true if the last executed statement of a `try` is an import, so that its failure is what was caught.
    pub fn ends_in_import(&self, at: usize) -> bool {
        let body = self.tree.suite(at, StatementSuite::Body).iter();
        let last = body.rev().find(|&&at| self.ran(at));
        last.is_some_and(|&at| self.line(at).role == Role::Import)
            && !self.entered(at, StatementSuite::Otherwise)
    }

    /// Returns the candidates for a suite of a statement.
    fn suite(&self, at: usize, suite: StatementSuite) -> Vec<Candidate> {
        let mut list = self.tree.suite(at, suite).to_vec();
        // Without its handlers a `try` has no `else`; what stood there follows the body.
        let handlers = self.tree.suite(at, StatementSuite::Handlers);
        if suite == StatementSuite::Body
            && self.line(at).text.starts_with("try")
            && !handlers.iter().any(|&handler| self.entered(handler, StatementSuite::Body))
        {
            list.extend(self.tree.suite(at, StatementSuite::Otherwise));
        }
        self.flatten(&list)
    }
}

/// Returns true if one of some sorted lines lies in a range.
pub fn hit(hits: &[u32], (first, last): (u32, u32)) -> bool {
    let at = hits.partition_point(|&line| line < first);
    hits.get(at).is_some_and(|&line| line <= last)
}

/// Pairs of lines, of a gist and of an original file, and the number of lines of the gist that have no partner.
#[derive(Debug, Default)]
pub struct Match {
    pub missing: usize,
    pub pairs: Vec<(usize, usize)>,
}

/// Matches statements of a gist with those of one file.
pub struct Matcher<'a> {
    pub gist: &'a Outline,
    pub tree: &'a Tree,
    pub original: &'a Original<'a>,
    /// Tells if two lines are alike.
    pub alike: &'a dyn Fn(usize, usize) -> bool,
    pub known: RefCell<FxHashMap<(usize, usize), Rc<Match>>>,
}

impl Matcher<'_> {
    /// Matches a statement with a statement; nothing if they are of different kinds.
    pub fn statement(&self, gist: usize, original: usize) -> Option<Rc<Match>> {
        if let Some(known) = self.known.borrow().get(&(gist, original)) {
            return Some(known.clone());
        }
        let (own, other) = (&self.gist.lines[gist], self.original.line(original));
        let is_alike = (self.alike)(gist, original);
        // A changed header is one changed line: what is in its block is looked up all the same.
        let is_kind = own.block == other.block
            && own.role == other.role
            && !matches!(own.role, Role::Simple | Role::Import | Role::Decorator)
            && own.text.split([' ', ':', '(']).next() == other.text.split([' ', ':', '(']).next();
        if !is_alike && !is_kind {
            return None;
        }
        let mut found = Match { missing: usize::from(!is_alike), pairs: Vec::new() };
        found.pairs.extend(is_alike.then_some((gist, original)));
        for suite in SUITES {
            let list = self.tree.suite(gist, suite);
            if !list.is_empty() {
                let inner = self.suite(list, original, suite);
                found.missing += inner.missing;
                found.pairs.extend(inner.pairs);
            }
        }
        let found = Rc::new(found);
        self.known.borrow_mut().insert((gist, original), found.clone());
        Some(found)
    }

    fn suite(&self, list: &[usize], parent: usize, suite: StatementSuite) -> Match {
        let found = self.list(list, &self.original.suite(parent, suite));
        let is_inert = |at: &&usize| self.gist.lines[**at].class == Class::Inert;
        let mut counted = list.iter().filter(|at| !is_inert(at));
        let (first, second) = (counted.next(), counted.next());
        // A block that was never entered needs a statement, which may be any of it.
        if let (Some(&only), None) = (first, second)
            && found.missing > 0
            && !self.original.entered(parent, suite)
        {
            let mut filler = None;
            for &at in self.original.tree.suite(parent, suite) {
                self.original.tree.for_each(at, &mut |at| {
                    if filler.is_none() && (self.alike)(only, at) {
                        filler = Some(at);
                    }
                });
            }
            if let Some(at) = filler {
                let mut pairs = found.pairs;
                pairs.push((only, at));
                return Match { missing: found.missing - 1, pairs };
            }
        }
        found
    }

    /// Matches a list of statements with a list of candidates, in order, so that as few lines as possible are left.
    fn list(&self, list: &[usize], candidates: &[Candidate]) -> Match {
        let (rows, width) = (list.len(), candidates.len() + 1);
        let mut missing = vec![0usize; (rows + 1) * width];
        let mut taken: Vec<Option<Rc<Match>>> = vec![None; rows * width];
        for row in (0..rows).rev() {
            let size = self.tree.sizes[list[row]];
            for column in (0..width).rev() {
                let mut best = missing[(row + 1) * width + column] + size;
                if let Some(&(at, end)) = candidates.get(column) {
                    best = best.min(missing[row * width + column + 1]);
                    if let Some(found) = self.statement(list[row], at) {
                        let rest = missing[(row + 1) * width + end];
                        if found.missing + rest < best
                            || found.missing + rest == best && found.missing < size
                        {
                            best = found.missing + rest;
                            taken[row * width + column] = Some(found);
                        }
                    }
                }
                missing[row * width + column] = best;
            }
        }
        let mut found = Match { missing: missing[0], pairs: Vec::new() };
        let (mut row, mut column) = (0, 0);
        while row < rows {
            if let Some(one) = &taken[row * width + column] {
                found.pairs.extend(&one.pairs);
                (row, column) = (row + 1, candidates[column].1);
            } else if column + 1 < width
                && missing[row * width + column] == missing[row * width + column + 1]
            {
                column += 1;
            } else {
                row += 1;
            }
        }
        found
    }
}
