//! Imports inside functions, classes and tests: what leads into the repository vanishes or becomes an
//! assignment.

use super::check;

#[test]
fn an_import_in_a_function_vanishes() {
    check(
        "
--- pkg/__init__.py
--- pkg/late.py
+def work():
*    return 1
--- pkg/mod.py
+def user():
*    from .late import work
*    import json
*    return json.dumps(work())
--- test_a.py
+from pkg.mod import user
+def test_f():
*    assert user() == '1'
",
        "test_a.py::test_f",
        "
 def user():
     import json
     return json.dumps(work())
 def test_f():
     assert user() == '1'
 def work():
     return 1
",
    );
}

#[test]
fn an_import_under_another_name_becomes_an_assignment() {
    check(
        "
--- pkg/__init__.py
--- pkg/late.py
+def work():
*    return 1
--- pkg/mod.py
+import pkg.late
+def user():
*    from .late import work as w
*    return w()
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
+    w = work
     return w()
 def test_f():
     assert user() == 1
",
    );
}

#[test]
fn a_local_that_is_bound_again_stays_local() {
    check(
        "
--- pkg/__init__.py
--- pkg/late.py
+def work():
*    return 1
--- pkg/mod.py
+import pkg.late
+def user():
*    from .late import work
*    if work:
*        work = work()
*    return work
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
+    work = globals()['work']
     if work:
         work = work()
     return work
 def test_f():
     assert user() == 1
",
    );
}

#[test]
fn a_block_of_nothing_but_an_internal_import_gets_a_filling() {
    check(
        "
--- pkg/__init__.py
--- pkg/late.py
+def work():
*    return 1
--- pkg/mod.py
+import pkg.late
+def load():
*    from .late import work
+def user():
*    try:
*        from .late import work
-    except ImportError:
-        work = None
*    load()
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
 def load():
+    pass
 def user():
     load()
     return work()
 def test_f():
     assert user() == 1
",
    );
}

#[test]
fn a_module_imported_in_a_function_is_the_gist() {
    check(
        "
--- pkg/__init__.py
--- pkg/late.py
+def work():
*    return 1
--- pkg/mod.py
+import pkg.late
+def user():
*    from . import late
*    import pkg.late as again
*    return late.work() + again.work()
--- test_a.py
+from pkg.mod import user
+def test_f():
*    assert user() == 2
",
        "test_a.py::test_f",
        "
+import sys
+again = late = sys.modules.get(__name__)
 def work():
     return 1
 def user():
     return late.work() + again.work()
 def test_f():
     assert user() == 2
",
    );
}

#[test]
fn a_module_imported_in_a_function_is_asked_for_what_never_ran() {
    check(
        "
--- pkg/__init__.py
--- pkg/late.py
+class Kind:
*    pass
+class Other(Kind):
*    pass
--- pkg/mod.py
+def user(value):
*    import pkg.late as late
*    from pkg import late as again
*    return isinstance(value, late.Other) or isinstance(value, again.Kind)
--- test_a.py
+from pkg.mod import user
+def test_f():
*    assert not user(1)
",
        "test_a.py::test_f",
        "
+import sys
+again = late = sys.modules.get(__name__)
 def user(value):
     return isinstance(value, late.Other) or isinstance(value, again.Kind)
 def test_f():
     assert not user(1)
 class Kind:
     pass
 class Other(Kind):
     pass
",
    );
}

#[test]
fn a_module_imported_in_a_function_has_its_own_of_a_name_of_two() {
    check(
        "
--- pkg/__init__.py
--- pkg/late.py
+class Kind:
*    late = True
--- pkg/mod.py
+class Kind:
*    late = False
+def user(value):
*    import pkg.late as late
*    return isinstance(value, late.Kind) or isinstance(value, Kind)
--- test_a.py
+from pkg.mod import user
+def test_f():
*    assert not user(1)
",
        "test_a.py::test_f",
        "
+import sys
+late = sys.modules.get(__name__)
 class Kind:
     late = False
+Kind_mod = Kind
 def user(value):
~    return isinstance(value, late.Kind) or isinstance(value, Kind_mod)
 def test_f():
     assert not user(1)
 class Kind:
     late = True
",
    );
}

#[test]
fn a_module_imported_in_a_function_has_its_own_where_the_other_wins() {
    check(
        "
--- pkg/__init__.py
--- pkg/late.py
+class Kind:
*    late = True
--- pkg/mod.py
+from pkg import late
+class Kind:
*    late = False
+def user(value):
*    from pkg import late as other
*    return isinstance(value, other.Kind) or isinstance(value, Kind)
--- test_a.py
+from pkg.mod import user, Kind
+def test_f():
*    assert not user(1)
*    assert not Kind.late
",
        "test_a.py::test_f",
        "
+import sys
+other = sys.modules.get(__name__)
 class Kind:
     late = True
+Kind_late = Kind
 class Kind:
     late = False
 def user(value):
~    return isinstance(value, other.Kind_late) or isinstance(value, Kind)
 def test_f():
     assert not user(1)
     assert not Kind.late
",
    );
}

