//! Modules that lived apart share one namespace: who keeps a name, and what the others are called.

use super::check;

#[test]
fn the_last_definition_keeps_a_name() {
    check(
        "
--- pkg/__init__.py
--- pkg/one.py
+def helper():
*    return 1
+def one():
*    return helper()
--- pkg/two.py
+def helper():
*    return 2
+def two():
*    return helper()
--- test_a.py
+from pkg.one import one
+from pkg.two import two
+def test_f():
*    assert one() + two() == 3
",
        "test_a.py::test_f",
        "
 def helper():
     return 1
+helper_one = helper
 def one():
~    return helper_one()
 def helper():
     return 2
 def two():
     return helper()
 def test_f():
     assert one() + two() == 3
",
    );
}

#[test]
fn what_a_test_names_keeps_the_name() {
    check(
        "
--- pkg/__init__.py
--- pkg/one.py
+def helper():
*    return 1
--- pkg/two.py
+def helper():
*    return 2
+def two():
*    return helper()
--- test_a.py
+from pkg.one import helper
+from pkg.two import two
+def test_f():
*    assert helper() + two() == 3
",
        "test_a.py::test_f",
        "
 def helper():
     return 1
+helper_one = helper
 def helper():
     return 2
+helper_two = helper
+helper = helper_one
 def two():
~    return helper_two()
 def test_f():
     assert helper() + two() == 3
",
    );
}

#[test]
fn an_early_reference_sees_what_its_module_saw() {
    check(
        "
--- pkg/__init__.py
--- pkg/one.py
+class Base:
+    kind = 1
--- pkg/two.py
+from pkg import one
+class Base(one.Base):
+    other = 2
+class Two(Base):
+    two = 3
--- pkg/three.py
+from pkg.one import Base
+class Three(Base):
+    three = 4
--- test_a.py
+from pkg.two import Two
+from pkg.three import Three
+def test_f():
*    assert (Two.other, Three.kind) == (2, 1)
",
        "test_a.py::test_f",
        "
+import sys
+one = sys.modules.get(__name__)
 class Base:
     kind = 1
+Base_one = Base
~class Base(one.Base_one):
     other = 2
 class Two(Base):
     two = 3
~class Three(Base_one):
     three = 4
 def test_f():
     assert (Two.other, Three.kind) == (2, 1)
",
    );
}

#[test]
fn imports_that_differ_are_a_collision_too() {
    check(
        "
--- pkg/__init__.py
--- pkg/one.py
+from os.path import join
+def one():
*    return join('a', 'b')
--- pkg/two.py
+from shlex import join
+def two():
*    return join(['a', 'b'])
--- test_a.py
+from pkg.one import one
+from pkg.two import two
+def test_f():
*    assert one() != two()
",
        "test_a.py::test_f",
        "
~from os.path import join as join_path
 def one():
~    return join_path('a', 'b')
 from shlex import join
 def two():
     return join(['a', 'b'])
 def test_f():
     assert one() != two()
",
    );
}

#[test]
fn one_import_of_one_thing_serves_all() {
    check(
        "
--- pkg/__init__.py
--- pkg/one.py
+import os
+from os.path import (
+    join,
+    split as cut,
+)
+def one():
*    return join(os.sep, 'b')
--- pkg/two.py
+import os, sys as system
+from os.path import join
+def two():
*    return join(os.sep, 'c'), system.path
--- test_a.py
+from pkg.one import one
+from pkg.two import two
+def test_f():
*    assert one() != two()
",
        "test_a.py::test_f",
        "
 import os
 from os.path import join
 def one():
     return join(os.sep, 'b')
 import sys as system
 def two():
     return join(os.sep, 'c'), system.path
 def test_f():
     assert one() != two()
",
    );
}

#[test]
fn a_copy_of_an_imported_thing_loads_the_import() {
    check(
        "
--- pkg/__init__.py
--- pkg/base.py
+OPTIONS = {'a': 1}
+def base():
*    return OPTIONS
--- pkg/more.py
+from .base import OPTIONS
+OPTIONS = OPTIONS.copy()
+OPTIONS['b'] = 2
+def more():
*    return OPTIONS
--- test_a.py
+from pkg.base import base
+from pkg.more import more
+def test_f():
*    assert len(base()) + len(more()) == 3
",
        "test_a.py::test_f",
        "
 OPTIONS = {'a': 1}
+OPTIONS_base = OPTIONS
 def base():
~    return OPTIONS_base
 OPTIONS = OPTIONS.copy()
 OPTIONS['b'] = 2
 def more():
     return OPTIONS
 def test_f():
     assert len(base()) + len(more()) == 3
",
    );
}

