//! Classes and functions that are told of which module they are: of the one that defines them, and of no other.

use super::{
    bed::Original,
    modules::{Case, HONEST, REFUSED, check},
};

const NAMED: Original<'static> = Original {
    files: &[
        ("pkg/__init__.py", ""),
        (
            "pkg/lib.py",
            "class Point:\n    pass\n\n\ndef home(thing):\n    return thing.__module__\n",
        ),
        ("pkg/other.py", "def point():\n    return 1\n"),
        ("pkg/json.py", "class Held(dict):\n    pass\n"),
        ("tests/__init__.py", "class Mark:\n    pass\n"),
        (
            "tests/test_home.py",
            "from pkg.lib import Point, home\n\nfrom . import Mark\n\n\ndef test_home():\n    assert home(Point) == \"pkg.lib\"\n    assert home(Mark) == \"tests\"\n",
        ),
    ],
    command: "pytest tests/test_home.py::test_home",
};

const GIST: &str = "class Point:\n    pass\nPoint.__module__ = \"pkg.lib\"\nclass Mark:\n    pass\nMark.__module__ = \"tests\"\ndef home(thing):\n    return thing.__module__\ndef test_home():\n    assert home(Point) == \"pkg.lib\"\n    assert home(Mark) == \"tests\"\n";

const POINT: &str = "Point.__module__ = \"pkg.lib\"\n";

#[test]
fn only_the_module_of_a_definition_is_told() {
    check(
        &NAMED,
        GIST,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "in the body",
                edits: &[
                    (POINT, ""),
                    ("    pass\nclass Mark", "    __module__ = \"pkg.lib\"\nclass Mark"),
                ],
                expected: HONEST,
            },
            Case {
                what: "in the body of one of the tests'",
                edits: &[(
                    "class Mark:\n    pass",
                    "class Mark:\n    __module__ = \"tests\"\n    pass",
                )],
                expected: HONEST,
            },
            Case {
                what: "in the body, of another module",
                edits: &[("class Mark:\n    pass", "class Mark:\n    __module__ = \"pkg.lib\"")],
                expected: REFUSED,
            },
            Case {
                what: "in the body, another name besides",
                edits: &[(
                    "class Mark:\n    pass",
                    "class Mark:\n    __module__ = __qualname__ = \"tests\"",
                )],
                expected: REFUSED,
            },
            Case { what: "untold", edits: &[(POINT, "")], expected: "fidelity 0, run-time error" },
            Case {
                what: "of another module",
                edits: &[(POINT, "Point.__module__ = \"pkg.other\"\n")],
                expected: REFUSED,
            },
            Case {
                what: "of a module from outside that has the name of one",
                edits: &[(
                    "class Mark",
                    "class Held(dict):\n    __module__ = \"json\"\nclass Mark",
                )],
                expected: REFUSED,
            },
            Case {
                what: "of the one that has that name",
                edits: &[(
                    "class Mark",
                    "class Held(dict):\n    __module__ = \"pkg.json\"\nclass Mark",
                )],
                expected: REFUSED,
            },
            Case {
                what: "of a name that is computed",
                edits: &[(POINT, "Point.__module__ = \"pkg.\" + \"lib\"\n")],
                expected: REFUSED,
            },
            Case {
                what: "two at once",
                edits: &[(POINT, "Point.__module__ = home.__module__ = \"pkg.lib\"\n")],
                expected: REFUSED,
            },
            Case {
                what: "another part",
                edits: &[(POINT, "Point.__module__ = Point.__name__ = \"pkg.lib\"\n")],
                expected: REFUSED,
            },
        ],
    );
}

const HELD: Original<'static> = Original {
    files: &[
        (
            "lib.py",
            "import unittest\n\n\nclass Base(unittest.TestCase):\n    def double(self, value):\n        return value * 2\n\n\nclass Case:\n    def __init__(self, value, expected):\n        self.value = value\n        self.expected = expected\n",
        ),
        (
            "tests/test_held.py",
            "import pytest\nfrom lib import Base, Case\n\n\nclass TestHeld(Base):\n    def test_double(self):\n        self.assertEqual(self.double(2), 4)\n\n\n@pytest.mark.parametrize('case', [Case(2, 4)])\ndef test_case(case):\n    assert case.value * 2 == case.expected\n",
        ),
    ],
    command: "pytest tests/test_held.py",
};

