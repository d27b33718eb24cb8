//! Proposes statements of a finished gist for removal: many at once as long as that succeeds, then one at a time, until
//! every remaining one is needed.
//!
//! It executes nothing: the caller checks each proposal.

mod unmentioned;
mod uses;

use std::{collections::BTreeSet, sync::Arc};

use ruff_python_ast::{Stmt, token::TokenKind};
use ruff_text_size::{Ranged, TextRange};

use self::{unmentioned::unmentioned, uses::ExecutedNames};
use super::plan::{Gist, GistLine, LineOrigin};
use crate::{
    source::Source,
    syntax::{Syntax, with_deep_stack},
};

/// A search for a gist that is 1-minimal: none of its statements can go by itself (A. Zeller and
/// R. Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002, definition 10).
///
/// It begins with groups, the longest first: all that a function does, all statements of a class or of the file that
/// define nothing. A group that is needed is halved, as in delta debugging, down to single statements, and behind these to
/// the blocks in them (G. Misherghi and Z. Su, HDD: Hierarchical Delta Debugging, 2006). Definitions go once no other
/// line has their names, all at once.
///
/// ```python
/// def area(shape):      # 1. without its three statements: needed
///     log(shape)        # 2. without the first two
///     check(shape)
///     return shape.a    # 3. `log` and `check` have no other use now
/// ```
///
/// Then single statements are tried until none of them can go: later ones before earlier ones, since they use them, and
/// a statement before what is in it. Clauses (`else`, `except`, `case`) are tried as statements are.
///
/// [`Self::with_executed`] takes a trace into account, and [`Self::without_unlikely`] ends the search earlier.
#[derive(Clone)]
pub struct Reduction<'s> {
    whole: &'s StaysWhole<'s>,
    draft: Draft,
    /// The parts of the gist, in the order in which single ones are tried.
    tree: Block,
    /// Groups that are still to be tried.
    groups: Vec<Group>,
    /// Groups of definitions that no other line mentions; they come first.
    unmentioned: Vec<Group>,
    /// A refused group of `unmentioned` with more members than this is halved in that list, a smaller one in `groups`.
    least_unmentioned: usize,
    /// The parts of which the inner groups were added since the last trace.
    opened: BTreeSet<LineId>,
    /// Definitions that are needed though no line mentions them.
    reached: BTreeSet<LineId>,
    /// The last proposal.
    proposed: Option<(Draft, Tried)>,
    /// Single parts that were tried since the gist last changed, and are needed.
    needed: BTreeSet<LineId>,
    at: usize,
    /// The lines that the last trace executed, and the names that they read.
    executed: Arc<BTreeSet<LineId>>,
    uses: Option<Arc<ExecutedNames>>,
    /// The parts that bind a name which an executed line outside of them reads.
    read: Arc<BTreeSet<LineId>>,
    /// True if single parts are tried as well that bind what an executed line reads.
    tries_all: bool,
}

/// A predicate: true if the function, or the assignment, that begins with a line must stay whole. It gets the line, and the
/// name of the function; `None` for an assignment.
pub type StaysWhole<'s> = dyn Fn(&GistLine, Option<&str>) -> bool + Sync + 's;

/// A line of the first gist, by its number there. A part has that of its first line.
type LineId = usize;

/// The number of lines that were not in the first gist.
const ADDED: LineId = usize::MAX;

/// Parts that are removed together.
type Group = Vec<LineId>;

/// A refused group of definitions that nothing mentions is halved at once if it has more than this part of them.
const COARSE: usize = 8;

/// The kind of a proposal.
#[derive(Debug, Clone)]
enum Tried {
    Group(Group),
    Unmentioned(Group),
    Single(LineId),
}

/// A gist, and the numbers of its lines in the first one.
#[derive(Debug, Clone)]
struct Draft {
    gist: Gist,
    ids: Vec<LineId>,
}

/// The lines of a statement or of a clause, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    first: usize,
    last: usize,
    id: LineId,
}

impl Part {
    fn len(&self) -> usize {
        self.last + 1 - self.first
    }
}

