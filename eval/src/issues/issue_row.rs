//! Rows of issues in SWE-bench's form (JSONL).
//!
//! Of a row only what solving, locating and testing need is read; other fields may be there. A row that lacks one is told
//! apart. A row may have a field that SWE-bench's have not: the release that is its base, with what its tests need.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use tools::is_inside;

use crate::json_lines::{MalformedRow, json_fault, read_json_lines};

/// An issue, the repository at its commit, and the true patch and the tests where they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueRow {
    /// The id of the row.
    pub instance_id: String,
    /// `OWNER/NAME`.
    pub repo: String,
    /// The commit at which the issue was reported.
    pub base_commit: String,
    /// The text of the issue.
    pub problem_statement: String,
    /// The true patch.
    #[serde(default)]
    pub patch: String,
    /// The change of the tests that comes with it.
    #[serde(default)]
    pub test_patch: String,
    /// The version of the package.
    #[serde(default)]
    pub version: String,
    /// The tests that pass with the true patch and not without it, as pytest names them.
    #[serde(
        rename = "FAIL_TO_PASS",
        default,
        serialize_with = "write_names",
        deserialize_with = "read_names"
    )]
    #[schemars(with = "String")]
    pub fail_to_pass: Vec<String>,
    /// The tests that pass with and without it.
    #[serde(
        rename = "PASS_TO_PASS",
        default,
        serialize_with = "write_names",
        deserialize_with = "read_names"
    )]
    #[schemars(with = "String")]
    pub pass_to_pass: Vec<String>,
    /// The release that is the base, in the place of a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<RowRelease>,
}

/// A release as the base of a row, with the environment of its tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowRelease {
    /// The name of the package.
    pub package: String,
    /// The version with the issue.
    pub version: String,
    /// The name of its file in the index.
    pub artifact: String,
    /// The sha256 of the file, hexadecimal.
    pub sha256: String,
    /// The version from which the true patch and the tests come.
    pub fixed_version: String,
    /// The licence of the package.
    pub licence: String,
    /// The version of Python: `3.12`.
    pub python: String,
    /// The text of a lock file.
    pub requirements: String,
}

/// Serializes names as SWE-bench does: a string that contains a JSON list, `"[\"t.py::a\"]"`.
fn write_names<S: Serializer>(names: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    let text = serde_json::to_string(names).expect("texts are plain data");
    serializer.serialize_str(&text)
}

/// Deserializes a string that contains a JSON list, a plain list, or an empty string (no names).
fn read_names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        Text(String),
        List(Vec<String>),
    }
    match Names::deserialize(deserializer)? {
        Names::List(names) => Ok(names),
        Names::Text(text) if text.trim().is_empty() => Ok(Vec::new()),
        Names::Text(text) => serde_json::from_str(&text)
            .map_err(|error| D::Error::custom(format!("a list of tests: {}", json_fault(&error)))),
    }
}

impl IssueRow {
    /// Returns the reason why a patch of this row cannot be tested: no FAIL_TO_PASS, or an id that is not `PATH::NAME`.
    /// Returns `None` if it can.
    pub fn without_tests(&self) -> Option<String> {
        if self.fail_to_pass.is_empty() {
            return Some("FAIL_TO_PASS is empty".to_owned());
        }
        let mut tests = self.fail_to_pass.iter().chain(&self.pass_to_pass);
        let odd = tests.find(|test| {
            let (path, name) = test.split_once("::").unwrap_or_default();
            name.is_empty() || !is_inside(path)
        });
        odd.map(|test| format!("test {test:?} is none of pytest (PATH::NAME)"))
    }

