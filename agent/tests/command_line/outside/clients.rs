//! A client of the Model Context Protocol that we did not write lists and calls every tool.

use std::io::{BufRead, BufReader};

use super::*;

const CLIENT: &str = include_str!("client.py");

/// The text in each tool's reply, in the order in which the client calls them.
const SAID: [(&str, &str); 9] = [
    ("search", "FACTOR = 2"),
    ("view", "def double"),
    ("relate", "test_double"),
    ("trace", "passed"),
    ("slice", "lines"),
    ("execute", "\"same\":true"),
    ("graph", "calc/numbers.py"),
    ("evaluate", "\"score\":1"),
    ("edit", "x = 1"),
];

/// The client at work, at an address or on a program that it starts.
fn talk(user: &User, packages: &Path, server: &[&str]) {
    let output = Command::new(packages)
        .args(["-c", CLIENT])
        .args(server)
        .current_dir(user.here())
        .env("HOME", user.home.path())
        .output()
        .unwrap();
    let (out, err) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
    let lines = String::from_utf8(out).unwrap();
    let said: Vec<(String, bool, String)> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said.len(), SAID.len(), "{lines}{err}");
    for ((name, failed, text), (expected, part)) in said.iter().zip(SAID) {
        assert_eq!((name.as_str(), *failed), (expected, false), "{text}");
        assert!(text.contains(part), "{name}: {text}");
    }
}

#[test]
fn a_client_of_others_calls_every_tool() {
    let (Some(packages), Some(python)) = (packages(), python()) else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let args = ["mcp", "small", "--python", &python];
    let command = ["--", "pytest", "tests/test_numbers.py::test_double"];
    let program = env!("CARGO_BIN_EXE_gistify");
    talk(&user, packages, &[&[program], &args[..], &command].concat());

    let mut serving = user.command(&[&args[..], &["--http", "0"], &command].concat());
    let mut serving = serving.stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(serving.stderr.take().unwrap()).lines();
    let address = told
        .find_map(|line| line.ok()?.strip_prefix("listening at ").map(str::to_owned))
        .expect("an address");
    talk(&user, packages, &[&address]);
    assert_eq!(unsafe { libc::kill(serving.id() as i32, libc::SIGINT) }, 0);
    assert_eq!(serving.wait().unwrap().code(), Some(130));
}
