//! Puts back what a gist lost because it did not run here, and may run elsewhere: with another terminal, platform or
//! package. Where that would take more of the repository, a guard says what is missing.
//!
//! It looks at the ends of blocks alone: the end of a function, an `else`, what follows an import in a `try`. There a
//! statement that is missing changes what a function returns, or leaves a name without a value.

use std::collections::BTreeMap;

use ruff_python_ast::{
    ExceptHandler, Expr, Stmt,
    name::Name,
    visitor::{Visitor, walk_expr, walk_stmt},
};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashSet;

use super::{
    parse,
    splice::{joined, lines_with_origins},
    statements,
};
use crate::{
    glue::Guard,
    pythons::Pythons,
    scope,
    slice::{Gist, GistLine, LineOrigin, Place},
    source::Source,
    syntax::{Syntax, with_deep_stack},
};

/// Statements that may come back at one place.
const MOST: usize = 5;

/// The gist with the ends of blocks that did not run. `source` gives the text of a file of the repository, `ran` says
/// if the command executed a line.
///
/// ```python
/// def load():                           # def load():
///     if os.path.isfile(PATH):          #     if os.path.isfile(PATH):
///         return read(PATH)             #         return read(PATH)
///                                       #     raise RuntimeError("no table")
/// ```
pub fn completed(
    gist: &Gist,
    source: &(dyn Fn(&str) -> Option<String> + Sync),
    ran: &(dyn Fn(&str, u32) -> bool + Sync),
) -> Gist {
    with_deep_stack(|| {
        let syntax = parse(gist);
        let mut work = Work { gist, syntax: &syntax, source, ran, known: BTreeMap::new() };
        let mut sites: Vec<Site> = Vec::new();
        for stmt in statements(&syntax) {
            sites.extend(work.sites(stmt));
        }
        // From the last line on, and of those that end together the inner ones first.
        sites.sort_by_key(|site| std::cmp::Reverse((site.at, std::cmp::Reverse(site.depth))));
        let mut all = lines_with_origins(gist);
        for site in sites {
            all.splice(site.at..site.at, site.lines);
        }
        joined(all)
    })
}

/// Lines to put into a gist, before the line of this number (from 0).
struct Site {
    at: usize,
    depth: usize,
    lines: Vec<(String, GistLine)>,
}

struct Work<'a> {
    gist: &'a Gist,
    syntax: &'a Syntax,
    source: &'a (dyn Fn(&str) -> Option<String> + Sync),
    ran: &'a (dyn Fn(&str, u32) -> bool + Sync),
    /// Files of the repository that were parsed.
    known: BTreeMap<String, Option<std::rc::Rc<Syntax>>>,
}

