//! Statements that act on something are kept only where that is needed.

use super::check;

#[test]
fn changes_of_what_is_needed_are_kept_and_others_go() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+TABLE = {}
+OTHER = {}
+TABLE.update(a=1)
+OTHER.update(b=2)
+TABLE['c'] = 3
+OTHER['d'] = 4
+for key in ('e', 'f'):
+    TABLE[key] = key
+def work():
*    return TABLE
+work.limit = 5
+class Unused:
+    pass
+Unused.limit = 6
--- test_a.py
+from pkg.mod import work
+def test_f():
*    assert work()
",
        "test_a.py::test_f",
        "
 TABLE = {}
 TABLE.update(a=1)
 TABLE['c'] = 3
 for key in ('e', 'f'):
     TABLE[key] = key
 def work():
     return TABLE
 work.limit = 5
 def test_f():
     assert work()
",
    );
}

#[test]
fn a_change_by_another_module_is_kept() {
    check(
        "
--- pkg/__init__.py
+from . import table, more
--- pkg/table.py
+TABLE = {}
+def work():
*    return TABLE
--- pkg/more.py
+from .table import TABLE
+from pkg import table
+TABLE['more'] = 1
+table.TABLE['other'] = 2
--- test_a.py
+from pkg.table import work
+def test_f():
*    assert len(work()) == 2
",
        "test_a.py::test_f",
        "
+import sys
+table = sys.modules.get(__name__)
 TABLE = {}
 def work():
     return TABLE
 TABLE['more'] = 1
 table.TABLE['other'] = 2
 def test_f():
     assert len(work()) == 2
",
    );
}

#[test]
fn a_decorator_changes_nothing_by_what_it_only_wraps() {
    check(
        "
--- pkg/__init__.py
--- pkg/state.py
+DEPTH = {}
+def checked(limit):
+    def decorator(function):
+        def wrapper(x):
+            DEPTH['now'] = limit
+            return function(x)
+        wrapper.limit = limit
+        return wrapper
+    return decorator
--- pkg/used.py
+from .state import checked
+import pkg.idle
+@checked(1)
+def used(x):
+    return x
+FIRST = used(2)
--- pkg/idle.py
+from .state import checked
+@checked(1)
+def idle(x):
-    return x
--- test_a.py
+from pkg.used import used
+def test_f():
*    assert used(1)
",
        "test_a.py::test_f",
        "
 DEPTH = {}
 def checked(limit):
     def decorator(function):
         def wrapper(x):
             DEPTH['now'] = limit
             return function(x)
         wrapper.limit = limit
         return wrapper
     return decorator
 @checked(1)
 def used(x):
     return x
 def test_f():
     assert used(1)
",
    );
}

#[test]
fn a_decorator_changes_nothing_by_what_only_ran_in_tests() {
    check(
        "
--- pkg/__init__.py
--- pkg/state.py
+TABLE = {}
+READY = []
+def note(function):
+    if READY:
*        TABLE['now'] = function
+    return function
--- pkg/used.py
+from .state import note, READY, TABLE
+import pkg.idle
+def used():
*    READY.append(1)
*    note(used)
*    return TABLE
--- pkg/idle.py
+from .state import note
+@note
+def idle(x):
-    return x
--- test_a.py
+from pkg.used import used
+def test_f():
*    assert used()
",
        "test_a.py::test_f",
        "
 TABLE = {}
 READY = []
 def note(function):
     if READY:
         TABLE['now'] = function
     return function
 def used():
     READY.append(1)
     note(used)
     return TABLE
 def test_f():
     assert used()
",
    );
}

#[test]
fn a_registering_decorator_keeps_what_it_registers_once_the_registry_is_needed() {
    check(
        "
--- pkg/__init__.py
--- pkg/registry.py
+REGISTRY = {}
+def register(name):
+    def decorate(function):
+        REGISTRY[name] = function
+        return function
+    return decorate
+def call(name):
*    return REGISTRY[name]()
+UNNEEDED = []
+def note(function):
+    UNNEEDED.append(function)
+    return function
--- pkg/plugins.py
+from .registry import register, note
+@register('one')
+def one():
*    return 1
+@register('two')
+def two():
-    return 2
+@note
+def three():
-    return 3
--- test_a.py
+import pkg.plugins
+from pkg.registry import call
+def test_f():
*    assert call('one') == 1
",
        "test_a.py::test_f",
        "
 REGISTRY = {}
 def register(name):
     def decorate(function):
         REGISTRY[name] = function
         return function
     return decorate
 def call(name):
     return REGISTRY[name]()
 @register('one')
 def one():
     return 1
 @register('two')
 def two():
     return 2
 def test_f():
     assert call('one') == 1
",
    );
}

