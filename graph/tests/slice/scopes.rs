//! Builtins, locals, class bodies and loops around a name that two modules define.

use super::check;

#[test]
fn a_shadowed_builtin_is_shadowed_for_its_module_only() {
    check(
        "
--- pkg/__init__.py
--- pkg/files.py
+def open(name):
*    return name
+def read():
*    return open('f')
--- pkg/plain.py
+def plain():
*    return open.__name__
--- test_a.py
+from pkg.files import read
+from pkg.plain import plain
+def test_f():
*    assert (read(), plain()) == ('f', 'open')
",
        "test_a.py::test_f",
        "
+open_builtin = open
 def open(name):
     return name
 def read():
     return open('f')
 def plain():
~    return open_builtin.__name__
 def test_f():
     assert (read(), plain()) == ('f', 'open')
",
    );
}

#[test]
fn a_name_that_stands_for_its_own_builtin_is_that_builtin() {
    check(
        "
--- pkg/__init__.py
--- pkg/compat.py
+str = str
+bytes = bytes
+basestring = (str, bytes)
--- pkg/use.py
+from .compat import basestring, str
+def use(x):
*    return isinstance(x, basestring) and isinstance(x, str)
--- test_a.py
+from pkg.use import use
+def test_f():
*    assert use('')
",
        "test_a.py::test_f",
        "
 basestring = (str, bytes)
 def use(x):
     return isinstance(x, basestring) and isinstance(x, str)
 def test_f():
     assert use('')
",
    );
}

#[test]
fn a_local_of_the_same_name_is_left_alone() {
    check(
        "
--- pkg/__init__.py
--- pkg/one.py
+def size():
*    return 1
+def one(items=(1,)):
*    total = [size for size in items]
*    def inner(size):
*        return size
*    keep = lambda size=1: size
*    return size() + inner(1) + keep() + len(total)
--- pkg/two.py
+def size():
*    return 2
+def two():
*    return size()
--- test_a.py
+from pkg.one import one
+from pkg.two import two
+def test_f():
*    assert one() + two() == 6
",
        "test_a.py::test_f",
        "
 def size():
     return 1
+size_one = size
 def one(items=(1,)):
     total = [size for size in items]
     def inner(size):
         return size
     keep = lambda size=1: size
~    return size_one() + inner(1) + keep() + len(total)
 def size():
     return 2
 def two():
     return size()
 def test_f():
     assert one() + two() == 6
",
    );
}

#[test]
fn what_a_global_statement_stores_is_the_module_s_own() {
    check(
        "
--- pkg/__init__.py
--- pkg/one.py
+state = 1
+def set_one():
-    global state
*    state = 10
+def get_one():
*    return state
--- pkg/two.py
+state = 2
+def get_two():
*    return state
--- test_a.py
+from pkg.one import set_one, get_one
+from pkg.two import get_two
+def test_f():
*    set_one()
*    assert get_one() + get_two() == 12
",
        "test_a.py::test_f",
        "
 state = 1
+state_one = state
 def set_one():
~    global state_one
~    state_one = 10
 def get_one():
~    return state_one
 state = 2
 def get_two():
     return state
 def test_f():
     set_one()
     assert get_one() + get_two() == 12
",
    );
}

#[test]
fn a_name_in_a_class_body_may_be_its_own_or_a_global() {
    check(
        "
--- pkg/__init__.py
--- pkg/one.py
+def tag():
+    return 1
+class One:
+    first = tag()
+    tag = tag
+    def get(self):
*        return self.first, tag
--- pkg/two.py
+def tag():
*    return 2
--- test_a.py
+from pkg.one import One
+from pkg.two import tag
+def test_f():
*    assert One().get()[0] + tag() == 3
",
        "test_a.py::test_f",
        "
 def tag():
     return 1
+tag_one = tag
 class One:
     first = tag()
     tag = tag
     def get(self):
~        return self.first, tag_one
 def tag():
     return 2
 def test_f():
     assert One().get()[0] + tag() == 3
",
    );
}

