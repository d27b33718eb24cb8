//! Commands that fail, commands other than pytest's, and originals bundled whole.

use gistify_eval::{Category, OriginalExecution, SourceMap, Submission, VouchedExistence};

use super::bed::{Bed, Original, edited, score_line};

fn check(original: &Original<'_>, gist: &str, rows: &[(&[(&str, &str)], &str)]) {
    let Some(bed) = Bed::new(original) else { return };
    for (edits, expected) in rows {
        let evaluation = bed.verdict(&edited(gist, edits));
        let found = score_line(&evaluation);
        assert_eq!(found, *expected, "{edits:?}\n{evaluation:#?}");
    }
}

/// The exception comes from the package, whose assertions pytest does not explain.
const RAISES: Original<'static> = Original {
    files: &[
        (
            "pkg.py",
            "class Broken(ValueError):\n    pass\n\n\ndef check(x):\n    assert x < 3\n    assert x < 2, 'not two'\n    raise Broken(f'broken at {x}')\n",
        ),
        (
            "test_pkg.py",
            "import pkg\nimport pytest\n\n\n@pytest.mark.parametrize('x', [1, 2, 3])\ndef test_check(x):\n    pkg.check(x)\n",
        ),
    ],
    command: "pytest test_pkg.py::test_check",
};

#[test]
fn a_command_that_fails_is_a_task() {
    let gist = "import sys\nimport pytest\n\npkg = sys.modules[__name__]\n\n\nclass Broken(ValueError):\n    pass\n\n\ndef check(x):\n    assert x < 3\n    assert x < 2, 'not two'\n    raise Broken(f'broken at {x}')\n\n\n@pytest.mark.parametrize('x', [1, 2, 3])\ndef test_check(x):\n    pkg.check(x)\n";
    check(
        &RAISES,
        gist,
        &[
            (&[], "fidelity 1, existence 10/12, execution 8/10, test 100, -"),
            (
                &[("broken at", "broken on")],
                "fidelity 0, existence 9/12, execution -, test 100, output mismatch",
            ),
            (
                &[("'not two'", "'not 2'")],
                "fidelity 0, existence 9/12, execution -, test 100, output mismatch",
            ),
            (
                &[("class Broken(ValueError)", "class Broken(KeyError)")],
                "fidelity 0, existence 9/12, execution -, test 100, output mismatch",
            ),
            (
                &[("assert x < 3", "assert x < 4")],
                "fidelity 0, existence 9/12, execution -, test 100, output mismatch",
            ),
            (
                &[("raise Broken(", "raise ValueError(")],
                "fidelity 0, existence 9/12, execution -, test 100, run-time error",
            ),
        ],
    );
}

/// Errors whose tracebacks show others: a cause, the one that was handled, members of a group as older Pythons have them.
const SHOWS: Original<'static> = Original {
    files: &[
        (
            "pkg.py",
            "class BaseExceptionGroup(Exception):\n    def __init__(self, *errors):\n        self.exceptions = errors\n\n\ndef load(x):\n    try:\n        raise KeyError(f'key {x}')\n    except KeyError as error:\n        if x == 1:\n            raise ValueError('cannot load') from error\n        if x == 2:\n            raise ValueError('cannot load')\n        if x == 3:\n            raise BaseExceptionGroup(KeyError(f'member {x}'))\n        raise ValueError('cannot load') from None\n",
        ),
        (
            "test_pkg.py",
            "import pkg\nimport pytest\n\n\n@pytest.mark.parametrize('x', [1, 2, 3, 4])\ndef test_load(x):\n    pkg.load(x)\n",
        ),
    ],
    command: "pytest test_pkg.py::test_load",
};

