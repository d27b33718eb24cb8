//! A repro as a block of Markdown that can be pasted into an issue, and the check that comes before.
//!
//! Owns the layout of the block. Nothing is published here: the block is printed, or refused where the
//! file holds what looks like a secret.

use std::{fmt::Write, fs, path::Path};

use sha2::{Digest, Sha256};
use tools::Distribution;

use super::{Exit, Failure, surroundings::Surroundings};
use crate::secrets::{OwnSecrets, env_file_values, find_secrets, names_a_secret};

/// A repro, and what a reader of an issue has to know of it.
pub struct SharedRepro<'a> {
    /// The project, and its version where that is known.
    pub project: &'a str,
    /// The command that failed.
    pub command: &'a str,
    /// The failure: type and message.
    pub failure: &'a str,
    /// The version of the interpreter.
    pub python: (u8, u8, u8),
    /// The packages that the file imports, pinned.
    pub requires: &'a [String],
    /// Runs alone in which it failed in the same way.
    pub reproduced: usize,
    /// Runs alone.
    pub runs: usize,
    /// The name of the file.
    pub file: &'a str,
    /// Its text.
    pub text: &'a str,
    /// The licences of the code that was copied.
    pub licences: &'a [String],
}

/// Writes the block.
pub fn markdown_block(repro: &SharedRepro<'_>) -> String {
    let (major, minor, micro) = repro.python;
    let seen = repro.failure.lines().next().unwrap_or_default();
    let lines = repro.text.lines().count();
    let needs: Vec<String> = [format!("Python {major}.{minor}.{micro}")]
        .into_iter()
        .chain(repro.requires.iter().map(|one| one.replace("==", " ")))
        .collect();
    let mut text = String::new();
    let _ = writeln!(text, "- **Versions**: {} ({})", code(repro.project), needs.join(", "));
    let _ = writeln!(text, "- **Command**: {}", code(repro.command));
    let _ = writeln!(text, "- **Expected**: it succeeds");
    let _ = writeln!(text, "- **Seen**: {}\n", code(seen));
    let _ = writeln!(text, "<details>\n<summary>{} ({lines} lines)</summary>\n", repro.file);
    let fence = fence(repro.text);
    let _ = writeln!(text, "{fence}python\n{}\n{fence}\n\n</details>\n", repro.text.trim_end());
    let _ = writeln!(
        text,
        "Run it: {}. {} in a sandbox without the repository, by gistify {}.",
        code(&format!("uv run {}", repro.file)),
        match repro.runs {
            0 => "It was not run again".to_owned(),
            runs => format!("Reproduced {} of {runs}", repro.reproduced),
        },
        env!("CARGO_PKG_VERSION"),
    );
    let hash = Sha256::digest(repro.text.as_bytes());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let _ = writeln!(text, "SHA-256 of the file: `{hash}`.");
    if !repro.licences.is_empty() {
        let _ = writeln!(
            text,
            "Its code is copied from {}: {}.",
            code(repro.project),
            repro.licences.join(", ")
        );
    }
    text
}

/// Refuses a text with what looks like secrets; the message names each.
///
/// # Errors
/// There are some.
pub fn refuse_secrets(text: &str, own: &OwnSecrets, allowed: bool) -> Result<(), Failure> {
    let secrets = find_secrets(text, own);
    if allowed || secrets.is_empty() {
        return Ok(());
    }
    let told: Vec<String> = secrets.iter().map(ToString::to_string).collect();
    let message = format!(
        "the file is not for the public: {} (look at these lines; --allow-secrets prints it all the same)",
        told.join("; ")
    );
    Err(Failure::new(Exit::Input, message))
}

/// The user's own secrets: variables of the environment, `.env` files of a repository, the home directory.
pub fn own_secrets(around: &Surroundings, root: &Path) -> OwnSecrets {
    let mut own = OwnSecrets {
        home: around.host.home.as_ref().map(|home| home.display().to_string()),
        ..OwnSecrets::default()
    };
    let variables = around.secret_variables(names_a_secret);
    own.values.extend(variables);
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_env = name == ".env" || name.to_string_lossy().starts_with(".env.");
        if let Some(text) = is_env.then(|| fs::read_to_string(entry.path()).ok()).flatten() {
            own.values.extend(env_file_values(&text));
        }
    }
    own
}

/// The licence of an installed package: `idna 3.10: BSD-3-Clause (LICENSE.md)`.
pub fn package_licence(package: &Distribution) -> String {
    let Distribution { name, version, licence, licence_files: files, .. } = package;
    let files = if files.is_empty() { String::new() } else { format!(" ({})", files.join(", ")) };
    let licence = if licence.is_empty() { "an unknown licence" } else { licence };
    format!("{name} {version}: {licence}{files}")
}

