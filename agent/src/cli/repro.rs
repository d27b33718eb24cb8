//! `gistify repro`: from a repository and a command that fails to one file that fails in the same way anywhere.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use graph::LineOrigin;
use schemars::JsonSchema;
use serde::Serialize;
use tools::{
    Distribution, InlineError, InlineSpec, Repro, ReproHead, ReproRequest, Same, Session,
    ToolError, Workspace, inline_packages, is_inlined_from, project, reproduce, require_failure,
};

use super::{
    Exit, Failure, OrExit,
    destination::{check_file, check_new_directory},
    flags::Flags,
    formats::{Checked, FormatChoice, Printed},
    progress::{ProgressLine, printable},
    run::{record, without_gist, write_reasons},
    sharing::{
        SharedRepro, licences, markdown_block, own_secrets, package_licence, refuse_secrets,
    },
    surroundings::Surroundings,
    target::{OpenedTarget, TargetFlags, given_paths, of_environment},
};
use crate::{
    outcome::Outcome,
    record::replace,
    writer::{TRAJECTORY, Writer},
};

/// The version of `scores.json` of a repro.
const VERSION: u32 = 1;

#[derive(Debug, Args)]
pub struct ReproCommand {
    #[command(flatten)]
    target: TargetFlags,
    /// File for the repro [default: repro.py].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the output where it exists.
    #[arg(long)]
    force: bool,
    /// Part of the failure that has to stay the same.
    #[arg(long, value_enum, default_value_t = PreservedFailure::Message, conflicts_with = "oracle")]
    same: PreservedFailure,
    /// A program that is given the file and exits with 0 where that is of interest; it runs in the sandbox.
    #[arg(long, value_name = "SCRIPT")]
    oracle: Option<PathBuf>,
    /// Copy the modules of this installed package into the file as well, as if they were the repository's own; can be given
    /// more than once. It has to be of Python alone.
    #[arg(long, value_name = "PACKAGE")]
    inline: Vec<String>,
    /// Seconds until the search has to end; the best until then is written [default: session.seconds].
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u32>,
    /// Leave the record in this directory, which has to be empty.
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
    /// Print a block for an issue: versions, the command, the failure, the file. It is refused where the file holds
    /// what looks like a secret.
    #[arg(long, conflicts_with = "output_format")]
    markdown: bool,
    /// Print the block although the file holds what looks like a secret.
    #[arg(long, requires = "markdown")]
    allow_secrets: bool,
    #[command(flatten)]
    format: FormatChoice,
}

/// All that is known of a repro, as `scores.json` has it.
#[derive(Serialize, JsonSchema)]
pub struct ReproScores<'a> {
    #[schemars(extend("const" = VERSION))]
    version: u32,
    #[schemars(extend("const" = "repro"))]
    kind: &'static str,
    repository: &'a str,
    command: String,
    lines: usize,
    /// Lines of all Python files of the repository.
    repository_lines: usize,
    interpreter: &'a Path,
    /// The packages that are part of the repository.
    inlined: Vec<String>,
    #[serde(flatten)]
    repro: &'a Repro,
}

/// The result as JSON.
#[derive(Serialize, JsonSchema)]
pub struct ReproOutput<'a> {
    repro: &'a Path,
    record: &'a Path,
    scores: &'a ReproScores<'a>,
}

/// The part of a failure that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PreservedFailure {
    /// The type of the exception and the line that raises it.
    Type,
    /// Its message as well.
    Message,
    /// The exit code alone.
    Exit,
    /// The exit code and all that is printed.
    Output,
}

impl From<PreservedFailure> for Same {
    fn from(kept: PreservedFailure) -> Self {
        match kept {
            PreservedFailure::Type => Self::Type,
            PreservedFailure::Message => Self::Message,
            PreservedFailure::Exit => Self::Exit,
            PreservedFailure::Output => Self::Output,
        }
    }
}

