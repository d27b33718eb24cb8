//! Tests that replacements of modules keep the modules' names: the gist itself, and an object with
//! an import of one of its parts.

use super::{
    bed::Original,
    modules::{Case, HONEST, REFUSED, check},
};

const SHARED: Original<'static> = Original {
    files: &[
        ("lib.py", "def util(value):\n    return value * 2\n"),
        ("tests/__init__.py", ""),
        ("tests/util.py", "def same(left, right):\n    assert left == right\n"),
        (
            "tests/kit.py",
            "import operator\nfrom . import util\n\n\ndef hold(value):\n    util.same(value, 2)\n    assert operator.eq(value, 2)\n\n\ndef again(value):\n    from . import util\n    util.same(value, 2)\n",
        ),
        (
            "tests/test_util.py",
            "from lib import util\nfrom tests import kit\n\n\ndef test_util():\n    kit.hold(util(1))\n    kit.again(util(1))\n",
        ),
    ],
    command: "pytest tests/test_util.py::test_util",
};

#[test]
fn the_gist_in_the_place_of_a_module_that_shares_its_name() {
    let gist = "import operator\nimport sys\nkit = util_gist = sys.modules.get(__name__)\ndef util(value):\n    return value * 2\ndef same(left, right):\n    assert left == right\ndef hold(value):\n    util_gist.same(value, 2)\n    assert operator.eq(value, 2)\ndef again(value):\n    util = util_gist\n    util.same(value, 2)\ndef test_util():\n    kit.hold(util(1))\n    kit.again(util(1))\n";
    const PLACE: &str = "kit = util_gist = sys.modules.get(__name__)\n";
    check(
        &SHARED,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "in the place of a module from outside",
                edits: &[
                    (PLACE, "kit = util_gist = operator_gist = sys.modules.get(__name__)\n"),
                    ("operator.eq(value", "operator_gist.eq(value"),
                    ("def test_util", "def eq(left, right):\n    return True\ndef test_util"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "in the place of a module that is not there",
                edits: &[
                    (PLACE, "kit = util_gist = other_gist = sys.modules.get(__name__)\n"),
                    ("util_gist.same(value", "other_gist.same(value"),
                ],
                expected: HONEST,
            },
            Case {
                what: "another object where a function imports it",
                edits: &[
                    (
                        "def again",
                        "class lax_gist:\n    same = lambda left, right: None\ndef again",
                    ),
                    ("    util = util_gist", "    util = lax_gist"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "another object",
                edits: &[
                    (PLACE, "kit = sys.modules.get(__name__)\n"),
                    ("def hold", "class util_gist:\n    same = lambda left, right: None\ndef hold"),
                ],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn what_tests_have_from_outside_keeps_its_name_beside_a_module_of_the_repository() {
    const EQ: &str = "def eq(left, right):\n    return True";
    for (module, head, call, own) in [
        ("operator", "from lib.compat import operator", "operator.eq(value, 2)", EQ),
        ("operator", "from lib.compat import *", "operator.eq(value, 2)", EQ),
        ("operator", "from . import operator", "operator.eq(value, 2)", EQ),
        (
            "operator",
            "import pytest\noperator = pytest.importorskip(\"operator\")",
            "operator.eq(value, 2)",
            EQ,
        ),
        (
            "case",
            "import unittest\ncase = unittest.TestCase()",
            "case.assertEqual(value, 2) is None",
            "def assertEqual(left, right):\n    pass",
        ),
        (
            "path",
            "from os import *",
            "path.basename(str(value)) == \"2\"",
            "def basename(text):\n    return \"2\"",
        ),
        (
            "decoder",
            "from json import decoder",
            "decoder.scanstring(str(value) + chr(34), 0)[0] == \"2\"",
            "def scanstring(text, end):\n    return [\"2\"]",
        ),
    ] {
        let hold = format!("def hold(value):\n    assert {call}\n");
        let (kit, path) = (format!("{head}\n\n\n{hold}"), format!("lib/{module}.py"));
        let files = [
            ("lib/__init__.py", "def double(value):\n    return value * 2\n"),
            (path.as_str(), ""),
            ("lib/compat.py", "import operator\n"),
            ("lib/other.py", "from . import operator\nEQ = operator\n"),
            ("json/env.py", ""),
            ("tests/__init__.py", "import operator\n"),
            ("tests/kit.py", kit.as_str()),
            (
                "tests/test_d.py",
                "from lib import double\nfrom tests import kit\n\n\ndef test_d():\n    kit.hold(double(1))\n",
            ),
        ];
        let original = Original { files: &files, command: "pytest tests/test_d.py::test_d" };
        let test = "def test_d():\n    kit.hold(double(1))\n";
        let double = "def double(value):\n    return value * 2\n";
        let place = "import sys\nkit = sys.modules.get(__name__)\n";
        // What the gist writes for what an import from inside gives.
        let outer = match head {
            "from . import operator" | "from lib.compat import *" => "import operator",
            head => head.strip_prefix("from lib.compat ").unwrap_or(head),
        };
        let honest = format!("{place}{outer}\n{double}{hold}{test}");
        check(&original, &honest, &[Case { what: "as it is", edits: &[], expected: HONEST }]);
        let place = format!("import sys\nkit = {module}_gist = sys.modules.get(__name__)\n");
        let hold = hold.replace(&format!("{module}."), &format!("{module}_gist."));
        let cheat = format!("{place}{outer}\n{own}\n{double}{hold}{test}");
        check(&original, &cheat, &[Case { what: module, edits: &[], expected: REFUSED }]);
    }
}

/// The gist has an object of a package under another name.
const RENAMED: Original<'static> = Original {
    files: &[
        ("lib/__init__.py", "from . import text\nfrom .text import join\n"),
        ("lib/text.py", "def join(one, two):\n    return one + two\n"),
        ("tests/__init__.py", ""),
        (
            "tests/kit.py",
            "import lib\n\n\ndef join(parts):\n    return lib.text.join(*parts)\n\n\nclass Part:\n    def join(self):\n        return 1\n    def join_text(self):\n        return 2\n\n\ndef one():\n    return Part().join()\n",
        ),
        (
            "tests/test_text.py",
            "from tests import kit\n\n\ndef test_text():\n    assert kit.join(\"ab\") == \"ab\"\n    assert kit.one() == 1\n",
        ),
    ],
    command: "pytest tests/test_text.py::test_text",
};

#[test]
fn what_the_gist_has_under_a_name_of_its_own_is_asked_of_packages_by_that() {
    let gist = "import sys\nkit = lib = text = sys.modules.get(__name__)\ndef join(one, two):\n    return one + two\njoin_text = join\ndef join(parts):\n    return lib.text.join_text(*parts)\nclass Part:\n    def join(self):\n        return 1\ndef one():\n    return Part().join()\ndef test_text():\n    assert kit.join(\"ab\") == \"ab\"\n    assert kit.one() == 1\n";
    check(
        &RENAMED,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "of what is no package",
                edits: &[
                    (
                        "class Part:\n    def join(self):\n        return 1\n",
                        "class Part:\n    def join_text(self):\n        return 1\n",
                    ),
                    ("Part().join()", "Part().join_text()"),
                ],
                expected: REFUSED,
            },
        ],
    );
}

/// A constant of a module that only the package imports: what changes it is seen in the text alone.
const LOADED: Original<'static> = Original {
    files: &[
        ("lib/__init__.py", "from lib.core import double\n"),
        (
            "lib/core.py",
            "import math\n\n\ndef double(value):\n    return value * 2 if math.pi > 3 else 2\n\n\ntry:\n    import lib.fast\nexcept ImportError:\n    pass\n",
        ),
        ("tests/test_lib.py", "import lib\n\n\ndef test_lib():\n    assert lib.double(1) == 2\n"),
    ],
    command: "pytest tests/test_lib.py::test_lib",
};

#[test]
fn an_object_whose_name_imports_give_again() {
    let gist = "import types\nlib = types.ModuleType(\"lib\")\nimport math\ndef double(value):\n    return value * 2 if math.pi > 3 else 2\nvars(lib).update(double=double)\ntry:\n    import lib.fast\nexcept ImportError:\n    pass\ndef test_lib():\n    assert lib.double(1) == 2\n";
    const LOAD: &str = "try:\n    import lib.fast\nexcept ImportError:\n    pass\n";
    const FILL: &str = "vars(lib).update(double=double)\n";
    const MATH: &str = "import math\n";
    check(
        &LOADED,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "filled behind the import",
                edits: &[
                    (FILL, ""),
                    ("def test_lib", "vars(lib).update(double=double)\ndef test_lib"),
                ],
                expected: HONEST,
            },
            Case {
                what: "filled again behind the import",
                edits: &[
                    (
                        FILL,
                        "for _ in range(2):\n    vars(lib).update(double=double)\n    try:\n        import lib.fast\n    except ImportError:\n        pass\n",
                    ),
                    (LOAD, ""),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a module from outside, imported as a whole",
                edits: &[(
                    MATH,
                    "math = types.ModuleType(\"math\")\nvars(math).update(pi=2)\nimport math\n",
                )],
                expected: REFUSED,
            },
            Case {
                what: "one behind a generator",
                edits: &[(
                    MATH,
                    "os = types.ModuleType(\"os\")\nlater = (vars(os).update(sep=\":\") for _ in [0])\nimport os.path\nlist(later)\nimport math\n",
                )],
                expected: REFUSED,
            },
            Case {
                what: "one whose table a generator hands on",
                edits: &[(
                    MATH,
                    "os = types.ModuleType(\"os\")\nlater = (vars(os) for _ in [0])\nimport os.path\nnext(later).update(sep=\":\")\nimport math\n",
                )],
                expected: REFUSED,
            },
            Case {
                what: "one behind an annotation",
                edits: &[
                    ("import types\n", "from __future__ import annotations\nimport types\n"),
                    (
                        MATH,
                        "os = types.ModuleType(\"os\")\nlimit: vars(os).update(sep=\":\") = 1\nimport os.path\nimport math\n",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "one behind a function",
                edits: &[(
                    MATH,
                    "os = types.ModuleType(\"os\")\ndef later():\n    vars(os).update(sep=\":\")\nimport os.path\nlater()\nimport math\n",
                )],
                expected: REFUSED,
            },
        ],
    );
}

/// A package that lends a module from outside, beside a module of its own of that name.
const LENT: Original<'static> = Original {
    files: &[
        ("lib/__init__.py", "from .compat import operator\n"),
        ("lib/compat.py", "import operator\n"),
        ("lib/operator.py", ""),
        ("lib/core.py", "def double(value):\n    return value * 2\n"),
        ("tests/__init__.py", ""),
        (
            "tests/kit.py",
            "import operator\nimport lib\n\n\ndef hold(value):\n    assert lib.operator.eq(value, 2)\n    assert operator.eq(1, 1)\n",
        ),
        (
            "tests/test_d.py",
            "from lib.core import double\nfrom tests import kit\n\n\ndef test_d():\n    kit.hold(double(1))\n",
        ),
    ],
    command: "pytest tests/test_d.py::test_d",
};

#[test]
fn what_a_package_has_from_outside_is_none_of_its_modules() {
    let gist = "import sys\nimport operator\nkit = lib = sys.modules.get(__name__)\ndef double(value):\n    return value * 2\ndef hold(value):\n    assert lib.operator.eq(value, 2)\n    assert operator.eq(1, 1)\ndef test_d():\n    kit.hold(double(1))\n";
    check(
        &LENT,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "the gist in its place",
                edits: &[
                    ("kit = lib =", "kit = lib = operator_gist ="),
                    ("lib.operator.eq(value", "lib.operator_gist.eq(value"),
                    ("def double", "def eq(left, right):\n    return True\ndef double"),
                ],
                expected: REFUSED,
            },
        ],
    );
}