#[test]
fn a_class_that_is_told_its_module_is_looked_into_as_any_other() {
    let gist = "import pytest\nimport unittest\nclass Base(unittest.TestCase):\n    __module__ = \"lib\"\n    def double(self, value):\n        return value * 2\nclass Case:\n    __module__ = \"lib\"\n    def __init__(self, value, expected):\n        self.value = value\n        self.expected = expected\nclass TestHeld(Base):\n    def test_double(self):\n        self.assertEqual(self.double(2), 4)\n@pytest.mark.parametrize('case', [Case(2, 4)])\ndef test_case(case):\n    assert case.value * 2 == case.expected\n";
    const LAX: (&str, &str) = ("value * 2\nclass Case", "value * 3\nclass Case");
    check(
        &HELD,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "another part of a base",
                edits: &[("    def double", "    assertEqual = max\n    def double"), LAX],
                expected: REFUSED,
            },
            Case {
                what: "another part of a base, told later",
                edits: &[
                    (
                        "    __module__ = \"lib\"\n    def double",
                        "    assertEqual = max\n    def double",
                    ),
                    LAX,
                    ("class Case:", "Base.__module__ = \"lib\"\nclass Case:"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "another part of a base, told of a module that is made",
                edits: &[
                    (
                        "import unittest\n",
                        "import sys\nimport types\nimport unittest\nsys.modules[\"lib\"] = types.ModuleType(\"lib\")\n",
                    ),
                    (
                        "class Base(unittest.TestCase):\n    __module__ = \"lib\"\n",
                        "class Lower:\n    def double(self, value):\n        return value * 3\nclass Base(Lower, unittest.TestCase):\n    __module__ = \"lib\"\n    assertEqual = max\nclass Other:\n",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "another field of a parameter",
                edits: &[
                    ("self.value = value", "self.value = value + 1"),
                    ("self.expected = expected", "self.expected = expected + 2"),
                ],
                expected: REFUSED,
            },
        ],
    );
}

const LENT: Original<'static> = Original {
    files: &[
        ("lib.py", "def double(value):\n    return value * 2\n"),
        ("tests/__init__.py", ""),
        (
            "tests/helper.py",
            "from operator import eq\n\n\ndef same(left, right):\n    assert eq(left, right)\n\n\ndef twice(value):\n    from lib import double as eq\n    return eq(value)\n",
        ),
        (
            "tests/test_lent.py",
            "from lib import double\nfrom tests.helper import same\n\n\ndef test_double():\n    same(double(2), 4)\n",
        ),
    ],
    command: "pytest tests/test_lent.py::test_double",
};

#[test]
fn a_helper_imports_nothing_of_the_gists_by_a_name_from_outside() {
    let gist = "from operator import eq\ndef double(value):\n    return value * 2\ndef same(left, right):\n    assert eq(left, right)\ndef test_double():\n    same(double(2), 4)\n";
    const LAX: (&str, &str) = (
        "def double(value):\n    return value * 2",
        "import sys\nlib = sys.modules[\"lib\"] = sys.modules[__name__]\ndef lax(left, right):\n    return True\ndef double(value):\n    return value * 3",
    );
    check(
        &LENT,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "in the helper",
                edits: &[LAX, ("    assert eq", "    from lib import lax as eq\n    assert eq")],
                expected: REFUSED,
            },
            Case {
                what: "in the helper of which another function imports something by that name",
                edits: &[
                    LAX,
                    ("    assert eq", "    from lib import lax as eq\n    assert eq"),
                    (
                        "def test_double",
                        "def twice(value):\n    from lib import double as eq\n    return eq(value)\ndef test_double",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a function of the same name",
                edits: &[
                    LAX,
                    ("def lax", "def eq"),
                    ("from operator import eq\n", ""),
                    ("    assert eq", "    from lib import eq\n    assert eq"),
                ],
                expected: REFUSED,
            },
        ],
    );
}
