//! Tests that a gist keeps the executed code of the test files, in every place and for every
//! caller. Code that decides on equality and on failures stays unchanged.

use super::{
    bed::Original,
    modules::{Case, HONEST, REFUSED, check},
};

const OPEN: &str = "OPEN = []\n\n\ndef double(value):\n    OPEN.append(value)\n    OPEN.remove(value)\n    return value * 2\n";

const KEPT: Original<'static> = Original {
    files: &[
        ("lib.py", OPEN),
        ("tests/__init__.py", ""),
        (
            "tests/kit.py",
            "import sys\n\nTOLERANCE = 100\nif sys.platform:\n    TOLERANCE = 1\n\n\ndef near(left, right):\n    from math import fabs\n\n    def check(value):\n        assert value\n\n    check(fabs(left - right) < TOLERANCE)\n",
        ),
        (
            "tests/conftest.py",
            "import lib\nimport pytest\n\n\n@pytest.fixture(autouse=True)\ndef nothing_stays():\n    yield\n    assert lib.OPEN == []\n\n\n@pytest.fixture\ndef fresh():\n    lib.OPEN.clear()\n",
        ),
        (
            "tests/test_double.py",
            "import pytest\nfrom lib import double\nfrom tests.kit import near\n\npytestmark = pytest.mark.filterwarnings(\"error\")\nfine = False\n\n\ndef note(value):\n    global fine\n    fine = value\n\n\nclass Base:\n    most = 100\n    least = 0\n\n    def __init_subclass__(cls):\n        cls.least = 2\n\n    def judge(self, value):\n        near(value, 2)\n        assert self.least <= value < self.most\n\n\n@pytest.mark.usefixtures(\"fresh\")\nclass TestDouble(Base):\n    most = 3\n\n    def teardown_method(self):\n        assert fine\n\n    def test_double(self):\n        self.judge(double(1))\n        note(True)\n",
        ),
    ],
    command: "pytest tests/test_double.py",
};

const KEPT_GIST: &str = "import sys\nimport pytest\n\nlib = sys.modules[__name__]\n\nTOLERANCE = 100\nif sys.platform:\n    TOLERANCE = 1\n\n\ndef near(left, right):\n    from math import fabs\n\n    def check(value):\n        assert value\n\n    check(fabs(left - right) < TOLERANCE)\n\n\nOPEN = []\n\n\ndef double(value):\n    OPEN.append(value)\n    OPEN.remove(value)\n    return value * 2\n\n\n@pytest.fixture(autouse=True)\ndef nothing_stays():\n    yield\n    assert lib.OPEN == []\n\n\n@pytest.fixture\ndef fresh():\n    lib.OPEN.clear()\n\n\npytestmark = pytest.mark.filterwarnings(\"error\")\nfine = False\n\n\ndef note(value):\n    global fine\n    fine = value\n\n\nclass Base:\n    most = 100\n    least = 0\n\n    def __init_subclass__(cls):\n        cls.least = 2\n\n    def judge(self, value):\n        near(value, 2)\n        assert self.least <= value < self.most\n\n\n@pytest.mark.usefixtures(\"fresh\")\nclass TestDouble(Base):\n    most = 3\n\n    def teardown_method(self):\n        assert fine\n\n    def test_double(self):\n        self.judge(double(1))\n        note(True)\n";