/// A statement that may go.
#[derive(Debug, Clone)]
struct Node {
    part: Part,
    kind: NodeKind,
    inner: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum NodeKind {
    Function(String),
    Class(String),
    /// The names that it binds.
    Import(Vec<String>),
    /// `global` or `nonlocal`.
    Declaration,
    Other,
}

/// A block of a statement, or of the file.
#[derive(Debug, Clone)]
struct Block {
    /// The clause that it belongs to, where it can go as a whole.
    clause: Option<Part>,
    /// Its statements, the last one first; those that stay are left out.
    nodes: Vec<Node>,
    /// True if it needs a statement, and all its statements are in `nodes`.
    needs_one: bool,
}

impl<'s> Reduction<'s> {
    /// A search that begins with this gist. Functions and assignments of which `whole` holds stay.
    pub fn new(gist: Gist, whole: &'s StaysWhole<'s>) -> Self {
        let ids = (0..gist.lines.len()).collect();
        let draft = Draft { gist, ids };
        let tree = draft.parts(whole);
        let mut groups = Vec::new();
        tree.add_groups(true, &mut groups);
        let (reached, needed) = (BTreeSet::new(), BTreeSet::new());
        let mut reduction = Self {
            whole,
            draft,
            tree,
            groups,
            unmentioned: Vec::new(),
            least_unmentioned: 0,
            opened: BTreeSet::new(),
            reached,
            proposed: None,
            needed,
            at: 0,
            executed: Arc::default(),
            uses: None,
            read: Arc::default(),
            tries_all: true,
        };
        reduction.find_unmentioned();
        reduction
    }

    /// Takes these names as mentioned, as those of a test that a runner calls.
    #[must_use]
    pub fn with_mentioned(mut self, names: &[String]) -> Self {
        self.tree.add_named(names, &mut self.reached);
        self.find_unmentioned();
        self
    }

    /// Adds two groups of what a run of the gist did not execute: functions that were not called, and other statements and
    /// clauses. `ran` returns true for a line, counted from 0, that was executed.
    ///
    /// ```python
    /// def parse(text):            # executed; the first group has the function
    ///     return text.split()     # not executed
    /// if DEBUG:                   # executed; the second group has the `if`
    ///     print(parse("a b"))     # not executed
    /// ```
    ///
    /// Each group keeps only the parts whose names no executed line outside of it reads.
    #[must_use]
    pub fn with_executed(mut self, ran: &dyn Fn(usize) -> bool) -> Self {
        let (mut functions, mut others) = (Group::new(), Group::new());
        self.tree.add_unexecuted(ran, &mut functions, &mut others);
        self.groups.extend([functions, others].into_iter().filter(|group| !group.is_empty()));
        let lines = self.draft.ids.iter().enumerate();
        self.opened.clear();
        self.executed = Arc::new(lines.filter(|(at, _)| ran(*at)).map(|(_, id)| *id).collect());
        self.find_uses();
        self.find_unmentioned();
        self
    }

    /// Finds the definitions that nothing mentions. Those that were called nevertheless are likely needed, and come last.
    fn find_unmentioned(&mut self) {
        let group = unmentioned(&self.draft, &self.tree, &self.reached).unwrap_or_default();
        let mut called = BTreeSet::new();
        let executed =
            |line: usize| self.draft.ids.get(line).is_some_and(|id| self.executed.contains(id));
        self.tree.add_called(&executed, &mut called);
        let (last, first): (Group, Group) = group.into_iter().partition(|id| called.contains(id));
        self.least_unmentioned = (last.len() + first.len()) / COARSE;
        self.unmentioned = [last, first].into_iter().filter(|group| !group.is_empty()).collect();
    }

    /// Ends the search before the single parts that bind what an executed line reads: they are likely needed. The gist may not
    /// be 1-minimal then.
    #[must_use]
    pub fn without_unlikely(mut self) -> Self {
        self.tries_all = false;
        self
    }

    fn find_uses(&mut self) {
        let ran = |id: LineId| self.executed.contains(&id);
        let uses = (!self.executed.is_empty()).then(|| ExecutedNames::of(&self.draft, &ran));
        let mut read = BTreeSet::new();
        if let Some(uses) = &uses {
            self.tree.each(&mut |part| {
                read.extend((uses.still_read(&[*part]) == [true]).then_some(part.id));
            });
        }
        (self.uses, self.read) = (uses.map(Arc::new), Arc::new(read));
    }

