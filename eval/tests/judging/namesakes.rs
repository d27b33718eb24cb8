//! Classes of one name in several files: which of them a gist has, and what the command names in the end.

use super::{
    bed::Original,
    modules::{Case, HONEST, REFUSED, check},
};

const FILES: &[(&str, &str)] = &[
    ("pkg/__init__.py", ""),
    ("pkg/base.py", "class Kind:\n    def of(self, text):\n        return type(text).__name__\n"),
    (
        "pkg/lib.py",
        "import pkg.base\n\n\nclass Kind(pkg.base.Kind):\n    def of(self, text):\n        return super().of(text)\n",
    ),
    ("tests/__init__.py", ""),
    (
        "tests/test_base.py",
        "import unittest\n\nfrom pkg.lib import Kind\n\n\nclass Case(unittest.TestCase):\n    flag = False\n\n    def check(self, text):\n        assert Kind().of(text) == \"str\"\n        return self.flag\n\n\nclass Test(Case):\n    def test_kind(self):\n        self.check(\"a\")\n",
    ),
    (
        "tests/test_again.py",
        "from tests.test_base import Case, Test as TestBase\n\n\nclass Mixin:\n    flag = True\n\n    def check(self, text):\n        return super().check(text + \"!\")\n\n\nclass Test(Case):\n    flag = True\n\n    def test_other(self):\n        self.check(\"b\")\n\n\nclass TestBase(Mixin, TestBase):\n    \"\"\"Again.\"\"\"\n",
    ),
];

const BASE: &str = "import sys\nimport unittest\npkg = base = sys.modules.get(__name__)\nclass Kind:\n    def of(self, text):\n        return type(text).__name__\nKind_base = Kind\nclass Kind(pkg.base.Kind_base):\n    def of(self, text):\n        return super().of(text)\nclass Case(unittest.TestCase):\n    flag = False\n    def check(self, text):\n        assert Kind().of(text) == \"str\"\n        return self.flag\n";

const MIXIN: &str = "class Mixin:\n    flag = True\n    def check(self, text):\n        return super().check(text + \"!\")\n";

const DERIVED: &str = "class TestBase(Mixin, TestBase):\n    \"\"\"Again.\"\"\"\n";

const END: &str = "Again.\"\"\"\n";

