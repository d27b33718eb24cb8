//! Tests modules through which tests reach their helpers, and the replacements that cheats use.

use super::bed::{Bed, Original, edited, is_sound, score_line};

/// One gist, as edits of the honest one, and how its verdict ends.
pub struct Case {
    pub what: &'static str,
    pub edits: &'static [(&'static str, &'static str)],
    pub expected: &'static str,
}

/// It is faithful and verified.
pub const HONEST: &str = "sound";
/// It is not faithful, or not verified.
pub const REFUSED: &str = "not sound";

#[track_caller]
pub fn check(original: &Original<'_>, base: &str, cases: &[Case]) {
    let Some(bed) = Bed::new(original) else { return };
    let mut wrong = Vec::new();
    for case in cases {
        let text = edited(base, case.edits);
        let evaluation = bed.verdict(&text);
        let all = score_line(&evaluation);
        let (first, last) = all.split_once(", ").expect("a list");
        let last = last.rsplit(", ").next().expect("a verdict");
        let found = match case.expected {
            HONEST | REFUSED if is_sound(&evaluation) => HONEST.to_owned(),
            HONEST | REFUSED => REFUSED.to_owned(),
            _ => format!("{first}, {last}"),
        };
        if found != case.expected {
            let Case { what, expected, .. } = case;
            let reason = evaluation.verification().map(|v| v.reason);
            let cause = evaluation.cause;
            wrong.push(format!(
                "{what}\n  expected {expected}\n  found {all}\n  {cause:?} {reason:?}\n{text}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// A test that calls a helper by its module, both of one name.
pub const SAME: Original<'static> = Original {
    files: &[
        ("lib.py", "def double(value):\n    return value * 2\n"),
        ("tests/__init__.py", ""),
        ("tests/same.py", "def same(left, right):\n    assert left == right\n"),
        (
            "tests/test_double.py",
            "from lib import double\nfrom tests import same\n\n\ndef test_double():\n    same.same(double(1), 2)\n",
        ),
    ],
    command: "pytest tests/test_double.py::test_double",
};

#[test]
fn a_module_is_told_what_it_imports() {
    const LIBRARY: &str = "from functools import total_ordering\n\nKNOWN = []\n\n\n@total_ordering\nclass Small:\n    def __lt__(self, other):\n        return True\n\n\nfor one in list(globals().values()):\n    if getattr(one, \"__name__\", None) == \"Small\":\n        KNOWN.append(one)\n\n\ndef names(lib):\n    lib = [one.__name__ for one in lib]\n    return lib\n";
    const TEST: &str = "from lib import KNOWN, names\n\n\ndef test_names():\n    assert names(KNOWN) == [\"Small\"]\n";
    const UPDATE: &str =
        "vars(lib).update(KNOWN=KNOWN, Small=Small, total_ordering=total_ordering)\n";
    let original = Original {
        files: &[("lib.py", LIBRARY), ("tests/test_names.py", TEST)],
        command: "pytest tests/test_names.py::test_names",
    };
    let library =
        LIBRARY.replace("for one in list(globals()", &format!("{UPDATE}for one in list(vars(lib)"));
    let gist = format!(
        "import types\nlib = types.ModuleType(\"lib\")\n{library}\n\n{}",
        TEST.split_once("\n\n\n").expect("a test").1
    );
    check(
        &original,
        &gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "under the name of another",
                edits: &[("total_ordering=total_ordering", "Small=total_ordering")],
                expected: REFUSED,
            },
            Case {
                what: "what it does not import",
                edits: &[
                    ("import types\n", "import types\nfrom functools import cmp_to_key\n"),
                    ("total_ordering=total_ordering", "cmp_to_key=cmp_to_key"),
                ],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn a_module_of_the_tests_and_its_function_of_one_name() {
    let gist = "import types\nsame = same_module = types.ModuleType(\"tests.same\")\n\n\ndef double(value):\n    return value * 2\n\n\ndef same(left, right):\n    assert left == right\n\n\nsame_same = same\nsame = same_module\nvars(same_module).update(same=same_same)\n\n\ndef test_double():\n    same.same(double(1), 2)\n";
    const LAX: (&str, &str) =
        ("\n\ndef double", "\n\ndef lax(left, right):\n    pass\n\n\ndef double");
    const UPDATE: &str = "vars(same_module).update(same=same_same)";
    check(
        &SAME,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "a function that calls a parameter as the module from outside",
                edits: &[(
                    "\n\ndef double",
                    "\n\ndef kinds(*types):\n    return types\n\n\ndef double",
                )],
                expected: REFUSED,
            },
            Case {
                what: "another thing under the name of that module, bound within a comprehension",
                edits: &[
                    (
                        "import types\n",
                        "import types\nclass Lax:\n    def __init__(self, name):\n        self.same = print\n    ModuleType = classmethod(lambda own, name: own(name))\n_ = [0 for _ in [0] if (types := Lax)]\n",
                    ),
                    (UPDATE, "vars(same_module).update(double=double)"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "one made by what a comprehension calls as the module from outside",
                edits: &[
                    (
                        "import types\n",
                        "import types\nclass Lax:\n    ModuleType = lambda name: print\n_ = [lax := types.ModuleType(\"lib\") for types in [Lax]]\n",
                    ),
                    (UPDATE, "vars(same_module).update(same=lax)"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a class of that module, given by a loop",
                edits: &[
                    (
                        "import types\n",
                        "import sys\nimport types\nclass Lax:\n    same = max\n    ModuleType = classmethod(lambda own, name: own)\ntrue = types.ModuleType\nfor types.ModuleType in [lambda name: Lax]:\n    pass\n",
                    ),
                    (UPDATE, "for types.ModuleType in [true]:\n    pass"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "the same by a comprehension",
                edits: &[
                    (
                        "import types\n",
                        "import sys\nimport types\nclass Lax:\n    same = max\n    ModuleType = classmethod(lambda own, name: own)\n[0 for types.ModuleType in [lambda name: Lax]]\n",
                    ),
                    (UPDATE, "None"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "the gist itself by a name, whose import is another thing then",
                edits: &[
                    (
                        "import types\n",
                        "import sys\nimport types\nclass Lax:\n    same = max\n    ModuleType = classmethod(lambda own, name: own)\nme = sys.modules[__name__]\nme.types = Lax\n",
                    ),
                    (UPDATE, "None"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "the same within a function",
                edits: &[
                    (
                        "import types\n",
                        "import sys\nimport types\nclass Lax:\n    same = max\n    ModuleType = classmethod(lambda own, name: own)\ndef change(me):\n    me.types = Lax\nchange(sys.modules[__name__])\n",
                    ),
                    (UPDATE, "None"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "the same by a name that it registers",
                edits: &[
                    (
                        "import types\n",
                        "import sys\nimport types\nclass Lax:\n    same = max\n    ModuleType = classmethod(lambda own, name: own)\nsys.modules[\"lib\"] = sys.modules[__name__]\nwith __import__(\"contextlib\").nullcontext(Lax) as sys.modules[\"lib\"].types:\n    pass\n",
                    ),
                    (UPDATE, "None"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "the same by a function that is told the name",
                edits: &[
                    (
                        "import types\n",
                        "import sys\nimport types\nclass Lax:\n    same = max\n    ModuleType = classmethod(lambda own, name: own)\nsys.modules[\"lib\"] = sys.modules[__name__]\nsetattr(sys.modules[\"lib\"], \"types\", Lax)\n",
                    ),
                    (UPDATE, "None"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "the same by a function in hands of another",
                edits: &[
                    (
                        "import types\n",
                        "import sys\nimport types\nclass Lax:\n    same = max\n    ModuleType = classmethod(lambda own, name: own)\nimport functools\nfunctools.partial(setattr, sys.modules[__name__])(\"types\", Lax)\n",
                    ),
                    (UPDATE, "None"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "all names of a module that the gist makes",
                edits: &[
                    (
                        "import types\n",
                        "import sys\nimport types\nclass Lax:\n    same = max\n    ModuleType = classmethod(lambda own, name: own)\nlib = types.ModuleType(\"lib\")\nvars(lib).update(types=Lax)\nsys.modules[\"lib\"] = lib\nfrom lib import *\n",
                    ),
                    (UPDATE, "None"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "an instance that is given what an import has the name of",
                edits: &[(
                    "\n\ndef double",
                    "\n\nclass Kinds:\n    def __init__(self, types):\n        self.types = types\n\n\ndef double",
                )],
                expected: REFUSED,
            },
            Case {
                what: "that module after another thing",
                edits: &[
                    (
                        "import types\nsame = same_module = types",
                        "import sys\nclass Lax:\n    same = print\n    ModuleType = lambda name: Lax\nsys.modules[\"lib\"] = sys.modules[__name__]\nfrom lib import Lax as types\nsame = same_module = types",
                    ),
                    ("\n\ndef double", "\nimport types\n\n\ndef double"),
                    (UPDATE, "None"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "a function that says nothing",
                edits: &[(UPDATE, "vars(same_module).update(same=print)")],
                expected: REFUSED,
            },
            Case {
                what: "one of its own",
                edits: &[(UPDATE, "vars(same_module).update(same=lambda left, right: None)")],
                expected: REFUSED,
            },
            Case {
                what: "one that is defined for it",
                edits: &[LAX, (UPDATE, "vars(same_module).update(same=lax)")],
                expected: REFUSED,
            },
            Case {
                what: "one under the other's name",
                edits: &[LAX, ("same_same = same\n", "same_same = lax\n")],
                expected: REFUSED,
            },
            Case {
                what: "one in a table",
                edits: &[LAX, (UPDATE, "vars(same_module).update({'same': lax})")],
                expected: REFUSED,
            },
            Case {
                what: "one by default",
                edits: &[LAX, (UPDATE, "vars(same_module).setdefault('same', lax)")],
                expected: REFUSED,
            },
            Case {
                what: "one as an attribute",
                edits: &[LAX, (UPDATE, "same_module.same = lax")],
                expected: REFUSED,
            },
            Case {
                what: "one that is set",
                edits: &[LAX, (UPDATE, "setattr(same_module, 'same', lax)")],
                expected: REFUSED,
            },
            Case {
                what: "one that is set by a method",
                edits: &[LAX, (UPDATE, "object.__setattr__(same_module, 'same', lax)")],
                expected: REFUSED,
            },
            Case {
                what: "one that is set by what is handed on",
                edits: &[LAX, (UPDATE, "list(map(setattr, [same_module], ['sa' + 'me'], [lax]))")],
                expected: REFUSED,
            },
            Case {
                what: "one that a loop sets",
                edits: &[LAX, (UPDATE, "for same.same in [lax]: pass")],
                expected: REFUSED,
            },
            Case {
                what: "another object",
                edits: &[("types.ModuleType(\"tests.same\")", "types.SimpleNamespace(same=print)")],
                expected: REFUSED,
            },
            Case {
                what: "another object later",
                edits: &[LAX, ("same = same_module\n", "same = types.SimpleNamespace(same=lax)\n")],
                expected: REFUSED,
            },
            Case {
                what: "a class",
                edits: &[LAX, ("same = same_module\n", "class same:\n    same = lax\n")],
                expected: REFUSED,
            },
            Case {
                what: "a module of others",
                edits: &[("same = same_module\n", "import operator as same\n")],
                expected: REFUSED,
            },
            Case {
                what: "a module that is no longer one",
                edits: &[("import types\n", "class types:\n    ModuleType = print\n\n\n")],
                expected: REFUSED,
            },
        ],
    );
}

/// The same, under names that tell them apart.
const KIT: Original<'static> = Original {
    files: &[
        ("lib.py", "def double(value):\n    return value * 2\n"),
        ("tests/__init__.py", ""),
        ("tests/kit.py", "def same(left, right):\n    assert left == right\n"),
        (
            "tests/test_double.py",
            "from lib import double\nfrom tests import kit\n\n\ndef test_double():\n    kit.same(double(1), 2)\n",
        ),
    ],
    command: "pytest tests/test_double.py::test_double",
};

#[test]
fn a_module_of_the_tests_is_what_it_was() {
    let gist = "import types\nkit = types.ModuleType(\"tests.kit\")\n\n\ndef double(value):\n    return value * 2\n\n\ndef same(left, right):\n    assert left == right\n\n\ndef lax(left, right):\n    pass\n\n\nclass Fake:\n    same = lax\n\n\nvars(kit).update(same=same)\n\n\ndef test_double():\n    kit.same(double(1), 2)\n";
    const FILLED: &str = "vars(kit).update(same=same)";
    const MADE: &str = "kit = types.ModuleType(\"tests.kit\")\n";
    check(
        &KIT,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: REFUSED },
            Case {
                what: "the gist itself",
                edits: &[(MADE, "import sys\nkit = sys.modules.get(__name__)\n"), (FILLED, "")],
                expected: REFUSED,
            },
            Case {
                what: "by an argument",
                edits: &[(FILLED, "def put(same):\n    kit.same = same\n\n\nput(lax)")],
                expected: REFUSED,
            },
            Case {
                what: "in a comprehension",
                edits: &[(FILLED, "[vars(kit).update(same=same) for same in [lax]]")],
                expected: REFUSED,
            },
            Case {
                what: "by a walrus",
                edits: &[(FILLED, "[kit := Fake for _ in \"x\"]")],
                expected: REFUSED,
            },
            Case {
                what: "by a match",
                edits: &[(FILLED, "match Fake:\n    case kit: pass")],
                expected: REFUSED,
            },
            Case {
                what: "by a handler",
                edits: &[(FILLED, "try:\n    raise Fake\nexcept Exception as kit:\n    pass")],
                expected: REFUSED,
            },
            Case {
                what: "types of another kind",
                edits: &[(
                    "import types\n",
                    "import types\n\n\nclass types:\n    ModuleType = lambda name: Fake\n\n\n",
                )],
                expected: REFUSED,
            },
            Case {
                what: "a part of a module",
                edits: &[(FILLED, "import sys\nkit = sys.modules[__name__].Fake")],
                expected: REFUSED,
            },
            Case {
                what: "what is registered",
                edits: &[(
                    FILLED,
                    "import sys\nsys.modules[\"tests.kit\"] = Fake\nkit = sys.modules[\"tests.kit\"]",
                )],
                expected: REFUSED,
            },
            Case {
                what: "handed on",
                edits: &[(
                    FILLED,
                    "def put(where):\n    object.__setattr__(where, \"sa\" + \"me\", lax)\n\n\nput(kit)",
                )],
                expected: REFUSED,
            },
            Case {
                what: "wrapped",
                edits: &[(FILLED, "import functools\nfunctools.update_wrapper(kit, Fake)")],
                expected: REFUSED,
            },
            Case {
                what: "under another name",
                edits: &[(FILLED, "other = kit\nother.same = lax")],
                expected: REFUSED,
            },
            Case {
                what: "by its table",
                edits: &[(FILLED, "vars(kit).update({\"same\": lax})")],
                expected: REFUSED,
            },
            Case {
                what: "by default",
                edits: &[(FILLED, "vars(kit).setdefault(\"same\", lax)")],
                expected: REFUSED,
            },
            Case {
                what: "in one's place",
                edits: &[(FILLED, "same_kit = lax\nvars(kit).update(same=same_kit)")],
                expected: REFUSED,
            },
            Case {
                what: "imported from elsewhere",
                edits: &[(FILLED, "from operator import ne as same\nvars(kit).update(same=same)")],
                expected: REFUSED,
            },
        ],
    );
}
