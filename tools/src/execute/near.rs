//! Tests that a repository has and whose names are like one that it lacks: hints for a mistyped node id.

use graph::{OutlineItem, outline, walk};

use crate::{
    command::{Command, TestId},
    repository::Repository,
};

/// Most tests in a hint.
const SHOWN: usize = 3;
/// The least likeness of a hint, by the measure of Jaro and Winkler; commands and topics have the same.
const LIKE: f64 = 0.8;

/// Returns the tests that the first missing test of a command may have meant, the most similar first.
pub(super) fn near_tests(repository: &Repository, command: &Command) -> Vec<String> {
    let (files, _) = walk(&repository.root, &repository.walk());
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let names = |path: &str| qualified_names(&outline(&repository.texts().of(path)));
    near(&command.tests(), &paths, &names)
}

/// Returns the near ones among the names of files; `names` returns the definitions of a file.
fn near(tests: &[TestId], paths: &[&str], names: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
    tests
        .iter()
        .find_map(|test| {
            let wanted = test.names.join("::");
            if !paths.contains(&test.path.as_str()) {
                // Of a directory, pytest says what is wrong.
                let is_file = test.path.ends_with(".py");
                let found = if is_file { most_like(&test.path, paths) } else { Vec::new() };
                let has_test = |path: &&&str| names(path).contains(&wanted);
                let whole: Vec<String> =
                    found.iter().filter(has_test).map(|path| format!("{path}::{wanted}")).collect();
                return Some(match whole.is_empty() {
                    true => found.into_iter().map(str::to_owned).collect(),
                    false => whole,
                });
            }
            let known = names(&test.path);
            if wanted.is_empty() || known.contains(&wanted) {
                let plain = test.param.is_some().then(|| format!("{}::{wanted}", test.path));
                return plain.map(|plain| vec![plain]);
            }
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let found = most_like(&wanted, &known).into_iter();
            Some(found.map(|name| format!("{}::{name}", test.path)).collect())
        })
        .unwrap_or_default()
}

/// Returns the words most like one: by the whole, or by the last part behind `/` or `::`.
fn most_like<'a>(word: &str, known: &[&'a str]) -> Vec<&'a str> {
    let last = |text: &str| text.rsplit(['/', ':']).next().unwrap_or_default().to_owned();
    let likeness = |other: &str| {
        let whole = strsim::jaro_winkler(word, other);
        whole.max(strsim::jaro_winkler(&last(word), &last(other)))
    };
    let mut found: Vec<(f64, &str)> = known
        .iter()
        .map(|other| (likeness(other), *other))
        .filter(|(like, _)| *like > LIKE)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    found.into_iter().take(SHOWN).map(|(_, other)| other).collect()
}

/// Returns the classes and functions of a file as node ids have them: `TestX::test_y`.
fn qualified_names(items: &[OutlineItem]) -> Vec<String> {
    let mut above: Vec<&str> = Vec::new();
    items
        .iter()
        .map(|item| {
            above.truncate(item.depth as usize);
            above.push(&item.name);
            above.join("::")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_test_has_near_ones() {
        let paths = ["pkg/utils.py", "tests/test_utils.py", "tests/test_models.py"];
        let text = "class TestSize:\n    def test_empty(self): pass\n    def test_large(self): pass\n\
                    def test_round_trip(): pass\n";
        let names = |path: &str| match path {
            "tests/test_utils.py" => qualified_names(&outline(text)),
            _ => Vec::new(),
        };
        for (id, expected) in [
            ("tests/test_utils.py::test_roundtrip", &["tests/test_utils.py::test_round_trip"][..]),
            (
                "tests/test_utils.py::TestSize::test_emty",
                &["tests/test_utils.py::TestSize::test_empty", "tests/test_utils.py::TestSize"],
            ),
            ("tests/test_utils.py::test_empty", &["tests/test_utils.py::TestSize::test_empty"]),
            ("test_utils.py::test_round_trip", &["tests/test_utils.py::test_round_trip"]),
            ("tests/test_utils.py::test_round_trip[x]", &["tests/test_utils.py::test_round_trip"]),
            ("tests/test_utils.py::qqq", &[]),
            ("tests/test_utils.py", &[]),
        ] {
            let found = near(&[TestId::parse(id)], &paths, &names);
            assert_eq!(found.first(), expected.first().map(|id| (*id).to_owned()).as_ref(), "{id}");
        }
    }
}