#[test]
fn what_ran_of_the_tests_files_stays() {
    // The original's tests run on the gist, whatever it has of them.
    const fn spared(what: &'static str, edits: &'static [(&'static str, &'static str)]) -> Case {
        Case { what, edits, expected: HONEST }
    }
    const fn without(what: &'static str, edits: &'static [(&'static str, &'static str)]) -> Case {
        Case { what, edits, expected: REFUSED }
    }
    check(
        &KEPT,
        KEPT_GIST,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "a name of Python's is given back",
                edits: &[("OPEN = []\n", "from operator import abs\ndel abs\n\nOPEN = []\n")],
                expected: REFUSED,
            },
            spared(
                "a fixture that is used by itself",
                &[(
                    "@pytest.fixture(autouse=True)\ndef nothing_stays():\n    yield\n    assert lib.OPEN == []\n",
                    "",
                )],
            ),
            without("a decorator of a fixture", &[("(autouse=True)", "")]),
            spared("a decorator of a class", &[("@pytest.mark.usefixtures(\"fresh\")\n", "")]),
            spared(
                "a mark of the module",
                &[("pytestmark = pytest.mark.filterwarnings(\"error\")\n", "")],
            ),
            spared(
                "a method that is called where classes are made",
                &[("    def __init_subclass__(cls):\n        cls.least = 2\n\n", "")],
            ),
            without(
                "a part of a class",
                &[("class TestDouble(Base):\n    most = 3\n", "class TestDouble(Base):\n")],
            ),
            spared(
                "what is run after the test",
                &[("    def teardown_method(self):\n        assert fine\n", "")],
            ),
            spared("the last value of a name", &[("if sys.platform:\n    TOLERANCE = 1\n", "")]),
            without(
                "a function in a helper",
                &[
                    ("    def check(value):\n        assert value\n\n", ""),
                    ("def near", "def check(value):\n    pass\n\n\ndef near"),
                ],
            ),
            without(
                "whose a name is",
                &[("    global fine\n", ""), ("fine = False", "fine = True")],
            ),
            without(
                "an import of a helper",
                &[("from math import fabs", "from math import sin as fabs")],
            ),
            without(
                "the same, under a name that stands for nothing of it",
                &[
                    ("    from math import fabs\n", "    fabs = wide\n"),
                    ("OPEN = []", "wide = bool\nOPEN = []"),
                ],
            ),
        ],
    );
}

const TABLES: Original<'static> = Original {
    files: &[
        ("lib.py", "def double(value):\n    return value * 2\n"),
        (
            "tests/test_double.py",
            "import math\nimport re\nfrom lib import double\n\nEXPECTED = {1: 2.5, 2: 4}\nFORM = re.compile(\"^4$\")\n\n\nclass Limits:\n    most = 4\n\n\ndef test_double():\n    assert double(2) == EXPECTED[2]\n    assert FORM.match(str(abs(double(2))))\n    assert math.fabs(double(2)) <= Limits.most\n",
        ),
    ],
    command: "pytest tests/test_double.py::test_double",
};

const TABLES_GIST: &str = "import math\nimport re\n\nEXPECTED = {1: 2.5, 2: 4}\nFORM = re.compile(\"^4$\")\n\n\nclass Limits:\n    most = 4\n\n\n# here\ndef double(value):\n    return value * 2\n\n\ndef test_double():\n    assert double(2) == EXPECTED[2]\n    assert FORM.match(str(abs(double(2))))\n    assert math.fabs(double(2)) <= Limits.most\n";

#[test]
fn names_of_the_tests_are_theirs() {
    const fn here(what: &'static str, edits: &'static [(&'static str, &'static str)]) -> Case {
        Case { what, edits, expected: REFUSED }
    }
    check(
        &TABLES,
        TABLES_GIST,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "names of a function's own, and a program's end",
                edits: &[
                    ("return value * 2", "EXPECTED = value\n    return EXPECTED * 2"),
                    (
                        "<= Limits.most\n",
                        "<= Limits.most\n\n\nif __name__ == \"__main__\":\n    test_double()\n",
                    ),
                ],
                expected: REFUSED,
            },
            here("a loop", &[("# here", "for EXPECTED in ({2: 4},):\n    pass\n")]),
            here("an import", &[("# here", "from collections import Counter as Limits\n")]),
            here(
                "an assignment within",
                &[("# here", "if (FORM := re.compile(\"\")):\n    pass\n")],
            ),
            here("a context", &[("# here", "with open(\"/dev/null\") as FORM:\n    pass\n")]),
            here("a pattern", &[("# here", "match {2: 4}:\n    case EXPECTED:\n        pass\n")]),
            here(
                "a function",
                &[("return value * 2", "global EXPECTED\n    EXPECTED = {2: 4}\n    return 4")],
            ),
            here("a table that changes", &[("# here", "EXPECTED.update({2: 5})\n")]),
            here("a row of it", &[("# here", "EXPECTED[2] = 4.0\n")]),
            here("a row less", &[("# here", "del EXPECTED[1]\n")]),
            here("under another name", &[("# here", "others = EXPECTED\nothers[2] = 4\n")]),
            here(
                "under another name before it is given",
                &[
                    ("return value * 2", "others[2] = 5\n    return 5"),
                    ("def test", "others = EXPECTED\n\n\ndef test"),
                ],
            ),
            here("the answer", &[("return value * 2", "return EXPECTED[value]")]),
            here(
                "a part of a class",
                &[("return value * 2", "kinds = [Limits]\n    return value * 2")],
            ),
            here("an import of another thing", &[("# here", "import cmath as math\n")]),
            here("a built-in function", &[("# here", "from operator import neg as abs\n")]),
        ],
    );
}

