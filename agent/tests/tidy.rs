//! Tests the promises of the repository about itself: its layout, the size of its files, the place
//! of prompts, and that no code contains the name of a suite's package.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The entries that must exist, and those that may.
const TOP: [&str; 10] = [
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "agent",
    "configs",
    "eval",
    "graph",
    "prompts",
    "tools",
];
const TOP_TOO: [&str; 5] =
    ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "findings", "pyproject.toml"];
/// Lines that a file may have; sources may have [`SOURCE`], tests [`TESTS`].
const BOUNDS: [(&str, usize); 2] = [("agent/src/agent.rs", 199), ("agent/src/main.rs", 29)];
const SOURCE: usize = 1_100;
const TESTS: usize = 1_200;

#[test]
fn the_root_holds_what_was_asked_for() {
    let tracked: BTreeSet<_> = tracked()
        .iter()
        .filter_map(|path| path.split('/').next().map(str::to_owned))
        .filter(|name| !name.starts_with('.'))
        .collect();
    let missing: Vec<_> = TOP.iter().filter(|name| !tracked.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:?} are missing");
    let more = tracked.iter().find(|name| !TOP.iter().chain(&TOP_TOO).any(|one| one == name));
    assert_eq!(more, None, "not of the top level");
}

#[test]
fn rust_files_are_short_and_say_what_they_own() {
    for (path, text) in files(".rs") {
        let usual = if path.contains("/tests/") { TESTS } else { SOURCE };
        let bound =
            BOUNDS.iter().find(|(name, _)| *name == path).map_or(usual, |(_, bound)| *bound);
        let lines = text.lines().count();
        assert!(lines <= bound, "{path} has {lines} lines, more than {bound}");
        assert!(text.starts_with("//! "), "{path} does not begin with what it owns (//!)");
    }
}

#[test]
fn the_topic_of_benches_counts_the_tasks_of_suites() {
    let topic = fs::read_to_string(root().join("agent/help/bench.md")).unwrap();
    let rows: Vec<(Vec<&str>, &str)> = topic
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split(" | ");
            let names = cells.next()?.trim_end_matches('`').split("`, `").collect();
            Some((names, cells.next()?.split(' ').next()?))
        })
        .collect();
    let suites: Vec<_> = files(".toml")
        .into_iter()
        .filter_map(|(path, text)| {
            let name = path.strip_prefix("configs/suites/")?.strip_suffix(".toml")?.to_owned();
            // A directory has what a suite was drawn from.
            (!name.contains('/')).then(|| (name, text.matches("[[task]]").count()))
        })
        .collect();
    assert!(!suites.is_empty());
    for (name, tasks) in suites {
        let row = rows.iter().find(|(names, _)| names.contains(&name.as_str()));
        assert_eq!(row.map(|row| row.1), Some(tasks.to_string().as_str()), "{name}");
    }
}

#[test]
fn the_readme_is_one_screen_and_leads_to_every_topic() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let words = readme.split_whitespace().count();
    assert!(words <= 500, "the README has {words} words: the reference is in agent/help");
    let topics = files(".md").into_iter().filter(|(path, _)| path.starts_with("agent/help/"));
    for (path, text) in topics {
        assert!(readme.contains(&format!("({path})")), "the README does not lead to {path}");
        assert!(text.starts_with("# "), "{path} does not begin with its title");
    }
    for link in readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(link.contains("://") || root().join(link).exists(), "README.md: no {link}");
    }
}

#[test]
fn every_prompt_is_used() {
    // Scaffolds name prompts of their own.
    let code = files(".rs").into_iter().chain(files(".toml"));
    let code: String = code.map(|(_, text)| text).collect();
    for (path, _) in files(".md").into_iter().filter(|(path, _)| path.starts_with("prompts/")) {
        let name = path.trim_start_matches("prompts/");
        // Tools and refusals name theirs by a part of it.
        let stem = name.trim_end_matches(".md").rsplit('/').next().unwrap_or_default();
        let used = code.contains(&format!("\"{name}\"")) || code.contains(&format!("\"{stem}\""));
        assert!(used, "{path} is used nowhere");
    }
}

#[test]
fn prompts_are_not_written_in_rust() {
    // Words in which a model is addressed; a message to a user is a fact, not an address.
    let address = ["\"You are ", "\"Your ", "\"You have ", "\"You can ", "\"Please ", "\"Call "];
    for (path, text) in files(".rs").into_iter().filter(|(path, _)| !path.contains("/tests/")) {
        for phrase in address {
            assert!(!text.contains(phrase), "{path} has a prompt in it: {phrase}");
        }
    }
}

#[test]
fn no_code_knows_a_package_of_a_suite() {
    let names = suite_names();
    assert!(!names.is_empty(), "configs/suites names no package");
    let code = files(".rs").into_iter().chain(files(".py"));
    for (path, text) in code.filter(|(path, _)| !path.contains("/tests")) {
        for (at, line) in production(&text).lines().enumerate() {
            // A package can only be known by its name as a text; comments may use the word.
            let known = literals(line).flat_map(words).find(|word| names.contains(*word));
            assert_eq!(known, None, "{path}:{} knows a package of a suite", at + 1);
        }
    }
}

#[test]
fn no_code_reads_the_environment_below_the_command_line() {
    for (path, text) in files(".rs") {
        let allowed = path == "agent/src/cli/surroundings.rs"
            || path.contains("/tests")
            || path.contains("/benches/")
            || path.ends_with("build.rs");
        for read in ["env::var", "env::vars", "env::temp_dir", "env::home_dir"] {
            assert!(
                allowed || !production(&text).contains(read),
                "{path} reads the environment ({read})"
            );
        }
    }
}

