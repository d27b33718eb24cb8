//! `gistify repoexec generate`: a model's completions, as rows.

use std::{
    ops::Bound::{Excluded, Included},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use ::eval::{CompletionProblem, Generation, SAMPLE_VERSION, json_fault};
use clap::{Args, ValueEnum};
use graph::ContextSize;
use serde_json::{Map, Value, json};

use super::{
    super::{
        Exit, Failure, OrExit,
        destination::check_file,
        flags::Flags,
        numbers::within,
        progress::ProgressLine,
        row_work::{RowChoice, write_rows},
        surroundings::Surroundings,
    },
    rows,
};
use crate::{
    message::Message,
    model::ModelSupply,
    prompt::Prompts,
    repoexec::{AskingSpec, ModelAnswer, PromptKind, ask_all, completion_prompt},
};

/// The model that completes functions, and the form of its prompts.
#[derive(Debug, Args)]
pub struct Completing {
    /// The model: command/PROGRAM, PROVIDER/MODEL, or `solutions` for the original functions.
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// Dependencies that the model is shown.
    #[arg(long, value_enum, default_value = "full")]
    context: ContextSizeFlag,
    /// Form of the prompt.
    #[arg(long, value_enum, default_value = "base")]
    prompt: Asking,
    /// One sample at temperature 0.
    #[arg(long)]
    greedy: bool,
    /// The sampling temperature [default: 0.2].
    #[arg(long, value_name = "T", conflicts_with = "greedy", value_parser = within(0.0..))]
    temperature: Option<f64>,
    /// The share of probability that is sampled from [default: 0.95].
    #[arg(long, value_name = "P", conflicts_with = "greedy", value_parser = within((Excluded(0.0), Included(1.0))))]
    top_p: Option<f64>,
    /// Questions or runs at once.
    #[arg(short, long, value_name = "N", default_value_t = 2)]
    pub workers: usize,
    /// The interpreter of runs, or its version [default: that of the problems].
    #[arg(long, value_name = "PYTHON")]
    python: Option<String>,
}

#[derive(Debug, Args)]
pub struct Generate {
    /// A problem file of `gistify repoexec build`.
    problems: PathBuf,
    #[command(flatten)]
    completing: Completing,
    /// Samples of each problem [default: 10, or 1 with --greedy].
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    samples: Option<u32>,
    /// The file for the generations.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    choice: RowChoice,
    /// Replace a file that exists.
    #[arg(long)]
    force: bool,
}

/// Context sizes on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ContextSizeFlag {
    /// Whole definitions.
    Full,
    /// Signatures and docstrings.
    Medium,
    /// Signatures.
    Small,
}

/// Prompts on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Asking {
    /// Context and function to go on with.
    Base,
    /// An instruction, then the same.
    #[value(name = "instruct-1")]
    Instruct1,
    /// The context within the instruction.
    #[value(name = "instruct-2")]
    Instruct2,
}

/// The model that answers with the original functions: what a perfect one would score.
pub const SOLUTIONS: &str = "solutions";

impl Completing {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        let model = self.model.as_deref().filter(|model| *model != SOLUTIONS);
        flags.text("--model", "writer.model", model);
        flags.text("--python", "environment.python", self.python.as_deref());
        flags
    }

    /// Returns the flags of one greedy sample of a model.
    pub fn greedy(model: &str) -> Self {
        Self {
            model: Some(model.to_owned()),
            context: ContextSizeFlag::Full,
            prompt: Asking::Base,
            greedy: true,
            temperature: None,
            top_p: None,
            workers: 1,
            python: None,
        }
    }

    /// Returns the number of samples to take if none is given.
    pub fn usual_samples(&self) -> u32 {
        if self.greedy { 1 } else { 10 }
    }

    /// Returns true if the original functions are the answers.
    pub fn is_solutions(&self) -> bool {
        self.model.as_deref() == Some(SOLUTIONS)
    }

    /// The name of the prompt in records.
    pub fn prompt_name(&self) -> String {
        format!("{}/{}", self.kind().name(), self.size().name())
    }

    fn kind(&self) -> PromptKind {
        match self.prompt {
            Asking::Base => PromptKind::Base,
            Asking::Instruct1 => PromptKind::Instruct1,
            Asking::Instruct2 => PromptKind::Instruct2,
        }
    }

    fn size(&self) -> ContextSize {
        match self.context {
            ContextSizeFlag::Full => ContextSize::Full,
            ContextSizeFlag::Medium => ContextSize::Medium,
            ContextSizeFlag::Small => ContextSize::Small,
        }
    }

    /// The model with its sampling parameters; those of the settings win over the usual ones, flags over both.
    ///
    /// # Errors
    /// There is no such model, or it is one that writes gists alone.
    pub fn supply(
        &self,
        around: &Surroundings,
        prompts: &Arc<Prompts>,
    ) -> Result<ModelSupply, Failure> {
        let mut settings = around.settings.clone();
        if settings.writer.model == "offline" {
            let message = "the offline model completes no functions (name one with -m)";
            return Err(Failure::new(Exit::Usage, message));
        }
        let given = settings.model.parameters.trim();
        let mut parameters: Map<String, Value> = match given {
            "" => Map::new(),
            text => serde_json::from_str(text).map_err(|error| {
                let message = format!("setting model.parameters: {}", json_fault(&error));
                Failure::new(Exit::Usage, message)
            })?,
        };
        let usual = match self.greedy {
            true => [("temperature", 0.0), ("top_p", 1.0)],
            false => [("temperature", 0.2), ("top_p", 0.95)],
        };
        for (name, value) in usual {
            if self.greedy || !parameters.contains_key(name) {
                parameters.insert(name.to_owned(), json!(value));
            }
        }
        for (name, value) in [("temperature", self.temperature), ("top_p", self.top_p)] {
            if let Some(value) = value {
                parameters.insert(name.to_owned(), json!(value));
            }
        }
        settings.model.parameters = Value::Object(parameters).to_string();
        ModelSupply::new(&settings, Arc::clone(prompts), &around.access()).or_exit(Exit::Usage)
    }

    /// The first message to a model about a problem.
    pub fn question(
        &self,
        prompts: &Prompts,
        problem: &CompletionProblem,
    ) -> Result<Message, Failure> {
        let content = completion_prompt(prompts, &problem.function, self.kind(), self.size());
        Ok(Message::User { content: content.or_exit(Exit::Usage)? })
    }
}