    /// Returns the members of a group that can go without what binds a name that an executed line still reads, and the rest.
    fn split_by_uses(&self, group: Group) -> [Group; 2] {
        let Some(uses) = &self.uses else { return [group, Group::new()] };
        let mut parts = Vec::new();
        let members: BTreeSet<LineId> = group.iter().copied().collect();
        self.tree.each(&mut |part| parts.extend(members.contains(&part.id).then_some(*part)));
        let is_read = uses.still_read(&parts);
        let read: BTreeSet<LineId> = parts
            .iter()
            .zip(is_read)
            .filter(|(_, is_read)| *is_read)
            .map(|(part, _)| part.id)
            .collect();
        let (read, free) = group.into_iter().partition(|id| read.contains(id));
        [free, read]
    }

    /// Returns the gist without definitions that nothing mentions, or `None` if there are none that can go together.
    pub fn propose_unmentioned(&mut self) -> Option<Gist> {
        while let Some(group) = self.unmentioned.pop() {
            let proposal = self.propose_without(Tried::Unmentioned(group));
            if proposal.is_some() {
                return proposal;
            }
        }
        None
    }

    /// The gist as it stands.
    pub fn gist(&self) -> &Gist {
        &self.draft.gist
    }

    /// Returns the searches that come next while each proposal is refused, at most `count`; each has made its proposal.
    #[must_use]
    pub fn ahead(&self, count: usize) -> Vec<Self> {
        let mut next = self.clone();
        let mut ahead = Vec::new();
        while ahead.len() < count && next.propose().is_some() {
            ahead.push(next.clone());
            next.reject();
        }
        ahead
    }

    /// Returns the last proposal, as long as it is neither accepted nor rejected.
    pub fn proposed(&self) -> Option<&Gist> {
        self.proposed.as_ref().map(|(draft, _)| &draft.gist)
    }

    /// Returns the gist without one further group of statements, or `None` if every remaining one is needed.
    pub fn propose(&mut self) -> Option<Gist> {
        while let Some(tried) = self.next() {
            let proposal = self.propose_without(tried);
            if proposal.is_some() {
                return proposal;
            }
        }
        None
    }

    /// Returns the gist without a group; refuses it where nothing whole is left.
    fn propose_without(&mut self, tried: Tried) -> Option<Gist> {
        let group = match &tried {
            Tried::Group(group) | Tried::Unmentioned(group) => &group[..],
            Tried::Single(id) => std::slice::from_ref(id),
        };
        let proposal = self.draft.without(&self.tree, group);
        let proposal = proposal.filter(|draft| is_whole(&draft.gist.text));
        let gist = proposal.as_ref().map(|draft| draft.gist.clone());
        match proposal {
            Some(draft) => self.proposed = Some((draft, tried)),
            None => self.refuse(tried),
        }
        gist
    }

    /// Goes on from the last proposal.
    pub fn accept(&mut self) {
        let Some((draft, _)) = self.proposed.take() else { return };
        self.draft = draft;
        self.tree = self.draft.parts(self.whole);
        self.needed.clear();
        self.find_unmentioned();
        self.find_uses();
    }

    /// Rejects the last proposal: something that it lacked is needed.
    pub fn reject(&mut self) {
        if let Some((_, tried)) = self.proposed.take() {
            self.refuse(tried);
        }
    }

    fn next(&mut self) -> Option<Tried> {
        if let Some(group) = self.unmentioned.pop() {
            return Some(Tried::Unmentioned(group));
        }
        let mut sizes = std::collections::BTreeMap::new();
        if !self.groups.is_empty() {
            self.tree.each(&mut |part| {
                sizes.insert(part.id, part.len());
            });
        }
        while !self.groups.is_empty() {
            // What went with something else is no longer there.
            self.groups.iter_mut().for_each(|group| group.retain(|id| sizes.contains_key(id)));
            self.groups.retain(|group| !group.is_empty());
            let size = |group: &Group| group.iter().map(|id| sizes[id]).sum::<usize>();
            // Of those that are as long the one that was added first.
            let longest = (0..self.groups.len()).rev().max_by_key(|at| size(&self.groups[*at]));
            let Some(at) = longest else { break };
            let group = self.groups.remove(at);
            let [free, read] = self.split_by_uses(group);
            read.into_iter().for_each(|id| self.add_groups_inside(id));
            if !free.is_empty() {
                return Some(Tried::Group(free));
            }
        }
        let mut parts = Vec::new();
        self.tree.each(&mut |part| parts.push(*part));
        let later = (self.at..parts.len()).chain(0..self.at.min(parts.len()));
        let is_open = |at: &usize| !self.needed.contains(&parts[*at].id);
        let is_read = |at: usize| self.read.contains(&parts[at].id);
        let mut likely = later.clone().filter(is_open);
        let next = match likely.find(|at| !is_read(*at)) {
            None if self.tries_all => later.clone().find(is_open)?,
            next => next?,
        };
        self.at = next;
        Some(Tried::Single(parts[next].id))
    }