impl ReproCommand {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = self.target.flags();
        flags.number("--seconds", "session.seconds", self.seconds);
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        self.target.command()?;
        let output = self.output.clone().unwrap_or_else(|| PathBuf::from("repro.py"));
        check_file(&output, self.force)?;
        self.run_dir.as_deref().map_or(Ok(()), check_new_directory)?;
        let oracle = self.oracle.as_deref().map(runnable).transpose()?;
        let sandbox = around.sandbox()?;
        let writer = Writer::for_gists(around.settings.clone(), sandbox.clone(), &around.access())
            .or_exit(Exit::Usage)?;
        let progress = ProgressLine::new(around.talk);
        let own = given_paths(&[Some(&output), self.run_dir.as_ref()]);
        let mut opened = self.target.open(around, sandbox, &progress, &own)?;
        let root = opened.repository.root.clone();
        let workspace = Workspace::create(&opened.scratch).or_exit(Exit::Infrastructure)?;
        let packages = self.inline(&mut opened, &workspace)?;
        let record = record(self.run_dir.as_deref(), around)?;
        let context = opened.context(around, record.path());
        let mut session = writer.session(&context).or_exit(Exit::Infrastructure)?;
        session.traces = Some(around.cache.join("traces"));
        session.signs = progress.signs();
        let request = ReproRequest {
            same: self.same.into(),
            oracle,
            inlined: packages.iter().map(|one| one.name.clone()).collect(),
        };
        progress.say("run the command");
        if let Err(error) = require_failure(&mut session, &request) {
            progress.clear();
            return Err(match session.findings.unusable.take() {
                Some(unusable) => Failure { exit: Exit::Input, error: unusable.into() },
                None => of_tool(error, around),
            });
        }
        let trajectory = record.path().join(TRAJECTORY);
        let end = writer.write(&mut session, &trajectory, Vec::new(), progress.watch());
        progress.clear();
        let end = end.or_exit(Exit::Infrastructure)?;
        write_reasons(&record, &mut session)?;
        if session.findings.gist.is_none() {
            return Err(without_gist(&session, &end));
        }
        if end.outcome == Outcome::Interrupted {
            return Err(Failure::new(Exit::Interrupted, "interrupted"));
        }
        progress.say("reduce: find a smaller file that fails in the same way");
        let (inlined, unused): (Vec<_>, Vec<_>) =
            packages.into_iter().partition(|package| has_line_of(&session, package));
        for one in &unused {
            progress.line(&format!("{} is not inlined: the command needs no line of it", one.name));
        }
        let mut head = head(&session, &root, &output);
        for one in &inlined {
            head.project.push_str(&format!(" with {} {}", one.name, one.version));
        }
        let made = reproduce(&mut session, &request, &head);
        progress.clear();
        let repro = made.map_err(|error| of_tool(error, around))?;
        replace(&output, repro.text.as_bytes()).or_exit(Exit::Infrastructure)?;
        record.write("repro.py", repro.text.as_bytes()).or_exit(Exit::Infrastructure)?;
        let scores = scores(&session, &repro, &inlined);
        record.write_json("scores.json", &scores).or_exit(Exit::Infrastructure)?;
        match self.format.printed(around) {
            _ if self.markdown => {
                refuse_secrets(&repro.text, &own_secrets(around, &root), self.allow_secrets)?;
                let mut licences = licences(&root);
                licences.extend(inlined.iter().map(package_licence));
                print!("{}", markdown_block(&shared(&session, &repro, &head, &licences)));
            }
            Printed::Json => {
                super::output::json(&ReproOutput {
                    repro: &output,
                    record: record.path(),
                    scores: &scores,
                });
            }
            Printed::Checked(format) => {
                let name = (session.command.to_string(), session.repository.label.as_str());
                print!("{}", format.write(&[Checked::of_repro(&repro, name, &output)]));
            }
            Printed::Full => {
                super::output::styled(&repro_message(&session, &repro, &inlined));
                println!("  repro       {}", output.display());
                println!("  record      {}", record.path().display());
            }
        }
        if around.interrupt.is_triggered() {
            let message = format!("interrupted: the best so far is in {}", output.display());
            return Err(Failure::new(Exit::Interrupted, message));
        }
        let is_whole = repro.runs > 0 && repro.reproduced == repro.runs;
        Ok(if is_whole { Exit::Success } else { Exit::NotFaithful })
    }

    /// Makes the packages of `--inline` a part of the repository, in a copy. Returns them.
    fn inline(
        &self,
        opened: &mut OpenedTarget,
        workspace: &Workspace,
    ) -> Result<Vec<Distribution>, Failure> {
        if self.inline.is_empty() {
            return Ok(Vec::new());
        }
        let spec = InlineSpec {
            repository: &opened.repository,
            environment: &opened.environment,
            command: &opened.command,
            packages: &self.inline,
            workspace,
            sandbox: &*opened.sandbox,
        };
        let made = inline_packages(&spec).map_err(|error| match error {
            InlineError::Environment(error) => of_environment(error),
            error @ InlineError::Unfit { .. } => Failure { exit: Exit::Input, error: error.into() },
            error => Failure { exit: Exit::Infrastructure, error: error.into() },
        })?;
        (opened.repository, opened.environment) = (made.repository, made.environment);
        Ok(made.packages)
    }
}