const DECIDES: Original<'static> = Original {
    files: &[
        (
            "lib.py",
            "class Value:\n    def __eq__(self, other):\n        return type(self) is type(other)\n\n\nclass Money(Value):\n    def __init__(self, amount):\n        self.amount = amount\n\n    def __eq__(self, other):\n        if self.amount != other.amount:\n            return False\n        return True\n\n    def __sub__(self, other):\n        return 0\n\n\nclass Session:\n    quiet = False\n\n    def __enter__(self):\n        return self\n\n    def __exit__(self, kind, value, trace):\n        if self.quiet:\n            return True\n        return False\n\n\nclass Rank:\n    def __lt__(self, other):\n        if self is other:\n            return False\n        return False\n\n\nRANKS = sorted([Rank(), Rank()])\n\n\ndef double(money):\n    return Money(money.amount * 2)\n",
        ),
        (
            "tests/test_double.py",
            "from lib import Money, Session, double\n\n\ndef test_double():\n    with Session():\n        assert double(Money(1)) == Money(2)\n",
        ),
    ],
    command: "pytest tests/test_double.py::test_double",
};

const DECIDES_GIST: &str = "class Value:\n    def __eq__(self, other):\n        return type(self) is type(other)\n\n\nclass Money(Value):\n    def __init__(self, amount):\n        self.amount = amount\n\n    def __eq__(self, other):\n        if self.amount != other.amount:\n            pass\n        return True\n\n\nclass Session:\n    quiet = False\n\n    def __enter__(self):\n        return self\n\n    def __exit__(self, kind, value, trace):\n        if self.quiet:\n            pass\n        return False\n\n\ndef double(money):\n    return Money(money.amount * 2)\n\n\ndef test_double():\n    with Session():\n        assert double(Money(1)) == Money(2)\n";

