//! `gistify repoexec build`: the functions of repositories as rows, with what was left out and why.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use ::eval::{
    CompletionProblem, ProblemSource, TestChoice, TestedProblems, problem_table,
    with_existing_tests, write_tables,
};
use clap::{Args, ValueEnum, builder::RangedU64ValueParser};
use graph::{BuildOptions, Extraction, ExtractionOptions, extract_functions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::Repository;

use super::{
    super::{
        Exit, Failure, OrExit,
        destination::{check_file, make_directory},
        flags::Flags,
        graphs::walking,
        named_suite::{NamedSuite, SuiteKind},
        numbers::within,
        output,
        progress::ProgressLine,
        row_work::{write_json, write_rows},
        schema::schema_of,
        surroundings::Surroundings,
        tables::Style,
    },
    beds::Beds,
};

#[derive(Debug, Args)]
pub struct Build {
    /// Directories, git URLs or paths at a revision (PATH@REV, git+URL@REV), or pypi:NAME==VERSION.
    #[arg(required_unless_present = "suite", value_name = "REPOSITORY")]
    repositories: Vec<String>,
    /// A file of repositories, or the name of one of the program's: ten-packages.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["repositories", "first", "test_paths"])]
    suite: Option<String>,
    /// The directory for problems.jsonl, extraction.json and schema.json.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Depth of dependency sets.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    depth: u32,
    /// The tests of problems: those of the repository that execute the function, or none.
    #[arg(long, value_enum, default_value = "existing")]
    tests: TestsFrom,
    /// Files, directories or node ids of tests to run [default: what pytest takes by itself].
    #[arg(long, value_name = "PATH")]
    test_paths: Vec<String>,
    /// Most cases of a problem.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    cases: usize,
    /// Runs on the original in which cases have to pass.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// The least share of a function's lines that its cases execute, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 40.0, value_parser = within(0.0..=100.0))]
    coverage: f64,
    /// Only so many problems of each repository, by path and line.
    #[arg(long, value_name = "N")]
    first: Option<usize>,
    /// Write functions that make no problem too, each with the reason.
    #[arg(long)]
    all: bool,
    /// The interpreter, or its version [default: the repository's own choice].
    #[arg(long, value_name = "PYTHON")]
    python: Option<String>,
    /// Format of the table.
    #[arg(long, value_enum, default_value = "text")]
    format: Style,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
}

/// A file of repositories.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RepositorySuite {
    /// The version of Python for all of them.
    #[serde(default)]
    python: String,
    repository: Vec<SuiteRepository>,
}

/// A repository of a suite.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteRepository {
    source: String,
    /// Most problems of it.
    first: Option<usize>,
    /// Files, directories or node ids of its tests.
    #[serde(default)]
    tests: Vec<String>,
}

/// The source of the tests of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TestsFrom {
    /// The repository.
    Existing,
    /// Nowhere: rows for contexts alone, or for `repoexec tests`.
    None,
}

/// The functions of all repositories, as `extraction.json` has them.
#[derive(Serialize, JsonSchema)]
pub struct ExtractedFunctions {
    version: u32,
    /// The depth of dependency sets.
    depth: u32,
    repositories: Vec<ExtractionCounts>,
}

/// The functions of one repository.
#[derive(Default, Serialize, JsonSchema)]
struct ExtractionCounts {
    repository: String,
    /// Why it has no functions here: it cannot be opened, or its tests cannot be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    functions: usize,
    with_docstring: usize,
    /// Functions that make no task, by the reason.
    unfit: BTreeMap<&'static str, usize>,
    /// Files that were not read.
    skipped: Vec<UnreadFile>,
    /// Functions that no test is known of, by the reason; absent where no tests were run.
    #[serde(skip_serializing_if = "Option::is_none")]
    untested: Option<BTreeMap<&'static str, usize>>,
    problems: usize,
    licence: String,
}

/// A file that was not read.
#[derive(Serialize, JsonSchema)]
struct UnreadFile {
    path: String,
    reason: String,
}

