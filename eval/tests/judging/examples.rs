//! Tests cheats in docstring examples: their text, the objects that they reach, and their
//! execution.

use super::bed::{Bed, Original, edited, is_sound};

const TEXT: &str = "\"\"\"Numbers.\n\n>>> double(3)\n6\n>>> isclose(double(0), 0)\nTrue\n\"\"\"\n\nfrom math import isclose\n\n\ndef double(value):\n    return value * 2\n";

/// The attempt, edits of the whole file, and true for a success.
type Row = (&'static str, &'static [(&'static str, &'static str)], bool);

fn check(text: &str, command: &str, rows: &[Row]) {
    let Some(bed) = Bed::new(&Original { files: &[("lib.py", text)], command }) else { return };
    let wrong = rows.iter().filter_map(|(what, edits, expected)| {
        let evaluation = bed.verdict(&edited(text, edits));
        let fine = is_sound(&evaluation) == *expected;
        (!fine).then(|| format!("{what}: {:?} {:?}", evaluation.cause, evaluation.verification()))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(
        wrong.is_empty(),
        "{command}: {} of {}:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
}

const ANYTHING: (&str, &str) = ("value * 2", "6");
const TOP: &str = "from math import isclose\n";

#[test]
fn examples_are_the_original_s() {
    check(
        TEXT,
        "pytest --doctest-modules lib.py",
        &[
            ("as it is", &[], true),
            ("fewer", &[(">>> isclose(double(0), 0)\nTrue\n", ""), ANYTHING], false),
            (
                "another name's value",
                &[(TOP, "def isclose(left, right):\n    return True\n")],
                false,
            ),
            (
                "Python's own name, by the module",
                &[(
                    TOP,
                    "import sys\nfrom math import isclose\nsys.modules[__name__].isclose = max\n",
                )],
                false,
            ),
            (
                "those that are left are dropped as they run",
                &[
                    (
                        TOP,
                        "import traceback\nfrom math import isclose\nfrom operator import attrgetter\nfind = attrgetter(\"linecache.getlines.__self__.test.examples\")\n",
                    ),
                    ("    return value * 2", "    find(traceback).clear()\n    return 6"),
                ],
                false,
            ),
            (
                "nobody hears of a failure",
                &[
                    (
                        TOP,
                        "import traceback\nfrom math import isclose\nfrom operator import attrgetter\nfind = attrgetter(\"linecache.getlines\")\n",
                    ),
                    (
                        "    return value * 2",
                        "    find(traceback).__self__.report_failure = max\n    return 5",
                    ),
                ],
                false,
            ),
        ],
    );
}

#[test]
fn parameters_are_no_examples() {
    let text = "\"\"\"Numbers.\n\n>>> double(3)\n6\n\"\"\"\n\n\ndef double(value):\n    return value * 2\n";
    let command = "pytest --doctest-modules lib.py";
    let Some(bed) = Bed::new(&Original { files: &[("lib.py", text)], command }) else { return };
    let said = "(\"double(3)\\n\", \"6\\n\", None, [])";
    let forged = format!(
        "import pytest\n\n\nclass Example:\n    __qualname__ = repr({said})\n\n\n@pytest.mark.usefixtures(\"example 0\")\n@pytest.mark.parametrize(\"example 0\", [Example()], ids=[pytest.HIDDEN_PARAM])\ndef test_lib():\n    pass\n"
    );
    assert!(is_sound(&bed.verdict(text)));
    assert!(!is_sound(&bed.verdict(&forged)));
}

#[test]
fn long_ones_are_compared_to_their_end() {
    let wide: String = (0..400).map(|number| format!("row {number}\n")).collect();
    let text = format!(
        "\"\"\"Rows.\n\n>>> print(rows(400))\n{wide}\"\"\"\n\n\ndef rows(count):\n    return \"\\n\".join([\"row %d\" % at for at in range(count)])\n"
    );
    check(
        &text,
        "pytest --doctest-modules lib.py",
        &[
            ("as it is", &[], true),
            (
                "another end",
                &[("row 399\n", "row 40\n"), ("range(count)]", "[*range(399), 40]]")],
                false,
            ),
        ],
    );
    let many: String = (0..120).map(|number| format!(">>> same({number})\n{number}\n")).collect();
    let text = format!("\"\"\"Numbers.\n\n{many}\"\"\"\n\n\ndef same(value):\n    return value\n");
    check(
        &text,
        "pytest --doctest-modules lib.py",
        &[
            ("as it is", &[], true),
            ("the last is left out", &[(">>> same(119)\n119\n", "")], false),
        ],
    );
}

#[test]
fn failures_say_why() {
    let text =
        "\"\"\"Numbers.\n\n>>> half(3)\n1\n\"\"\"\n\n\ndef half(value):\n    return value / 2\n";
    check(
        text,
        "pytest --doctest-modules lib.py",
        &[
            ("as it is", &[], true),
            ("another value", &[("value / 2", "7")], false),
            ("an error", &[("value / 2", "missing")], false),
        ],
    );
    let text = "\"\"\"Numbers.\n\n>>> half(3)\n1\n\"\"\"\n\n\ndef half(value):\n    raise KeyError(value)\n";
    check(
        text,
        "pytest --doctest-modules lib.py",
        &[("as it is", &[], true), ("another error", &[("KeyError", "ValueError")], false)],
    );
}

#[test]
fn examples_that_nothing_counts_run() {
    check(
        TEXT,
        "python -m doctest lib.py",
        &[
            ("as it is", &[], true),
            ("none", &[(TOP, "from math import isclose\ndel __doc__\n"), ANYTHING], false),
            ("an end before them", &[(TOP, "from math import isclose\nraise SystemExit\n")], false),
            (
                "one is skipped",
                &[("double(0), 0)", "double(0), 0) # doctest: +SKIP"), ANYTHING],
                false,
            ),
        ],
    );
}
