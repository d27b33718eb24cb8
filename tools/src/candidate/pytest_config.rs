//! Adapts a repository's pytest configuration to a candidate without the repository's own modules.
//! Determines the patterns of test modules, and drops the options that would fail.
//!
//! Reads the files that pytest reads; keeps everything that it has no reason to drop.

use std::{collections::BTreeSet, path::Path};

/// Files that may hold pytest's configuration, with the section of each.
const FILES: [(&str, &str); 6] = [
    ("pytest.toml", "pytest"),
    (".pytest.toml", "pytest"),
    ("pytest.ini", "pytest"),
    (".pytest.ini", "pytest"),
    ("tox.ini", "pytest"),
    ("setup.cfg", "tool:pytest"),
];
const PYPROJECT: &str = "pyproject.toml";
/// Tables of `pyproject.toml`: the second since pytest 9.
const TABLES: [&[&str]; 2] = [&["tool", "pytest", "ini_options"], &["tool", "pytest"]];

/// The file and the section in which a distribution declares its pytest plugins.
const ENTRY_POINTS: (&str, &str) = ("entry_points.txt", "pytest11");

/// Returns true if pytest reads its configuration or its plugins from a file of this name.
pub(super) fn is_config(name: &str) -> bool {
    name == PYPROJECT || name == ENTRY_POINTS.0 || FILES.iter().any(|(file, _)| *file == name)
}

/// Patterns of test modules: pytest's own and those configured in a directory. One that fits every file tells none
/// of the package from a test.
pub(super) fn python_files(directory: &Path) -> Vec<String> {
    let mut patterns = vec!["test_*.py".to_owned(), "*_test.py".to_owned()];
    for name in FILES.iter().map(|(name, _)| *name).chain([PYPROJECT]) {
        let Ok(text) = std::fs::read_to_string(directory.join(name)) else { continue };
        if name.ends_with(".toml") {
            let Ok(document) = text.parse::<toml::Table>() else { continue };
            for table in tables(name, &document) {
                match table.get("python_files") {
                    Some(toml::Value::String(value)) => patterns.extend(words(value)),
                    Some(toml::Value::Array(values)) => {
                        patterns.extend(values.iter().filter_map(|v| v.as_str()).map(str::to_owned))
                    }
                    _ => {}
                }
            }
        } else {
            let value = Ini::parse(&text).value(section(name), "python_files");
            patterns.extend(value.iter().flat_map(|value| words(value)));
        }
    }
    patterns.retain(|pattern| !["*", "*.py"].contains(&pattern.as_str()));
    patterns.sort();
    patterns.dedup();
    patterns
}

/// Returns true if a relative path is a test module by one of the patterns.
pub(super) fn matches(patterns: &[String], path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    patterns.iter().any(|pattern| {
        if pattern.contains('/') {
            glob(pattern, path) || glob(&format!("*/{pattern}"), path)
        } else {
            glob(pattern, name)
        }
    })
}

/// The configuration of a directory as options of pytest, each group together: `addopts`, and `-o KEY=VALUE` for each
/// other key. `text_of` reads a file of the directory.
///
/// ```ini
/// [pytest]
/// xfail_strict = true
/// ```
/// gives `-o xfail_strict=true`.
pub(super) fn as_options(text_of: &dyn Fn(&str) -> Option<String>) -> Vec<Vec<String>> {
    let in_pyproject = |text: &str| {
        let document = text.parse::<toml::Table>().ok();
        document.is_some_and(|document| !tables(PYPROJECT, &document).is_empty())
    };
    let holds = |name: &str, text: &str| match name {
        PYPROJECT => in_pyproject(text),
        "tox.ini" | "setup.cfg" => text.contains(&format!("[{}]", section(name))),
        _ => true,
    };
    // The order in which pytest looks for them.
    let (first, last) = FILES.split_at(4);
    let names = first.iter().map(|(name, _)| *name).chain([PYPROJECT]);
    let names = names.chain(last.iter().map(|(name, _)| *name));
    let found = names.filter_map(|name| Some((name, text_of(name)?)));
    let Some((name, text)) = found.into_iter().find(|(name, text)| holds(name, text)) else {
        return Vec::new();
    };
    let mut pairs: Vec<(String, String)> = Vec::new();
    if name.ends_with(".toml") {
        let Ok(document) = text.parse::<toml::Table>() else { return Vec::new() };
        for table in tables(name, &document) {
            let values = table.iter().filter_map(|(key, value)| Some((key.clone(), plain(value)?)));
            pairs.extend(values);
        }
    } else {
        let ini = Ini::parse(&text);
        let value = |key: String| Some((key.clone(), ini.value(section(name), &key)?));
        pairs.extend(ini.keys(section(name)).into_iter().filter_map(value));
    }
    let one = |(key, value): (String, String)| match key.as_str() {
        "addopts" => split(&value),
        _ => vec!["-o".to_owned(), format!("{key}={value}")],
    };
    let is_of_layout = |key: &str| LAYOUT.contains(&key);
    let all = pairs.into_iter().filter(|(key, _)| !is_of_layout(key)).map(one);
    all.filter(|words| !words.is_empty()).collect()
}

