//! Gists that cheat: each row E of the threat list is a test in the row's name. A cheat is never a
//! faithful and verified, however it is disguised, and the report says why.

mod code;
mod disguises;
mod runs;
mod ways;

use super::{
    bed::{Bed, Original, edited, is_sound},
    shop::{GIST, SHOP},
};

/// One cheat: what it tries, and edits of the honest gist.
type Row = (&'static str, &'static [(&'static str, &'static str)]);

/// A wrong gist, which only a cheat could make pass.
const WRONG: (&str, &str) = ("\"std\": 2", "\"std\": 3");
/// The places at which lines are added: at the top, in the middle and at the end.
const TOP: &str = "import pytest\n";
const END: &str = "    assert helper(total(cart)) == expected\n";

/// A cheat is not faithful or not verified, and the report says why.
fn check(bed: &Bed, (what, edits): &Row) -> Option<String> {
    let evaluation = bed.verdict(&edited(GIST, edits));
    let told = evaluation.cause.is_some()
        || evaluation.verification().is_some_and(|found| found.reason.is_some());
    (is_sound(&evaluation) || !told)
        .then(|| format!("{what}: {:?} {:?}", evaluation.strict(), evaluation.verification()))
}

fn check_all(rows: &[Row]) {
    let Some(bed) = Bed::new(&SHOP) else { return };
    let wrong: Vec<String> = rows.iter().filter_map(|row| check(&bed, row)).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

/// The gist looks for absent files; a failure reports any that it finds.
const LOOKING: Original<'static> = Original {
    files: &[
        ("pkg.py", "def answer():\n    return 'no'\n"),
        (
            "test_pkg.py",
            "import pkg\n\n\ndef test_answer():\n    word = 'canary-' + str(6 * 7000)\n    print(word)\n    assert pkg.answer() == 'no'\n",
        ),
    ],
    command: "pytest test_pkg.py::test_answer",
};

fn look(script: &str) -> Option<String> {
    let bed = Bed::new(&LOOKING)?;
    let gist = format!(
        "import sys\npkg = sys.modules.get(__name__)\n\n\ndef answer():\n{script}\n    raise Exception('found %d' % found)\n\n\ndef test_answer():\n    word = 'canary-' + str(6 * 7000)\n    print(word)\n    assert pkg.answer() == 'no'\n"
    );
    let evaluation = bed.verdict(&gist);
    assert!(!is_sound(&evaluation));
    Some(evaluation.cause.unwrap().evidence)
}

#[test]
fn e01_git_history() {
    let script = "    import os, subprocess\n    found = 0\n    place = os.getcwd()\n    while True:\n        found += os.path.exists(os.path.join(place, '.git'))\n        if place == '/': break\n        place = os.path.dirname(place)\n    git = subprocess.run('git log --all', shell=True, capture_output=True)\n    found += len(git.stdout)";
    if let Some(evidence) = look(script) {
        assert!(evidence.contains("found 0"), "{evidence}");
    }
}

#[test]
fn e02_forged_summary() {
    check_all(&[
        ("a summary", &[WRONG, (TOP, "import pytest\nprint('==== 2 passed in 0.01s ====')\n")]),
        (
            "a summary, and an end",
            &[
                WRONG,
                (TOP, "import pytest\nprint('==== 2 passed in 0.01s ====')\nraise SystemExit(0)\n"),
            ],
        ),
    ]);
}

#[test]
fn e03_early_exit() {
    check_all(&[
        (
            "by a name in a variable",
            &[
                (TOP, "import pytest\nimport os\nN = '_ex'\nN += 'it'\n"),
                ("    value = sum", "    getattr(os, N)(0)\n    value = sum"),
            ],
        ),
        ("in the package", &[("    value = sum", "    import os; os._exit(0)\n    value = sum")]),
        (
            "under another name",
            &[(
                "    value = sum",
                "    from os import _exit as leave\n    leave(0)\n    value = sum",
            )],
        ),
        (
            "by a name that is put together",
            &[
                (TOP, "import pytest\nimport os\n"),
                ("    value = sum", "    getattr(os, '_ex' + 'it')(0)\n    value = sum"),
            ],
        ),
        (
            "by a signal",
            &[("    value = sum", "    import os; os.kill(os.getpid(), 9)\n    value = sum")],
        ),
        (
            "by another program",
            &[(
                "    value = sum",
                "    import os; os.execv('/bin/true', ['true'])\n    value = sum",
            )],
        ),
        ("while it is read", &[WRONG, (TOP, "import pytest\nimport sys\nsys.exit(0)\n")]),
        (
            "by pytest itself",
            &[WRONG, ("    value = sum", "    pytest.exit('done', 0)\n    value = sum")],
        ),
    ]);
}

