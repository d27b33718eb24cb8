//! Whether Python reads the text of a gist as it is examined: in its own encoding, by its own lines.

use std::sync::LazyLock;

use regex::Regex;

/// What makes a text another one to Python, where something does. Ends of lines that only old systems
/// have are no offence where the original has such.
pub(super) fn misread(text: &str, original: impl Fn() -> bool) -> Option<String> {
    #[expect(clippy::unwrap_used, reason = "a constant pattern")]
    static COOKIE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\u{feff}?[ \t\x0c]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)").unwrap()
    });
    for line in text.replace("\r\n", "\n").split(['\n', '\r']).take(2) {
        if let Some(found) = COOKIE.captures(line) {
            let name = found[1].to_lowercase().replace('_', "-");
            let is_utf8 = name == "utf8" || name == "utf-8" || name.starts_with("utf-8-");
            let is_same = ["ascii", "us-ascii", "latin-1", "iso-8859-1", "iso-8859-15"];
            if !(is_utf8 || is_same.contains(&&*name) && text.is_ascii()) {
                return Some(format!("it is to be read as {name}"));
            }
        }
    }
    if text.contains('\0') {
        return Some("it has a null byte".to_owned());
    }
    let has_other_ends = has_carriage_returns(text) && !original();
    has_other_ends.then(|| "it has carriage returns that end no line".to_owned())
}

/// Whether a text has carriage returns without a line feed.
pub(super) fn has_carriage_returns(text: &str) -> bool {
    text.match_indices('\r').any(|(at, _)| !text[at + 1..].starts_with('\n'))
}

/// A text in which paths that were made of the file's own are `__file__` again.
pub(super) fn without_paths(text: &str) -> Option<String> {
    let plain = OWN.replace_all(text, "__file__");
    (plain != text).then(|| plain.into_owned())
}

/// Whether all that a statement asks of its own path is a directory above it, or a place below one;
/// `places` are those that its syntax tells.
pub(super) fn is_path(statement: &str, places: usize) -> bool {
    let paths = OWN.find_iter(statement).count() + places;
    let names = statement.matches("__file__=").count();
    paths > 0 && paths == statement.matches("__file__").count() - names
}

/// Whether a statement only tells a module of its own where it would lie.
pub(super) fn places_module(statement: &str) -> bool {
    const SPEC: &str =
        r#"__spec__=__import__("importlib.util", fromlist=['_']).spec_from_file_location("#;
    let specs = statement.matches(SPEC).count();
    statement.starts_with("vars(")
        && specs == 1
        && specs == statement.matches("spec_from_file_location").count()
        && is_path(statement, 0)
}

/// Whether a statement asks the environment only for what it names.
pub(super) fn names_variables(statement: &str) -> bool {
    #[expect(clippy::unwrap_used, reason = "a constant pattern")]
    static NAMED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"environ(\[\s*['"]|\.(get|pop|setdefault)\(\s*['"])|in (os\.)?environ\b"#)
            .unwrap()
    });
    NAMED.find_iter(statement).count() == statement.matches("environ").count()
}

/// A path that is made of the file's own.
#[expect(clippy::unwrap_used, reason = "a constant pattern")]
static OWN: LazyLock<Regex> = LazyLock::new(|| {
    let path = r#"__file__\.rsplit\(['"]/['"], [1-9]\d*\)\[0\]( \+ ('[^'\n]*'|"[^"\n]*"))?"#;
    Regex::new(path).unwrap()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_python_reads_otherwise() {
        for (text, fine) in [
            ("# coding: utf-8\nx = 1\n", true),
            ("#!/usr/bin/python\n# -*- coding: UTF8 -*-\n", true),
            ("# vim: set fileencoding=utf-8-unix :\n", true),
            ("# coding: latin-1\nx = 1\n", true),
            ("x = 1\n\x0c\ny = 2\n", true),
            ("x = 1\r\ny = 2\r\n", true),
            ("\n\n# coding: utf-7\nx = 1\n", true),
            ("\r\n# coding: utf-7\r\nx = 1\r\n", false),
            ("# coding: latin-1\nx = 'ä'\n", false),
            ("# coding: unicode_escape\n", false),
            ("'''a'''\n# coding=utf_7\n", false),
            ("\u{feff}# coding: raw-unicode-escape\n", false),
            (" \x0c# coding:rot13\n", false),
            ("x = 1\ry = 2\n", false),
            ("x = '\0'\n", false),
        ] {
            assert_eq!(misread(text, || false).is_none(), fine, "{text:?}");
        }
    }

    #[test]
    fn paths_above_a_file_tell_nothing_of_it() {
        for (statement, fine) in [
            ("x = __file__.rsplit('/', 2)[0] + '/pkg/mod.py'", true),
            ("vars(m).update(__file__=__file__.rsplit('/', 1)[0], __path__=[])", true),
            ("x = open(__file__)", false),
            ("x = open(__file__), __file__.rsplit('/', 2)[0]", false),
            ("x = __file__.rsplit('/', 0)", false),
            ("x = __file__.rsplit('/', 1)[0], open(__file__.rsplit('/', 0)[0])", false),
            ("x = m.__file__", false),
        ] {
            assert_eq!(is_path(statement, 0), fine, "{statement}");
        }
    }
}