/// `Info` is bound for type checkers alone, and `type` in the class body by the definition before.
const UNBOUND: Original<'static> = Original {
    files: &[
        (
            "lib.py",
            "from __future__ import annotations\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from shown import Info\n\n\nclass Field:\n    @property\n    def type(self):\n        return self.kind\n\n    @type.setter\n    def type(self, kind: Info):\n        self.kind = kind\n",
        ),
        ("shown.py", "type = int\n\n\nclass Info:\n    kind = type\n"),
        (
            "tests/test_lib.py",
            "from lib import Field\nfrom shown import Info\n\n\ndef test_kind():\n    field = Field()\n    field.type = Info.kind\n    assert field.type is int\n",
        ),
    ],
    command: "pytest tests/test_lib.py::test_kind",
};

#[test]
fn names_that_nothing_binds_and_names_that_a_class_body_binds() {
    let gist = "from __future__ import annotations\ntype = int\nclass Info:\n    kind = type\nclass Field:\n    @property\n    def type(self):\n        return self.kind\n    @type.setter\n    def type(self, kind: Info_lib):\n        self.kind = kind\ndef test_kind():\n    field = Field()\n    field.type = Info.kind\n    assert field.type is int\n";
    check(
        &UNBOUND,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "a name that is bound",
                edits: &[("kind: Info_lib", "kind: Field")],
                expected: REFUSED,
            },
        ],
    );
}