#[test]
fn a_class_of_the_command_is_the_one_of_its_file() {
    let original =
        Original { files: FILES, command: "pytest tests/test_again.py::TestBase::test_kind" };
    let gist = format!(
        "{BASE}class Test(Case):\n    def test_kind(self):\n        self.check(\"a\")\nTestBase = Test\n{MIXIN}{DERIVED}"
    );
    check(
        &original,
        &gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "what it is derived from, in the end",
                edits: &[(END, "Again.\"\"\"\nTestBase = Test\n")],
                expected: REFUSED,
            },
            Case {
                what: "nothing but what it is derived from",
                edits: &[(DERIVED, "")],
                expected: REFUSED,
            },
            Case {
                what: "by way of another name",
                edits: &[(END, "Again.\"\"\"\nTest_base = Test\nTestBase = Test_base\n")],
                expected: REFUSED,
            },
            Case {
                what: "together with others",
                edits: &[(END, "Again.\"\"\"\nAgain = TestBase = Test\n")],
                expected: REFUSED,
            },
            Case {
                what: "under another name",
                edits: &[(
                    DERIVED,
                    "class TestBase_again(Mixin, TestBase):\n    \"\"\"Again.\"\"\"\n",
                )],
                expected: REFUSED,
            },
            Case {
                what: "without what the test asks of a class before it",
                edits: &[("    flag = True\n", "")],
                expected: REFUSED,
            },
            Case {
                what: "with a part of the namesake",
                edits: &[(
                    "class Test(Case):\n",
                    "class Test(Case):\n    def test_other(self):\n        self.check(\"b\")\n",
                )],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn a_namesake_s_part_is_still_missed_in_the_class_itself() {
    let original =
        Original { files: FILES, command: "pytest tests/test_again.py::Test::test_other" };
    let gist = format!(
        "{BASE}class Test(Case):\n    flag = True\n    def test_other(self):\n        self.check(\"b\")\n"
    );
    check(
        &original,
        &gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "without its flag",
                edits: &[("    flag = True\n", "")],
                expected: REFUSED,
            },
            Case {
                what: "with a test of the other's instead",
                edits: &[(
                    "    flag = True\n",
                    "    def test_kind(self):\n        self.check(\"a\")\n",
                )],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn a_fixture_gets_back_its_name() {
    const FILES: &[(&str, &str)] = &[
        ("pkg/__init__.py", ""),
        ("pkg/lib.py", "def tool(text):\n    return text * 2\n"),
        ("conftest.py", "import pytest\n\n\n@pytest.fixture\ndef tool():\n    yield \"a\"\n"),
        (
            "test_tool.py",
            "from pkg.lib import tool as other\n\n\ndef test_tool(tool):\n    assert other(tool) == \"aa\"\n",
        ),
    ];
    const FIXTURE: &str = "@pytest.fixture\ndef tool():\n    yield \"a\"\n";
    const COPY: &str = "tool_conftest = tool\n";
    const TOOL: &str = "def tool(text):\n    return text * 2\n";
    let original = Original { files: FILES, command: "pytest test_tool.py::test_tool" };
    let gist = format!(
        "import pytest\n{FIXTURE}{COPY}{TOOL}other = tool\ntool = tool_conftest\ndef test_tool(tool):\n    assert other(tool) == \"aa\"\n"
    );
    const BACK: &str = "tool = tool_conftest\n";
    check(
        &original,
        &gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "another one than it was",
                edits: &[(BACK, "tool = pytest.fixture(lambda: \"a\")\n")],
                expected: REFUSED,
            },
            Case {
                what: "what was kept of it is bound anew",
                edits: &[(
                    BACK,
                    "tool_conftest = pytest.fixture(lambda: \"a\")\ntool = tool_conftest\n",
                )],
                expected: REFUSED,
            },
            Case {
                what: "what was kept of it was bound before",
                edits: &[(COPY, "tool = pytest.fixture(lambda: \"a\")\ntool_conftest = tool\n")],
                expected: REFUSED,
            },
            Case {
                what: "what was kept of it is bound anew by a loop",
                edits: &[(BACK, "for tool_conftest in (tool,):\n    pass\ntool = tool_conftest\n")],
                expected: REFUSED,
            },
            Case {
                what: "the copy says more",
                edits: &[(COPY, "tool_conftest = kept = tool\n")],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn a_class_does_not_take_the_place_of_the_one_that_tests_mean() {
    const FILES: &[(&str, &str)] = &[
        ("pkg/__init__.py", ""),
        ("pkg/lib.py", "def size(text, strict):\n    return len(text)\n"),
        ("tests/__init__.py", ""),
        (
            "tests/more.py",
            "class Test:\n    strict = False\n\n    def test_size(self):\n        pass\n\n\nclass Config:\n    strict = False\n",
        ),
        (
            "tests/test_size.py",
            "from pkg.lib import size\nfrom tests import more\n\n\nclass Config:\n    strict = True\n\n\nclass Test:\n    strict = True\n\n    def test_size(self):\n        assert size(\"a\", self.strict) == 1\n        assert size(\"a\", Config.strict) == 1\n",
        ),
    ];
    const CONFIG: &str = "class Config:\n    strict = True\n";
    const CLASS: &str = "class Test:\n    strict = True\n";
    let original = Original { files: FILES, command: "pytest tests/test_size.py::Test::test_size" };
    let gist = format!(
        "def size(text, strict):\n    return len(text)\n{CONFIG}{CLASS}    def test_size(self):\n        assert size(\"a\", self.strict) == 1\n        assert size(\"a\", Config.strict) == 1\n"
    );
    check(
        &original,
        &gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "another file's class of the test",
                edits: &[(CLASS, "class Test:\n    strict = False\n")],
                expected: REFUSED,
            },
            Case {
                what: "another file's class that the test asks",
                edits: &[(CONFIG, "class Config:\n    strict = False\n")],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn a_class_is_not_missed_where_nothing_that_stays_means_it() {
    const LIBRARY: &str = "class Base:\n    pass\nclass Case(Base):\n    pass\ndef size(text, strict):\n    return len(text)\n";
    const MIXIN: &str = "class Mixin:\n    def limit(self):\n        return 1\n";
    const TEST: &str = "class TestSize(lib.Case, Mixin):\n    strict = False\n    def test_size(self):\n        assert lib.size(\"a\", self.strict) == self.limit()\n";
    let kit = format!("class Case:\n    strict = True\nclass Rest(Case):\n    pass\n{MIXIN}");
    let test = format!("from pkg import lib\nfrom tests.kit import Mixin\n{TEST}");
    let files = [
        ("pkg/__init__.py", ""),
        ("pkg/lib.py", LIBRARY),
        ("tests/__init__.py", ""),
        ("tests/kit.py", &*kit),
        ("tests/test_size.py", &*test),
    ];
    let original =
        Original { files: &files, command: "pytest tests/test_size.py::TestSize::test_size" };
    check(
        &original,
        &format!("import sys\nlib = sys.modules.get(__name__)\n{LIBRARY}{MIXIN}{TEST}"),
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "what means it is there too",
                edits: &[("class Mixin:\n", "class Rest(Case):\n    pass\nclass Mixin:\n")],
                expected: HONEST,
            },
        ],
    );
}

#[test]
fn a_class_of_the_command_has_no_namesake_s_table() {
    const DOUBLE: (&str, &str) = ("pkg/app.py", "def double(value):\n    return value * 2\n");
    const BASE: &str = "class Base:\n    def test_y(self):\n        for value in self.values:\n            assert double(value) == value + value\n";
    const OWN: &str = "class TestX(Base):\n    values = [7, 8, -3]\n";
    const OTHER: &str = "class TestX(Base):\n    values = [0]\n";
    let (test, other) = (
        format!("from pkg.app import double\n\n\n{BASE}\n\n{OWN}"),
        format!("class Base:\n    pass\n\n\n{OTHER}"),
    );
    let files = [("pkg/__init__.py", ""), DOUBLE, ("conftest.py", &*other), ("test_x.py", &*test)];
    let original = Original { files: &files, command: "pytest test_x.py::TestX::test_y" };
    let gist = format!("{}{BASE}{OWN}", DOUBLE.1);
    const BACK: &str = "class TestX(Base):\n    values = [0]\nTestX_conftest = TestX\nclass TestX(Base):\n    values = [7, 8, -3]\nTestX = TestX_conftest\n";
    check(
        &original,
        &gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case { what: "another's", edits: &[(OWN, OTHER)], expected: REFUSED },
            Case { what: "another's, given back", edits: &[(OWN, BACK)], expected: REFUSED },
        ],
    );
}

#[test]
fn a_class_gets_back_its_name_with_all_that_is_its_own() {
    const OWN: &str = "class Tool:\n    size = 1\n    def run(self):\n        return self.size\n";
    const OTHER: &str = "class Tool:\n    size = 1\n    def run(self):\n        return 2\n";
    const FILES: &[(&str, &str)] = &[
        ("pkg/__init__.py", ""),
        ("pkg/lib.py", OTHER),
        (
            "test_tool.py",
            "from pkg.lib import Tool as Other\n\n\nclass Tool:\n    size = 1\n    def run(self):\n        return self.size\n\n\ndef test_tool():\n    assert (Tool().run(), Other().run()) == (1, 2)\n",
        ),
    ];
    let original = Original { files: FILES, command: "pytest test_tool.py::test_tool" };
    let gist = format!(
        "{OWN}Tool_tests = Tool\n{OTHER}Other = Tool\nTool = Tool_tests\ndef test_tool():\n    assert (Tool().run(), Other().run()) == (1, 2)\n"
    );
    check(
        &original,
        &gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "with a method of another",
                edits: &[("        return self.size\n", "        return 1\n")],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn a_line_may_call_what_it_imports_by_a_longer_name() {
    let original = Original {
        files: &[
            ("lib/__init__.py", "from lib import places as path\n"),
            (
                "lib/places.py",
                "from os.path import exists\n\n\ndef wrap(function):\n    return lambda *names: [function(name) for name in names]\n\n\nisdir = wrap(exists)\n",
            ),
            (
                "tests/test_places.py",
                "from os.path import dirname, isdir\n\nimport lib\n\n\ndef test_isdir():\n    assert lib.path.isdir(dirname(__file__)) == [True]\n\n\ndef test_other():\n    assert isdir(dirname(__file__))\n",
            ),
        ],
        command: "pytest tests/test_places.py::test_isdir",
    };
    const GIST: &str = "import sys\nlib = sys.modules.get(__name__)\nfrom os.path import dirname\nfrom os.path import exists as exists_path\npath = sys.modules.get(__name__)\ndef wrap(function):\n    return lambda *names: [function(name) for name in names]\nisdir = wrap(exists_path)\ndef test_isdir():\n    assert lib.path.isdir(dirname(__file__)) == [True]\n";
    const IMPORT: &str = "from os.path import exists as exists_path\n";
    check(
        &original,
        GIST,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "another part of that module",
                edits: &[(
                    IMPORT,
                    "from os.path import exists as exists_path, exists as exists_lib\n",
                )],
                expected: HONEST,
            },
            Case {
                what: "a name that is no longer one of it",
                edits: &[
                    (IMPORT, "from os.path import exists as path_exists\n"),
                    ("wrap(exists_path", "wrap(path_exists"),
                ],
                expected: HONEST,
            },
            Case {
                what: "what has another value after the import",
                edits: &[(
                    IMPORT,
                    "from os.path import exists as exists_path\nexists_path = bool\n",
                )],
                expected: REFUSED,
            },
            Case {
                what: "a part of that name from another module",
                edits: &[(IMPORT, "from posixpath import exists as exists_path\n")],
                expected: REFUSED,
            },
            Case {
                what: "another line than the original's",
                edits: &[("wrap(exists_path)", "wrap(dirname)")],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn a_class_of_the_package_is_read_under_its_own_imports() {
    let library = "import json\n\n\nclass Reader:\n    kind = json.JSONDecoder\n\n    def read(self, text):\n        return json.loads(text)\n";
    let test = "from pkg import json\n\n\nclass Reader(json.Reader):\n    def read(self, text):\n        return super().read(text + \"]\")\n\n\ndef test_read():\n    assert Reader().read(\"[1\") == [1] and Reader.kind\n";
    let original = Original {
        files: &[("pkg/__init__.py", ""), ("pkg/json.py", library), ("test_read.py", test)],
        command: "pytest test_read.py",
    };
    let gist = "import types\njson = types.ModuleType(\"pkg.json\")\nimport json as json_json\nclass Reader:\n    kind = json_json.JSONDecoder\n    def read(self, text):\n        return json_json.loads(text)\nReader_json = Reader\nvars(json).update(Reader=Reader_json)\nclass Reader(json.Reader):\n    def read(self, text):\n        return super().read(text + \"]\")\ndef test_read():\n    assert Reader().read(\"[1\") == [1] and Reader.kind\n";
    let refused = |what, edits| Case { what, edits, expected: REFUSED };
    check(
        &original,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            refused("another class of the test", &[("text + \"]\"", "text + \" ]\"")]),
            refused("another class of the package", &[("= json_json.JSONDecoder", "= 1")]),
        ],
    );
}

/// Classes that are told their parts after they were made, two of them of one name.
const PARTS: Original<'static> = Original {
    files: &[
        ("pkg/__init__.py", ""),
        ("pkg/one.py", "class Kind:\n    size = 1\n"),
        ("pkg/two.py", "class Kind:\n    size = 2\n"),
        (
            "pkg/lib.py",
            "from pkg import one, two\n\n\nclass Pair:\n    pass\n\n\nPair.parts = (one.Kind(), two.Kind())\n",
        ),
        (
            "test_pair.py",
            "from pkg.lib import Pair\n\n\ndef test_pair():\n    assert [part.size for part in Pair.parts] == [1, 2]\n",
        ),
    ],
    command: "pytest test_pair.py::test_pair",
};

#[test]
fn a_class_of_a_module_is_the_same_under_its_longer_name() {
    let gist = "import sys\none = two = sys.modules.get(__name__)\nclass Kind:\n    size = 1\nKind_one = Kind\nclass Kind:\n    size = 2\nclass Pair:\n    pass\nPair.parts = (one.Kind_one(), two.Kind())\ndef test_pair():\n    assert [part.size for part in Pair.parts] == [1, 2]\n";
    check(
        &PARTS,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "of an object that is no module",
                edits: &[
                    (
                        "Pair.parts = (one.",
                        "class Other:\n    Kind_one = Kind\nPair.parts = (Other.",
                    ),
                    ("== [1, 2]", "== [2, 2]"),
                ],
                expected: REFUSED,
            },
            Case {
                what: "another thing by the object of the module",
                edits: &[
                    ("Pair.parts =", "one.Kind_one = Kind\nPair.parts ="),
                    ("== [1, 2]", "== [2, 2]"),
                ],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn a_class_of_the_tests_gets_its_name_back_from_each_of_the_package() {
    const OWN: &str = "class Tool(one.Tool_one):\n    size = 1\n";
    const FIRST: &str = "class Tool:\n    size = 2\n";
    const THIRD: &str = "class Tool(one.Tool_one):\n    size = 1\n    more = 2\n";
    const SECOND: &str = "class Tool:\n    size = 3\n";
    let original = Original {
        files: &[
            ("pkg/__init__.py", ""),
            ("pkg/one.py", FIRST),
            ("pkg/two.py", SECOND),
            (
                "pkg/three.py",
                "from pkg import one\n\n\nclass Tool(one.Tool):\n    size = 1\n    more = 2\n",
            ),
            ("tests/__init__.py", ""),
            ("tests/mocks.py", "from pkg import one\n\n\nclass Tool(one.Tool):\n    size = 1\n"),
            (
                "tests/test_tool.py",
                "from tests.mocks import Tool\nfrom pkg import one, three, two\n\n\ndef test_tool():\n    assert Tool.size and one.Tool.size and two.Tool.size and three.Tool.size\n",
            ),
        ],
        command: "pytest tests/test_tool.py::test_tool",
    };
    let gist = format!(
        "import sys\nimport types\none = sys.modules.get(__name__)\ntwo = types.ModuleType(\"pkg.two\")\nthree = types.ModuleType(\"pkg.three\")\n{FIRST}Tool_one = Tool\n{OWN}Tool_mocks = Tool\n{THIRD}Tool_three = Tool\nTool = Tool_mocks\nvars(three).update(Tool=Tool_three)\n{SECOND}Tool_two = Tool\nTool = Tool_mocks\nvars(two).update(Tool=Tool_two)\ndef test_tool():\n    assert Tool.size and one.Tool_one.size and two.Tool.size and three.Tool.size\n"
    );
    let refused = |what, edits| Case { what, edits, expected: REFUSED };
    const LAST: &str = "Tool_two = Tool\nTool = Tool_mocks\n";
    check(
        &original,
        &gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            refused("one of the package stays", &[(LAST, "Tool_two = Tool\nTool = Tool_one\n")]),
            refused(
                "one that nobody has",
                &[("class Tool:\n    size = 3\n", "class Tool:\n    size = 4\n")],
            ),
            refused(
                "another in between",
                &[(LAST, "Tool_two = Tool\nTool = bool\nTool = Tool_mocks\n")],
            ),
            refused(
                "one of the package was kept",
                &[("size = 1\nTool_mocks", "size = 1\n    more = 2\nTool_mocks")],
            ),
            refused(
                "what was kept of it is another's",
                &[("Tool_two = Tool\n", "Tool_two = Tool_mocks = Tool\n")],
            ),
        ],
    );
}

#[test]
fn an_annotation_that_nobody_evaluates_may_name_something_else() {
    let base = "from __future__ import annotations\n\nfrom fractions import Fraction as Number\n\n\nclass Base:\n    kind: type[Number]\n\n    def of(self, value: Number) -> int:\n        return int(value)\n";
    let library = "from pkg.base import Base\n\n\nclass Number(Base):\n    size = 2\n";
    let test = "from pkg.lib import Number\n\n\ndef test_of():\n    assert Number().of(\"2\") == Number.size\n";
    let original = Original {
        files: &[
            ("pkg/__init__.py", ""),
            ("pkg/base.py", base),
            ("pkg/lib.py", library),
            ("test_of.py", test),
        ],
        command: "pytest test_of.py::test_of",
    };
    let gist = "from __future__ import annotations\nclass Base:\n    kind: type[Number]\n    def of(self, value: Number) -> int:\n        return int(value)\nclass Number(Base):\n    size = 2\ndef test_of():\n    assert Number().of(\"2\") == Number.size\n";
    const FUTURE: &str = "from __future__ import annotations\n";
    check(
        &original,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "evaluated in the gist",
                edits: &[(FUTURE, "class Number:\n    pass\n")],
                expected: REFUSED,
            },
            Case {
                what: "written as texts",
                edits: &[
                    (FUTURE, ""),
                    ("type[Number]\n", "'type[Number]'\n"),
                    ("value: Number) -> int", "value: 'Number') -> 'int'"),
                ],
                expected: HONEST,
            },
            Case {
                what: "another text",
                edits: &[
                    (FUTURE, ""),
                    ("type[Number]\n", "'type[int]'\n"),
                    ("value: Number) -> int", "value: 'Number') -> 'int'"),
                ],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn an_annotation_that_is_evaluated_is_no_text() {
    let library = "def double(value: int) -> float:\n    return value * 2\n";
    let test = "from pkg.lib import double\n\n\ndef test_double():\n    assert double(1) == 2\n";
    let original = Original {
        files: &[("pkg/__init__.py", ""), ("pkg/lib.py", library), ("test_lib.py", test)],
        command: "pytest test_lib.py::test_double",
    };
    let gist = "def double(value: int) -> float:\n    return value * 2\ndef test_double():\n    assert double(1) == 2\n";
    check(
        &original,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case { what: "as a text", edits: &[("value: int", "value: 'int'")], expected: REFUSED },
        ],
    );
}

#[test]
fn an_import_may_bind_a_name_before_a_class_does() {
    let library = "class Tool:\n    size = 1\n";
    let again = "from pkg.lib import Tool as Kit\n\n\nclass Kit(Kit):\n    def count(self):\n        return self.size\n";
    let original = Original {
        files: &[
            ("pkg/__init__.py", ""),
            ("pkg/lib.py", library),
            ("pkg/again.py", again),
            (
                "test_kit.py",
                "from pkg.again import Kit\n\n\ndef test_kit():\n    assert Kit().count() == 1\n",
            ),
        ],
        command: "pytest test_kit.py::test_kit",
    };
    let gist = "class Tool:\n    size = 1\nKit = Tool\nclass Kit(Kit):\n    def count(self):\n        return self.size\ndef test_kit():\n    assert Kit().count() == 1\n";
    check(
        &original,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "another base",
                edits: &[("Kit = Tool\n", "Kit = object\n")],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn an_annotated_variable_is_bound_where_it_stands() {
    let first = "SIZES: dict[str, int] = {\"a\": 1}\n\n\ndef first():\n    return list(SIZES)\n";
    let second = "SIZES: dict[str, int] = {\"b\": 2}\nALL = dict(SIZES)\n";
    let original = Original {
        files: &[
            ("pkg/__init__.py", ""),
            ("pkg/first.py", first),
            ("pkg/second.py", second),
            (
                "test_sizes.py",
                "from pkg.first import first\nfrom pkg.second import ALL\n\n\ndef test_all():\n    assert ALL == {\"b\": 2}\n    assert first() == [\"a\"]\n",
            ),
        ],
        command: "pytest test_sizes.py::test_all",
    };
    let gist = "SIZES: dict[str, int] = {\"a\": 1}\nSIZES_first = SIZES\ndef first():\n    return list(SIZES_first)\nSIZES: dict[str, int] = {\"b\": 2}\nALL = dict(SIZES)\ndef test_all():\n    assert ALL == {\"b\": 2}\n    assert first() == [\"a\"]\n";
    check(
        &original,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "the value of the other",
                edits: &[("SIZES_first = SIZES\n", ""), ("list(SIZES_first)", "list({\"a\": 1})")],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn the_text_of_an_annotation_follows_the_names_of_the_gist() {
    let first = "import typing\n\n\nclass Item:\n    pass\n\n\ndef make() -> \"list[Item] | Gone\":\n    return typing.get_overloads(make)\n";
    let second = "class Item:\n    size = 1\n\n\nclass Gone:\n    size = 2\n";
    let test = "from pkg.first import Item as First, make\nfrom pkg.second import Gone, Item\n\n\ndef test_make():\n    assert make() == []\n    assert make.__annotations__\n    assert First and Item.size < Gone.size\n";
    let original = Original {
        files: &[
            ("pkg/__init__.py", ""),
            ("pkg/first.py", first),
            ("pkg/second.py", second),
            ("test_make.py", test),
        ],
        command: "pytest test_make.py::test_make",
    };
    let gist = "import typing\nclass Item:\n    pass\ndef make() -> \"list[First] | Gone_first\":\n    return typing.get_overloads(make)\nFirst = Item\nclass Item:\n    size = 1\nclass Gone:\n    size = 2\ndef test_make():\n    assert make() == []\n    assert make.__annotations__\n    assert First and Item.size < Gone.size\n";
    check(
        &original,
        gist,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "another class",
                edits: &[("list[First] | Gone_first", "list[Gone] | Gone_first")],
                expected: REFUSED,
            },
            Case {
                what: "a class where the original has none",
                edits: &[("list[First] | Gone_first", "list[First] | First")],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn a_later_branch_comes_first_under_another_name() {
    const FILES: &[(&str, &str)] = &[
        ("pkg/__init__.py", ""),
        (
            "pkg/compat.py",
            "FLAG = True\n\n\ndef number(value, force=False):\n    if force:\n        raise ValueError(\"no\")\n    elif FLAG:\n        value = value + 0\n    return value\n",
        ),
        ("pkg/other.py", "FLAG = False\n\n\ndef other():\n    return FLAG\n"),
        (
            "tests/test_x.py",
            "from pkg.compat import number\nfrom pkg.other import other\n\n\ndef test_y():\n    assert number(3) == 3 and not other()\n",
        ),
    ];
    const GIST: &str = "FLAG = True\nFLAG_compat = FLAG\ndef number(value, force=False):\n    if FLAG_compat:\n        value = value + 0\n    return value\nFLAG = False\ndef other():\n    return FLAG\ndef test_y():\n    assert number(3) == 3 and not other()\n";
    const BRANCH: &str = "    if FLAG_compat:\n";
    check(
        &Original { files: FILES, command: "pytest tests/test_x.py::test_y" },
        GIST,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "by the other's name",
                edits: &[(BRANCH, "    if FLAG:\n")],
                expected: REFUSED,
            },
            Case {
                what: "turned round",
                edits: &[(BRANCH, "    if not FLAG_compat:\n")],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn glue_may_read_like_a_line_of_its_file() {
    const FILES: &[(&str, &str)] = &[
        ("pkg/__init__.py", ""),
        (
            "pkg/cave.py",
            "from types import ModuleType as _ModuleType\n\nModuleType = _ModuleType\n\n\ndef in_cave(value):\n    return isinstance(value, ModuleType)\n",
        ),
        (
            "pkg/hut.py",
            "from types import ModuleType\n\n\ndef in_hut(value):\n    return isinstance(value, ModuleType)\n",
        ),
        (
            "tests/test_x.py",
            "from pkg.cave import in_cave\nfrom pkg.hut import in_hut\n\n\ndef test_y():\n    assert in_cave(1) == in_hut(1)\n",
        ),
    ];
    const GIST: &str = "from types import ModuleType as _ModuleType\nModuleType = _ModuleType\nModuleType_cave = ModuleType\ndef in_cave(value):\n    return isinstance(value, ModuleType_cave)\nfrom types import ModuleType\ndef in_hut(value):\n    return isinstance(value, ModuleType)\ndef test_y():\n    assert in_cave(1) == in_hut(1)\n";
    const GLUE: &str = "ModuleType_cave = ModuleType\n";
    check(
        &Original { files: FILES, command: "pytest tests/test_x.py::test_y" },
        GIST,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "of another thing",
                edits: &[(GLUE, "ModuleType_cave = str\n")],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn lines_that_stand_in_several_files_are_those_of_their_neighbours() {
    const FILES: &[(&str, &str)] = &[
        ("pkg/__init__.py", ""),
        (
            "pkg/a.py",
            "from logging import getLogger\n\nfrom pkg.b import second\n\nlog = getLogger(\"pkg\")\n\n\ndef other():\n    return log\n",
        ),
        (
            "pkg/b.py",
            "from logging import getLogger\n\nlog = getLogger(\"pkg\")\nSIZE = 2\n\n\ndef second():\n    log.info(\"second\")\n    return SIZE\n",
        ),
        (
            "pkg/c.py",
            "from logging import getLogger\n\nfrom pkg import a\n\nlog = getLogger(\"pkg\")\n\n\ndef third():\n    log.info(\"third\")\n    return 3\n",
        ),
        (
            "tests/test_x.py",
            "from pkg.b import second\nfrom pkg.c import third\n\n\ndef test_y():\n    assert second() + third() == 5\n",
        ),
    ];
    // As a model writes it: no source map says which line is whose.
    const GIST: &str = "from logging import getLogger\nlog = getLogger(\"pkg\")\nlog_b = log\nSIZE = 2\ndef second():\n    log_b.info(\"second\")\n    return SIZE\nlog = getLogger(\"pkg\")\ndef third():\n    log.info(\"third\")\n    return 3\ndef test_y():\n    assert second() + third() == 5\n";
    check(
        &Original { files: FILES, command: "pytest tests/test_x.py::test_y" },
        GIST,
        &[
            Case { what: "as it is", edits: &[], expected: HONEST },
            Case {
                what: "with one line more than files",
                edits: &[(
                    "def test_y",
                    "log = getLogger(\"pkg\")\nlog = getLogger(\"pkg\")\nlog = getLogger(\"pkg\")\ndef test_y",
                )],
                expected: REFUSED,
            },
        ],
    );
}

#[test]
fn a_package_that_is_run_imports_its_own_parts() {
    const FILES: &[(&str, &str)] = &[
        ("pkg/__init__.py", ""),
        ("pkg/__main__.py", "import sys\n\nfrom .cli import main\n\nsys.exit(main())\n"),
        ("pkg/cli.py", "def main():\n    return 3\n"),
    ];
    const GIST: &str = "import sys\ndef main():\n    return 3\nsys.exit(main())\n";
    check(
        &Original { files: FILES, command: "python -m pkg" },
        GIST,
        &[Case { what: "as it is", edits: &[], expected: HONEST }],
    );
}

#[test]
fn a_script_reads_a_name_when_it_runs() {
    const FILES: &[(&str, &str)] = &[
        ("pkg/__init__.py", ""),
        ("pkg/a.py", "def build():\n    return 1\n\n\nclass A:\n    table = {\"build\": build}\n"),
        ("pkg/b.py", "def build():\n    return 2\n\n\nclass B:\n    table = {\"build\": build}\n"),
        (
            "main.py",
            "from pkg.a import A\nfrom pkg.b import B\n\nprint(A.table[\"build\"](), B.table[\"build\"]())\n",
        ),
    ];
    const GIST: &str = "def build():\n    return 1\nclass A:\n    table = {\"build\": build}\ndef build():\n    return 2\nclass B:\n    table = {\"build\": build}\nprint(A.table[\"build\"](), B.table[\"build\"]())\n";
    check(
        &Original { files: FILES, command: "python main.py" },
        GIST,
        &[Case { what: "as it is", edits: &[], expected: HONEST }],
    );
}