#[test]
fn what_a_traceback_shows_besides_its_error_is_compared() {
    let gist = "import sys\nimport pytest\n\npkg = sys.modules[__name__]\n\n\nclass BaseExceptionGroup(Exception):\n    def __init__(self, *errors):\n        self.exceptions = errors\n\n\ndef load(x):\n    try:\n        raise KeyError(f'key {x}')\n    except KeyError as error:\n        if x == 1:\n            raise ValueError('cannot load') from error\n        if x == 2:\n            raise ValueError('cannot load')\n        if x == 3:\n            raise BaseExceptionGroup(KeyError(f'member {x}'))\n        raise ValueError('cannot load') from None\n\n\n@pytest.mark.parametrize('x', [1, 2, 3, 4])\ndef test_load(x):\n    pkg.load(x)\n";
    let Some(bed) = Bed::new(&SHOWS) else { return };
    for (from, to, fidelity) in [
        ("raise BaseExceptionGroup", "raise BaseExceptionGroup", 1),
        ("key {x}", "key {x + 1}", 0),
        ("raise KeyError(f'key", "raise LookupError(f'key", 0),
        ("member {x}", "member {x + 1}", 0),
        ("BaseExceptionGroup(KeyError", "BaseExceptionGroup(IndexError", 0),
    ] {
        let evaluation = bed.verdict(&edited(gist, &[(from, to)]));
        let found = evaluation.strict().map(|strict| strict.score);
        assert_eq!(found, Some(fidelity), "{from} {to}: {evaluation:#?}");
    }
}

/// A module that is run by its name, and writes to both streams.
const MODULE: Original<'static> = Original {
    files: &[
        ("src/tool/__init__.py", ""),
        ("src/tool/words.py", "def count(text):\n    return len(text.split())\n"),
        (
            "src/tool/main.py",
            "import sys\n\nfrom tool.words import count\n\n\ndef main(args):\n    print(count(' '.join(args)), 'words')\n    print('done', file=sys.stderr)\n    return len(args)\n\n\nif __name__ == '__main__':\n    sys.exit(main(sys.argv[1:]))\n",
        ),
    ],
    command: "python -m tool.main a b",
};

#[test]
fn other_commands_are_compared_by_their_streams() {
    let gist = "import sys\n\n\ndef count(text):\n    return len(text.split())\n\n\ndef main(args):\n    print(count(' '.join(args)), 'words')\n    print('done', file=sys.stderr)\n    return len(args)\n\n\nif __name__ == '__main__':\n    sys.exit(main(sys.argv[1:]))\n";
    check(
        &MODULE,
        gist,
        &[
            (&[], "fidelity 1, existence 9/9, execution 9/9, test -, -"),
            (
                &[("'words'", "'word'")],
                "fidelity 0, existence 8/9, execution -, test -, output mismatch",
            ),
            (
                &[("'done'", "'gone'")],
                "fidelity 0, existence 8/9, execution -, test -, output mismatch",
            ),
            (
                &[("    return len(args)", "    return 1")],
                "fidelity 0, existence 8/9, execution -, test -, run-time error",
            ),
            (
                &[
                    ("import sys\n", "import sys\nfrom tool.words import count\n"),
                    ("def count(", "def number("),
                ],
                "fidelity 0, existence 8/10, execution -, test -, import error",
            ),
        ],
    );
}

/// A traceback on standard error names other files and lines in a gist.
const CRASH: Original<'static> = Original {
    files: &[
        ("deep.py", "def fail(x):\n    raise RuntimeError(f'no {x}')\n"),
        ("script.py", "from deep import fail\n\nprint('begin')\nfail(1)\n"),
    ],
    command: "python script.py",
};

#[test]
fn tracebacks_are_compared_without_their_places() {
    let gist = "def fail(x):\n    raise RuntimeError(f'no {x}')\n\n\nprint('begin')\nfail(1)\n";
    check(
        &CRASH,
        gist,
        &[
            (&[], "fidelity 1, existence 4/4, execution 4/4, test -, -"),
            (
                &[("'no {x}'", "'on {x}'")],
                "fidelity 0, existence 3/4, execution -, test -, output mismatch",
            ),
        ],
    );
}

const UNITTEST: Original<'static> = Original {
    files: &[
        ("calc.py", "def add(a, b):\n    return a + b\n"),
        (
            "test_calc.py",
            "import unittest\nfrom calc import add\n\n\nclass AddTest(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n\n    def test_more(self):\n        self.assertEqual(add(2, 2), 4)\n",
        ),
    ],
    command: "python -m unittest test_calc.AddTest",
};

