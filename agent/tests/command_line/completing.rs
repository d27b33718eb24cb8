//! `gistify repoexec`: from a small repository to scored completions, and everything that a completion can be.

use serde_json::{Value, json};

use super::{User, python, read};

/// A package of which two functions have docstrings and tests.
const PACKAGE: &str = "\
#- pkg/__init__.py
#- pkg/limits.py
LIMIT = 3


def is_text(value):
    return isinstance(value, str)
#- pkg/words.py
import re
from .limits import LIMIT, is_text

WORD = re.compile('[a-z]+')


def words_of(text):
    \"\"\"Returns the first words of a text, as many as the limit allows.\"\"\"
    if not is_text(text):
        raise TypeError(text)
    return WORD.findall(text)[:LIMIT]


def shout(text):
    \"\"\"Returns the text in capital letters.

    >>> shout('a')
    'A'
    \"\"\"
    return text.upper()


def untested(text):
    \"\"\"Returns the text as it is, untested.\"\"\"
    return text


def helper(text):
    return text
#- tests/test_words.py
import pytest
from pkg.words import shout, words_of


@pytest.mark.parametrize('text, words', [('a b', ['a', 'b']), ('a b c d', ['a', 'b', 'c'])])
def test_words(text, words):
    assert words_of(text) == words


def test_words_of_no_text():
    with pytest.raises(TypeError):
        words_of(1)


def test_shout():
    assert shout('ab') == 'AB'
";