/// Keys about the places of files, of which one file has none, and about pytest itself.
const LAYOUT: [&str; 8] = [
    "cache_dir",
    "confcutdir",
    "minversion",
    "norecursedirs",
    "python_files",
    "pythonpath",
    "required_plugins",
    "testpaths",
];

/// A value as an ini file has it; a list has a line for each.
fn plain(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Boolean(value) => Some(value.to_string()),
        toml::Value::Integer(value) => Some(value.to_string()),
        toml::Value::Float(value) => Some(value.to_string()),
        toml::Value::Array(values) => {
            Some(values.iter().map(plain).collect::<Option<Vec<_>>>()?.join("\n"))
        }
        toml::Value::Table(_) | toml::Value::Datetime(_) => None,
    }
}

/// The parts missing from a candidate that its configuration may refer to.
#[derive(Debug, Default)]
pub(super) struct Gone<'a> {
    /// Top-level names of internal modules.
    pub tops: BTreeSet<&'a str>,
    /// Options that removed files define.
    pub options: BTreeSet<String>,
    /// True if removed files define keys of the configuration.
    pub keys: bool,
    /// True if removed files define markers.
    pub markers: bool,
    /// Dotted names that modules lack.
    pub names: BTreeSet<String>,
}

/// The warnings filter for markers that no remaining file defines.
const UNKNOWN_MARKER: &str = "ignore::pytest.PytestUnknownMarkWarning";