    /// Adds the groups inside a part that is needed itself.
    fn add_groups_inside(&mut self, id: LineId) {
        if self.opened.insert(id) {
            self.tree.add_inner_groups(id, &mut self.groups);
        }
    }

    fn refuse(&mut self, tried: Tried) {
        match tried {
            Tried::Single(id) => {
                self.needed.insert(id);
            }
            Tried::Unmentioned(group) => match group[..] {
                [id] => {
                    self.reached.insert(id);
                    self.needed.insert(id);
                }
                _ if group.len() > self.least_unmentioned => {
                    self.unmentioned.extend(halves(&group));
                }
                _ => {
                    self.reached.extend(group.iter().copied());
                    self.groups.extend(halves(&group));
                }
            },
            Tried::Group(group) => match group[..] {
                [id] => {
                    self.needed.insert(id);
                    self.add_groups_inside(id);
                }
                _ => self.groups.extend(halves(&group)),
            },
        }
    }
}

fn halves(group: &Group) -> [Group; 2] {
    let (one, other) = group.split_at(group.len() / 2);
    [one.to_vec(), other.to_vec()]
}

impl std::fmt::Debug for Reduction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reduction")
            .field("lines", &self.draft.ids.len())
            .field("groups", &self.groups.len())
            .field("needed", &self.needed.len())
            .finish_non_exhaustive()
    }
}

impl Block {
    /// Calls `act` with each part, in the order in which single ones are tried.
    fn each(&self, act: &mut impl FnMut(&Part)) {
        if let Some(clause) = &self.clause {
            act(clause);
        }
        for node in &self.nodes {
            act(&node.part);
            node.inner.iter().for_each(|block| block.each(act));
        }
    }

    /// Adds the outermost functions, and the outermost other parts, of which `ran` holds for no line. For a function or a
    /// statement with blocks, only the lines in its blocks count, not its header.
    fn add_unexecuted(
        &self,
        ran: &dyn Fn(usize) -> bool,
        functions: &mut Group,
        others: &mut Group,
    ) {
        // The interpreter executes no line of a declaration.
        for node in self.nodes.iter().filter(|node| node.kind != NodeKind::Declaration) {
            let blocks = node.inner.iter().flat_map(|block| &block.nodes);
            let first = match node.kind {
                NodeKind::Class(_) => node.part.first,
                _ => blocks.map(|node| node.part.first).min().unwrap_or(node.part.first),
            };
            if (first..=node.part.last).any(ran) {
                for block in &node.inner {
                    block.add_unexecuted_clause(ran, functions, others);
                }
            } else if matches!(node.kind, NodeKind::Function(_)) {
                functions.push(node.part.id);
            } else {
                others.push(node.part.id);
            }
        }
    }

    /// Adds the functions of which a line behind the header was executed, and the classes that have such ones; returns true if
    /// there are any.
    fn add_called(&self, ran: &dyn Fn(usize) -> bool, called: &mut BTreeSet<LineId>) -> bool {
        let mut is_any = false;
        for node in &self.nodes {
            let mut is_called = false;
            for block in &node.inner {
                is_called |= block.add_called(ran, called);
            }
            if let NodeKind::Function(_) = node.kind {
                let inner = node.inner.iter().flat_map(|block| &block.nodes);
                let first = inner.map(|node| node.part.first).min();
                is_called |= first.is_some_and(|first| (first..=node.part.last).any(ran));
            }
            if is_called {
                called.insert(node.part.id);
            }
            is_any |= is_called;
        }
        is_any
    }

    /// Adds the clause of this block if nothing in it was executed, else the parts of it that were not.
    fn add_unexecuted_clause(
        &self,
        ran: &dyn Fn(usize) -> bool,
        functions: &mut Group,
        others: &mut Group,
    ) {
        let first = self.nodes.iter().map(|node| node.part.first).min();
        match self.clause.zip(first) {
            Some((clause, first)) if !(first..=clause.last).any(ran) => others.push(clause.id),
            _ => self.add_unexecuted(ran, functions, others),
        }
    }

