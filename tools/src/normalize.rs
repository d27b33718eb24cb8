//! Replaces the parts of a run's texts that may differ between two faithful runs by equal ones. No
//! other file does so.
//!
//! The rules, in order: source lines that the run shows, directories of the run, temporary names, addresses, durations, positions in
//! internal files, imports of one from another, names of internal modules (`__main__` is one), node
//! ids.
//!
//! A gist is one module instead of many, so names of modules and of lines cannot be equal;
//! everything else has to be. Nothing here decides about the agreement of two runs.

mod source_lines;

use std::{
    borrow::Cow,
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use regex::{Captures, Regex};

use crate::{
    candidate::Internal,
    execute::{Execution, Raised},
};

pub use source_lines::SOURCE_LINES;
use source_lines::{SourceLines, without_frame_sources};

/// Stands for an internal file or module.
pub const INTERNAL: &str = "<internal>";

/// The names in a run's texts that are normalised.
#[derive(Debug, Clone, Default)]
pub struct Normalizer {
    /// Directories with their placeholders, longest first.
    directories: Vec<(String, &'static str)>,
    /// Relative paths of internal files.
    files: BTreeSet<String>,
    /// Their last components.
    names: BTreeSet<String>,
    /// Dotted names of internal modules.
    modules: BTreeSet<String>,
    /// The id of the gist's docstring as a test, and the id of the module docstring that it
    /// replaces.
    docstring: Option<(String, String)>,
    source_lines: SourceLines,
}

static ADDRESS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b0x[0-9a-fA-F]{5,16}\b"));
static DURATION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"\b\d+\.\d+ ?(?:s|ms|us|µs|ns|secs?|seconds|milliseconds)\b",
        r"|\bin \d+(?:\.\d+)? ?s\b",
    ))
});
static TEMPORARY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?:/tmp|<scratch>(?:/[^/\s'\x22]+)*?)/",
        r"(?:pytest-of-[^/\s]+/pytest-\d+|pytest-\d+|tmp[a-z0-9_]{8}\b)",
    ))
});
static FRAME: LazyLock<Regex> = LazyLock::new(|| pattern(r#"File "([^"\n]*)", line \d+"#));
/// A warning of an internal file and the line of code that Python shows of it.
static WARNED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)^(<internal>:<n>: \w+: [^\n]*\n)  \S[^\n]*$"));
/// The traceback frame of an import that continues in another internal file, with its source lines.
static IMPORTING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"(?m)^  File "<internal>", line <n>, in <module>\n"#,
        r"    (?:lazy )?(?:from|import) [^\n]*\n(?:    [^\n]*\n)*",
    ))
});
/// A traceback that begins with text that cannot be compiled: no frame is in it.
static COMPILING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?m)^Traceback \(most recent call last\):\n",
        r#"(  File "<internal>", line <n>\n)"#,
    ))
});
/// The file and the line at the end of the message of a `SyntaxError`.
static COMPILED: LazyLock<Regex> = LazyLock::new(|| pattern(r"\(([^()\n]+\.py), line \d+\)"));
/// An import of a name that an internal module does not have, or not yet, with that module's file.
static LACKING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(cannot import name '[^'\n]*' from )(?:partially initialized module )?'<internal>[\w.]*'",
        r"(?: \(most likely due to a circular import\))?(?: \([^()\n]*\))?",
    ))
});
/// The line that names an exception of an internal module behind its traceback, or in a group of exceptions.
static ENDING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?m)^((?: {4}|  File |  \[Previous |Traceback )[^\n]*\n| +\| )<internal>\.")
});
static POSITION: LazyLock<Regex> = LazyLock::new(|| pattern(r"([^\s:'\x22(),]+\.py):\d+"));
/// Frames of `python -m`, which a gist run by its path does not have.
static LAUNCHER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"(?m)^  File "(?:<frozen runpy>|[^"\n]*/runpy\.py)", line \d+, in "#,
        r"_run_(?:module_as_main|code)\n(?:    [^\n]*\n)*",
    ))
});
/// The file of a node id.
static NODE: LazyLock<Regex> = LazyLock::new(|| pattern(r"([^\s:'\x22(),]+\.py)::"));
static WORD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant pattern is valid")
}

