//! Hooks of conftests that a gist has pytest take: the original's, and no others.

use super::{
    bed::Original,
    modules::{Case, HONEST, REFUSED, check},
};

const HOOKED: Original<'static> = Original {
    files: &[
        ("lib.py", "def double(value):\n    return value * 2\n"),
        (
            "tests/conftest.py",
            "import pytest\n\nREADY = []\n\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runtest_setup(item):\n    READY.append(item.name)\n\n\n@pytest.fixture\ndef ready():\n    return list(READY)\n",
        ),
        (
            "tests/lax/conftest.py",
            "def pytest_pyfunc_call(pyfuncitem):\n    return True\n\n\ndef pytest_collection_modifyitems(items):\n    items.clear()\n",
        ),
        ("tests/lax/test_other.py", "def test_other():\n    pass\n"),
        (
            "tests/test_double.py",
            "from lib import double\n\n\ndef test_double(ready):\n    assert ready == [\"test_double\"]\n    assert double(1) == 2\n",
        ),
    ],
    command: "pytest tests/test_double.py::test_double",
};

const GIST: &str = "import sys\nimport types\nconftest = sys.modules[\"conftest\"] = types.ModuleType(\"conftest\")\nimport pytest\nREADY = []\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runtest_setup(item):\n    READY.append(item.name)\nvars(conftest).update(__loader__=__loader__, pytest_runtest_setup=pytest_runtest_setup)\n@pytest.fixture\ndef ready():\n    return list(READY)\ndef double(value):\n    return value * 2\ndef test_double(ready):\n    assert ready == [\"test_double\"]\n    assert double(1) == 2\npytest_plugins = [\"conftest\"]\n";

const WRONG: (&str, &str) = ("return value * 2", "return 5");
const TELLS: &str = "pytest_runtest_setup=pytest_runtest_setup)\n";
const LINE: &str =
    "vars(conftest).update(__loader__=__loader__, pytest_runtest_setup=pytest_runtest_setup)\n";
const NAMES: &str = "pytest_plugins = [\"conftest\"]\n";

