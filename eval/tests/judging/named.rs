//! What a gist has in the place of modules keeps their names: the gist itself, and an object that imports of its
//! parts name again.

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
            "import operator\nfrom . import util\n\n\ndef hold(value):\n    util.same(value, 2)\n    assert operator.eq(value, 2)\n",
        ),
        (
            "tests/test_util.py",
            "from lib import util\nfrom tests import kit\n\n\ndef test_util():\n    kit.hold(util(1))\n",
        ),
    ],
    command: "pytest tests/test_util.py::test_util",
};

#[test]
fn the_gist_in_the_place_of_a_module_that_shares_its_name() {
    let gist = "import operator\nimport sys\nkit = util_gist = sys.modules.get(__name__)\ndef util(value):\n    return value * 2\ndef same(left, right):\n    assert left == right\ndef hold(value):\n    util_gist.same(value, 2)\n    assert operator.eq(value, 2)\ndef test_util():\n    kit.hold(util(1))\n";
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
                what: "in the place of what Python has",
                edits: &[
                    (PLACE, "kit = util_gist = other_gist = sys.modules.get(__name__)\n"),
                    ("util_gist.same(value", "other_gist.same(value"),
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

const LOADED: Original<'static> = Original {
    files: &[
        (
            "lib/__init__.py",
            "import json\nfrom lib.core import double\n\n\ndef read(text):\n    return json.loads(text)\n",
        ),
        (
            "lib/core.py",
            "def double(value):\n    return value * 2\n\n\ntry:\n    import lib.fast\nexcept ImportError:\n    pass\n",
        ),
        (
            "tests/test_lib.py",
            "import json\nimport lib\n\n\ndef test_lib():\n    assert lib.double(1) == 2\n    assert json.loads(\"2\") == lib.read(\"2\")\n",
        ),
    ],
    command: "pytest tests/test_lib.py::test_lib",
};

#[test]
fn an_object_whose_name_imports_give_again() {
    let gist = "import types\nlib = types.ModuleType(\"lib\")\nimport json\ndef double(value):\n    return value * 2\ndef read(text):\n    return json.loads(text)\nvars(lib).update(double=double, read=read)\ntry:\n    import lib.fast\nexcept ImportError:\n    pass\ndef test_lib():\n    assert lib.double(1) == 2\n    assert json.loads(\"2\") == lib.read(\"2\")\n";
    const LOAD: &str = "try:\n    import lib.fast\nexcept ImportError:\n    pass\n";
    const FILL: &str = "vars(lib).update(double=double, read=read)\n";
    const LAX: (&str, &str) = ("def double", "def lax(text):\n    return 2\ndef double");
    check(
        &LOADED,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "filled behind the import",
                edits: &[
                    (FILL, ""),
                    ("def test_lib", "vars(lib).update(double=double, read=read)\ndef test_lib"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "filled again behind the import",
                edits: &[
                    (
                        FILL,
                        "for _ in range(2):\n    vars(lib).update(double=double, read=read)\n    try:\n        import lib.fast\n    except ImportError:\n        pass\n",
                    ),
                    (LOAD, ""),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a module from outside",
                edits: &[
                    LAX,
                    ("import json\n", "json = types.ModuleType(\"json\")\nimport json\n"),
                    (
                        FILL,
                        "vars(lib).update(double=double, read=read)\nvars(json).update(loads=lax)\n",
                    ),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a module from outside by a function",
                edits: &[
                    LAX,
                    ("import json\n", "json = types.ModuleType(\"json\")\n"),
                    (
                        FILL,
                        "vars(lib).update(double=double, read=read)\ndef fill():\n    vars(json).update(loads=lax)\nimport json\nfill()\n",
                    ),
                ],
                expected: REFUSED,
            },
        ],
    );
}
