//! Parses files with execution marks, and builds the observations of a tracer.

use std::collections::{BTreeMap, BTreeSet};

use gistify_graph::{FileTrace, Fixture, FunctionTrace, ModuleLine, Source, Syntax, TracePhase};
use ruff_python_ast::{
    Decorator, Expr, Stmt,
    statement_visitor::{StatementVisitor, walk_stmt},
};
use ruff_text_size::{Ranged, TextRange};

#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark {
    import: bool,
    test: bool,
    raised: bool,
    threaded: bool,
}

/// A file, its text without the marks.
pub struct Marked {
    pub path: String,
    pub text: String,
    pub syntax: Syntax,
    /// By line, from 0.
    marks: Vec<Mark>,
}

/// Returns the module code on the clock of the run, by file. `order` lists the files in order of
/// execution; imports come before the remaining lines of their importer.
pub fn module_lines(
    files: &[Marked],
    names: &[String],
    order: Vec<usize>,
) -> BTreeMap<usize, Vec<ModuleLine>> {
    let mut clock = Clock { files, names, lines: BTreeMap::new(), now: 0 };
    order.into_iter().for_each(|at| clock.run(at));
    clock.lines
}

impl Marked {
    pub fn parse(path: &str, body: &str) -> Self {
        let mut marks = Vec::new();
        let mut text = String::new();
        for line in body.lines() {
            let threaded = line.starts_with('&');
            let (import, test, raised) = match line.chars().next() {
                Some('+') => (true, false, false),
                Some('*' | '&') => (false, true, false),
                Some('!') => (false, true, true),
                Some('=') => (true, true, false),
                Some('-' | ' ') | None => (false, false, false),
                Some(other) => panic!("{path}: unknown mark {other}"),
            };
            marks.push(Mark { import, test, raised, threaded });
            text.push_str(line.get(1..).unwrap_or_default());
            text.push('\n');
        }
        let syntax = Syntax::parse(Source::new(path, &text));
        Self { path: path.to_owned(), text, marks, syntax }
    }

    fn line_range(&self, range: TextRange) -> std::ops::RangeInclusive<u32> {
        let (first, last) = self.syntax.source().line_span(range);
        first..=last
    }

    fn marked(&self, lines: impl Iterator<Item = u32>) -> Mark {
        let marks: Vec<Mark> = lines.map(|line| self.marks[line as usize - 1]).collect();
        Mark {
            import: marks.iter().any(|mark| mark.import),
            test: marks.iter().any(|mark| mark.test),
            raised: marks.iter().any(|mark| mark.raised),
            threaded: marks.iter().any(|mark| mark.threaded),
        }
    }

    /// Returns true if a line of a gist equals this line, or is a part of it, apart from its
    /// indentation.
    pub fn matches_line(&self, line: u32, text: &str) -> bool {
        let text = text.trim();
        let original = self.text.lines().nth(line as usize - 1).unwrap_or_default().trim();
        if original == text {
            return true;
        }
        let words = |text: &str| -> BTreeSet<String> {
            text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect()
        };
        let whole =
            self.syntax.body().iter().find(|stmt| self.line_range(stmt.range()).contains(&line));
        let whole = whole.map_or("", |stmt| self.syntax.source().slice(stmt));
        let eager = text.strip_prefix("lazy ").unwrap_or(text);
        if eager.starts_with("import ") || eager.starts_with("from ") {
            // Combined imports are split, and relative ones made absolute.
            let package = self.path.trim_end_matches(".py").replace('/', ".");
            return words(text).is_subset(&words(&format!("{whole} {package}")));
        }
        // Several statements share the line.
        original.contains(text)
            && (original.contains(';') || original.contains(':') || original.starts_with("el"))
    }

    pub fn traced(&self, name: &str, mut module_lines: Vec<ModuleLine>) -> FileTrace {
        module_lines.sort_by_key(|line| line.line);
        let lines = |wanted: fn(&Mark) -> bool| -> Vec<u32> {
            (1..).zip(&self.marks).filter(|(_, mark)| wanted(mark)).map(|(line, _)| line).collect()
        };
        let mut functions = Functions::default();
        functions.visit_body(self.syntax.body());
        let functions = functions.found.iter().filter_map(|function| self.entered(function));
        FileTrace {
            path: self.path.clone(),
            modules: vec![name.to_owned()],
            phase: TracePhase::Import,
            importer: None,
            import_lines: lines(|mark| mark.import),
            test_lines: lines(|mark| mark.test),
            functions: functions.collect(),
            module_lines,
            evaluated: Vec::new(),
            branches: Vec::new(),
            raised: lines(|mark| mark.raised),
            ended: Vec::new(),
        }
    }

    fn entered(&self, stmt: &Stmt) -> Option<FunctionTrace> {
        let Stmt::FunctionDef(function) = stmt else { return None };
        let mut inner = Functions::default();
        inner.visit_body(&function.body);
        let bodies: BTreeSet<u32> = inner
            .found
            .iter()
            .filter_map(|stmt| stmt.as_function_def_stmt())
            .flat_map(|inner| inner.body.iter().flat_map(|stmt| self.line_range(stmt.range())))
            .collect();
        let source = self.syntax.source();
        let header = source.line(function.name.start());
        let body = function.body.iter().flat_map(|stmt| self.line_range(stmt.range()));
        let mut mark = self.marked(body.filter(|line| !bodies.contains(line)));
        if source.line(function.body[0].start()) == header {
            mark.import = false;
        }
        (mark.import || mark.test).then(|| FunctionTrace {
            line: source.line(stmt.start()),
            name: function.name.to_string(),
            import: mark.import,
            test: mark.test,
            threaded: mark.threaded,
            order: 0,
        })
    }