#[test]
fn a_subclass_that_its_base_notes_is_kept() {
    check(
        "
--- pkg/__init__.py
--- pkg/base.py
+KINDS = []
+class Base:
+    def __init_subclass__(cls):
+        KINDS.append(cls.__name__)
+def kinds():
*    return KINDS
--- pkg/kinds.py
+from .base import Base
+class One(Base):
+    pass
+class Two:
+    pass
--- test_a.py
+import pkg.kinds
+from pkg.base import kinds
+def test_f():
*    assert kinds() == ['One']
",
        "test_a.py::test_f",
        "
 KINDS = []
 class Base:
     def __init_subclass__(cls):
         KINDS.append(cls.__name__)
 def kinds():
     return KINDS
 class One(Base):
     pass
 def test_f():
     assert kinds() == ['One']
",
    );
}

#[test]
fn a_class_that_its_metaclass_notes_is_kept() {
    check(
        "
--- pkg/__init__.py
--- pkg/meta.py
+class Meta(type):
+    def __init__(cls, name, bases, body):
+        NAMES.append(name)
+NAMES = []
+class Noted(metaclass=Meta):
+    pass
+def names():
*    return NAMES
--- test_a.py
+from pkg.meta import names
+def test_f():
*    assert names() == ['Noted']
",
        "test_a.py::test_f",
        "
 class Meta(type):
     def __init__(cls, name, bases, body):
         NAMES.append(name)
 NAMES = []
 class Noted(metaclass=Meta):
     pass
 def names():
     return NAMES
 def test_f():
     assert names() == ['Noted']
",
    );
}

#[test]
fn a_call_that_sets_an_attribute_of_something_needed_is_kept() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+class Box:
+    pass
+class Other:
+    pass
+setattr(Box, 'limit', 3)
+def install(target):
+    target.extra = 4
+install(Box)
+def work():
*    return Box.limit + Box.extra
--- test_a.py
+from pkg.mod import work
+def test_f():
*    assert work() == 7
",
        "test_a.py::test_f",
        "
 class Box:
     pass
 setattr(Box, 'limit', 3)
 def install(target):
     target.extra = 4
 install(Box)
 def work():
     return Box.limit + Box.extra
 def test_f():
     assert work() == 7
",
    );
}

#[test]
fn a_call_with_unknown_effects_is_kept() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+import logging
+import warnings
+warnings.simplefilter('ignore')
+logging.getLogger(__name__).addHandler(logging.NullHandler())
+print
+'a string'
+...
+def work():
*    return 1
--- test_a.py
+from pkg.mod import work
+def test_f():
*    assert work() == 1
",
        "test_a.py::test_f",
        "
 import logging
 import warnings
 warnings.simplefilter('ignore')
 logging.getLogger(__name__).addHandler(logging.NullHandler())
 def work():
     return 1
 def test_f():
     assert work() == 1
",
    );
}

#[test]
fn a_call_that_changes_a_needed_global_is_kept() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+CACHE = []
+COUNT = 0
+def fill(x):
+    CACHE.append(x)
+def count():
-    global COUNT
+    COUNT += 1
+fill(1)
+count()
+def work():
*    return CACHE
--- test_a.py
+from pkg.mod import work
+def test_f():
*    assert work() == [1]
",
        "test_a.py::test_f",
        "
 CACHE = []
 def fill(x):
     CACHE.append(x)
 fill(1)
 def work():
     return CACHE
 def test_f():
     assert work() == [1]
",
    );
}

#[test]
fn a_change_of_a_name_of_another_module_waits_for_that_name() {
    check(
        "
--- pkg/__init__.py
--- pkg/table.py
+__all__ = ['work']
+LIMIT = 1
+STEPS = []
+def work():
*    return LIMIT
--- pkg/more.py
+from pkg import table
+table.__all__ += ['more']
+table.STEPS.append(1)
+table.LIMIT = 2
--- test_a.py
+import pkg.more
+from pkg.table import work
+def test_f():
*    assert work() == 2
",
        "test_a.py::test_f",
        "
+import sys
+table = sys.modules.get(__name__)
 LIMIT = 1
 def work():
     return LIMIT
 table.LIMIT = 2
 def test_f():
     assert work() == 2
",
    );
}