impl Generate {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        self.completing.flags()
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let progress = ProgressLine::new(around.talk);
        check_file(&self.output, self.force)?;
        let (mut problems, _) = rows::problems(&self.problems, &progress)?;
        self.choice.choose(&mut problems, |problem| &problem.id);
        let samples = self.samples.unwrap_or(self.completing.usual_samples());
        let wanted: Vec<(&CompletionProblem, u32)> = problems
            .iter()
            .flat_map(|problem| (0..samples).map(move |sample| (problem, sample)))
            .collect();
        let blank = |&(problem, sample): &(&CompletionProblem, u32)| Generation {
            version: SAMPLE_VERSION,
            problem: problem.id.clone(),
            sample,
            prompt: self.completing.prompt_name(),
            ..Generation::default()
        };
        let mut generations: Vec<Generation> = wanted.iter().map(blank).collect();
        if self.completing.is_solutions() {
            for (generation, (problem, _)) in generations.iter_mut().zip(&wanted) {
                generation.model = SOLUTIONS.to_owned();
                generation.answer = problem.function.solution.clone();
            }
            write_rows(&self.output, &generations)?;
            return done(&generations, generations.len());
        }
        let prompts = prompts(around)?;
        let supply = self.completing.supply(around, &prompts)?;
        let questions: Result<Vec<Vec<Message>>, Failure> = wanted
            .iter()
            .map(|(problem, _)| Ok(vec![self.completing.question(&prompts, problem)?]))
            .collect();
        let record = exchanges(&self.output);
        let heard = AtomicUsize::new(0);
        let asked = ask_all(
            &AskingSpec {
                supply: &supply,
                record: &record,
                workers: self.completing.workers,
                interrupt: &around.interrupt,
                heard: &|at, asked| {
                    let count = heard.fetch_add(1, Ordering::Relaxed) + 1;
                    let what = if asked.is_ok() { "answered" } else { "failed" };
                    progress.say(&format!("[{count}/{}] {} {what}", wanted.len(), wanted[at].0.id));
                },
            },
            &questions?,
        );
        progress.clear();
        if !around.settings.model.record {
            // Workers' directories, with nothing in them.
            let _ = std::fs::remove_dir_all(&record);
        }
        let asked = asked.or_exit(Exit::Usage)?;
        let whole = generations.len();
        let mut answered = Vec::new();
        for (mut generation, asked) in generations.into_iter().zip(asked) {
            if let Some(asked) = asked {
                fill(&mut generation, supply.name(), asked);
                answered.push(generation);
            }
        }
        write_rows(&self.output, &answered)?;
        done(&answered, whole)
    }
}

/// The templates of the settings.
pub fn prompts(around: &Surroundings) -> Result<Arc<Prompts>, Failure> {
    let directory = &around.settings.writer.prompts;
    let directory = Some(directory.as_path()).filter(|path| *path != Path::new(""));
    Ok(Arc::new(Prompts::load(directory).or_exit(Exit::Usage)?))
}

/// Puts an answer into its row.
pub fn fill(generation: &mut Generation, model: &str, asked: ModelAnswer) {
    generation.model = model.to_owned();
    match asked {
        Ok(answer) => {
            generation.input_tokens = answer.usage.input;
            generation.output_tokens = answer.usage.output;
            generation.cost = answer.cost;
            generation.answer = answer.content;
        }
        Err(failure) => generation.failure = Some(failure),
    }
}

/// The directory of recorded exchanges beside an output.
pub fn exchanges(output: &Path) -> PathBuf {
    output.with_extension("exchanges")
}

fn done(generations: &[Generation], whole: usize) -> Result<Exit, Failure> {
    let failed = generations.iter().filter(|one| one.failure.is_some()).count();
    println!("{} generations, {failed} without an answer", generations.len());
    match generations.len() < whole {
        true => Err(Failure::new(Exit::Interrupted, "interrupted")),
        false => Ok(Exit::Success),
    }
}
