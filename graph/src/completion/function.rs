//! The functions of a repository's modules, each with all that a completion task shows and needs.
//!
//! Every function of a top level is extracted; one that makes no task says why ([`Unfit`]). Methods and nested
//! functions are parts of their class or function.

use std::path::Path;

use ruff_python_ast::{
    Expr, Stmt, StmtFunctionDef,
    name::Name,
    visitor::{Visitor, walk_stmt},
};
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    context::{
        ContextSize, ContextTexts, context_texts, dedented, docstring, import_text, interface,
    },
    dependency_set::{Dependency, dependency_set},
    library::{Library, modules_of, read_modules},
    names::parameters_of,
};
use crate::{
    graph::BuildOptions,
    module::{Module, ModuleId, Modules},
    scope,
    source::Source,
    syntax::{Syntax, with_deep_stack},
    walk::SkippedFile,
};

/// The options for extracting functions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtractionOptions {
    /// The files to read, and the options for reading them.
    pub build: BuildOptions,
    /// The depth of dependency sets; 1 for the names in the function itself.
    pub depth: u32,
    /// Words that a docstring needs to say what a function does. The paper asks for comprehensive docstrings without
    /// a bound; its shortest ones have four words.
    pub docstring_words: usize,
}

impl Default for ExtractionOptions {
    fn default() -> Self {
        Self { build: BuildOptions::default(), depth: 1, docstring_words: 4 }
    }
}

/// The functions of a repository.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extraction {
    /// All functions, by path and line.
    pub functions: Vec<CompletionFunction>,
    /// Files that were left out, and why.
    pub skipped: Vec<SkippedFile>,
}

/// A function of a module's top level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompletionFunction {
    /// Path of its file, relative to the repository.
    pub path: String,
    /// Dotted name of its module.
    pub module: String,
    /// Its name.
    pub name: String,
    /// First line, decorators included.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// Its first byte in the file's text, decorators included; a byte order mark is no part of the text.
    pub start: u32,
    /// One past its last byte.
    pub end: u32,
    /// Blanks before it on its line, where it stands in a block.
    pub indent: String,
    /// Its name and parameters on one line: `f(x, y=1) -> int`.
    pub signature: String,
    /// Names of its parameters.
    pub parameters: Vec<String>,
    /// Its docstring without indentation; empty without one.
    pub docstring: String,
    /// Decorators, signature and docstring: what a model continues.
    pub prompt: String,
    /// The whole function.
    pub solution: String,
    /// The repository's definitions that it needs.
    pub dependencies: Vec<Dependency>,
    /// Names that imports bring from outside the repository, or modules, and that it uses.
    pub imported: Vec<String>,
    /// The imports of its file and its dependencies as texts.
    pub context: ContextTexts,
    /// Why it makes no task; nothing where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfit: Option<Unfit>,
}

impl CompletionFunction {
    /// Returns true if a dependency lies in another file.
    pub fn is_cross_file(&self) -> bool {
        self.dependencies.iter().any(|dependency| dependency.cross_file)
    }

    /// The solution behind its prompt.
    pub fn body(&self) -> &str {
        self.solution.strip_prefix(self.prompt.as_str()).unwrap_or(&self.solution)
    }

    /// The lines of its file at which statements of its body begin, sorted: what a tracer of this one function can
    /// see. Its docstring, nested definitions' bodies and statements that compile to nothing have none.
    pub fn executable_lines(&self) -> Vec<u32> {
        with_deep_stack(|| {
            let syntax = Syntax::parse(Source::new("solution", self.solution.as_str()));
            let mut lines = Vec::new();
            if let Some(Stmt::FunctionDef(def)) = syntax.body().first() {
                let body = &def.body[docstring(&def.body).iter().count()..];
                body.iter().for_each(|stmt| add_lines(&syntax, stmt, &mut lines));
            }
            lines.sort_unstable();
            lines.dedup();
            lines.into_iter().map(|line| line + self.line - 1).collect()
        })
    }
}

fn add_lines(syntax: &Syntax, stmt: &Stmt, lines: &mut Vec<u32>) {
    let is_silent =
        matches!(stmt, Stmt::Global(_) | Stmt::Nonlocal(_) | Stmt::Pass(_) | Stmt::Try(_))
            || stmt.as_ann_assign_stmt().is_some_and(|node| node.value.is_none());
    if !is_silent {
        lines.push(syntax.source().line(stmt.start()));
    }
    scope::for_each_block(stmt, |block| {
        block.iter().for_each(|inner| add_lines(syntax, inner, lines));
    });
}

/// Why a function makes no task (RepoExec, section 4.1).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Unfit {
    /// It stands in a test module or test support.
    Test,
    /// Its file has syntax errors.
    Broken,
    /// It has no docstring, or too short a one.
    NoDocstring,
    /// It is where a program starts: `main`, a command, what runs under `__main__`.
    EntryPoint,
    /// It returns and yields nothing, so that no assertion can look at its result.
    NoOutput,
    /// Nothing but its docstring, `pass`, `...` or `raise NotImplementedError`.
    Stub,
    /// A later definition of the same name takes its place.
    Shadowed,
}

