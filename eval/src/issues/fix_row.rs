//! Rows made of the issues of a suite: the true patch and the tests' patch from two releases, and the lists of tests from
//! runs without and with the true patch.

use std::{collections::BTreeMap, io::Read, path::Path};

use graph::open_beneath;
use tools::{Repository, RepositoryError, Status, patch_of};

use super::{
    IssueRow, RowRelease,
    fix_suite::PinnedFix,
    test_run::{IssueBed, IssueTests, RanTests, TestRun, of_git},
};
use crate::error::EvalError;

/// A row, and its lists of tests beside those of the suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltRow {
    /// The row.
    pub row: IssueRow,
    /// The differences between what the runs show and what the suite says; empty for a good row.
    pub differences: Vec<String>,
}

/// The hash seeds of the runs: a test counts that does the same under both.
const SEEDS: [u32; 2] = [0, 1];

/// Makes the row of an issue; `bed` has the release with the issue, `fixed` is the one without.
///
/// The tests run twice without and twice with the true patch.
///
/// # Errors
/// A file of the suite is not there or not changed, the tests cannot be run, the machine fails or the user interrupts.
pub fn build_issue_row(
    bed: &IssueBed<'_>,
    fixed: &Repository,
    issue: &PinnedFix,
    python: &str,
    requirements: &str,
) -> Result<BuiltRow, EvalError> {
    let problem = |reason: String| EvalError::Problem { problem: issue.id.clone(), reason };
    let change = |files: &[String]| {
        let texts = texts_of(fixed, files).map_err(of_git)?;
        for path in files {
            let same = text_in(&bed.repository.root, path).ok().as_ref() == texts.get(path);
            if same {
                return Err(problem(format!("{path} is the same in both releases")));
            }
        }
        patch_of(&bed.request(), &texts).map_err(of_git)
    };
    let (patch, test_patch) = (change(&issue.patch)?, change(&issue.tests)?);
    let tests = IssueTests { patch: &test_patch, paths: issue.paths(), kept: &[] };
    let ran = |patch: Option<&str>, seed: u32| match bed.run(&tests, patch, seed)? {
        TestRun::Ran(ran) if ran.complete => Ok(ran),
        TestRun::Ran(ran) => Err(problem(format!(
            "its tests do not end ({})",
            ran.failure.unwrap_or_else(|| end_of(ran.status).to_owned())
        ))),
        TestRun::NotApplied(class) => Err(problem(format!("its true patch: {}", class.name()))),
        TestRun::Removed { test } => Err(problem(format!("its true patch removes {test}"))),
    };
    let runs = |patch: Option<&str>| -> Result<Vec<RanTests>, EvalError> {
        SEEDS.into_iter().map(|seed| ran(patch, seed)).collect()
    };
    let (before, after) = (runs(None)?, runs(Some(&patch))?);
    let in_all =
        |runs: &[RanTests], test: &String| runs.iter().all(|run| run.passing.contains(test));
    let in_none =
        |runs: &[RanTests], test: &String| !runs.iter().any(|run| run.passing.contains(test));
    let stable = after[0].passing.iter().filter(|test| in_all(&after, test));
    let (mut fail_to_pass, mut pass_to_pass) = (Vec::new(), Vec::new());
    for test in stable {
        if in_none(&before, test) {
            fail_to_pass.push(test.clone());
        } else if in_all(&before, test) {
            pass_to_pass.push(test.clone());
        }
    }
    let mut differences = Vec::new();
    let first = after[0].failure.as_ref().map(|line| format!(" (with it fails {line})"));
    let first = first.unwrap_or_default();
    let mut wanted = issue.fail_to_pass.clone();
    wanted.sort_unstable();
    if fail_to_pass.is_empty() {
        differences.push(format!("no test passes with its true patch alone{first}"));
    } else if fail_to_pass != wanted {
        let shown = serde_json::to_string(&fail_to_pass).expect("texts are plain data");
        differences.push(format!("fail_to_pass is {shown}{first}"));
    }
    if pass_to_pass.len() != issue.pass_to_pass {
        let (found, wanted) = (pass_to_pass.len(), issue.pass_to_pass);
        differences.push(format!("pass_to_pass is {found}, not {wanted}"));
    }
    let row = IssueRow {
        instance_id: issue.id.clone(),
        repo: format!("pypi/{}", issue.package),
        base_commit: issue.before.version.clone(),
        problem_statement: issue.problem_statement.clone(),
        patch,
        test_patch,
        version: issue.before.version.clone(),
        fail_to_pass,
        pass_to_pass,
        release: Some(RowRelease {
            package: issue.package.clone(),
            version: issue.before.version.clone(),
            artifact: issue.before.artifact.clone(),
            sha256: issue.before.sha256.clone(),
            fixed_version: issue.after.version.clone(),
            licence: issue.licence.clone(),
            python: python.to_owned(),
            requirements: requirements.to_owned(),
        }),
    };
    Ok(BuiltRow { row, differences })
}

/// The texts of files of a repository.
fn texts_of(
    repository: &Repository,
    files: &[String],
) -> Result<BTreeMap<String, String>, RepositoryError> {
    files.iter().map(|path| Ok((path.clone(), text_in(&repository.root, path)?))).collect()
}

fn text_in(root: &Path, path: &str) -> Result<String, RepositoryError> {
    let read = || {
        let mut text = String::new();
        open_beneath(root, Path::new(path))?.read_to_string(&mut text)?;
        Ok(text)
    };
    read().map_err(|source| RepositoryError::Read { path: root.join(path), source })
}

/// The end of a run, for a reader.
pub(super) fn end_of(status: Status) -> &'static str {
    match status {
        Status::TimedOut => "they take too long",
        Status::OutOfMemory => "they need too much memory",
        Status::Signaled(_) => "they are ended by a signal",
        Status::Interrupted | Status::Exited(_) => "the run has no record of its end",
    }
}
