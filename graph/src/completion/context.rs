//! The text that shows a function's dependencies to a model, in three sizes (RepoExec, section 5.1).
//!
//! Full has whole definitions, medium their signatures and docstrings, small their signatures alone; imports and
//! variables stand whole in all three. Everything is cut from the sources by byte range.

use ruff_python_ast::{Stmt, StmtClassDef, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange, TextSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{dependency_set::DependencySet, library::Library};
use crate::{module::Module, scope, source::Source, syntax::Syntax};

/// The extent to which a context shows each dependency.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ContextSize {
    /// Whole definitions.
    Full,
    /// Signatures and docstrings.
    Medium,
    /// Signatures.
    Small,
}

impl ContextSize {
    /// All of them, the largest first.
    pub const ALL: [Self; 3] = [Self::Full, Self::Medium, Self::Small];

    /// Its name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Medium => "medium",
            Self::Small => "small",
        }
    }
}

/// The context of one function in each size: the imports of its file, then its dependencies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextTexts {
    /// Whole definitions.
    pub full: String,
    /// Signatures and docstrings.
    pub medium: String,
    /// Signatures.
    pub small: String,
}

impl ContextTexts {
    /// The text of a size.
    pub fn of(&self, size: ContextSize) -> &str {
        match size {
            ContextSize::Full => &self.full,
            ContextSize::Medium => &self.medium,
            ContextSize::Small => &self.small,
        }
    }
}

/// The contexts of a function of a module, by its dependency set.
pub(super) fn context_texts(
    library: &Library<'_>,
    imports: &str,
    set: &DependencySet,
) -> ContextTexts {
    let text = |size| {
        let definitions = set.members.iter().filter_map(|member| {
            let definition = library.definition(&member.home)?;
            let syntax = &library.modules.get(member.home.module).syntax;
            let texts =
                definition.statements.iter().map(|stmt| definition_text(syntax, stmt, size));
            Some(texts.collect::<Vec<_>>().join("\n"))
        });
        let parts = std::iter::once(imports.to_owned()).chain(definitions);
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    };
    ContextTexts {
        full: text(ContextSize::Full),
        medium: text(ContextSize::Medium),
        small: text(ContextSize::Small),
    }
}

/// The imports of a module's top level, one after the other.
///
/// A `try` or `if` around imports is kept whole where it defines nothing else; of any other, each import by itself.
pub(super) fn import_text(module: &Module) -> String {
    let mut parts = Vec::new();
    for stmt in module.syntax.body() {
        imports_of(&module.syntax, stmt, &mut parts);
    }
    parts.join("\n")
}

fn imports_of(syntax: &Syntax, stmt: &Stmt, parts: &mut Vec<String>) {
    match stmt {
        Stmt::Import(_) | Stmt::ImportFrom(_) => parts.push(dedented(syntax, stmt.range())),
        Stmt::If(_) | Stmt::Try(_) => {
            let (mut imports, mut others) = (0, 0);
            scope::for_each_statement(std::slice::from_ref(stmt), &mut |inner| match inner {
                Stmt::Import(_) | Stmt::ImportFrom(_) => imports += 1,
                Stmt::FunctionDef(_) | Stmt::ClassDef(_) => others += 1,
                _ => {}
            });
            if imports > 0 && others == 0 {
                parts.push(dedented(syntax, stmt.range()));
            } else {
                scope::for_each_block(stmt, |block| {
                    block.iter().for_each(|inner| imports_of(syntax, inner, parts));
                });
            }
        }
        _ => {}
    }
}

/// A definition as a context of a size shows it, without the indentation of its place.
pub(super) fn definition_text(syntax: &Syntax, stmt: &Stmt, size: ContextSize) -> String {
    match (stmt, size) {
        (Stmt::FunctionDef(function), ContextSize::Medium | ContextSize::Small) => {
            dedented(syntax, interface(syntax, stmt, function, size))
        }
        (Stmt::ClassDef(class), ContextSize::Medium | ContextSize::Small) => {
            let mut ranges = vec![class_head(syntax, stmt, class, size)];
            members(syntax, &class.body, size, &mut ranges);
            let indent = indentation(syntax, stmt.start());
            let mut text = dedented(syntax, ranges[0]);
            for range in &ranges[1..] {
                // Inner definitions keep their depth below the class.
                let own = indentation(syntax, range.start());
                text += "\n\n";
                text += own.strip_prefix(indent).unwrap_or(own);
                text += &shift_lines(syntax.source().slice(*range), indent, "");
            }
            text
        }
        (_, _) => dedented(syntax, stmt.range()),
    }
}

/// A function up to the end of its docstring, or of its signature.
pub(super) fn interface(
    syntax: &Syntax,
    stmt: &Stmt,
    function: &StmtFunctionDef,
    size: ContextSize,
) -> TextRange {
    head(syntax, stmt, &function.body, size)
}

fn class_head(syntax: &Syntax, stmt: &Stmt, class: &StmtClassDef, size: ContextSize) -> TextRange {
    head(syntax, stmt, &class.body, size)
}

fn head(syntax: &Syntax, stmt: &Stmt, body: &[Stmt], size: ContextSize) -> TextRange {
    let header = syntax.header(stmt.start(), body);
    match docstring(body) {
        Some(doc) if size != ContextSize::Small => TextRange::new(stmt.start(), doc.end()),
        _ => header,
    }
}

fn members(syntax: &Syntax, body: &[Stmt], size: ContextSize, ranges: &mut Vec<TextRange>) {
    scope::for_each_statement(body, &mut |stmt| match stmt {
        Stmt::FunctionDef(function) => ranges.push(interface(syntax, stmt, function, size)),
        Stmt::ClassDef(class) => {
            ranges.push(class_head(syntax, stmt, class, size));
            members(syntax, &class.body, size, ranges);
        }
        _ => {}
    });
}

/// The docstring with which a body begins.
pub(super) fn docstring(body: &[Stmt]) -> Option<&Stmt> {
    let is_text =
        |stmt: &&Stmt| stmt.as_expr_stmt().is_some_and(|expr| expr.value.is_string_literal_expr());
    body.first().filter(is_text)
}

/// The text of a range without the indentation of the line that it begins on.
pub(super) fn dedented(syntax: &Syntax, range: TextRange) -> String {
    shift_lines(syntax.source().slice(range), indentation(syntax, range.start()), "")
}

/// Returns a text with another indentation: lines that begin with `from` begin with `to`, but for the first line and
/// those that begin within a string.
pub fn shift_lines(text: &str, from: &str, to: &str) -> String {
    if from == to {
        return text.to_owned();
    }
    let syntax = Syntax::parse(Source::new("text", text));
    let within = syntax.lines_in_strings(TextRange::up_to(TextSize::of(text)));
    let mut shifted = String::with_capacity(text.len());
    for (number, line) in (1_u32..).zip(text.split('\n')) {
        if number > 1 {
            shifted.push('\n');
        }
        match line
            .strip_prefix(from)
            .filter(|_| number > 1 && within.binary_search(&number).is_err())
        {
            Some("") if !to.is_empty() => {}
            Some(rest) => shifted.extend([to, rest]),
            None => shifted.push_str(line),
        }
    }
    shifted
}

/// The blanks before a place, if nothing else stands before it on its line.
fn indentation(syntax: &Syntax, at: TextSize) -> &str {
    let text = syntax.source().text();
    let start = text[..at.to_usize()].rfind('\n').map_or(0, |newline| newline + 1);
    let before = &text[start..at.to_usize()];
    if before.trim().is_empty() { before } else { "" }
}
