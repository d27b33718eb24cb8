//! `gistify schema`: the JSON schemas of the files that gistify writes, made of the types that are serialised.
//!
//! Owns the list of these files. A schema describes what this version writes: a property that it does not name is refused.

use std::path::PathBuf;

use ::eval::{
    BenchPlan, BenchUnit, CompletionProblem, Continuation, Evaluation, Generation, IssueResult,
    IssueRow, IssueVerdict, PlannedTasks, QueryVerdict, RepairResult, SampleVerdict, SourceMap,
    Sources, Summary, TaskResult, Touched, VersionedRecord,
};
use clap::Args;
use graph::{Plan, Trace};
use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::transform_subschemas};
use serde_json::json;

use super::{
    Exit, Failure,
    destination::{check_file, make_directory},
    each,
    eval::EvalOutput,
    help::nearest,
    output,
    predictions::PredictionRow,
    repoexec, repro,
    row_work::write_json,
    run::RunOutput,
    solve::SolvedAnswer,
    surroundings::Surroundings,
};
use crate::{
    config::Settings, discovery::FindReport, model::Exchange, trajectory::TrajectoryRecord,
};

#[derive(Debug, Args)]
pub struct SchemaCommand {
    /// A schema [default: a list of all].
    name: Option<String>,
    /// Write all of them into this directory, as NAME.json.
    #[arg(short, long, value_name = "DIR", conflicts_with = "name")]
    output: Option<PathBuf>,
    /// Replace files that exist.
    #[arg(long, requires = "output")]
    force: bool,
}

/// A kind of file with its schema.
struct FileForm {
    /// The name of the schema.
    name: &'static str,
    /// The name of the file; empty for what is printed or what the user names.
    file: &'static str,
    /// Its content, and the command that writes it.
    content: &'static str,
    schema: fn() -> Schema,
}

/// A record as it is written, with its version.
type WrittenRecord<T> = VersionedRecord<'static, T>;

/// All files, by the commands that write them. A file of `.jsonl` has one such value a line.
const FORMS: &[FileForm] = &[
    form::<TrajectoryRecord>("trajectory", "trajectory.jsonl", "a session"),
    form::<Exchange>("exchanges", "exchanges.jsonl", "exchanges with a provider"),
    form::<Trace>("trace", "trace.json", "what a command executes"),
    form::<WrittenRecord<Plan>>("plan", "plan.json", "the reasons of a slice"),
    form::<WrittenRecord<SourceMap>>("source-map", "source-map.json", "origins of lines"),
    form::<WrittenRecord<Evaluation>>("scores", "scores.json", "the judgement of a gist"),
    form::<RunOutput<'_>>("run-output", "", "`run --json`"),
    form::<EvalOutput<'_>>("eval-output", "", "`eval --json`"),
    form::<repro::ReproScores<'_>>("repro-scores", "scores.json", "the judgement of a repro"),
    form::<repro::ReproOutput<'_>>("repro-output", "", "`repro --json`"),
    form::<each::EachLine>("each", "index.jsonl", "the gists of `run --each`"),
    form::<each::EachOutput<'_>>("each-output", "", "`run --each --json`"),
    form::<WrittenRecord<BenchPlan>>("bench-plan", "plan.json", "the attempts of a bench"),
    form::<Settings>("settings", "settings.json", "`bench`, `issues solve`"),
    form::<WrittenRecord<PlannedTasks>>("tasks", "tasks.json", "the tasks of `bench plan`"),
    form::<BenchUnit>("units", "units.jsonl", "the units of `bench plan`"),
    form::<WrittenRecord<TaskResult>>("result", "result.json", "an attempt of a bench"),
    form::<WrittenRecord<Sources>>("sources", "sources.json", "texts of an attempt"),
    form::<WrittenRecord<Touched>>("touched", "touched.json", "modules of an attempt"),
    form::<WrittenRecord<Summary>>("summary", "summary.json", "`bench`, `bench --json`"),
    form::<PredictionRow>("predictions", "predictions.jsonl", "`predictions`, `issues solve`"),
    form::<RepairResult>("fix", "fix.json", "`fix`, `issues solve`"),
    form::<IssueRow>("issues", "", "rows of `issues build`"),
    form::<IssueResult>("issue-results", "results.jsonl", "`issues solve`"),
    form::<IssueVerdict>("issue-verdicts", "verdicts.jsonl", "`issues eval`"),
    form::<SolvedAnswer<'_>>("answer", "answer.json", "`solve`"),
    form::<QueryVerdict>("query-verdicts", "verdicts.jsonl", "`queries`"),
    form::<CompletionProblem>("problems", "problems.jsonl", "`repoexec build`"),
    form::<repoexec::ExtractedFunctions>("extraction", "extraction.json", "`repoexec build`"),
    form::<repoexec::TestsMade<'_>>("tests", "tests.json", "`repoexec tests`"),
    form::<Generation>("generations", "generations.jsonl", "`repoexec generate`"),
    form::<SampleVerdict>("completion-verdicts", "verdicts.jsonl", "`repoexec score`"),
    form::<Continuation>("continuations", "continuations.jsonl", "`repoexec leakage`"),
    form::<repoexec::TuningRow<'_>>("tuning", "train.jsonl", "rows of `repoexec export`"),
    form::<repoexec::TuningDataset<'_>>("dataset", "dataset.json", "`repoexec export`"),
    form::<FindReport>("find", "", "`find`"),
];