#[test]
fn what_a_module_puts_in_its_own_place_is_left_out() {
    check(
        "
--- trace
holds pkg.lazy make function pkg.real:make
--- pkg/__init__.py
--- pkg/real.py
+def make():
*    return 1
--- pkg/lazy.py
+import sys, types
+class Lazy(types.ModuleType):
+    def __getattr__(self, name):
*        from pkg.real import make
*        setattr(self, name, make)
*        return make
+old = sys.modules[__name__]
+new = Lazy(__name__)
+new.__dict__.update(old.__dict__)
+sys.modules[__name__] = new
+del new.new, new.old, new.sys
--- test_a.py
+from pkg.lazy import make
+def test_f():
*    assert make() == 1
",
        "test_a.py::test_f",
        "
 import types
 class Lazy(types.ModuleType):
     def __getattr__(self, name):
         setattr(self, name, make)
         return make
 def test_f():
     assert make() == 1
 def make():
     return 1
",
    );
}

#[test]
fn what_is_put_into_a_test_class_behind_it_is_kept() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+class Context:
+    def restore(self):
*        return 1
--- test_a.py
+from pkg.mod import Context
+class TestIt:
+    context = None
+    def test_f(self):
*        assert self.context.restore()
+class TestOther:
+    context = None
+TestIt.context = Context()
+TestOther.context = Context()
+def test_g():
-    pass
+test_g.mark = 1
",
        "test_a.py::TestIt::test_f",
        "
 class Context:
     def restore(self):
         return 1
 class TestIt:
     context = None
     def test_f(self):
         assert self.context.restore()
 TestIt.context = Context()
",
    );
}

#[test]
fn what_tests_change_outside_is_kept_where_the_gist_uses_the_same_module() {
    check(
        r#"
--- adjustments
{"side_effects": false}
--- pkg/__init__.py
--- pkg/mod.py
+import random
+random.seed(2)
+def work():
*    return random.random()
--- test_a.py
+import logging
+import random
+from locale import setlocale
+from pkg.mod import work
+import numpy
+numpy.seterr(1)
+numpy.random.seed(1)
+numpy.linalg.use(1)
+numpy.ndarray.sort(1)
+random.seed(1)
+logging.disable(10)
+setlocale(0)
+with numpy.errstate() as state:
+    state.note(1)
+with logging.scope() as other:
+    other.note(2)
+xs = [1]
+def test_f():
*    assert work() and xs and numpy.random.rand()
--- trace
external numpy
external numpy.random
external numpy.linalg
"#,
        "test_a.py::test_f",
        "
 import random
 def work():
     return random.random()
 import numpy
 numpy.seterr(1)
 numpy.random.seed(1)
 numpy.ndarray.sort(1)
 random.seed(1)
 with numpy.errstate() as state:
     state.note(1)
 xs = [1]
 def test_f():
     assert work() and xs and numpy.random.rand()
",
    );
}

#[test]
fn what_gives_a_class_tests_is_kept_with_it() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+class Interface:
+    dependents = [1]
+noted = []
+def note(what):
+    noted.append(what)
--- tests/__init__.py
+from pkg.mod import Interface, note
+def found(predicate=lambda one: True):
+    seen = set()
+    stack = list(Interface.dependents)
+    while stack:
+        one = stack.pop(0)
+        seen.add(one)
+        yield one
+def add(cls, module):
+    note(module)
+    def predicate(one):
-        return one == module
+    add_all(cls, found(predicate))
+def add_all(cls, all):
+    cls.size = None
+    for one in all:
+        def test(self, one=one):
!            self.assertTrue(one)
+        name = f'test_{one}'
+        assert not hasattr(cls, name)
+        setattr(cls, name, test)
--- tests/test_a.py
+import unittest
+from . import add
+class TestIt(unittest.TestCase):
+    pass
+add(TestIt, 1)
",
        "tests/test_a.py::TestIt::test_1",
        "
 import unittest
 class Interface:
     dependents = [1]
 noted = []
 def note(what):
     noted.append(what)
 def found(predicate=lambda one: True):
     seen = set()
     stack = list(Interface.dependents)
     while stack:
         one = stack.pop(0)
         seen.add(one)
         yield one
 def add(cls, module):
     note(module)
     def predicate(one):
         return one == module
     add_all(cls, found(predicate))
 def add_all(cls, all):
     cls.size = None
     for one in all:
         def test(self, one=one):
             self.assertTrue(one)
         name = f'test_{one}'
         assert not hasattr(cls, name)
         setattr(cls, name, test)
 class TestIt(unittest.TestCase):
     pass
 add(TestIt, 1)
