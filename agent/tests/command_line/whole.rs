//! Whole runs: what they write, print and leave behind.

use super::*;

const TEST: [&str; 2] = ["pytest", "tests/test_numbers.py::test_double"];

/// The part of the repository that `test_double` needs, as it stands there.
const GIST: &str = "\
import pytest

FACTOR = 2

def double(value):
    return value * FACTOR

@pytest.mark.parametrize('value', [1, 2])
def test_double(value):
    print('doubling')
    assert double(value) == value * 2
";

#[test]
fn a_gist_is_written_judged_and_recorded() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let args = ["run", "small", "--python", &python, "--json", "--", TEST[0], TEST[1]];
    let ran = user.gistify(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let gist = read_gist(&user.here().join("concise.py"));
    assert_eq!(words(&gist), words(GIST), "{gist}");

    let record = user.record();
    let mut names: Vec<_> = fs::read_dir(&record)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "concise.py",
            "log.txt",
            "plan.json",
            "scores.json",
            "source-map.json",
            "trace.json",
            "trajectory.jsonl"
        ]
    );
    assert_eq!(read(&record.join("concise.py")), gist);
    let log = read(&record.join("log.txt"));
    for span in
        ["write{command=", ":tool{name=\"submit\"}: ", "evaluate:reference: ", ":linked run: "]
    {
        assert!(log.contains(span), "no {span} in {log}");
    }
    for name in ["plan.json", "scores.json", "source-map.json", "trace.json"] {
        let value: serde_json::Value = serde_json::from_str(&read(&record.join(name))).unwrap();
        assert!(value["version"].is_u64(), "{name} has no version");
    }
    let printed: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let scores: serde_json::Value =
        serde_json::from_str(&read(&record.join("scores.json"))).unwrap();
    assert_eq!(printed["scores"], scores);
    assert_eq!(scores["scores"]["execution_fidelity_strict"]["value"], 1.0);
    assert_eq!(user.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn nothing_can_go_from_a_gist_that_was_minimized() {
    // Lines of `work` run and change nothing; one of the test's helper does not either, but nobody may
    // touch that.
    const NEEDLESS: &str = "\
#- pkg/__init__.py
#- pkg/work.py
SEEN = []
def work(value):
    SEEN.append(value)
    if value > 1:
        unused = value * 3
    return value + 1
#- tests/test_work.py
from pkg.work import work
def helper(value):
    kept = value
    return value
def test_work():
    assert work(helper(2)) == 3
";
    const MINIMAL: &str = "\
def work(value):
    return value + 1
def helper(value):
    kept = value
    return value
def test_work():
    assert work(helper(2)) == 3
";
    let Some(python) = python() else { return };
    minimized(&python, NEEDLESS, &[("learned", false), ("full", true)], MINIMAL);
}

#[test]
fn what_runs_of_the_tests_goes_on_running_in_a_gist_that_was_minimized() {
    // The test passes without what its loop goes through and without who calls its check, but then it says nothing.
    const GONE_THROUGH: &str = "\
#- pkg/__init__.py
#- pkg/work.py
def values():
    found = []
    found.append(2)
    return found
def each(values, then):
    for value in values:
        then(value)
#- tests/test_work.py
from pkg.work import each, values
def check(value):
    assert value
def test_work():
    for value in values():
        assert value == 2
    each([1], check)
";
    const MINIMAL: &str = "\
def values():
    found = []
    found.append(2)
    return found
def each(values, then):
    for value in values:
        then(value)
def check(value):
    assert value
def test_work():
    for value in values():
        assert value == 2
    each([1], check)
";
    let Some(python) = python() else { return };
    minimized(&python, GONE_THROUGH, &[("full", true)], MINIMAL);
}

/// Writes gists of a repository, made small in several ways: whether what each comes to is the shortest.
#[track_caller]
fn minimized(python: &str, files: &str, ways: &[(&str, bool)], shortest: &str) {
    let user = User::new();
    user.repository("needless", files);
    let lines = |text: &str| {
        text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    for (minimize, minimal) in ways {
        let args = ["run", "needless", "--force", "--minimize", minimize, "--python", python];
        let ran = user.gistify(&[&args[..], &["--", "pytest", "tests/test_work.py"]].concat());
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let gist = read_gist(&user.here().join("concise.py"));
        assert_eq!(lines(&gist) == lines(shortest), *minimal, "{gist}");
    }
}

#[test]
fn what_only_ran_for_what_went_goes_in_a_third_gist() {
    // The first gist calls `register`, for that may have an effect; the second does not, and shows that nobody else
    // does.
    const REGISTERING: &str = "\
#- pkg/__init__.py
#- pkg/work.py
def register(value):
    total = 0
    for each in range(value):
        total += each
    return total
register(3)
HANDLERS = {'r': register}
def work(value):
    return value + len(HANDLERS)
#- tests/test_work.py
from pkg.work import work
def test_work():
    assert work(1) == 2
";
    const SHORTEST: &str = "\
def register(value):
    pass
HANDLERS = {'r': register}
def work(value):
    return value + len(HANDLERS)
def test_work():
    assert work(1) == 2
";
    let Some(python) = python() else { return };
    minimized(&python, REGISTERING, &[("learned", true)], SHORTEST);
}

#[test]
fn modules_that_the_run_writes_are_none_of_the_repository() {
    // Nor is what loads them a cheat, though two modules are called `util`.
    const WRITING: &str = "\
#- pkg/__init__.py
#- pkg/util.py
def double(value):
    return value * 2
#- pkg/load.py
from importlib import util
def load(name, path):
    spec = util.spec_from_file_location(name, path)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
#- tests/test_made.py
import os
from pkg import util
from pkg.load import load
def test_made():
    path = os.path.join(os.path.dirname(__file__), 'made.py')
    with open(path, 'w') as file:
        file.write('def value():\\n    return 2\\n')
    assert util.double(1) == load('made', path).value()
";
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("writing", WRITING);
    let command = ["--", "pytest", "tests/test_made.py"];
    let ran = user.gistify(&[&["run", "writing", "--python", &python][..], &command].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let gist = read_gist(&user.here().join("concise.py"));
    assert!(gist.contains("import util as util_importlib"), "{gist}");
}

#[test]
fn a_trace_serves_again_until_something_changes_that_the_command_looks_at() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    fs::write(user.here().join("small/aside.py"), "x = 1\n").unwrap();
    let test = fs::read_to_string(user.here().join("small/tests/test_numbers.py")).unwrap();
    let args = ["run", "small", "--force", "--python", &python, "--", TEST[0], TEST[1]];
    let mut gists = Vec::new();
    for (path, text, told) in [
        ("aside.py", "x = 1\n", None),
        ("aside.py", "x = 1\n", Some("reused from the last run: nothing has changed")),
        (
            "aside.py",
            "x = 2\n",
            Some(
                "reused from the last run: only aside.py changed, which the command does not read",
            ),
        ),
        (
            "tests/test_numbers.py",
            &format!("{test}\n# more\n"),
            Some("traced again: tests/test_numbers.py changed since the last run"),
        ),
    ] {
        fs::write(user.here().join("small").join(path), text).unwrap();
        let ran = user.gistify(&args);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let line = ran.out.lines().find_map(|line| line.trim().strip_prefix("trace"));
        assert_eq!(line.map(str::trim), told, "{}", ran.out);
        gists.push(read_gist(&user.here().join("concise.py")));
    }
    assert!(gists.iter().all(|gist| *gist == gists[0]), "{gists:?}");
}

#[test]
fn several_commands_have_one_gist() {
    const SEVERAL: &str = "\
#- pkg.py
def one():
    return 1
def two():
    return 2
def three():
    return 3
#- test_one.py
from pkg import one, three
def test_one():
    assert one() == 1
def test_three():
    assert three() == 3
#- test_two.py
from pkg import two
def test_two():
    assert two() == 3
";
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("several", SEVERAL);
    let args = ["run", "several", "--python", &python, "--force", "--also"];
    let first = ["--", "pytest", "test_one.py::test_one"];
    let ran = user.gistify(&[&args[..], &["pytest test_two.py::test_two"], &first].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("all 2 cases end as on the original"), "{}", ran.out);
    let gist = read_gist(&user.here().join("concise.py"));
    assert!(["one", "two"].iter().all(|name| gist.contains(&format!("def {name}():"))), "{gist}");
    assert!(!gist.contains("three"), "{gist}");
    // What cannot run together is said before anything runs.
    let ran = user.gistify(&[&args[..], &["python main.py"], &first].concat());
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("cannot be one run"), "{}", ran.err);
}

#[test]
fn what_runs_sees_nothing_of_the_users() {
    const CURIOUS: &str = "\
#- test_sees.py
import os, pathlib
def test_sees():
    home = pathlib.Path(os.environ['HOME'])
    above = [p for p in home.parents if (p / 'here/canary').exists()]
    seen = [p for p in os.listdir('/proc') if p.isdigit()]
    print('seen', bool(above), len(seen) > 8, os.path.exists('/etc/shadow'))
";
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("curious", CURIOUS);
    fs::write(user.here().join("canary"), "").unwrap();
    for (kind, seen) in [("local", "seen False False False"), ("none", "seen True True ")] {
        let kind = format!("sandbox.kind={kind}");
        let args = ["run", "curious", "--force", "--set", &kind, "--python", &python, "--"];
        let ran = user.gistify(&[&args[..], &["pytest", "test_sees.py"]].concat());
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let references = tree_text(&user.home.path().join(".cache/gistify/references"));
        assert!(references.contains(seen), "{kind}: {references}");
    }
}

/// The text of all files below a directory.
fn tree_text(directory: &Path) -> String {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { tree_text(&path) } else { read(&path) }).collect()
}

