//! Task directories of SWE-bench 5 as rows: `tasks/NAME` with task.yaml, problem_statement.md, tests.json, gold.patch and
//! test.patch, as `gistify export --format swe-bench` writes them too.
//!
//! Of task.yaml the scalars at its top level are read, which is where the row's own fields are.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value, json};

/// The file that makes a directory a task.
const TASK: &str = "task.yaml";
/// The fields of a row that task.yaml has.
const FIELDS: [&str; 4] = ["instance_id", "repo", "base_commit", "version"];
/// The fields of a row that have a file each.
const TEXTS: [(&str, &str); 3] = [
    ("problem_statement", "problem_statement.md"),
    ("patch", "gold.patch"),
    ("test_patch", "test.patch"),
];

/// The tasks of a directory, sorted: itself, or those in it or in its `tasks`.
pub fn task_directories(directory: &Path) -> Vec<PathBuf> {
    if directory.join(TASK).is_file() {
        return vec![directory.to_owned()];
    }
    let inner = directory.join("tasks");
    let place = if inner.is_dir() { inner } else { directory.to_owned() };
    let entries = fs::read_dir(&place).into_iter().flatten().flatten();
    let tasks = entries.map(|entry| entry.path()).filter(|path| path.join(TASK).is_file());
    let mut tasks: Vec<PathBuf> = tasks.collect();
    tasks.sort();
    tasks
}

/// The row of a task directory, as JSON. A field whose file is missing or no text is missing there as well.
pub fn task_row(directory: &Path) -> Value {
    let read = |name: &str| fs::read_to_string(directory.join(name)).ok();
    let mut row = Map::new();
    for (key, value) in scalars(&read(TASK).unwrap_or_default()) {
        if FIELDS.contains(&key) {
            row.insert(key.to_owned(), Value::String(value));
        }
    }
    for (field, file) in TEXTS {
        row.extend(read(file).map(|text| (field.to_owned(), Value::String(text))));
    }
    let tests = read("tests.json").map(|text| {
        // A text that is no JSON makes the row malformed.
        serde_json::from_str(&text).unwrap_or_else(|_| json!({ "FAIL_TO_PASS": text }))
    });
    for field in ["FAIL_TO_PASS", "PASS_TO_PASS"] {
        let names = tests.as_ref().and_then(|tests: &Value| tests.get(field)).cloned();
        row.extend(names.map(|names| (field.to_owned(), names)));
    }
    Value::Object(row)
}

/// The scalars at the top level of YAML: plain, or in quotes.
///
/// ```text
/// repo: own/repo     version: "1.0"     base_commit: '12'    # plain, double and single quotes
/// ```
fn scalars(yaml: &str) -> impl Iterator<Item = (&str, String)> {
    yaml.lines().filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        let value = value.trim();
        let text = match value.chars().next()? {
            '"' => serde_json::Deserializer::from_str(value).into_iter().next()?.ok()?,
            '\'' => single_quoted(&value[1..])?,
            '#' => return None,
            _ => value.split(" #").next().unwrap_or(value).trim_end().to_owned(),
        };
        (!text.is_empty() && !key.starts_with([' ', '#', '-'])).then_some((key.trim_end(), text))
    })
}

/// Returns a text up to its closing single quote; two quotes are one of the text.
fn single_quoted(rest: &str) -> Option<String> {
    let mut text = String::new();
    let mut letters = rest.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\'' && letters.next_if_eq(&'\'').is_none() {
            return Some(text);
        }
        text.push(letter);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_plain_or_in_quotes() {
        let yaml = "# a task\ninstance_id: own__repo-1\nrepo: \"own/repo\" # \"it\"\nversion: '1''0' # it's\nnone: # empty\nbase_commit: 12 # the base\n\
                    datasets:\n  repo: other/repo\n- x: 1\nempty:\n";
        let found: Vec<(&str, String)> = scalars(yaml).collect();
        let found: Vec<(&str, &str)> =
            found.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let expected = [
            ("instance_id", "own__repo-1"),
            ("repo", "own/repo"),
            ("version", "1'0"),
            ("base_commit", "12"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn tasks_are_in_a_directory_or_are_one() {
        let root = tempfile::tempdir().unwrap();
        for name in ["tasks/b", "tasks/a", "tasks/none"] {
            fs::create_dir_all(root.path().join(name)).unwrap();
        }
        for name in ["a", "b"] {
            fs::write(root.path().join("tasks").join(name).join(TASK), "repo: a/b\n").unwrap();
        }
        let names = |place: &str| -> Vec<String> {
            let found = task_directories(&root.path().join(place)).into_iter();
            found.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(names(""), ["a", "b"]);
        assert_eq!(names("tasks"), ["a", "b"]);
        assert_eq!(names("tasks/b"), ["b"]);
        assert!(names("tasks/none").is_empty());
    }
}