impl Work<'_> {
    fn original(&mut self, path: &str) -> Option<std::rc::Rc<Syntax>> {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let read = (self.source)(path).map(|text| Syntax::parse(Source::new(path, text)));
        let read = read.map(std::rc::Rc::new);
        self.known.insert(path.to_owned(), read.clone());
        read
    }

    /// The line, from 0, of an offset of the gist.
    fn line(&self, at: TextSize) -> usize {
        self.syntax.source().line(at) as usize - 1
    }

    fn place(&self, line: usize) -> Option<&Place> {
        match &self.gist.lines.get(line)?.origin {
            LineOrigin::Source(place) => Some(place),
            LineOrigin::Glue(_) => None,
        }
    }

    fn sites(&mut self, stmt: &Stmt) -> Vec<Site> {
        if !matches!(stmt, Stmt::FunctionDef(_) | Stmt::Try(_) | Stmt::If(_)) {
            return Vec::new();
        }
        let key = key(stmt);
        let Some(place) = self.place(self.line(key)).cloned() else { return Vec::new() };
        let Some(original) = self.original(&place.path) else { return Vec::new() };
        let whole = statement_at(original.body(), original.source(), place.line, stmt);
        let Some(whole) = whole else { return Vec::new() };
        let lost = Lost { path: &place.path, syntax: &original };
        match (stmt, whole) {
            (Stmt::FunctionDef(one), Stmt::FunctionDef(whole)) => {
                let inside = one.body.first().unwrap_or(stmt);
                let around = self.surrounding(inside);
                self.end(&lost, &one.body, &whole.body, &around, true).into_iter().collect()
            }
            (Stmt::Try(one), Stmt::Try(whole)) => {
                let is_narrow = |handler: &ExceptHandler| {
                    let ExceptHandler::ExceptHandler(handler) = handler;
                    handler.type_.as_deref().is_some_and(|kind| !is_broad(kind))
                };
                let guarded = one.handlers.iter().all(is_narrow);
                let around = self.surrounding(stmt);
                self.end(&lost, &one.body, &whole.body, &around, guarded).into_iter().collect()
            }
            (Stmt::If(one), Stmt::If(whole)) => {
                let Some(last) = whole.elif_else_clauses.last() else { return Vec::new() };
                let has_else = one.elif_else_clauses.iter().any(|clause| clause.test.is_none());
                let cut: Vec<&Stmt> = last.body.iter().collect();
                if last.test.is_some() || has_else || !self.is_cut(&lost, &cut) {
                    return Vec::new();
                }
                let is_only = one.elif_else_clauses.len() + 1 == whole.elif_else_clauses.len();
                let around = self.surrounding(stmt);
                let start = self.line(stmt.start());
                let Some(outer) = self.indent(start) else { return Vec::new() };
                let inner = format!("{outer}    ");
                let back = if is_only { self.restored(&lost, &cut, &inner, &around) } else { None };
                let keyword = original.source().line(last.start());
                let origin = LineOrigin::Source(Place { path: place.path.clone(), line: keyword });
                let mut found =
                    vec![(format!("{outer}else:"), GistLine { origin, adapted: false })];
                found.extend(back.unwrap_or_else(|| vec![guard(&lost, &cut, &inner)]));
                vec![Site { at: self.line(stmt.end()) + 1, depth: outer.len(), lines: found }]
            }
            _ => Vec::new(),
        }
    }

    /// The end of a block that was cut.
    fn end(
        &self,
        lost: &Lost<'_>,
        body: &[Stmt],
        whole: &[Stmt],
        around: &Surrounding,
        guarded: bool,
    ) -> Option<Site> {
        let last = body.last()?;
        if matches!(last, Stmt::Return(_) | Stmt::Raise(_) | Stmt::Continue(_) | Stmt::Break(_)) {
            return None;
        }
        let first =
            (0..whole.len()).rev().take_while(|at| self.is_cut(lost, &[&whole[*at]])).last()?;
        // A function of which nothing is left is a stub that nobody calls.
        if first == 0 {
            return None;
        }
        let cut: Vec<&Stmt> = whole[first..].iter().collect();
        let indent = self.indent(self.line(last.start()))?;
        let back = self.restored(lost, &cut, indent, around);
        let lines = match back {
            Some(lines) => lines,
            None if guarded => vec![guard(lost, &cut, indent)],
            None => return None,
        };
        Some(Site { at: self.line(last.end()) + 1, depth: indent.len(), lines })
    }

    /// Returns true if none of these statements of a file of the repository ran, and the gist has nothing of them.
    fn is_cut(&self, lost: &Lost<'_>, stmts: &[&Stmt]) -> bool {
        let (first, last) = lost.span(stmts);
        let is_kept = self.gist.lines.iter().any(|line| match &line.origin {
            LineOrigin::Source(place) => {
                place.path == lost.path && (first..=last).contains(&place.line)
            }
            LineOrigin::Glue(_) => false,
        });
        !is_kept && !(first..=last).any(|line| (self.ran)(lost.path, line))
    }

    /// The lines of statements that the gist can have back as they are, since it has all that they name.
    fn restored(
        &self,
        lost: &Lost<'_>,
        stmts: &[&Stmt],
        indent: &str,
        around: &Surrounding,
    ) -> Option<Vec<(String, GistLine)>> {
        if stmts.len() > MOST || stmts.iter().any(|stmt| !is_simple(stmt)) {
            return None;
        }
        let mut known = around.names.clone();
        known.extend(scope::bound(self.syntax.body()).local);
        if let Some(receiver) = &around.receiver {
            let defined = DefinedAttributes::of(self.syntax);
            let asked = stmts.iter().flat_map(|stmt| asked_of(stmt, receiver));
            if !asked.into_iter().all(|name| defined.contains(&name)) {
                return None;
            }
        }
        for stmt in stmts {
            let asked = LoadedNames::of(stmt);
            let is_known =
                |name: &Name| known.contains(name) || Pythons::SUPPORTED.has_builtin(name);
            if !asked.iter().all(is_known) {
                return None;
            }
            known.extend(scope::bound(std::slice::from_ref(*stmt)).local);
        }
        let source = lost.syntax.source();
        let (first, last) = lost.span(stmts);
        let begin = source.line_start(first).to_usize();
        let own = &source.text()[begin..stmts.first()?.start().to_usize()];
        if !own.trim().is_empty() {
            return None;
        }
        let whole = ruff_text_size::TextRange::new(stmts.first()?.start(), stmts.last()?.end());
        if !lost.syntax.lines_in_strings(whole).is_empty() {
            return None;
        }
        let texts = source.text().lines().enumerate();
        let texts = texts.skip(first as usize - 1).take((last - first) as usize + 1);
        let found = texts.map(|(at, text)| {
            let text = text.strip_prefix(own).unwrap_or(text.trim_start());
            let line = u32::try_from(at + 1).unwrap_or(u32::MAX);
            let origin = LineOrigin::Source(Place { path: lost.path.to_owned(), line });
            let text = if text.is_empty() { String::new() } else { format!("{indent}{text}") };
            (text, GistLine { origin, adapted: false })
        });
        Some(found.collect())
    }

    /// Names that the functions around a statement bind, and the object of the method that it is in.
    fn surrounding(&self, stmt: &Stmt) -> Surrounding {
        let mut around = Vec::new();
        add_enclosing(self.syntax.body(), stmt.range(), &mut around);
        let mut names = FxHashSet::default();
        for one in around.iter().filter_map(|stmt| stmt.as_function_def_stmt()) {
            names.extend(one.parameters.iter().map(|one| one.name().id.clone()));
            names.extend(scope::bound(&one.body).local);
        }
        let pairs = around.iter().zip(around.iter().skip(1));
        let method = pairs.rev().find_map(|(outer, inner)| match outer {
            Stmt::ClassDef(_) => inner.as_function_def_stmt(),
            _ => None,
        });
        let receiver = method.and_then(|one| Some(one.parameters.iter().next()?.name().id.clone()));
        Surrounding { names, receiver }
    }

    /// The blanks before a line of the gist.
    fn indent(&self, line: usize) -> Option<&str> {
        let text = self.gist.text.lines().nth(line)?;
        Some(&text[..text.len() - text.trim_start().len()])
    }
}

