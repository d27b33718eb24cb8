//! `gistify bisect`: the release of a package from which on a file fails.
//!
//! The same file runs with one release after the other, each in an environment of its own and in the
//! sandbox. What the file needs besides stands in its block of PEP 723.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use clap::Args;
use regex::Regex;
use serde::Serialize;
use serde_json::json;
use tools::{Execution, Sandbox, Status, Workspace};

use super::{
    Exit, Failure, OrExit,
    one_file::{FilePlace, Needs, environment_of_file},
    progress::{ProgressLine, printable},
    surroundings::Surroundings,
};

#[derive(Debug, Args)]
pub struct BisectCommand {
    /// A file that fails with the one release and not with the other, such as a repro.
    gist: PathBuf,
    /// The package.
    #[arg(long, value_name = "NAME")]
    package: String,
    /// A release with which it does not fail.
    #[arg(long, value_name = "VERSION")]
    good: String,
    /// A release with which it fails.
    #[arg(long, value_name = "VERSION")]
    bad: String,
    /// The version of Python [default: the newest that can be had and that the file's head allows].
    #[arg(long, value_name = "VERSION")]
    python: Option<String>,
}

/// The result of the file with one release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Tried {
    release: String,
    verdict: Tone,
    told: String,
}

/// On which side a release is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Tone {
    /// The file ends as with the good release.
    Good,
    /// The file ends as with the bad one.
    Bad,
    /// It ends otherwise, or the release cannot be installed.
    Neither,
}

/// Two neighbours: the last release that is good and the first that is bad, by their places in a list.
/// What lies between them is neither.
type Edge = (usize, usize);

impl BisectCommand {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let wrong = |why: String| {
            Failure::new(Exit::Input, format!("bisect {}: {why}", self.gist.display()))
        };
        let text = fs::read_to_string(&self.gist).map_err(|error| wrong(error.to_string()))?;
        let needs = Needs::of(&text);
        let sandbox = around.sandbox()?;
        let progress = ProgressLine::new(around.talk);
        progress.say(&format!("look for releases of {}", self.package));
        let releases =
            around.releases(&self.package, [&self.good, &self.bad], &*sandbox, &progress)?;
        let mut runs = Runs {
            around,
            sandbox: &*sandbox,
            progress: &progress,
            package: &self.package,
            text: &text,
            needs: &needs,
            python: self.python.as_deref().or(needs.python.as_deref()),
            workspace: Workspace::create(&around.scratch()?).or_exit(Exit::Infrastructure)?,
        };
        let mut tried = BTreeMap::new();
        let last = releases.len() - 1;
        let (good, bad) = (runs.ending(&releases[0])?, runs.ending(&releases[last])?);
        let told = |release: &str, ending: &Ending| {
            format!("{} {release}: {}", self.package, ending.describe())
        };
        let is_lost = |ending: &Ending| matches!(ending, Ending::Uninstallable(_));
        let why = match is_lost(&good) || is_lost(&bad) {
            true => Some("a release cannot be installed"),
            false => (good == bad).then_some("it ends in the same way with both releases"),
        };
        if let Some(why) = why {
            let both = format!("{}; {}", told(&releases[0], &good), told(&releases[last], &bad));
            return Err(wrong(format!("{why} ({both})")));
        }
        let tone = |ending: &Ending| match ending {
            ending if *ending == good => Tone::Good,
            ending if *ending == bad => Tone::Bad,
            _ => Tone::Neither,
        };
        let mut note = |at: usize, ending: &Ending| {
            let (release, verdict) = (releases[at].clone(), tone(ending));
            tried.insert(at, Tried { release, verdict, told: ending.describe() });
            verdict
        };
        note(0, &good);
        note(last, &bad);
        let edge = search(releases.len(), &mut |at| Ok(note(at, &runs.ending(&releases[at])?)))?;
        progress.clear();
        let tried: Vec<Tried> = tried.into_values().collect();
        self.report(around, &releases, edge, &tried);
        Ok(Exit::Success)
    }

    fn report(
        &self,
        around: &Surroundings,
        releases: &[String],
        (good, bad): Edge,
        tried: &[Tried],
    ) {
        let between = &releases[good + 1..bad];
        if around.json {
            let printed = json!({
                "version": 1, "package": self.package, "last_good": releases[good], "first_bad": releases[bad],
                "undecided": between, "tried": tried, "releases": releases.len(),
            });
            println!("{printed:#}");
            return;
        }
        println!(
            "first bad: {} {} (the last good one is {})",
            self.package, releases[bad], releases[good]
        );
        if !between.is_empty() {
            println!("  undecided   {}", between.join(", "));
        }
        for one in tried {
            println!("  {:<10}  {}", one.release, printable(&one.told));
        }
        println!("  tried       {} of {} releases", tried.len(), releases.len());
    }
}

