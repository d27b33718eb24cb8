//! `gistify export --format harbor`: a directory for each task, with an image for the solver and one for the judge.

use serde::Serialize;

use super::{
    super::{Exit, Failure, OrExit},
    tasks::{GistTask, GistTasks, JUDGE, TaskFacts},
};

const TEST: &str = include_str!("harbor/test.sh");
const SOLVE: &str = include_str!("harbor/solve.sh");
/// The version of `task.toml`.
const SCHEMA: &str = "1.4";

/// `task.toml`.
#[derive(Debug, Serialize)]
struct Manifest<'a> {
    schema_version: &'static str,
    artifacts: [&'static str; 1],
    task: Package<'a>,
    metadata: TaskFacts<'a>,
    agent: Limits,
    verifier: Verifier,
    environment: BuildLimits,
}

#[derive(Debug, Serialize)]
struct Package<'a> {
    name: String,
    description: String,
    keywords: [&'a str; 2],
}

#[derive(Debug, Serialize)]
struct Limits {
    timeout_sec: f64,
    user: &'static str,
}

#[derive(Debug, Serialize)]
struct Verifier {
    timeout_sec: f64,
    environment_mode: &'static str,
}

#[derive(Debug, Serialize)]
struct BuildLimits {
    build_timeout_sec: f64,
}

/// Returns the files of all tasks.
///
/// # Errors
/// A prompt of the user's cannot be filled in.
pub fn files(gist: &GistTasks<'_>) -> Result<Vec<(String, String)>, Failure> {
    let mut files = Vec::new();
    for task in &gist.tasks {
        for (path, text) in task_files(gist, task)? {
            files.push((format!("{}/{path}", task.name), text));
        }
    }
    Ok(files)
}

fn task_files(
    gist: &GistTasks<'_>,
    task: &GistTask,
) -> Result<[(&'static str, String); 10], Failure> {
    let manifest = Manifest {
        schema_version: SCHEMA,
        artifacts: ["/app/gist.py"],
        task: Package {
            name: format!("gistify/{}", task.name),
            description: format!("The function {} of a gist", task.function()),
            keywords: ["python", "gist"],
        },
        metadata: gist.facts(task),
        agent: Limits { timeout_sec: 900.0, user: "agent" },
        // The judge runs files three times, each for at most five minutes.
        verifier: Verifier { timeout_sec: 960.0, environment_mode: "separate" },
        environment: BuildLimits { build_timeout_sec: 600.0 },
    };
    let environment = gist.image(
        "/app",
        "COPY gist.py /app/gist.py\nRUN useradd --create-home agent && chown -R agent /app\n",
    );
    Ok([
        ("task.toml", toml::to_string(&manifest).or_exit(Exit::Infrastructure)?),
        ("instruction.md", gist.instruction(task, "/app/")?),
        ("environment/Dockerfile", environment),
        ("environment/gist.py", task.emptied.clone()),
        ("solution/solve.sh", SOLVE.to_owned()),
        ("solution/gist.py", gist.original().to_owned()),
        ("tests/Dockerfile", gist.image("/app", "COPY . /tests/\n")),
        ("tests/test.sh", TEST.replace("@FUNCTION@", task.function())),
        ("tests/judge.py", JUDGE.to_owned()),
        ("tests/original.py", gist.original().to_owned()),
    ])
}
