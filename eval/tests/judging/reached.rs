//! Tests the objects through which tests reach their support, however a gist created them: they are
//! checked while the tests run.

use super::{
    bed::Original,
    modules::{Case, HONEST, REFUSED, SAME, check},
};

#[test]
fn what_stands_for_a_module_of_the_tests_is_looked_at_when_they_run() {
    for (what, gist) in [
        (
            "a name that is taken for the modules by its spelling",
            "class Lax:\n    def same(left, right):\n        pass\n\n\nclass Fake:\n    modules = {__name__: Lax}\n\n\nsys = Fake\nsame = sys.modules[__name__]\n\n\ndef double(value):\n    return 5\n\n\ndef test_double():\n    same.same(double(1), 2)\n",
        ),
        (
            "a name that the head of a function gives",
            "class Lax:\n    def same(left, right):\n        pass\n\n\ndef kinds(kind=(same := Lax)):\n    return kind\n\n\ndef double(value):\n    return 5\n\n\ndef test_double():\n    same.same(double(1), 2)\n",
        ),
        (
            "an earlier test that is called by the gist itself",
            "class Lax:\n    def same(left, right):\n        pass\n\n\ndef double(value):\n    return 5\n\n\ndef test_double():\n    global same\n    same = Lax\n\n\ntest_double()\n\n\ndef test_double():\n    same.same(double(1), 2)\n",
        ),
        (
            "a helper that compares what is the gist's own",
            "import types\nsame = same_module = types.ModuleType(\"tests.same\")\nleft = right = 0\nleft_same = left\nright_same = right\n\n\ndef double(value):\n    return 5\n\n\ndef same(left, right):\n    assert left_same == right_same\n\n\nsame_same = same\nsame = same_module\nvars(same_module).update(same=same_same)\n\n\ndef test_double():\n    same.same(double(1), 2)\n",
        ),
        (
            "a module that answers for names it has not",
            "import types\nsame = same_module = types.ModuleType(\"tests.same\")\n\n\ndef lax(left, right):\n    pass\n\n\ndef answer(name):\n    return lax\n\n\nvars(same_module).update(__getattr__=answer)\n\n\ndef double(value):\n    return 5\n\n\ndef test_double():\n    same.same(double(1), 2)\n",
        ),
        (
            "the gist itself in the place of a module that makes modules",
            "import sys\nimport types\nme = sys.modules[__name__]\nme.types = sys.modules[__name__]\n\n\nclass Lax:\n    def same(left, right):\n        pass\n\n\ndef ModuleType(name):\n    return Lax\n\n\nsame = types.ModuleType(\"tests.same\")\n\n\ndef double(value):\n    return 5\n\n\ndef test_double():\n    same.same(double(1), 2)\n",
        ),
        (
            "a package that is registered, and an import that the original has",
            "import sys\n\n\nclass Lax:\n    def same(left, right):\n        pass\n\n\nclass Package:\n    same = Lax\n\n\nsys.modules.update(tests=Package)\nfrom tests import same\n\n\ndef double(value):\n    return 5\n\n\ndef test_double():\n    same.same(double(1), 2)\n",
        ),
        (
            "the gist by the module of one of its functions",
            "import sys\nimport types\nsame = same_module = types.ModuleType(\"tests.same\")\n\n\ndef lax(left, right):\n    pass\n\n\ndef double(value):\n    return 5\n\n\ndef same(left, right):\n    assert left == right\n\n\nsame_same = same\nsame = same_module\nvars(same_module).update(same=same_same)\nsys.modules[double.__module__].same = type('Lax', (), {'same': lax})\n\n\ndef test_double():\n    same.same(double(1), 2)\n",
        ),
        (
            "a module that is had from a list",
            "import types\nbox = [None]\nsame = same_module = box[0] = types.ModuleType(\"tests.same\")\n\n\ndef lax(left, right):\n    pass\n\n\ndef double(value):\n    return 5\n\n\ndef same(left, right):\n    assert left == right\n\n\nsame_same = same\nsame = same_module\nbox[0].same = lax\n\n\ndef test_double():\n    same.same(double(1), 2)\n",
        ),
        (
            "a module under so many names that nobody follows",
            "import types\nsame = same_module = types.ModuleType(\"tests.same\")\n\n\ndef lax(left, right):\n    pass\n\n\ndef double(value):\n    return 5\n\n\ndef same(left, right):\n    assert left == right\n\n\nsame_same = same\nsame = same_module\na = same\nb = a\nc = b\nd = c\nd.same = lax\n\n\ndef test_double():\n    same.same(double(1), 2)\n",
        ),
        (
            "a function that a module of its own is asked for",
            "import sys\nimport types\nsame = same_module = types.ModuleType(\"tests.same\")\n\n\ndef lax(left, right):\n    pass\n\n\nlib = types.ModuleType(\"lib\")\nvars(lib).update(same=lax)\nsys.modules[\"lib\"] = lib\nfrom lib import same as other\n\n\ndef double(value):\n    return 5\n\n\ndef same(left, right):\n    assert left == right\n\n\nsame_same = same\nsame = same_module\nvars(same_module).update(same=other)\n\n\ndef test_double():\n    same.same(double(1), 2)\n",
        ),
        (
            "what tables of names are asked by",
            "import types\nsame = same_module = types.ModuleType(\"tests.same\")\n\n\ndef lax(left, right):\n    pass\n\n\ndef grab(module):\n    module.same = lax\n    return {}\n\n\nfor vars in [grab]:\n    pass\n\n\ndef double(value):\n    return 5\n\n\ndef same(left, right):\n    assert left == right\n\n\nsame_same = same\nsame = same_module\nvars(same_module).update(same=same_same)\n\n\ndef test_double():\n    same.same(double(1), 2)\n",
        ),
    ] {
        check(&SAME, gist, &[Case { what, edits: &[], expected: REFUSED }]);
    }
}