/// The names of a place in a gist.
struct Surrounding {
    /// Local names.
    names: FxHashSet<Name>,
    /// The first parameter of the method around it.
    receiver: Option<Name>,
}

/// The attributes that a gist gives to objects: names of class bodies, and targets of assignments.
struct DefinedAttributes(FxHashSet<Name>);

impl DefinedAttributes {
    fn of(syntax: &Syntax) -> FxHashSet<Name> {
        let mut defined = Self(FxHashSet::default());
        syntax.body().iter().for_each(|stmt| defined.visit_stmt(stmt));
        defined.0
    }
}

impl<'a> Visitor<'a> for DefinedAttributes {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if let Stmt::ClassDef(class) = stmt {
            self.0.extend(scope::bound(&class.body).local);
        }
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Attribute(attribute) = expr
            && attribute.ctx.is_store()
        {
            self.0.insert(attribute.attr.id.clone());
        }
        walk_expr(self, expr);
    }
}

/// The attributes that a statement reads of an object: `fallback` of `return self.fallback(word)`.
fn asked_of(stmt: &Stmt, receiver: &Name) -> Vec<Name> {
    struct Finder<'a>(&'a Name, Vec<Name>);
    impl<'v> Visitor<'v> for Finder<'_> {
        fn visit_expr(&mut self, expr: &'v Expr) {
            if let Expr::Attribute(attribute) = expr
                && attribute.ctx.is_load()
                && attribute.value.as_name_expr().is_some_and(|name| &name.id == self.0)
            {
                self.1.push(attribute.attr.id.clone());
            }
            walk_expr(self, expr);
        }
    }
    let mut finder = Finder(receiver, Vec::new());
    finder.visit_stmt(stmt);
    finder.1
}

/// A file of the repository of which a gist lost something.
struct Lost<'a> {
    path: &'a str,
    syntax: &'a Syntax,
}

impl Lost<'_> {
    /// First and last line of statements in a row.
    fn span(&self, stmts: &[&Stmt]) -> (u32, u32) {
        let source = self.syntax.source();
        let first = stmts.first().map_or(0, |stmt| source.line(stmt.start()));
        let last = stmts.last().map_or(first, |stmt| source.line_span(stmt.range()).1);
        (first, last)
    }
}

