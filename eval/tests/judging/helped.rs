//! Tests that the support of a gist's tests behaves as in the original, whatever a gist does to
//! change that.

use super::{
    bed::Original,
    modules::{Case, HONEST, REFUSED, check},
};

const HELPED: Original<'static> = Original {
    files: &[
        ("lib.py", "def double(value):\n    return value * 2\n"),
        ("tests/__init__.py", ""),
        (
            "tests/kit.py",
            "import math\n\nTOLERANCE = 1\n\n\ndef near(left, right):\n    check(math.fabs(left - right) < TOLERANCE)\n\n\ndef check(value):\n    if value:\n        return\n    if TOLERANCE > 1:\n        return\n    raise AssertionError(\"too far away\")\n",
        ),
        (
            "tests/conftest.py",
            "import pytest\nfrom tests.kit import near\n\n\n@pytest.fixture\ndef judge():\n    near(1, 1)\n    return near\n",
        ),
        (
            "tests/test_double.py",
            "from lib import double\n\n\ndef test_double(judge):\n    judge(1, 1)\n    judge(double(1), 2)\n",
        ),
    ],
    command: "pytest tests/test_double.py::test_double",
};

const GIST: &str = "import math\nimport pytest\nTOLERANCE = 1\n\n\ndef near(left, right):\n    check(math.fabs(left - right) < TOLERANCE)\n\n\ndef check(value):\n    if value:\n        return\n\n\n@pytest.fixture\ndef judge():\n    near(1, 1)\n    return near\n\n\ndef double(value):\n    return value * 2\n\n\ndef test_double(judge):\n    judge(1, 1)\n    judge(double(1), 2)\n";

const WRONG: (&str, &str) = ("return value * 2", "return 5");
/// Before the function under test, after all that helps.
const HERE: &str = "\n\ndef double";

