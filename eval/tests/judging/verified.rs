//! The second answer: gists as people and models write them, with the lines that are foreign, and gists that have their
//! answers at hand. A paraphrase stays faithful; what is foreign is named line by line.

use gistify_eval::Linked;
use graph::Glue;

use super::{
    bed::{Bed, Original, edited},
    modules::{Case, HONEST, REFUSED, check},
    shop::{GIST, SHOP},
};

/// A gist as edits of the honest one, and the text of each foreign line; without any it is faithful and verified.
type Row = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

const NONE: &[&str] = &[];

fn check_all(rows: &[Row]) {
    let Some(bed) = Bed::new(&SHOP) else { return };
    let mut wrong = Vec::new();
    let (mut faithful, mut verified) = (0, 0);
    for (what, edits, foreign) in rows {
        let evaluation = bed.verdict(&edited(GIST, edits));
        let is_faithful = evaluation.is_faithful();
        let found = evaluation.verification().expect("an answer");
        faithful += usize::from(is_faithful);
        verified += usize::from(found.verified);
        let texts: Vec<&str> = found.grounded.foreign.iter().map(|one| one.text.as_str()).collect();
        let is_right = match foreign.is_empty() {
            true => is_faithful && found.verified && found.linked == Linked::Holds,
            false => !found.verified,
        };
        if texts != *foreign || !is_right {
            wrong.push(format!("{what}: faithful {is_faithful}, {found:#?}"));
        }
    }
    println!("{} gists: {faithful} faithful, {verified} verified", rows.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn what_stands_in_the_original_is_verified() {
    check_all(&[
        ("as it is", &[], NONE),
        (
            "a docstring",
            &[(
                "    limit = 3\n",
                "    \"\"\"What somebody wants to buy.\"\"\"\n\n    limit = 3\n",
            )],
            NONE,
        ),
        (
            "another docstring",
            &[("    limit = 3\n", "    \"\"\"A cart.\"\"\"\n\n    limit = 3\n")],
            NONE,
        ),
        (
            "an import moved down",
            &[
                ("import pytest\n\nRATES", "RATES"),
                ("@pytest.fixture\n", "import pytest\n\n\n@pytest.fixture\n"),
            ],
            NONE,
        ),
        (
            "an import of the original that nothing needs",
            &[("import pytest\n", "import pytest\nimport json, os\n")],
            NONE,
        ),
        (
            "an import on a line of its own",
            &[("import pytest\n", "import os\nimport pytest\n")],
            NONE,
        ),
        (
            "comments and blank lines",
            &[("    limit = 3\n", "    # at most\n\n    limit = 3  # three\n")],
            NONE,
        ),
        (
            "other quotes and brackets",
            &[("RATES = {\"std\": 2, \"low\": 1}", "RATES = {\n    'std': 2,\n    'low': (1),\n}")],
            NONE,
        ),
        (
            "a branch that never ran left out",
            &[(
                "            raise ValueError(\"cart is full: %d items\" % len(self.items))\n        elif not item:\n            return None\n",
                "            raise ValueError(\"cart is full: %d items\" % len(self.items))\n",
            )],
            NONE,
        ),
        (
            "an else whose branches never ran stands alone",
            &[(
                "        if len(self.items) >= self.limit:\n            raise ValueError(\"cart is full: %d items\" % len(self.items))\n        elif not item:\n            return None\n        else:\n            self.items.append(item)\n",
                "        self.items.append(item)\n",
            )],
            NONE,
        ),
        (
            "a try without its handlers",
            &[(
                "    try:\n        return RATES[kind]\n    except KeyError:\n        return 0\n",
                "    return RATES[kind]\n",
            )],
            NONE,
        ),
        (
            "a function of the original that nobody calls",
            &[("@pytest.fixture\n", "def as_json(cart):\n    pass\n\n\n@pytest.fixture\n")],
            NONE,
        ),
        (
            "the tests first",
            &[
                ("TABLE = [(1, 6), (2, 8)]\n\n\n", ""),
                ("RATES =", "TABLE = [(1, 6), (2, 8)]\n\nRATES ="),
            ],
            NONE,
        ),
        (
            "a name for the module",
            &[(
                "import pytest\n",
                "import pytest\nimport sys\n\nshop = sys.modules.get(__name__)\n",
            )],
            NONE,
        ),
        (
            "the module registered",
            &[(
                "import pytest\n",
                "import pytest\nimport sys\n\nsys.modules[\"shop\"] = sys.modules[\"shop.price\"] = sys.modules.get(__name__)\n",
            )],
            NONE,
        ),
        (
            "an alias that the uses name",
            &[
                ("def total(cart,", "rate_price = rate\n\n\ndef total(cart,"),
                ("* rate(kind)", "* rate_price(kind)"),
            ],
            NONE,
        ),
        (
            "an external module under another name",
            &[("import pytest\n", "import pytest\nimport json as json_price\n")],
            NONE,
        ),
    ]);
}

#[test]
fn what_people_write_is_faithful_and_its_foreign_lines_are_named() {
    check_all(&[
        (
            "a local renamed",
            &[(
                "    value = sum(cart.items) * rate(kind)\n    print(\"total is\", value)\n    return value\n\n\n@",
                "    result = sum(cart.items) * rate(kind)\n    print(\"total is\", result)\n    return result\n\n\n@",
            )],
            &[
                "result = sum(cart.items) * rate(kind)",
                "print(\"total is\", result)",
                "return result",
            ],
        ),
        (
            "a parameter renamed",
            &[(
                "def rate(kind):\n    try:\n        return RATES[kind]",
                "def rate(name):\n    try:\n        return RATES[name]",
            )],
            &["def rate(name):", "return RATES[name]"],
        ),
        (
            "a constant inlined",
            &[("    limit = 3\n\n", ""), ("self.limit", "3")],
            &["if len(self.items) >= 3:"],
        ),
        (
            "a table inlined",
            &[
                ("RATES = {\"std\": 2, \"low\": 1}\n\n\n", ""),
                ("RATES[kind]", "{\"std\": 2, \"low\": 1}[kind]"),
            ],
            &["return {\"std\": 2, \"low\": 1}[kind]"],
        ),
        (
            "a helper merged",
            &[
                (
                    "def rate(kind):\n    try:\n        return RATES[kind]\n    except KeyError:\n        return 0\n\n\n",
                    "",
                ),
                ("* rate(kind)", "* RATES.get(kind, 0)"),
            ],
            &["value = sum(cart.items) * RATES.get(kind, 0)"],
        ),
        (
            "a condition turned round",
            &[("len(self.items) >= self.limit", "not len(self.items) < self.limit")],
            &["if not len(self.items) < self.limit:"],
        ),
        (
            "sides exchanged",
            &[("len(self.items) >= self.limit", "self.limit <= len(self.items)")],
            &["if self.limit <= len(self.items):"],
        ),
        (
            "an f-string",
            &[(
                "\"cart is full: %d items\" % len(self.items)",
                "f\"cart is full: {len(self.items)} items\"",
            )],
            &["raise ValueError(f\"cart is full: {len(self.items)} items\")"],
        ),
        (
            "get for try",
            &[(
                "    try:\n        return RATES[kind]\n    except KeyError:\n        return 0\n",
                "    return RATES.get(kind, 0)\n",
            )],
            &["return RATES.get(kind, 0)"],
        ),
        (
            "an annotation",
            &[("def rate(kind):", "def rate(kind: str) -> int:")],
            &["def rate(kind: str) -> int:"],
        ),
        (
            "an annotated assignment",
            &[("    limit = 3\n", "    limit: int = 3\n")],
            &["limit: int = 3"],
        ),
        (
            "unpacking for a list",
            &[("self.items = list(items)", "self.items = [*items]")],
            &["self.items = [*items]"],
        ),
        (
            "vars for attributes",
            &[("self.items = list(items)", "vars(self).update(items=list(items))")],
            &["vars(self).update(items=list(items))"],
        ),
        (
            "the instance's dict",
            &[("self.items = list(items)", "self.__dict__[\"items\"] = list(items)")],
            &["self.__dict__[\"items\"] = list(items)"],
        ),
        (
            "a method put in from outside",
            &[(
                "    def add(self, item):\n        if",
                "    def add(self, item):\n        pass\n        if",
            )],
            NONE,
        ),
        (
            "a lambda for a function",
            &[(
                "def rate(kind):\n    try:\n        return RATES[kind]\n    except KeyError:\n        return 0\n",
                "rate = lambda kind: RATES.get(kind, 0)\n",
            )],
            &["rate = lambda kind: RATES.get(kind, 0)"],
        ),
        (
            "a helper of the writer's own",
            &[
                ("* rate(kind)", "* _rate(kind)"),
                ("def total(cart,", "def _rate(kind):\n    return rate(kind)\n\n\ndef total(cart,"),
            ],
            &["def _rate(kind):", "return rate(kind)", "value = sum(cart.items) * _rate(kind)"],
        ),
        (
            "an own base class",
            &[
                ("class Cart:", "class _Base:\n    limit = 3\n\n\nclass Cart(_Base):"),
                ("class Cart(_Base):\n    limit = 3\n\n", "class Cart(_Base):\n"),
            ],
            &["class _Base:", "limit = 3", "class Cart(_Base):"],
        ),
        (
            "lines exchanged",
            &[
                ("RATES = {\"std\": 2, \"low\": 1}\n\n\n", ""),
                ("def total(cart,", "RATES = {\"std\": 2, \"low\": 1}\n\n\ndef total(cart,"),
            ],
            &["RATES = {\"std\": 2, \"low\": 1}"],
        ),
        (
            "a line of another block",
            &[(
                "    print(\"total is\", value)\n    return value\n\n\n@",
                "    print(\"total is\", value)\n    assert value is not None\n    return value\n\n\n@",
            )],
            &["assert value is not None"],
        ),
        (
            "a line twice",
            &[(
                "        self.items = list(items)\n",
                "        self.items = list(items)\n        self.items = list(items)\n",
            )],
            &["self.items = list(items)"],
        ),
        (
            "a walrus",
            &[(
                "    value = sum(cart.items) * rate(kind)\n    print(\"total is\", value)\n    return value\n\n\n@",
                "    print(\"total is\", value := sum(cart.items) * rate(kind))\n    return value\n\n\n@",
            )],
            &["print(\"total is\", value := sum(cart.items) * rate(kind))"],
        ),
        (
            "an early return",
            &[(
                "def rate(kind):\n    try:",
                "def rate(kind):\n    if kind == \"std\":\n        return 2\n    try:",
            )],
            &["if kind == \"std\":", "return 2"],
        ),
    ]);
}

/// Row E21: the gist shows the behaviour of the tests by other means than the original's.
#[test]
fn e21_answers_at_hand_are_foreign() {
    check_all(&[
        (
            "a constant",
            &[("    value = sum(cart.items) * rate(kind)\n", "    value = 2 * sum(cart.items)\n")],
            &["value = 2 * sum(cart.items)"],
        ),
        (
            "a table by input",
            &[("sum(cart.items) * rate(kind)", "{3: 6, 4: 8}[sum(cart.items)]")],
            &["value = {3: 6, 4: 8}[sum(cart.items)]"],
        ),
        (
            "a memoised constant",
            &[
                ("def total(cart,", "_KNOWN = {3: 6, 4: 8}\n\n\ndef total(cart,"),
                ("sum(cart.items) * rate(kind)", "_KNOWN[sum(cart.items)]"),
            ],
            &["_KNOWN = {3: 6, 4: 8}", "value = _KNOWN[sum(cart.items)]"],
        ),
        (
            "a broad except",
            &[(
                "    except KeyError:\n        return 0\n",
                "    except Exception:\n        return 2\n",
            )],
            &["except Exception:", "return 2"],
        ),
        (
            "a rate at hand",
            &[("        return RATES[kind]\n", "        return 2\n")],
            &["return 2"],
        ),
        (
            "an early answer",
            &[(
                "    value = sum(cart.items) * rate(kind)\n",
                "    print(\"total is\", sum(cart.items) * 2)\n    return sum(cart.items) * 2\n    value = sum(cart.items) * rate(kind)\n",
            )],
            &["print(\"total is\", sum(cart.items) * 2)", "return sum(cart.items) * 2"],
        ),
        (
            "an object that says yes",
            &[(
                "    print(\"total is\", value)\n    return value\n",
                "    print(\"total is\", value)\n\n    class Yes(int):\n        def __eq__(self, other):\n            return True\n\n        __hash__ = None\n\n    return Yes(value)\n",
            )],
            &[
                "class Yes(int):",
                "def __eq__(self, other):",
                "return True",
                "__hash__ = None",
                "return Yes(value)",
            ],
        ),
        (
            "a class of the gist's own",
            &[
                ("        self.items = list(items)\n", "        self.items = _Items(items)\n"),
                ("class Cart:", "class _Items(list):\n    pass\n\n\nclass Cart:"),
            ],
            &["class _Items(list):", "self.items = _Items(items)"],
        ),
        (
            "a default that answers",
            &[
                ("def rate(kind):", "def rate(kind, known=2):"),
                ("return RATES[kind]", "return known"),
            ],
            &["def rate(kind, known=2):", "return known"],
        ),
        (
            "a dict that answers",
            &[("RATES = {\"std\": 2, \"low\": 1}", "RATES = dict.fromkeys([\"std\", \"low\"], 2)")],
            &["RATES = dict.fromkeys([\"std\", \"low\"], 2)"],
        ),
        (
            "a wrong constant that nothing asks for",
            &[("\"low\": 1", "\"low\": 7")],
            &["RATES = {\"std\": 2, \"low\": 7}"],
        ),
        ("another limit", &[("limit = 3", "limit = 30")], &["limit = 30"]),
        (
            "a function put over another",
            &[("@pytest.fixture\n", "def rate(kind):\n    return 2\n\n\n@pytest.fixture\n")],
            &["def rate(kind):", "return 2"],
        ),
        (
            "a decorator that answers",
            &[("def rate(kind):\n    try", "@lambda f: lambda kind: 2\ndef rate(kind):\n    try")],
            &["@lambda f: lambda kind: 2"],
        ),
        (
            "a method set from outside",
            &[(
                "@pytest.fixture\n",
                "Cart.add = lambda self, item: self.items.append(item)\n\n\n@pytest.fixture\n",
            )],
            &["Cart.add = lambda self, item: self.items.append(item)"],
        ),
        (
            "globals",
            &[("@pytest.fixture\n", "globals()[\"rate\"] = lambda kind: 2\n\n\n@pytest.fixture\n")],
            &["globals()[\"rate\"] = lambda kind: 2"],
        ),
        (
            "setattr",
            &[("@pytest.fixture\n", "setattr(Cart, \"limit\", 9)\n\n\n@pytest.fixture\n")],
            &["setattr(Cart, \"limit\", 9)"],
        ),
        (
            "exec",
            &[("@pytest.fixture\n", "exec(\"def rate(kind): return 2\")\n\n\n@pytest.fixture\n")],
            &["exec(\"def rate(kind): return 2\")"],
        ),
        (
            "chance",
            &[(
                "        return RATES[kind]\n",
                "        return RATES[kind] if __import__(\"os\").urandom(1) else 2\n",
            )],
            &["return RATES[kind] if __import__(\"os\").urandom(1) else 2"],
        ),
        (
            "the clock",
            &[
                ("import pytest\n", "import pytest\nimport time\n"),
                (
                    "        return RATES[kind]\n",
                    "        return RATES[kind] if time.time() else 2\n",
                ),
            ],
            &["return RATES[kind] if time.time() else 2"],
        ),
        (
            "the process",
            &[(
                "        return RATES[kind]\n",
                "        return RATES[kind] if __import__(\"os\").getpid() else 2\n",
            )],
            &["return RATES[kind] if __import__(\"os\").getpid() else 2"],
        ),
        (
            "identity",
            &[("        return RATES[kind]\n", "        return RATES[kind] if id(kind) else 2\n")],
            &["return RATES[kind] if id(kind) else 2"],
        ),
        (
            "the arguments of the test",
            &[(
                "    value = sum(cart.items) * rate(kind)\n",
                "    value = __import__(\"sys\")._getframe(1).f_locals[\"expected\"]\n",
            )],
            &["value = __import__(\"sys\")._getframe(1).f_locals[\"expected\"]"],
        ),
        (
            "a weaker helper",
            &[("    assert value is not None\n    return value\n", "    return value\n")],
            &["def helper(value):"],
        ),
        (
            "a helper that answers",
            &[(
                "    assert value is not None\n    return value\n",
                "    assert value is not None\n    return int(value)\n",
            )],
            &["return int(value)"],
        ),
        (
            "a fixture of another cart",
            &[("    return Cart([1, 1])\n", "    return Cart((1, 1))\n")],
            &["return Cart((1, 1))"],
        ),
        (
            "a table of fewer rows",
            &[("TABLE = [(1, 6), (2, 8)]", "TABLE = [(1, 6), (2, 8)][:2]")],
            &["TABLE = [(1, 6), (2, 8)][:2]"],
        ),
        (
            "a branch taken out of its condition",
            &[(
                "        elif not item:\n            return None\n        else:\n            self.items.append(item)\n        return item\n",
                "        else:\n            self.items.append(item)\n        return None\n",
            )],
            &["return None"],
        ),
        (
            "a handler's answer without its try",
            &[
                (
                    "    try:\n        return RATES[kind]\n    except KeyError:\n        return 0\n",
                    "    return 0\n",
                ),
                ("* rate(kind)", "* 2"),
            ],
            &["return 0", "value = sum(cart.items) * 2"],
        ),
        (
            "an alias of another function",
            &[(
                "def rate(kind):\n    try:\n        return RATES[kind]\n    except KeyError:\n        return 0\n",
                "def rate(kind):\n    try:\n        return RATES[kind]\n    except KeyError:\n        return 0\n\n\ntotal = rate\n",
            )],
            &["total = rate"],
        ),
        (
            "a built-in in the place of a name",
            &[(
                "def helper(value):\n    assert value is not None\n    return value\n",
                "def helper(value):\n    assert value is not None\n    return value\n\n\nhelper = int\n",
            )],
            &["helper = int", "assert helper(total(cart)) == expected"],
        ),
        (
            "a module from outside in the place of a class",
            &[
                ("import pytest\n", "import pytest\nfrom decimal import Decimal as Money\n"),
                ("return RATES[kind]", "return int(Money(RATES[kind]))"),
            ],
            &["return int(Money(RATES[kind]))"],
        ),
        (
            "a module that the original does not load",
            &[("import pytest\n", "import pytest\nimport this\n")],
            &["import this"],
        ),
    ]);
}

#[test]
fn source_lines_that_a_package_shows_around_an_error_are_not_compared() {
    const SHOW: &str = "import linecache\n\n\ndef show(error):\n    trace = error.__traceback__\n    while trace.tb_next:\n        trace = trace.tb_next\n    name = trace.tb_frame.f_code.co_filename\n    for number in range(trace.tb_lineno - 2, trace.tb_lineno + 3):\n        print(number, \"|\", linecache.getline(name, number).rstrip())\n    print(\"shown\")\n";
    const PICK: &str = "    return items[n + 1]\n";
    const RUN: &str = "def run(items, n):\n    try:\n        return pick(items, n)\n    except IndexError as error:\n        show(error)\n        raise\n";
    const TEST: &str = "def test_last():\n    assert run([1, 2], 1) == 2\n";
    let core = format!(
        "from pkg.show import show\n\n\ndef unused(n):\n    return n\n\n\ndef pick(items, n):\n    \"\"\"Returns one of the items.\"\"\"\n    # this line raises\n{PICK}\n\n{RUN}"
    );
    let test = format!("from pkg.core import run\n\n\n{TEST}");
    let files = [
        ("pkg/__init__.py", ""),
        ("pkg/show.py", SHOW),
        ("pkg/core.py", &*core),
        ("tests/test_last.py", &*test),
    ];
    let original = Original { files: &files, command: "pytest tests/test_last.py::test_last" };
    let show = SHOW.replace("\n\n\n", "\n");
    check(
        &original,
        &format!("{show}def pick(items, n):\n{PICK}{RUN}{TEST}"),
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "without the rest of the output",
                edits: &[("    print(\"shown\")\n", "")],
                expected: REFUSED,
            },
            Case {
                what: "without the display",
                edits: &[("        show(error)\n", "        print(\"shown\")\n")],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn a_block_that_runs_late_holds_the_lines_of_its_module_alone() {
    let original = Original {
        files: &[
            ("pkg/__init__.py", ""),
            (
                "pkg/core.py",
                "def go(x):\n    from .heavy import compute\n\n    return compute(x)\n",
            ),
            ("pkg/heavy.py", "print(\"loaded\")\n\n\ndef compute(x):\n    return x * x\n"),
            ("pkg/light.py", "def compute(x):\n    return 9\n"),
            (
                "tests/test_go.py",
                "from pkg import light\nfrom pkg.core import go\n\n\ndef test_go():\n    print(\"before\")\n    assert go(3) == light.compute(3)\n",
            ),
        ],
        command: "pytest tests/test_go.py::test_go",
    };
    let class = Glue::LateModules.render();
    let gist = format!(
        "import sys\nimport types\n{class}\nlight = sys.modules.get(__name__)\ndef compute(x):\n    return 9\ncompute_light = compute\ndef go(x):\n    __import__(\"pkg.heavy\")\n    compute = compute_heavy\n    return compute(x)\ndef test_go():\n    print(\"before\")\n    assert go(3) == light.compute(3)\nif _Late(\"pkg.heavy\"):\n    print(\"loaded\")\n    def compute(x):\n        return x * x\n    compute_heavy = compute\n    compute = compute_light\n"
    );
    let refused = |what, edits| Case { what, edits, expected: REFUSED };
    check(
        &original,
        &gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            refused(
                "a line of another module",
                &[("        return x * x\n", "        return 9\n")],
            ),
            refused("a line of nobody", &[("        return x * x\n", "        return 3 * 3\n")]),
            refused(
                "a module without a block",
                &[("(\"pkg.heavy\")\n    compute", "(\"pkg.light\")\n    compute")],
            ),
            refused(
                "a block of another name",
                &[("if _Late(\"pkg.heavy\")", "if _Late(\"pkg.light\")")],
            ),
            refused(
                "a class that does more",
                &[("        return False\n", "        print()\n        return False\n")],
            ),
            refused(
                "a block that runs at once",
                &[("if _Late(\"pkg.heavy\")", "if not _Late(\"pkg.heavy\")")],
            ),
        ],
    );
}
