//! Tests that side effects of creating an object or class are kept if other code reads them.

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

#[test]
fn by_whatever_way_to_the_table() {
    for (makes, notes, reads) in WAYS {
        let (_, kept) = notes.split_once('\n').expect("an import");
        check_noted(makes, notes, reads, kept);
    }
}

/// The code that creates something, the code that registers it, and the code that reads the
/// registry. All of it is kept.
const WAYS: &[(&str, &str, &str)] = &[
    // By a function that makes it.
    (
        "ALL = []\nclass Option:\n    def __init__(self, name):\n        ALL.append(self)\ndef option(name):\n    return Option(name)",
        "from .base import option\nlevel = option('level')",
        "ALL",
    ),
    // Under another name.
    (
        "ALL = []\nclass Option:\n    def __init__(self, name):\n        known = ALL\n        known.append(self)",
        "from .base import Option\nlevel = Option('level')",
        "ALL",
    ),
    // As a default.
    (
        "ALL = []\nclass Option:\n    def __init__(self, name, into=ALL):\n        into.append(self)",
        "from .base import Option\nlevel = Option('level')",
        "ALL",
    ),
    // Given to a function.
    (
        "ALL = []\ndef add(into, what):\n    into.append(what)\nclass Option:\n    def __init__(self, name):\n        add(ALL, self)",
        "from .base import Option\nlevel = Option('level')",
        "ALL",
    ),
    // Classes that a function makes.
    (
        "class Base:\n    kinds = []\n    def __init_subclass__(cls):\n        Base.kinds.append(cls)\ndef make(name):\n    class New(Base):\n        pass\n    return New",
        "from .base import make\nOne = make('One')",
        "Base.kinds",
    ),
    // By `type`.
    (
        "class Base:\n    kinds = []\n    def __init_subclass__(cls):\n        cls.kinds.append(cls)",
        "from .base import Base\nOne = type('One', (Base,), {})",
        "Base.kinds",
    ),
    // By `map`.
    (
        "ALL = []\nclass Option:\n    def __init__(self, name):\n        ALL.append(self)",
        "from .base import Option\nlevels = list(map(Option, 'ab'))",
        "ALL",
    ),
    // In a comprehension.
    (
        "ALL = []\nclass Option:\n    def __init__(self, name):\n        ALL.append(self)",
        "from .base import Option\nlevels = [Option(name) for name in 'ab']",
        "ALL",
    ),
    // Setdefault chain.
    (
        "ALL = {}\nclass Option:\n    def __init__(self, name):\n        ALL.setdefault(name, []).append(self)",
        "from .base import Option\nlevel = Option('level')",
        "ALL",
    ),
    // Class of self.
    (
        "class Option:\n    known = []\n    def __init__(self, name):\n        self.__class__.known.append(self)",
        "from .base import Option\nlevel = Option('level')",
        "Option.known",
    ),
    // A function that gives the table.
    (
        "ALL = []\ndef table():\n    return ALL\nclass Option:\n    def __init__(self, name):\n        table().append(self)",
        "from .base import Option\nlevel = Option('level')",
        "ALL",
    ),
    // Registry object via method that adds.
    (
        "class Table:\n    def __init__(self):\n        self.held = []\n    def note(self, what):\n        self.held.append(what)\nTABLE = Table()\nclass Option:\n    def __init__(self, name):\n        TABLE.note(self)",
        "from .base import Option\nlevel = Option('level')",
        "TABLE.held",
    ),
    // Class decorator of a method of a registry.
    (
        "class Table:\n    def __init__(self):\n        self.held = []\n    def note(self, what):\n        self.held.append(what)\n        return what\nTABLE = Table()",
        "from .base import TABLE\n@TABLE.note\nclass One:\n    pass",
        "TABLE.held",
    ),
    // Decorator with arguments.
    (
        "TABLE = {}\ndef note(name):\n    def inner(what):\n        TABLE[name] = what\n        return what\n    return inner",
        "from .base import note\n@note('one')\nclass One:\n    pass",
        "TABLE",
    ),
    // Partial.
    (
        "import functools\nALL = []\nclass Option:\n    def __init__(self, name):\n        ALL.append(self)\noption = functools.partial(Option, 'x')",
        "from .base import option\nlevel = option()",
        "ALL",
    ),
    // Lambda.
    (
        "ALL = []\nclass Option:\n    def __init__(self, name):\n        ALL.append(self)\noption = lambda name: Option(name)",
        "from .base import option\nlevel = option('a')",
        "ALL",
    ),
    // Class method as constructor.
    (
        "ALL = []\nclass Option:\n    def __init__(self, name):\n        ALL.append(self)\n    @classmethod\n    def named(cls, name):\n        return cls(name)",
        "from .base import Option\nlevel = Option.named('a')",
        "ALL",
    ),
    // Class method that notes.
    (
        "class Option:\n    known = []\n    @classmethod\n    def note(cls, name):\n        cls.known.append(name)\n        return name",
        "from .base import Option\nlevel = Option.note('a')",
        "Option.known",
    ),
    // For loop in function given.
    (
        "ALL = []\nclass Option:\n    def __init__(self, name):\n        for table in (ALL,):\n            table.append(self)",
        "from .base import Option\nlevel = Option('a')",
        "ALL",
    ),
    // Metaclass __call__.
    (
        "ALL = []\nclass Meta(type):\n    def __call__(cls, *args):\n        one = super().__call__(*args)\n        ALL.append(one)\n        return one\nclass Option(metaclass=Meta):\n    pass",
        "from .base import Option\nlevel = Option()",
        "ALL",
    ),
    // Helper method.
    (
        "ALL = []\nclass Option:\n    def __init__(self, name):\n        self.enter()\n    def enter(self):\n        ALL.append(self)",
        "from .base import Option\nlevel = Option('a')",
        "ALL",
    ),
    // Function that changes and returns.
    (
        "ALL = []\ndef new(name):\n    ALL.append(name)\n    return name",
        "from .base import new\nlevel = new('a')",
        "ALL",
    ),
    // Method_given on instance attribute.
    (
        "ALL = {}\nclass Option:\n    def __init__(self, name):\n        self.table = ALL\n        self.table[name] = self",
        "from .base import Option\nlevel = Option('a')",
        "ALL",
    ),
    // Augmented global.
    (
        "ALL = ()\nclass Option:\n    def __init__(self, name):\n        global ALL\n        ALL += (self,)",
        "from .base import Option\nlevel = Option('a')",
        "ALL",
    ),
    // List comprehension effect.
    (
        "ALL = []\ndef note(name):\n    def inner(what):\n        ALL.append(what)\n        return what\n    return inner",
        "from .base import note\nOne = note('x')(str)",
        "ALL",
    ),
    // Decorator that is an object of a class.
    (
        "class note:\n    known = []\n    def __init__(self, what):\n        self.known.append(what)",
        "from .base import note\n@note\ndef one():\n    pass",
        "note.known",
    ),
    // Subclass via __subclasses__ of method.
    (
        "class Base:\n    @classmethod\n    def all(cls):\n        return cls.__subclasses__()",
        "from .base import Base\nclass One(Base):\n    pass",
        "Base.all()",
    ),
    // Decorator object __call__.
    (
        "class Note:\n    def __init__(self):\n        self.known = []\n    def __call__(self, what):\n        self.known.append(what)\n        return what\nnote = Note()",
        "from .base import note\n@note\ndef one():\n    pass",
        "note.known",
    ),
    // Call of object.
    (
        "class Note:\n    def __init__(self):\n        self.known = []\n    def __call__(self, what):\n        self.known.append(what)\n        return what\nnote = Note()",
        "from .base import note\none = note('a')",
        "note.known",
    ),
    // Attribute of an object given.
    (
        "class Table:\n    def __init__(self):\n        self.held = []\nTABLE = Table()\nclass Option:\n    def __init__(self, table):\n        table.held.append(self)",
        "from .base import Option, TABLE\nlevel = Option(TABLE)",
        "TABLE.held",
    ),
    // List given.
    (
        "ALL = []\nclass Option:\n    def __init__(self, table):\n        table.append(self)",
        "from .base import Option, ALL\nlevel = Option(ALL)",
        "ALL",
    ),
    // Setattr on class.
    (
        "class Base:\n    pass\ndef give(kind, name, value):\n    setattr(kind, name, value)\n    return value",
        "from .base import Base, give\nlevel = give(Base, 'one', 1)",
        "Base.one",
    ),
    (
        "class Meta(type):\n    known = []\n    def __init__(cls, *args):\n        cls.known.append(cls)\ndef add_meta(meta):\n    def inner(cls):\n        return meta(cls.__name__, cls.__bases__, {})\n    return inner",
        "from .base import Meta, add_meta\n@add_meta(Meta)\nclass One:\n    pass",
        "Meta.known",
    ),
    (
        "import dataclasses\nALL = []\n@dataclasses.dataclass\nclass Option:\n    name: str\n    def __post_init__(self):\n        ALL.append(self)",
        "from .base import Option\nlevel = Option('a')",
        "ALL",
    ),
    (
        "ALL = []\nclass Option:\n    def __init__(self, name):\n        self.name = name\n    def enter(self):\n        ALL.append(self)\n        return self",
        "from .base import Option\nlevel = Option('a').enter()",
        "ALL",
    ),
    (
        "ALL = []\nclass Option:\n    def __init__(self, items):\n        self.items = items\n        self.items.append(self)",
        "from .base import Option, ALL\nlevel = Option(ALL)",
        "ALL",
    ),
    (
        "ALL = []\nclass Mixin:\n    def __init__(self, name):\n        super().__init__()\n        ALL.append(self)\nclass Option(Mixin, dict):\n    pass",
        "from .base import Option\nlevel = Option('a')",
        "ALL",
    ),
    (
        "ALL = []\ndef add(into, what):\n    into.append(what)\n    return what\ndef new(name):\n    return add(ALL, name)",
        "from .base import new\nlevel = new('a')",
        "ALL",
    ),
    (
        "ALL = []\nclass Option:\n    @staticmethod\n    def note(name):\n        ALL.append(name)\n        return name",
        "from .base import Option\nlevel = Option.note('a')",
        "ALL",
    ),
    (
        "class Table(dict):\n    def __missing__(self, key):\n        self[key] = []\n        return self[key]\nALL = Table()\nclass Option:\n    def __init__(self, name):\n        ALL[name].append(self)",
        "from .base import Option\nlevel = Option('a')",
        "ALL",
    ),
    // By a method of a class that is given the object.
    (
        "class Table:\n    known = []\n    @classmethod\n    def note(cls, one):\n        cls.known.append(one)\n        return one\nclass Option:\n    def __init__(self, name):\n        Table.note(self)",
        "from .base import Option\nlevel = Option('a')",
        "Table.known",
    ),
    // By what a base does to what it is given, where a metaclass is in the way.
    (
        "TABLE = []\nclass Meta(type):\n    def __init__(cls, name, bases, body):\n        pass\nclass Named:\n    def __init__(self, table):\n        table.append(self)\nclass Item(Named, metaclass=Meta):\n    pass",
        "from .base import Item, TABLE\nfirst = Item(TABLE)",
        "TABLE",
    ),
    // By another name of another name.
    (
        "TABLE = {'a': []}\ndef add(one):\n    table = TABLE\n    items = table['a']\n    items.append(one)\n    return one",
        "from .base import add\nfirst = add(1)",
        "TABLE",
    ),
    // By a method at the end of a chain.
    (
        "ALL = []\nclass Builder:\n    def enter(self):\n        ALL.append(self)\n        return self\nclass Option:\n    def __init__(self, name):\n        self.builder = Builder()",
        "from .base import Option\nlevel = Option('a').builder.enter()",
        "ALL",
    ),
];

#[test]
fn what_an_object_sets_of_itself_by_its_bases_is_its_own() {
    check_noted(
        "
class Base:
    def __init__(self, name):
        self.name = name
        self.parts = []
        for part in self.parts:
            part.name = name
class Option(Base):
    def __init__(self, name):
        Base.__init__(self, name)
        self.parts.append(name)
DEFAULT = Option('default')
",
        "
from .base import Option
level = Option('level')
",
        "(DEFAULT.name, DEFAULT.parts)",
        "",
    );
}