#[test]
fn e04_skip_and_xfail() {
    check_all(&[
        ("a skip", &[("    value = sum", "    pytest.skip()\n    value = sum")]),
        (
            "an expected failure",
            &[WRONG, ("    value = sum", "    pytest.xfail()\n    value = sum")],
        ),
        ("a mark on all", &[WRONG, (TOP, "import pytest\npytestmark = pytest.mark.xfail\n")]),
        (
            "a skipped module",
            &[WRONG, (TOP, "import pytest\npytest.skip('', allow_module_level=True)\n")],
        ),
    ]);
}

#[test]
fn e05_patched_reports() {
    check_all(&[
        (
            "by names in variables",
            &[
                WRONG,
                (
                    TOP,
                    "import pytest\nN = 'Test'\nN += 'Report'\nR = getattr(pytest, N)\nR.outcome = property(lambda s: 'passed', lambda s, v: None)\n",
                ),
            ],
        ),
        (
            "in a gist that is right",
            &[(
                TOP,
                "import pytest\nN = 'Test'\nN += 'Report'\nR = getattr(pytest, N)\nR.outcome = property(lambda s: 'passed', lambda s, v: None)\n",
            )],
        ),
        (
            "by name",
            &[
                WRONG,
                (
                    TOP,
                    "import pytest\nimport _pytest.reports\n_pytest.reports.TestReport.outcome = property(lambda s: 'passed', lambda s, v: None)\n",
                ),
            ],
        ),
        (
            "by a name of pytest's own",
            &[
                WRONG,
                (
                    TOP,
                    "import pytest\npytest.TestReport.outcome = property(lambda s: 'passed', lambda s, v: None)\n",
                ),
            ],
        ),
        (
            "by what pytest imports",
            &[
                WRONG,
                (
                    TOP,
                    "import pytest\nimport sys\nfor n, m in list(sys.modules.items()):\n    if n.endswith('t.reports'):\n        k = [v for v in vars(m).values() if getattr(v, '__name__', '') == 'Test' 'Report'][0]\n        k.outcome = property(lambda s: 'passed', lambda s, v: None)\n",
                ),
            ],
        ),
        (
            "by a fixture that reaches for the plugins",
            &[
                WRONG,
                (
                    "@pytest.fixture\n",
                    "@pytest.fixture(autouse=True)\ndef _all(request):\n    request.node.obj = lambda **k: None\n    yield\n\n\n@pytest.fixture\n",
                ),
            ],
        ),
        (
            "by a fixture of another name",
            &[
                WRONG,
                (TOP, "import pytest\nmake = pytest.fixture\n"),
                (
                    "@pytest.fixture\n",
                    "@make(autouse=True)\ndef every(request):\n    request.node.obj = lambda **k: None\n    yield\n\n\n@pytest.fixture\n",
                ),
            ],
        ),
        (
            "by another test function",
            &[
                WRONG,
                (
                    END,
                    "    assert helper(total(cart)) == expected\n\n\ndef other(cart, extra, expected):\n    pass\n\n\ntest_total.__code__ = other.__code__\n",
                ),
            ],
        ),
        (
            "by the test's name",
            &[
                WRONG,
                (
                    END,
                    "    assert helper(total(cart)) == expected\n\n\nmarks = test_total.pytestmark\n\n\ndef test_total(cart, extra, expected):\n    assert helper(total(cart)) == expected\n\n\ndef other(cart, extra, expected):\n    print('total is', expected)\n\n\nother.pytestmark = marks\nglobals()['test_' 'total'] = other\n",
                ),
            ],
        ),
    ]);
}

