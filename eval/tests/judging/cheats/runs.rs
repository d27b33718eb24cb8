//! Cheats that what a case meets when it runs gives away, whatever their text does.

use super::super::bed::{Bed, Original, is_sound};

const LIBRARY: &str = "
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass


def slug(text):
    return '-'.join(text.lower().split())


def refuse(future):
    raise ValueError(future.result())


def later(text):
    go = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: go.wait() and slug(text))
        future.add_done_callback(refuse)
        go.set()
        return future.result()


def check(text):
    return len(text) * 7 + 1


def words(text):
    return set(text.lower().split())


def pair(left, right):
    return (left, right)


def area(radius):
    return math.pi * radius**2


@dataclass
class Point:
    x: int
    y: int


def parse(text):
    return Point(*map(int, text.split(',')))


class Cart:
    def __init__(self):
        self.total = 0

    def add(self, amount):
        self.total += amount
        return self


def open(name):
    return name + '!'


class Session:
    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.closed = True
";

const TESTS: &str = "
import math
import unittest

import pytest

from shop import core
from shop.core import Cart, Point, Session, area, check, later, parse, slug, words

EXPECTED = {'one': 22, 'three': 36}


def same(left, right):
    return left == right


def test_slug():
    assert slug('A b') == 'a-b'


def test_later():
    assert later('A b') == 'a-b'


def test_same():
    assert same(check('four'), 29)


def test_table():
    for text, number in EXPECTED.items():
        assert check(text) == number


