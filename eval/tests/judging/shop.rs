//! A small package with tests, and a gist of one of them, which most tables start from.

use super::bed::Original;

/// Modules, a conftest, a helper, a table of parameters; the test has internal imports of its own.
pub const SHOP: Original<'static> = Original {
    files: &[
        (
            "src/shop/__init__.py",
            "'''A shop.'''\nfrom .price import Cart, total\nfrom . import price\n\n__version__ = '1.0'\n",
        ),
        (
            "src/shop/price.py",
            r#"import json, os
from decimal import Decimal

RATES = {"std": 2, "low": 1}


class Cart:
    """What somebody wants to buy."""

    limit = 3

    def __init__(self, items):
        self.items = list(items)

    def add(self, item):
        """Puts a thing in."""
        if len(self.items) >= self.limit:
            raise ValueError("cart is full: %d items" % len(self.items))
        elif not item:
            return None
        else:
            self.items.append(item)
        return item

    def unused(self):
        for item in self.items:
            print(item)
        return os.getcwd()


def rate(kind):
    try:
        return RATES[kind]
    except KeyError:
        return 0


def total(cart, kind="std"):
    value = sum(cart.items) * rate(kind)
    print("total is", value)
    return value


def as_json(cart):
    def plain(item):
        return Decimal(item)

    return json.dumps([plain(item) for item in cart.items])
"#,
        ),
        (
            "tests/conftest.py",
            "import pytest\n\nfrom shop import Cart\n\n\n@pytest.fixture\ndef cart():\n    return Cart([1, 1])\n",
        ),
        (
            "tests/test_price.py",
            r#"import pytest

from shop import total

TABLE = [(1, 6), (2, 8)]


def helper(value):
    assert value is not None
    return value


@pytest.mark.parametrize("extra, expected", TABLE)
def test_total(cart, extra, expected):
    import shop
    from shop.price import rate

    cart.add(extra)
    assert helper(total(cart)) == expected
"#,
        ),
        ("tests/data.txt", "data\n"),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\naddopts = '-ra'\nfilterwarnings = ['error']\n",
        ),
    ],
    command: "pytest tests/test_price.py::test_total",
};

/// The gist of an honest writer.
///
/// Counted by hand: 33 lines of blocks, of which two are decorators; 31 start a physical line.
/// `except` and its body are excluded. That leaves 29 executable lines, all but `raise` and `return
/// None` executed.
pub const GIST: &str = r#"import pytest

RATES = {"std": 2, "low": 1}


class Cart:
    limit = 3

    def __init__(self, items):
        self.items = list(items)

    def add(self, item):
        if len(self.items) >= self.limit:
            raise ValueError("cart is full: %d items" % len(self.items))
        elif not item:
            return None
        else:
            self.items.append(item)
        return item


def rate(kind):
    try:
        return RATES[kind]
    except KeyError:
        return 0


def total(cart, kind="std"):
    value = sum(cart.items) * rate(kind)
    print("total is", value)
    return value


@pytest.fixture
def cart():
    return Cart([1, 1])


TABLE = [(1, 6), (2, 8)]


def helper(value):
    assert value is not None
    return value


@pytest.mark.parametrize("extra, expected", TABLE)
def test_total(cart, extra, expected):
    cart.add(extra)
    assert helper(total(cart)) == expected
"#;