#[test]
fn s16_symlinked_output() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let (target, link) = (user.here().join("mine"), user.here().join("concise.py"));
    fs::write(&target, "mine").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let args = ["run", "small", "--python", &python];
    let ran = user.gistify(&[&args[..], &["--", TEST[0], TEST[1]]].concat());
    assert_eq!(ran.code, 3, "{}", ran.err);
    let ran = user.gistify(&[&args[..], &["--force", "--", TEST[0], TEST[1]]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    // The link is what was named; what it led to is somebody else's.
    assert_eq!(read(&target), "mine");
    assert!(!link.symlink_metadata().unwrap().is_symlink());
}

#[test]
fn s24_hostile_settings() {
    let user = User::new();
    let planted = "[command]\nseconds = 77.0\n[sandbox]\nkind = 'none'\n";
    for name in ["config.toml", "gistify.toml", ".gistify.toml", ".config/gistify/config.toml"] {
        let path = user.here().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, planted).unwrap();
    }
    let env = "GISTIFY_SANDBOX_KIND=none\nOPENAI_BASE_URL=http://evil.invalid\n";
    fs::write(user.here().join(".env"), env).unwrap();
    let ran = user.gistify(&["config"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for sign in ["77", "evil", "sandbox.kind = \"none\""] {
        assert!(!ran.out.contains(sign), "{sign}: {}", ran.out);
    }
}

#[test]
fn the_doctor_tells_what_would_be_used() {
    let user = User::new();
    let ran = user.gistify(&["doctor", "--set", "sandbox.kind=none", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["wanted"], "none");
    let kinds: Vec<_> = report["sandboxes"].as_array().unwrap().iter().collect();
    let of = |kind: &str| kinds.iter().find(|found| found["kind"] == kind).unwrap();
    assert_eq!(of("none")["name"], "none");
    for promise in of("none")["promises"].as_array().unwrap() {
        // What is held on disk is watched without walls, too.
        let watched = promise["what"].as_str().unwrap().contains("disk");
        assert!(watched || promise["holds"] == false, "{promise}");
    }
    let isolated = ["bubblewrap", "namespaces"].iter().any(|kind| of(kind)["error"].is_null());
    let plain = user.gistify(&["doctor"]);
    let expected = match (isolated, report["interpreters"].as_array(), &report["git"]) {
        (false, ..) => 5,
        (true, Some(found), git) if !found.is_empty() && !git.is_null() => 0,
        _ => 4,
    };
    assert_eq!(plain.code, expected, "{}", plain.out);
    assert_eq!(plain.out.matches(" (used)").count(), usize::from(isolated));
}

#[test]
fn a_failing_command_is_a_task() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let command = ["pytest", "tests/test_numbers.py::test_fails"];
    let ran = user.gistify(&["run", "small", "--python", &python, "--", command[0], command[1]]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("faithful: its one case ends as on the original\n"), "{}", ran.out);
}

#[test]
fn every_kind_of_command() {
    let Some(python) = python() else { return };
    let files = "\
#- tool/__init__.py
#- tool/__main__.py
from tool.work import greet
if __name__ == '__main__':
    print(greet('you'))
#- tool/work.py
def greet(name):
    '''
    >>> greet('x')
    'hello x'
    '''
    return 'hello ' + name
def unused():
    pass
#- script.py
from tool.work import greet
print(greet('script'))
#- tests/__init__.py
#- tests/test_unit.py
import unittest
from tool.work import greet
class GreetTest(unittest.TestCase):
    def test_greet(self):
        self.assertEqual(greet('a'), 'hello a')
";
    for command in [
        "python -m tool",
        "python script.py",
        "python -m unittest tests.test_unit",
        "pytest tests/test_unit.py::GreetTest",
        "python -m pytest tests/test_unit.py -k greet",
    ] {
        let user = User::new();
        user.repository("kinds", files);
        let ran = user.gistify(&["run", "kinds", "--python", &python, "--", command]);
        assert_eq!(ran.code, 0, "{command}: {}{}", ran.out, ran.err);
        let gist = read_gist(&user.here().join("concise.py"));
        assert!(!gist.contains("unused"), "{command}: {gist}");
    }
}

#[test]
fn a_gist_is_judged_as_well_by_itself() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let judge = |gist: &str| {
        let path = user.here().join("gist.py");
        fs::write(&path, gist).unwrap();
        user.gistify(&[
            "eval", "small", "--gist", "gist.py", "--python", &python, "--", TEST[0], TEST[1],
        ])
    };
    for (change, code, head) in [
        (("", ""), 0, "faithful: all 2 cases end as on the original"),
        (("* FACTOR", "* 3"), 1, "not faithful: run-time error: "),
        (("'doubling'", "'tripling'"), 0, "faithful: "),
        (("def test_double", "def test_other"), 1, "not faithful: missing test: "),
        (
            ("def test_double", "def (test_double"),
            1,
            "not faithful: gist.py:9:5: syntax error: Expected an identifier (missing test: ",
        ),
        (("FACTOR = 2", "from calc.numbers import FACTOR"), 1, "not faithful: import error: "),
    ] {
        let ran = judge(&GIST.replace(change.0, change.1));
        assert_eq!(ran.code, code, "{change:?}: {}{}", ran.out, ran.err);
        assert!(ran.out.starts_with(head), "{change:?}: {}", ran.out);
        let mut foreign = ran.out.lines().filter(|line| line.starts_with("  foreign "));
        let is_empty = |line: &str| line.split_once(": ").is_some_and(|(_, text)| text.is_empty());
        assert!(!foreign.any(is_empty), "{}", ran.out);
    }
}

#[test]
fn an_explanation_names_every_unit() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let args = ["run", "small", "--python", &python, "--explain", "--", TEST[0], TEST[1]];
    let ran = user.gistify(&args);
    for part in [
        "calc/numbers.py:1 FACTOR: calc/numbers.py:4 refers to FACTOR",
        "calc/numbers.py:4-7 double: one of its functions was called during the tests",
        "left out, although executed",
    ] {
        assert!(ran.out.contains(part), "no {part:?} in {}", ran.out);
    }
    // What is printed for machines is theirs alone.
    let ran =
        user.gistify(&[&["--json", "-q"], &args[..2], &["-o", "other.py"], &args[2..]].concat());
    assert!(serde_json::from_str::<serde_json::Value>(&ran.out).is_ok(), "{}", ran.out);
    assert!(ran.err.contains("left out, although executed"), "{}", ran.err);
}