impl Build {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.text("--python", "environment.python", self.python.as_deref());
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let progress = ProgressLine::new(around.talk);
        make_directory(&self.output)?;
        let output = self.output.join("problems.jsonl");
        check_file(&output, self.force)?;
        let suite = self.suite()?;
        let mut beds = Beds::new(around)?;
        let mut problems = Vec::new();
        let (mut counts, mut failed) = (Vec::new(), None);
        let wanted = around.settings.environment.python.as_str();
        let python = if wanted.is_empty() { suite.python.as_str() } else { wanted };
        for repository in &suite.repository {
            let made = self.of_repository(repository, python, &mut beds, around, &progress);
            let (mut made, count) = match made {
                Ok(made) => made,
                Err(failure)
                    if matches!(failure.exit, Exit::Interrupted | Exit::Infrastructure) =>
                {
                    return Err(failure);
                }
                Err(failure) => {
                    let (repository, message) = (repository.source.clone(), failure.message());
                    progress.line(&format!("{repository}: {message} (left out)"));
                    failed.get_or_insert(failure);
                    let failure = Some(message);
                    (Vec::new(), ExtractionCounts { repository, failure, ..Default::default() })
                }
            };
            problems.append(&mut made);
            counts.push(count);
        }
        progress.clear();
        let are_all_failed = counts.iter().all(|one| one.failure.is_some());
        let extracted = ExtractedFunctions { version: 1, depth: self.depth, repositories: counts };
        write_json(&self.output.join("extraction.json"), &extracted)?;
        if are_all_failed && let Some(failure) = failed.take() {
            return Err(failure);
        }
        write_rows(&output, &problems)?;
        write_json(&self.output.join("schema.json"), &schema_of::<CompletionProblem>())?;
        if around.json {
            output::json(&extracted);
        } else {
            print!("{}", write_tables(&[problem_table(&problems)], self.format.format(around)));
        }
        match problems.is_empty() {
            true => {
                Err(Failure::new(Exit::Input, "no function makes a problem (see extraction.json)"))
            }
            false if failed.is_some() => Ok(Exit::NotFaithful),
            false => Ok(Exit::Success),
        }
    }

    /// The repositories of the command line, or of a suite.
    fn suite(&self) -> Result<RepositorySuite, Failure> {
        let Some(name) = &self.suite else {
            let each = self.repositories.iter().map(|source| SuiteRepository {
                source: source.clone(),
                first: self.first,
                tests: self.test_paths.clone(),
            });
            return Ok(RepositorySuite { python: String::new(), repository: each.collect() });
        };
        let suite = NamedSuite::read(name, SuiteKind::Functions)?;
        toml::from_str(&suite.text).or_exit(Exit::Input)
    }

    /// The problems of one repository, and how many functions there were.
    fn of_repository(
        &self,
        one: &SuiteRepository,
        python: &str,
        beds: &mut Beds,
        around: &Surroundings,
        progress: &ProgressLine,
    ) -> Result<(Vec<CompletionProblem>, ExtractionCounts), Failure> {
        let named = one.source.as_str();
        let opened;
        let repository = match self.tests {
            TestsFrom::Existing => {
                beds.open(named, python, around, progress)?;
                beds.of(named).expect("just opened").0
            }
            TestsFrom::None => {
                let sandbox = around.sandbox()?;
                progress.say(&format!("open {named}"));
                opened = around.repository(named, &*sandbox, progress)?;
                &opened
            }
        };
        progress.say(&format!("{named}: extract functions"));
        let options = ExtractionOptions {
            build: BuildOptions { walk: walking(around, repository), ..BuildOptions::default() },
            depth: self.depth,
            ..ExtractionOptions::default()
        };
        let extraction = extract_functions(&repository.root, &options);
        let mut count = counted(named, &extraction);
        let source = ProblemSource {
            repository: absolute(named)?,
            revision: revision(named),
            licence: licence(repository),
            python: beds.of(named).map_or(String::new(), |(_, environment)| {
                let (major, minor, _) = environment.version;
                format!("{major}.{minor}")
            }),
        };
        let label = label(named);
        let problems = extraction
            .functions
            .into_iter()
            .filter(|function| self.all || function.unfit.is_none());
        let mut problems: Vec<CompletionProblem> = problems
            .map(|function| CompletionProblem::new(&label, source.clone(), function))
            .collect();
        // A name may be defined twice in a file; one of them makes a problem at most, and keeps the plain id.
        problems.sort_by_key(|problem| problem.function.unfit.is_some());
        let mut seen = std::collections::BTreeSet::new();
        for problem in &mut problems {
            if !seen.insert(problem.id.clone()) {
                problem.id = format!("{}@{}", problem.id, problem.function.line);
            }
        }
        problems.sort_by(|a, b| {
            (&a.function.path, a.function.line).cmp(&(&b.function.path, b.function.line))
        });
        if self.tests == TestsFrom::Existing {
            progress.say(&format!("{named}: run its tests"));
            let beds = beds.all();
            let choice = TestChoice {
                most: self.cases,
                runs: self.runs,
                coverage: self.coverage / 100.0,
                paths: one.tests.clone(),
                first: one.first,
            };
            let TestedProblems { tested, untested } =
                with_existing_tests(&beds[named], problems, &choice)
                    .map_err(|error| around.unevaluated(error))?;
            let mut reasons = BTreeMap::new();
            for (id, why) in &untested {
                progress.detail(&format!("{id}: {}", why.phrase()));
                *reasons.entry(why.phrase()).or_default() += 1;
            }
            count.untested = Some(reasons);
            problems = tested;
        } else if let Some(first) = one.first {
            problems.truncate(first);
        }
        count.problems = problems.len();
        count.licence = source.licence;
        progress.line(&format!("{named}: {} problems", problems.len()));
        Ok((problems, count))
    }
}

