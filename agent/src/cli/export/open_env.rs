//! `gistify export --format openenv`: an environment of OpenEnv whose server gives and judges all tasks.

use serde_json::json;

use super::{
    super::Failure,
    tasks::{GistTasks, JUDGE},
};

/// The files that differ between two gists by name, number of tasks and packages at most.
const FILES: [(&str, &str); 11] = [
    ("openenv.yaml", include_str!("open_env/openenv.yaml")),
    ("pyproject.toml", include_str!("open_env/pyproject.toml")),
    ("README.md", include_str!("open_env/README.md")),
    ("Dockerfile", include_str!("open_env/Dockerfile")),
    ("__init__.py", include_str!("open_env/__init__.py")),
    ("client.py", include_str!("open_env/client.py")),
    ("models.py", include_str!("open_env/models.py")),
    ("server/__init__.py", include_str!("open_env/server/__init__.py")),
    ("server/app.py", include_str!("open_env/server/app.py")),
    ("solution/solve.py", include_str!("open_env/solution/solve.py")),
    ("validation/runtime.json", include_str!("open_env/validation/runtime.json")),
];

/// Returns the files of the environment.
///
/// # Errors
/// A prompt of the user's cannot be filled in.
pub fn files(gist: &GistTasks<'_>) -> Result<Vec<(String, String)>, Failure> {
    let name = gist.collection().replace('-', "_");
    let packages = gist.packages();
    let install = match packages.is_empty() {
        true => String::new(),
        false => format!(" && uv pip install --no-cache --python /opt/gist/bin/python {packages}"),
    };
    let count = gist.tasks.len().to_string();
    let values = [
        ("@NAME@", &name),
        ("@COUNT@", &count),
        ("@PYTHON@", &gist.python()),
        ("@INSTALL@", &install),
    ];
    let fill = |text: &str| {
        values.iter().fold(text.to_owned(), |text, (mark, value)| text.replace(mark, value))
    };
    let tasks: Result<Vec<_>, Failure> = gist
        .tasks
        .iter()
        .map(|task| {
            Ok(json!({
                "task": task.name,
                "function": task.function(),
                "instruction": gist.instruction(task, "")?,
                "gist": task.emptied,
                "facts": gist.facts(task),
            }))
        })
        .collect();
    let mut files: Vec<(String, String)> =
        FILES.iter().map(|(path, text)| ((*path).to_owned(), fill(text))).collect();
    files.push(("server/tasks.json".to_owned(), format!("{:#}\n", json!(tasks?))));
    files.push(("server/judge.py".to_owned(), JUDGE.to_owned()));
    files.push(("server/original.py".to_owned(), gist.original().to_owned()));
    Ok(files)
}