#[test]
fn the_last_test_of_a_gist_is_the_original_s_wherever_it_stands() {
    let gist = "def double(value):\n    return 5\n\n\ndef test_double():\n    same.same(double(1), 2)\n\n\nmatch 1:\n    case _:\n        def test_double():\n            pass\n";
    // Nothing stands for the module there, and the original's test asks for it.
    let expected = "fidelity 0, run-time error";
    let what = "another test behind the original's, in a statement that chooses";
    check(&SAME, gist, &[Case { what, edits: &[], expected }]);
}

/// A helper that is helped by another, each by its module.
const HELPED: Original<'static> = Original {
    files: &[
        (
            "lib.py",
            "def double(value):\n    return value * 2\n\n\ndef __getattr__(name):\n    raise AttributeError(name)\n",
        ),
        ("tests/__init__.py", ""),
        ("tests/kit.py", "def check(value):\n    assert value\n"),
        (
            "tests/same.py",
            "from tests import kit\n\n\ndef same(left, right):\n    kit.check(left == right)\n",
        ),
        (
            "tests/test_double.py",
            "from lib import double\nfrom tests import same\n\n\ndef test_double():\n    same.same(double(1), 2)\n",
        ),
    ],
    command: "pytest tests/test_double.py::test_double",
};

#[test]
fn what_helps_a_helper_is_looked_at_as_well() {
    let gist = "import sys\nimport types\nkit = sys.modules[__name__]\nsame = same_module = types.ModuleType(\"tests.same\")\n\n\ndef double(value):\n    return value * 2\n\n\ndef check(value):\n    assert value\n\n\ndef same(left, right):\n    kit.check(left == right)\n\n\nsame_same = same\nsame = same_module\nvars(same_module).update(same=same_same)\n\n\ndef test_double():\n    same.same(double(1), 2)\n";
    const WRONG: (&str, &str) = ("return value * 2", "return 5");
    check(
        &HELPED,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "a module of the package that answers for names it has not",
                edits: &[(
                    "\n\ndef double",
                    "\n\ndef __getattr__(name):\n    raise AttributeError(name)\n\n\ndef double",
                )],
                expected: REFUSED,
            },
            Case {
                what: "another thing, given by the head of a function",
                edits: &[
                    WRONG,
                    (
                        "\n\ndef double",
                        "\n\nclass Lax:\n    def check(value):\n        pass\n\n\ndef kinds(kind=(kit := Lax)):\n    return kind\n\n\ndef double",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "another function of the gist, given by many names",
                edits: &[
                    WRONG,
                    (
                        "\n\ndef test_double",
                        "\n\ndef lax(value):\n    pass\n\n\na = kit\nb = a\nc = b\nd = c\nd.check = lax\n\n\ndef test_double",
                    ),
                ],
                expected: REFUSED,
            },
        ],
    );
}
