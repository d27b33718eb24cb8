//! Tests code that is executed while modules are imported: defaults, decorators, conditions,
//! deletions.

use super::check;

#[test]
fn defaults_and_decorators_are_evaluated_where_they_stand() {
    check(
        "
--- pkg/__init__.py
--- pkg/one.py
+def mark(function):
+    return function
+LIMIT = 1
+@mark
+def one(x=LIMIT, f=lambda: LIMIT):
*    return x + f()
--- pkg/two.py
+def mark(function):
+    return function
+LIMIT = 2
+@mark
+def two(x=LIMIT):
*    return x + LIMIT
--- test_a.py
+from pkg.one import one
+from pkg.two import two
+def test_f():
*    assert one() + two() == 6
",
        "test_a.py::test_f",
        "
 def mark(function):
     return function
 LIMIT = 1
+LIMIT_one = LIMIT
 @mark
~def one(x=LIMIT, f=lambda: LIMIT_one):
     return x + f()
 def mark(function):
     return function
 LIMIT = 2
 @mark
 def two(x=LIMIT):
     return x + LIMIT
 def test_f():
     assert one() + two() == 6
",
    );
}

#[test]
fn the_branch_of_an_import_that_ran_decides_what_a_name_is() {
    check(
        "
--- pkg/__init__.py
--- pkg/fast.py
+raise ImportError('not built')
--- pkg/slow.py
+def work():
*    return 1
--- pkg/mod.py
+from typing import TYPE_CHECKING
+try:
+    from .fast import work
+except ImportError:
+    from .slow import work
+if TYPE_CHECKING:
-    from .types import Unused
+def user():
*    return work()
--- test_a.py
+from pkg.mod import user
+def test_f():
*    assert user() == 1
",
        "test_a.py::test_f",
        "
 def work():
     return 1
 def user():
     return work()
 def test_f():
     assert user() == 1
",
    );
}

#[test]
fn a_condition_that_ended_its_module_ends_no_gist() {
    check(
        r#"
--- adjustments
{"side_effects": true}
--- pkg/__init__.py
--- pkg/fast.py
+import os
+if not os.path.exists('surely-not-there'):
+    raise ImportError('not built')
+try:
+    raise ValueError
+except ValueError:
+    print('caught')
+try:
+    import surely_not_installed
+except ImportError:
+    raise ImportError('not built')
--- pkg/mod.py
+try:
+    from .fast import work
+except ImportError:
+    work = None
+def user():
*    return work
--- test_a.py
+from pkg.mod import user
+def test_f():
*    assert user() is None
"#,
        "test_a.py::test_f",
        "
 try:
     raise ValueError
 except ValueError:
     print('caught')
 work = None
 def user():
     return work
 def test_f():
     assert user() is None
",
    );
}

#[test]
fn the_handler_of_an_internal_import_that_failed_takes_its_place() {
    check(
        "
--- pkg/__init__.py
--- pkg/extra.py
+import surely_not_installed
-def extra():
-    return surely_not_installed
--- pkg/mod.py
+try:
+    from .extra import extra
+except ImportError:
+    extra = None
+def user():
*    try:
*        import pkg.extra
-        return pkg.extra.extra()
*    except ImportError:
*        return extra
--- test_a.py
+from pkg.mod import user
+def test_f():
*    assert user() is None
",
        "test_a.py::test_f",
        "
 extra = None
 def user():
     return extra
 def test_f():
     assert user() is None
",
    );
}

#[test]
fn a_conditional_definition_is_the_one_that_ran() {
    check(
        "
--- a.py
+import sys
+if sys.version_info < (3,):
-    def text(x):
-        return unicode(x)
+elif sys.version_info < (99,):
+    def text(x):
*        return str(x)
+    KIND = 'new'
-else:
-    raise RuntimeError
--- test_a.py
+from a import text, KIND
+def test_f():
*    assert text(1) + KIND == '1new'
",
        "test_a.py::test_f",
        "
 import sys
 if sys.version_info < (99,):
     def text(x):
         return str(x)
     KIND = 'new'
 def test_f():
     assert text(1) + KIND == '1new'
",
    );
}