    /// Adds the definitions of these names.
    fn add_named(&self, names: &[String], found: &mut BTreeSet<LineId>) {
        for node in &self.nodes {
            if let NodeKind::Function(name) | NodeKind::Class(name) = &node.kind
                && names.contains(name)
            {
                found.insert(node.part.id);
            }
            node.inner.iter().for_each(|block| block.add_named(names, found));
        }
    }

    /// Adds the statements of this block as one group, and those of the definitions in it. Definitions themselves are no part
    /// of it where others need them by name, in a class or the file (`has_names`).
    fn add_groups(&self, has_names: bool, groups: &mut Vec<Group>) {
        let is_definition =
            |node: &&Node| matches!(node.kind, NodeKind::Function(_) | NodeKind::Class(_));
        let goes = |node: &&Node| !(has_names && is_definition(node));
        groups.push(self.nodes.iter().filter(goes).map(|node| node.part.id).collect());
        if has_names {
            self.nodes.iter().filter(is_definition).for_each(|node| node.add_groups(groups));
        }
    }

    /// Adds groups for what is in a part that is needed itself.
    fn add_inner_groups(&self, id: LineId, groups: &mut Vec<Group>) {
        for node in &self.nodes {
            if node.part.id == id {
                node.inner.iter().filter_map(|block| block.clause).for_each(|clause| {
                    groups.push(vec![clause.id]);
                });
                node.add_groups(groups);
            } else {
                for block in &node.inner {
                    match block.clause {
                        Some(clause) if clause.id == id => block.add_groups(false, groups),
                        _ => block.add_inner_groups(id, groups),
                    }
                }
            }
        }
    }
}

impl Node {
    fn add_groups(&self, groups: &mut Vec<Group>) {
        let is_class = matches!(self.kind, NodeKind::Class(_));
        // Clauses are tried first: what is in them is added where they are needed.
        let blocks = self.inner.iter().filter(|block| block.clause.is_none());
        blocks.for_each(|block| block.add_groups(is_class, groups));
    }
}

impl Draft {
    /// Returns the gist without some parts; nothing where that makes it no shorter.
    fn without(&self, tree: &Block, group: &[LineId]) -> Option<Draft> {
        let mut removed = Vec::new();
        mark(tree, &group.iter().copied().collect(), &mut removed);
        removed.sort_by_key(|(part, _): &(Part, bool)| std::cmp::Reverse(part.first));
        let mut lines: Vec<(&str, GistLine, LineId)> = self
            .gist
            .text
            .lines()
            .zip(self.gist.lines.iter().cloned())
            .zip(self.ids.iter().copied())
            .map(|((text, line), id)| (text, line, id))
            .collect();
        let pass =
            |first: &str| format!("{}pass", &first[..first.len() - first.trim_start().len()]);
        let passes: Vec<String> =
            removed.iter().map(|(part, _)| pass(lines[part.first].0)).collect();
        let before = lines.len();
        for ((part, is_replaced), pass) in removed.iter().zip(&passes) {
            let reason = "a block needs a statement".to_owned();
            let line = GistLine { origin: LineOrigin::Glue(reason), adapted: false };
            let filler = is_replaced.then_some((pass.as_str(), line, ADDED));
            let is_blank =
                |at: usize| lines.get(at).is_none_or(|(text, ..)| text.trim().is_empty());
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
        }
        if lines.len() == before {
            return None;
        }
        let mut text = String::with_capacity(self.gist.text.len());
        for (line, ..) in &lines {
            text.push_str(line);
            text.push('\n');
        }
        let (lines, ids) = lines.into_iter().map(|(_, line, id)| (line, id)).unzip();
        Some(Draft { gist: Gist { text, lines }, ids })
    }

    /// Returns the parts that may go.
    fn parts(&self, whole: &StaysWhole<'_>) -> Block {
        with_deep_stack(|| {
            let syntax = Syntax::parse(Source::new("gist", self.gist.text.as_str()));
            let search = Search { syntax: &syntax, draft: self, whole };
            search.block(None, syntax.body(), true)
        })
    }
}