#[test]
fn a_loser_that_is_never_used_late_needs_no_alias() {
    check(
        "
--- pkg/__init__.py
--- pkg/one.py
+def make():
+    return 1
+ONE = make()
--- pkg/two.py
+def make():
+    return 2
+TWO = make()
--- test_a.py
+from pkg.one import ONE
+from pkg.two import TWO
+def test_f():
*    assert ONE + TWO == 3
",
        "test_a.py::test_f",
        "
 def make():
     return 1
 ONE = make()
 def make():
     return 2
 TWO = make()
 def test_f():
     assert ONE + TWO == 3
",
    );
}

#[test]
fn three_modules_with_one_name_get_three_names() {
    check(
        "
--- pkg/__init__.py
--- pkg/a.py
+def run():
*    return 1
+def a():
*    return run()
--- pkg/b.py
+def run():
*    return 2
+def b():
*    return run()
--- pkg/c.py
+def run():
*    return 3
+def c():
*    return run()
--- test_a.py
+from pkg.a import a
+from pkg.b import b
+from pkg.c import c
+def test_f():
*    assert a() + b() + c() == 6
",
        "test_a.py::test_f",
        "
 def run():
     return 1
+run_a = run
 def a():
~    return run_a()
 def run():
     return 2
+run_b = run
 def b():
~    return run_b()
 def run():
     return 3
 def c():
     return run()
 def test_f():
     assert a() + b() + c() == 6
",
    );
}

#[test]
fn the_name_of_a_fixture_wins() {
    check(
        "
--- pkg/__init__.py
--- pkg/app.py
+class client:
+    kind = 'class'
+def make():
*    return client.kind
--- conftest.py
+import pytest
+from pkg.app import make
+@pytest.fixture
+def client():
*    return make()
--- test_a.py
+def test_f(client):
*    assert client == 'class'
",
        "test_a.py::test_f",
        "
 import pytest
 class client:
     kind = 'class'
+client_app = client
 def make():
~    return client_app.kind
 @pytest.fixture
 def client():
     return make()
 def test_f(client):
     assert client == 'class'
",
    );
}

#[test]
fn an_import_under_another_name_keeps_both() {
    check(
        "
--- pkg/__init__.py
--- pkg/compat.py
+has = False
+try:
*    import simplejson as json
*    has = True
+except ImportError:
+    import json
+if has:
*    from simplejson import JSONDecodeError
+else:
+    from json import JSONDecodeError
--- pkg/exceptions.py
+from .compat import JSONDecodeError as CompatJSONDecodeError
+class JSONDecodeError(CompatJSONDecodeError):
+    pass
--- pkg/models.py
+from .compat import json as complexjson, JSONDecodeError
+from .exceptions import JSONDecodeError as RequestsJSONDecodeError
+def load(text, json=None):
*    try:
*        return complexjson.loads(text)
*    except JSONDecodeError:
*        raise RequestsJSONDecodeError()
--- test_a.py
+from pkg.models import load
+def test_f():
*    assert load('1') == 1
",
        "test_a.py::test_f",
        "
 has = False
 try:
     import simplejson as json
     has = True
 except ImportError:
     import json
+complexjson = json
 if has:
     from simplejson import JSONDecodeError
 else:
     from json import JSONDecodeError
+CompatJSONDecodeError = JSONDecodeError
+JSONDecodeError_json = JSONDecodeError
 class JSONDecodeError(CompatJSONDecodeError):
     pass
+RequestsJSONDecodeError = JSONDecodeError
 def load(text, json=None):
     try:
         return complexjson.loads(text)
~    except JSONDecodeError_json:
         raise RequestsJSONDecodeError()
 def test_f():
     assert load('1') == 1
",
    );
}

