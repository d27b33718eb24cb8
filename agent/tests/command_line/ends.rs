//! Commands that end by an error, or that act on something outside of the program: their gists do the same.
//!
//! Each input of `ends/` is a repository in one text. Its first lines say the command, on which versions of Python, and
//! lines that the gist keeps or lacks. Those of `repros/` are the same of commands that fail, and of their repros.

use std::sync::Mutex;

use super::*;

/// The inputs, as far as they are on this machine's Pythons; each on the first that there is, unless it says which.
struct Input {
    name: String,
    command: Vec<String>,
    pythons: Vec<u8>,
    keeps: Vec<String>,
    lacks: Vec<String>,
    files: String,
}

impl Input {
    fn read(path: &Path) -> Self {
        let text = read(path);
        let (head, files) = text.split_once("#- ").expect("a file");
        let told = |word: &str| -> Vec<String> {
            head.lines().filter_map(|line| line.strip_prefix(word)).map(str::to_owned).collect()
        };
        let words = |lines: &[String]| -> Vec<String> {
            lines.iter().flat_map(|line| line.split_whitespace()).map(str::to_owned).collect()
        };
        Self {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            command: words(&told("$ ")),
            pythons: words(&told("pythons ")).iter().map(|minor| minor.parse().unwrap()).collect(),
            keeps: told("keeps "),
            lacks: told("lacks "),
            files: format!("#- {files}"),
        }
    }

    /// Returns the fault of what is made of it, if there is one.
    fn check(&self, made: Made, python: &str) -> Option<String> {
        let user = User::new();
        user.repository("repo", &self.files);
        let command: Vec<&str> = self.command.iter().map(String::as_str).collect();
        let (start, file) = match made {
            Made::Gist => (["run", "repo", "--require", "verified"], "concise.py"),
            Made::Repro => (["repro", "repo", "--seconds", "120"], "repro.py"),
        };
        let args = [&start[..], &["--python", python, "--"], &command].concat();
        let ran = user.gistify(&args);
        let text = fs::read_to_string(user.here().join(file)).unwrap_or_default();
        let has = |line: &&String| text.lines().any(|own| own.contains(line.as_str()));
        let mut wrong: Vec<String> =
            self.keeps.iter().filter(|line| !has(line)).map(|l| format!("lacks {l}")).collect();
        wrong.extend(self.lacks.iter().filter(has).map(|line| format!("keeps {line}")));
        // A repro says so itself, and that its search had time enough.
        let is_whole = ["reproduced in 3 of 3 runs: ", "no statement can be removed any more"];
        let is_whole = made == Made::Gist || is_whole.iter().all(|part| ran.out.contains(part));
        if ran.code != 0 || !is_whole {
            wrong.push(format!("exit code {}: {}{}", ran.code, ran.out, ran.err));
        }
        let name = &self.name;
        (!wrong.is_empty()).then(|| format!("{name} on {python}: {}\n{text}", wrong.join("; ")))
    }
}

/// The file that is made of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    Gist,
    Repro,
}

#[test]
fn gists_end_and_act_as_their_commands_do() {
    check_all("ends", Made::Gist);
}

#[test]
fn repros_fail_as_their_commands_do() {
    check_all("repros", Made::Repro);
}

/// Checks all inputs of a directory.
fn check_all(directory: &str, made: Made) {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command_line");
    let directory = place.join(directory);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let Some(usual) = python() else { return };
    let mut runs: Vec<(Input, String)> = Vec::new();
    for path in &paths {
        let pythons = Input::read(path).pythons;
        let pythons: Vec<String> = match pythons.is_empty() {
            true => vec![usual.clone()],
            false => {
                let found = pythons.into_iter().filter_map(pythons::environment);
                found.map(|one| one.python.to_string_lossy().into_owned()).collect()
            }
        };
        runs.extend(pythons.into_iter().map(|python| (Input::read(path), python)));
    }
    assert!(runs.len() >= paths.len() / 2, "most inputs need a Python that is not here");
    let (runs, wrong) = (Mutex::new(runs), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((input, python)) = { runs.lock().unwrap().pop() } {
                    wrong.lock().unwrap().extend(input.check(made, &python));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n---\n"));
}