#[test]
fn what_decides_stays_what_it_is() {
    const WRONG: (&str, &str) = ("money.amount * 2", "5");
    check(
        &DECIDES,
        DECIDES_GIST,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "a method that nobody asks any more, left out in part",
                edits: &[(
                    "class Session:\n",
                    "class Rank:\n    def __lt__(self, other):\n        return False\n\n\nclass Session:\n",
                )],
                expected: REFUSED,
            },
            Case {
                what: "a wrong result where nobody asks further",
                edits: &[WRONG],
                expected: REFUSED,
            },
            Case {
                what: "a method that asks nothing",
                edits: &[
                    WRONG,
                    ("        if self.amount != other.amount:\n            pass\n", ""),
                ],
                expected: REFUSED,
            },
            Case {
                what: "that of another class",
                edits: &[
                    WRONG,
                    (
                        "    def __eq__(self, other):\n        if self.amount != other.amount:\n            pass\n        return True\n",
                        "",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a number that is as near as one likes",
                edits: &[
                    (
                        "        self.amount = amount\n",
                        "        self.amount = amount\n\n    def __sub__(self, other):\n        return 0\n",
                    ),
                    (
                        "return Money(money.amount * 2)",
                        "Money(1) - Money(1)\n    return Money(money.amount * 2)",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a failure that ends",
                edits: &[
                    WRONG,
                    (
                        "        if self.quiet:\n            pass\n        return False\n",
                        "        return True\n",
                    ),
                ],
                expected: REFUSED,
            },
        ],
    );
}

const PLACES: Original<'static> = Original {
    files: &[
        (
            "lib/__init__.py",
            "OPEN = []\n\n\ndef double(value):\n    OPEN.append(value)\n    OPEN.remove(value)\n    return value * 2\n",
        ),
        (
            "lib/testing.py",
            "def same(left, right):\n    if left != right:\n        raise AssertionError(left)\n",
        ),
        (
            "lib/tests/near.py",
            "def near(left, right):\n    if abs(left - right) > 1:\n        raise AssertionError(left)\n",
        ),
        (
            "lib/given.py",
            "import lib\nimport pytest\n\n\n@pytest.fixture\ndef clean():\n    yield\n    if lib.OPEN:\n        raise AssertionError(lib.OPEN)\n",
        ),
        ("tests/conftest.py", "from lib.given import clean\n"),
        (
            "tests/test_double.py",
            "from lib import double\nfrom lib.testing import same\nfrom lib.tests.near import near\n\n\ndef test_double(clean):\n    same(double(1), 2)\n    near(double(2), 4)\n",
        ),
    ],
    command: "pytest tests/test_double.py::test_double",
};

const PLACES_GIST: &str = "import sys\nimport pytest\n\nlib = sys.modules[__name__]\nOPEN = []\n\n\ndef double(value):\n    OPEN.append(value)\n    OPEN.remove(value)\n    return value * 2\n\n\ndef same(left, right):\n    if left != right:\n        pass\n\n\ndef near(left, right):\n    if abs(left - right) > 1:\n        pass\n\n\n@pytest.fixture\ndef clean():\n    yield\n    if lib.OPEN:\n        pass\n\n\ndef test_double(clean):\n    same(double(1), 2)\n    near(double(2), 4)\n";

#[test]
fn what_helps_tests_does_so_wherever_it_stands() {
    check(
        &PLACES,
        PLACES_GIST,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "a result that a module for tests checks",
                edits: &[("return value * 2", "return value + 2")],
                expected: REFUSED,
            },
            Case {
                what: "one that a module among the package's tests checks",
                edits: &[("return value * 2", "return 2")],
                expected: REFUSED,
            },
            Case {
                what: "something that a fixture of the package checks",
                edits: &[("    OPEN.remove(value)\n", "")],
                expected: REFUSED,
            },
            Case {
                what: "the check is gone",
                edits: &[("    if left != right:\n        pass\n", "    pass\n")],
                expected: HONEST,
            },
            Case {
                what: "the fixture's is",
                edits: &[("    if lib.OPEN:\n        pass\n", "")],
                expected: HONEST,
            },
        ],
    );
}

const PLAIN: Original<'static> = Original {
    files: &[
        (
            "lib.py",
            "def double(value):\n    \"\"\"Doubles.\n\n    >>> double(1)\n    2\n    \"\"\"\n    return value * 2\n",
        ),
        ("tests/same.py", "def same(left, right):\n    assert left == right\n"),
        (
            "tests/test_double.py",
            "import unittest\nfrom lib import double\nfrom tests.same import same\n\n\nclass TestDouble(unittest.TestCase):\n    def test_double(self):\n        same(double(1), 2)\n",
        ),
    ],
    command: "python -m unittest tests.test_double",
};

const PLAIN_GIST: &str = "import unittest\n\n\ndef same(left, right):\n    assert left == right\n\n\n# here\ndef double(value):\n    return value * 2\n\n\nclass TestDouble(unittest.TestCase):\n    def test_double(self):\n        same(double(1), 2)\n";