fn guard(lost: &Lost<'_>, stmts: &[&Stmt], indent: &str) -> (String, GistLine) {
    let (first, last) = lost.span(stmts);
    let guard = Guard { path: lost.path.to_owned(), first, last };
    let origin = LineOrigin::Glue("statements that did not run are left out".to_owned());
    (format!("{indent}{}", guard.render()), GistLine { origin, adapted: false })
}

/// Adds the statements of a body that contain a range, the outermost first.
fn add_enclosing<'a>(body: &'a [Stmt], range: TextRange, around: &mut Vec<&'a Stmt>) {
    let after = body.partition_point(|stmt| stmt.start() <= range.start());
    let last = body[..after].last();
    let Some(stmt) = last.filter(|stmt| stmt.range().contains_range(range)) else { return };
    around.push(stmt);
    match stmt {
        Stmt::FunctionDef(function) => add_enclosing(&function.body, range, around),
        Stmt::ClassDef(class) => add_enclosing(&class.body, range, around),
        _ => scope::for_each_block(stmt, |block| add_enclosing(block, range, around)),
    }
}

/// Returns the statement at a line, in a body or in the blocks of its statements, that is of the same kind as `like`.
fn statement_at<'a>(body: &'a [Stmt], source: &Source, line: u32, like: &Stmt) -> Option<&'a Stmt> {
    let after = body.partition_point(|stmt| source.line(stmt.start()) <= line);
    let stmt = body[..after].last()?;
    let is_alike = std::mem::discriminant(stmt) == std::mem::discriminant(like);
    if is_alike && source.line(key(stmt)) == line {
        return Some(stmt);
    }
    let mut found = None;
    let mut look = |block: &'a [Stmt]| {
        found = found.or_else(|| statement_at(block, source, line, like));
    };
    match stmt {
        Stmt::FunctionDef(function) => look(&function.body),
        Stmt::ClassDef(class) => look(&class.body),
        _ => scope::for_each_block(stmt, look),
    }
    found
}

/// Returns the start of a statement after its decorators; for a function the start of its name.
fn key(stmt: &Stmt) -> TextSize {
    match stmt {
        Stmt::FunctionDef(function) => function.name.start(),
        stmt => stmt.start(),
    }
}

fn is_simple(stmt: &Stmt) -> bool {
    matches!(
        stmt,
        Stmt::Return(_)
            | Stmt::Raise(_)
            | Stmt::Assign(_)
            | Stmt::AugAssign(_)
            | Stmt::Expr(_)
            | Stmt::Assert(_)
            | Stmt::Pass(_)
    )
}

/// Returns true if a handler for this type catches guards as well.
fn is_broad(kind: &Expr) -> bool {
    match kind {
        Expr::Name(name) => {
            matches!(
                name.id.as_str(),
                "Exception" | "BaseException" | "RuntimeError" | "NotImplementedError"
            )
        }
        Expr::Tuple(kinds) => kinds.elts.iter().any(is_broad),
        _ => false,
    }
}

/// Names that a statement reads.
struct LoadedNames(Vec<Name>);

impl LoadedNames {
    fn of(stmt: &Stmt) -> Vec<Name> {
        let mut asked = Self(Vec::new());
        asked.visit_stmt(stmt);
        // What it binds itself, in a comprehension or a lambda, is none of the file's.
        let mut bound = Self(Vec::new());
        bound.bind(stmt);
        asked.0.retain(|name| !bound.0.contains(name));
        asked.0
    }

    fn bind(&mut self, stmt: &Stmt) {
        struct Binder<'a>(&'a mut Vec<Name>);
        impl<'v> Visitor<'v> for Binder<'_> {
            fn visit_comprehension(&mut self, each: &'v ruff_python_ast::Comprehension) {
                let mut names = FxHashSet::default();
                scope::target_names(&each.target, &mut names);
                self.0.extend(names);
                ruff_python_ast::visitor::walk_comprehension(self, each);
            }

            fn visit_expr(&mut self, expr: &'v Expr) {
                if let Expr::Lambda(lambda) = expr
                    && let Some(parameters) = &lambda.parameters
                {
                    self.0.extend(parameters.iter().map(|one| one.name().id.clone()));
                }
                walk_expr(self, expr);
            }
        }
        Binder(&mut self.0).visit_stmt(stmt);
    }
}

