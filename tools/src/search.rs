//! Searches a repository for texts, regular expressions, definitions and syntax.
//!
//! Reads the files of the graph in the order of their paths, or one other text file that is named in full.
//! Executes nothing, and reads nothing outside the repository.

use graph::{Document, EntityKind, Graph, OutlineError, Texts, numbered};
use regex::RegexBuilder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    session::Session,
    tool::{Group, Problem, Reply, Tool, ToolError, arguments, schema},
    view::{inside, plain},
};

/// The interpretation of a pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchKind {
    /// A text, in any case.
    #[default]
    Keyword,
    /// A regular expression.
    Regex,
    /// A part of a definition's name, in any case.
    Symbol,
    /// A tree-sitter query.
    Query,
}

/// A place that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// Relative path.
    pub path: String,
    /// 1-based line.
    pub line: u32,
    /// The line's text, or what is defined there.
    pub text: String,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Searched {
    /// All hits that there are; with a query, those that were seen in time.
    pub found: usize,
    /// Hits that are not listed.
    pub left_out: usize,
    /// Files that a query took too long for; some of their hits may be missing.
    pub unread: usize,
    /// The first hits.
    pub hits: Vec<Hit>,
}

/// Why a search could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The pattern is no regular expression.
    #[error("parse pattern: {0}")]
    Pattern(#[from] regex::Error),
    /// The pattern is no query.
    #[error(transparent)]
    Query(#[from] OutlineError),
    /// No file to search in has such a path.
    #[error(
        "not found: no Python file has a path that begins with {0} (in other text files, `keyword` and `regex` search where `under` is the whole path of one)"
    )]
    Under(String),
    /// The file that is named cannot be searched.
    #[error("{0}")]
    Unreadable(String),
}

/// Bytes of a line that are shown.
const SHOWN: usize = 200;
/// Size of a compiled expression at most, in bytes.
const COMPILED: usize = 4 << 20;

/// Searches the files of a graph below a path.
///
/// # Errors
/// The pattern is none of its kind.
pub fn search(
    graph: &Graph,
    texts: &Texts,
    kind: SearchKind,
    pattern: &str,
    under: &str,
    limit: usize,
) -> Result<Searched, SearchError> {
    let mut searched = Searched { found: 0, left_out: 0, unread: 0, hits: Vec::new() };
    let (mut unread, mut unlisted) = (0, 0);
    let mut add = |path: &str, line: u32, text: &str| {
        searched.found += 1;
        if searched.hits.len() < limit {
            let text = cut(text.trim_end());
            searched.hits.push(Hit { path: path.to_owned(), line, text: text.to_owned() });
        }
    };
    let mut files = graph.modules.iter().filter(|module| module.path.starts_with(under)).peekable();
    let is_of_lines = matches!(kind, SearchKind::Keyword | SearchKind::Regex);
    let other = match files.peek() {
        None if !under.is_empty() => Some(other_text(texts, under, is_of_lines)?),
        _ => None,
    };
    match kind {
        SearchKind::Keyword | SearchKind::Regex => {
            let pattern = match kind {
                SearchKind::Keyword => regex::escape(pattern),
                _ => pattern.to_owned(),
            };
            let expression = RegexBuilder::new(&pattern)
                .case_insensitive(kind == SearchKind::Keyword)
                .size_limit(COMPILED)
                .build()?;
            let mut look = |path: &str, text: &str| {
                for (line, text) in numbered(text).filter(|(_, text)| expression.is_match(text)) {
                    add(path, line, text);
                }
            };
            files.for_each(|module| look(&module.path, &texts.of(&module.path)));
            other.iter().for_each(|text| look(under, text));
        }
        SearchKind::Symbol => {
            let wanted = pattern.to_lowercase();
            for id in graph.ids() {
                let entity = graph.entity(id);
                let module = graph.module(entity.module);
                let defined = matches!(entity.kind, EntityKind::Class | EntityKind::Function);
                if defined
                    && module.path.starts_with(under)
                    && entity.name.to_lowercase().contains(&wanted)
                {
                    add(&module.path, entity.keyword_line, &graph.qualified(id));
                }
            }
        }
        SearchKind::Query => {
            // A query that is none is an error even where there are no files.
            Document::new("")?.query(pattern, 1)?;
            for module in files {
                let asked = Document::new(texts.of(&module.path)).and_then(|document| {
                    let found = document.query(pattern, limit)?;
                    Ok((document, found))
                });
                let (document, captures) = match asked {
                    Ok(asked) => asked,
                    Err(OutlineError::TooLong(_)) => {
                        unread += 1;
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                };
                unread += usize::from(!captures.complete);
                unlisted += captures.count - captures.first.len();
                for capture in captures.first {
                    let text = &document.text()[capture.bytes.clone()];
                    let text = text.lines().next().unwrap_or("");
                    add(&module.path, capture.line, &format!("@{} {text}", capture.name));
                }
            }
        }
    }
    searched.unread = unread;
    searched.found += unlisted;
    searched.left_out = searched.found - searched.hits.len();
    Ok(searched)
}

/// The text of a file that is no module, where lines are looked for.
fn other_text(texts: &Texts, path: &str, is_of_lines: bool) -> Result<String, SearchError> {
    let file = inside(texts.root(), path).filter(|_| is_of_lines && !texts.is_apart(path));
    let file = file.filter(|file| file.metadata().is_ok_and(|there| there.is_file()));
    let file = file.ok_or_else(|| SearchError::Under(path.to_owned()))?;
    plain(file, path).map_err(SearchError::Unreadable)
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(SHOWN);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Finds things in the repository.
#[derive(Debug, Default)]
pub struct SearchTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    pattern: String,
    #[serde(default)]
    kind: SearchKind,
    #[serde(default)]
    under: String,
    limit: Option<usize>,
}

impl Tool for SearchTool {
    fn name(&self) -> &'static str {
        "search"
    }

    fn group(&self) -> Group {
        Group::Search
    }

    fn schema(&self) -> Value {
        schema::<Arguments>()
    }

    fn call(&self, given: Value, session: &mut Session) -> Result<Reply, ToolError> {
        let asked: Arguments = arguments(given)?;
        let graph = session.graph();
        let texts = session.repository.texts();
        let limit = asked.limit.unwrap_or(50).min(500);
        let under = match asked.under.trim_start_matches("./") {
            "." => "",
            under => under,
        };
        let found =
            search(&graph, &texts, asked.kind, &asked.pattern, under, limit).map_err(|error| {
                match error {
                    SearchError::Under(_) => Problem::NotFound.because(error),
                    error => Problem::BadArguments.because(error),
                }
            })?;
        Reply::of(&found)
    }
}

