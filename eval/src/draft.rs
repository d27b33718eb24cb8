//! The text of a suite that was collected, in the form in which suites are read.

use std::{fmt::Write, path::Path};

use tools::Environment;

use crate::{
    collect::Collected,
    task::{Suite, TaskError},
};

/// A suite to be written.
#[derive(Debug, Clone, Copy)]
pub struct SuiteDraft<'a> {
    /// Its name: that of its file, without extension.
    pub name: &'a str,
    /// The origin of the tests.
    pub origin: &'a SuiteOrigin,
    /// The seed of the draw.
    pub seed: u64,
    /// The drawn tests.
    pub collected: &'a Collected,
    /// The licence of the repository, as its metadata name it.
    pub license: Option<&'a str>,
}

/// The origin of a suite's tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SuiteOrigin {
    /// A release on a package index, pinned.
    Release {
        /// The project.
        repo: String,
        /// Its version.
        version: String,
        /// The file that stands for it.
        artifact: tools::Artifact,
        /// Its directory in that file.
        root: String,
        /// Version of the interpreter: `3.11`.
        python: String,
        /// The entries of `sys.path` for the commands, relative to the root.
        pythonpath: Vec<String>,
        /// Path of the lock, relative to the suite.
        lock: String,
    },
    /// A directory, or a repository at a revision.
    Source {
        /// As a user would name it.
        source: String,
        /// The last part of its path, for ids.
        label: String,
        /// The interpreter that the user named; empty for the repository's own choice.
        python: String,
    },
}

impl SuiteDraft<'_> {
    /// The suite's file.
    ///
    /// # Errors
    /// When what was collected cannot be read as a suite.
    pub fn text(&self) -> Result<String, TaskError> {
        let mut out = String::new();
        let label = self.head(&mut out);
        for task in &self.collected.drawn {
            let (counts, hard) = (task.counts, task.difficulty);
            out.push_str("\n[[task]]\n");
            pair(&mut out, "id", &format!("{label}::{}", task.test));
            pair(&mut out, "test", &task.test);
            pair(&mut out, "command", &task.command);
            for (key, value) in [
                ("passed", u64::from(counts.passed)),
                ("skipped", u64::from(counts.skipped)),
                ("failed", u64::from(counts.failed)),
                ("xfailed", u64::from(counts.xfailed)),
                ("calls", hard.calls),
                ("functions", hard.functions),
                ("files", hard.files),
                ("lines", hard.lines),
                ("src_calls", hard.src_calls),
                ("src_functions", hard.src_functions),
                ("src_files", hard.src_files),
                ("files_with_imports", hard.files_with_imports),
                ("lines_with_imports", hard.lines_with_imports),
            ] {
                let measured = !key.ends_with("calls") || hard.calls > 0;
                if measured {
                    let _ = writeln!(out, "{key} = {value}");
                }
            }
            let _ = writeln!(out, "seconds = {:.2}", task.seconds);
        }
        for dropped in &self.collected.dropped {
            out.push_str("\n[[dropped]]\n");
            pair(&mut out, "test", &dropped.test);
            pair(&mut out, "reason", &dropped.reason);
        }
        // A suite that cannot be read is of no use to anybody; one without tasks still tells why.
        if !self.collected.drawn.is_empty() {
            Suite::parse(self.name, &out)?;
        }
        Ok(out)
    }

    /// Writes the part that all tasks share; returns the prefix of their ids.
    fn head(&self, out: &mut String) -> String {
        let collected = self.collected;
        let _ = writeln!(
            out,
            "# {} of {} tests, in the order of the SHA-256 of the seed and the test's id.",
            collected.drawn.len(),
            collected.tests
        );
        pair(out, "list", "collected");
        let _ = writeln!(out, "seed = {}", self.seed);
        if let Some(license) = self.license {
            pair(out, "license", license);
        }
        match self.origin {
            SuiteOrigin::Release { repo, version, artifact, root, python, pythonpath, lock } => {
                let entries: Vec<&str> = pythonpath
                    .iter()
                    .map(|entry| if entry.is_empty() { "." } else { entry.as_str() })
                    .collect();
                for (key, value) in [
                    ("repo", repo.as_str()),
                    ("version", version),
                    ("artifact", &artifact.file),
                    ("sha256", &artifact.sha256),
                    ("root", root),
                    ("python", python),
                    ("pythonpath", &entries.join(":")),
                    ("lock", lock),
                ] {
                    pair(out, key, value);
                }
                format!("{repo}-{version}")
            }
            SuiteOrigin::Source { source, label, python } => {
                pair(out, "source", source);
                if !python.is_empty() {
                    pair(out, "python", python);
                }
                label.clone()
            }
        }
    }

    /// Returns the distributions of an environment as a lock, without pip and the project itself.
    /// The project is installed only if pytest depends on it.
    pub fn lock(project: &str, environment: &Environment) -> String {
        let normal = |name: &str| name.to_lowercase().replace(['-', '_', '.'], "-");
        // The environment's own directory alone: what its base interpreter has is not seen from it.
        let own = environment.python.parent().and_then(Path::parent).map(Path::to_path_buf);
        let own = Environment { readable: own.into_iter().collect(), ..environment.clone() };
        let names = own.distributions();
        let distributions = names.iter().filter_map(|name| {
            let (name, version) = name.strip_suffix(".dist-info")?.rsplit_once('-')?;
            let is_project = normal(name) == normal(project);
            // What was not made by an installer is no more than the metadata of the repository.
            let has_files = || {
                let (major, minor, _) = own.version;
                let site = format!("lib/python{major}.{minor}/site-packages");
                let record = format!("{name}-{version}.dist-info/WHEEL");
                own.readable.iter().any(|place| place.join(&site).join(&record).is_file())
            };
            let kept = normal(name) != "pip" && (!is_project || has_files());
            kept.then(|| format!("{}=={version}\n", name.replace('_', "-")))
        });
        distributions.collect()
    }
}