#[test]
fn deletions_from_something_needed_are_kept() {
    check(
        "
--- a.py
+TABLE = {'a': 1, 'b': 2}
+OTHER = {'c': 3}
+class Box:
+    size = 1
+    name = 'box'
+del TABLE['a']
+del OTHER['c']
+del Box.size
+def work():
*    return TABLE, hasattr(Box, 'size')
--- test_a.py
+from a import work
+def test_f():
*    assert work() == ({'b': 2}, False)
",
        "test_a.py::test_f",
        "
 TABLE = {'a': 1, 'b': 2}
 class Box:
     size = 1
     name = 'box'
 del TABLE['a']
 del Box.size
 def work():
     return TABLE, hasattr(Box, 'size')
 def test_f():
     assert work() == ({'b': 2}, False)
",
    );
}

#[test]
fn what_a_class_body_reads_of_itself_stays() {
    check(
        "
--- adjustments
{\"uncalled\": []}
--- a.py
+class Tag:
+    def to_json(self):
-        return 'json'
+    tag = to_json
+    @property
+    def value(self):
-        return self._value
+    @value.setter
+    def value(self, value):
*        self._value = value
+    def unused(self):
-        return None
+    def __eq__(self, other):
-        return True
--- test_a.py
+from a import Tag
+def test_f():
*    Tag().value = 1
",
        "test_a.py::test_f",
        "
 class Tag:
     def to_json(self):
         return 'json'
     tag = to_json
     @property
     def value(self):
         return self._value
     @value.setter
     def value(self, value):
         self._value = value
 def test_f():
     Tag().value = 1
",
    );
}

#[test]
fn type_parameters_are_names_of_their_own() {
    check(
        "
--- pkg/__init__.py
--- pkg/one.py
+T = 1
+type Pair[T] = tuple[T, Item]
+class Item[T]:
+    def get[U: (int, str)](self, x: T, y: U) -> T:
*        return x
+def one():
*    return Item[int]().get(T, 2), Pair.__value__
--- pkg/two.py
+T = 2
+def two():
*    return T
--- test_a.py
+from pkg.one import one
+from pkg.two import two
+def test_f():
*    assert one()[0] + two() == 3
",
        "test_a.py::test_f",
        "
 T = 1
+T_one = T
 type Pair[T] = tuple[T, Item]
 class Item[T]:
     def get[U: (int, str)](self, x: T, y: U) -> T:
         return x
 def one():
~    return Item[int]().get(T_one, 2), Pair.__value__
 T = 2
 def two():
     return T
 def test_f():
     assert one()[0] + two() == 3
",
    );
}

#[test]
fn blocks_of_the_top_level_keep_what_is_needed_of_them() {
    check(
        "
--- a.py
+import contextlib
+with contextlib.suppress(KeyError):
+    VALUE = {}.get('x', 1)
+    {}['y']
-    OTHER = 2
+match VALUE:
+    case 1:
+        KIND = 'one'
-    case _:
-        KIND = 'more'
+if (n := VALUE) and KIND:
+    PLACE = n
+while VALUE < 3:
+    VALUE += 1
+def work():
*    return VALUE, KIND, PLACE
--- test_a.py
+from a import work
+def test_f():
*    assert work() == (3, 'one', 1)
",
        "test_a.py::test_f",
        "
 import contextlib
 with contextlib.suppress(KeyError):
     VALUE = {}.get('x', 1)
     {}['y']
 match VALUE:
     case 1:
         KIND = 'one'
 if (n := VALUE) and KIND:
     PLACE = n
 while VALUE < 3:
     VALUE += 1
 def work():
     return VALUE, KIND, PLACE
 def test_f():
     assert work() == (3, 'one', 1)
",
    );
}

#[test]
fn a_fixture_of_a_test_class_stays_in_it() {
    check(
        "
--- conftest.py
+import pytest
+@pytest.fixture(params=[1, 2])
+def base(request):
*    return request.param
--- test_a.py
+from __future__ import annotations
+import pytest
+from pytest import fixture as fix
+class TestIt:
+    @pytest.fixture
+    def value(self, base):
*        return base
+    @pytest.fixture
+    def unused(self):
-        return None
+    @pytest.mark.parametrize('x', [3])
+    def test_one(self, value, x):
*        assert value < x
",
        "test_a.py::TestIt::test_one",
        "
 from __future__ import annotations
 import pytest
 @pytest.fixture(params=[1, 2])
 def base(request):
     return request.param
 class TestIt:
     @pytest.fixture
     def value(self, base):
         return base
     @pytest.mark.parametrize('x', [3])
     def test_one(self, value, x):
         assert value < x
",
    );
}