#[test]
fn two_meanings_inside_a_test_need_an_object() {
    check(
        "
--- pkg/__init__.py
+from .errors import Error
--- pkg/compat.py
+class Error(Exception):
+    code = 1
--- pkg/errors.py
+from .compat import Error as CompatError
+class Error(CompatError):
+    code = 2
--- test_a.py
+import pkg
+from pkg import compat
+def test_f():
*    assert (pkg.Error.code, compat.Error.code) == (2, 1)
",
        "test_a.py::test_f",
        "
+import sys
+import types
+pkg = sys.modules.get(__name__)
+compat = types.ModuleType(\"pkg.compat\")
 class Error(Exception):
     code = 1
+Error_compat = Error
+CompatError = Error
+vars(compat).update(Error=Error_compat)
 class Error(CompatError):
     code = 2
 def test_f():
     assert (pkg.Error.code, compat.Error.code) == (2, 1)
",
    );
}

#[test]
fn a_module_called_as_its_function_needs_an_object() {
    check(
        "
--- pkg/__init__.py
--- pkg/diff.py
+def diff(value):
*    return value and diff(value - 1)
--- test_a.py
+from pkg import diff
+def test_f():
*    assert diff.diff(1) == 0
",
        "test_a.py::test_f",
        "
+import types
+diff = diff_diff_ = types.ModuleType(\"pkg.diff\")
 def diff(value):
~    return value and diff_diff(value - 1)
+diff_diff = diff
+diff = diff_diff_
+vars(diff_diff_).update(diff=diff_diff)
 def test_f():
     assert diff.diff(1) == 0
",
    );
}

#[test]
fn a_loop_at_the_top_level_keeps_its_own_target() {
    check(
        "
--- pkg/__init__.py
--- pkg/one.py
+names = []
+for name in ('a', 'b'):
+    names.append(name)
+def one():
*    return names
--- pkg/two.py
+name = 'two'
+def two():
*    return name
--- test_a.py
+from pkg.two import two
+from pkg.one import one
+def test_f():
*    assert one() + [two()] == ['a', 'b', 'two']
",
        "test_a.py::test_f",
        "
 name = 'two'
+name_two = name
 def two():
~    return name_two
 names = []
 for name in ('a', 'b'):
     names.append(name)
 def one():
     return names
 def test_f():
     assert one() + [two()] == ['a', 'b', 'two']
",
    );
}

#[test]
fn what_a_class_reads_before_it_binds_the_name_is_the_module_s() {
    check(
        "
--- pkg/__init__.py
--- pkg/plug.py
+def plug():
*    return 'other'
--- pkg/base.py
+import socket as plug
+class Factory:
+    before = plug.AF_INET
+    def plug(self, family: plug.AddressFamily = plug.AF_INET):
*        return family
+    after = plug
--- test_a.py
+from pkg.base import Factory
+from pkg.plug import plug
+def test_f():
*    assert Factory().plug() and plug()
",
        "test_a.py::test_f",
        "
 import socket as plug
 class Factory:
     before = plug.AF_INET
     def plug(self, family: plug.AddressFamily = plug.AF_INET):
         return family
     after = plug
 def plug():
     return 'other'
 def test_f():
     assert Factory().plug() and plug()
",
    );
}

#[test]
fn modules_that_are_values_and_share_a_name_are_told_apart() {
    check(
        "
--- trace
holds pkg.one parse function pkg.one:parse
holds pkg.two parse function pkg.two:parse
--- pkg/__init__.py
--- pkg/one.py
+def parse(text):
*    return 1
--- pkg/two.py
+def parse(text):
*    return 2
--- pkg/both.py
+from . import one, two
+STYLES = {1: one, 2: two}
+def parse(text):
*    return [style.parse(text) for style in STYLES.values()]
--- test_a.py
+from pkg.both import parse
+def test_f():
*    assert parse('') == [1, 2]
",
        "test_a.py::test_f",
        r#"
+import types
+one = types.ModuleType("pkg.one")
+two = types.ModuleType("pkg.two")
 def parse(text):
     return 1
+parse_one = parse
+vars(one).update(parse=parse_one)
 def parse(text):
     return 2
+parse_two = parse
+vars(two).update(parse=parse_two)
 STYLES = {1: one, 2: two}
 def parse(text):
     return [style.parse(text) for style in STYLES.values()]
 def test_f():
     assert parse('') == [1, 2]
"#,
    );
}
