//! `gistify solve`: a task in natural language, solved by a model that uses a repository; the outputs are checked, and with
//! `--criteria` judged.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use ::eval::{
    AnswerClass, AnswerJudgement, CriteriaScript, Effort, JudgedTask, QUERY_VERDICT_VERSION,
    QueryAnswer, QueryBed, QueryContext, QuerySolver, judge_answer,
};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use tools::{Outputs, QueryInput, Workspace};

use super::{
    Exit, Failure, OrExit,
    destination::{check_directory, check_new_directory},
    flags::Flags,
    input_file::InputFile,
    progress::{ProgressLine, printable},
    run::record,
    surroundings::Surroundings,
    target::{Wanted, environment, given_paths},
};
use crate::answering::QueryWriter;

#[derive(Debug, Args)]
pub struct Solve {
    /// A directory, a git URL or path at a revision (PATH@REV, git+URL@REV), or pypi:NAME==VERSION.
    repository: String,
    /// The task, in words.
    query: String,
    /// An input file, with a description of its contents behind `=`; can be given more than once.
    #[arg(long, value_name = "FILE[=TEXT]")]
    input: Vec<String>,
    /// The directory for the output files.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// The name of an output file, `output.EXT` or `output_01.EXT` and so on; can be given more than once [default: any].
    #[arg(long, value_name = "NAME")]
    expect: Vec<String>,
    /// A Python script that judges the outputs: it gets the directories of inputs and outputs, and prints one line of JSON.
    #[arg(long, value_name = "FILE")]
    criteria: Option<PathBuf>,
    #[command(flatten)]
    solving: QueryFlags,
    /// A file that pins all dependencies: a requirements file, a pylock.toml or a uv.lock. An environment is made of it.
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
    /// Replace output files that exist.
    #[arg(long)]
    force: bool,
    /// Leave the run's record in this directory, which has to be empty.
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
}

/// The model that solves, and its way of working.
#[derive(Debug, Clone, Args)]
pub struct QueryFlags {
    /// The model: human, command/PROGRAM, or PROVIDER/MODEL.
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// The scaffold: its opening, its tools that explore and its selection; all have tools that write and run.
    #[arg(long, value_name = "NAME")]
    scaffold: Option<String>,
    /// The interpreter, or its version [default: the suite's, or the repository's own choice].
    #[arg(long, value_name = "PYTHON")]
    python: Option<String>,
    /// Wall-clock seconds for a task [default: the suite's, or session.seconds].
    #[arg(long, value_name = "N")]
    seconds: Option<u32>,
}

/// The result, as a record has it.
#[derive(Serialize, JsonSchema)]
pub struct SolvedAnswer<'a> {
    #[schemars(extend("const" = QUERY_VERDICT_VERSION))]
    version: u32,
    /// The end of the work, in words.
    outcome: &'a str,
    /// True if the files are all there and can be read.
    completed: bool,
    /// True if the criteria say that they are right.
    passed: bool,
    judgement: &'a AnswerJudgement,
    effort: Option<&'a Effort>,
}

/// The name of the result in a record.
pub const ANSWER: &str = "answer.json";

impl QueryFlags {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.text("--model", "writer.model", self.model.as_deref());
        flags.text("--scaffold", "writer.scaffold", self.scaffold.as_deref());
        flags.text("--python", "environment.python", self.python.as_deref());
        flags.number("--seconds", "session.seconds", self.seconds);
        flags
    }

    /// Returns true if a model was named, by a flag or in the settings.
    pub fn has_model(around: &Surroundings) -> bool {
        around.settings.writer.model != "offline"
    }

    /// The time of a task: that of the flags, else its own, else that of the settings.
    pub fn time(&self, around: &Surroundings, own: Option<f64>) -> Duration {
        let settings = around.settings.session.seconds;
        let seconds = match self.seconds {
            Some(_) => settings,
            None => own.unwrap_or(settings),
        };
        Duration::from_secs_f64(seconds)
    }
}

