//! What helps the tests of a gist does what it does in the original, in whatever way it was kept from that.

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
            "import math\n\nTOLERANCE = 1\n\n\ndef near(left, right):\n    check(math.fabs(left - right) < TOLERANCE)\n\n\ndef check(value):\n    if value:\n        return\n    raise AssertionError(\"too far away\")\n",
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
    const FAILS: &str = "fidelity 0, run-time error";
    check(
        &HELPED,
        GIST,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "a wrong result, with what would say so left out",
                edits: &[WRONG],
                expected: FAILS,
            },
            Case {
                what: "the same, and something that does nothing instead",
                edits: &[WRONG, ("        return\n", "        return\n    pass\n")],
                expected: FAILS,
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