#[test]
fn a_parameter_called_as_a_module_is_is_something_else() {
    check(
        "
--- pkg/__init__.py
--- pkg/late.py
+class Kind:
*    late = True
--- pkg/mod.py
+from pkg import late
+class Kind:
*    late = False
+class User:
*    def one(self, value):
*        from pkg import late as other
*        return isinstance(value, other.Kind)
*    def two(self, other):
*        return other.Kind, (lambda other: other.Kind)(other)
--- test_a.py
+from pkg.mod import User, Kind
+def test_f():
*    assert not User().one(1)
*    assert not Kind.late
",
        "test_a.py::test_f",
        "
+import sys
+other = sys.modules.get(__name__)
 class Kind:
     late = True
+Kind_late = Kind
 class Kind:
     late = False
 class User:
     def one(self, value):
~        return isinstance(value, other.Kind_late)
     def two(self, other):
         return other.Kind, (lambda other: other.Kind)(other)
 def test_f():
     assert not User().one(1)
     assert not Kind.late
",
    );
}

#[test]
fn an_import_in_a_class_body_stays_an_attribute() {
    check(
        "
--- pkg/__init__.py
--- pkg/late.py
+def work(self):
*    return 1
--- pkg/mod.py
+class Holder:
+    from .late import work
+    from .late import work as again
+    from os import sep
--- test_a.py
+from pkg.mod import Holder
+def test_f():
*    assert Holder().work() + Holder().again() == 2
",
        "test_a.py::test_f",
        "
 def work(self):
     return 1
 class Holder:
+    work = globals()['work']
+    again = work
     from os import sep
 def test_f():
     assert Holder().work() + Holder().again() == 2
",
    );
}

#[test]
fn an_import_in_a_test_leaves_no_trace() {
    check(
        "
--- pkg/__init__.py
--- pkg/late.py
+def work():
*    return 1
+def more():
*    return 2
--- test_a.py
+import pkg.late
+def test_f():
*    from pkg.late import work
*    from pkg.late import more as other
*    import pkg.late as module
*    assert work() + other() + module.more() == 5
",
        "test_a.py::test_f",
        "
+import sys
+module = sys.modules.get(__name__)
 def work():
     return 1
 def more():
     return 2
+other = more
 def test_f():
     assert work() + other() + module.more() == 5
",
    );
}

#[test]
fn an_inner_import_of_a_name_that_lost_follows_it() {
    check(
        "
--- pkg/__init__.py
--- pkg/one.py
+def work():
*    return 1
--- pkg/two.py
+def work():
*    return 2
+def two():
*    return work() + work()
--- pkg/mod.py
+import pkg.one
+def user():
*    from .one import work
*    return work()
--- test_a.py
+from pkg.mod import user
+from pkg.two import two
+def test_f():
*    assert user() + two() == 5
",
        "test_a.py::test_f",
        "
 def work():
     return 1
+work_one = work
 def user():
+    work = work_one
     return work()
 def work():
     return 2
 def two():
     return work() + work()
 def test_f():
     assert user() + two() == 5
",
    );
}

#[test]
fn an_import_that_did_not_run_vanishes_too() {
    check(
        "
--- pkg/__init__.py
--- pkg/late.py
+def work():
-    return 1
--- pkg/mod.py
+def note(x):
*    return seen.append(x)
+seen = []
+def user(x=0):
*    if note(x):
-        from .late import work
-        return work
*    return x
--- test_a.py
+import pkg.late
+from pkg.mod import user
+def test_f():
*    assert user() == 0
",
        "test_a.py::test_f",
        "
 def note(x):
     return seen.append(x)
 seen = []
 def user(x=0):
     if note(x):
         return work
     return x
 def test_f():
     assert user() == 0
",
    );
}

#[test]
fn compiled_extensions_stay_importable() {
    check(
        "
--- trace
compiled pkg._fast pkg/_fast.so
--- pkg/__init__.py
--- pkg/mod.py
+from ._fast import add
+from . import _fast
+def user():
*    from ._fast import two
*    from . import _fast as fast, late
*    return add(_fast.one(), two(fast)) + late.work()
+from . import late
--- pkg/late.py
+def work():
*    return 1
--- test_a.py
+from pkg.mod import user
+def test_f():
*    assert user() == 2
",
        "test_a.py::test_f",
        "
+import sys
+late = sys.modules.get(__name__)
~from pkg._fast import add
~from pkg import _fast
 def user():
~    from pkg._fast import two
~    from pkg import _fast as fast
     return add(_fast.one(), two(fast)) + late.work()
 def work():
     return 1
 def test_f():
     assert user() == 2
",
    );
}