/// The names of a repository's licence, and of the files that hold its text: `MIT (LICENSE)`.
pub fn licences(root: &Path) -> Vec<String> {
    let named = |name: &str| {
        let upper = name.to_uppercase();
        ["LICENSE", "LICENCE", "COPYING", "NOTICE"].iter().any(|start| upper.starts_with(start))
    };
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let mut files: Vec<String> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| named(name))
        .collect();
    files.sort();
    match (licence_name(root), files.is_empty()) {
        (None, _) => files,
        (Some(expression), true) => vec![expression],
        (Some(expression), false) => vec![format!("{expression} ({})", files.join(", "))],
    }
}

/// Returns the name of a repository's licence, as `pyproject.toml` has it, or else the metadata of a source distribution;
/// `None` where neither names one in a line.
pub fn licence_name(root: &Path) -> Option<String> {
    let short = |text: &str| {
        let name = text.lines().next()?.trim();
        // Some metadata have the text of the licence instead.
        let is_name = !name.is_empty() && name.len() <= 80 && !name.starts_with("Copyright");
        (is_name && name != "UNKNOWN").then(|| name.to_owned())
    };
    let of_project = || {
        let text = fs::read_to_string(root.join("pyproject.toml")).ok()?;
        let table = text.parse::<toml::Table>().ok()?;
        let licence = table.get("project")?.get("license")?;
        short(licence.as_str().or_else(|| licence.get("text")?.as_str())?)
    };
    let of_metadata = || {
        let text = fs::read_to_string(root.join("PKG-INFO")).ok()?;
        let headers: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
        let field = |name: &str| headers.iter().find_map(|line| short(line.strip_prefix(name)?));
        field("License-Expression:").or_else(|| field("License:"))
    };
    of_project().or_else(of_metadata)
}

/// A text as code, on one line: with more backquotes around it than it has in a row.
fn code(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    let ticks = "`".repeat(longest_run(&text) + 1);
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{blank}{text}{blank}{ticks}")
}

/// A fence that no line of the text ends.
fn fence(text: &str) -> String {
    "`".repeat((longest_run(text) + 1).max(3))
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_says_what_an_issue_asks_for() {
        let requires = ["httpx==0.28.1".to_owned()];
        let licences = ["MIT (LICENSE)".to_owned()];
        let block = markdown_block(&SharedRepro {
            project: "shop 1.2",
            command: "pytest tests/test_a.py::test_b",
            failure: "ValueError: no `price`\nmore",
            python: (3, 12, 1),
            requires: &requires,
            reproduced: 3,
            runs: 3,
            file: "repro.py",
            text: "raise ValueError('''```''')\n",
            licences: &licences,
        });
        let block = block.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        let expected = r"- **Versions**: `shop 1.2` (Python 3.12.1, httpx 0.28.1)
- **Command**: `pytest tests/test_a.py::test_b`
- **Expected**: it succeeds
- **Seen**: `` ValueError: no `price` ``

<details>
<summary>repro.py (1 lines)</summary>

````python
raise ValueError('''```''')
````

</details>

Run it: `uv run repro.py`. Reproduced 3 of 3 in a sandbox without the repository, by gistify VERSION.
SHA-256 of the file: `ee013b6cb6ce8dcff910e035d767266f148404f655a3ed2993feb06f449e1fce`.
Its code is copied from `shop 1.2`: MIT (LICENSE).
";
        assert_eq!(block, expected);
    }

    #[test]
    fn finds_licences() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(licences(root.path()), Vec::<String>::new());
        fs::write(root.path().join("LICENSE.txt"), "").unwrap();
        fs::write(root.path().join("NOTICE"), "").unwrap();
        assert_eq!(licences(root.path()), ["LICENSE.txt", "NOTICE"]);
        fs::write(root.path().join("pyproject.toml"), "[project]\nlicense = \"MIT\"\n").unwrap();
        assert_eq!(licences(root.path()), ["MIT (LICENSE.txt, NOTICE)"]);
        fs::remove_file(root.path().join("pyproject.toml")).unwrap();
        for (metadata, name) in [
            ("License: BSD\nLicense-Expression: BSD-3-Clause\n", Some("BSD-3-Clause")),
            ("License: BSD\n", Some("BSD")),
            ("License: Copyright (c) 2010 Foo\n", None),
            ("License: UNKNOWN\n\nLicense: MIT\n", None),
        ] {
            fs::write(root.path().join("PKG-INFO"), format!("Name: a\n{metadata}")).unwrap();
            assert_eq!(licence_name(root.path()).as_deref(), name, "{metadata}");
        }
    }

    #[test]
    fn secrets_are_refused_until_told() {
        let own = OwnSecrets { home: Some("/srv/maria".to_owned()), ..OwnSecrets::default() };
        let text = "open('/srv/maria/x')\n";
        let refused = refuse_secrets(text, &own, false).unwrap_err().message();
        assert!(refused.contains("line 1: your home directory (/srv...)"), "{refused}");
        assert!(refuse_secrets(text, &own, true).is_ok());
        assert!(refuse_secrets("x = 1\n", &own, false).is_ok());
    }
}