impl Solve {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = self.solving.flags();
        flags.path("--lock", "environment.lock", self.lock.as_deref());
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        if self.query.trim().is_empty() {
            return Err(Failure::new(Exit::Usage, "the task is empty (say in words what to do)"));
        }
        if let Some(name) = self.expect.iter().find(|name| !Outputs::is_output(name)) {
            let message =
                format!("--expect {name}: no name of an output (output.EXT, output_01.EXT)");
            return Err(Failure::new(Exit::Usage, message));
        }
        if !QueryFlags::has_model(around) {
            let message = "the offline model solves no tasks in words (name a model with -m)";
            return Err(Failure::new(Exit::Usage, message));
        }
        let inputs = given_inputs(&self.input)?;
        let criteria = self.criteria.as_deref();
        let criteria = criteria
            .map(|path| InputFile { what: "criteria", path, hint: "a Python script" }.text())
            .map(|text| text.map(|text| CriteriaScript { text, modules: Vec::new() }))
            .transpose()?;
        self.check_output()?;
        self.run_dir.as_deref().map_or(Ok(()), check_new_directory)?;
        let progress = ProgressLine::new(around.talk);
        let sandbox = around.sandbox()?;
        let watched = progress.clone();
        let solver = QueryWriter::new(
            &around.settings,
            sandbox.clone(),
            &around.access(),
            Box::new(move || watched.watch()),
        );
        let solver = solver.or_exit(Exit::Usage)?;
        let scratch = around.scratch()?;
        progress.say(&format!("open {}", self.repository));
        let own = given_paths(&[Some(&self.output), self.run_dir.as_ref()]);
        let repository =
            around.repository_without(&self.repository, &*sandbox, &progress, (&own, &[]))?;
        let wanted = Wanted::of_settings(around, &self.repository);
        let environment = environment(&repository, wanted, around, &*sandbox, &progress)?;
        let record = record(self.run_dir.as_deref(), around)?;
        let limits = around.settings.command.limits();
        let answer = solver.answer(&QueryContext {
            query: &self.query,
            inputs: &inputs,
            expected: &self.expect,
            repository: &repository,
            environment: &environment,
            limits,
            time: self.solving.time(around, None),
            record: record.path(),
            scratch: &scratch,
            interrupt: &around.interrupt,
        });
        progress.clear();
        let QueryAnswer { outputs, outcome, infrastructure, effort } = answer;
        let place = record.path().display();
        if around.interrupt.is_triggered() {
            return Err(Failure::new(Exit::Interrupted, format!("interrupted (record: {place})")));
        }
        let outputs = match (outputs, infrastructure) {
            (Ok(outputs), false) => outputs,
            _ => {
                let message = format!("no answer: {outcome} (record: {place})");
                return Err(Failure::new(Exit::Infrastructure, message));
            }
        };
        let workspace = Workspace::create(&scratch).or_exit(Exit::Infrastructure)?;
        let bed = QueryBed {
            sandbox: &*sandbox,
            environment: &environment,
            workspace: &workspace,
            limits,
        };
        let task =
            JudgedTask { inputs: &inputs, expected: &self.expect, criteria: criteria.as_ref() };
        let judged = judge_answer(&bed, &task, &outputs);
        let judged = judged.map_err(|error| around.unevaluated(error))?;
        let kept = judged.class.is_completed();
        if kept {
            self.write_outputs(&outputs, &judged)?;
        }
        let result = SolvedAnswer {
            version: QUERY_VERDICT_VERSION,
            outcome: &outcome,
            completed: kept,
            passed: judged.class == AnswerClass::Passed,
            judgement: &judged,
            effort: effort.as_ref(),
        };
        record.write_json(ANSWER, &result).or_exit(Exit::Infrastructure)?;
        let output = kept.then_some(&self.output);
        if around.json {
            let printed = json!({ "solve": result, "output": output, "record": record.path() });
            println!("{printed:#}");
        } else {
            print!("{}", printable(&message(&judged, &outcome, effort.as_ref())));
            if let Some(output) = output {
                println!("  output      {}", output.display());
            }
            println!("  record      {place}");
        }
        Ok(match judged.class {
            AnswerClass::Passed | AnswerClass::Completed => Exit::Success,
            _ => Exit::NotFaithful,
        })
    }

    /// Fails before anything is run where the outputs could not be written in the end.
    fn check_output(&self) -> Result<(), Failure> {
        check_directory(&self.output)?;
        let is_used = fs::read_dir(&self.output).is_ok_and(|entries| entries.count() > 0);
        if is_used && !self.force {
            let output = self.output.display();
            let message = format!("output {output} is not empty (write into it with --force)");
            return Err(Failure::new(Exit::Input, message));
        }
        Ok(())
    }

    /// Copies the output files to the user's directory.
    fn write_outputs(&self, from: &Path, judged: &AnswerJudgement) -> Result<(), Failure> {
        let failed = |path: &Path, error: std::io::Error| {
            Failure::new(Exit::Input, format!("write {}: {error}", path.display()))
        };
        fs::create_dir_all(&self.output).map_err(|error| failed(&self.output, error))?;
        for name in &judged.files {
            let into = self.output.join(name);
            // A link in that place is replaced, not followed.
            if into.symlink_metadata().is_ok_and(|there| !there.is_dir()) {
                fs::remove_file(&into).map_err(|error| failed(&into, error))?;
            }
            fs::copy(from.join(name), &into).map_err(|error| failed(&into, error))?;
        }
        Ok(())
    }
}