#[test]
fn a_trace_is_printed() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let args = ["trace", "small", "--python", &python, "--functions", "--", TEST[0], TEST[1]];
    let ran = user.gistify(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("    4 double (test)"), "{}", ran.out);
    let ran =
        user.gistify(&["trace", "small", "--python", &python, "--json", "--", TEST[0], TEST[1]]);
    let trace: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert!(trace["version"].is_u64(), "{}", ran.out);
}

#[test]
fn the_user_s_files_stay_as_they_are() {
    let Some(python) = python() else { return };
    let user = User::new();
    let writing = "\
#- conftest.py
import pathlib
pathlib.Path('made').write_text('x')
#- data.txt
mine
#- test_a.py
import pathlib
def test_writes():
    here = pathlib.Path(__file__).parent
    (here / 'data.txt').write_text('theirs')
    (here / 'new.txt').write_text('new')
";
    let root = user.repository("writing", writing);
    let ran = user.gistify(&["run", "writing", "--python", &python, "--", "pytest", "test_a.py"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(read(&root.join("data.txt")), "mine\n");
    let mut names: Vec<_> = fs::read_dir(&root)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["conftest.py", "data.txt", "test_a.py"]);
}

#[test]
fn quiet_says_nothing_and_force_replaces() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    fs::write(user.here().join("concise.py"), "old").unwrap();
    let args = ["run", "small", "--python", &python, "-q", "--force", "--", TEST[0], TEST[1]];
    let ran = user.gistify(&args);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(!ran.out.contains('\x1b'), "colours off a terminal: {:?}", ran.out);
    assert_ne!(read_gist(&user.here().join("concise.py")), "old");
}