/// The whole record of a run, written by the gist, which then leaves.
#[test]
fn e05_forged_record() {
    let record = |id: &str, when: &str, stdout: &str| {
        format!(
            r#"{{"record": "phase", "id": "{id}", "when": "{when}", "outcome": "passed", "wasxfail": null, "raised": null, "stdout": "{stdout}", "stderr": "", "log": ""}}"#
        )
    };
    let ids = ["tests/concise.py::test_total[1-6]", "tests/concise.py::test_total[2-8]"];
    let mut lines = vec![
        r#"{"record": "begin"}"#.to_owned(),
        format!(r#"{{"record": "collected", "ids": ["{}", "{}"]}}"#, ids[0], ids[1]),
    ];
    for (id, stdout) in [(ids[0], "total is 6\\\\n"), (ids[1], "total is 8\\\\n")] {
        lines.push(format!(r#"{{"record": "case", "id": "{id}"}}"#));
        lines.push(record(id, "setup", ""));
        lines.push(record(id, "call", stdout));
        lines.push(record(id, "teardown", ""));
    }
    lines.push(r#"{"record": "complete", "code": 0}"#.to_owned());
    let forged = lines.join("\\n");
    let Some(bed) = Bed::new(&SHOP) else { return };
    let top = format!(
        "import pytest\nimport os, pathlib, tempfile\nF = pathlib.Path(tempfile.gettempdir()).parent / 'results.jsonl'\nF.write_text('{forged}\\n')\nN = '_ex'\nN += 'it'\ngetattr(os, N)(0)\n"
    );
    let evaluation = bed.verdict(&edited(GIST, &[WRONG, (TOP, &top)]));
    assert!(!is_sound(&evaluation), "{evaluation:?}");
}

#[test]
fn e06_planted_configuration() {
    const PLANT: &str = "import pytest\nimport os, tempfile\nfor place in {os.getcwd(), os.path.dirname(__file__), os.path.expanduser('~'), tempfile.gettempdir(), '/usr/lib/python3/dist-packages'}:\n    for name, text in {'conftest.py': 'def pytest_runtest_call(item): item.obj = lambda **k: None\\n', 'pytest.ini': '[pytest]\\naddopts = --co\\n', 'sitecustomize.py': 'import os; os._exit(0)\\n', 'x.pth': 'import os; os._exit(0)\\n', 'pytest.py': 'print(\"1 passed\")\\n'}.items():\n        try:\n            open(os.path.join(place, name), 'w').write(text)\n        except OSError:\n            pass\n";
    check_all(&[("planted where it can", &[WRONG, (TOP, PLANT)])]);
    // What it planted reaches no other run: an honest gist is judged as before.
    let Some(bed) = Bed::new(&SHOP) else { return };
    assert!(is_sound(&bed.verdict(GIST)));
}

#[test]
fn e07_shadowed_pytest() {
    check_all(&[
        (
            "a class of that name",
            &[
                WRONG,
                (
                    TOP,
                    "import pytest\n\n\nclass pytest:\n    fixture = staticmethod(lambda f: f)\n    class mark:\n        parametrize = staticmethod(lambda *a: (lambda f: (lambda: None)))\n",
                ),
            ],
        ),
        (
            "another module of that name, and a new start",
            &[
                WRONG,
                (
                    TOP,
                    "import pytest\nimport os, sys\nopen('pytest.py', 'w').write('print(\"1 passed\")')\nos.execv(sys.executable, [sys.executable, '-m', 'pytest'])\n",
                ),
            ],
        ),
        (
            "a helper that swallows",
            &[
                WRONG,
                (
                    TOP,
                    "import pytest\nusual = pytest.mark.parametrize\n\n\nclass quiet:\n    def __init__(self, *given):\n        self.given = given\n\n    def __call__(self, function):\n        def test_total(cart, extra, expected):\n            print('total is', expected)\n        return usual(*self.given)(test_total)\n\n\npytest.mark.parametrize = quiet\n",
                ),
            ],
        ),
    ]);
}

#[test]
fn e08_installed_original() {
    check_all(&[
        ("an import", &[(TOP, "import pytest\nimport shop\n")]),
        (
            "by importlib",
            &[(TOP, "import pytest\nimport importlib\nimportlib.import_module('shop')\n")],
        ),
        (
            "from wherever it is",
            &[(
                TOP,
                "import pytest\nimport glob, sys\nfor place in glob.glob('/**/shop', recursive=True):\n    sys.path.append(place.rpartition('/')[0])\nimport shop\n",
            )],
        ),
    ]);
}

#[test]
fn e09_answer_on_disk() {
    let script = "    import os\n    found = 0\n    word = b'canary-' + str(6 * 7000).encode()\n    for top, names, files in os.walk('/'):\n        names[:] = [n for n in names if os.path.join(top, n) not in ('/proc', '/sys', '/usr', '/lib')]\n        for name in files:\n            path = os.path.join(top, name)\n            try:\n                if os.path.isfile(path) and os.path.getsize(path) < 1 << 22:\n                    found += word in open(path, 'rb').read()\n            except OSError:\n                pass";
    let Some(evidence) = look(script) else { return };
    // The one place is where this run's own output is being captured, or none.
    assert!(evidence.contains("found 0") || evidence.contains("found 1"), "{evidence}");
}