#[test]
fn an_inherited_test_keeps_its_names() {
    check(
        "
--- pkg/__init__.py
--- pkg/client.py
+class ClientError(Exception):
+    pass
+Error = ClientError
+def fetch():
*    raise Error()
--- pkg/web.py
+class Error(Exception):
+    pass
+def one():
*    return Error
+def two():
*    return Error()
--- tests/base.py
+from pkg.client import Error, fetch
+class Base:
+    def test_fetch(self):
*        try:
*            fetch()
*        except Error:
*            pass
--- tests/test_a.py
+from .base import Base
+from pkg import web
+class TestA(Base):
+    def setup_method(self):
*        web.one()
*        web.two()
--- trace
helps tests/base.py
",
        "tests/test_a.py::TestA::test_fetch",
        "
+import sys
+web = sys.modules.get(__name__)
 class ClientError(Exception):
     pass
 Error = ClientError
+Error_client = Error
 def fetch():
     raise Error()
 class Base:
     def test_fetch(self):
         try:
             fetch()
         except Error:
             pass
 class Error(Exception):
     pass
+Error_web = Error
+Error = Error_client
 def one():
~    return Error_web
 def two():
~    return Error_web()
 class TestA(Base):
     def setup_method(self):
         web.one()
         web.two()
",
    );
}

#[test]
fn a_name_for_another_s_thing_is_given_only_where_that_has_it() {
    check(
        "
--- pkg/__init__.py
--- pkg/theory.py
+def gcd(a, b):
*    return a
--- pkg/numbers.py
+def two(a, b):
*    return b
--- pkg/kinds.py
+from .numbers import two as fast_gcd
+def first(a):
*    return fast_gcd(a, a)
+def second(a):
*    return fast_gcd(a, a)
--- pkg/ground.py
+from .theory import gcd as fast_gcd
+if True:
+    gcd = fast_gcd
--- test_a.py
+from pkg.ground import gcd
+from pkg.kinds import first, second
+def test_f():
*    assert gcd(1, 2) == first(1) == second(1)
",
        "test_a.py::test_f",
        "
 def gcd(a, b):
     return a
+gcd_theory = gcd
 if True:
~    gcd = gcd_theory
 def two(a, b):
     return b
+fast_gcd = two
 def first(a):
     return fast_gcd(a, a)
 def second(a):
     return fast_gcd(a, a)
 def test_f():
     assert gcd(1, 2) == first(1) == second(1)
",
    );
}

#[test]
fn a_fixture_that_has_the_name_of_a_module_in_a_package_stays_a_fixture() {
    check(
        "
--- pkg/__init__.py
+LIMIT = 1
--- pkg/asgi.py
+class App:
+    kind = 'asgi'
--- tests/conftest.py
+import pytest
+import pkg.asgi
+@pytest.fixture
+def asgi():
*    return True
+@pytest.fixture
+def app(asgi):
*    return pkg.asgi.App if asgi else None
--- tests/test_a.py
+def test_f(app):
*    assert app.kind
--- trace
fixture asgi tests/conftest.py 3
fixture app tests/conftest.py 6
",
        "tests/test_a.py::test_f",
        r#"
+import sys
+import types
+asgi_gist = sys.modules.get(__name__)
+pkg = types.ModuleType("pkg")
+vars(pkg).update(asgi=sys.modules.get(__name__))
 import pytest
 class App:
     kind = 'asgi'
 @pytest.fixture
 def asgi():
     return True
 @pytest.fixture
 def app(asgi):
     return pkg.asgi.App if asgi else None
 def test_f(app):
     assert app.kind
"#,
    );
}

#[test]
fn what_a_text_asks_of_a_module_keeps_its_name() {
    check(
        r#"
--- pkg/__init__.py
+from pkg.match import params as _params
+def params(x):
*    return "old", _params(x)
--- pkg/match.py
+def params(x):
*    return x
--- test_a.py
+import pkg
+from pkg import match
+def test_f():
*    old = getattr(pkg, "params")
*    assert old(1) == ("old", 1)
*    assert match.params(1) == 1
"#,
        "test_a.py::test_f",
        r#"
+import sys
+import types
+pkg = sys.modules.get(__name__)
+match = types.ModuleType("pkg.match")
 def params(x):
     return x
+params_match = params
+_params = params
+vars(match).update(params=params_match)
 def params(x):
     return "old", _params(x)
 def test_f():
     old = getattr(pkg, "params")
     assert old(1) == ("old", 1)
     assert match.params(1) == 1
"#,
    );
}