#[test]
fn a_source_below_a_root_has_the_name_it_is_imported_by() {
    check(
        "
--- trace
root src
--- src/pkg/__init__.py
--- src/pkg/mod.py
+def work():
*    return 1
--- tests/test_a.py
+from pkg.mod import work
+def test_f():
*    assert work() == 1
",
        "tests/test_a.py::test_f",
        "
 def work():
     return 1
 def test_f():
     assert work() == 1
",
    );
}

#[test]
fn a_compiled_extension_is_reached_through_its_package() {
    check(
        "
--- trace
compiled pkg._fast pkg/_fast.so
--- pkg/__init__.py
--- pkg/mod.py
+import pkg._fast
+import pkg.late
+def user():
*    return pkg._fast.one() + pkg.late.work()
--- pkg/late.py
+def work():
*    return 1
--- test_a.py
+from pkg.mod import user
+def test_f():
*    assert user() == 2
",
        "test_a.py::test_f",
        "
+import sys
+late = pkg = sys.modules.get(__name__)
+from pkg import _fast
 def work():
     return 1
 def user():
     return pkg._fast.one() + pkg.late.work()
 def test_f():
     assert user() == 2
",
    );
}

#[test]
fn a_star_of_the_outside_comes_through_a_star_of_the_inside() {
    check(
        "
--- trace
holds pkg.mod floor other builtin_function_or_method
holds pkg.compat floor other builtin_function_or_method
--- pkg/__init__.py
--- pkg/compat.py
+from math import *
+limit = 3
--- pkg/mod.py
+from .compat import *
+def user():
*    return floor(2.5) + limit
--- test_a.py
+from pkg.mod import user
+def test_f():
*    assert user() == 5
",
        "test_a.py::test_f",
        "
 from math import *
 limit = 3
 def user():
     return floor(2.5) + limit
 def test_f():
     assert user() == 5
",
    );
}

#[test]
fn a_package_that_holds_extensions_gets_what_is_asked_of_it() {
    check(
        r#"
--- trace
compiled pkg.tools._fast pkg/tools/_fast.so
--- adjustments
{"demands": [["pkg.tools", "checked"], ["pkg.tools.late", "one"], ["pkg.tools.early", "two"]]}
--- pkg/__init__.py
--- pkg/tools/__init__.py
+def checked(x):
*    return x
--- pkg/tools/early.py
+def two():
-    return 2
--- pkg/tools/late.py
+def one():
-    return 1
--- pkg/mod.py
+from pkg.tools import checked
+import pkg.tools.early
+import pkg.tools.late
+from pkg.tools._fast import add
+def user():
*    return add(1)
--- test_a.py
+from pkg.mod import user
+def test_f():
*    assert user() == 2
"#,
        "test_a.py::test_f",
        r#"
+import sys
+sys.modules["pkg.tools.early"] = sys.modules["pkg.tools.late"] = sys.modules.get(__name__)
+__import__("pkg.tools", fromlist=['_']).early = __import__("pkg.tools", fromlist=['_']).late = sys.modules.get(__name__)
 def checked(x):
     return x
+__import__("pkg.tools", fromlist=['_']).checked = checked
 def two():
     return 2
 def one():
     return 1
 from pkg.tools._fast import add
 def user():
     return add(1)
 def test_f():
     assert user() == 2
"#,
    );
}

#[test]
fn an_import_of_another_module_is_had_under_another_name() {
    for util in [
        "+from functools import wraps",
        "+from typing import TYPE_CHECKING\n+if TYPE_CHECKING:\n-    def wraps(wrapped):\n-        ...\n+else:\n+    from functools import wraps",
    ] {
        let files = "
--- pkg/__init__.py
--- pkg/util.py
UTIL
--- pkg/core.py
+from pkg.util import wraps as _wraps
+@_wraps(len)
+def size(value):
*    return len(value)
--- test_a.py
+from pkg.core import size
+def test_f():
*    assert size('a') == 1
";
        check(
            &files.replace("UTIL", util),
            "test_a.py::test_f",
            "
 from functools import wraps
+_wraps = wraps
 @_wraps(len)
 def size(value):
     return len(value)
 def test_f():
     assert size('a') == 1
",
        );
    }
}