/// Returns the number of a repository's functions, and the reasons why some make no task.
fn counted(named: &str, extraction: &Extraction) -> ExtractionCounts {
    let mut unfit = BTreeMap::new();
    for why in extraction.functions.iter().filter_map(|function| function.unfit) {
        *unfit.entry(why.phrase()).or_default() += 1;
    }
    let with_docstring =
        extraction.functions.iter().filter(|function| !function.docstring.is_empty()).count();
    let skipped = extraction
        .skipped
        .iter()
        .map(|one| UnreadFile { path: one.path.clone(), reason: one.reason.to_string() });
    ExtractionCounts {
        repository: named.to_owned(),
        functions: extraction.functions.len(),
        with_docstring,
        unfit,
        skipped: skipped.collect(),
        ..ExtractionCounts::default()
    }
}

/// A repository of the user's as others find it from anywhere.
fn absolute(named: &str) -> Result<String, Failure> {
    match Path::new(named).is_dir() {
        true => Ok(fs::canonicalize(named).or_exit(Exit::Input)?.to_string_lossy().into_owned()),
        false => Ok(named.to_owned()),
    }
}

/// The version or revision within a repository's name.
fn revision(named: &str) -> String {
    let release = named.strip_prefix("pypi:").and_then(|rest| rest.split_once("=="));
    let commit = named.rsplit_once('@').filter(|_| !Path::new(named).is_dir());
    release.or(commit).map_or(String::new(), |(_, revision)| revision.to_owned())
}

/// Returns the name of a repository in ids.
fn label(named: &str) -> String {
    let named = named.trim_start_matches("pypi:").trim_end_matches('/');
    let last = named.rsplit('/').next().unwrap_or(named);
    let last = last.split(['@', '=']).next().unwrap_or(last).trim_end_matches(".git");
    match last {
        "" | "." | ".." => "repository".to_owned(),
        last => last.to_owned(),
    }
}

/// The licence that a repository's metadata names, or else the first line of its licence file.
fn licence(repository: &Repository) -> String {
    let read = |name: &str| fs::read_to_string(repository.root.join(name)).unwrap_or_default();
    let field = |text: &str, keys: &[&str]| {
        text.lines().take_while(|line| !line.is_empty()).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            let value = value.trim();
            (keys.contains(&key.trim()) && !value.is_empty() && value.len() < 100)
                .then(|| value.to_owned())
        })
    };
    let metadata = read("PKG-INFO");
    let classifier = || {
        let line = metadata.lines().find(|line| line.starts_with("Classifier: License ::"))?;
        Some(line.rsplit("::").next().unwrap_or(line).trim().to_owned())
    };
    let file = || {
        let mut names: Vec<String> = fs::read_dir(&repository.root)
            .ok()?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| {
                let name = name.to_ascii_lowercase();
                name.starts_with("licen") || name.starts_with("copying")
            })
            .collect();
        names.sort();
        let text = read(names.first()?);
        text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
    };
    field(&metadata, &["License-Expression", "License"])
        .or_else(classifier)
        .or_else(file)
        .unwrap_or_default()
}