/// The inputs that flags name: a file, and behind the first `=` a description.
fn given_inputs(given: &[String]) -> Result<Vec<QueryInput>, Failure> {
    let mut inputs: Vec<QueryInput> = Vec::new();
    for given in given {
        let (path, description) = match given.split_once('=') {
            Some((path, text)) if !Path::new(given).exists() => (path, text),
            _ => (given.as_str(), ""),
        };
        let refused =
            |reason: &str| Failure::new(Exit::Input, format!("read input {path}: {reason}"));
        let there = fs::metadata(path).map_err(|error| refused(&error.to_string()))?;
        if !there.is_file() {
            return Err(refused("it is no file"));
        }
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        if inputs.iter().any(|input| input.name == name) {
            return Err(refused("another input has its name"));
        }
        let (description, source) = (description.to_owned(), PathBuf::from(path));
        inputs.push(QueryInput { name, description, source });
    }
    Ok(inputs)
}

/// The lines for a reader.
fn message(judged: &AnswerJudgement, outcome: &str, effort: Option<&Effort>) -> String {
    let head = match judged.class.is_completed() {
        true => format!("answer: {}", judged.files.join(", ")),
        false => "no answer".to_owned(),
    };
    let mut out = format!("{head}\n");
    let mut line = |name: &str, text: &str| out.push_str(&format!("  {name:<11} {text}\n"));
    line("class", judged.class.phrase());
    if !judged.reason.is_empty() {
        line("reason", &judged.reason);
    }
    for (name, value) in &judged.metrics {
        line("measure", &format!("{name} = {value}"));
    }
    if outcome != crate::outcome::Outcome::Submitted.to_string() {
        line("outcome", outcome);
    }
    if let Some(Effort { steps, tokens_in, tokens_out, price, .. }) = effort {
        let price = price.map_or_else(String::new, |price| format!(", ${price:.4}"));
        line("effort", &format!("{steps} steps, {tokens_in} tokens in, {tokens_out} out{price}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_a_name_and_a_description() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name).to_string_lossy().into_owned();
        fs::create_dir(path("b")).unwrap();
        for name in ["a.csv", "b/a.csv", "x=y.csv"] {
            fs::write(path(name), "1").unwrap();
        }
        let read = |given: &[String]| {
            let read = given_inputs(given).map_err(|failure| failure.message());
            read.map(|inputs| {
                let told = inputs.iter().map(|one| format!("{}: {}", one.name, one.description));
                told.collect::<Vec<_>>().join(", ")
            })
        };
        let given = [format!("{}=a = b", path("a.csv")), path("x=y.csv")];
        assert_eq!(read(&given).unwrap(), "a.csv: a = b, x=y.csv: ");
        for (given, told) in [
            (vec![path("none")], "No such file"),
            (vec![path("b")], "it is no file"),
            (vec![path("a.csv"), path("b/a.csv")], "another input has its name"),
        ] {
            let error = read(&given).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }
}