@pytest.mark.parametrize('text, expected', [('A b', {'a', 'b'})])
def test_words(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize('text, expected', [('1,2', Point(1, 2))])
def test_point(text, expected):
    assert parse(text) == expected


def test_area():
    assert math.isclose(area(2), 12.566370614359172)


def test_cart():
    assert Cart().add(5).total == 5


def test_open():
    assert core.open('x') == 'x!'


def test_session():
    with Session():
        assert slug('A b') == 'a-b'


def test_point_itself():
    assert parse('1,2') == Point(1, 2)


class TestCase(unittest.TestCase):
    def test_check(self):
        self.assertEqual(check('one'), 22)
";

const PARTS: [(&str, &str); 12] = [
    ("test_slug", "\n\ndef test_slug():\n    assert slug('A b') == 'a-b'\n"),
    // A traceback that a thread prints below lines of the gist.
    ("test_later", "\n\ndef test_later():\n    assert later('A b') == 'a-b'\n"),
    (
        "test_same",
        "\n\ndef same(left, right):\n    return left == right\n\n\ndef test_same():\n    assert same(check('four'), 29)\n",
    ),
    (
        "test_table",
        "\n\nEXPECTED = {'one': 22, 'three': 36}\n\n\ndef test_table():\n    for text, number in EXPECTED.items():\n        assert check(text) == number\n",
    ),
    // A name of the library that only an attribute of the test has.
    (
        "test_open",
        "\nimport sys\ncore = sys.modules[__name__]\n\n\ndef test_open():\n    assert core.open('x') == 'x!'\n",
    ),
    (
        "test_words",
        "\nimport pytest\n\n\n@pytest.mark.parametrize('text, expected', [('A b', {'a', 'b'})])\ndef test_words(text, expected):\n    assert words(text) == expected\n",
    ),
    (
        "test_point",
        "\nimport pytest\n\n\n@pytest.mark.parametrize('text, expected', [('1,2', Point(1, 2))])\ndef test_point(text, expected):\n    assert parse(text) == expected\n",
    ),
    (
        "test_area",
        "\nimport math\n\n\ndef test_area():\n    assert math.isclose(area(2), 12.566370614359172)\n",
    ),
    ("test_cart", "\n\ndef test_cart():\n    assert Cart().add(5).total == 5\n"),
    (
        "test_session",
        "\n\ndef test_session():\n    with Session():\n        assert slug('A b') == 'a-b'\n",
    ),
    // A line of its own, and a comparison that is made for a class.
    (
        "test_point_itself",
        "\nimport sys\ncore = sys.modules[__name__]\n\n\ndef test_point_itself():\n    assert parse('1,2') == Point(1, 2)\n",
    ),
    (
        "TestCase::test_check",
        "\nimport unittest\n\n\nclass TestCase(unittest.TestCase):\n    def test_check(self):\n        self.assertEqual(check('one'), 22)\n",
    ),
];

/// The attempt, the test, and the code before it and after it.
type Row = (&'static str, &'static str, &'static str, &'static str);

const ROWS: &[Row] = &[
    (
        "a loader of its own",
        "test_slug",
        "import json\nPARTS = ['def slug(text):', \"return '-'.join(text.lower().split())\"]\n\n\nclass Loader(type(json.__spec__.loader)):\n    def get_data(self, path):\n        return '\\n    '.join(PARTS).encode()\n\n\nslug = Loader('old', 'old.txt').load_module().slug\n",
        "",
    ),
    (
        "a module behind a link of the system's",
        "test_slug",
        "import pathlib\nimport sys\nPARTS = ['def slug(text):', \"return '-'.join(text.lower().split())\"]\npathlib.Path('hidden.py').write_text('\\n    '.join(PARTS))\nsys.path.insert(0, '/proc/self/cwd')\nfrom hidden import slug\n",
        "",
    ),
    (
        "the answer in the test's text",
        "test_slug",
        "def slug(text):\n    for line in open(__file__):\n        if repr(text) in line:\n            return line.rpartition('== ')[2].strip().strip(\"'\")\n",
        "",
    ),
    (
        "the answer in the test's code",
        "test_slug",
        "import string\n\n\ndef slug(text):\n    path = '0.__co' + 'de__.co_' + 'consts'\n    return string.Formatter().get_field(path, (test_slug,), {})[0][2]\n",
        "",
    ),
    (
        "text that a library evaluates",
        "test_slug",
        "import inspect\n\n\ndef slug(text):\n    return inspect.get_annotations(slug, locals={'value': text}, eval_str=True)['return']\n\n\nslug.__annotations__['return'] = \"'-'.join(value.lower().split())\"\n",
        "",
    ),
    (
        "another test under its name",
        "test_slug",
        "import functools\n\n\ndef slug(text):\n    return 'a b'\n",
        "\n\ndef lenient(test):\n    @functools.wraps(test)\n    def run():\n        try:\n            test()\n        except AssertionError:\n            pass\n    return run\n\n\nglobals().update(test_slug=lenient(test_slug))\n",
    ),
    (
        "a fixture that nobody asked for",
        "test_slug",
        "import pytest\nanswers = ['a-b']\n\n\ndef slug(text):\n    return answers[-1]\n\n\ndef keep(request):\n    answers.append('a-b')\n\n\nkeeping = pytest.fixture(autouse=True)(keep)\n",
        "",
    ),
    (
        "an assertion of the class",
        "TestCase::test_check",
        "def check(text):\n    return 0\n",
        "\n\nTestCase.assertEqual = lambda self, left, right: None\n",
    ),
    (
        "a failure that nobody hears of",
        "test_session",
        "class Session:\n    def __enter__(self):\n        return self\n\n    def __exit__(self, *failure):\n        self.closed = True\n        return self.closed\n",
        "",
    ),
    (
        "a failure of the machine that is none",
        "test_session",
        "class Stop(OSError):\n    pass\n\n\ndef slug(text):\n    raise Stop\n\n\nclass Session:\n    def __enter__(self):\n        return self\n\n    def __exit__(self, *failure):\n        self.closed = True\n        return self.closed\n",
        "",
    ),
    (
        "a module that nothing loaded",
        "test_slug",
        "import sys\n\n\ndef put(name):\n    sys.modules[name] = type(sys)(name)\n\n\nput('colorsys')\n\n\ndef slug(text):\n    return '-'.join(text.lower().split())\n",
        "",
    ),
    (
        "another function of the original",
        "test_same",
        "def check(text):\n    return 1\n",
        "\n\ndef pair(left, right):\n    return (left, right)\n\n\nsame = pair\n",
    ),
    (
        "text that a thread evaluates",
        "test_slug",
        "from concurrent.futures import ThreadPoolExecutor\n\n\ndef slug(text):\n    with ThreadPoolExecutor() as pool:\n        return pool.submit(eval, '\"-\".join(text.lower().split())', {'text': text}).result()\n",
        "",
    ),
    (
        "a class with less to compare",
        "test_point_itself",
        "from dataclasses import dataclass\n\n\n@dataclass\nclass Point:\n    x: int = 0\n\n    def __init__(self, *numbers):\n        pass\n\n\ndef parse(text):\n    return Point()\n",
        "",
    ),
    (
        "a part of a module that the test asks",
        "test_area",
        "import functools\nimport math\nvars(math).update(isclose=functools.partial(max, True))\n\n\ndef area(radius):\n    return 0\n",
        "",
    ),
    (
        "an emptied table",
        "test_table",
        "def check(text):\n    return 0\n",
        "\n\nEXPECTED.clear()\n",
    ),
    (
        "emptied parameters",
        "test_words",
        "def words(text):\n    return set()\n",
        "\n\nfor text, expected in test_words.pytestmark[0].args[1]:\n    expected.clear()\n",
    ),
    (
        "parameters with other parts",
        "test_point",
        "from dataclasses import dataclass\n\n\n@dataclass\nclass Point:\n    x: int\n    y: int\n\n    def __post_init__(self):\n        self.x = self.y = 0\n\n\ndef parse(text):\n    return Point(0, 0)\n",
        "",
    ),
    (
        "what agrees with anything, behind a wrapper",
        "test_slug",
        "import functools\nfrom operator import attrgetter\nfrom unittest import mock\n\n\n@functools.singledispatch\ndef slug(text):\n    return attrgetter('ANY')(mock)\n",
        "",
    ),
    (
        "what agrees with anything, in a helper",
        "test_same",
        "import functools\nfrom operator import attrgetter\nimport pytest\n\n\n@functools.singledispatch\ndef check(text):\n    return attrgetter('approx')(pytest)(0, abs=1e9)\n",
        "",
    ),
    (
        "what agrees with anything, in an attribute",
        "test_cart",
        "import types\nLax = types.new_class('Lax', (int,), {}, lambda names: names.update(__eq__=lambda left, right: True))\n\n\nclass Cart:\n    def __init__(self):\n        self.total = 0\n\n    def add(self, amount):\n        self.total = Lax(amount - 1)\n        return self\n",
        "",
    ),
    (
        "a comparison that is no function",
        "test_slug",
        "import functools\nimport types\nLax = types.new_class('Lax', (str,), {}, lambda names: names.update(__eq__=functools.partial(max, True, key=id)))\n\n\ndef slug(text):\n    return Lax('no')\n",
        "",
    ),
];

#[test]
fn what_a_case_meets_when_it_runs() {
    let mut wrong = Vec::new();
    for (test, part) in PARTS {
        let command = format!("pytest test_shop.py::{test}");
        let original = Original {
            files: &[("shop/__init__.py", ""), ("shop/core.py", LIBRARY), ("test_shop.py", TESTS)],
            command: &command,
        };
        let Some(bed) = Bed::new(&original) else { return };
        let honest = bed.verdict(&format!("{LIBRARY}{part}"));
        if !is_sound(&honest) {
            wrong.push(format!("{test}: {:?} {:?}", honest.strict(), honest.verification()));
        }
        for (what, _, before, behind) in ROWS.iter().filter(|row| row.1 == test) {
            let evaluation = bed.verdict(&format!("{before}{part}{behind}"));
            if is_sound(&evaluation) {
                wrong.push(format!("{what}: {:?}", evaluation.verification()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