impl Gone<'_> {
    /// Notes the options, keys and markers that the text of a removed file defines.
    pub(super) fn note(&mut self, text: &str) {
        self.keys |= text.contains(".addini(");
        self.markers |= text.match_indices("addinivalue_line(").any(|(at, call)| {
            let rest = text[at + call.len()..].trim_start();
            ["\"markers\"", "'markers'"].iter().any(|name| rest.starts_with(name))
        });
        for (at, call) in text.match_indices("addoption(") {
            let mut rest = text[at + call.len()..].trim_start_matches([' ', '\t', '\r', '\n', ',']);
            while let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
                let Some(end) = rest[1..].find(quote) else { break };
                self.options.insert(rest[1..=end].to_owned());
                rest = rest[end + 2..].trim_start_matches([' ', '\t', '\r', '\n', ',']);
            }
        }
    }

    /// Returns the text of a configuration file without options that would fail; `None` if it is
    /// unchanged.
    pub(super) fn cleaned(&self, name: &str, text: &str) -> Option<String> {
        if name.ends_with(".toml") {
            self.cleaned_toml(name, text)
        } else if name == ENTRY_POINTS.0 {
            self.cleaned_entry_points(text)
        } else {
            self.cleaned_ini(name, text)
        }
    }

    /// The entry points without plugins that are gone.
    fn cleaned_entry_points(&self, text: &str) -> Option<String> {
        let mut is_plugins = false;
        let stays = |line: &&str| {
            if let Some(rest) = line.trim().strip_prefix('[') {
                is_plugins = rest.trim_end_matches(']').trim() == ENTRY_POINTS.1;
            }
            let module = line.split_once('=').map_or("", |(_, value)| value.trim());
            let module = module.split([':', ' ', '[']).next().unwrap_or(module);
            !(is_plugins && self.is_module_gone(module))
        };
        let kept: Vec<&str> = text.lines().filter(stays).collect();
        (kept.len() != text.lines().count()).then(|| kept.join("\n") + "\n")
    }

    fn cleaned_toml(&self, name: &str, text: &str) -> Option<String> {
        let mut document = text.parse::<toml::Table>().ok()?;
        let mut changed = false;
        let paths: &[&[&str]] = if name == PYPROJECT { &TABLES } else { &[&["pytest"]] };
        for path in paths {
            let Some(table) = path.iter().try_fold(&mut document, |table, key| {
                table.get_mut(*key).and_then(toml::Value::as_table_mut)
            }) else {
                continue;
            };
            match table.get_mut("addopts") {
                Some(toml::Value::String(value)) => {
                    if let Some(kept) = self.options_kept(&split(value)) {
                        *value = join(&kept);
                        changed = true;
                    }
                }
                Some(toml::Value::Array(values)) => {
                    let words: Vec<String> =
                        values.iter().filter_map(|v| v.as_str()).map(str::to_owned).collect();
                    if let Some(kept) = self.options_kept(&words) {
                        *values = kept.into_iter().map(toml::Value::String).collect();
                        changed = true;
                    }
                }
                _ => {}
            }
            match table.get_mut("filterwarnings") {
                Some(toml::Value::Array(values)) => {
                    let before = values.len();
                    values.retain(|v| v.as_str().is_none_or(|filter| !self.is_filter_gone(filter)));
                    changed |= values.len() != before || self.markers;
                    values.extend(self.markers.then(|| UNKNOWN_MARKER.into()));
                }
                Some(toml::Value::String(value)) => {
                    if let Some(kept) = self.filters_kept(value) {
                        *value = kept.join("\n");
                        changed = true;
                    }
                }
                _ => {}
            }
            let before = table.len();
            table.retain(|_, value| !value.as_str().is_some_and(|value| self.is_name_gone(value)));
            changed |= table.len() != before;
            for key in self.strict_keys() {
                changed |= table.remove(key).is_some();
            }
        }
        changed.then(|| document.to_string())
    }

    fn cleaned_ini(&self, name: &str, text: &str) -> Option<String> {
        let mut ini = Ini::parse(text);
        let mut changed = false;
        let section = section(name);
        if let Some(value) = ini.value(section, "addopts")
            && let Some(kept) = self.options_kept(&split(&value))
        {
            ini.replace(section, "addopts", &[join(&kept)]);
            changed = true;
        }
        if let Some(value) = ini.value(section, "filterwarnings")
            && let Some(kept) = self.filters_kept(&value)
        {
            ini.replace(section, "filterwarnings", &kept);
            changed = true;
        }
        for key in ini.keys(section) {
            let value = ini.value(section, &key);
            if value.is_some_and(|value| self.is_name_gone(&value)) {
                ini.remove(section, &key);
                changed = true;
            }
        }
        for key in self.strict_keys() {
            if ini.value(section, key).is_some() {
                ini.replace(section, key, &["false".to_owned()]);
                changed = true;
            }
        }
        changed.then(|| ini.text())
    }

    /// Returns the words of `addopts` that work without the removed files; `None` if all do.
    fn options_kept(&self, words: &[String]) -> Option<Vec<String>> {
        let mut kept = Vec::new();
        let mut at = 0;
        while at < words.len() {
            let word = &words[at];
            let next = words.get(at + 1);
            let (name, inline) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                _ => (word.as_str(), None),
            };
            if self.options.contains(name) {
                // A value in a word of its own belongs to the option; another option or a path that
                // follows a flag does not, but pytest takes no path from addopts in practice.
                at += if inline.is_none() && next.is_some_and(|next| !next.starts_with('-')) {
                    2
                } else {
                    1
                };
                continue;
            }
            let joined = |short: &str| {
                // A list may have option and value in one word, as pytest takes them.
                let value = word.strip_prefix(short).map(str::trim);
                value.filter(|value| !value.is_empty()).map(str::to_owned)
            };
            if word == "-p" || word == "-W" || word == "--pythonwarnings" {
                let gone = next.is_some_and(|value| {
                    if word == "-p" {
                        self.is_module_gone(value)
                    } else {
                        self.is_filter_gone(value)
                    }
                });
                if gone {
                    at += 2;
                    continue;
                }
            } else if !word.starts_with("--")
                && (joined("-p").is_some_and(|value| self.is_module_gone(&value))
                    || joined("-W").is_some_and(|value| self.is_filter_gone(&value)))
                || name == "--pythonwarnings" && inline.is_some_and(|v| self.is_filter_gone(v))
                || self.keys && word == "--strict-config"
                || self.markers && matches!(word.as_str(), "--strict-markers" | "--strict")
            {
                at += 1;
                continue;
            }
            kept.push(word.clone());
            at += 1;
        }
        (kept.len() != words.len()).then_some(kept)
    }

    /// Returns the warnings filters that work without the removed files, with an added one; `None`
    /// if nothing changes.
    fn filters_kept(&self, value: &str) -> Option<Vec<String>> {
        let kept = value.lines().filter(|filter| !self.is_filter_gone(filter));
        let mut kept: Vec<String> = kept.map(str::to_owned).collect();
        let changed = kept.len() != value.lines().count() || self.markers;
        kept.extend(self.markers.then(|| UNKNOWN_MARKER.to_owned()));
        changed.then_some(kept)
    }

    /// Keys that refuse what removed files defined.
    fn strict_keys(&self) -> Vec<&'static str> {
        let keys = self.keys.then_some(["strict", "strict_config"]);
        let markers = self.markers.then_some(["strict", "strict_markers"]);
        keys.into_iter().chain(markers).flatten().collect()
    }

    fn is_module_gone(&self, name: &str) -> bool {
        let top = name.split('.').next().unwrap_or(name);
        self.tops.contains(top)
    }

    /// Returns true if a value is the dotted name of an internal module, which an external plugin
    /// would import.
    fn is_name_gone(&self, value: &str) -> bool {
        let is_word =
            |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_');
        value.contains('.') && value.split('.').all(is_word) && self.is_module_gone(value)
    }

    /// Returns true if a warnings filter names a category of an internal module, which pytest would
    /// import.
    fn is_filter_gone(&self, filter: &str) -> bool {
        let category = filter.split(':').nth(2).unwrap_or("").trim();
        category.contains('.') && (self.is_module_gone(category) || self.names.contains(category))
    }
}