#[test]
fn a_module_of_a_built_in_s_name_leaves_that_alone() {
    check(
        r#"
--- pkg/__init__.py
--- pkg/set.py
+class Set:
+    def __init__(self, items):
*        self.items = sorted(set(items))
--- pkg/rows.py
+import pkg.set
+class Rows(pkg.set.Set):
+    kinds = frozenset(set([1]))
--- test_a.py
+import pkg.rows
+import pkg.set
+def test_f():
*    assert pkg.rows.Rows([2, 1]).items == [1, 2]
*    assert pkg.set.Set([2]).items == [2]
"#,
        "test_a.py::test_f",
        r#"
+import sys
+import types
+rows = set_gist = sys.modules.get(__name__)
+pkg = types.ModuleType("pkg")
+vars(pkg).update(rows=sys.modules.get(__name__), set=sys.modules.get(__name__))
 class Set:
     def __init__(self, items):
         self.items = sorted(set(items))
 class Rows(pkg.set.Set):
     kinds = frozenset(set([1]))
 def test_f():
     assert pkg.rows.Rows([2, 1]).items == [1, 2]
     assert pkg.set.Set([2]).items == [2]
"#,
    );
}

#[test]
fn what_a_text_asks_of_a_special_name_is_not_written_into_it() {
    check(
        r#"
--- pkg/__init__.py
--- pkg/mod.py
+def f():
*    return getattr(__spec__, "parent", None)
--- test_a.py
+from pkg.mod import f
+def test_f():
*    f()
"#,
        "test_a.py::test_f",
        r#"
+import sys
+import types
+pkg = sys.modules["pkg"] = types.ModuleType("pkg")
+vars(pkg).update(__file__=__file__.rsplit('/', 1)[0] + '/pkg/__init__.py', __path__=[__file__.rsplit('/', 1)[0] + '/pkg'], __spec__=__import__("importlib.util", fromlist=['_']).spec_from_file_location("pkg", __file__.rsplit('/', 1)[0] + '/pkg/__init__.py', submodule_search_locations=[__file__.rsplit('/', 1)[0] + '/pkg']))
 def f():
     return getattr(__spec__, "parent", None)
 def test_f():
     f()
"#,
    );
}

#[test]
fn a_test_class_takes_over_the_name_of_what_it_is_derived_from() {
    check(
        "
--- other_b.py
+class Test:
+    value = 1
+    def test_f(self):
*        assert self.value
--- test_a.py
+from other_b import Test as TestB
+class Mixin:
+    value = 2
+class TestB(Mixin, TestB):
+    '''Again.'''
",
        "test_a.py::TestB::test_f",
        "
 class Test:
     value = 1
     def test_f(self):
         assert self.value
+TestB = Test
 class Mixin:
     value = 2
 class TestB(Mixin, TestB):
     '''Again.'''
",
    );
}

#[test]
fn a_test_class_takes_over_the_name_of_its_namesake() {
    check(
        "
--- other_b.py
+class TestB:
+    value = 1
+    def test_f(self):
*        assert self.value
--- test_a.py
+from other_b import TestB
+class TestB(TestB):
+    value = 2
",
        "test_a.py::TestB::test_f",
        "
 class TestB:
     value = 1
     def test_f(self):
         assert self.value
 class TestB(TestB):
     value = 2
",
    );
}

#[test]
fn a_module_and_what_it_is_named_for_have_names_of_their_own() {
    check(
        "
--- pkg/__init__.py
--- pkg/json.py
+import json
+class Reader:
+    kind = json.JSONDecoder
+class Other:
-    pass
--- pkg/mod.py
+class Reader:
+    pass
--- test_a.py
+from pkg.mod import Reader
+def test_f():
*    from pkg import json
*    class Own(json.Reader):
*        pass
*    assert Own.kind and Reader
",
        "test_a.py::test_f",
        "
+import types
+json = json_json = types.ModuleType(\"pkg.json\")
 class Reader:
     pass
+Reader_mod = Reader
 def test_f():
     class Own(json.Reader):
         pass
     assert Own.kind and Reader
~import json as json_json_
 import json
+json = json_json
 class Reader:
~    kind = json_json_.JSONDecoder
+Reader_json = Reader
+Reader = Reader_mod
+vars(json_json).update(Reader=Reader_json)
",
    );
}
