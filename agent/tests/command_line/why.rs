//! `gistify why`: the chain of reasons for a line, from the record of a real run.

use super::*;

/// A command that reaches a constant through a class and a function of another module.
const CHAIN: &str = "\
#- pkg/__init__.py
#- pkg/limits.py
import math

LIMIT = math.inf


def bounded(value):
    if value is None:
        return LIMIT
    return min(value, LIMIT)


def unused():
    return bounded(1)
#- pkg/shapes.py
from pkg.limits import bounded


class Shape:
    def area(self):
        return bounded(2)

    def name(self):
        return 'shape'
#- tests/test_shapes.py
from pkg.shapes import Shape


def test_area():
    assert Shape().area() == 2
";

#[test]
fn a_line_s_chain_of_reasons_is_printed() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("chain", CHAIN);
    let test = ["--", "pytest", "tests/test_shapes.py"];
    let ran = user.gistify(&[&["run", "chain", "--python", &python][..], &test].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let why = |line: &str| {
        let asked = user.gistify(&["why", line]);
        assert_eq!(asked.code, 0, "{line}: {}", asked.err);
        asked.out
    };
    let gist = read_gist(&user.here().join("concise.py"));
    let at = |text: &str| gist.lines().position(|line| line == text).unwrap() + 1;
    let limit = format!(
        "pkg/limits.py:3 is in the gist, line {}\n  pkg/limits.py:3 LIMIT: pkg/limits.py:6 refers to LIMIT\n  \
         pkg/limits.py:6-9 bounded: one of its functions was called during the tests\n",
        at("LIMIT = math.inf")
    );
    assert_eq!(why("pkg/limits.py:3"), limit);
    // From where the user stands, and by the line of the gist.
    assert_eq!(why("./chain/pkg/limits.py:3"), limit);
    assert_eq!(why(&format!("concise.py:{}", at("LIMIT = math.inf"))), limit);
    let import = why("pkg/limits.py:1");
    assert!(import.contains("  pkg/limits.py:1 math: pkg/limits.py:3 uses math\n"), "{import}");
    assert!(import.contains("  pkg/limits.py:3 LIMIT: pkg/limits.py:6 refers"), "{import}");
    for (line, told) in [
        ("pkg/limits.py:8", "no statement that begins there was executed\n  pkg/limits.py:6-9 "),
        (
            "pkg/limits.py:12",
            "was executed and is not in the gist\n  pkg/limits.py:12-13 unused: no line of the gist refers to it",
        ),
        (
            "pkg/limits.py:13",
            "no statement that begins there was executed\n  pkg/limits.py:12-13 unused: no line of the gist refers to it",
        ),
        ("pkg/limits.py:2", "no statement that begins there was executed\n"),
        ("pkg/shapes.py:1", "it imports what the gist contains"),
        (
            "pkg/shapes.py:8",
            "begins a method that was never called, and no line of the gist looks it up",
        ),
    ] {
        let found = why(line);
        assert!(found.contains(told), "{line}: {found}");
    }
    let record = user.record();
    let asked = user.gistify(&["why", "pkg/limits.py:14"]);
    assert_eq!(asked.code, 3, "{}", asked.out);
    assert!(
        asked.last_error_line().contains("pkg/limits.py:14: the file has 13 lines"),
        "{}",
        asked.err
    );
    assert!(asked.err.starts_with(&format!("record: {}", record.display())), "{}", asked.err);
    let inside = user
        .command(&["why", "limits.py:3"])
        .current_dir(user.here().join("chain/pkg"))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(inside.stdout).unwrap(), limit);
    let asked = user.gistify(&["--json", "why", &record.to_string_lossy(), "pkg/limits.py:3"]);
    let answer: serde_json::Value = serde_json::from_str(&asked.out).unwrap();
    assert_eq!(
        (&answer["fate"], &answer["chain"][1]["reason"]),
        (&"kept".into(), &"called".into())
    );
}

#[test]
fn a_line_that_no_record_knows_is_an_error_that_says_so() {
    let Some(python) = python() else { return };
    let user = User::new();
    let asked = user.gistify(&["why", "pkg/limits.py:3"]);
    assert_eq!(asked.code, 3, "{}", asked.err);
    assert!(asked.last_error_line().contains("no run with a plan below"), "{}", asked.err);
    user.repository("chain", CHAIN);
    let test = ["--", "pytest", "tests/test_shapes.py"];
    let ran = user.gistify(&[&["run", "chain", "--python", &python][..], &test].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let asked = user.gistify(&["why", "pkg/limit.py:3"]);
    assert_eq!(asked.code, 3, "{}", asked.err);
    assert!(asked.last_error_line().contains("(did you mean pkg/limits.py?)"), "{}", asked.err);
    for wrong in ["pkg/limits.py", "pkg/limits.py:0", ":3"] {
        let asked = user.gistify(&["why", wrong]);
        assert_eq!(asked.code, 2, "{wrong}: {}", asked.err);
        assert!(asked.err.contains("not FILE:LINE"), "{}", asked.err);
    }
    fs::remove_file(user.record().join("plan.json")).unwrap();
    let asked = user.gistify(&["why", &user.record().to_string_lossy(), "pkg/limits.py:3"]);
    assert_eq!(asked.code, 3, "{}", asked.err);
    assert!(asked.last_error_line().contains("the record has no plan.json"), "{}", asked.err);
}

#[test]
fn a_path_of_the_record_means_itself() {
    let Some(python) = python() else { return };
    let user = User::new();
    // The directory around has the name of a package inside.
    let files = "\
#- one.py
FIRST = 1
#- pkg/__init__.py
#- pkg/one.py
import math
SECOND = math.floor(2.5)
#- test_one.py
import one
import pkg.one


def test_one():
    assert one.FIRST + pkg.one.SECOND == 3
";
    user.repository("pkg", files);
    let run = ["run", "pkg", "--python", &python, "--", "pytest", "test_one.py"];
    let ran = user.gistify(&run);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let mut inside = user.command(&["-q", "why", "one.py:1"]);
    let inside = inside.current_dir(user.here().join("pkg")).output().unwrap();
    let (out, err) =
        [inside.stdout, inside.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).into();
    assert!(out.starts_with("one.py:1 is in the gist"), "{out}{err}");
    assert_eq!(err, "");
}