fn section(name: &str) -> &'static str {
    FILES.iter().find(|(file, _)| *file == name).map_or("pytest", |(_, section)| section)
}

fn tables<'a>(name: &str, document: &'a toml::Table) -> Vec<&'a toml::Table> {
    let paths: &[&[&str]] = if name == PYPROJECT { &TABLES } else { &[&["pytest"]] };
    paths
        .iter()
        .filter_map(|path| path.iter().try_fold(document, |table, key| table.get(*key)?.as_table()))
        .collect()
}

fn words(value: &str) -> Vec<String> {
    value.split_whitespace().map(str::to_owned).collect()
}

/// Splits as a shell does, which is how pytest reads `addopts`.
fn split(value: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (_, '\\') => word.get_or_insert_default().extend(chars.next()),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn join(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+@%".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\"'\"'"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// An ini file as lines, edited in place so that the rest of it stays as it is.
struct Ini {
    lines: Vec<String>,
}

impl Ini {
    fn parse(text: &str) -> Self {
        Self { lines: text.lines().map(str::to_owned).collect() }
    }

    fn text(&self) -> String {
        let mut text = self.lines.join("\n");
        text.push('\n');
        text
    }

    /// The value of a key, its continuation lines included.
    fn value(&self, section: &str, key: &str) -> Option<String> {
        let (from, to) = self.span(section, key)?;
        let first = self.lines[from].split_once(['=', ':'])?.1.trim().to_owned();
        let rest = self.lines[from + 1..to].iter().map(|line| line.trim().to_owned());
        let lines = std::iter::once(first)
            .chain(rest)
            .filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with(';'));
        Some(lines.collect::<Vec<_>>().join("\n"))
    }

    /// The keys of a section.
    fn keys(&self, section: &str) -> Vec<String> {
        let header = format!("[{section}]");
        let inside = self.lines.iter().skip_while(|line| line.trim() != header).skip(1);
        let inside = inside.take_while(|line| !line.starts_with('['));
        let heads = inside.filter(|line| !line.starts_with([' ', '\t', '#', ';']));
        heads.filter_map(|line| Some(line.split_once(['=', ':'])?.0.trim().to_owned())).collect()
    }

    fn remove(&mut self, section: &str, key: &str) {
        if let Some((from, to)) = self.span(section, key) {
            self.lines.drain(from..to);
        }
    }

    fn replace(&mut self, section: &str, key: &str, values: &[String]) {
        let Some((from, to)) = self.span(section, key) else { return };
        let mut lines = vec![format!("{key} =")];
        lines.extend(values.iter().map(|value| format!("    {value}")));
        self.lines.splice(from..to, lines);
    }

    /// The lines of a key: from its own to the last that continues it.
    fn span(&self, section: &str, key: &str) -> Option<(usize, usize)> {
        let header = format!("[{section}]");
        let top = self.lines.iter().position(|line| line.trim() == header)? + 1;
        let ends = |line: &String| line.starts_with('[');
        let end = self.lines[top..].iter().position(ends).map_or(self.lines.len(), |n| top + n);
        let starts = |line: &String| {
            !line.starts_with([' ', '\t', '#', ';'])
                && line.split_once(['=', ':']).is_some_and(|(name, _)| name.trim() == key)
        };
        let from = top + self.lines[top..end].iter().position(starts)?;
        let continues =
            |line: &String| line.starts_with([' ', '\t']) || line.starts_with(['#', ';']);
        let mut to = from + 1;
        while to < end && (continues(&self.lines[to]) || self.lines[to].trim().is_empty()) {
            to += 1;
        }
        Some((from, to))
    }
}

/// Shell patterns as Python's `fnmatch` reads them.
fn glob(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    // Positions after the last star: where to resume in the pattern, and how much text it has taken.
    let mut star: Option<(usize, usize)> = None;
    let (mut p, mut t) = (0, 0);
    while t < text.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some('?') => Some(p + 1),
            Some('[') => class(&pattern, p, text[t]),
            Some(&c) if c == text[t] => Some(p + 1),
            _ => None,
        };
        match (step, star) {
            (Some(next), _) => {
                p = next;
                t += 1;
            }
            (None, Some((after, taken))) => {
                star = Some((after, taken + 1));
                p = after;
                t = taken + 1;
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// Matches a character against the set that opens at `open`; gives the position after the set.
fn class(pattern: &[char], open: usize, c: char) -> Option<usize> {
    let mut at = open + 1;
    let negated = pattern.get(at) == Some(&'!');
    if negated {
        at += 1;
    }
    let first = at;
    let mut found = false;
    loop {
        let &low = pattern.get(at)?;
        if low == ']' && at > first {
            return (found != negated).then_some(at + 1);
        }
        if pattern.get(at + 1) == Some(&'-') && pattern.get(at + 2).is_some_and(|&c| c != ']') {
            found |= (low..=pattern[at + 2]).contains(&c);
            at += 3;
        } else {
            found |= low == c;
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_those_of_fnmatch() {
        for (pattern, text, expected) in [
            ("test_*.py", "test_a.py", true),
            ("test_*.py", "a_test.py", false),
            ("*test_*.py", "unittest_x.py", true),
            ("*", "", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]]x", "]x", true),
            ("[a", "[a", false),
            ("*a*b*c", "xaybzc", true),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }

    fn check(name: &str, text: &str, expected: Option<&str>) {
        let mut gone = Gone { tops: BTreeSet::from(["pkg", "conftest"]), ..Gone::default() };
        gone.note(
            "def pytest_addoption(parser):\n    parser.addoption('--slow', '-Z', action=x)\n",
        );
        gone.note("    group.addoption(\n        \"--level\",\n        default=1)\n");
        assert_eq!(gone.cleaned(name, text).as_deref(), expected, "{text}");
    }

    #[test]
    fn options_that_need_the_package_are_dropped() {
        check("pytest.ini", "[pytest]\naddopts = -ra --strict-markers\n", None);
        check(
            "pytest.ini",
            "[pytest]\naddopts = -ra --slow -p pkg.plugin --level 3 --cov=pkg\n    -q\nx = 1\n",
            Some("[pytest]\naddopts =\n    -ra --cov=pkg -q\nx = 1\n"),
        );
        check(
            "setup.cfg",
            "[a]\naddopts = --slow\n[tool:pytest]\nfilterwarnings =\n    error\n    ignore::pkg.W\n    ignore::DeprecationWarning\n",
            Some(
                "[a]\naddopts = --slow\n[tool:pytest]\nfilterwarnings =\n    error\n    ignore::DeprecationWarning\n",
            ),
        );
        check(
            "pyproject.toml",
            "[tool.pytest.ini_options]\naddopts = [\"-ra\", \"-ppkg\", \"-p pkg.plugin\", \"--slow\"]\n",
            Some("[tool.pytest.ini_options]\naddopts = [\"-ra\"]\n"),
        );
        check(
            "entry_points.txt",
            "[console_scripts]\npkg = pkg.cli:main\n\n[pytest11]\npkg = pkg.plugin\nother=others\n",
            Some("[console_scripts]\npkg = pkg.cli:main\n\n[pytest11]\nother=others\n"),
        );
        check("entry_points.txt", "[console_scripts]\npkg = pkg.cli:main\n", None);
        check(
            "pytest.ini",
            "[pytest]\npythonpath = .\nSETTINGS = pkg.settings\n# more\nx = pkg settings.py\n",
            Some("[pytest]\npythonpath = .\nx = pkg settings.py\n"),
        );
        check(
            "pyproject.toml",
            "[tool.pytest.ini_options]\nSETTINGS = \"pkg.settings\"\nx = \"other.settings\"\n",
            Some("[tool.pytest.ini_options]\nx = \"other.settings\"\n"),
        );
        check("pyproject.toml", "[tool.other]\naddopts = '--slow'\n", None);
        check("pyproject.toml", "not toml", None);
    }

    #[test]
    fn a_configuration_is_options() {
        for (name, text, expected) in [
            (
                "pytest.ini",
                "[pytest]\naddopts = -ra -k 'a b'\nfilterwarnings =\n    error\n    ignore:x\ntestpaths = t\n",
                vec![vec!["-ra", "-k", "a b"], vec!["-o", "filterwarnings=error\nignore:x"]],
            ),
            (
                "pyproject.toml",
                "[tool.pytest.ini_options]\nxfail_strict = true\nmarkers = ['a: b', 'c']\n",
                vec![vec!["-o", "markers=a: b\nc"], vec!["-o", "xfail_strict=true"]],
            ),
            ("pyproject.toml", "[tool.other]\nx = 1\n", vec![]),
            ("setup.cfg", "[tool:pytest]\nxfail_strict = 1\n", vec![vec!["-o", "xfail_strict=1"]]),
            ("setup.cfg", "[pytest]\nxfail_strict = 1\n", vec![]),
        ] {
            let text_of = |file: &str| (file == name).then(|| text.to_owned());
            assert_eq!(as_options(&text_of), expected, "{text}");
        }
    }

    #[test]
    fn markers_that_removed_files_define_are_not_asked_for() {
        let mut gone = Gone::default();
        gone.note("def pytest_configure(config):\n    config.addinivalue_line(\n        'markers', text)\n");
        for (name, text, expected) in [
            (
                "pytest.ini",
                "[pytest]\naddopts = -ra --strict-markers\nstrict_markers = true\nfilterwarnings =\n    error\n",
                "[pytest]\naddopts =\n    -ra\nstrict_markers =\n    false\nfilterwarnings =\n    error\n    ignore::pytest.PytestUnknownMarkWarning\n",
            ),
            (
                "pyproject.toml",
                "[tool.pytest.ini_options]\naddopts = \"--strict-markers -q\"\nfilterwarnings = [\"error\"]\nstrict = true\n",
                "[tool.pytest.ini_options]\naddopts = \"-q\"\nfilterwarnings = [\"error\", \"ignore::pytest.PytestUnknownMarkWarning\"]\n",
            ),
        ] {
            assert_eq!(gone.cleaned(name, text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn test_modules_are_those_of_the_configuration() {
        let directory = tempfile::tempdir().unwrap();
        let configured =
            "[tool.pytest.ini_options]\npython_files = ['check_*.py', 'x/*_t.py', '*']\n";
        std::fs::write(directory.path().join("pyproject.toml"), configured).unwrap();
        let patterns = python_files(directory.path());
        for (path, expected) in [
            ("tests/test_a.py", true),
            ("a_test.py", true),
            ("tests/check_a.py", true),
            ("d/x/a_t.py", true),
            ("d/a_t.py", false),
            ("src/a.py", false),
        ] {
            assert_eq!(matches(&patterns, path), expected, "{path}");
        }
    }
}