    /// The reason why a row cannot be used.
    fn fault(&self) -> Option<String> {
        let is_plain = |text: &str| {
            let odd = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_' | '-');
            !text.is_empty() && !text.contains(odd) && !text.starts_with(['.', '-'])
        };
        let names: Vec<&str> = self.repo.split('/').collect();
        if names.len() != 2 || !names.iter().all(|name| is_plain(name)) {
            return Some(format!("repo {:?} is no OWNER/NAME", self.repo));
        }
        if !is_plain(&self.instance_id) {
            return Some(format!("instance_id {:?} is no name", self.instance_id));
        }
        if !is_plain(&self.base_commit) {
            return Some(format!("base_commit {:?} is no commit", self.base_commit));
        }
        let release = self.release.iter();
        let odd = release.flat_map(|one| [&one.package, &one.version]).find(|name| !is_plain(name));
        if let Some(name) = odd {
            return Some(format!("release {name:?} is no name or version"));
        }
        self.problem_statement.trim().is_empty().then(|| "problem_statement is empty".to_owned())
    }
}

/// Parses a JSONL file: the valid rows, and the malformed lines with reasons. Empty lines are skipped; a repeated id is
/// malformed.
pub fn read_issue_rows(text: &str) -> (Vec<IssueRow>, Vec<MalformedRow>) {
    let mut ids = BTreeSet::new();
    read_json_lines(text, |row: &IssueRow| {
        let mut is_new = || ids.insert(row.instance_id.clone());
        match row.fault() {
            None if !is_new() => Some(format!("the id {} is another row's", row.instance_id)),
            fault => fault,
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_of_tests_are_read_in_both_forms() {
        let head = "{\"instance_id\":\"a\",\"repo\":\"a/b\",\"base_commit\":\"1\",\"problem_statement\":\"x\",";
        for (tests, expected) in [
            (r#""FAIL_TO_PASS":["t.py::a"]}"#, Some(1)),
            (r#""FAIL_TO_PASS":"[\"t.py::a\", \"t.py::b\"]"}"#, Some(2)),
            (r#""FAIL_TO_PASS":""}"#, Some(0)),
            (r#""version":"1"}"#, Some(0)),
            (r#""FAIL_TO_PASS":"t.py"}"#, None),
            (r#""FAIL_TO_PASS":3}"#, None),
        ] {
            let (rows, malformed) = read_issue_rows(&format!("{head}{tests}\n"));
            assert_eq!(rows.first().map(|row| row.fail_to_pass.len()), expected, "{malformed:?}");
            for row in rows {
                let written = serde_json::to_string(&row).unwrap();
                assert_eq!(read_issue_rows(&written).0, [row]);
            }
        }
    }

    #[test]
    fn rows_without_their_fields_are_told_apart() {
        let row = |id: &str, repo: &str, commit: &str, text: &str| {
            json!({
                "instance_id": id, "repo": repo, "base_commit": commit, "problem_statement": text,
                "version": "1.0", "FAIL_TO_PASS": "[]",
            })
            .to_string()
        };
        let text = [
            row("a__b-1", "a/b", "1f", "It fails."),
            String::new(),
            "no row".to_owned(),
            json!({ "instance_id": "x" }).to_string(),
            row("a__b-1", "a/b", "1f", "Again."),
            row("a__b-2", "a/../b", "1f", "x"),
            row("a__b-3", "a/b", "--upload-pack=x", "x"),
            row("a__b-4", "a/b", "1f", " "),
            row("../x", "a/b", "1f", "x"),
        ]
        .join("\n");
        let (rows, malformed) = read_issue_rows(&text);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].instance_id.as_str(), rows[0].patch.as_str()), ("a__b-1", ""));
        let told: Vec<(usize, &str)> =
            malformed.iter().map(|row| (row.line, row.reason.as_str())).collect();
        assert_eq!(
            told,
            [
                (3, "it is no JSON (column 2)"),
                (4, "missing field `repo`"),
                (5, "the id a__b-1 is another row's"),
                (6, "repo \"a/../b\" is no OWNER/NAME"),
                (7, "base_commit \"--upload-pack=x\" is no commit"),
                (8, "problem_statement is empty"),
                (9, "instance_id \"../x\" is no name"),
            ]
        );
    }
}
