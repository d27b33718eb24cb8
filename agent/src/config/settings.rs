//! The settings as the program uses them: one type for each section of `configs/default.toml`, where
//! each key is explained.
//!
//! No default stands here: the file is the only place that has any.

use std::{fmt, path::PathBuf, time::Duration};

use graph::Weights;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tools::{GistPlace, Limits};

/// All settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The writer of the gist, and its tools.
    pub writer: WriterSettings,
    /// The requests to models.
    pub model: ModelSettings,
    /// The messages that a model sees in a long session.
    pub context: ContextSettings,
    /// Bounds on one session.
    pub session: SessionLimits,
    /// Bounds on each run of the command.
    pub command: CommandSettings,
    /// The sandbox of everything that is executed.
    pub sandbox: SandboxSettings,
    /// The reference runs of the original.
    pub reference: ReferenceSettings,
    /// The destination of the gist.
    pub gist: GistSettings,
    /// The interpreter and packages of the command.
    pub environment: EnvironmentSettings,
    /// The repair of issues.
    pub fix: FixSettings,
    /// The graphs of repositories.
    pub graph: GraphSettings,
    /// The runs of suites.
    pub bench: BenchSettings,
}

/// The writer of the gist, and its tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml explains each key")]
pub struct WriterSettings {
    pub model: String,
    pub scaffold: String,
    pub tools: Vec<String>,
    pub with: Vec<String>,
    pub execution: bool,
    pub minimize: Minimize,
    pub guide: String,
    pub strategy: Strategy,
    pub opening: Opening,
    pub opening_tokens: usize,
    #[serde(default)]
    pub only_fitting: bool,
    pub test_body: bool,
    pub one_case: bool,
    pub answer: AnswerForm,
    pub prompts: PathBuf,
}

impl WriterSettings {
    /// The tools, those added among them: the last one is what ends a session.
    pub fn all_tools(&self) -> Vec<String> {
        let mut tools = self.tools.clone();
        let minimize = (self.minimize == Minimize::Full).then(|| "minimize".to_owned());
        for name in self.with.iter().chain(&minimize) {
            if !tools.contains(name) {
                tools.insert(tools.len().saturating_sub(1), name.clone());
            }
        }
        tools
    }
}

/// The extent to which the slicer's gists are made smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Minimize {
    /// As small as its own runs teach.
    Learned,
    /// Until no statement of it can go by itself, at a run for each that is tried.
    Full,
}

/// The instruction that a writer receives first (Gistify, section 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Nothing in particular.
    Base,
    /// To read all that the test reaches.
    Reading,
    /// To follow the execution.
    Tracing,
}

/// The description of the repository that a writer receives at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    /// Nothing.
    None,
    /// The paths of its modules.
    Modules,
    /// RepoMaster's four blocks.
    Ranked,
    /// The chunks that are most like the test.
    Chunks,
    /// All files that the command touches.
    Files,
}

/// The form of a writer's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerForm {
    /// By calls of tools.
    Calls,
    /// Once, with the whole gist.
    File,
}

/// The messages that a model sees in a long session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml explains each key")]
pub struct ContextSettings {
    pub turn_tokens: usize,
    #[serde(default)]
    pub whole: bool,
    pub window_tokens: usize,
    pub keep_steps: usize,
    pub ranking: RankedBy,
    pub embeddings: String,
    pub embedded_texts: usize,
}

/// The measure by which parts of documents are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RankedBy {
    /// The words that they share with a question.
    Words,
    /// Their meaning, as vectors of a model have it.
    Embeddings,
}

/// The requests to models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml explains each key")]
pub struct ModelSettings {
    pub protocol: ProtocolChoice,
    pub tool_calls: ToolCalls,
    pub output_tokens: u64,
    pub parameters: String,
    pub requests_per_minute: u32,
    pub retries: usize,
    pub pause_seconds: f64,
    pub wait_seconds: f64,
    pub silence_seconds: f64,
    pub request_seconds: f64,
    pub answer_mib: u64,
    pub total_steps: u64,
    pub total_tokens: u64,
    pub total_cost: f64,
    pub total_seconds: f64,
    pub providers: PathBuf,
    pub prices: PathBuf,
    pub record: bool,
    pub replay: PathBuf,
}

/// The protocol used with a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolChoice {
    /// The protocol of its entry.
    Auto,
    /// OpenAI's chat completions.
    OpenaiChat,
    /// OpenAI's responses.
    OpenaiResponses,
    /// Anthropic's messages.
    Anthropic,
}

/// The way in which tools are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolCalls {
    /// As the provider's entry says, and by text where it refuses tools.
    Auto,
    /// By the provider's protocol.
    Protocol,
    /// By blocks of text.
    Text,
}

/// Bounds on one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml explains each key")]
pub struct SessionLimits {
    pub steps: usize,
    pub tokens: u64,
    pub cost: f64,
    pub seconds: f64,
    pub format_errors: usize,
}

/// Bounds on each run of the command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml explains each key")]
pub struct CommandSettings {
    pub seconds: f64,
    pub cpu_seconds: f64,
    pub memory_mib: u64,
    pub processes: u64,
    pub output_mib: u64,
    pub file_mib: u64,
    /// Size of all that its directories hold, in MiB.
    pub disk_mib: u64,
}

/// The sandbox of everything that is executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml explains each key")]
pub struct SandboxSettings {
    pub kind: SandboxKind,
    pub docker_host: String,
    pub docker_image: String,
    pub docker_runtime: String,
}