/// Returns true if the gist of a session has a line of a package that was laid into the repository.
fn has_line_of(session: &Session, package: &Distribution) -> bool {
    let lines = session.findings.gist.iter().flat_map(|gist| &gist.lines);
    lines
        .filter_map(|line| match &line.origin {
            LineOrigin::Source(place) => Some(place.path.as_str()),
            LineOrigin::Glue(_) => None,
        })
        .any(|path| is_inlined_from(path, package))
}

/// The failure of a step of the search.
fn of_tool(error: ToolError, around: &Surroundings) -> Failure {
    match error {
        ToolError::Refused(refusal) => Failure::new(Exit::Input, refusal.message),
        ToolError::Fatal(message) if around.interrupt.is_triggered() => {
            Failure::new(Exit::Interrupted, format!("interrupted: {message}"))
        }
        ToolError::Fatal(message) => Failure::new(Exit::Infrastructure, message),
    }
}

/// The oracle's absolute path.
fn runnable(path: &Path) -> Result<PathBuf, Failure> {
    let wrong =
        |why: String| Failure::new(Exit::Usage, format!("oracle {}: {why}", path.display()));
    let real = fs::canonicalize(path).map_err(|error| wrong(error.to_string()))?;
    let metadata = fs::metadata(&real).map_err(|error| wrong(error.to_string()))?;
    let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions());
    match metadata.is_file() && mode & 0o111 != 0 {
        true => Ok(real),
        false => Err(wrong("it is no program (make it executable with chmod +x)".to_owned())),
    }
}

/// Returns the origin for the head of a repro of the repository at `root`.
pub fn head(session: &Session, root: &Path, output: &Path) -> ReproHead {
    let repository = &session.repository;
    let (name, version) = project(root);
    let folder = || root.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = name.unwrap_or_else(folder);
    let project = version.map_or_else(|| name.clone(), |version| format!("{name} {version}"));
    let is_remote = repository.label.contains(':') || repository.label.contains('@');
    let source = match (is_remote, revision(root)) {
        // A directory of the user's is nobody else's business.
        (true, _) => repository.label.clone(),
        (false, Some(revision)) => format!("revision {revision}"),
        (false, None) => format!("content {}", &repository.fingerprint[..12]),
    };
    ReproHead {
        expected: String::new(),
        project,
        source,
        python: session.environment.version,
        command: session.command.to_string(),
        requires: Vec::new(),
        file: output.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    }
}

