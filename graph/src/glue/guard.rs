//! The line in the place of statements that did not run, and may run elsewhere.

/// The line in the place of statements that a file does not have.
///
/// ```
/// let guard = gistify_graph::Guard { path: "pkg/mod.py".to_owned(), first: 12, last: 30 };
/// let text = "raise NotImplementedError(\"left out by gistify: pkg/mod.py:12-30\")";
/// assert_eq!(guard.render(), text);
/// assert_eq!(gistify_graph::Guard::parse(text), Some(guard));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guard {
    /// The file of the statements.
    pub path: String,
    /// Their first line.
    pub first: u32,
    /// Their last line.
    pub last: u32,
}

const OPENING: &str = "raise NotImplementedError(\"";
const SAID: &str = "left out by gistify: ";

impl Guard {
    /// The line, without its indentation.
    pub fn render(&self) -> String {
        let Self { path, first, last } = self;
        match first == last {
            true => format!("{OPENING}{SAID}{path}:{first}\")"),
            false => format!("{OPENING}{SAID}{path}:{first}-{last}\")"),
        }
    }

    /// Reads such a line; nothing where it is none.
    pub fn parse(line: &str) -> Option<Self> {
        Self::parse_message(line.trim().strip_prefix(OPENING)?.strip_suffix("\")")?)
    }

    /// Reads what such a line says when it runs; nothing where it is no guard's message.
    pub fn parse_message(message: &str) -> Option<Self> {
        let (path, span) = message.strip_prefix(SAID)?.rsplit_once(':')?;
        let (first, last) = span.split_once('-').unwrap_or((span, span));
        Some(Self { path: path.to_owned(), first: first.parse().ok()?, last: last.parse().ok()? })
    }
}