impl Normalizer {
    /// For a run in `directory` of the original or, where `gist` names its path, of a gist.
    pub fn of_run(
        directory: &Path,
        scratch: &Path,
        internal: &Internal,
        gist: Option<&str>,
    ) -> Self {
        let mut gist_modules: Vec<String> = Vec::new();
        let mut docstring = None;
        if let Some(path) = gist {
            let dotted = path.trim_end_matches(".py").replace('/', ".");
            let own = dotted.rsplit('.').next().unwrap_or(&dotted).to_owned();
            // A name without a dot may as well be a function's, and stays on the original.
            let mut named = internal.named.iter().filter(|name| *name != "__main__");
            let only = named.next().filter(|name| named.next().is_none() && !name.contains('.'));
            let name = only.map_or(INTERNAL, String::as_str).to_owned();
            docstring = Some((own.clone(), name));
            // In the place of a script it has the script's name.
            if !internal.removed.contains(path) {
                gist_modules.extend([own, dotted]);
            }
        }
        let files = internal.removed.iter().map(String::as_str).chain(gist);
        let modules = internal.modules.keys().chain(&internal.tops).map(String::as_str);
        let modules = modules.chain(gist_modules.iter().map(String::as_str));
        Self { docstring, ..Self::new(directory, &[scratch], files, modules) }
    }

    /// A run with all its texts made equal where they may differ.
    pub fn execution(&self, execution: &Execution) -> Execution {
        let mut run = execution.clone();
        for id in &mut run.collected {
            *id = self.node(id);
        }
        for (id, raised) in &mut run.collection_errors {
            *id = self.node(id);
            self.raised(raised);
        }
        for case in &mut run.cases {
            case.id = self.node(&case.id);
            for phase in &mut case.phases {
                phase.raised.iter_mut().for_each(|raised| self.raised(raised));
                for text in [&mut phase.stdout, &mut phase.stderr, &mut phase.log] {
                    *text = self.text(text);
                }
            }
        }
        run.raised.iter_mut().for_each(|raised| self.raised(raised));
        for decided in &mut run.decided {
            decided.case = self.node(&decided.case);
            decided.values.iter_mut().for_each(|value| *value = self.text(value));
        }
        run.stdout = self.text(&run.stdout);
        run.stderr = self.text(&run.stderr);
        run
    }

    fn raised(&self, raised: &mut Raised) {
        raised.message = self.text(&raised.message);
        raised.module = self.module(&raised.module);
        raised.shown.iter_mut().for_each(|shown| self.raised(shown));
    }

    /// For runs in `directory`, with `scratch` for temporary files, of a repository with these internal
    /// files (relative paths) and modules. A gist and its module count among both.
    pub fn new<'a>(
        directory: &Path,
        scratch: &[&Path],
        files: impl IntoIterator<Item = &'a str>,
        modules: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut directories: Vec<(String, &'static str)> = Vec::new();
        let mut add = |path: &Path, name| {
            let real: PathBuf = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
            for path in [path, &real] {
                let path = path.to_string_lossy().trim_end_matches('/').to_owned();
                if !path.is_empty() && !directories.iter().any(|(known, _)| *known == path) {
                    directories.push((path, name));
                }
            }
        };
        add(directory, "<run>");
        for path in scratch {
            add(path, "<scratch>");
        }
        directories.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        let files: BTreeSet<String> = files.into_iter().map(str::to_owned).collect();
        let names =
            files.iter().map(|path| path.rsplit('/').next().unwrap_or(path).to_owned()).collect();
        let modules = modules
            .into_iter()
            .filter(|name| !name.is_empty() && *name != "__main__")
            .map(str::to_owned)
            .collect();
        let source_lines = SourceLines::new(directory);
        Self { directories, files, names, modules, docstring: None, source_lines }
    }