/// The revision that a directory's git says is checked out. Its files are read, no program is run.
fn revision(root: &Path) -> Option<String> {
    let git = root.join(".git");
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let hash = match head.trim().strip_prefix("ref: ") {
        None => head.trim().to_owned(),
        Some(name) => fs::read_to_string(git.join(name)).ok().or_else(|| {
            let packed = fs::read_to_string(git.join("packed-refs")).ok()?;
            let line = packed.lines().find(|line| line.ends_with(&format!(" {name}")))?;
            Some(line.split(' ').next()?.to_owned())
        })?,
    };
    let hash = hash.trim();
    let is_hash = hash.len() >= 40 && hash.chars().all(|c| c.is_ascii_hexdigit());
    is_hash.then(|| hash[..12].to_owned())
}

fn scores<'a>(session: &'a Session, repro: &'a Repro, inlined: &[Distribution]) -> ReproScores<'a> {
    ReproScores {
        version: VERSION,
        kind: "repro",
        repository: &session.repository.label,
        command: session.command.to_string(),
        lines: repro.text.lines().count(),
        repository_lines: python_lines(session),
        interpreter: &session.environment.python,
        inlined: inlined.iter().map(Distribution::pinned).collect(),
        repro,
    }
}

/// The lines of all Python files of a session's repository; of those that cannot be read, none.
fn python_lines(session: &Session) -> usize {
    let repository = &session.repository;
    let (files, _) = graph::walk(&repository.root, &repository.walk());
    let texts = files.iter().filter_map(|file| fs::read(repository.root.join(&file.path)).ok());
    texts.map(|bytes| bytes.iter().filter(|byte| **byte == b'\n').count()).sum()
}

/// Returns the facts for the reader of an issue.
fn shared<'a>(
    session: &Session,
    repro: &'a Repro,
    head: &'a ReproHead,
    licences: &'a [String],
) -> SharedRepro<'a> {
    SharedRepro {
        project: &head.project,
        command: &head.command,
        failure: &repro.failure,
        python: session.environment.version,
        requires: &repro.requires,
        reproduced: repro.reproduced,
        runs: repro.runs,
        file: &head.file,
        text: &repro.text,
        licences,
    }
}

/// Returns the message about a repro.
fn repro_message(session: &Session, repro: &Repro, inlined: &[Distribution]) -> String {
    let mut text = format!("{}\n", repro.headline());
    let mut row = |name: &str, value: String| {
        text.push_str(&format!("  {name:<11} {}\n", printable(&value)));
    };
    if let Some(place) = &repro.place {
        row("raised by", format!("{}:{}", place.path, place.line));
    }
    if let Some(otherwise) = repro.otherwise.as_ref().filter(|_| repro.reproduced < RUNS) {
        row("but", format!("a run ended differently: {otherwise}"));
    }
    if !repro.needs.is_empty() {
        row("reads", format!("{} (copy them from the repository)", repro.needs.join(", ")));
    }
    if let [first, rest @ ..] = repro.others.as_slice() {
        let more =
            if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        row("left out", format!("the failure of {first}{more} (a repro has one: name the test)"));
    }
    let is_code = |line: &&str| !line.trim().is_empty();
    let size = repro.text.lines().skip(repro.head).filter(is_code).count();
    let changed = repro.foreign.iter().filter(|line| line.line > repro.head).count();
    let before = repro.before;
    row(
        "size",
        format!(
            "{size} lines of code below its head, {changed} of them changed; the gist has {before}"
        ),
    );
    let (major, minor, _) = session.environment.version;
    let requires = repro.requires.iter().map(|one| one.replace("==", " "));
    let needs: Vec<String> =
        [format!("Python {major}.{minor}")].into_iter().chain(requires).collect();
    row("tested with", needs.join(", "));
    for package in inlined {
        let needed = match repro.requires.contains(&package.pinned()) {
            true => {
                "; it has to be installed as well: its metadata are read, or a package imports it"
            }
            false => "",
        };
        row("has in it", format!("{}{needed}", package_licence(package)));
    }
    row("search", format!("{} trials, {}", repro.tried, repro.ended));
    printable(&text)
}

/// Runs of a finished repro.
const RUNS: usize = 3;
