//! Verdicts in the formats that other programs read: `--output-format`.
//!
//! Owns the list of formats and the one shape, [`Checked`], that each is written from. `run`, `eval` and
//! `bench` bring their results into that shape; nothing here judges.

mod checked;
mod github;
mod junit;
mod markdown;
mod sarif;

use clap::{Args, ValueEnum};

pub use checked::{Checked, CheckedProblem, ProblemLevel, Verdict};

use super::surroundings::Surroundings;

/// A choice of how results are printed.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct FormatChoice {
    /// Format of the results; --json is the same as json.
    #[arg(long, value_enum, value_name = "FORMAT")]
    output_format: Option<OutputFormat>,
}

/// The formats of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For a reader.
    Full,
    /// All that is stored, as JSON.
    Json,
    /// Annotations of GitHub's workflows.
    Github,
    /// A JUnit file.
    Junit,
    /// The Static Analysis Results Interchange Format 2.1.0.
    Sarif,
    /// A table for a comment or a summary.
    Markdown,
}

/// A format that is written from [`Checked`] alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckedFormat {
    /// See [`OutputFormat::Github`].
    Github,
    /// See [`OutputFormat::Junit`].
    Junit,
    /// See [`OutputFormat::Sarif`].
    Sarif,
    /// See [`OutputFormat::Markdown`].
    Markdown,
}

/// The format in which a command prints its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Printed {
    /// As text for a reader.
    Full,
    /// As all of the command's own JSON.
    Json,
    /// As the results in a format of other programs.
    Checked(CheckedFormat),
}

impl FormatChoice {
    /// The format that was chosen; `--output-format` counts more than `--json`.
    pub fn printed(self, around: &Surroundings) -> Printed {
        match self.output_format {
            None if around.json => Printed::Json,
            None | Some(OutputFormat::Full) => Printed::Full,
            Some(OutputFormat::Json) => Printed::Json,
            Some(OutputFormat::Github) => Printed::Checked(CheckedFormat::Github),
            Some(OutputFormat::Junit) => Printed::Checked(CheckedFormat::Junit),
            Some(OutputFormat::Sarif) => Printed::Checked(CheckedFormat::Sarif),
            Some(OutputFormat::Markdown) => Printed::Checked(CheckedFormat::Markdown),
        }
    }
}

impl CheckedFormat {
    /// Writes results, one after the other, ended by a line break.
    pub fn write(self, results: &[Checked]) -> String {
        match self {
            Self::Github => github::write(results),
            Self::Junit => junit::write(results),
            Self::Sarif => sarif::write(results),
            Self::Markdown => markdown::write(results),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> Checked {
        let problem = |rule, level, message: &str, line| CheckedProblem {
            rule,
            level,
            message: message.to_owned(),
            file: "out/a b,c.py".to_owned(),
            line,
        };
        Checked {
            name: "pytest a.py::f[x|y]".to_owned(),
            group: "repo".to_owned(),
            verdict: Verdict::Failed,
            headline: "not faithful: <other> & more".to_owned(),
            problems: vec![
                problem("difference", ProblemLevel::Error, "100% *other*\nlines", None),
                problem("note", ProblemLevel::Note, "line of its own", Some(7)),
            ],
            measures: vec![("lines", "9".to_owned())],
            seconds: 1.5,
        }
    }

    fn check(format: CheckedFormat, expected: &[&str]) {
        let text = format.write(&[failed()]);
        assert!(text.ends_with('\n'), "{text}");
        for part in expected {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn annotations_are_escaped_as_the_runner_decodes_them() {
        check(
            CheckedFormat::Github,
            &[
                "::error file=out/a b%2Cc.py,title=gistify difference::100%25 *other*%0Alines\n",
                "::notice file=out/a b%2Cc.py,line=7,title=gistify note::line of its own\n",
            ],
        );
    }

    #[test]
    fn a_junit_file_has_a_case_for_each_gist() {
        check(
            CheckedFormat::Junit,
            &[
                "<testsuite name=\"repo\" tests=\"1\" skipped=\"0\" errors=\"0\" failures=\"1\"",
                "name=\"pytest a.py::f[x|y]\" classname=\"repo\" time=\"1.500\"",
                "<property name=\"lines\" value=\"9\"/>",
                "message=\"not faithful: &lt;other&gt; &amp; more\"",
            ],
        );
    }

    #[test]
    fn a_markdown_cell_cannot_be_left() {
        check(
            CheckedFormat::Markdown,
            &[
                "| `pytest a.py::f[x\\|y]` | **failed** | lines 9 |",
                "- difference: 100% \\*other\\* lines",
                "- note: line 7: line of its own",
            ],
        );
    }

    #[test]
    fn sarif_names_the_rule_and_the_place() {
        let text = CheckedFormat::Sarif.write(&[failed()]);
        let file: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(file["version"], "2.1.0");
        let results = &file["runs"][0]["results"];
        assert_eq!(results[0]["ruleId"], "difference");
        assert_eq!(results[1]["level"], "note");
        let place = &results[1]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "out/a%20b%2Cc.py");
        assert_eq!(place["region"]["startLine"], 7);
    }
}