impl Unfit {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Test,
        Self::Broken,
        Self::NoDocstring,
        Self::EntryPoint,
        Self::NoOutput,
        Self::Stub,
        Self::Shadowed,
    ];

    /// A phrase for tables.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Test => "in a test module",
            Self::Broken => "file with syntax errors",
            Self::NoDocstring => "no docstring that says enough",
            Self::EntryPoint => "entry point",
            Self::NoOutput => "returns nothing",
            Self::Stub => "stub",
            Self::Shadowed => "defined again",
        }
    }
}

/// Extracts all functions of a repository with their dependency sets and contexts.
///
/// Nothing here fails: what cannot be read is in [`Extraction::skipped`].
pub fn extract_functions(root: &Path, options: &ExtractionOptions) -> Extraction {
    with_deep_stack(|| {
        let (modules, skipped) = read_modules(root, &options.build);
        Extraction { functions: extract(&modules, options), skipped }
    })
}

/// The same of sources at hand: relative paths and texts.
pub fn extract_of_sources<'a>(
    sources: impl IntoIterator<Item = (&'a str, &'a str)>,
    options: &ExtractionOptions,
) -> Extraction {
    let sources: Vec<_> = sources.into_iter().map(|(path, text)| Source::new(path, text)).collect();
    with_deep_stack(|| {
        let modules = modules_of(sources, &[], crate::pythons::Pythons::SUPPORTED);
        Extraction { functions: extract(&modules, options), skipped: Vec::new() }
    })
}

fn extract(modules: &Modules, options: &ExtractionOptions) -> Vec<CompletionFunction> {
    let library = Library::new(modules);
    let mut functions = Vec::new();
    for (id, module) in modules.iter() {
        let imports = import_text(module);
        let around = Around::of(module);
        scope::for_each_statement(module.syntax.body(), &mut |stmt| {
            if let Stmt::FunctionDef(function) = stmt {
                let made = completion_function(&library, id, stmt, function, &imports, options);
                let unfit = around.unfit(stmt, function, &made, options);
                functions.push(CompletionFunction { unfit, ..made });
            }
        });
    }
    functions
}

fn completion_function(
    library: &Library<'_>,
    id: ModuleId,
    stmt: &Stmt,
    function: &StmtFunctionDef,
    imports: &str,
    options: &ExtractionOptions,
) -> CompletionFunction {
    let module = library.modules.get(id);
    let source = module.syntax.source();
    let set = dependency_set(library, id, &function.name.id, stmt, options.depth.max(1));
    let (line, end_line) = source.line_span(stmt.range());
    let before = &source.text()[source.line_start(line).to_usize()..stmt.start().to_usize()];
    let doc = docstring(&function.body).and_then(|stmt| stmt.as_expr_stmt());
    let doc = doc.and_then(|expr| expr.value.as_string_literal_expr());
    CompletionFunction {
        path: module.path().to_owned(),
        module: module.name.clone(),
        name: function.name.to_string(),
        line,
        end_line,
        start: stmt.start().to_u32(),
        end: stmt.end().to_u32(),
        indent: before.to_owned(),
        signature: signature(module, stmt, function),
        parameters: parameters_of(&function.parameters).map(|name| name.to_string()).collect(),
        docstring: doc.map(|text| clean(text.value.to_str())).unwrap_or_default(),
        prompt: dedented(
            &module.syntax,
            interface(&module.syntax, stmt, function, ContextSize::Medium),
        ),
        solution: dedented(&module.syntax, stmt.range()),
        context: context_texts(library, imports, &set),
        dependencies: set.members.into_iter().map(|member| member.dependency).collect(),
        imported: set.imported,
        unfit: None,
    }
}

/// Name, parameters and result on one line, without `def` and the colon.
fn signature(module: &Module, stmt: &Stmt, function: &StmtFunctionDef) -> String {
    let header = module.syntax.header(stmt.start(), &function.body);
    let text = module.syntax.source().text();
    let text = &text[function.name.start().to_usize()..header.end().to_usize()];
    let text = text.trim_end().trim_end_matches(':');
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace("( ", "(").replace(" )", ")").replace(",)", ")")
}

/// A docstring as `inspect.cleandoc` shows it.
fn clean(text: &str) -> String {
    let text = text.replace('\t', "        ");
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let rest = lines.iter().skip(1).filter(|line| !line.trim().is_empty());
    let margin = rest.map(indent).min().unwrap_or(0);
    let mut cleaned: Vec<&str> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        cleaned.push(match at {
            0 => line.trim_start(),
            _ => line.get(margin..).unwrap_or("").trim_end(),
        });
    }
    let text = cleaned.join("\n");
    text.trim_matches('\n').trim_end().to_owned()
}

