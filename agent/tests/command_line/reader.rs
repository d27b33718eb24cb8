//! A program that reads: it writes a faithful gist from what the replies of view, search, relate and edit
//! hold, and brings no knowledge of the repository. Its tokens on real tasks measure the tools.

use std::path::Path;

use super::{User, python, read_gist};

const PACKAGE: &str = "\
#- pkg/__init__.py
from .core import Cart as Cart
#- pkg/core.py
import json
from .rates import RATE, convert


class Base:
    kind = 'base'

    def total(self):
        '''The sum.'''
        return convert(sum(self.items))

    def unused(self):
        return json.dumps(self.items)


class Cart(Base):
    def __init__(self, items):
        self.items = items
#- pkg/rates.py
RATE = 2


def convert(amount):
    from .log import note as noted
    noted(amount)
    return amount * RATE
#- pkg/log.py
NOTES = []


def note(amount):
    NOTES.append(amount)
#- tests/conftest.py
import pytest

import pkg
from pkg import log


@pytest.fixture
def cart(items):
    return pkg.Cart(items)


@pytest.fixture
def items():
    return [1, 2]


@pytest.fixture(autouse=True)
def no_notes():
    yield
    log.NOTES.clear()
#- tests/test_cart.py
class TestCart:
    def test_total(self, cart):
        assert cart.total() == 6

    def test_other(self):
        assert False
";

#[test]
fn a_reader_writes_a_faithful_gist_from_replies_alone() {
    let Some(python) = python() else { return };
    let user = User::new();
    user.repository("small", PACKAGE);
    let reader = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reader/reader.py");
    let model = format!("command/{python} {}", reader.display());
    let ran = user.gistify(&[
        "run",
        "small",
        "--python",
        &python,
        "-m",
        &model,
        "--scaffold",
        "repomaster",
        "--",
        "pytest",
        "tests/test_cart.py::TestCart::test_total",
    ]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    let gist = read_gist(&user.here().join("concise.py"));
    assert!(!gist.contains("unused") && !gist.contains("test_other"), "{gist}");
}