/// Collects the parts of a group, each with true if `pass` takes its place: then it is the last one of a block that would
/// be empty. A block that would be no shorter stays.
fn mark(block: &Block, group: &BTreeSet<LineId>, removed: &mut Vec<(Part, bool)>) {
    if let Some(clause) = block.clause.filter(|clause| group.contains(&clause.id)) {
        removed.push((clause, false));
        return;
    }
    let goes = |node: &&Node| group.contains(&node.part.id);
    let is_emptied = block.needs_one && block.nodes.iter().all(|node| goes(&node));
    let lines: usize = block.nodes.iter().map(|node| node.part.len()).sum();
    for (at, node) in block.nodes.iter().enumerate() {
        if !goes(&node) {
            node.inner.iter().for_each(|block| mark(block, group, removed));
        } else if !is_emptied {
            removed.push((node.part, false));
        } else if lines > 1 {
            removed.push((node.part, at == 0));
        }
    }
}

/// Returns the gist without one import statement, for each whose text `goes` accepts, the last first.
pub fn without_imports(gist: &Gist, goes: &dyn Fn(&str) -> bool) -> Vec<Gist> {
    let lines: Vec<&str> = gist.text.lines().map(str::trim_start).collect();
    let draft = Draft { gist: gist.clone(), ids: (0..gist.lines.len()).collect() };
    let tree = draft.parts(&|_, _| false);
    let mut imports = Vec::new();
    tree.each(&mut |part| {
        let text = lines[part.first..=part.last].join("\n");
        let is_import = text.starts_with("import ") || text.starts_with("from ");
        imports.extend((is_import && goes(&text)).then_some(part.id));
    });
    let proposals = imports.into_iter().filter_map(|id| draft.without(&tree, &[id]));
    proposals.map(|draft| draft.gist).filter(|gist| is_whole(&gist.text)).collect()
}

fn is_whole(text: &str) -> bool {
    with_deep_stack(|| Syntax::parse(Source::new("gist", text)).errors().is_empty())
}

struct Search<'a> {
    syntax: &'a Syntax,
    draft: &'a Draft,
    whole: &'a StaysWhole<'a>,
}

impl<'a> Search<'a> {
    fn line_span(&self, range: TextRange) -> (usize, usize) {
        let line = |at| self.syntax.source().line(at) as usize - 1;
        (line(range.start()), line(range.end()))
    }

    /// Returns true if a function or an assignment is excluded from the search.
    fn stays(&self, stmt: &Stmt, first: usize) -> bool {
        let name = match stmt {
            Stmt::FunctionDef(function) => Some(function.name.as_str()),
            Stmt::Assign(_) | Stmt::AnnAssign(_) | Stmt::AugAssign(_) => None,
            _ => return false,
        };
        self.draft.gist.lines.get(first).is_some_and(|line| (self.whole)(line, name))
    }

    fn block(&self, clause: Option<Part>, body: &'a [Stmt], top: bool) -> Block {
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
        let mut block = Block { clause, nodes: Vec::new(), needs_one: !top };
        for (first, last, stmts) in groups.into_iter().rev() {
            // What stands behind its block's colon goes with that.
            let start = stmts[0].start();
            let source = self.syntax.source();
            let before =
                &source.text()[source.line_start(source.line(start)).to_usize()..start.to_usize()];
            if !before.trim().is_empty() {
                block.needs_one = false;
                break;
            }
            if stmts.iter().any(|stmt| self.stays(stmt, first)) {
                block.needs_one = false;
                continue;
            }
            let (kind, inner) = match stmts[..] {
                [stmt] => (kind(stmt), self.inner(stmt)),
                _ => (NodeKind::Other, Vec::new()),
            };
            let part = self.part(first, last);
            block.nodes.push(Node { part, kind, inner });
        }
        block
    }

    fn part(&self, first: usize, last: usize) -> Part {
        Part { first, last, id: self.draft.ids.get(first).copied().unwrap_or(ADDED) }
    }

    /// Returns the block of a clause, which begins at a keyword.
    fn clause(&self, keyword: Option<ruff_text_size::TextSize>, body: &'a [Stmt]) -> Block {
        let part = keyword.zip(body.last()).map(|(start, stmt)| {
            let (first, last) = self.line_span(TextRange::new(start, stmt.end()));
            self.part(first, last)
        });
        self.block(part, body, false)
    }