    /// Entered functions that a decorator makes fixtures.
    pub fn fixtures(&self) -> Vec<Fixture> {
        let mut functions = Functions::default();
        functions.visit_body(self.syntax.body());
        let fixture = |stmt: &&Stmt| {
            let entered = self.entered(stmt)?;
            let function = stmt.as_function_def_stmt()?;
            function.decorator_list.iter().any(is_fixture).then(|| Fixture {
                name: entered.name,
                path: self.path.clone(),
                line: entered.line,
            })
        };
        functions.found.iter().filter_map(fixture).collect()
    }

    /// Dotted names that executed imports load, relative ones excluded.
    pub fn imported(&self) -> BTreeSet<String> {
        let mut imports = Imports::default();
        imports.visit_body(self.syntax.body());
        let mut modules = BTreeSet::new();
        for (stmt, name) in imports.found {
            let mark = self.marked(self.line_range(stmt.range()));
            if mark.import || mark.test {
                modules.extend(prefixes(&name).map(str::to_owned));
            }
        }
        modules
    }
}

/// Runs the module code of a program in the order of its imports.
struct Clock<'c> {
    files: &'c [Marked],
    names: &'c [String],
    /// Events by the index of the file.
    lines: BTreeMap<usize, Vec<ModuleLine>>,
    now: u64,
}

impl Clock<'_> {
    fn run(&mut self, at: usize) {
        if self.lines.contains_key(&at) {
            return;
        }
        self.lines.insert(at, Vec::new());
        let file = &self.files[at];
        ModuleCode { clock: self, file, at }.visit_body(file.syntax.body());
        self.tick(at);
    }

    /// The next event of a module: its last line ends.
    fn tick(&mut self, at: usize) {
        self.now += 1;
        if let Some(last) = self.lines.get_mut(&at).and_then(|lines| lines.last_mut()) {
            last.end = self.now;
        }
    }

    fn import(&mut self, name: &str) {
        for prefix in prefixes(name) {
            if let Some(at) = self.names.iter().position(|name| name == prefix) {
                self.run(at);
            }
        }
    }
}

struct ModuleCode<'m, 'c> {
    clock: &'m mut Clock<'c>,
    file: &'m Marked,
    at: usize,
}

impl<'a> StatementVisitor<'a> for ModuleCode<'_, '_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        let mark = self.file.marked(self.file.line_range(stmt.range()));
        if !(mark.import || mark.test) {
            return;
        }
        self.clock.tick(self.at);
        let line = self.file.syntax.source().line(stmt.start());
        let event = ModuleLine { line, start: self.clock.now, end: self.clock.now };
        self.clock.lines.entry(self.at).or_default().push(event);
        let name = &self.clock.names[self.at];
        match stmt {
            Stmt::FunctionDef(_) => {}
            Stmt::Import(import) if import.is_lazy => {}
            Stmt::ImportFrom(import) if import.is_lazy => {}
            Stmt::Import(import) => {
                import.names.iter().for_each(|alias| self.clock.import(&alias.name));
            }
            Stmt::ImportFrom(import) => {
                let mut parts: Vec<&str> = name.split('.').collect();
                let package = self.file.path.ends_with("__init__.py");
                let climb = (import.level as usize).saturating_sub(usize::from(package));
                parts.truncate(if import.level == 0 { 0 } else { parts.len() - climb });
                parts.extend(import.module.as_deref());
                let from = parts.join(".");
                self.clock.import(&from);
                for alias in &import.names {
                    self.clock.import(&format!("{from}.{}", alias.name));
                }
            }
            _ => walk_stmt(self, stmt),
        }
    }
}

#[derive(Default)]
struct Functions<'a> {
    found: Vec<&'a Stmt>,
}

impl<'a> StatementVisitor<'a> for Functions<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        if stmt.is_function_def_stmt() {
            self.found.push(stmt);
        }
        walk_stmt(self, stmt);
    }
}

#[derive(Default)]
struct Imports<'a> {
    found: Vec<(&'a Stmt, String)>,
}

impl<'a> StatementVisitor<'a> for Imports<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => {
                self.found.extend(import.names.iter().map(|alias| (stmt, alias.name.to_string())));
            }
            Stmt::ImportFrom(import) if import.level == 0 => {
                self.found.extend(import.module.iter().map(|name| (stmt, name.to_string())));
            }
            _ => walk_stmt(self, stmt),
        }
    }
}

fn is_fixture(decorator: &Decorator) -> bool {
    let callee = match &decorator.expression {
        Expr::Call(call) => call.func.as_ref(),
        other => other,
    };
    match callee {
        Expr::Name(name) => &name.id == "fixture",
        Expr::Attribute(attribute) => &attribute.attr == "fixture",
        _ => false,
    }
}

/// `a`, `a.b`, `a.b.c`.
fn prefixes(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices('.').map(|(at, _)| &name[..at]).chain([name])
}