/// A user with the problems of the package in `built/problems.jsonl`.
fn built(python: &str) -> User {
    let user = User::new();
    user.repository("repo", PACKAGE);
    let ran = user.gistify(&["-q", "repoexec", "build", "repo", "-o", "built", "--python", python]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    user
}

fn rows(user: &User, path: &str) -> Vec<Value> {
    let text = read(&user.here().join(path));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Rows of generations of `words_of` and of `shout`, one for each answer.
fn generations(user: &User, name: &str, answers: &[(&str, &str)]) {
    let mut samples = std::collections::BTreeMap::new();
    let rows: Vec<String> = answers
        .iter()
        .map(|(function, answer)| {
            let sample = samples.entry(*function).or_insert(-1);
            *sample += 1;
            let row = json!({
                "version": 1, "problem": format!("repo/pkg/words.py::{function}"), "sample": *sample,
                "model": "scripted", "prompt": "base/full", "answer": answer,
            });
            row.to_string()
        })
        .collect();
    std::fs::write(user.here().join(name), rows.join("\n")).unwrap();
}

#[test]
fn functions_with_tests_become_problems() {
    let Some(python) = python() else { return };
    let user = built(&python);
    let problems = rows(&user, "built/problems.jsonl");
    let ids: Vec<&str> = problems.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["repo/pkg/words.py::words_of", "repo/pkg/words.py::shout"]);
    let words = &problems[0];
    let written = |key: &str| -> Vec<&str> {
        let each = words["function"][key].as_array().unwrap().iter();
        each.map(|one| one["written"].as_str().unwrap_or_else(|| one.as_str().unwrap())).collect()
    };
    assert_eq!(written("dependencies"), ["LIMIT", "is_text", "WORD"]);
    let tests = &words["tests"];
    assert_eq!(tests["cases"].as_array().unwrap().len(), 3);
    assert_eq!((tests["covered"].as_u64(), tests["lines"].as_u64()), (Some(3), Some(3)));
    let extraction: Value =
        serde_json::from_str(&read(&user.here().join("built/extraction.json"))).unwrap();
    let counts = &extraction["repositories"][0];
    assert_eq!(counts["untested"], json!({ "no test executes it": 1 }));
    assert_eq!(counts["unfit"]["no docstring that says enough"], 2);
    // The schema describes what the rows have.
    let schema: Value =
        serde_json::from_str(&read(&user.here().join("built/schema.json"))).unwrap();
    let described = schema["properties"].as_object().unwrap();
    assert!(words.as_object().unwrap().keys().all(|key| described.contains_key(key)));
    super::schemas::validate(&user.here());
}

#[test]
fn solutions_pass_and_invoke_all_dependencies() {
    let Some(python) = python() else { return };
    let user = built(&python);
    let problems = "built/problems.jsonl";
    let ran =
        user.gistify(&["-q", "repoexec", "generate", problems, "-m", "solutions", "-o", "g.jsonl"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "20 generations, 0 without an answer\n"),
        "{}",
        ran.err
    );
    let ran = user.gistify(&[
        "-q", "repoexec", "eval", problems, "g.jsonl", "-o", "v.jsonl", "--format", "csv",
        "--python", &python,
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let line = ran.out.lines().find(|line| line.starts_with("solutions,")).unwrap();
    assert_eq!(line, "solutions,base/full,0,2,20,100.00,100.00,100.00,100.00,100.00,0.00,0");
    let verdicts = rows(&user, "v.jsonl");
    // Equal functions ran once.
    assert_eq!(verdicts.iter().filter(|one| one["repeated"] == json!(true)).count(), 18);
}

#[test]
fn every_bad_answer_has_a_class_of_its_own() {
    let Some(python) = python() else { return };
    let user = built(&python);
    let long = "x".repeat(10 << 20);
    let answers: &[(&str, &str, &str)] = &[
        ("shout", "    return text.upper()", "passed"),
        ("shout", "    return text", "failed"),
        ("shout", "", "failed"),
        ("shout", "I will not.", "no_function"),
        ("shout", "def shout(x): return x\ndef shout(x): return x.upper()", "several_functions"),
        ("shout", "def shout(text):\n    return (", "syntax_error"),
        ("shout", &long, "too_long"),
        ("shout", "    while True: pass", "timed_out"),
        ("shout", "    import os\n    os._exit(0)", "ended_early"),
        (
            "shout",
            "    import os\n    os.remove('tests/test_words.py')\n    return text.upper()",
            "tampered_tests",
        ),
        ("words_of", "    return missing(text)", "failed"),
    ];
    let given: Vec<(&str, &str)> =
        answers.iter().map(|(name, answer, _)| (*name, *answer)).collect();
    generations(&user, "g.jsonl", &given);
    let path = user.here().join("g.jsonl");
    let text = read(&path) + "\n{\"version\": 1, \"problem\": \"x\"}\nno row\n";
    std::fs::write(&path, text).unwrap();
    let problems = user.here().join("built/problems.jsonl");
    let mut rows_of = read(&problems);
    rows_of.push_str("{\"version\": 1, \"id\": \"half\"}\n");
    std::fs::write(&problems, rows_of).unwrap();
    let ran = user.gistify(&[
        "-q",
        "repoexec",
        "eval",
        "built/problems.jsonl",
        "g.jsonl",
        "-o",
        "v.jsonl",
        "--format",
        "csv",
        "--python",
        &python,
        "--set",
        "command.seconds=20",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let verdicts = rows(&user, "v.jsonl");
    for ((_, answer, class), verdict) in answers.iter().zip(&verdicts) {
        let answer = &answer[..answer.len().min(60)];
        assert_eq!(verdict["class"], json!(class), "{answer}: {}", verdict["log"]);
    }
    assert_eq!(verdicts[1]["error"], json!("AssertionError"));
    assert_eq!(verdicts[2]["empty"], json!(true));
    assert_eq!(verdicts[10]["error"], json!("NameError"));
    // What cannot be read is told in a table, row by row.
    for told in [
        "built/problems.jsonl,missing field `source`",
        "g.jsonl,missing field `sample`",
        "g.jsonl,it is no JSON",
    ] {
        assert!(ran.out.contains(told), "{told}: {}", ran.out);
    }
}

/// Completions of one function, enough of them that runs are forked, with and without a conftest that loads its module
/// before a process waits: a fork would have the original then.
#[test]
fn a_module_that_a_conftest_loads_is_the_completion() {
    let Some(python) = python() else { return };
    for conftest in ["", "#- tests/conftest.py\nimport pkg.words\n"] {
        let user = User::new();
        user.repository("repo", &format!("{PACKAGE}{conftest}"));
        let build = ["-q", "repoexec", "build", "repo", "-o", "built", "--python", &python];
        let ran = user.gistify(&build);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let answers: Vec<(String, &str)> = (0..8)
            .map(|at| match at % 2 {
                0 => (format!("    return text.upper() if {at} >= 0 else text"), "passed"),
                _ => (format!("    return text * {at}"), "failed"),
            })
            .collect();
        let given: Vec<(&str, &str)> =
            answers.iter().map(|(answer, _)| ("shout", answer.as_str())).collect();
        generations(&user, "g.jsonl", &given);
        let ran = user.gistify(&[
            "-q",
            "repoexec",
            "eval",
            "built/problems.jsonl",
            "g.jsonl",
            "-o",
            "v.jsonl",
            "--python",
            &python,
        ]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let verdicts = rows(&user, "v.jsonl");
        let classes: Vec<&str> =
            verdicts.iter().map(|one| one["class"].as_str().unwrap()).collect();
        let expected: Vec<&str> = answers.iter().map(|(_, class)| *class).collect();
        assert_eq!(classes, expected, "{conftest:?}");
        assert_eq!(verdicts[1]["error"], json!("AssertionError"));
        let log = verdicts[1]["log"].as_str().unwrap();
        assert!(log.contains("File \"tests/test_words.py\", line"), "{log}");
        assert!(user.leftovers().is_empty(), "{:?}", user.leftovers());
    }
}

/// A model that answers wrongly first, then as the log says.
const LEARNING: &str = "\
import json, sys
request = json.load(sys.stdin)
messages = request['messages']
name = 'words_of' if 'def words_of' in messages[0]['content'] else 'shout'
bodies = {
    'shout': ['return text', 'return text.upper()'],
    'words_of': ['return text(', 'return missing(text)', 'return WORD.findall(text)'],
}[name]
turn = sum(message['role'] == 'assistant' for message in messages)
if turn and 'does not pass its tests' not in messages[-1]['content']:
    sys.exit('no log')
body = bodies[min(turn, len(bodies) - 1)]
print(json.dumps({'content': f'```python\\ndef {name}(text):\\n    {body}\\n```'}))
";

#[test]
fn rounds_of_debugging_mend_what_they_can() {
    let Some(python) = python() else { return };
    let user = built(&python);
    std::fs::write(user.here().join("model.py"), LEARNING).unwrap();
    let model = format!("command/{python} model.py");
    let ran = user.gistify(&[
        "-q",
        "repoexec",
        "debug",
        "built/problems.jsonl",
        "-m",
        &model,
        "--greedy",
        "-o",
        "debugged",
        "--format",
        "csv",
        "--python",
        &python,
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let rounds: Vec<Vec<&str>> = ran
        .out
        .lines()
        .filter(|line| line.contains(",base/full,") && line.split(',').count() == 12)
        .map(|line| line.split(',').collect())
        .collect();
    let passes: Vec<(&str, &str)> = rounds.iter().map(|row| (row[2], row[5])).collect();
    assert_eq!(
        passes,
        [("0", "0.00"), ("1", "50.00"), ("2", "50.00"), ("3", "50.00")],
        "{}",
        ran.out
    );
    for told in ["AssertionError,1,1,1", "syntax error,1,1,0", "NameError,2,1,0"] {
        assert!(ran.out.contains(told), "{told}: {}", ran.out);
    }
    super::schemas::validate(&user.here());
}

/// A model that writes tests: some good, one wrong, one that calls nothing, one broken, one that raises, one by chance.
const TESTER: &str = "\
import json, sys
request = json.load(sys.stdin)
content = request['messages'][-1]['content']
if content.endswith('assert'):
    answer = ''' shout('a') == 'A'
assert shout('b') == 'wrong'
assert 1
assert shout('c') == (
assert shout(1) == 1
assert shout(str(__import__('random').random())) == '0.5'
assert shout('a') == 'A'
'''
else:
    answer = '''```python
def test_more():
    text = 'x'
    assert shout(text) == 'X'
    assert shout(text) != 'x'
```'''
print(json.dumps({'content': answer}))
";

#[test]
fn written_tests_are_filtered_mended_and_measured() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("repo", PACKAGE);
    let ran = user.gistify(&["-q", "repoexec", "build", "repo", "-o", "built", "--tests", "none"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let only: Vec<String> = rows(&user, "built/problems.jsonl")
        .into_iter()
        .filter(|row| row["function"]["name"] == "shout")
        .map(|row| row.to_string())
        .collect();
    std::fs::write(user.here().join("shout.jsonl"), only.join("\n")).unwrap();
    std::fs::write(user.here().join("model.py"), TESTER).unwrap();
    let model = format!("command/{python} model.py");
    let ran = user.gistify(&[
        "-q",
        "--json",
        "repoexec",
        "tests",
        "shout.jsonl",
        "-m",
        &model,
        "-o",
        "tested",
        "--python",
        &python,
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let first = &told["stages"]["first"];
    let counts = json!({
        "proposed": 7, "unparsed": 1, "not_calling": 1, "duplicates": 1, "raising": 1, "unfixable": 0,
        "fixed": 2, "flaky": 1, "kept": 2,
    });
    assert_eq!(first, &counts);
    assert_eq!(told["stages"]["more"]["kept"], 1);
    let problems = rows(&user, "tested/problems.jsonl");
    let tests = &problems[0]["tests"];
    assert_eq!((tests["covered"].as_u64(), tests["lines"].as_u64()), (Some(1), Some(1)));
    let text = tests["file"]["text"].as_str().unwrap();
    assert!(text.contains("    assert shout('b') == 'B'\n"), "{text}");
    // A completion is run against them as against the repository's own.
    generations(
        &user,
        "g.jsonl",
        &[("shout", "    return text.upper()"), ("shout", "    return text")],
    );
    let ran = user.gistify(&[
        "-q",
        "repoexec",
        "eval",
        "tested/problems.jsonl",
        "g.jsonl",
        "-o",
        "v.jsonl",
        "--python",
        &python,
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let classes: Vec<Value> =
        rows(&user, "v.jsonl").iter().map(|one| one["class"].clone()).collect();
    assert_eq!(classes, [json!("passed"), json!("failed")]);
}

/// A function whose values have no literal, and one of seven lines.
const VALUES: &str = "\
#- pkg/__init__.py
#- pkg/days.py
from datetime import date, timedelta


def day_after(text):
    \"\"\"Returns the day after one that is given as text.\"\"\"
    return date.fromisoformat(text) + timedelta(days=1)


def spelled(number):
    \"\"\"Returns a number as a word, as far as there is one.\"\"\"
    if number == 1:
        return 'one'
    if number == 2:
        return 'two'
    if number == 3:
        return 'three'
    return 'many'
";

/// A model that writes a wrong test of the one, and a test of the other that executes two of its lines.
const TESTER_OF_VALUES: &str = "\
import json, sys
content = json.load(sys.stdin)['messages'][-1]['content']
of_day = 'def day_after' in content
answer = \" day_after('2024-02-28') == 'Thursday'\" if of_day else \" spelled(1) == 'one'\"
print(json.dumps({'content': answer}))
";

#[test]
fn values_without_literals_are_pickled_and_little_coverage_is_left_out() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("repo", VALUES);
    let ran = user.gistify(&["-q", "repoexec", "build", "repo", "-o", "built", "--tests", "none"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    std::fs::write(user.here().join("model.py"), TESTER_OF_VALUES).unwrap();
    let model = format!("command/{python} model.py");
    let tested = |output: &str, coverage: &str| -> Vec<Value> {
        let ran = user.gistify(&[
            "-q",
            "repoexec",
            "tests",
            "built/problems.jsonl",
            "-m",
            &model,
            "-o",
            output,
            "--no-enhancement",
            "--runs",
            "2",
            "--coverage",
            coverage,
            "--python",
            &python,
        ]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        rows(&user, &format!("{output}/problems.jsonl"))
    };
    let names = |rows: &[Value]| -> Vec<String> {
        rows.iter().map(|row| row["function"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let kept = tested("some", "40");
    assert_eq!(names(&kept), ["day_after"]);
    let text = kept[0]["tests"]["file"]["text"].as_str().unwrap();
    assert!(text.contains("assert day_after('2024-02-28') == pickle.loads(b"), "{text}");
    let all = tested("all", "28");
    assert_eq!(names(&all), ["day_after", "spelled"]);
    assert_eq!((&all[1]["tests"]["covered"], &all[1]["tests"]["lines"]), (&json!(2), &json!(7)));
    // The original passes the mended test, and another value does not.
    let ids = all.iter().map(|row| row["id"].as_str().unwrap());
    let answers = ["    return date.fromisoformat(text) + timedelta(1)", "    return None"];
    let generations: Vec<String> = ids
        .zip(answers)
        .map(|(id, answer)| {
            json!({
                "version": 1, "problem": id, "sample": 0, "model": "m", "prompt": "base/full",
                "answer": answer,
            })
            .to_string()
        })
        .collect();
    std::fs::write(user.here().join("g.jsonl"), generations.join("\n")).unwrap();
    let ran = user.gistify(&[
        "-q",
        "repoexec",
        "eval",
        "all/problems.jsonl",
        "g.jsonl",
        "-o",
        "v.jsonl",
        "--python",
        &python,
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let classes: Vec<Value> =
        rows(&user, "v.jsonl").iter().map(|one| one["class"].clone()).collect();
    assert_eq!(classes, [json!("passed"), json!("failed")]);
}

#[test]
fn a_repository_that_cannot_be_opened_ends_no_build() {
    let user = User::new();
    user.repository("repo", PACKAGE);
    let build = |repositories: &[&str], output: &str| {
        let args = ["-q", "repoexec", "build", "--tests", "none", "-o", output];
        user.gistify(&[&args[..], repositories].concat())
    };
    let ran = build(&["gone", "repo"], "built");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert_eq!(rows(&user, "built/problems.jsonl").len(), 3);
    let extraction: Value =
        serde_json::from_str(&read(&user.here().join("built/extraction.json"))).unwrap();
    let counts = extraction["repositories"].as_array().unwrap();
    assert_eq!((&counts[0]["repository"], &counts[0]["problems"]), (&json!("gone"), &json!(0)));
    assert!(counts[0]["failure"].as_str().unwrap().contains("gone"), "{}", counts[0]);
    assert_eq!((counts[1].get("failure"), &counts[1]["problems"]), (None, &json!(3)));
    super::schemas::validate(&user.here());
    let ran = build(&["gone", "lost"], "none");
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(!user.here().join("none/problems.jsonl").exists());
}

/// A model that knows one of two functions, and answers with all of it.
const KNOWING: &str = "\
import json, sys
content = json.load(sys.stdin)['messages'][-1]['content']
prefix = content.split('\\n\\n', 1)[1]
known = open('repo/pkg/words.py').read()
at = known.find(prefix) if 'def shout' in prefix else -1
print(json.dumps({'content': known[at:] if at >= 0 else 'pass'}))
";

#[test]
fn a_model_that_knows_a_function_goes_on_with_it() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("repo", PACKAGE);
    let ran = user.gistify(&["-q", "repoexec", "build", "repo", "-o", "built", "--tests", "none"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    std::fs::write(user.here().join("model.py"), KNOWING).unwrap();
    let leakage = |model: &str, more: &[&str]| {
        let args = ["-q", "repoexec", "leakage", "built/problems.jsonl", "-m", model];
        let output = ["-o", "continuations.jsonl", "--format", "csv", "--force"];
        user.gistify(&[&args[..], &output, more].concat())
    };
    let model = format!("command/{python} model.py");
    let ran = leakage(&model, &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    // Three functions at five places each.
    assert_eq!(
        ran.out.lines().last(),
        Some(format!("{model},3,15,0,0.33").as_str()),
        "{}",
        ran.err
    );
    let ran = leakage("solutions", &["--places", "3"]);
    assert_eq!(ran.out.lines().last(), Some("solutions,3,9,0,1.00"), "{}", ran.err);
    super::schemas::validate(&user.here());
    let ran = leakage("solutions", &["--ngram", "100"]);
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
}

#[test]
fn a_split_without_rows_has_no_file() {
    let user = User::new();
    user.repository("repo", PACKAGE);
    let ran =
        user.gistify(&["-q", "repoexec", "build", "repo", "-o", "all", "--all", "--tests", "none"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let place = user.here().join("data");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("validation.jsonl"), "").unwrap();
    let args = ["repoexec", "export", "all/problems.jsonl", "-o", "data", "--mix", "1:1:1"];
    let ran = user.gistify(&[&args[..], &["--force"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("all functions are of one repository"), "{}", ran.err);
    assert!(place.join("train.jsonl").exists() && !place.join("validation.jsonl").exists());
}

#[test]
fn numbers_out_of_bounds_are_refused() {
    let user = User::new();
    let check = |args: &[&str], told: &str| {
        let ran = user.gistify(&[&["repoexec"], args].concat());
        assert_eq!((ran.code, ran.err.contains(told)), (2, true), "{args:?}: {}", ran.err);
    };
    for share in ["2", "nan", "-1", "1"] {
        let share = format!("--validation={share}");
        check(&["export", "p.jsonl", "-o", "d", &share], "not a number from 0 to below 1");
    }
    check(&["export", "p.jsonl", "-o", "d", "--mix", "0:0:0"], "three whole numbers");
    check(&["export", "p.jsonl", "-o", "d", "--most", "0"], "0 is not in 1");
    check(&["generate", "p.jsonl", "-o", "g", "-n", "0"], "0 is not in 1");
    check(&["generate", "p.jsonl", "-o", "g", "--temperature=nan"], "not a number from 0");
    check(&["generate", "p.jsonl", "-o", "g", "--top-p", "0"], "not a number above 0 to 1");
    check(&["build", "r", "-o", "b", "--coverage", "101"], "not a number from 0 to 100");
    // A sum that does not fit into 32 bits is a sum.
    let most = u32::MAX.to_string();
    let ran = user.gistify(&[
        "repoexec",
        "export",
        "p.jsonl",
        "-o",
        "d",
        "--mix",
        &format!("{most}:{most}:2"),
    ]);
    assert!(ran.last_error_line().contains("there is no such file"), "{}", ran.err);
}

#[test]
fn a_data_set_is_the_same_for_the_same_seed() {
    let user = User::new();
    user.repository("repo", PACKAGE);
    user.repository(
        "other",
        &PACKAGE.replace("words", "texts").replace("return text", "return 2 * text"),
    );
    let build =
        ["-q", "repoexec", "build", "repo", "other", "-o", "all", "--all", "--tests", "none"];
    let ran = user.gistify(&build);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let export = |output: &str, seed: &str| {
        let ran = user.gistify(&[
            "-q",
            "repoexec",
            "export",
            "all/problems.jsonl",
            "-o",
            output,
            "--seed",
            seed,
            "--mix",
            "1:1:1",
            "--validation",
            "0.5",
        ]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let file = |name: &str| read(&user.here().join(output).join(name));
        (file("train.jsonl"), file("validation.jsonl"), ran.out)
    };
    let (first, again) = (export("a", "1"), export("b", "1"));
    assert_eq!(first, again);
    let both = format!("{}{}", first.0, first.1);
    let rows: Vec<Value> = both.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!rows.is_empty());
    for row in &rows {
        // The text stands at its place in the repository.
        let root = row["repository"].as_str().unwrap();
        let text = read(&std::path::Path::new(root).join(row["path"].as_str().unwrap()));
        let line = |key: &str| usize::try_from(row[key].as_u64().unwrap()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let function = lines[line("line") - 1..line("end_line")].join("\n");
        assert!(function.ends_with(row["completion"].as_str().unwrap()), "{row}");
    }
    super::schemas::validate(&user.here());
}

#[test]
fn commands_refuse_what_they_cannot_do() {
    let user = User::new();
    user.repository("repo", PACKAGE);
    let check = |args: &[&str], code: i32, told: &str| {
        let ran = user.gistify(&[&["-q", "repoexec"], args].concat());
        assert_eq!((ran.code, ran.last_error_line()), (code, told), "{args:?}: {}", ran.out);
    };
    check(
        &["eval", "none.jsonl", "g.jsonl", "-o", "v.jsonl"],
        3,
        "gistify: read problems none.jsonl: there is no such file (one JSON object a line, as `gistify repoexec build` writes them)",
    );
    std::fs::write(user.here().join("empty.jsonl"), "{}\n").unwrap();
    check(
        &["generate", "empty.jsonl", "-m", "solutions", "-o", "g.jsonl"],
        3,
        "gistify: read problems empty.jsonl: line 1: missing field `version` (one JSON object a line, as `gistify repoexec build` writes them)",
    );
    let ran = user.gistify(&["-q", "repoexec", "build", "repo", "-o", "built", "--tests", "none"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    check(
        &["build", "repo", "-o", "built", "--tests", "none"],
        3,
        "gistify: output built/problems.jsonl exists (replace it with --force)",
    );
    check(
        &["generate", "built/problems.jsonl", "-o", "g.jsonl"],
        2,
        "gistify: the offline model completes no functions (name one with -m)",
    );
}