#[cfg(test)]
mod tests {
    use graph::WalkOptions;

    use super::*;

    fn searched(kind: SearchKind, pattern: &str, limit: usize) -> Result<Searched, SearchError> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a.py"), "class Alpha:\n    def run(self): pass\n")
            .unwrap();
        std::fs::write(directory.path().join("b.py"), "import a\n\na.Alpha().run()\n").unwrap();
        std::fs::write(directory.path().join("c.py"), "x(1)\n".repeat(5)).unwrap();
        let graph = Graph::build(directory.path(), &graph::BuildOptions::default());
        let texts = Texts::new(directory.path(), WalkOptions::default());
        search(&graph, &texts, kind, pattern, "", limit)
    }

    #[test]
    fn one_other_text_file_is_searched_and_the_rest_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("docs")).unwrap();
        for (path, text) in [
            ("a.py", "x = 1\n"),
            ("README.md", "Some\nwords\n"),
            ("docs/b.md", ""),
            ("c.bin", "\0"),
        ] {
            std::fs::write(directory.path().join(path), text).unwrap();
        }
        let graph = Graph::build(directory.path(), &graph::BuildOptions::default());
        let texts = Texts::new(directory.path(), WalkOptions::default());
        let check = |kind, under: &str, expected: &str| {
            let shown = match search(&graph, &texts, kind, "w", under, 9) {
                Ok(found) => {
                    format!("{:?}", found.hits.iter().map(|hit| hit.line).collect::<Vec<_>>())
                }
                Err(error) => error.to_string(),
            };
            assert!(shown.starts_with(expected), "{under}: {shown}");
        };
        check(SearchKind::Keyword, "README.md", "[2]");
        check(SearchKind::Keyword, "a", "[]");
        let refused =
            |under: &str| format!("not found: no Python file has a path that begins with {under} ");
        for under in ["docs", "READ", "../README.md"] {
            check(SearchKind::Keyword, under, &refused(under));
        }
        check(SearchKind::Symbol, "README.md", &refused("README.md"));
        check(SearchKind::Keyword, "c.bin", "c.bin is not text");
    }

    fn check(kind: SearchKind, pattern: &str, expected: &[&str]) {
        let lines = match searched(kind, pattern, 2) {
            Ok(found) => found
                .hits
                .iter()
                .map(|hit| format!("{}:{} {}", hit.path, hit.line, hit.text))
                .collect(),
            Err(error) => vec![error.to_string().lines().next().unwrap_or("").to_owned()],
        };
        assert_eq!(lines, expected);
    }

    #[test]
    fn all_hits_are_counted_whatever_is_listed() {
        for (kind, pattern, count) in [
            (SearchKind::Query, "(call) @c", 7),
            (SearchKind::Regex, "[(]", 7),
            (SearchKind::Symbol, "a", 1),
        ] {
            for limit in [0, 1, 3, 6, 100] {
                let found = searched(kind, pattern, limit).unwrap();
                let listed = count.min(limit);
                let counts = (found.found, found.left_out, found.hits.len());
                assert_eq!(counts, (count, count - listed, listed), "{pattern} {limit}");
            }
        }
    }

    #[test]
    fn each_kind_finds_its_own() {
        check(SearchKind::Keyword, "ALPHA", &["a.py:1 class Alpha:", "b.py:3 a.Alpha().run()"]);
        check(SearchKind::Regex, r"run\(\)", &["b.py:3 a.Alpha().run()"]);
        check(SearchKind::Symbol, "ru", &["a.py:2 a.Alpha.run"]);
        check(
            SearchKind::Query,
            "(call) @c",
            &["b.py:3 @c a.Alpha().run()", "b.py:3 @c a.Alpha()"],
        );
        check(SearchKind::Regex, "(", &["parse pattern: regex parse error:"]);
    }
}