impl<'a> Visitor<'a> for LoadedNames {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Name(name) = expr
            && name.ctx.is_load()
        {
            self.0.push(name.id.clone());
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::tests::shown;

    /// Completes a gist of these lines (from 1) of a file of which these ran.
    #[track_caller]
    fn check(file: &str, kept: &[u32], ran: &[u32], expected: &str) {
        let texts: Vec<&str> = file.lines().collect();
        let all = kept.iter().map(|line| {
            let origin = LineOrigin::Source(Place { path: "m.py".to_owned(), line: *line });
            (texts[*line as usize - 1].to_owned(), GistLine { origin, adapted: false })
        });
        let found = completed(
            &joined(all),
            &|path| (path == "m.py").then(|| file.to_owned()),
            &|_, line| ran.contains(&line),
        );
        assert_eq!(shown(&found), expected);
    }

    #[test]
    fn the_end_of_a_function_comes_back_where_the_gist_has_its_names() {
        let file = "import os\ndef load(path):\n    if os.path.isfile(path):\n        return 1\n    size = len(path)\n    raise RuntimeError(f'none at {path}', [x for x in path], size)\n";
        check(
            file,
            &[1, 2, 3, 4],
            &[1, 2, 3, 4],
            "1|import os\n2|def load(path):\n3|    if os.path.isfile(path):\n4|        return 1\n5|    size = len(path)\n6|    raise RuntimeError(f'none at {path}', [x for x in path], size)\n",
        );
        let file = "def load(path):\n    if path:\n        return 1\n    for one in path:\n        other(one)\n    return other(path)\n";
        check(
            file,
            &[1, 2, 3],
            &[1, 2, 3],
            "1|def load(path):\n2|    if path:\n3|        return 1\n+|    raise NotImplementedError(\"left out by gistify: m.py:4-6\")\n",
        );
        // What ran and was left out was needless.
        check(
            file,
            &[1, 2, 3],
            &[1, 2, 3, 4],
            "1|def load(path):\n2|    if path:\n3|        return 1\n+|    raise NotImplementedError(\"left out by gistify: m.py:6\")\n",
        );
        check(
            file,
            &[1, 2, 3],
            &[1, 2, 3, 6],
            "1|def load(path):\n2|    if path:\n3|        return 1\n",
        );
    }

    #[test]
    fn a_method_comes_back_where_the_gist_defines_its_attributes() {
        let file = "class A:\n    size = 1\n    def f(self, a):\n        if a:\n            return 1\n        return self.size\n    def g(self, a):\n        if a:\n            return 1\n        return self.h(self.size)\n    def h(self, a):\n        return a\n";
        check(
            file,
            &[1, 2, 3, 4, 5, 7, 8, 9],
            &[1, 2, 3, 4, 5, 7, 8, 9, 11],
            "1|class A:\n2|    size = 1\n3|    def f(self, a):\n4|        if a:\n5|            return 1\n6|        return self.size\n7|    def g(self, a):\n8|        if a:\n9|            return 1\n+|        raise NotImplementedError(\"left out by gistify: m.py:10\")\n",
        );
    }

    #[test]
    fn an_else_comes_back_inside_the_end_of_its_function() {
        let file = "def f(a):\n    if a:\n        if a > 1:\n            b = 1\n        else:\n            b = 2\n    elif c():\n        b = 3\n    else:\n        b = 4\n    return b\n";
        check(
            file,
            &[1, 2, 3, 4, 11],
            &[1, 2, 3, 4, 11],
            "1|def f(a):\n2|    if a:\n3|        if a > 1:\n4|            b = 1\n5|        else:\n6|            b = 2\n9|    else:\n+|        raise NotImplementedError(\"left out by gistify: m.py:10\")\n11|    return b\n",
        );
    }

    #[test]
    fn what_follows_an_import_that_failed_comes_back() {
        let file = "try:\n    import fast\n    kinds = (int, fast.int)\nexcept ImportError:\n    kinds = (int,)\n";
        check(
            file,
            &[1, 2, 4, 5],
            &[1, 2, 4, 5],
            "1|try:\n2|    import fast\n3|    kinds = (int, fast.int)\n4|except ImportError:\n5|    kinds = (int,)\n",
        );
    }
}