/// The kind of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxKind {
    /// The first of bubblewrap and namespaces that can be had.
    Local,
    /// Bubblewrap.
    Bubblewrap,
    /// Namespaces that this program makes itself.
    Namespaces,
    /// Containers of a Docker engine.
    Docker,
    /// Nothing: limits alone.
    None,
}

impl SandboxKind {
    /// All of them, in the order in which they are tried.
    pub const ALL: [Self; 5] =
        [Self::Bubblewrap, Self::Namespaces, Self::Local, Self::Docker, Self::None];

    /// Returns true if this kind satisfies the `wanted` one of a setting.
    pub fn serves(self, wanted: Self) -> bool {
        match wanted {
            Self::Local => matches!(self, Self::Bubblewrap | Self::Namespaces),
            wanted => self == wanted,
        }
    }
}

impl fmt::Display for SandboxKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Local => "local",
            Self::Bubblewrap => "bubblewrap",
            Self::Namespaces => "namespaces",
            Self::Docker => "docker",
            Self::None => "none",
        })
    }
}

/// The reference runs of the original.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml explains each key")]
pub struct ReferenceSettings {
    pub runs: u32,
}

/// The destination of the gist.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml explains each key")]
pub struct GistSettings {
    pub output: PathBuf,
    pub place: GistPlace,
    pub mutants: u32,
}

/// The repair of issues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml explains each key")]
pub struct FixSettings {
    pub rounds: u32,
    pub output: PathBuf,
}

/// The interpreter and packages of the command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml explains each key")]
pub struct EnvironmentSettings {
    pub python: String,
    pub pythons: Vec<PathBuf>,
    pub lock: PathBuf,
    pub cache: PathBuf,
}

/// The graphs of repositories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml explains each key")]
pub struct GraphSettings {
    pub file_mib: u64,
    pub weights: Weights,
}

/// The runs of suites.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml explains each key")]
pub struct BenchSettings {
    pub workers: usize,
    pub mutants: u32,
    pub alone: bool,
    pub suites: PathBuf,
}

impl Settings {
    /// Divides the caps that all workers share by their number: no worker knows of what others spend.
    pub fn divide_caps(&mut self, workers: usize) {
        let (model, of) = (&mut self.model, workers.max(1) as u64);
        // A cap of 0 is none, and one that is divided stays a cap.
        let part = |cap: u64| if cap == 0 { 0 } else { (cap / of).max(1) };
        let rate = part(u64::from(model.requests_per_minute));
        model.requests_per_minute = u32::try_from(rate).unwrap_or(u32::MAX);
        model.total_steps = part(model.total_steps);
        model.total_tokens = part(model.total_tokens);
        model.total_cost /= of as f64;
    }

    /// The first value that its type allows and its meaning does not: key and reason.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        let Self { model, session, command, reference, bench, graph, .. } = self;
        let positive = [
            ("model.pause_seconds", model.pause_seconds),
            ("model.wait_seconds", model.wait_seconds),
            ("model.silence_seconds", model.silence_seconds),
            ("model.request_seconds", model.request_seconds),
            ("model.answer_mib", model.answer_mib as f64),
            ("session.steps", session.steps as f64),
            ("session.tokens", session.tokens as f64),
            ("session.seconds", session.seconds),
            ("session.format_errors", session.format_errors as f64),
            ("command.seconds", command.seconds),
            ("command.cpu_seconds", command.cpu_seconds),
            ("command.memory_mib", command.memory_mib as f64),
            ("command.processes", command.processes as f64),
            ("command.output_mib", command.output_mib as f64),
            ("command.file_mib", command.file_mib as f64),
            ("command.disk_mib", command.disk_mib as f64),
            ("graph.file_mib", graph.file_mib as f64),
            ("reference.runs", f64::from(reference.runs)),
            ("bench.workers", bench.workers as f64),
        ];
        for (key, value) in positive {
            // Written so that NaN is refused too; the bound is about 30 years.
            if !(value > 0.0 && value < 1e15) || (key.ends_with("seconds") && value > 1e9) {
                return Err((key, format!("{value} is out of range (it has to be above 0)")));
            }
        }
        for (key, value) in [
            ("session.cost", session.cost),
            ("model.total_cost", model.total_cost),
            ("model.total_seconds", model.total_seconds),
        ] {
            if !(0.0..1e9).contains(&value) {
                return Err((key, format!("{value} is out of range (0 is no cap)")));
            }
        }
        let weights = &graph.weights;
        for (key, value) in [
            ("graph.weights.dependency", weights.dependency),
            ("graph.weights.complexity", weights.complexity),
            ("graph.weights.usage", weights.usage),
            ("graph.weights.semantic", weights.semantic),
            ("graph.weights.doc", weights.doc),
            ("graph.weights.git", weights.git),
        ] {
            if !(0.0..1e6).contains(&value) {
                return Err((key, format!("{value} is out of range (0 switches it off)")));
            }
        }
        Ok(())
    }
}

impl CommandSettings {
    /// The bounds as a sandbox takes them.
    pub fn limits(&self) -> Limits {
        const MIB: u64 = 1 << 20;
        Limits {
            wall: Duration::from_secs_f64(self.seconds),
            cpu: Duration::from_secs_f64(self.cpu_seconds),
            memory: self.memory_mib.saturating_mul(MIB),
            processes: self.processes,
            output: self.output_mib.saturating_mul(MIB),
            file: self.file_mib.saturating_mul(MIB),
            disk: self.disk_mib.saturating_mul(MIB),
        }
    }
}