#[test]
fn unittest_gets_the_original_tests_as_well() {
    let gist = "import unittest\n\n\ndef add(a, b):\n    return a + b\n\n\nclass AddTest(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n\n    def test_more(self):\n        self.assertEqual(add(2, 2), 4)\n";
    check(
        &UNITTEST,
        gist,
        &[
            (&[], "fidelity 1, existence 8/8, execution 8/8, test 100, -"),
            (
                &[("a + b", "a * b"), ("add(1, 2), 3", "add(1, 2), 2")],
                "fidelity 0, existence 6/8, execution -, test 75, run-time error",
            ),
            (
                &[("def test_more", "def test_less")],
                "fidelity 0, existence 6/8, execution -, test 50, missing test",
            ),
        ],
    );
}

#[test]
fn the_whole_original_bundled_is_faithful_and_idle() {
    let mut library = String::new();
    for number in 0..80 {
        library.push_str(&format!(
            "def part_{number}(x):\n    y = x + {number}\n    if y > 3:\n        y = y * 2\n    z = y - 1\n    return z\n\n\n"
        ));
    }
    let test = "from big import part_7\n\n\ndef test_part():\n    assert part_7(1) == 15\n";
    let original = Original {
        files: &[("big/__init__.py", &library), ("tests/test_big.py", test)],
        command: "pytest tests/test_big.py::test_part",
    };
    let Some(bed) = Bed::new(&original) else { return };
    let bundle = format!("{library}{}", test.replace("from big import part_7\n", ""));
    let evaluation = bed.verdict(&bundle);
    // 80 definitions and 5 lines of one body, 2 of the test; all 480 + 2 lines can be executed.
    assert_eq!(
        score_line(&evaluation),
        "fidelity 1, existence 482/482, execution 87/482, test 100, -"
    );
    assert!(evaluation.scores.value::<OriginalExecution>().unwrap() < 0.3);
}

#[test]
fn what_was_never_written_is_a_file_creation_failure() {
    let Some(bed) = Bed::new(&RAISES) else { return };
    let absent = Submission::Absent("the step limit was reached".to_owned());
    let evaluation = bed.judge(absent, None).unwrap();
    assert_eq!(
        score_line(&evaluation),
        "fidelity 0, existence -, execution -, test -, file creation failure"
    );
    let evaluation = bed.judge(Submission::Written(String::new()), None).unwrap();
    assert_eq!(
        score_line(&evaluation),
        "fidelity 0, existence 0/0, execution -, test 0, missing test"
    );
}

#[test]
fn a_gist_that_does_not_end_is_a_timeout() {
    let Some(mut bed) = Bed::new(&CRASH) else { return };
    bed.limits.wall = std::time::Duration::from_secs(5);
    let evaluation = bed.verdict("while True:\n    pass\n");
    assert_eq!(evaluation.cause.unwrap().category, Category::Timeout);
}

#[test]
fn a_source_map_tells_glue_from_invention() {
    let Some(bed) = Bed::new(&CRASH) else { return };
    let text =
        "def fail(x):\n    raise RuntimeError(f'no {x}')\nalso = fail\nprint('begin')\nfail(1)\n";
    let line = |path: &str, line| graph::GistLine {
        origin: graph::LineOrigin::Source(graph::Place { path: path.to_owned(), line }),
        adapted: false,
    };
    let glue =
        graph::GistLine { origin: graph::LineOrigin::Glue("a name".to_owned()), adapted: false };
    let lines = vec![
        line("deep.py", 1),
        line("deep.py", 2),
        glue,
        line("script.py", 3),
        line("script.py", 4),
    ];
    let map = SourceMap { lines };
    let evaluation = bed.judge(Submission::Written(text.to_owned()), Some(&map)).unwrap();
    assert_eq!(score_line(&evaluation), "fidelity 1, existence 4/5, execution 4/5, test -, -");
    let existence = evaluation.scores.evidence::<VouchedExistence>().unwrap();
    assert_eq!((existence.glue, existence.rate_without_glue), (1, Some(1.0)));
}
