//! `gistify oracle`: a script that tells if a file fails as a repro does, for reducers of others.
//!
//! The script stands alone: it needs a shell, the interpreter and no gistify. Its text is in `oracle/`.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use clap::Args;
use regex::{Captures, Regex};
use serde::Deserialize;

use super::{Exit, Failure, OrExit, destination::check_file, input_file::InputFile};
use crate::record::replace;

const SCRIPT: &str = include_str!("oracle/interesting.sh");
const PROGRAM: &str = include_str!("oracle/same_failure.py");

#[derive(Debug, Args)]
pub struct OracleCommand {
    /// The record of a repro: the directory that `gistify repro` names.
    #[arg(value_name = "RUN")]
    record: PathBuf,
    /// File for the script [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The interpreter that runs the file [default: the one that ran the repro].
    #[arg(long, value_name = "PYTHON")]
    python: Option<PathBuf>,
    /// The name that the file has where it is reduced.
    #[arg(long, value_name = "NAME", default_value = "repro.py")]
    name: String,
}

/// The scores of a repro that the script needs.
#[derive(Debug, Deserialize)]
struct Known {
    kind: Option<String>,
    #[serde(default)]
    failure: String,
    #[serde(default)]
    pytest: bool,
    interpreter: Option<PathBuf>,
}

impl OracleCommand {
    pub fn act(self) -> Result<Exit, Failure> {
        self.output.as_deref().map_or(Ok(()), |path| check_file(path, true))?;
        let path = self.record.join("scores.json");
        let hint = "give the directory that `gistify repro` prints as its record";
        let file = InputFile { what: "record", path: &path, hint };
        let known: Known = file.json()?;
        if known.kind.as_deref() != Some("repro") {
            return Err(file.fault("it is no record of a repro"));
        }
        let python = self.python.or(known.interpreter.clone()).unwrap_or_else(|| "python3".into());
        let script = script(&known, &python.to_string_lossy(), &self.name)?;
        let Some(output) = self.output else {
            print!("{script}");
            return Ok(Exit::Success);
        };
        replace(&output, script.as_bytes()).or_exit(Exit::Infrastructure)?;
        let permissions = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&output, permissions).or_exit(Exit::Infrastructure)?;
        Ok(Exit::Success)
    }
}

/// The script for a failure.
///
/// # Errors
/// A word that no shell can be given: one with a zero byte.
fn script(known: &Known, python: &str, name: &str) -> Result<String, Failure> {
    let quoted = |word: &str| {
        shlex::try_quote(word).map(|word| word.into_owned()).map_err(|_| {
            Failure::new(Exit::Input, format!("oracle: {word:?} is no word of a shell"))
        })
    };
    let runner = if known.pytest { "pytest" } else { "python" };
    let shown = known.failure.lines().next().unwrap_or_default();
    let shown: String = shown.chars().filter(|c| !c.is_control()).take(200).collect();
    let values = [
        ("VERSION", env!("CARGO_PKG_VERSION").to_owned()),
        ("PYTHON", quoted(python)?),
        ("NAME", quoted(name)?),
        ("RUNNER", runner.to_owned()),
        ("SHOWN", shown),
        ("FAILURE", quoted(&known.failure)?),
        ("PROGRAM", PROGRAM.to_owned()),
    ];
    // In one pass: what others wrote is not looked into.
    let form = Regex::new("@([A-Z]+)@").expect("the form is a regular expression");
    let fill = |captures: &Captures<'_>| {
        let value = values.iter().find(|(name, _)| *name == &captures[1]);
        value.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    Ok(form.replace_all(SCRIPT, fill).into_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Returns the exit code of the script of a failure for a file.
    fn judged(failure: &str, file: &str) -> Option<i32> {
        let root = tempfile::tempdir().unwrap();
        let known =
            Known { kind: None, failure: failure.to_owned(), pytest: false, interpreter: None };
        let path = root.path().join("interesting.sh");
        fs::write(&path, script(&known, "python3", "repro.py").unwrap()).unwrap();
        fs::write(root.path().join("repro.py"), file).unwrap();
        let mut command = Command::new("sh");
        command.arg(&path).current_dir(root.path()).status().unwrap().code()
    }

    #[test]
    fn tells_the_same_failure_from_others() {
        let check = |failure: &str, file: &str, same: bool| {
            assert_eq!(judged(failure, file), Some(i32::from(!same)), "{failure}: {file}");
        };
        check("ValueError: it's 3\nmore", "raise ValueError(\"it's 3\")\n", true);
        check("ValueError: it's 3", "raise ValueError(4)\n", false);
        check("ValueError: it's 3", "print(\"ValueError: it's 3\")\n", false);
        check("Broken: at 0x1f", "class Broken(Exception): pass\nraise Broken('at 0x2f')\n", true);
        check("AssertionError: assert 1 == 2", "assert 1 == 2\n", true);
        check("exit code 3", "raise SystemExit(3)\n", true);
        check("exit code 3", "raise SystemExit(4)\n", false);
        check("signal 9", "import os\nos.kill(os.getpid(), 9)\n", true);
        // What the failure says is no part of the program.
        check(
            "ValueError: $(exit 0) @PYTHON@ '",
            "raise ValueError(\"$(exit 0) @PYTHON@ '\")\n",
            true,
        );
    }
}
