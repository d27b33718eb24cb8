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
