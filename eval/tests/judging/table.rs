//! Gists whose scores were counted by hand: what an honest writer, a careless one and a cheat get.

use gistify_eval::{OriginalExecution, VouchedExistence};

use super::{
    bed::{Bed, Original, edited, is_sound, score_line},
    modules::REFUSED,
    shop::{GIST, SHOP},
};

/// One gist, as edits of the honest one, and what it must get.
struct Case {
    what: &'static str,
    edits: &'static [(&'static str, &'static str)],
    expected: &'static str,
}

fn check(bed: &Bed, base: &str, case: &Case) -> Option<String> {
    let evaluation = bed.verdict(&edited(base, case.edits));
    let found = match case.expected {
        REFUSED if !is_sound(&evaluation) => REFUSED.to_owned(),
        _ => score_line(&evaluation),
    };
    (found != case.expected).then(|| {
        format!(
            "{}\n  expected {}\n     found {found}\n     cause {:?}\n     notes {:?}\n   missing {:?}\n      idle {:?}\n      text {}",
            case.what,
            case.expected,
            evaluation.cause,
            evaluation.verification(),
            evaluation.scores.evidence::<VouchedExistence>().map(|existence| existence.missing),
            evaluation.scores.evidence::<OriginalExecution>().map(|execution| execution.idle),
            edited(base, case.edits),
        )
    })
}