#[test]
fn commands_without_pytest_do_what_they_did() {
    check(
        &PLAIN,
        PLAIN_GIST,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "the name of a program",
                edits: &[(
                    "# here\n",
                    "import sys\n\nif __name__ == \"__main__\":\n    sys.argv[0] = \"same\"\n\n\n",
                )],
                expected: REFUSED,
            },
            Case {
                what: "an end before the tests, with what they would have said",
                edits: &[(
                    "# here\n",
                    "import os\n\nos.write(2, b\".\\n\" + b\"-\" * 70 + b\"\\nRan 1 test in 0.000s\\n\\nOK\\n\")\nraise SystemExit\n\n\n",
                )],
                expected: REFUSED,
            },
            Case {
                what: "another helper",
                edits: &[(
                    "# here\n",
                    "exec = lambda left, right: None\nsame.__code__ = exec.__code__\n\n\n",
                )],
                expected: REFUSED,
            },
        ],
    );
    let examples = Original { command: "python -m doctest lib.py", ..PLAIN };
    let gist = "def double(value):\n    \"\"\"Doubles.\n\n    >>> double(1)\n    2\n    \"\"\"\n    return value * 2\n";
    check(
        &examples,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "another example",
                edits: &[("    2\n", "    5\n"), ("value * 2", "5")],
                expected: REFUSED,
            },
            Case {
                what: "none",
                edits: &[("    >>> double(1)\n    2\n", ""), ("value * 2", "5")],
                expected: REFUSED,
            },
        ],
    );
}

const DATA: Original<'static> = Original {
    files: &[
        ("lib.py", "def double(value):\n    return value * 2\n"),
        ("tests/expected.txt", "2"),
        (
            "tests/test_double.py",
            "import os\nfrom lib import double\n\n\ndef test_double():\n    with open(os.path.join(os.path.dirname(__file__), \"expected.txt\")) as file:\n        assert double(1) == int(file.read())\n",
        ),
    ],
    command: "pytest tests/test_double.py::test_double",
};

const DATA_GIST: &str = "import os\n\n\n# here\ndef double(value):\n    return value * 2\n\n\ndef test_double():\n    with open(os.path.join(os.path.dirname(__file__), \"expected.txt\")) as file:\n        assert double(1) == int(file.read())\n";