#[test]
fn only_the_hooks_of_the_original_take_part() {
    check(
        &HOOKED,
        GIST,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "none of them",
                edits: &[(LINE, ""), (NAMES, "")],
                expected: "fidelity 0, run-time error",
            },
            Case {
                what: "a hook of the gist's own",
                edits: &[
                    WRONG,
                    (
                        TELLS,
                        "pytest_runtest_setup=pytest_runtest_setup, pytest_pyfunc_call=pytest_pyfunc_call)\n",
                    ),
                    (
                        "READY = []\n",
                        "READY = []\ndef pytest_pyfunc_call(pyfuncitem):\n    return 1\n",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a hook of another conftest, which nothing called",
                edits: &[
                    WRONG,
                    (
                        TELLS,
                        "pytest_runtest_setup=pytest_runtest_setup, pytest_pyfunc_call=pytest_pyfunc_call)\n",
                    ),
                    (
                        "READY = []\n",
                        "READY = []\ndef pytest_pyfunc_call(pyfuncitem):\n    return True\n",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "another function under the name of a hook",
                edits: &[
                    WRONG,
                    (TELLS, "pytest_runtest_setup=pytest_runtest_setup, pytest_pyfunc_call=lax)\n"),
                    ("READY = []\n", "READY = []\ndef lax(pyfuncitem):\n    return True\n"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a hook that the object is given in another way",
                edits: &[
                    WRONG,
                    (
                        NAMES,
                        "pytest_plugins = [\"conftest\"]\ndef lax(pyfuncitem):\n    return True\nsetattr(conftest, \"pytest_pyfunc_call\", lax)\n",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a name of a hook that is put together",
                edits: &[
                    WRONG,
                    (
                        NAMES,
                        "pytest_plugins = [\"conftest\"]\ndef lax(pyfuncitem):\n    return True\nvars(conftest)[\"py\" + \"test_pyfunc_call\"] = lax\n",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a table of names that are not said",
                edits: &[
                    WRONG,
                    (
                        NAMES,
                        "pytest_plugins = [\"conftest\"]\ndef lax(pyfuncitem):\n    return True\nvars(conftest).update(**{\"py\" \"test_pyfunc_call\": lax})\n",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "the same behind a name for it",
                edits: &[
                    WRONG,
                    (
                        NAMES,
                        "pytest_plugins = [\"conftest\"]\ndef lax(pyfuncitem):\n    return True\nput = vars(conftest).update\nput([(\"py\" \"test_pyfunc_call\", lax)])\n",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "the same by the method of all tables",
                edits: &[
                    WRONG,
                    (
                        NAMES,
                        "pytest_plugins = [\"conftest\"]\ndef lax(pyfuncitem):\n    return True\ndict.update(vars(conftest), [(\"py\" \"test_pyfunc_call\", lax)])\n",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "the same within another",
                edits: &[
                    WRONG,
                    (
                        NAMES,
                        "pytest_plugins = [\"conftest\"]\ndef lax(pyfuncitem):\n    return True\nvars(conftest).update(double=vars(conftest).update([(\"py\" \"test_pyfunc_call\", lax)]))\n",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "the same in a row, and a text that looks like a place",
                edits: &[
                    WRONG,
                    (
                        NAMES,
                        "pytest_plugins = [\"conftest\"]\ndef lax(pyfuncitem):\n    return True\nvars(conftest).update([(\"pytest_pyfunc/call\".replace(\"/\", \"_\"), lax)])\n",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a class in the place of the module",
                edits: &[
                    WRONG,
                    (
                        "types.ModuleType(\"conftest\")",
                        "type(\"Conftest\", (), {\"__loader__\": __loader__, \"py\" \"test_pyfunc_call\": lambda pyfuncitem: True})",
                    ),
                    (LINE, ""),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a hook under the name of another",
                edits: &[WRONG, (TELLS, "pytest_pyfunc_call=pytest_runtest_setup)\n")],
                expected: REFUSED,
            },
            Case {
                what: "a plugin that the original does not name",
                edits: &[WRONG, (NAMES, "pytest_plugins = [\"conftest\", \"pytester\"]\n")],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn a_hook_whose_time_has_passed_is_called_next() {
    let original = Original {
        files: &[
            ("lib.py", "import os\n\n\ndef key():\n    return os.environ.get(\"OWN_KEY\")\n"),
            (
                "tests/conftest.py",
                "import os\n\n\ndef pytest_sessionstart(session):\n    os.environ[\"OWN_KEY\"] = \"Y\"\n",
            ),
            (
                "tests/test_key.py",
                "from lib import key\n\n\ndef test_key():\n    assert key() == \"Y\"\n",
            ),
        ],
        command: "pytest tests/test_key.py::test_key",
    };
    const TOLD: &str = "pytest_collection_finish=pytest_sessionstart";
    check(
        &original,
        "import sys\nimport types\nconftest = sys.modules[\"conftest\"] = types.ModuleType(\"conftest\")\nimport os\ndef pytest_sessionstart(session):\n    os.environ[\"OWN_KEY\"] = \"Y\"\nvars(conftest).update(__loader__=__loader__, pytest_collection_finish=pytest_sessionstart)\ndef key():\n    return os.environ.get(\"OWN_KEY\")\ndef test_key():\n    assert key() == \"Y\"\npytest_plugins = [\"conftest\"]\n",
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "another hook of that time",
                edits: &[(TOLD, "pytest_runtest_setup=pytest_sessionstart")],
                expected: REFUSED,
            },
            Case {
                what: "one of the gist's own in its place",
                edits: &[
                    ("    os.environ[\"OWN_KEY\"] = \"Y\"\n", "    session.items.clear()\n"),
                    ("return os.environ.get(\"OWN_KEY\")", "return 5"),
                ],
                expected: REFUSED,
            },
        ],
    );
}

/// Two conftests with a hook of one name, and a module of the package that has the name of pytest.
const TWICE: Original<'static> = Original {
    files: &[
        ("plugs/__init__.py", ""),
        ("plugs/pytest.py", "def double(value):\n    return value * 2\n"),
        (
            "lib.py",
            "from plugs import pytest\n\n\ndef doubles(*plugs):\n    return [plug.double(1) for plug in plugs]\n\n\nDOUBLES = doubles(pytest)\n",
        ),
        (
            "conftest.py",
            "READY = []\n\n\ndef pytest_runtest_setup(item):\n    READY.append(item.name)\n",
        ),
        ("tests/__init__.py", ""),
        (
            "tests/conftest.py",
            "import pytest\nfrom conftest import READY\n\n\ndef pytest_runtest_setup(item):\n    READY.append(len(item.name))\n\n\n@pytest.fixture\ndef ready():\n    return READY\n",
        ),
        (
            "tests/test_double.py",
            "from lib import DOUBLES\n\n\ndef test_double(ready):\n    assert sorted(map(str, ready)) == [\"11\", \"test_double\"]\n    assert DOUBLES == [2]\n",
        ),
    ],
    command: "pytest tests/test_double.py::test_double",
};

#[test]
fn hooks_of_two_conftests_and_modules_that_look_like_one() {
    const FIRST: &str = "vars(conftest).update(__loader__=__loader__, pytest_runtest_setup=pytest_runtest_setup_conftest)\n";
    let gist = format!(
        "import sys\nimport types\nconftest = sys.modules[\"conftest\"] = types.ModuleType(\"conftest\")\nconftest_ = sys.modules[\"tests.conftest\"] = types.ModuleType(\"tests.conftest\")\npytest_pytest = sys.modules[\"plugs.pytest\"] = types.ModuleType(\"plugs.pytest\")\ndef double(value):\n    return value * 2\nvars(pytest_pytest).update(double=double)\ndef doubles(*plugs):\n    return [plug.double(1) for plug in plugs]\nDOUBLES = doubles(pytest_pytest)\nREADY = []\ndef pytest_runtest_setup(item):\n    READY.append(item.name)\npytest_runtest_setup_conftest = pytest_runtest_setup\n{FIRST}import pytest\ndef pytest_runtest_setup(item):\n    READY.append(len(item.name))\n@pytest.fixture\ndef ready():\n    return READY\nvars(conftest_).update(__loader__=__loader__, pytest_runtest_setup=pytest_runtest_setup)\ndef test_double(ready):\n    assert sorted(map(str, ready)) == [\"11\", \"test_double\"]\n    assert DOUBLES == [2]\npytest_plugins = [\"conftest\", \"tests.conftest\"]\n"
    );
    let refused = |what, edits| Case { what, edits, expected: REFUSED };
    check(
        &TWICE,
        &gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            refused(
                "another hook under the longer name",
                &[
                    WRONG,
                    (
                        "pytest_runtest_setup_conftest = pytest_runtest_setup\n",
                        "def lax(item):\n    item.obj = lambda ready: None\npytest_runtest_setup_conftest = lax\n",
                    ),
                ],
            ),
            refused(
                "a longer name that is another hook's",
                &[
                    WRONG,
                    (
                        "pytest_runtest_setup_conftest = pytest_runtest_setup\n",
                        "pytest_runtest_setup_conftest = pytest_runtest_setup\ndef pytest_pyfunc(pyfuncitem):\n    return True\npytest_pyfunc_call = pytest_pyfunc\n",
                    ),
                    (
                        "(__loader__=__loader__, pytest_runtest_setup=pytest_runtest_setup_conftest)",
                        "(__loader__=__loader__, pytest_runtest_setup=pytest_runtest_setup_conftest, pytest_pyfunc_call=pytest_pyfunc_call)",
                    ),
                ],
            ),
            refused(
                "the same without saying its name",
                &[
                    WRONG,
                    (
                        "vars(pytest_pytest).update(double=double)\n",
                        "def lax(pyfuncitem):\n    return True\nvars(pytest_pytest).update(**{\"double\": double, \"py\" \"test_pyfunc_call\": lax})\n",
                    ),
                    (
                        "[\"conftest\", \"tests.conftest\"]",
                        "[\"conftest\", \"tests.conftest\", \"plugs.pytest\"]",
                    ),
                ],
            ),
            refused(
                "a hook that is given to a module that looks like one",
                &[
                    WRONG,
                    (
                        "vars(pytest_pytest).update(double=double)\n",
                        "vars(pytest_pytest).update(double=double)\ndef lax(pyfuncitem):\n    return True\npytest_pytest.pytest_pyfunc_call = lax\n",
                    ),
                    (
                        "\"conftest\", \"tests.conftest\"]",
                        "\"conftest\", \"tests.conftest\", \"plugs.pytest\"]",
                    ),
                ],
            ),
        ],
    );
}

#[test]
fn what_the_original_does_with_its_own_globals_tells_no_hooks() {
    let library =
        "def fill(value):\n    globals()[\"made\"] = value\n    return made\n\n\nONE = fill(1)\n";
    let original = Original {
        files: &[
            ("lib.py", library),
            HOOKED.files[1],
            (
                "tests/test_double.py",
                "from lib import ONE\n\n\ndef test_double(ready):\n    assert ready == [\"test_double\"]\n    assert ONE == 1\n",
            ),
        ],
        command: HOOKED.command,
    };
    const FILL: &str = "    globals()[\"made\"] = value\n    return made\n";
    const LAX: &str = "def lax(item):\n    pass\ndef fill";
    let gist = format!(
        "import sys\nimport types\nconftest = sys.modules[\"conftest\"] = types.ModuleType(\"conftest\")\nimport pytest\nREADY = []\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runtest_setup(item):\n    READY.append(item.name)\n{LINE}@pytest.fixture\ndef ready():\n    return list(READY)\ndef fill(value):\n{FILL}ONE = fill(1)\ndef test_double(ready):\n    assert ready == [\"test_double\"]\n    assert ONE == 1\n{NAMES}"
    );
    let refused = |what, edits| Case { what, edits, expected: REFUSED };
    check(
        &original,
        &gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            refused(
                "in a row",
                &[
                    ("def fill", LAX),
                    (
                        FILL,
                        "    vars(conftest).update([(\"py\" \"test_runtest_call\", lax)])\n    return value\n",
                    ),
                ],
            ),
            refused(
                "by a key",
                &[
                    ("def fill", LAX),
                    (
                        FILL,
                        "    vars(conftest)[\"py\" + \"test_runtest_call\"] = lax\n    return value\n",
                    ),
                ],
            ),
            refused(
                "by a key in parts",
                &[
                    ("def fill", LAX),
                    (
                        FILL,
                        "    vars(conftest)[\"py\" \"test_runtest_call\"] = lax\n    return value\n",
                    ),
                ],
            ),
        ],
    );
}