fn check_all(original: &Original<'_>, base: &str, cases: &[Case]) {
    let Some(bed) = Bed::new(original) else { return };
    let wrong: Vec<String> = cases.iter().filter_map(|case| check(&bed, base, case)).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn honest_gists() {
    check_all(
        &SHOP,
        GIST,
        &[
            Case {
                what: "the shortest faithful gist",
                edits: &[],
                expected: "fidelity 1, existence 33/33, execution 27/29, test 100, -",
            },
            Case {
                what: "another layout, other quotes, comments",
                edits: &[
                    (
                        "raise ValueError(\"cart is full: %d items\" % len(self.items))",
                        "raise ValueError(  # why\n                'cart is '\n                'full: %d items' % (len(self.items)),\n            )",
                    ),
                    (
                        "RATES = {\"std\": 2, \"low\": 1}",
                        "RATES = {\n    'std': 0x2,  # two\n    'low': 1,\n}",
                    ),
                    ("def add(self, item):", "def add(\n        self,\n        item,\n    ):"),
                ],
                expected: "fidelity 1, existence 33/33, execution 27/29, test 100, -",
            },
            Case {
                what: "docstrings neither cost nor earn",
                edits: &[
                    ("class Cart:\n", "class Cart:\n    \"\"\"Anything at all.\"\"\"\n\n"),
                    ("def rate(kind):\n", "def rate(kind):\n    '''Something\n    else.'''\n"),
                ],
                expected: "fidelity 1, existence 33/33, execution 27/29, test 100, -",
            },
            Case {
                what: "imports combined on one line",
                edits: &[("import pytest\n", "import json, os, pytest\n")],
                expected: "fidelity 1, existence 35/35, execution 27/29, test 100, -",
            },
            Case {
                what: "imports on lines of their own",
                edits: &[("import pytest\n", "import json\nimport os\nimport pytest\n")],
                expected: "fidelity 1, existence 35/35, execution 29/31, test 100, -",
            },
            Case {
                what: "an elif as the if that it becomes",
                edits: &[(
                    "        if len(self.items) >= self.limit:\n            raise ValueError(\"cart is full: %d items\" % len(self.items))\n        elif not item:\n",
                    "        if not item:\n",
                )],
                expected: "fidelity 1, existence 31/31, execution 26/27, test 100, -",
            },
            Case {
                what: "an else of one if as the elif that it is",
                edits: &[(
                    "        elif not item:\n            return None\n        else:\n            self.items.append(item)\n",
                    "        else:\n            if not item:\n                return None\n            else:\n                self.items.append(item)\n",
                )],
                expected: "fidelity 1, existence 33/33, execution 27/29, test 100, -",
            },
            Case {
                what: "dead code that the original has",
                edits: &[(
                    "\n\ndef rate(kind):",
                    "\n    def unused(self):\n        for item in self.items:\n            print(item)\n        return os.getcwd()\n\n\ndef rate(kind):",
                )],
                expected: "fidelity 1, existence 37/37, execution 28/33, test 100, -",
            },
            Case {
                what: "a placeholder for dead code",
                edits: &[(
                    "\n\ndef rate(kind):",
                    "\n    def unused(self):\n        pass\n\n\ndef rate(kind):",
                )],
                expected: "fidelity 1, existence 34/35, execution 28/30, test 100, -",
            },
            Case {
                what: "two statements on one line are two to execute",
                edits: &[(
                    "rate(kind)\n    print(\"total is\", value)\n",
                    "rate(kind); print(\"total is\", value)\n",
                )],
                expected: "fidelity 1, existence 33/33, execution 27/29, test 100, -",
            },
            Case {
                what: "the gist registers itself under the package's name: a note",
                edits: &[(
                    "import pytest\n",
                    "import pytest\nimport sys\n\nsys.modules[\"shop\"] = sys.modules[__name__]\n",
                )],
                expected: "fidelity 1, existence 33/35, execution 27/31, test 100, -",
            },
            Case {
                what: "a name for the gist itself",
                edits: &[(
                    "import pytest\n",
                    "import pytest\nimport sys\n\nshop = sys.modules[__name__]\n",
                )],
                expected: "fidelity 1, existence 33/35, execution 27/31, test 100, -",
            },
        ],
    );
}

#[test]
fn inventions_and_stuffing() {
    check_all(
        &SHOP,
        GIST,
        &[
            Case {
                what: "an invented function",
                edits: &[(
                    "\n\ndef rate(kind):",
                    "\n\ndef invented(x):\n    return x + 1\n\n\ndef rate(kind):",
                )],
                expected: "fidelity 1, existence 33/35, execution 27/31, test 100, -",
            },
            Case {
                what: "an invented function that is called",
                edits: &[
                    (
                        "\n\ndef rate(kind):",
                        "\n\ndef invented(x):\n    return x\n\n\ndef rate(kind):",
                    ),
                    ("value)\n    return value\n", "value)\n    return invented(value)\n"),
                ],
                expected: "fidelity 1, existence 32/35, execution 26/31, test 100, -",
            },
            Case {
                what: "an invented line",
                edits: &[(
                    "    print(\"total is\", value)\n",
                    "    value = value + 0\n    print(\"total is\", value)\n",
                )],
                expected: "fidelity 1, existence 33/34, execution 27/30, test 100, -",
            },
            Case {
                what: "a line of the original in the wrong block",
                edits: &[(
                    "    print(\"total is\", value)\n",
                    "    limit = 3\n    print(\"total is\", value)\n",
                )],
                expected: "fidelity 1, existence 33/34, execution 27/30, test 100, -",
            },
            Case {
                what: "a line said twice",
                edits: &[(
                    "RATES = {\"std\": 2, \"low\": 1}\n",
                    "RATES = {\"std\": 2, \"low\": 1}\nRATES = {\"std\": 2, \"low\": 1}\n",
                )],
                expected: "fidelity 1, existence 33/34, execution 27/30, test 100, -",
            },
            Case {
                what: "e13: dead code that is called earns nothing",
                edits: &[
                    (
                        "import pytest\n",
                        "import json\nfrom decimal import Decimal\nimport pytest\n",
                    ),
                    (
                        "\n\nTABLE",
                        "\n\ndef as_json(cart):\n    def plain(item):\n        return int(Decimal(item))\n\n    return json.dumps([plain(item) for item in cart.items])\n\n\nas_json(Cart([1]))\nTABLE",
                    ),
                ],
                expected: "fidelity 1, existence 38/40, execution 30/36, test 100, -",
            },
            Case {
                what: "e15: stuffing with conditions that never hold",
                edits: &[("\n\nTABLE", "\n\nif 0:\n    x = 1\n\nTABLE")],
                expected: "fidelity 1, existence 33/35, execution 27/31, test 100, -",
            },
            Case {
                what: "e15: stuffing with texts",
                edits: &[("\n\nTABLE", "\n\n'a text'\n'another'\nTABLE")],
                expected: "fidelity 1, existence 33/33, execution 27/29, test 100, -",
            },
            Case {
                what: "a hard-coded answer",
                edits: &[(
                    "value)\n    return value\n",
                    "value)\n    return {1: 6, 2: 8}[cart.items[-1]]\n",
                )],
                expected: "fidelity 1, existence 32/33, execution 26/29, test 100, -",
            },
        ],
    );
}

#[test]
fn edited_tests() {
    check_all(
        &SHOP,
        GIST,
        &[
            Case {
                what: "a weakened assertion: the original's test is what runs",
                edits: &[(
                    "    assert helper(total(cart)) == expected\n",
                    "    assert helper(total(cart))\n",
                )],
                expected: "fidelity 1, existence 32/33, execution 26/29, test 75, -",
            },
            Case {
                what: "an emptied test",
                edits: &[(
                    "    cart.add(extra)\n    assert helper(total(cart)) == expected\n",
                    "    pass\n",
                )],
                expected: "fidelity 1, existence 31/32, execution 14/27, test 50, -",
            },
            Case {
                what: "e14: a test that hides a wrong result",
                edits: &[
                    (
                        "    assert helper(total(cart)) == expected\n",
                        "    assert helper(total(cart)) != expected\n",
                    ),
                    ("\"std\": 2", "\"std\": 3"),
                ],
                expected: "fidelity 0, existence 31/33, execution -, test 75, run-time error",
            },
            Case {
                what: "no test",
                edits: &[("def test_total(", "def test_other(")],
                expected: "fidelity 0, existence 29/33, execution -, test 0, missing test",
            },
            Case {
                what: "e16: a case less",
                edits: &[("TABLE = [(1, 6), (2, 8)]", "TABLE = [(1, 6)]")],
                expected: REFUSED,
            },
            Case {
                what: "e18: another fixture of the same effect",
                edits: &[("Cart([1, 1])", "Cart([2, 0])")],
                expected: REFUSED,
            },
            Case {
                what: "e18: a fixture of another scope",
                edits: &[("@pytest.fixture\n", "@pytest.fixture(autouse=True)\n")],
                expected: REFUSED,
            },
            Case {
                what: "e18: a helper without its assertion",
                edits: &[("    assert value is not None\n", "")],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn failures_and_their_categories() {
    check_all(
        &SHOP,
        GIST,
        &[
            Case {
                what: "e08: it imports the package",
                edits: &[("import pytest\n", "import pytest\nfrom shop import Cart\n")],
                expected: "fidelity 0, existence 34/34, execution -, test 100, import error",
            },
            Case {
                what: "e08: it imports the package where it runs",
                edits: &[("    value = sum", "    from shop.price import rate\n    value = sum")],
                expected: "fidelity 0, existence 33/34, execution -, test 100, import error",
            },
            Case {
                what: "another output",
                edits: &[("print(\"total is\", value)", "print(\"total was\", value)")],
                expected: "fidelity 0, existence 32/33, execution -, test 100, output mismatch",
            },
            Case {
                what: "output on the other stream",
                edits: &[
                    ("import pytest\n", "import pytest\nimport sys\n"),
                    ("print(\"total is\", value)", "print(\"total is\", value, end=\"\\n\" * 2)"),
                ],
                expected: "fidelity 0, existence 32/34, execution -, test 100, output mismatch",
            },
            Case {
                what: "a wrong result",
                edits: &[("\"std\": 2", "\"std\": 3")],
                expected: "fidelity 0, existence 32/33, execution -, test 100, run-time error",
            },
            Case {
                what: "a function less",
                edits: &[(
                    "def rate(kind):\n    try:\n        return RATES[kind]\n    except KeyError:\n        return 0\n\n\n",
                    "",
                )],
                expected: "fidelity 0, existence 28/28, execution -, test 100, run-time error",
            },
            Case {
                what: "no syntax",
                edits: &[("\n\nTABLE", "\n\nx = = 1\n\nTABLE")],
                expected: "fidelity 0, existence 33/34, execution -, test 100, run-time error",
            },
            Case {
                what: "e04: a skip in place of a pass",
                edits: &[("    try:\n", "    pytest.skip(\"no\")\n    try:\n")],
                expected: "fidelity 0, existence 33/34, execution -, test 100, run-time error",
            },
            Case {
                what: "e02: a forged summary is no evidence",
                edits: &[
                    ("\"std\": 2", "\"std\": 3"),
                    ("\n\nTABLE", "\n\nprint('=== 2 passed in 0.01s ===')\n\nTABLE"),
                ],
                expected: "fidelity 0, existence 32/34, execution -, test 100, run-time error",
            },
        ],
    );
}

#[test]
fn what_is_not_the_originals_is_not_verified() {
    check_all(
        &SHOP,
        GIST,
        &[
            Case {
                what: "e10: code from a string",
                edits: &[("import pytest\n", "import pytest\nexec(\"x = 1\")\n")],
                expected: REFUSED,
            },
            Case {
                what: "e10: encoded code",
                edits: &[(
                    "import pytest\n",
                    "import pytest\nimport base64\nCODE = base64.b64decode(b\"eCA9IDE=\")\n",
                )],
                expected: REFUSED,
            },
            Case {
                what: "e10: an embedded archive",
                edits: &[(
                    "import pytest\n",
                    concat!(
                        "import pytest\nDATA = \"",
                        "UEsDBBQAAAAIAAAAIQDwcGFja2FnZS9fX2luaXRfXy5weVBLAwQUAAAACAAAACEA8HBhY2thZ2UvY29y",
                        "ZS5weVBLAwQUAAAACAAAACEA8HBhY2thZ2UvX19pbml0X18ucHlQSwMEFAAAAAgAAAAhAPBwYWNrYWdl",
                        "L2NvcmUucHlQSwMEFAAAAAgAAAAhAPBwYWNrYWdlL19faW5pdF9fLnB5UEsDBBQAAAAIAAAAIQDwcGFj",
                        "a2FnZS9jb3JlLnB5UEsDBBQAAAAIAAAAIQDwcGFja2FnZS9fX2luaXRfXy5weVBLAwQUAAAACAAAACEA",
                        "8HBhY2thZ2UvY29yZS5weVBLAwQUAAAACAAAACEA8HBhY2thZ2UvX19pbml0X18ucHlQSwMEFAAAAAgA",
                        "\"\n",
                    ),
                )],
                expected: REFUSED,
            },
            Case {
                what: "e11: the tracer switched off",
                edits: &[("import pytest\n", "import pytest\nimport sys\nsys.settrace(None)\n")],
                expected: REFUSED,
            },
            Case {
                what: "e14: the streams replaced",
                edits: &[(
                    "import pytest\n",
                    "import pytest\nimport sys\nsys.stdout = sys.__stdout__\n",
                )],
                expected: REFUSED,
            },
            Case {
                what: "e03: an early exit",
                edits: &[("    value = sum", "    import os; os._exit(0)\n    value = sum")],
                expected: REFUSED,
            },
            Case {
                what: "e05: a hook of pytest",
                edits: &[(
                    "\n\nTABLE",
                    "\n\ndef pytest_runtest_makereport(item, call):\n    pass\n\n\nTABLE",
                )],
                expected: REFUSED,
            },
            Case {
                what: "e17: the network",
                edits: &[("import pytest\n", "import pytest\nimport socket\n")],
                expected: REFUSED,
            },
            Case {
                what: "a package made of a string",
                edits: &[(
                    "import pytest\n",
                    "import pytest\nimport types\nshop = types.ModuleType('shop')\nexec(compile('x = 1', 'shop', 'exec'), vars(shop))\n",
                )],
                expected: REFUSED,
            },
        ],
    );
}

/// A package that compiles texts to modules of which no file exists, under names that no other run has.
const TEMPLATES: Original<'static> = Original {
    files: &[
        (
            "page.py",
            "import types\n\n\ndef module(text):\n    name = 'memory_%x' % id(object())\n    made = types.ModuleType(name)\n    exec(compile(text, name, 'exec'), made.__dict__)\n    return made\n",
        ),
        (
            "test_page.py",
            "from page import module\n\n\ndef test_page():\n    assert module('x = 3').x == 3\n",
        ),
    ],
    command: "pytest test_page.py::test_page",
};

#[test]
fn modules_that_are_made_of_texts_as_the_original_makes_them() {
    let gist = "import types\n\n\ndef module(text):\n    name = 'memory_%x' % id(object())\n    made = types.ModuleType(name)\n    exec(compile(text, name, 'exec'), made.__dict__)\n    return made\n\n\ndef test_page():\n    assert module('x = 3').x == 3\n";
    check_all(
        &TEMPLATES,
        gist,
        &[
            Case {
                what: "as it does",
                edits: &[],
                expected: "fidelity 1, existence 8/8, execution 8/8, test 100, -",
            },
            Case {
                what: "of a file that is written",
                edits: &[("    made = types", "    open(name, 'w').write(text)\n    made = types")],
                expected: REFUSED,
            },
        ],
    );
}

/// Classes, skips and expected failures; methods of one name in several files.
const CLASSES: Original<'static> = Original {
    files: &[
        ("lib/__init__.py", ""),
        (
            "lib/a.py",
            "import logging\n\nlog = logging.getLogger(__name__)\n\n\ndef work(x):\n    log.warning('working on %s', x)\n    if x > 1:\n        return helper(x)\n    return x\n\n\ndef helper(x):\n    return x * 2\n",
        ),
        ("lib/b.py", "def helper(x):\n    y = x\n    return y * 3\n"),
        (
            "tests/test_lib.py",
            "import pytest\nfrom lib.a import work\nfrom lib import b\n\n\nclass Base:\n    def test_base(self):\n        assert work(1) == self.expected\n\n\nclass TestLib(Base):\n    expected = 1\n\n    def test_two(self):\n        assert work(2) == 4\n\n    @pytest.mark.skip(reason='not now')\n    def test_skipped(self):\n        assert work(3) == 7\n        assert work(4) == 7\n\n    @pytest.mark.xfail(reason='wrong')\n    def test_wrong(self):\n        assert b.helper(1) == 1\n        assert False\n",
        ),
    ],
    command: "pytest tests/test_lib.py",
};

const CLASSES_GIST: &str = "import logging\nimport pytest\n\nlog = logging.getLogger(__name__)\n\n\ndef work(x):\n    log.warning('working on %s', x)\n    if x > 1:\n        return helper_a(x)\n    return x\n\n\ndef helper(x):\n    return x * 2\n\n\nhelper_a = helper\n\n\ndef helper(x):\n    y = x\n    return y * 3\n\n\nclass b:\n    helper = helper\n\n\nclass Base:\n    def test_base(self):\n        assert work(1) == self.expected\n\n\nclass TestLib(Base):\n    expected = 1\n\n    def test_two(self):\n        assert work(2) == 4\n\n    @pytest.mark.skip(reason='not now')\n    def test_skipped(self):\n        assert work(3) == 7\n        assert work(4) == 7\n\n    @pytest.mark.xfail(reason='wrong')\n    def test_wrong(self):\n        assert b.helper(1) == 1\n        assert False\n";

#[test]
fn classes_skips_and_collisions() {
    // 31 lines: 3 + work 5 + helper 2 + alias 1 + helper 3 + class b 2 + Base 3 + TestLib 12. Missing are
    // the alias, the call of it and the two lines of the made-up class. Executable are 31 - 2 - 4 lines: no
    // decorators, no bodies of the skipped and the failing test; of them the four missing earn nothing.
    check_all(
        &CLASSES,
        CLASSES_GIST,
        &[
            Case {
                what: "one file of many classes",
                edits: &[],
                expected: "fidelity 1, existence 27/31, execution 21/25, test 100, -",
            },
            Case {
                what: "the reason of a skip",
                edits: &[("reason='not now'", "reason='not yet'")],
                expected: "fidelity 1, existence 26/31, execution 21/25, test 92, -",
            },
            Case {
                what: "another log",
                edits: &[("'working on %s'", "'working at %s'")],
                expected: "fidelity 0, existence 26/31, execution -, test 100, output mismatch",
            },
            Case {
                what: "another level of the log",
                edits: &[("log.warning(", "log.error(")],
                expected: "fidelity 0, existence 26/31, execution -, test 100, output mismatch",
            },
        ],
    );
}

/// A helper of the tests that has the name of what it makes.
const NAMESAKES: Original<'static> = Original {
    files: &[
        ("lib/__init__.py", ""),
        (
            "lib/cart.py",
            "class Cart:\n    def __init__(self, items):\n        self.items = items\n",
        ),
        (
            "test_lib.py",
            "from lib import cart\n\n\ndef Cart(*items):\n    return cart.Cart(list(items))\n\n\ndef test_cart():\n    assert Cart(1, 2).items == [1, 2]\n",
        ),
    ],
    command: "pytest test_lib.py",
};

const NAMESAKES_GIST: &str = "class Cart:\n    def __init__(self, items):\n        self.items = items\n\n\nclass cart:\n    Cart = Cart\n\n\ndef Cart(*items):\n    return cart.Cart(list(items))\n\n\ndef test_cart():\n    assert Cart(1, 2).items == [1, 2]\n";

#[test]
fn a_helper_may_have_the_name_of_what_it_makes() {
    check_all(
        &NAMESAKES,
        NAMESAKES_GIST,
        &[
            Case {
                what: "both, one after the other",
                edits: &[],
                expected: "fidelity 1, existence 7/9, execution 7/9, test 100, -",
            },
            Case {
                what: "the helper does something else",
                edits: &[("cart.Cart(list(items))", "cart.Cart([*items])")],
                expected: REFUSED,
            },
        ],
    );
}