",
    );
}

#[test]
fn what_a_decorator_put_in_the_place_of_a_function_is_not_that() {
    let check = |name: &str, held: &str, glue: &str| {
        let files = "
--- pkg/__init__.py
--- pkg/mod.py
+import sys
+def use(function):
+    sys._getframe(1).f_globals[function.__name__ + 'Py'] = function
+    return len
+@use
+def size(value):
*    return 0
--- test_a.py
+from pkg.mod import sizePy
+def test_f():
*    assert sizePy([1]) == 0
--- trace
holds pkg.mod sizePy NAME
holds pkg.mod size HELD
";
        let expected = "
 import sys
 def use(function):
     sys._getframe(1).f_globals[function.__name__ + 'Py'] = function
     return len
 @use
 def size(value):
     return 0
GLUE def test_f():
     assert sizePy([1]) == 0
";
        let (files, expected) =
            (files.replace("HELD", held).replace("NAME", name), expected.replace("GLUE", glue));
        super::harness::check(&files, "test_a.py::test_f", &expected);
    };
    let function = "function pkg.mod:size";
    check(function, function, "+sizePy = size\n");
    check(function, "other builtin_function_or_method", "");
}

#[test]
fn a_name_that_a_module_has_for_another_thing_is_the_one_of_an_import_there() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+def run(value):
-    return 5
+def main(value):
*    return value + 1
--- test_a.py
+from pkg.mod import main as run
+def test_f():
*    assert run(1) == 2
--- trace
holds pkg.mod run function pkg.mod:run
holds pkg.mod main function pkg.mod:main
",
        "test_a.py::test_f",
        "
 def main(value):
     return value + 1
+run = main
 def test_f():
     assert run(1) == 2
",
    );
}

#[test]
fn a_block_that_may_do_more_changes_what_it_is_seen_to_change() {
    check(
        "
--- pkg/__init__.py
--- pkg/inner/__init__.py
--- pkg/inner/more.py
+def start():
-    return 1
--- pkg/mod.py
+TABLE = {'a': 1}
+CHOSEN = 'a'
+if TABLE is not None:
+    TABLE['b'] = 2
+    from .inner import more
+    TABLE['c'] = 2
+    CHOSEN = 'b'
+def register(name, value, chosen=False):
*    TABLE[name] = value
*    if chosen:
         global CHOSEN
         CHOSEN = name
--- test_a.py
+from pkg.mod import TABLE, register
+def test_f():
*    register('c', 3)
*    assert 'c' in TABLE
",
        "test_a.py::test_f",
        "
+import sys
+more = sys.modules.get(__name__)
 TABLE = {'a': 1}
 if TABLE is not None:
     TABLE['b'] = 2
     TABLE['c'] = 2
     CHOSEN = 'b'
 def register(name, value, chosen=False):
     TABLE[name] = value
 def test_f():
     register('c', 3)
     assert 'c' in TABLE
",
    );
}

#[test]
fn a_call_whose_effect_leaves_the_program_is_kept() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+import os, json
+def setup():
+    put = os.environ
+    put['A'] = 'b'
+class Table(dict):
+    def __init__(self):
+        print('made')
+def fill():
+    TABLE['x'] = json.loads('1')
+TABLE = {}
+_done = setup()
+_made = json.loads('1')
+_table = Table()
+fill()
+def work():
*    return 1
--- test_a.py
+from pkg.mod import work
+def test_f():
*    assert work()
",
        "test_a.py::test_f",
        "
 import os
 import json
 def setup():
     put = os.environ
     put['A'] = 'b'
 class Table(dict):
     def __init__(self):
         print('made')
 def fill():
     TABLE['x'] = json.loads('1')
 TABLE = {}
 _done = setup()
 _table = Table()
 fill()
 def work():
     return 1
 def test_f():
     assert work()
",
    );
}