const fn form<T: JsonSchema>(
    name: &'static str,
    file: &'static str,
    content: &'static str,
) -> FileForm {
    FileForm { name, file, content, schema: schema_of::<T> }
}

impl SchemaCommand {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        if let Some(directory) = &self.output {
            make_directory(directory)?;
            let path = |form: &FileForm| directory.join(format!("{}.json", form.name));
            FORMS.iter().try_for_each(|form| check_file(&path(form), self.force))?;
            for form in FORMS {
                write_json(&path(form), &(form.schema)())?;
            }
            println!("{} schemas in {}", FORMS.len(), directory.display());
        } else if let Some(name) = &self.name {
            let Some(form) = FORMS.iter().find(|form| form.name == name) else {
                let known = FORMS.iter().map(|form| form.name);
                let hint = nearest(name, known).map_or_else(
                    || "`gistify schema` lists all".to_owned(),
                    |name| format!("did you mean {name}?"),
                );
                return Err(Failure::new(Exit::Usage, format!("no schema {name:?} ({hint})")));
            };
            output::json(&(form.schema)());
        } else if around.json {
            let all = FORMS.iter().map(|FileForm { name, file, content, schema }| {
                json!({ "name": name, "file": file, "content": content, "schema": schema() })
            });
            output::json(&all.collect::<Vec<_>>());
        } else {
            for FileForm { name, file, content, .. } in FORMS {
                println!("{name:<20}  {file:<18}  {content}");
            }
        }
        Ok(Exit::Success)
    }
}

/// Returns the schema of what is written of a type.
pub fn schema_of<T: JsonSchema>() -> Schema {
    let settings =
        SchemaSettings::draft2020_12().for_serialize().with_transform(refuse_other_properties);
    settings.into_generator().into_root_schema_for::<T>()
}

/// Refuses the properties that a schema does not name.
///
/// An object with both properties and alternatives (`oneOf`) refuses what neither names. An alternative by itself would
/// refuse the properties beside it.
fn refuse_other_properties(schema: &mut Schema) {
    transform_subschemas(&mut refuse_other_properties, schema);
    let Some(object) = schema.as_object_mut().filter(|object| object.contains_key("properties"))
    else {
        return;
    };
    let mut alternatives = false;
    for name in ["allOf", "anyOf", "oneOf"] {
        let parts = object.get_mut(name).and_then(|parts| parts.as_array_mut());
        for part in parts.into_iter().flatten().filter_map(|part| part.as_object_mut()) {
            alternatives = true;
            part.remove("additionalProperties");
        }
    }
    let refusal = if alternatives { "unevaluatedProperties" } else { "additionalProperties" };
    object.entry(refusal).or_insert(false.into());
}