/// The end of a run of the file, without parts that vary from run to run.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ending {
    /// With a status, and the last line of an error.
    Ran(Status, String),
    /// The release cannot be installed.
    Uninstallable(String),
}

impl Ending {
    fn of(run: &Execution) -> Self {
        let said = match run.status {
            Status::Exited(0) => "",
            // pytest marks the lines of an error with an E; a traceback ends with it.
            _ => {
                let marked = run.stdout.lines().find_map(|line| line.strip_prefix("E  "));
                marked.or_else(|| run.stderr.trim_end().lines().last()).unwrap_or_default()
            }
        };
        static VARIES: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"0x[0-9a-fA-F]+|(?:/[\w.@+-]+)+").expect("the form is a regular expression")
        });
        Self::Ran(run.status, VARIES.replace_all(said.trim(), "<...>").into_owned())
    }

    fn describe(&self) -> String {
        match self {
            Self::Ran(Status::Exited(0), _) => "it succeeds".to_owned(),
            Self::Ran(Status::Exited(code), said) if said.is_empty() => format!("exit code {code}"),
            Self::Ran(Status::Exited(_), said) => said.clone(),
            Self::Ran(status, _) => format!("{status:?}"),
            Self::Uninstallable(why) => why.clone(),
        }
    }
}

/// Runs of one file with releases of one package.
struct Runs<'a> {
    around: &'a Surroundings,
    sandbox: &'a dyn Sandbox,
    progress: &'a ProgressLine,
    package: &'a str,
    text: &'a str,
    needs: &'a Needs,
    python: Option<&'a str>,
    workspace: Workspace,
}

impl Runs<'_> {
    fn ending(&mut self, release: &str) -> Result<Ending, Failure> {
        self.progress.say(&format!("run with {} {release}", self.package));
        let directory = self.workspace.directory("bisect").or_exit(Exit::Infrastructure)?;
        let ending = self.ending_in(&directory, release);
        self.workspace.discard(&directory);
        ending
    }

    fn ending_in(&mut self, directory: &Path, release: &str) -> Result<Ending, Failure> {
        fs::write(directory.join("gist.py"), self.text).or_exit(Exit::Infrastructure)?;
        let requirements = self.needs.with(self.package, release);
        let made = environment_of_file(
            directory,
            &requirements,
            self.python,
            self.around,
            self.sandbox,
            self.progress,
        );
        let environment = match made {
            Ok(environment) => environment,
            Err(failure) if failure.exit == Exit::Environment => {
                let told = failure.message();
                let last = told.trim_end().lines().last().unwrap_or_default();
                return Ok(Ending::Uninstallable(format!("it cannot be installed: {last}")));
            }
            Err(failure) => return Err(failure),
        };
        let place = FilePlace { environment: &environment, sandbox: self.sandbox, directory };
        let run = place.run("python gist.py", &mut self.workspace, self.around)?;
        Ok(Ending::of(&run))
    }
}

/// Finds two neighbours of which the first is good and the second bad, where the first of all is good and
/// the last is bad. One that is neither is passed over for the nearest that is decided.
fn search(
    count: usize,
    tone: &mut dyn FnMut(usize) -> Result<Tone, Failure>,
) -> Result<Edge, Failure> {
    let (mut good, mut bad) = (0_usize, count - 1);
    let mut neither = BTreeSet::new();
    'halving: loop {
        let middle = good.midpoint(bad);
        // The middle first, then what is next to it on both sides.
        let mut open: Vec<usize> = (good + 1..bad).filter(|at| !neither.contains(at)).collect();
        open.sort_by_key(|at| (at.abs_diff(middle), *at));
        for at in open {
            match tone(at)? {
                Tone::Good => good = at,
                Tone::Bad => bad = at,
                Tone::Neither => {
                    neither.insert(at);
                    continue;
                }
            }
            continue 'halving;
        }
        return Ok((good, bad));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_edge_and_passes_over_what_is_neither() {
        let check = |tones: &str, expected: Edge, most: usize| {
            let mut asked = Vec::new();
            let found = search(tones.len(), &mut |at| {
                asked.push(at);
                Ok(match tones.as_bytes()[at] {
                    b'+' => Tone::Good,
                    b'-' => Tone::Bad,
                    _ => Tone::Neither,
                })
            });
            assert_eq!(found.unwrap(), expected, "{tones}");
            assert!(asked.len() <= most, "{tones}: {asked:?}");
        };
        check("+-", (0, 1), 0);
        check("++++++++-", (7, 8), 3);
        check("+--------", (0, 1), 3);
        check("+++??---", (2, 5), 8);
        check("+???-", (0, 4), 3);
    }
}
