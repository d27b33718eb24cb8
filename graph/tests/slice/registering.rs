//! What making an object or a class leaves elsewhere is kept where something else reads that.

use super::check;

/// A module that makes something, one that notes it by that, of which `kept` is in the gist, and a function that
/// `reads` what was noted.
#[track_caller]
fn check_noted(makes: &str, notes: &str, reads: &str, kept: &str) {
    let marked = |mark: &str, text: &str| {
        text.trim().lines().map(|line| format!("{mark}{line}\n")).collect::<String>()
    };
    let original = format!(
        "--- pkg/__init__.py\n--- pkg/base.py\n{}+def read():\n*    return {reads}\n--- pkg/kinds.py\n{}\
         --- test_a.py\n+import pkg.kinds\n+from pkg.base import read\n+def test_f():\n*    assert read()\n",
        marked("+", makes),
        marked("+", notes),
    );
    let object = if kept.contains("base.") {
        "+import sys\n+base = sys.modules.get(__name__)\n"
    } else {
        ""
    };
    let gist = format!(
        "{object}{} def read():\n     return {reads}\n{} def test_f():\n     assert read()\n",
        marked(" ", makes),
        marked(" ", kept),
    );
    check(&original, "test_a.py::test_f", &gist);
}

#[test]
fn objects_that_note_themselves() {
    check_noted(
        "
ALL = []
class Option:
    def __init__(self, name):
        self.name = name
        ALL.append(self)
",
        "
from .base import Option
level = Option('level')
",
        "[one.name for one in ALL]",
        "level = Option('level')",
    );
}

#[test]
fn what_only_the_maker_reads_is_no_reason() {
    check_noted(
        "
class Option:
    count = 0
    known = {}
    def __init__(self, name):
        self.order = Option.count
        Option.count += 1
        self.known[name] = self
DEFAULT = Option('default')
",
        "
from .base import Option
level = Option('level')
",
        "DEFAULT.order",
        "",
    );
}

#[test]
fn objects_in_a_table_of_their_class() {
    check_noted(
        "
class Option:
    known = {}
    def __init__(self, name):
        self.known[name] = self
",
        "
from pkg import base
table = {'level': base.Option('level')}
",
        "Option.known",
        "table = {'level': base.Option('level')}",
    );
}

#[test]
fn what_an_object_is_asked_to_note() {
    check_noted(
        "
class Table:
    def __init__(self):
        self.held = []
        self.asked = 0
    def note(self, name):
        self.held.append(name)
        return name
    def pop(self):
        return self.held.pop()
    def ask(self, name):
        self.asked += 1
        return name
TABLE = Table()
",
        "
from .base import TABLE
level = TABLE.note('level')
last = TABLE.pop()
other = TABLE.ask('other')
",
        "TABLE.held",
        "
level = TABLE.note('level')
last = TABLE.pop()
",
    );
}

#[test]
fn classes_that_a_base_notes_in_its_own_table() {
    check_noted(
        "
class Base:
    kinds = []
    def __init_subclass__(cls):
        cls.kinds.append(cls)
",
        "
from .base import Base
class One(Base):
    pass
",
        "Base.kinds",
        "
class One(Base):
    pass
",
    );
}

#[test]
fn what_a_base_gives_to_each_class_is_that_ones() {
    check_noted(
        "
class Base:
    def __init_subclass__(cls):
        cls.kinds = []
        cls.kinds.append(cls)
class First(Base):
    pass
",
        "
from .base import Base
class One(Base):
    pass
",
        "First.kinds",
        "",
    );
}

#[test]
fn classes_of_a_metaclass_that_a_call_gave_their_base() {
    check_noted(
        "
ALL = []
def note(kind):
    ALL.append(kind)
class Meta(type):
    def __new__(cls, name, bases, body):
        new = super().__new__(cls, name, bases, body)
        new.enter()
        return new
    def enter(cls):
        note(cls)
class Base:
    pass
Base = Meta('Base', (Base,), {})
",
        "
from pkg import base
class One(base.Base):
    pass
",
        "ALL",
        "
class One(base.Base):
    pass
",
    );
}

#[test]
fn the_last_class_of_its_bases() {
    check_noted(
        "
class Meta(type):
    def __init__(cls, name, bases, body):
        for base in bases:
            base.last = cls
class Base(metaclass=Meta):
    pass
",
        "
from .base import Base
class One(Base):
    pass
",
        "Base.last",
        "
class One(Base):
    pass
",
    );
}

#[test]
fn classes_that_python_lists_of_a_base_in_a_block() {
    check_noted(
        "
import sys
if sys.version_info > (3,):
    class Base:
        pass
",
        "
from .base import Base
class One(Base):
    pass
class Other:
    pass
",
        "Base.__subclasses__()",
        "
class One(Base):
    pass
",
    );
}

#[test]
fn what_a_class_body_does() {
    check_noted(
        "
ALL = []
class Field:
    def __set_name__(self, owner, name):
        ALL.append(owner)
def note(function):
    ALL.append(function)
    return function
",
        "
from .base import Field, note
class One:
    field = Field()
class Two:
    @note
    def method(self):
        pass
class Three:
    field = 1
",
        "ALL",
        "
class One:
    field = Field()
class Two:
    @note
    def method(self):
        pass
",
    );
}
