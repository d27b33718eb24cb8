//! `gistify issues build`: rows in SWE-bench's form from a suite of pinned releases.

use std::path::PathBuf;

use ::eval::{
    BuiltRow, FixSuite, IssueBed, PinnedFix, PinnedRelease, Table, build_issue_row, write_tables,
};
use clap::Args;
use tools::{Repository, Sandbox, Workspace};

use super::{
    super::{
        Exit, Failure, OrExit,
        destination::check_file,
        flags::Flags,
        named_suite::{NamedSuite, SuiteFiles, SuiteKind},
        progress::ProgressLine,
        row_work::RowChoice,
        surroundings::Surroundings,
        tables::Style,
    },
    row_source::{RowSource, pinned_environment},
};
use crate::record::replace;

#[derive(Debug, Args)]
pub struct BuildRows {
    /// A file of issues, or the name of one of the program's: twenty-fixes.
    #[arg(default_value = "twenty-fixes")]
    suite: String,
    /// The file for the rows.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    choice: RowChoice,
    /// The interpreter [default: the suite's version, with the packages of its lock].
    #[arg(long, value_name = "PYTHON")]
    python: Option<String>,
    /// Format of the table.
    #[arg(long, value_enum, default_value = "text")]
    format: Style,
    /// Replace a file that exists.
    #[arg(long)]
    force: bool,
}

impl BuildRows {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.text("--python", "environment.python", self.python.as_deref());
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        check_file(&self.output, self.force)?;
        let (suite, files) = self.suite()?;
        let mut issues: Vec<&PinnedFix> = suite.issues.iter().collect();
        self.choice.choose(&mut issues, |issue| &issue.id);
        let progress = ProgressLine::new(around.talk);
        let sandbox = around.sandbox()?;
        let (mut text, mut cells, mut bad) = (String::new(), Vec::new(), 0);
        for issue in issues {
            let built = row_of(&suite, &files, issue, around, &*sandbox, &progress);
            let line = match built {
                Err(failure) if failure.exit == Exit::Interrupted => return Err(failure),
                Err(failure) => {
                    progress.line(&format!("{}: {} (left out)", issue.id, failure.message()));
                    bad += 1;
                    cells.push(cells_of(issue, None));
                    continue;
                }
                Ok(built) => built,
            };
            for difference in &line.differences {
                progress.line(&format!("{}: {difference} (left out)", issue.id));
            }
            cells.push(cells_of(issue, Some(&line)));
            if line.differences.is_empty() {
                let row = serde_json::to_string(&line.row).or_exit(Exit::Infrastructure)?;
                text.push_str(&format!("{row}\n"));
            } else {
                bad += 1;
            }
            replace(&self.output, text.as_bytes()).or_exit(Exit::Input)?;
        }
        progress.clear();
        if cells.is_empty() {
            return Err(Failure::new(Exit::Input, "the suite has no issue of that kind"));
        }
        let table = Table::named(
            "rows",
            "Rows of issues",
            &["issue", "fixed in", "licence", "row"],
            &["files", "changed lines", "fail to pass", "pass to pass"],
            cells,
        );
        print!("{}", write_tables(&[table], self.format.format(around)));
        Ok(if bad == 0 { Exit::Success } else { Exit::NotFaithful })
    }

    /// The suite, and where its files are.
    fn suite(&self) -> Result<(FixSuite, SuiteFiles), Failure> {
        let NamedSuite { text, files } = NamedSuite::read(&self.suite, SuiteKind::Issues)?;
        let suite = FixSuite::parse(&self.suite, &text).or_exit(Exit::Input)?;
        Ok((suite, files))
    }
}

/// Makes the row of one issue.
fn row_of(
    suite: &FixSuite,
    files: &SuiteFiles,
    issue: &PinnedFix,
    around: &Surroundings,
    sandbox: &dyn Sandbox,
    progress: &ProgressLine,
) -> Result<BuiltRow, Failure> {
    let requirements = files.text(issue.lock(suite))?;
    let release = |pinned: &PinnedRelease| -> Result<Repository, Failure> {
        let named = format!("pypi:{}=={}", issue.package, pinned.version);
        RowSource { named, artifact: Some(pinned.file()) }.open(around, sandbox, progress)
    };
    let (before, after) = (release(&issue.before)?, release(&issue.after)?);
    let workspace = Workspace::create(&around.scratch()?).or_exit(Exit::Infrastructure)?;
    let environment =
        pinned_environment(&suite.python, &requirements, &before, around, sandbox, progress)?;
    progress.say(&format!("{}: run its tests", issue.id));
    let bed = IssueBed {
        sandbox,
        host: &around.host,
        repository: &before,
        environment: &environment,
        workspace: &workspace,
        limits: around.settings.command.limits(),
    };
    build_issue_row(&bed, &after, issue, &suite.python, &requirements)
        .map_err(|error| around.unevaluated(error))
}

/// The cells of an issue in the table.
fn cells_of(issue: &PinnedFix, built: Option<&BuiltRow>) -> Vec<String> {
    let count = |of: &dyn Fn(&BuiltRow) -> usize| {
        built.map_or_else(|| "-".to_owned(), |built| of(built).to_string())
    };
    let changed = |built: &BuiltRow| {
        let lines = built.row.patch.lines().filter(|line| {
            line.starts_with(['+', '-']) && !line.starts_with("+++ ") && !line.starts_with("--- ")
        });
        lines.count()
    };
    let state = match built {
        None => "failed",
        Some(built) if built.differences.is_empty() => "good",
        Some(_) => "differs",
    };
    vec![
        issue.id.clone(),
        issue.after.version.clone(),
        issue.licence.clone(),
        state.to_owned(),
        issue.patch.len().to_string(),
        count(&changed),
        count(&|built| built.row.fail_to_pass.len()),
        count(&|built| built.row.pass_to_pass.len()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_of_the_program_are_whole() {
        let embedded = SuiteKind::Issues.directory();
        let names: Vec<&str> = embedded
            .files()
            .filter_map(|file| file.path().to_str()?.strip_suffix(".toml"))
            .collect();
        assert_eq!(names, ["twenty-fixes"]);
        let suite = embedded.get_file("twenty-fixes.toml").unwrap().contents_utf8().unwrap();
        let suite = FixSuite::parse("twenty-fixes", suite).unwrap();
        assert_eq!(suite.issues.len(), 20);
        let packages: std::collections::BTreeSet<&str> =
            suite.issues.iter().map(|issue| issue.package.as_str()).collect();
        assert_eq!(packages.len(), 20, "a package is there twice");
        for issue in &suite.issues {
            let lock = embedded.get_file(issue.lock(&suite));
            assert!(lock.is_some(), "{}: no lock", issue.id);
            assert!(!issue.fail_to_pass.is_empty() && issue.pass_to_pass > 0, "{}", issue.id);
            assert!(issue.problem_statement.starts_with("# "), "{}", issue.id);
        }
    }
}