/// The properties of a module that decide for all its functions if they can be tasks.
struct Around {
    is_test: bool,
    is_broken: bool,
    /// Names that code under `if __name__ == "__main__":` calls.
    started: FxHashSet<Name>,
    /// The last definition of each name.
    last: FxHashSet<u32>,
}

impl Around {
    fn of(module: &Module) -> Self {
        let mut started = FxHashSet::default();
        let mut last = rustc_hash::FxHashMap::default();
        for stmt in module.syntax.body() {
            if let Stmt::If(branch) = stmt
                && names_main(&branch.test)
            {
                let mut names = Called::default();
                branch.body.iter().for_each(|stmt| names.visit_stmt(stmt));
                started.extend(names.found);
            }
        }
        scope::for_each_statement(module.syntax.body(), &mut |stmt| {
            if let Stmt::FunctionDef(function) = stmt {
                last.insert(function.name.id.clone(), stmt.start().to_u32());
            }
        });
        Self {
            is_test: is_test_path(module.path()),
            is_broken: !module.syntax.errors().is_empty(),
            started,
            last: last.into_values().collect(),
        }
    }

    fn unfit(
        &self,
        stmt: &Stmt,
        function: &StmtFunctionDef,
        made: &CompletionFunction,
        options: &ExtractionOptions,
    ) -> Option<Unfit> {
        let words = made.docstring.split_whitespace().count();
        let checks = [
            (self.is_test, Unfit::Test),
            (self.is_broken, Unfit::Broken),
            (!self.last.contains(&stmt.start().to_u32()), Unfit::Shadowed),
            (words < options.docstring_words.max(1), Unfit::NoDocstring),
            (self.started.contains(&function.name.id) || is_command(function), Unfit::EntryPoint),
            (is_stub(&function.body), Unfit::Stub),
            (!has_output(&function.body), Unfit::NoOutput),
        ];
        checks.into_iter().find(|(holds, _)| *holds).map(|(_, unfit)| unfit)
    }
}

/// Returns true if a path is a test's, or test support's, by the names that pytest and projects give them.
fn is_test_path(path: &str) -> bool {
    let (directories, file) = path.rsplit_once('/').unwrap_or(("", path));
    let directory = |name: &str| matches!(name, "test" | "tests" | "testing");
    let stem = file.trim_end_matches(".py");
    directories.split('/').any(directory)
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || matches!(stem, "conftest" | "tests" | "setup" | "noxfile")
}

fn names_main(test: &Expr) -> bool {
    let Expr::Compare(compare) = test else { return false };
    let is_name = |expr: &Expr| matches!(expr, Expr::Name(name) if name.id == "__name__");
    is_name(&compare.left) || compare.comparators.iter().any(is_name)
}

/// Returns true if a function is `main` or a decorator makes it a command.
fn is_command(function: &StmtFunctionDef) -> bool {
    matches!(function.name.as_str(), "main" | "_main" | "__main__")
        || function.decorator_list.iter().any(|decorator| {
            last_name(&decorator.expression).is_some_and(|name| matches!(name, "command" | "group"))
        })
}

/// The last name of an expression, or of what it calls.
fn last_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Call(call) => last_name(&call.func),
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => Some(&attribute.attr),
        _ => None,
    }
}

/// Returns true if a body does nothing, or only says that it is to be overridden.
fn is_stub(body: &[Stmt]) -> bool {
    let rest = &body[docstring(body).iter().count()..];
    rest.iter().all(|stmt| match stmt {
        Stmt::Pass(_) => true,
        Stmt::Expr(expr) => expr.value.is_ellipsis_literal_expr(),
        Stmt::Raise(raise) => {
            raise.exc.as_deref().and_then(last_name) == Some("NotImplementedError")
        }
        _ => false,
    })
}

/// Returns true if a body returns a value or yields, nested functions aside.
fn has_output(body: &[Stmt]) -> bool {
    let mut found = false;
    scope::for_each_statement(body, &mut |stmt| {
        if let Stmt::Return(node) = stmt {
            found |= node.value.as_deref().is_some_and(|value| !value.is_none_literal_expr());
        }
        let mut yields = Yields::default();
        match stmt {
            Stmt::Expr(node) => yields.visit_expr(&node.value),
            Stmt::Assign(node) => yields.visit_expr(&node.value),
            Stmt::AugAssign(node) => yields.visit_expr(&node.value),
            _ => {}
        }
        found |= yields.found;
    });
    found
}

#[derive(Default)]
struct Yields {
    found: bool,
}

impl<'a> Visitor<'a> for Yields {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Yield(_) | Expr::YieldFrom(_) => self.found = true,
            Expr::Lambda(_) => {}
            _ => ruff_python_ast::visitor::walk_expr(self, expr),
        }
    }
}

/// The names of what is called.
#[derive(Default)]
struct Called {
    found: FxHashSet<Name>,
}

impl<'a> Visitor<'a> for Called {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr
            && let Expr::Name(name) = call.func.as_ref()
        {
            self.found.insert(name.id.clone());
        }
        ruff_python_ast::visitor::walk_expr(self, expr);
    }
}