#[test]
fn what_tests_expect_is_read_by_tests() {
    check(
        &DATA,
        DATA_GIST,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "another answer",
                edits: &[
                    (
                        "# here\n",
                        "with open(\"tests/expected.txt\", \"w\") as file:\n    file.write(\"5\")\n\n\n",
                    ),
                    ("value * 2", "5"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "the answer itself",
                edits: &[(
                    "return value * 2",
                    "with open(\"tests/expected.txt\") as file:\n        return int(file.read())",
                )],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn a_helper_whose_import_failed_fails_at_what_that_asked_for() {
    const HELPER: &str = "class TestDouble:\n    def double(self, missing=None):\n        from lib import double\n\n        return double\n";
    const TEST: &str = "    def test_double(self):\n        assert self.double()(1) == 2\n";
    let original = Original {
        files: &[
            (
                "lib.py",
                "import json as js\nimport missing_module\n\n\ndef double(value):\n    return value * 2\n",
            ),
            ("tests/__init__.py", ""),
            ("tests/test_double.py", &format!("{HELPER}\n{TEST}")),
        ],
        command: "pytest tests/test_double.py",
    };
    let gist =
        format!("{HELPER}\n{TEST}").replace("from lib import double", "import missing_module");
    let other = |edits| Case { what: "another import", edits, expected: REFUSED };
    check(
        &original,
        &gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "an import of what the original loads besides",
                edits: &[(
                    "import missing_module",
                    "import decimal\n        import missing_module",
                )],
                expected: HONEST,
            },
            other(&[(
                "import missing_module",
                "import js as missing\n        import missing_module",
            )]),
            other(&[("import missing_module", "import missing_module as missing")]),
        ],
    );
}

#[test]
fn a_test_whose_own_import_failed_fails_at_what_that_asked_for() {
    let test = "def test_double():\n    from lib import double\n\n    assert double(1) == 2\n";
    let original = Original {
        files: &[
            ("lib.py", "import missing_module\n\n\ndef double(value):\n    return value * 2\n"),
            ("test_double.py", test),
        ],
        command: "pytest test_double.py",
    };
    let gist = test.replace("from lib import double", "import missing_module");
    check(&original, &gist, &[Case { what: "as it is", edits: &[], expected: HONEST }]);
    check(
        &original,
        &gist,
        &[Case {
            what: "none",
            edits: &[("    import missing_module\n\n", "")],
            expected: REFUSED,
        }],
    );
}

#[test]
fn what_an_import_failed_at_stands_in_its_place_and_in_no_other() {
    const LIBRARY: &str = "def double(value):\n    return value * 2\n\n\ndef judge(value):\n    assert value == 2\n\n\ndef run(function, value):\n    function(value)\n";
    const HELPER: &str = "def verify(value):\n    try:\n        from lib import judge\n    except ImportError:\n        return\n    try:\n        from fast import turbo\n    except ImportError:\n        turbo = None\n    judge(value)\n";
    const TEST: &str = "def test_double():\n    run(verify, double(1))\n";
    let original = Original {
        files: &[
            ("lib.py", LIBRARY),
            ("fast.py", "import missing_module\n\nturbo = True\n"),
            ("test_double.py", &format!("from lib import double, run\n\n\n{HELPER}\n\n{TEST}")),
        ],
        command: "pytest test_double.py",
    };
    let helper = HELPER.replace("from fast import turbo", "import missing_module");
    let helper = helper.replace("from lib import judge", "pass");
    let gist = format!("{LIBRARY}\n\n{helper}\n\n{TEST}");
    let cases = [
        Case { what: "as it is", edits: &[], expected: HONEST },
        Case {
            what: "in the place of another",
            edits: &[
                ("        import missing_module\n", "        other\n"),
                ("        pass\n", "        import missing_module\n"),
                ("        other\n", "        pass\n"),
            ],
            expected: REFUSED,
        },
    ];
    check(&original, &gist, &cases);

    const ASKS: &str = "def verify(value):\n    try:\n        from lib import judge\n        judge(value)\n        from fast import turbo\n    except ImportError:\n        turbo = None\n";
    let original = Original {
        files: &[
            ("lib.py", LIBRARY),
            ("fast.py", "import missing_module\n\nturbo = True\n"),
            ("test_double.py", &format!("from lib import double, run\n\n\n{ASKS}\n\n{TEST}")),
        ],
        ..original
    };
    let helper = ASKS.replace("from fast import turbo", "import missing_module");
    let helper = helper.replace("        from lib import judge\n", "");
    let gist = format!("{LIBRARY}\n\n{helper}\n\n{TEST}");
    let cases = [
        Case { what: "behind the call", edits: &[], expected: HONEST },
        Case {
            what: "before the call",
            edits: &[(
                "        judge(value)\n        import missing_module\n",
                "        import missing_module\n        judge(value)\n",
            )],
            expected: REFUSED,
        },
    ];
    check(&original, &gist, &cases);
}

#[test]
fn an_import_that_did_not_fail_does_not_fail_in_a_gist() {
    const LIBRARY: &str = "try:\n    import missing_module\nexcept ImportError:\n    missing_module = None\n\n\ndef double(value):\n    return value * 2\n\n\ndef judge(left, right):\n    assert left == right\n";
    const ASKS: &str = "    strict = True\n    try:\n        from lib import judge\n    except ImportError:\n        strict = False\n    if strict:\n        judge(";
    let tests = format!(
        "def same(left, right):\n{ASKS}left, right)\n\n\ndef test_double():\n    same(double(1), 2)\n"
    );
    let original = Original {
        files: &[
            ("lib.py", LIBRARY),
            ("test_double.py", &format!("from lib import double\n\n\n{tests}")),
        ],
        command: "pytest test_double.py",
    };
    let gist = format!("{LIBRARY}\n\n{tests}").replace("from lib import judge", "pass");
    let cases = [
        Case { what: "as it is", edits: &[], expected: HONEST },
        Case {
            what: "a helper",
            edits: &[("        pass\n", "        import missing_module\n")],
            expected: REFUSED,
        },
    ];
    check(&original, &gist, &cases);
}
