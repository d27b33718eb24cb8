//! Minimal repositories that behave differently on versions of Python, in `versions`: each gist is faithful on
//! each version that its `case.toml` names. `GISTIFY_TEST_PYTHONS=DIR` names interpreters that `.ci/get-pythons` brought.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{User, pythons, read};

/// Writes and judges the gist of each case whose name begins so; every version of it that this machine has.
fn check(names: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command_line/versions");
    let mut cases: Vec<PathBuf> =
        fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    let name = |case: &Path| case.file_name().unwrap().to_string_lossy().into_owned();
    let only = std::env::var("GISTIFY_TEST_CASE").unwrap_or_default();
    cases.retain(|case| name(case).starts_with(names) && name(case).contains(&only));
    let mut wrong = Vec::new();
    for case in &cases {
        let told: toml::Table = read(&case.join("case.toml")).parse().unwrap();
        let versions = told["pythons"].as_array().unwrap();
        for version in versions.iter().filter_map(toml::Value::as_str) {
            let minor = version.strip_prefix("3.").unwrap().parse().unwrap();
            let Some(python) = pythons::environment(minor) else { continue };
            let user = User::new();
            let root = user.here().join("repo");
            copy(case, &root);
            fs::remove_file(root.join("case.toml")).unwrap();
            let python = python.python.to_string_lossy().into_owned();
            let command: Vec<&str> = told["command"].as_str().unwrap().split(' ').collect();
            let mut args = vec!["run", "repo", "-o", "gist.py", "--python", &python, "--"];
            args.extend(command);
            let ran = user.gistify(&args);
            if ran.code != 0 {
                let gist = fs::read_to_string(user.here().join("gist.py")).unwrap_or_default();
                wrong.push(format!("{} on {version}:\n{}{}{gist}", name(case), ran.out, ran.err));
            }
        }
    }
    assert!(!cases.is_empty(), "no case is called {names}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, &target).unwrap()),
        }
    }
}

#[test]
fn each_python_is_met_in_its_own_ways() {
    check("");
}