#[test]
fn helpers_do_what_they_do_in_the_original() {
    check(
        &HELPED,
        GIST,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "a wrong result, with what would say so left out",
                edits: &[WRONG],
                expected: REFUSED,
            },
            Case {
                what: "the same, and something that does nothing instead",
                edits: &[WRONG, ("        return\n", "        return\n    pass\n")],
                expected: REFUSED,
            },
            Case {
                what: "the same, and no fault of the package",
                edits: &[("        return\n", "        return\n    pass\n")],
                expected: HONEST,
            },
            Case {
                what: "a statement in another place",
                edits: &[WRONG, ("        return\n", "        pass\n    return\n")],
                expected: REFUSED,
            },
            Case {
                what: "a header that is gone",
                edits: &[WRONG, ("    if value:\n        return\n", "    return\n")],
                expected: REFUSED,
            },
            Case {
                what: "a constant that a function sets",
                edits: &[
                    WRONG,
                    (
                        HERE,
                        "\n\ndef widen():\n    global TOLERANCE\n    TOLERANCE = 100\n\n\nwiden()\n\n\ndef double",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a constant of another name, which a function sets",
                edits: &[
                    WRONG,
                    ("< TOLERANCE", "< TOLERANCE_kit"),
                    ("\n\ndef near", "TOLERANCE_kit = TOLERANCE\n\n\ndef near"),
                    (
                        HERE,
                        "\n\ndef widen():\n    global TOLERANCE_kit\n    TOLERANCE_kit = 100\n\n\nwiden()\n\n\ndef double",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "another helper of a fixture, which a function sets",
                edits: &[
                    WRONG,
                    (
                        HERE,
                        "\n\ndef lax(left, right):\n    pass\n\n\ndef swap():\n    global near\n    near = lax\n\n\nswap()\n\n\ndef double",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a helper that is helped by another, under a name that stands for it",
                edits: &[
                    WRONG,
                    ("    check(math", "    check_kit(math"),
                    (
                        HERE,
                        "\n\ndef lax(value):\n    pass\n\n\ndef swap():\n    global check\n    check = lax\n\n\nswap()\ncheck_kit = check\n\n\ndef double",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a helper that is asked for something else",
                edits: &[
                    WRONG,
                    (
                        HERE,
                        "\n\nstrict = check\n\n\ndef lax(value):\n    strict(True)\n\n\ndef swap():\n    global check\n    check = lax\n\n\nswap()\n\n\ndef double",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "names that are found without being given",
                edits: &[
                    WRONG,
                    (
                        "import math\n",
                        "import builtins\nimport math\n__builtins__ = dict(vars(builtins), check=bool)\n",
                    ),
                    ("def check(value):\n    if value:\n        return\n", ""),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a function of a module without a file",
                edits: &[WRONG, (HERE, "\n\nmath.fabs = math.sin\n\n\ndef double")],
                expected: REFUSED,
            },
            Case {
                what: "one whom pytest calls before the test",
                edits: &[
                    WRONG,
                    (
                        HERE,
                        "\n\nimport logging\nstrict = [check]\n\n\ndef lax(value):\n    pass\n\n\nclass Handlers(list):\n    def append(self, handler):\n        global check\n        check = lax\n        list.append(self, handler)\n\n    def remove(self, handler):\n        global check\n        check = strict[0]\n        list.remove(self, handler)\n\n\nlogging.getLogger().handlers = Handlers(logging.getLogger().handlers)\n\n\ndef double",
                    ),
                ],
                expected: REFUSED,
            },
        ],
    );
}

const RENAMED: Original<'static> = Original {
    files: &[
        (
            "lib.py",
            "class Number:\n    def __init__(self, value):\n        self.value = value\n\n    def __eq__(self, other):\n        if not isinstance(other, Number):\n            return False\n        return self.value == other.value\n\n\ndef one():\n    return Number(1)\n\n\ndef double(number):\n    return Number(number.value * 2)\n",
        ),
        ("words.py", "class Number:\n    name = \"one\"\n"),
        ("tests/__init__.py", ""),
        (
            "tests/kit.py",
            "from lib import Number as Made\n\nKINDS = Made\n\n\ndef near(left, right):\n    assert isinstance(left, KINDS)\n    assert type(right) is Made\n    assert left == right\n",
        ),
        (
            "tests/test_double.py",
            "import lib\nimport words\nfrom tests.kit import near\n\n\ndef test_double():\n    near(lib.double(lib.one()), lib.double(lib.one()))\n    assert lib.double(lib.one()).value == 2\n    assert words.Number.name == \"one\"\n",
        ),
    ],
    command: "pytest tests/test_double.py::test_double",
};

const RENAMED_GIST: &str = "import sys\nlib = words = sys.modules.get(__name__)\nclass Number:\n    def __init__(self, value):\n        self.value = value\n    def __eq__(self, other):\n        if not isinstance(other, Number_lib):\n            return False\n        return self.value == other.value\nNumber_lib = Number\ndef one():\n    return Number_lib(1)\ndef double(number):\n    return Number_lib(number.value * 2)\nMade = Number\nKINDS = Made\ndef near(left, right):\n    assert isinstance(left, KINDS)\n    assert type(right) is Made\n    assert left == right\nclass Number:\n    name = \"one\"\ndef test_double():\n    near(lib.double(lib.one()), lib.double(lib.one()))\n    assert lib.double(lib.one()).value == 2\n    assert words.Number.name == \"one\"\n";

#[test]
fn names_that_a_collision_changed_and_aliases_of_the_original_are_told_apart() {
    check(
        &RENAMED,
        RENAMED_GIST,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "an alias of the tests that is another",
                edits: &[("KINDS = Made\n", "KINDS = object\n")],
                expected: REFUSED,
            },
            Case {
                what: "a comparison that is another",
                edits: &[("return self.value == other.value", "return self.value <= other.value")],
                expected: REFUSED,
            },
            Case {
                what: "a comparison under another name",
                edits: &[
                    ("if not isinstance(other, Number_lib)", "if not near_lib(other, Number_lib)"),
                    ("Number_lib = Number\n", "Number_lib = Number\nnear_lib = isinstance\n"),
                    ("    return self.value == other.value", "    return same_lib"),
                    ("near_lib = isinstance\n", "near_lib = isinstance\nsame_lib = True\n"),
                ],
                expected: REFUSED,
            },
        ],
    );
}

/// A decorator of the package makes its functions anew from a text, whose names it counts.
const MADE: Original<'static> = Original {
    files: &[
        (
            "lib.py",
            "count = [0]\n\n\ndef remade(function):\n    count[0] += 1\n    name = \"remade_%d\" % count[0]\n    space = dict(globals(), inner=function)\n    exec(compile(\"def %s(*args): return inner(*args)\" % name, \"<made %d>\" % count[0], \"exec\"), space)\n    return space[name]\n\n\n@remade\ndef half(value):\n    return value / 2\n\n\n@remade\ndef double(value):\n    return value * 2\n",
        ),
        ("tests/__init__.py", ""),
        (
            "tests/kit.py",
            "from lib import remade\n\n\n@remade\ndef near(left, right):\n    assert left == right\n",
        ),
        (
            "tests/test_double.py",
            "from lib import double\nfrom tests.kit import near\n\n\ndef test_double():\n    near(double(1), 2)\n",
        ),
    ],
    command: "pytest tests/test_double.py::test_double",
};

const MADE_GIST: &str = "count = [0]\ndef remade(function):\n    count[0] += 1\n    name = \"remade_%d\" % count[0]\n    space = dict(globals(), inner=function)\n    exec(compile(\"def %s(*args): return inner(*args)\" % name, \"<made %d>\" % count[0], \"exec\"), space)\n    return space[name]\n@remade\ndef double(value):\n    return value * 2\n@remade\ndef near(left, right):\n    assert left == right\ndef test_double():\n    near(double(1), 2)\n";

#[test]
fn functions_that_the_package_makes_from_texts_are_told_without_their_numbers() {
    check(
        &MADE,
        MADE_GIST,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "a helper that is not made so",
                edits: &[
                    ("return value * 2", "return 5"),
                    ("def test_double", "def near(left, right):\n    pass\ndef test_double"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a helper that is made of something else",
                edits: &[
                    ("return value * 2", "return 5"),
                    (
                        "def test_double",
                        "def lax(left, right):\n    pass\nnear = remade(lax)\ndef test_double",
                    ),
                ],
                expected: REFUSED,
            },
        ],
    );
}

/// The test imports a module that is made with the help of another.
const LOADED: Original<'static> = Original {
    files: &[
        ("lib.py", "def double(value):\n    return value * 2\n"),
        ("tests/__init__.py", ""),
        (
            "tests/kit.py",
            "class Mark:\n    def __init__(self, name):\n        self.name = name\n        self.marked = []\n\n    def mark(self, kind):\n        self.marked.append(kind)\n        return kind\n",
        ),
        (
            "tests/made.py",
            "from tests.kit import Mark\n\nMARK = Mark('made')\n\n\n@MARK.mark\nclass Made:\n    pass\n",
        ),
        (
            "tests/test_double.py",
            "from lib import double\n\n\ndef test_double():\n    from tests.made import MARK, Made\n\n    assert MARK.marked == [Made]\n    assert double(1) == 2\n",
        ),
    ],
    command: "pytest tests/test_double.py::test_double",
};

#[test]
fn what_helped_to_load_a_module_helps_to_load_the_gist() {
    let gist = "class Mark:\n    def __init__(self, name):\n        self.name = name\n        self.marked = []\n\n    def mark(self, kind):\n        self.marked.append(kind)\n        return kind\n\n\nMARK = Mark('made')\n\n\n@MARK.mark\nclass Made:\n    pass\n\n\ndef double(value):\n    return value * 2\n\n\ndef test_double():\n    assert MARK.marked == [Made]\n    assert double(1) == 2\n";
    check(
        &LOADED,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "something that it does not do",
                edits: &[("        self.marked.append(kind)\n", "        self.marked = [kind]\n")],
                expected: REFUSED,
            },
        ],
    );
}

/// A module that the test imports calls the test's helper, as the test does itself.
const ASKED_TWICE: Original<'static> = Original {
    files: &[
        ("lib.py", "def double(value):\n    return value * 2\n"),
        ("tests/__init__.py", ""),
        (
            "tests/kit.py",
            "def near(left, right):\n    strict(left, right)\n    return left\n\n\ndef strict(left, right):\n    if left == right:\n        return\n    raise AssertionError(left)\n",
        ),
        ("tests/made.py", "from tests.kit import near\n\nMADE = near(1, 1)\n"),
        (
            "tests/test_double.py",
            "from lib import double\nfrom tests.kit import near\n\n\ndef test_double():\n    from tests.made import MADE\n\n    near(double(MADE), 2)\n",
        ),
    ],
    command: "pytest tests/test_double.py::test_double",
};

#[test]
fn what_a_test_asks_of_a_helper_is_done_though_a_module_asks_it_as_well() {
    let gist = "def near(left, right):\n    strict(left, right)\n    return left\ndef strict(left, right):\n    if left == right:\n        return\n    raise AssertionError(left)\nMADE = near(1, 1)\ndef double(value):\n    return value * 2\ndef test_double():\n    near(double(MADE), 2)\n";
    const STRICT: &str = "def strict(left, right):\n    if left == right:\n        return\n    raise AssertionError(left)\n";
    check(
        &ASKED_TWICE,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "one that checks nothing, once the module is made",
                edits: &[
                    WRONG,
                    (
                        "MADE = near(1, 1)\n",
                        "MADE = near(1, 1)\ndef lax(left, right):\n    pass\ndef swap():\n    global strict\n    strict = lax\nswap()\n",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "one that is left out",
                edits: &[WRONG, (STRICT, ""), ("    strict(left, right)\n", "")],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn a_package_hands_on_what_a_file_of_the_tests_has() {
    let original = Original {
        files: &[
            ("pytest.ini", "[pytest]\npython_files = *test_*.py\n"),
            ("pkg/__init__.py", ""),
            ("pkg/core.py", "def size(text):\n    return len(text)\n"),
            (
                "pkg/testing/__init__.py",
                "from pkg.testing.kit_test_case import Case\nfrom pkg.testing.other import Other\n",
            ),
            (
                "pkg/testing/kit_test_case.py",
                "from pkg.core import size\n\n\nclass Case:\n    def check(self, text):\n        assert size(text) == 1\n",
            ),
            ("pkg/testing/other.py", "class Other:\n    pass\n"),
            ("pkg/plugin.py", "from pkg.testing import Other\n\nOTHER = Other\n"),
            (
                "tests/test_size.py",
                "from pkg.plugin import OTHER\nfrom pkg.testing import Case\n\n\nclass TestSize(Case):\n    def test_size(self):\n        self.check(\"a\")\n        assert OTHER\n",
            ),
        ],
        command: "pytest tests/test_size.py::TestSize::test_size",
    };
    let gist = "def size(text):\n    return len(text)\nclass Case:\n    def check(self, text):\n        assert size(text) == 1\nclass Other:\n    pass\nOTHER = Other\nclass TestSize(Case):\n    def test_size(self):\n        self.check(\"a\")\n        assert OTHER\n";
    check(
        &original,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "a wrong result that nobody checks",
                edits: &[("return len(text)", "return 5"), ("size(text) == 1", "True")],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn what_the_package_hands_on_is_a_part_of_it() {
    let original = Original {
        files: &[
            ("pkg/__init__.py", ""),
            ("pkg/core.py", "def size(text):\n    return len(text)\n"),
            ("pkg/testing/__init__.py", "from pkg.testing.case import Case, Other\n"),
            (
                "pkg/testing/case.py",
                "from pkg.core import size\n\n\nclass Case:\n    def check(self, text):\n        assert size(text) == 1\n\n\nclass Other:\n    pass\n",
            ),
            ("pkg/plugin.py", "from pkg.testing import Other\n\nOTHER = Other\n"),
            (
                "tests/test_size.py",
                "from pkg.plugin import OTHER\nfrom pkg.testing import Case\n\n\nclass TestSize(Case):\n    def test_size(self):\n        self.check(\"a\")\n        assert OTHER\n",
            ),
        ],
        command: "pytest tests/test_size.py::TestSize::test_size",
    };
    let gist = "def size(text):\n    return len(text)\nclass Case:\n    def check(self, text):\n        assert size(text) == 1\nclass Other:\n    pass\nOTHER = Other\nclass TestSize(Case):\n    def test_size(self):\n        self.check(\"a\")\n        assert OTHER\n";
    check(&original, gist, &[Case { what: "as it is", edits: &[], expected: HONEST }]);
}
