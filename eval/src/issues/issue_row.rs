//! Rows of issues in SWE-bench's form (JSONL).
//!
//! Of a row only what solving and locating need is read; other fields may be there. A row that lacks one is told apart.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::repoexec::MalformedRow;

/// An issue, the repository at its commit, and the true patch where it is known.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
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
}

impl IssueRow {
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
        self.problem_statement.trim().is_empty().then(|| "problem_statement is empty".to_owned())
    }
}

/// Reads a file of issues: its rows, and those that are none. Empty lines are no rows.
pub fn read_issue_rows(text: &str) -> (Vec<IssueRow>, Vec<MalformedRow>) {
    let (mut rows, mut malformed) = (Vec::new(), Vec::new());
    let mut ids = BTreeSet::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let row = serde_json::from_str::<IssueRow>(line).map_err(|error| error.to_string());
        let row = row.and_then(|row| match row.fault() {
            Some(fault) => Err(fault),
            None if !ids.insert(row.instance_id.clone()) => {
                Err(format!("the id {} is another row's", row.instance_id))
            }
            None => Ok(row),
        });
        match row {
            Ok(row) => rows.push(row),
            Err(reason) => malformed.push(MalformedRow { line: at + 1, reason }),
        }
    }
    (rows, malformed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
        let told: Vec<(usize, &str)> = malformed
            .iter()
            .map(|row| (row.line, row.reason.split(" at line").next().unwrap()))
            .collect();
        assert_eq!(
            told,
            [
                (3, "expected ident"),
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
