//! Recognises what gistify wrote into a repository earlier: gists, repros, and directories of records. None of it belongs
//! to the repository.
//!
//! A gist ends with a comment, so that its lines keep their numbers; a repro begins with its head. A directory is
//! recognised by the file that its command writes first.

use std::{
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use graph::{Source, Syntax};

use crate::snapshot::open_regular;

/// The beginning of the comment at the end of a gist.
const MARK: &str = "# Written by gistify ";
/// The first lines of a repro's head.
const HEAD: [&str; 4] = ["# Expected: ", "# Project:  ", "# Source:   ", "# Command:  "];
/// The longest mark or head, in bytes.
const LONGEST: u64 = 1 << 12;

/// Returns a gist with the comment at its end that names its command:
///
/// ```python
/// # Written by gistify 0.1.0: pytest tests/test_a.py::test_b
/// ```
///
/// A gist that does not parse has none, since the message of a syntax error may count lines; neither has one of a
/// single line, in whose next line a comment may declare an encoding.
pub fn with_mark(gist: &str, version: &str, command: &str) -> String {
    let is_broken = || !Syntax::parse(Source::new("gist", gist)).errors().is_empty();
    if gist.lines().nth(1).is_none() || is_broken() {
        return gist.to_owned();
    }
    let end = if gist.is_empty() || gist.ends_with('\n') { "" } else { "\n" };
    let command: String = command.split_whitespace().collect::<Vec<_>>().join(" ");
    let command: String = command.chars().filter(|c| !c.is_control()).take(400).collect();
    format!("{gist}{end}{MARK}{version}: {command}\n")
}

/// Returns a gist without the comment at its end.
pub fn without_mark(gist: &str) -> &str {
    match marked_from(gist) {
        Some(at) => &gist[..at],
        None => gist,
    }
}

/// The start of the mark in a text that ends with it.
fn marked_from(text: &str) -> Option<usize> {
    let last = text.trim_end().rfind('\n').map_or(0, |at| at + 1);
    text[last..].starts_with(MARK).then_some(last)
}

/// Returns true if a file is a gist or a repro that gistify wrote.
pub(crate) fn is_output(path: &Path) -> bool {
    let (first, last) = ends(path);
    has_head(&first) || marked_from(&last).is_some()
}

fn has_head(text: &str) -> bool {
    let mut lines = text.lines().skip_while(|line| line.starts_with("# -*- coding"));
    HEAD.iter().all(|start| lines.next().is_some_and(|line| line.starts_with(start)))
}

/// Returns true if a directory has the records or the gists of a command of gistify.
pub(crate) fn is_output_directory(path: &Path) -> bool {
    let begins = |name: &str, parts: &[&str]| {
        let first = ends(&path.join(name)).0;
        parts.iter().all(|part| first.contains(part))
    };
    begins("trajectory.jsonl", &["{\"type\":\"start\"", "\"versions\":{\"gistify\":"])
        || begins("index.jsonl", &["\"gistify\":", "\"fingerprint\":"])
        || begins("plan.json", &["\"version\":", "\"solvers\": ["])
}

/// The first and the last bytes of a file as text; nothing of one that cannot be read.
fn ends(path: &Path) -> (String, String) {
    let read = || {
        let (mut file, metadata) = open_regular(path)?;
        let mut part = |from: u64| {
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(from))?;
            Read::take(&mut file, LONGEST).read_to_end(&mut bytes)?;
            std::io::Result::Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let first = part(0)?;
        match metadata.len() <= LONGEST {
            true => Ok((first.clone(), first)),
            false => Ok((first, part(metadata.len() - LONGEST)?)),
        }
    };
    read().unwrap_or_else(|_: std::io::Error| (String::new(), String::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_gistify_are_recognised() {
        let here = tempfile::tempdir().unwrap();
        let check = |name: &str, text: &str, expected: bool| {
            let path = here.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            match name.contains('/') {
                true => assert_eq!(is_output_directory(path.parent().unwrap()), expected, "{name}"),
                false => assert_eq!(is_output(&path), expected, "{name}"),
            }
        };
        let gist = "import os\n\n\ndef test_a():\n    assert os\n";
        let marked = with_mark(gist, "0.1.0", "pytest 'a.py::test_a[\n1]'");
        assert_eq!(
            marked,
            format!("{gist}# Written by gistify 0.1.0: pytest 'a.py::test_a[ 1]'\n")
        );
        assert_eq!(without_mark(&marked), gist);
        assert_eq!(without_mark(gist), gist);
        for whole in ["x = 1\n", "def broken(:\n    pass\n"] {
            assert_eq!(with_mark(whole, "0.1.0", "pytest a.py"), whole);
        }
        check("gist.py", &marked, true);
        check("long.py", &(gist.repeat(1000) + &marked), true);
        check("plain.py", gist, false);
        check("quoted.py", &format!("{marked}x = 1\n"), false);
        let head =
            "# Expected: E\n# Project:  p 1\n# Source:   revision 1\n# Command:  pytest a.py\n";
        check("repro.py", head, true);
        check("coded.py", &format!("# -*- coding: utf-8 -*-\n{head}"), true);
        check("expected.py", "# Expected: E\nx = 1\n", false);
        check(
            "each/index.jsonl",
            "{\"version\":1,\"gistify\":\"0\",\"fingerprint\":\"1\"}\n",
            true,
        );
        check("logs/index.jsonl", "{\"version\":1}\n", false);
        check("bench/plan.json", "{\n  \"version\": 2,\n  \"solvers\": [\n", true);
        let start = "{\"type\":\"start\",\"version\":1,\"versions\":{\"gistify\":\"0\"}}\n";
        check("record/trajectory.jsonl", start, true);
    }
}