    /// Returns the blocks of a statement, the last one first.
    fn inner(&self, stmt: &'a Stmt) -> Vec<Block> {
        let keyword = |kind, body: &'a [Stmt]| self.syntax.keyword_before(kind, body);
        let body = |body: &'a [Stmt]| self.block(None, body, false);
        match stmt {
            Stmt::FunctionDef(function) => vec![body(&function.body)],
            Stmt::ClassDef(class) => vec![body(&class.body)],
            Stmt::With(with) => vec![body(&with.body)],
            Stmt::For(each) => vec![
                self.clause(keyword(TokenKind::Else, &each.orelse), &each.orelse),
                body(&each.body),
            ],
            Stmt::While(each) => vec![
                self.clause(keyword(TokenKind::Else, &each.orelse), &each.orelse),
                body(&each.body),
            ],
            Stmt::If(choice) => {
                let clauses = choice.elif_else_clauses.iter().rev();
                let clauses = clauses.map(|one| self.clause(Some(one.start()), &one.body));
                clauses.chain([body(&choice.body)]).collect()
            }
            Stmt::Match(choice) => {
                let cases = choice.cases.iter().rev();
                cases.map(|case| self.clause(Some(case.start()), &case.body)).collect()
            }
            Stmt::Try(attempt) => {
                let handlers = attempt.handlers.iter().rev();
                let handlers = handlers.filter_map(|handler| handler.as_except_handler());
                let handlers = handlers.map(|one| self.clause(Some(one.start()), &one.body));
                let ends = [
                    self.clause(
                        keyword(TokenKind::Finally, &attempt.finalbody),
                        &attempt.finalbody,
                    ),
                    self.clause(keyword(TokenKind::Else, &attempt.orelse), &attempt.orelse),
                ];
                ends.into_iter().chain(handlers).chain([body(&attempt.body)]).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn kind(stmt: &Stmt) -> NodeKind {
    match stmt {
        Stmt::FunctionDef(function) => NodeKind::Function(function.name.to_string()),
        Stmt::ClassDef(class) => NodeKind::Class(class.name.to_string()),
        Stmt::Import(import) => {
            let bound = import.names.iter().map(|alias| match &alias.asname {
                Some(name) => name.to_string(),
                None => alias.name.split('.').next().unwrap_or_default().to_owned(),
            });
            NodeKind::Import(bound.collect())
        }
        Stmt::ImportFrom(import) if import.module.as_deref() != Some("__future__") => {
            let bound =
                import.names.iter().map(|alias| alias.asname.as_ref().unwrap_or(&alias.name));
            NodeKind::Import(bound.map(ToString::to_string).collect())
        }
        Stmt::Global(_) | Stmt::Nonlocal(_) => NodeKind::Declaration,
        _ => NodeKind::Other,
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
        let whole = |line: &GistLine, _: Option<&str>| match &line.origin {
            LineOrigin::Source(place) => text
                .lines()
                .nth(place.line as usize - 1)
                .is_some_and(|line| line.ends_with("# need whole")),
            LineOrigin::Glue(_) => false,
        };
        let search = |mut reduction: Reduction<'_>| {
            let mut asked = 0;
            while let Some(proposal) = reduction.propose() {
                asked += 1;
                assert_eq!(proposal.text.lines().count(), proposal.lines.len());
                if needed(&proposal.text) == all
                    && proposal.text.contains("whole") == text.contains("whole")
                {
                    reduction.accept();
                } else {
                    reduction.reject();
                }
            }
            assert_eq!(reduction.gist().text, expected);
            asked
        };
        // A trace in which all lines were executed changes the order alone.
        search(Reduction::new(gist(text), &whole).with_executed(&|_| true));
        search(Reduction::new(gist(text), &whole))
    }

    /// Returns what each proposal removes while all of them are refused.
    fn removals(text: &str, mut reduction: Reduction<'_>) -> Vec<String> {
        let mut removals = Vec::new();
        while let Some(proposal) = reduction.propose() {
            let stays: BTreeSet<&str> = proposal.text.lines().collect();
            let removed: Vec<&str> =
                text.lines().filter(|line| !stays.contains(line)).map(str::trim).collect();
            removals.push(removed.join("; "));
            reduction.reject();
        }
        removals
    }

    #[test]
    fn what_an_executed_line_reads_is_tried_last() {
        let text = "a = f()\nb = g(a)\nlog(b)\nc = 1\nprint(a, c)\n";
        let whole = |_: &GistLine, _: Option<&str>| false;
        let traced = || Reduction::new(gist(text), &whole).with_executed(&|_| true);
        let likely =
            ["a = f(); b = g(a); log(b); c = 1; print(a, c)", "c = 1; print(a, c)", "log(b)"];
        let removed = removals(text, traced().without_unlikely());
        assert!(likely.iter().all(|one| removed.iter().any(|other| one == other)), "{removed:?}");
        assert!(!removed.iter().any(|one| one == "a = f()" || one == "c = 1"), "{removed:?}");
        let removed = removals(text, traced());
        assert!(
            removed.ends_with(&["c = 1".to_owned(), "b = g(a)".to_owned(), "a = f()".to_owned()]),
            "{removed:?}"
        );
    }

    #[test]
    fn definitions_that_nothing_mentions_go_before_those_that_were_called() {
        let text = "def f():\n    return 1\n\n\ndef g():\n    return 2\n\n\nprint(3)\n";
        let whole = |_: &GistLine, _: Option<&str>| false;
        let ran = |line: usize| line != 1;
        let removed = removals(text, Reduction::new(gist(text), &whole).with_executed(&ran));
        assert_eq!(removed[..2], ["def f():; return 1", "def g():; return 2"]);
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
    fn bodies_go_at_once_and_then_what_nobody_mentions() {
        let lines: String = (0..64).map(|at| format!("    g({at})\n")).collect();
        let text = format!(
            "import os\n\n\ndef g(x):\n    return os.sep\n\n\ndef f():  # need\n{lines}\n\nf()  # need\n"
        );
        // The statement of the file, the body of the longest function, and what only that mentioned; the rest are single
        // statements.
        let asked = check(&text, "def f():  # need\n    pass\n\n\nf()  # need\n");
        assert!(asked < 10, "{asked}");
    }

    #[test]
    fn definitions_that_only_mention_each_other_go_at_once() {
        let text = "import os\n\n\nclass C:  # need\n    def even(self, n):\n        return n == 0 or self.odd(n - 1)\n\n    def odd(self, n):\n        return os.sep and self.even(n - 1)\n\n    def run(self):  # need\n        pass\n\n\nC().run()  # need\n";
        let mut reduction = Reduction::new(gist(text), &|_, _| false);
        let proposal = reduction.propose_unmentioned().map(|gist| gist.text);
        let expected =
            "class C:  # need\n\n    def run(self):  # need\n        pass\n\n\nC().run()  # need\n";
        assert_eq!(proposal.as_deref(), Some(expected));
    }

    #[test]
    fn functions_and_statements_that_were_not_executed_are_tried_together() {
        let text = "def f():  # ran\n    global a\n    a = 1  # ran\n    if a:  # ran\n        b = 2\n    else:\n        c = 3  # ran\n    return a  # ran\n\n\ndef g():  # ran\n    return 4\n\n\nclass C:  # ran\n    def h(self):  # ran\n        pass\n\n    d = 5  # ran\n\n\nif f:  # ran\n    e = 6\n";
        let ran: Vec<bool> = text.lines().map(|line| line.ends_with("# ran")).collect();
        let first = gist(text);
        let mut reduction = Reduction::new(first, &|_, _| false).with_executed(&|line| ran[line]);
        let mut proposals = Vec::new();
        while let Some(proposal) = reduction.propose() {
            proposals.push(proposal.text);
            reduction.reject();
        }
        let removed = |proposal: &String| -> Vec<&str> {
            let stays: BTreeSet<&str> = proposal.lines().collect();
            text.lines().filter(|line| !stays.contains(line)).collect()
        };
        let removed: Vec<_> = proposals.iter().map(removed).collect();
        let functions =
            ["def g():  # ran", "    return 4", "    def h(self):  # ran", "        pass"];
        let place = |lines: &[&str]| removed.iter().position(|one| one == lines);
        let together = place(&functions);
        assert!(together.is_some() && together < place(&functions[..2]), "{removed:#?}");
        // The first block of `if a` would need a `pass`, which is no shorter; no group has the declaration.
        assert!(place(&["if f:  # ran", "    e = 6"]).is_some(), "{removed:#?}");
        assert!(place(&["    global a"]).is_some(), "{removed:#?}");
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
        // The three, two of them, and each by itself; then the search is over.
        assert_eq!(
            check(
                "a = 1  # need\nb = 2  # need\nc = 3  # need\n",
                "a = 1  # need\nb = 2  # need\nc = 3  # need\n"
            ),
            5
        );
    }
}
