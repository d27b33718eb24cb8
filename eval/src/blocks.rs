//! Python source as the scorers count it: blocks, and their lines normalised by syntax tree.
//!
//! A block is a function, a class or the top level, named by its place in the hierarchy
//! (`Class.method`, `outer.inner`, the empty string for the top level). A line is a statement or a
//! compound statement's header; its key is a hash of the syntax tree, so comments, layout, quotes and
//! redundant parentheses do not count (Gistify, arXiv 2510.26790, A.1). Nothing here compares two
//! files or runs anything; broken source gives the lines that could be read, and its errors.

mod reader;
#[cfg(test)]
mod tests;

use ruff_python_parser::{Mode, ParseError, ParseOptions, parse_unchecked};
use ruff_source_file::LineIndex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::reader::{BlockPlace, BlockScope, Reader};
use crate::key::Key;

/// Statements with more tokens than this that can nest are compared by their tokens, because code that
/// recurses over their tree could exhaust any stack.
const NESTING: usize = 20_000;

/// Longest text kept of a line, in characters; it is shown, never compared.
const SHOWN: usize = 160;

/// One line of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Qualified name of the block it belongs to; empty for the top level.
    pub block: String,
    /// The line that heads the suite it stands in, and which suite of that.
    pub parent: Option<(usize, StatementSuite)>,
    /// Identity of its normalised form.
    pub key: Key,
    /// The role of the line.
    pub role: Role,
    /// The class of the line: it decides if the line counts for the line execution rate.
    pub class: Class,
    /// 1-based physical line on which it starts (for a decorated definition that of `def` or `class`).
    pub first: u32,
    /// Last physical line of the statement or of the header.
    pub last: u32,
    /// Physical lines, from the first decorator to the end of the body, whose execution proves that
    /// this line was executed.
    pub reach: (u32, u32),
    /// Byte range of the statement or header (of a definition from its name on).
    pub range: (usize, usize),
    /// Names that it binds where it stands.
    pub binds: Vec<String>,
    /// True if the line only gives another name to something: `A = B`, `m = sys.modules[...]`.
    pub alias: bool,
    /// Assignments by `:=` in it.
    pub assignments: u32,
    /// Its text on one line, shortened, to be shown.
    pub text: String,
}

impl Line {
    /// Returns the whole statement or header, comments included, in the text that it was read from.
    pub fn statement<'a>(&self, text: &'a str) -> &'a str {
        &text[self.range.0..self.range.1]
    }
}

/// A suite of a statement. That of an `elif` is in the `otherwise` of the clause before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatementSuite {
    /// The body after the header.
    Body,
    /// The handlers of a `try`.
    Handlers,
    /// `else`.
    Otherwise,
    /// `finally`.
    Finally,
}

/// The role of a line in its statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A simple statement.
    Simple,
    /// One imported name of an import statement.
    Import,
    /// A decorator.
    Decorator,
    /// The header of a function or class.
    Definition,
    /// `if`.
    If,
    /// `elif`.
    Elif,
    /// `except` and its type.
    Except,
    /// Any other header: `for`, `while`, `with`, `try`, `match`, `case`.
    Header,
}

/// Part that a line plays in the line execution rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Counted.
    Executable,
    /// Excluded, because it may or may not run: handlers and placeholders.
    Potential,
    /// Never executed by itself: `global`, `nonlocal`, a bare annotation in a function, a decorator
    /// (its definition stands for it).
    Inert,
}

/// All lines of a file, in source order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// The lines.
    pub lines: Vec<Line>,
    /// Docstrings and other strings that stand as statements; they are no [`lines`](Self::lines).
    pub texts: Vec<Line>,
    /// Qualified names of the functions, with whether each is defined more than once.
    pub functions: Vec<String>,
    /// Syntax errors; none for valid source.
    pub errors: Vec<SyntaxFault>,
    /// Number of physical lines.
    pub physical: u32,
}

/// A syntax error of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyntaxFault {
    /// 1-based line.
    pub line: u32,
    /// 1-based column, in characters.
    pub column: u32,
    /// The message of the parser.
    pub message: String,
}

impl Outline {
    /// Returns true if a block of the same name has an equal line here.
    pub fn has(&self, line: &Line) -> bool {
        self.lines.iter().any(|own| own.block == line.block && own.key == line.key)
    }

    /// Reads a file's text. Runs on a stack of its own, so that no nesting can exhaust it.
    pub fn of(text: &str) -> Self {
        graph::with_deep_stack(|| Self::of_shallow(text))
    }

    /// Reads a file's text on the caller's stack, which must come from [`graph::with_deep_stack`].
    pub fn of_shallow(text: &str) -> Self {
        let parsed = parse_unchecked(text, ParseOptions::from(Mode::Module));
        let index = LineIndex::from_source_text(text);
        let Some(parsed) = parsed.try_into_module() else { return Self::default() };
        let fault = |error: &ParseError| {
            let place = index.line_column(error.location.start(), text);
            SyntaxFault {
                line: number(place.line.get()),
                column: number(place.column.get()),
                message: error.error.to_string(),
            }
        };
        let errors = graph::syntax_errors(&parsed).map(fault).collect();
        let mut reader = Reader {
            text,
            index: &index,
            tokens: parsed.tokens(),
            outline: Self { errors, physical: physical(text), ..Self::default() },
        };
        let place = BlockPlace {
            block: "",
            parent: None,
            scope: BlockScope::Module,
            class: Class::Executable,
        };
        reader.body(parsed.suite(), place);
        reader.outline
    }
}

/// A text on one line, runs of white space folded, shortened for display.
pub(crate) fn folded(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        if out.len() > SHOWN * 4 {
            break;
        }
    }
    match out.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &out[..at]),
        None => out,
    }
}

fn physical(text: &str) -> u32 {
    number(text.lines().count())
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