    /// A text with everything in it that may differ made equal.
    pub fn text(&self, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        let mut text = text.replace("\r\n", "\n");
        if let Some(replaced) = self.source_lines.replace(&text, &self.files) {
            text = replaced;
        }
        for (path, name) in &self.directories {
            if text.contains(path.as_str()) {
                text = text.replace(path.as_str(), name);
            }
        }
        let text = TEMPORARY.replace_all(&text, "<tmp>");
        let text = ADDRESS.replace_all(&text, "<address>");
        let text = DURATION.replace_all(&text, "<time>");
        let text = LAUNCHER.replace_all(&text, "");
        let text = FRAME.replace_all(&text, |found: &Captures<'_>| {
            if self.is_internal_file(&found[1]) {
                format!("File \"{INTERNAL}\", line <n>")
            } else {
                found[0].to_owned()
            }
        });
        let text = IMPORTING.replace_all(&text, "");
        let text = COMPILING.replace_all(&text, "$1");
        let text = COMPILED.replace_all(&text, |found: &Captures<'_>| {
            if self.is_internal_file(&found[1]) {
                format!("({INTERNAL}, line <n>)")
            } else {
                found[0].to_owned()
            }
        });
        let text = without_frame_sources(&text, &format!("File \"{INTERNAL}\", line <n>"));
        let text = POSITION.replace_all(&text, |found: &Captures<'_>| {
            if self.is_internal_file(&found[1]) {
                format!("{INTERNAL}:<n>")
            } else {
                found[0].to_owned()
            }
        });
        let text = WARNED.replace_all(&text, format!("${{1}}  {SOURCE_LINES}"));
        let text = NODE.replace_all(&text, |found: &Captures<'_>| {
            if self.is_internal_file(&found[1]) {
                format!("{INTERNAL}::")
            } else {
                found[0].to_owned()
            }
        });
        let text = self.without_modules(&text);
        // Python names no module for what is defined in a script.
        let text = ENDING.replace_all(&text, "$1");
        LACKING.replace_all(&text, format!("$1'{INTERNAL}'")).into_owned()
    }

    /// A node id with the file's name made equal.
    pub fn node(&self, id: &str) -> String {
        match id.split_once("::") {
            Some((file, rest)) if self.is_internal_file(file) => {
                // Examples of a docstring are named with their module; no function's name has a dot.
                let dotted = !rest.contains("::") && !rest.contains('[') && rest.contains('.');
                let rest = match &self.docstring {
                    Some((own, name)) if rest == own => Cow::Borrowed(name.as_str()),
                    _ if dotted => self.without_modules(rest),
                    _ => Cow::Borrowed(rest),
                };
                format!("{INTERNAL}::{rest}")
            }
            None if self.is_internal_file(id) => INTERNAL.to_owned(),
            _ => id.to_owned(),
        }
    }

    /// A module's name, internal ones made equal.
    pub fn module(&self, name: &str) -> String {
        let internal = name == "__main__" || self.modules.contains(name);
        if internal { INTERNAL.to_owned() } else { name.to_owned() }
    }

    /// Returns true if a printed path is that of an internal file.
    pub fn is_internal_file(&self, path: &str) -> bool {
        let path = path.strip_prefix("<run>/").unwrap_or(path);
        let path = self
            .directories
            .iter()
            .find_map(|(directory, _)| path.strip_prefix(directory.as_str())?.strip_prefix('/'))
            .unwrap_or(path);
        let path = path.strip_prefix("./").unwrap_or(path);
        self.files.contains(path) || !path.contains('/') && self.names.contains(path)
    }

    fn without_modules<'t>(&self, text: &'t str) -> Cow<'t, str> {
        WORD.replace_all(text, |found: &Captures<'_>| {
            let word = &found[0];
            let start = found.get(0).map_or(0, |m| m.start());
            // A part of a path or of a longer name is no module.
            if text[..start].ends_with(['/', '-', '.', '@', '$', '\\'])
                || text[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_')
            {
                return word.to_owned();
            }
            // A program tells its users the name of its file.
            if self.names.contains(word) {
                return format!("{INTERNAL}.py");
            }
            let mut end = word.len();
            loop {
                let prefix = &word[..end];
                if prefix == "__main__" || self.modules.contains(prefix) {
                    return format!("{INTERNAL}{}", &word[end..]);
                }
                match prefix.rfind('.') {
                    Some(dot) => end = dot,
                    None => return word.to_owned(),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn original() -> Normalizer {
        Normalizer::new(
            Path::new("/w/original"),
            &[Path::new("/w/scratch-1")],
            ["src/pkg/app.py", "tests/test_a.py"],
            ["pkg", "pkg.app", "test_a", "tests.test_a"],
        )
    }

    fn gist() -> Normalizer {
        Normalizer::new(
            Path::new("/w/candidate"),
            &[Path::new("/w/scratch-22")],
            ["tests/concise.py", "src/pkg/app.py", "tests/test_a.py"],
            ["concise", "pkg", "pkg.app", "test_a", "tests.test_a"],
        )
    }

    #[test]
    fn what_may_differ_is_made_equal() {
        for (left, right) in [
            ("<object at 0x7f12ab34>", "<object at 0x55cc00112233>"),
            ("/w/original/tests/data.txt", "/w/candidate/tests/data.txt"),
            (
                "/w/scratch-1/tmp/pytest-of-me/pytest-0/test_x0/f",
                "/w/scratch-22/tmp/pytest-of-me/pytest-3/test_x0/f",
            ),
            ("/tmp/tmpab12cd34/x", "/tmp/tmpzz_9cd34/x"),
            ("Ran 3 tests in 0.012s", "Ran 3 tests in 1.5s"),
            ("took 12.5 ms", "took 3.25 ms"),
            (
                "  File \"/w/original/src/pkg/app.py\", line 12, in f\n    x()\n",
                "  File \"/w/candidate/tests/concise.py\", line 3, in f\n    x()\n",
            ),
            (
                "  File \"/w/original/src/pkg/app.py\", line 12, in f\n    x('#')  # why\n    ^^^^\n",
                "  File \"/w/candidate/tests/concise.py\", line 3, in f\n    x('#')\n    ^^^^\n",
            ),
            (
                "  File \"/w/original/src/pkg/app.py\", line 12, in f\n    try: return g(x)\n                ^^^^\nE: no\n",
                "  File \"/w/candidate/tests/concise.py\", line 3, in f\n    return g_app(x)\nE: no\n",
            ),
            (
                "  |   File \"/w/original/src/pkg/app.py\", line 12, in f\n  |     g(\n  |     ~^\n  |         x)\n  | E: no\n",
                "  |   File \"/w/candidate/tests/concise.py\", line 3, in f\n  |     g_app(x)\n  | E: no\n",
            ),
            (
                "/w/original/src/pkg/app.py:3: UserWarning: old\n  f(g(1))\n",
                "/w/candidate/tests/concise.py:9: UserWarning: old\n  f(g_app(1))\n",
            ),
            ("In tests/test_a.py::test_x: no", "In tests/concise.py::test_x: no"),
            ("invalid syntax (app.py, line 3)", "invalid syntax (concise.py, line 1)"),
            (
                "cannot import name 'x' from 'pkg.app' (/w/original/src/pkg/app.py)",
                "cannot import name 'x' from partially initialized module 'concise' (most likely due to a circular import) (/w/candidate/tests/concise.py)",
            ),
            ("<class 'pkg.app.Thing'>", "<class '__main__.Thing'>"),
            (
                "Traceback (most recent call last):\n  File \"/w/original/tests/test_a.py\", line 1, in <module>\n    from pkg.app import x\n  File \"/w/original/src/pkg/app.py\", line 9, in <module>\n    x()\n    ^^^\npkg.app.Error: no\n",
                "Traceback (most recent call last):\n  File \"/w/candidate/tests/concise.py\", line 4, in <module>\n    x()\n    ^^^\nError: no\n",
            ),
            (
                "Traceback (most recent call last):\n  File \"/w/original/tests/test_a.py\", line 1, in <module>\n    from pkg.app import x\n  File \"/w/original/src/pkg/app.py\", line 9\n    x(\n     ^\nSyntaxError: '(' was never closed\n",
                "  File \"/w/candidate/tests/concise.py\", line 4\n    x(\n     ^\nSyntaxError: '(' was never closed\n",
            ),
            ("    | pkg.app.Error: no\n", "    | Error: no\n"),
            ("WARNING  pkg.app:app.py:10 careful", "WARNING  concise:concise.py:3 careful"),
            ("<class 'pkg.app.Thing'>", "<class 'concise.Thing'>"),
            ("<Thing 'test_a'>", "<Thing 'concise'>"),
            ("usage: app.py [-h]", "usage: concise.py [-h]"),
            ("module 'pkg' has no attribute 'x'", "module 'concise' has no attribute 'x'"),
            (
                "Traceback (most recent call last):\n  File \"<frozen runpy>\", line 198, in _run_module_as_main\n  File \"<frozen runpy>\", line 88, in _run_code\n  File \"/w/original/src/pkg/app.py\", line 1, in <module>\nE\n",
                "Traceback (most recent call last):\n  File \"/w/candidate/tests/concise.py\", line 9, in <module>\nE\n",
            ),
        ] {
            assert_eq!(original().text(left), gist().text(right));
        }
    }

    #[test]
    fn what_must_not_differ_stays() {
        for (left, right) in [
            ("x = 1", "x = 2"),
            ("timeout 5s", "timeout 6s"),
            ("0x12", "0x13"),
            ("other.Thing", "concise.Thing"),
            ("(other.py, line 1)", "(concise.py, line 1)"),
            ("pkg.app.Error: no", "Error: no"),
            ("cannot import name 'x' from 'other'", "cannot import name 'x' from 'pkg'"),
            ("usage: other.py [-h]", "usage: concise.py [-h]"),
            ("/usr/lib/x.py:10", "/usr/lib/x.py:11"),
            ("File \"/usr/lib/x.py\", line 1", "File \"/usr/lib/x.py\", line 2"),
            ("my-pkg/1", "my-concise/1"),
            ("version 1.2.3", "version 1.2.4"),
            ("Skipping 163 characters", "Skipping 97 characters"),
            ("pkg.app.Thing", "pkg.app.Thin"),
            (
                "  File \"/w/original/src/pkg/app.py\", line 12, in f\n    x()\nE: no\n",
                "  File \"/w/candidate/tests/concise.py\", line 3, in g\n    x()\nE: no\n",
            ),
            (
                "  File \"/usr/lib/x.py\", line 1, in f\n    x()\nE: no\n",
                "  File \"/usr/lib/x.py\", line 1, in f\n    y()\nE: no\n",
            ),
        ] {
            assert_ne!(original().text(left), gist().text(right));
        }
    }

    #[test]
    fn node_ids_lose_their_file() {
        for (normalizer, id, expected) in [
            (original(), "tests/test_a.py::T::test_x[1-a::b]", "<internal>::T::test_x[1-a::b]"),
            (gist(), "tests/concise.py::T::test_x[1-a::b]", "<internal>::T::test_x[1-a::b]"),
            (original(), "tests/other.py::test_x", "tests/other.py::test_x"),
            (original(), "tests/test_a.py", "<internal>"),
            (original(), "tests/test_a.py::pkg.app.f", "<internal>::<internal>.f"),
            (gist(), "tests/concise.py::concise.f", "<internal>::<internal>.f"),
        ] {
            assert_eq!(normalizer.node(id), expected);
        }
        let docstring = |name: &str| Some(("concise".to_owned(), name.to_owned()));
        let of_package = Normalizer { docstring: docstring(INTERNAL), ..gist() };
        let of_file = Normalizer { docstring: docstring("app"), ..gist() };
        for (left, original_id, right, gist_id) in [
            (original(), "src/pkg/app.py::pkg.app", &of_package, "tests/concise.py::concise"),
            (original(), "src/pkg/app.py::app", &of_file, "tests/concise.py::concise"),
            (original(), "tests/test_a.py::test_a", &of_package, "tests/concise.py::test_a"),
        ] {
            assert_eq!(left.node(original_id), right.node(gist_id));
        }
        assert_ne!(
            of_package.node("tests/concise.py::concise"),
            original().node("tests/test_a.py::concise")
        );
        assert_eq!(original().module("pkg.app"), gist().module("concise"));
        assert_eq!(original().module("builtins"), "builtins");
    }
}
