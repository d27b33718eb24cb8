//! `gistify export --format swe-bench`: a task repository of SWE-bench 5, as `swebench dataset check` wants it.

use serde_json::{Value, json};

use super::{
    super::{Exit, Failure, OrExit},
    tasks::{GistTask, GistTasks, JUDGE},
};

const EVAL: &str = include_str!("swe_bench/eval.sh");
/// The lines of an image that make its repository of the file; patches are applied with git.
const REPOSITORY: &str = include_str!("swe_bench/Dockerfile");

/// Returns the files of the repository.
///
/// # Errors
/// A prompt of the user's cannot be filled in, or git is missing.
pub fn files(gist: &GistTasks<'_>) -> Result<Vec<(String, String)>, Failure> {
    let tests =
        gist.patch(&[], &[("judge/judge.py", JUDGE), ("judge/original.py", gist.original())])?;
    let dataset = format!("gistify/{}", gist.collection());
    let mut files =
        vec![("sweb.yaml".to_owned(), yaml(&json!({ "datasets": [dataset], "splits": ["test"] })))];
    for task in &gist.tasks {
        let id = format!("gistify__{}", task.name);
        for (path, text) in task_files(gist, task, &id, &dataset, &tests)? {
            files.push((format!("tasks/{id}/{path}"), text));
        }
    }
    Ok(files)
}

fn task_files(
    gist: &GistTasks<'_>,
    task: &GistTask,
    id: &str,
    dataset: &str,
    tests: &str,
) -> Result<[(&'static str, String); 8], Failure> {
    let mut facts = json!({
        "instance_id": id,
        "version": gist.python(),
        "base_commit": "base",
        "split": "test",
        "datasets": [dataset],
        // The name that its harness derives: two underscores are no part of an image's name.
        "image": format!("swebench/sweb.eval.x86_64.{}:latest", id.replace("__", "_1776_")),
        "log_parser": "parse_log_pytest",
        "eval_type": "pass_and_fail",
    });
    let more = serde_json::to_value(gist.facts(task)).or_exit(Exit::Infrastructure)?;
    for (key, value) in more.as_object().into_iter().flatten() {
        let key = if key == "repository" { "repo" } else { key };
        facts[key] = value.clone();
    }
    let cases = json!({ "FAIL_TO_PASS": task.failed, "PASS_TO_PASS": task.passed });
    let evaluation =
        EVAL.replace("@FUNCTION@", task.function()).replace("@TEST_PATCH@", tests.trim_end());
    let solution = gist.patch(&[("gist.py", &task.emptied)], &[("gist.py", gist.original())])?;
    Ok([
        ("task.yaml", yaml(&facts)),
        ("tests.json", format!("{cases:#}\n")),
        ("problem_statement.md", gist.instruction(task, "/testbed/")?),
        ("gold.patch", solution),
        ("test.patch", tests.to_owned()),
        ("eval.sh", evaluation),
        ("Dockerfile", gist.image("/testbed", REPOSITORY)),
        ("gist.py", task.emptied.clone()),
    ])
}

/// Returns an object as YAML, of which JSON is a part: a line for each key.
fn yaml(value: &Value) -> String {
    let lines = value.as_object().into_iter().flatten();
    lines.map(|(key, value)| format!("{key}: {value}\n")).collect()
}