/// One key and its text, quoted as TOML wants it.
fn pair(out: &mut String, key: &str, value: &str) {
    let _ = writeln!(out, "{key} = {}", toml::Value::from(value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::{Dropped, EligibleTest};

    #[test]
    fn what_is_written_is_read_back() {
        let test = "tests/test_a.py::Test::test_\"odd\"";
        let command = tools::Command::from_words(vec!["pytest".to_owned(), test.to_owned()]);
        let collected = Collected {
            tests: 2,
            drawn: vec![EligibleTest {
                test: test.to_owned(),
                command: command.unwrap().to_string(),
                counts: crate::Counts { passed: 3, ..Default::default() },
                difficulty: crate::Difficulty { files: 2, ..Default::default() },
                seconds: 0.5,
            }],
            dropped: vec![Dropped { test: "b".to_owned(), reason: "a\nline \\".to_owned() }],
        };
        let release = SuiteOrigin::Release {
            repo: "r".to_owned(),
            version: "1.0".to_owned(),
            artifact: tools::Artifact { file: "r-1.0.tar.gz".to_owned(), sha256: "0".repeat(64) },
            root: "r-1.0".to_owned(),
            python: "3.11".to_owned(),
            pythonpath: vec![String::new(), "src".to_owned()],
            lock: "locks/requirements-r.txt".to_owned(),
        };
        let source = SuiteOrigin::Source {
            source: "/somewhere/r".to_owned(),
            label: "r".to_owned(),
            python: String::new(),
        };
        for (origin, id) in [(release, "r-1.0::"), (source, "r::")] {
            let draft = SuiteDraft {
                name: "s",
                origin: &origin,
                seed: 7,
                collected: &collected,
                license: Some("MIT"),
            };
            let suite = Suite::parse("s", &draft.text().unwrap()).unwrap();
            let [task] = &suite.tasks[..] else { panic!("{suite:?}") };
            assert_eq!(task.id, format!("{id}{test}"));
            assert_eq!((task.expected.passed, task.difficulty.files), (3, 2));
            assert_eq!(task.license.as_deref(), Some("MIT"));
            let command = tools::Command::parse(&task.command).unwrap();
            assert_eq!(command.tests()[0].to_string(), test);
            match origin {
                SuiteOrigin::Release { pythonpath, .. } => assert_eq!(task.pythonpath, pythonpath),
                SuiteOrigin::Source { source, .. } => assert_eq!(task.source, Some(source)),
            }
        }
    }
}