#[test]
fn a_gist_that_lies_in_the_repository_is_none_of_it() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let test = ["--", TEST[0], TEST[1]];
    let output = ["--output", "small/concise.py", "--force", "--python", &python];
    for told in [false, true] {
        let ran = user.gistify(&[&["run", "small"][..], &output, &test].concat());
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert_eq!(
            ran.out.contains("reused from the last run: nothing has changed"),
            told,
            "{}",
            ran.out
        );
    }
    let gist = read_gist(&user.here().join("small/concise.py"));
    fs::write(user.here().join("small/other.py"), format!("{gist}\nexec('pass')\n")).unwrap();
    let judge =
        ["eval", "small", "--gist", "small/other.py", "--python", &python, "--require", "verified"];
    let scores = ["--output", "small/scores/other.json"];
    fs::create_dir(user.here().join("small/scores")).unwrap();
    for _ in 0..2 {
        let ran = user.gistify(&[&judge[..], &scores, &test].concat());
        assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("exec('pass')"), "{}", ran.out);
    }
}

#[test]
fn earlier_outputs_are_none_of_the_repository_unless_the_command_names_them() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let fails = "tests/test_numbers.py::test_fails";
    let gistify = |args: &[&str], command: &[&str]| {
        let ran = user.gistify(&[args, &["--python", &python, "--"], command].concat());
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.out, ran.err);
        ran
    };
    gistify(&["run", "small", "-o", "small/concise.py"], &TEST);
    gistify(&["repro", "small", "-o", "small/repro.py"], &["pytest", fails]);
    gistify(&["run", "small", "--each", "-o", "small/gists"], &TEST);
    let later = ["run", "small", "-o", "other.py", "--require", "verified"];
    let ran = gistify(&later, &["pytest", fails]);
    let left_out = "left out: concise.py and 2 more (gistify wrote them)\n";
    assert!(ran.err.contains(left_out), "{}", ran.err);
    let ran = gistify(&["trace", "small"], &["python", "repro.py"]);
    assert!(ran.out.starts_with("repro.py "), "{}", ran.out);
}

#[test]
fn a_record_below_a_directory_made_for_it_is_none_of_the_repository() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", SMALL);
    let record = "small/records/1";
    // What is resumed is a run of the same repository, which the record did not change.
    for way in ["--run-dir", "--resume"] {
        let begin = ["run", "small", "--force", "--python", &python, way, record];
        let ran = user.gistify(&[&begin[..], &["--", TEST[0], TEST[1]]].concat());
        assert_eq!(ran.code, 0, "{way}: {}{}", ran.out, ran.err);
    }
}