#[test]
fn doc_comments_begin_with_what_they_describe() {
    let banned = ["What", "Whether", "Where", "Those", "How", "Who"];
    for (path, text) in files(".rs") {
        let mut above = "";
        for (at, line) in text.lines().map(str::trim_start).enumerate() {
            let sign = ["/// ", "//! "].into_iter().find(|sign| line.starts_with(sign));
            if let Some(sign) = sign
                && !above.starts_with(sign.trim_end())
            {
                let first = line[sign.len()..].split_whitespace().next().unwrap_or_default();
                let first = first.trim_end_matches(|c: char| !c.is_alphanumeric());
                assert!(!banned.contains(&first), "{path}:{} begins with {first}", at + 1);
            }
            above = line;
        }
    }
}

#[test]
fn public_types_have_names_of_their_own() {
    let mut places = BTreeMap::<String, Vec<String>>::new();
    for (path, text) in sources() {
        for (at, line) in text.lines().enumerate() {
            if let Some(name) = public_type(line) {
                places.entry(name.to_owned()).or_default().push(format!("{path}:{}", at + 1));
            }
        }
    }
    for (name, places) in places {
        assert!(places.len() == 1, "{name} is the name of several types: {}", places.join(", "));
    }
}

#[test]
fn imports_name_what_they_import() {
    for (path, text) in sources().filter(|(path, _)| !path.ends_with("tests.rs")) {
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let mut lines = text.lines().enumerate();
        while let Some((at, line)) = lines.next() {
            let mut statement = line.trim_start().to_owned();
            let visible = statement.strip_prefix("pub").map_or(statement.as_str(), |rest| {
                rest.split_once(')').map_or(rest, |(_, rest)| rest).trim_start()
            });
            if !visible.starts_with("use ") {
                continue;
            }
            while !statement.contains(';') {
                let Some((_, more)) = lines.next() else { break };
                statement.push_str(more);
            }
            assert!(!statement.contains('*'), "{path}:{} imports everything of a module", at + 1);
        }
    }
}

#[test]
fn names_say_more_than_a_verb() {
    let bare = ["told", "kept", "found", "alike", "lines", "asked", "left", "own", "stands"];
    for (path, text) in files(".rs") {
        let stem = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        assert!(!bare.contains(&stem), "{path} is named by a bare verb");
        for (at, line) in text.lines().enumerate() {
            if let Some(name) = defined(line) {
                let bare = bare.contains(&name.to_lowercase().as_str());
                assert!(!bare, "{path}:{}: {name} does not say what it is", at + 1);
            }
        }
    }
}

#[test]
fn commit_subjects_fit_in_a_line() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(root()).output().unwrap();
        String::from_utf8(output.stdout).unwrap_or_default()
    };
    // The rule holds from the commit that added this test on.
    let search = "-Sfn commit_subjects_fit_in_a_line";
    let added = git(&["log", "--reverse", "--format=%H", search, "--", "agent/tests/tidy.rs"]);
    let Some(first) = added.lines().next() else {
        println!("skipped: there is no history that has this test");
        return;
    };
    for subject in git(&["log", "--no-merges", "--format=%s", &format!("{first}..HEAD")]).lines() {
        let length = subject.chars().count();
        assert!(length <= 72, "a commit subject has {length} characters: {subject}");
    }
}

/// The packages that the suites are made of, as imports and distributions name them.
fn suite_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (path, text) in files(".toml") {
        if !path.starts_with("configs/suites/") {
            continue;
        }
        let suite: toml::Table = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
        if let Some(repo) = suite.get("repo").and_then(toml::Value::as_str) {
            names.insert(repo.to_owned());
            names.insert(repo.replace('-', "_"));
        }
    }
    names
}

/// The name of the type that a line begins to define for other files.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = rest.strip_prefix('(').map_or(Some(rest), |rest| Some(rest.split_once(')')?.1))?;
    let mut words = words(rest).filter(|word| !word.is_empty());
    let kind = words.next()?;
    ["struct", "enum", "trait", "type", "union"].contains(&kind).then(|| words.next())?
}

/// The name of the function, type or module that a line begins to define.
fn defined(line: &str) -> Option<&str> {
    let signs = ["fn", "struct", "enum", "trait", "type", "union", "mod"];
    let before = ["pub", "async", "const", "unsafe", "crate", "super", "self", "in"];
    let mut words = words(line).filter(|word| !word.is_empty());
    let first = words.find(|word| !before.contains(word))?;
    signs.contains(&first).then(|| words.next())?
}

/// The Rust files of the crates, without their tests.
fn sources() -> impl Iterator<Item = (String, String)> {
    files(".rs").into_iter().filter(|(path, _)| path.contains("/src/") && !path.contains("/tests/"))
}

/// A file without its own tests.
fn production(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or_default()
}

/// Returns the text between quotes in a line of code.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    let comment = ["//", "#"].iter().any(|sign| line.trim_start().starts_with(sign));
    let code = if comment { "" } else { line };
    let quote = if code.contains('"') { '"' } else { '\'' };
    code.split(quote).skip(1).step_by(2)
}

/// The identifiers and dashed names of a line.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
}

/// Tracked files with this ending, sorted: path and text.
fn files(ending: &str) -> Vec<(String, String)> {
    let paths = tracked().into_iter().filter(|path| path.ends_with(ending));
    paths.map(|path| (path.clone(), fs::read_to_string(root().join(&path)).unwrap())).collect()
}

/// Paths that git knows or would add, relative to the root.
fn tracked() -> Vec<String> {
    let arguments = ["ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate"];
    let output = Command::new("git").args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter(|path| root().join(path).is_file()).map(str::to_owned).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}
