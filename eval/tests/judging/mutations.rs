//! Single-character mutations of faithful gists: whatever changes an outcome, a message or an output, as a
//! plain run of pytest tells, must be noticed.

use std::{fs, path::Path, process::Command as Process, time::Duration};

use gistify_eval::WholeTestScore;

use super::{
    bed::{Bed, Original},
    shop::{GIST, SHOP},
};

/// The number of effective mutations wanted for each gist.
const WANTED: usize = 20;

const REPORTS: Original<'static> = Original {
    files: &[
        (
            "report.py",
            r#"import logging
import sys

log = logging.getLogger("report")


class Missing(LookupError):
    pass


def find(table, name):
    log.warning("looking for %s", name)
    if name not in table:
        raise Missing(f"{name} is missing in {sorted(table)}")
    return table[name]


def show(table):
    for name, value in table.items():
        print(name.ljust(8), value * 2)
    print("done: 3", file=sys.stderr)
"#,
        ),
        (
            "test_report.py",
            "import pytest\nfrom report import find, show\n\n\n@pytest.mark.parametrize('name', ['a', 'b', 'z'])\ndef test_report(name):\n    table = {'a': 1, 'b': 2}\n    show(table)\n    assert find(table, name) > 1\n",
        ),
    ],
    command: "pytest test_report.py::test_report",
};

/// Deterministic: the n-th mutation is the same everywhere.
fn mutation(text: &str, number: usize) -> Option<String> {
    let position = (number * 7919 + 13) % text.len();
    let old = *text.as_bytes().get(position)?;
    let new = match old {
        b'0'..=b'8' | b'a'..=b'y' | b'A'..=b'Y' => old + 1,
        b'9' => b'0',
        b'z' => b'a',
        b'+' => b'-',
        b'-' => b'+',
        b'*' => b'+',
        b'<' => b'>',
        b'>' => b'<',
        b' ' if text.as_bytes().get(position.wrapping_sub(1)) != Some(&b'\n') => b'_',
        _ => return None,
    };
    let mut bytes = text.as_bytes().to_vec();
    bytes[position] = new;
    String::from_utf8(bytes).ok()
}

/// Returns the result of a plain run of pytest: its exit code, and its report without times, places
/// and addresses.
fn plain_run(bed: &Bed, gist: &str, test: &str) -> (Option<i32>, String) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("concise.py"), gist).unwrap();
    let output = Process::new(&bed.environment.python)
        .args(["-m", "pytest", "-q", "-rA", "--tb=line", "--color=no", "-p", "no:cacheprovider"])
        .arg(format!("concise.py::{test}"))
        .current_dir(directory.path())
        .env_remove("PYTHONPATH")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONHASHSEED", "0")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), plain(&text, directory.path()))
}

fn plain(text: &str, directory: &Path) -> String {
    let text = text.replace(&directory.display().to_string(), "");
    let lines = text.lines().map(|line| {
        let words = line.split(' ').map(|word| {
            let place = word.rsplit_once(".py:").is_some_and(|(_, rest)| {
                rest.trim_end_matches(':').bytes().all(|byte| byte.is_ascii_digit())
            });
            if place || word.starts_with("0x") || is_time(word) { "-" } else { word }
        });
        words.collect::<Vec<_>>().join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn is_time(word: &str) -> bool {
    word.strip_suffix('s').is_some_and(|rest| rest.parse::<f64>().is_ok())
}

fn check(original: &Original<'_>, gist: &str, test: &str) {
    let Some(mut bed) = Bed::new(original) else { return };
    bed.limits.wall = Duration::from_secs(20);
    assert_eq!(bed.verdict(gist).strict().map(|fidelity| fidelity.score), Some(1));
    let honest = plain_run(&bed, gist, test);
    let mut kept = 0;
    let mut seen = std::collections::BTreeSet::new();
    let mut missed = Vec::new();
    for number in 0..10_000 {
        if kept == WANTED {
            break;
        }
        let Some(mutant) = mutation(gist, number) else { continue };
        if !seen.insert(mutant.clone()) || plain_run(&bed, &mutant, test) == honest {
            continue;
        }
        kept += 1;
        let evaluation = bed.verdict(&mutant);
        let faithful = evaluation.is_faithful();
        // A changed test is exchanged for the original's; the test score tells of it.
        let same_test = evaluation.scores.value::<WholeTestScore>() == Some(1.0);
        if faithful && same_test {
            missed.push(format!("{mutant}\n{:?}", plain_run(&bed, &mutant, test)));
        }
    }
    assert_eq!(kept, WANTED);
    assert!(missed.is_empty(), "{} missed:\n{}", missed.len(), missed.join("\n\n"));
}

#[test]
fn mutations_of_a_passing_gist_are_noticed() {
    check(&SHOP, GIST, "test_total");
}

#[test]
fn mutations_of_a_failing_gist_are_noticed() {
    let (module, test) = (REPORTS.files[0].1, REPORTS.files[1].1);
    let gist = format!("{module}\n\n{}", test.replace("from report import find, show\n", ""));
    check(&REPORTS, &gist, "test_report");
}
