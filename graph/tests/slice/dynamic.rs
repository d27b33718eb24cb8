//! Tests code that is reached without being named: strings, module objects, generated code, files.

use super::check;

#[test]
fn a_dotted_string_registers_the_module_it_names() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+LIMIT = 1
+def work():
*    return LIMIT
--- test_a.py
+from unittest import mock
+from pkg.mod import work
+def test_f():
*    with mock.patch('pkg.mod.LIMIT', 5):
*        assert work() == 5
",
        "test_a.py::test_f",
        "
+import sys
+mod = sys.modules[\"pkg\"] = sys.modules[\"pkg.mod\"] = sys.modules.get(__name__)
 from unittest import mock
 LIMIT = 1
 def work():
     return LIMIT
 def test_f():
     with mock.patch('pkg.mod.LIMIT', 5):
         assert work() == 5
",
    );
}

#[test]
fn code_in_a_string_of_a_test_asks_for_what_it_imports() {
    check(
        "
--- pkg/__init__.py
+from .mod import work
--- pkg/mod.py
+def work():
*    return 1
+def other():
-    return 2
--- test_a.py
+import textwrap
+CODE = '''
+    import pkg
+    print(pkg.work())
+'''
+def test_f():
*    exec(textwrap.dedent(CODE))
",
        "test_a.py::test_f",
        "
+import sys
+sys.modules[\"pkg\"] = sys.modules.get(__name__)
 import textwrap
 CODE = '''
     import pkg
     print(pkg.work())
 '''
 def test_f():
     exec(textwrap.dedent(CODE))
 def work():
     return 1
",
    );
}

#[test]
fn the_file_of_another_module_is_computed_from_the_gist_s() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+import os
+HERE = os.path.dirname(__file__)
+def work():
*    return HERE
--- tests/unit/test_a.py
+import os
+from pkg.mod import work
+def test_f():
*    assert work() and os.path.dirname(__file__)
",
        "tests/unit/test_a.py::test_f",
        "
 import os
~HERE = os.path.dirname(__file__.rsplit('/', 3)[0] + '/pkg/mod.py')
 def work():
     return HERE
 def test_f():
     assert work() and os.path.dirname(__file__)
",
    );
}

#[test]
fn a_module_asked_by_a_string_gives_what_the_string_names() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+def work():
=    return 1
+def other():
+    return 2
--- pkg/user.py
+from . import mod
+def user(name='other'):
*    return getattr(mod, name)
--- test_a.py
+from pkg.user import user
+def test_f():
*    assert user()
",
        "test_a.py::test_f",
        "
+import sys
+mod = sys.modules.get(__name__)
 def work():
     return 1
 def other():
     return 2
 def user(name='other'):
     return getattr(mod, name)
 def test_f():
     assert user()
",
    );
}

#[test]
fn generated_code_gets_what_it_imports() {
    check(
        "
--- trace
generated pkg.runtime escape
--- pkg/__init__.py
--- pkg/runtime.py
+def escape(x):
+    return x
+def other(x):
-    return x
--- pkg/compiler.py
+import pkg.runtime
+def compile_it():
*    exec('from pkg.runtime import escape')
--- test_a.py
+from pkg.compiler import compile_it
+def test_f():
*    compile_it()
",
        "test_a.py::test_f",
        "
+import sys
+sys.modules[\"pkg\"] = sys.modules[\"pkg.runtime\"] = sys.modules.get(__name__)
 def escape(x):
     return x
 def compile_it():
     exec('from pkg.runtime import escape')
 def test_f():
     compile_it()
",
    );
}

#[test]
fn a_method_in_an_example_is_no_function_that_never_ran() {
    check(
        "
--- trace
mentions union total
--- pkg/__init__.py
+import pkg.sets
+from pkg.sets import Sets, union, total
+def known(name):
*    return getattr(pkg, name, None)
--- pkg/sets.py
+class Sets:
+    def union(self):
*        return 1
+def union(x):
-    return x
+def total(x):
*    return x
--- test_a.py
+import pkg
+def test_f():
*    assert pkg.known('x') is None and pkg.Sets().union()
",
        "test_a.py::test_f",
        "
+import sys
+pkg = sys.modules.get(__name__)
 class Sets:
     def union(self):
         return 1
 def total(x):
     return x
 def known(name):
     return getattr(pkg, name, None)
 def test_f():
     assert pkg.known('x') is None and pkg.Sets().union()
",
    );
}

#[test]
fn a_data_file_that_ran_asks_for_what_it_imports() {
    check(
        "
--- trace
runs plugins/extra.py extra
--- pkg/__init__.py
--- pkg/api.py
+def register(x):
*    return x
+def unused(x):
-    return x
--- plugins/extra.py
*from pkg.api import register
*register(1)
--- test_a.py
+import runpy
+import pkg.api
+def test_f():
*    runpy.run_path('plugins/extra.py')
",
        "test_a.py::test_f",
        "
+import sys
+sys.modules[\"pkg\"] = sys.modules[\"pkg.api\"] = sys.modules.get(__name__)
 import runpy
 def register(x):
     return x
 def test_f():
     runpy.run_path('plugins/extra.py')
",
    );
}

#[test]
fn an_abstract_method_s_override_stays() {
    check(
        "
--- trace
overrides pkg.mod:Real close
--- adjustments
{\"uncalled\": []}
--- pkg/__init__.py
--- pkg/mod.py
+import abc
+class Base(abc.ABC):
+    @abc.abstractmethod
+    def close(self):
-        raise NotImplementedError
+class Real(Base):
+    def close(self):
-        return None
+    def open(self):
-        return 1
+    def run(self):
*        return 2
--- test_a.py
+from pkg.mod import Real
+def test_f():
*    assert Real().run() == 2
",
        "test_a.py::test_f",
        "
 import abc
 class Base(abc.ABC):
     @abc.abstractmethod
     def close(self):
         raise NotImplementedError
 class Real(Base):
     def close(self):
         return None
     def run(self):
         return 2
 def test_f():
     assert Real().run() == 2
",
    );
}

#[test]
fn a_module_whose_name_is_known_is_an_object_of_its_own() {
    check(
        "
--- trace
holds pkg.space one other int
holds pkg.space limit other int
holds pkg.space work function pkg.space:work
--- pkg/__init__.py
--- pkg/fill.py
+def fill(held):
+    held['one'] = 1
+    return ['one']
--- pkg/space.py
+from .fill import fill
+__all__ = fill(globals())
+limit = 3
+unused = 4
+def work():
*    return 1
--- pkg/mod.py
+from . import space
+KNOWN = {'pkg.space'}
+def choose():
*    return space
+def again():
*    from . import space as other
*    return other
+def user():
*    found = choose()
*    assert found is again()
*    return found.one + found.limit if found.__name__ in KNOWN else found.work()
--- test_a.py
+from pkg.mod import user
+def test_f():
*    assert user() == 4
",
        "test_a.py::test_f",
        r#"
+import types
+other = space = types.ModuleType("pkg.space")
 def fill(held):
     held['one'] = 1
     return ['one']
~__all__ = fill(vars(other))
 limit = 3
 def work():
     return 1
+vars(other).update(limit=limit, work=work)
 KNOWN = {'pkg.space'}
 def choose():
     return space
 def again():
     return other
 def user():
     found = choose()
     assert found is again()
     return found.one + found.limit if found.__name__ in KNOWN else found.work()
 def test_f():
     assert user() == 4
"#,
    );
}

#[test]
fn examples_find_what_their_module_imports() {
    check(
        "
--- trace
mentions gcd total other
holds tool gcd other builtin_function_or_method
--- tool.py
+from math import gcd, lcm
+total = 3
+def coprime(x):
-    '''
-    >>> gcd(4, 2), coprime(4), total
-    (2, False, 3)
-    '''
*    return x > 4
",
        "tool.py",
        "
 from math import gcd
 total = 3
 def coprime(x):
     '''
     >>> gcd(4, 2), coprime(4), total
     (2, False, 3)
     '''
     return x > 4
",
    );
}

#[test]
fn a_console_script_calls_its_entry_point() {
    check(
        "
--- trace
entry tool pkg.cli main
--- pkg/__init__.py
--- pkg/cli.py
+import sys
+def main(args=None):
*    print(args or sys.argv[1:])
--- run.py
+from pkg.cli import main
",
        "run.py",
        r#"
 import sys
 def main(args=None):
     print(args or sys.argv[1:])
+if __name__ == "__main__":
+    sys.argv[0] = "tool"
+    sys.exit(main())
"#,
    );
}

#[test]
fn a_module_reached_through_one_that_is_an_object_is_one_too() {
    check(
        "
--- trace
holds pkg.space inner module pkg.inner
holds pkg.inner make function pkg.inner:make
--- pkg/__init__.py
--- pkg/other.py
+def make():
*    return 1
--- pkg/inner.py
+from . import other
+make = [other.make][0]
--- pkg/space.py
+from . import inner
--- pkg/mod.py
+from . import space, other
+KNOWN = {'pkg.space'}
+def choose():
*    return space
+def user():
*    found = choose()
*    return (found.__name__ in KNOWN) + found.inner.make() + other.make()
--- test_a.py
+from pkg.mod import user
+def test_f():
*    assert user() == 3
",
        "test_a.py::test_f",
        r#"
+import sys
+import types
+other = sys.modules.get(__name__)
+inner = types.ModuleType("pkg.inner")
+space = types.ModuleType("pkg.space")
+vars(space).update(inner=inner)
 def make():
     return 1
+make_other = make
~make = [other.make_other][0]
+vars(inner).update(make=make)
 KNOWN = {'pkg.space'}
 def choose():
     return space
 def user():
     found = choose()
~    return (found.__name__ in KNOWN) + found.inner.make() + other.make_other()
 def test_f():
     assert user() == 3
"#,
    );
}

#[test]
fn a_name_that_is_taken_apart_is_that_of_its_module() {
    check(
        r#"
--- pkg/__init__.py
--- pkg/mod.py
+def parent():
*    return __name__.rpartition('.')[0], print(__name__), f"{__name__.upper()}"
--- test_a.py
+from pkg.mod import parent
+def test_f():
*    assert parent() == ('pkg', None, 'PKG.MOD')
"#,
        "test_a.py::test_f",
        r#"
 def parent():
~    return "pkg.mod".rpartition('.')[0], print(__name__), f"{'pkg.mod'.upper()}"
 def test_f():
     assert parent() == ('pkg', None, 'PKG.MOD')
"#,
    );
}

#[test]
fn a_module_that_a_test_names_is_imported_as_itself() {
    check(
        "
--- trace
holds pkg.one make function pkg.one:make
holds pkg.two make function pkg.two:make
--- pkg/__init__.py
--- pkg/one.py
+def make():
*    return 1
--- pkg/two.py
+def make():
*    return 2
--- pkg/mod.py
+import importlib
+def load(name):
*    return importlib.import_module(name).make()
--- test_a.py
+from pkg.mod import load
+def test_f():
*    assert load('pkg.one') + load('pkg.two') == 3
",
        "test_a.py::test_f",
        r#"
+import sys
+import types
+sys.modules["pkg"] = sys.modules.get(__name__)
+one = sys.modules["pkg.one"] = types.ModuleType("pkg.one")
+two = sys.modules["pkg.two"] = types.ModuleType("pkg.two")
 import importlib
 def load(name):
     return importlib.import_module(name).make()
 def test_f():
     assert load('pkg.one') + load('pkg.two') == 3
 def make():
     return 1
+make_one = make
+vars(one).update(make=make_one)
 def make():
     return 2
+vars(two).update(make=make)
"#,
    );
}

#[test]
fn globals_by_name_are_found_where_code_looks_them_up() {
    check(
        "
--- pkg/__init__.py
--- pkg/cats.py
+Lu = 'A-Z'
+Ll = 'a-z'
+Nd = '0-9'
+def combine(*names):
*    return ''.join(globals()[name] for name in names)
--- test_a.py
+from pkg import cats
+def test_f():
*    assert cats.combine('Lu', 'Ll') == 'A-Za-z'
",
        "test_a.py::test_f",
        "
+import sys
+cats = sys.modules.get(__name__)
 Lu = 'A-Z'
 Ll = 'a-z'
 def combine(*names):
     return ''.join(globals()[name] for name in names)
 def test_f():
     assert cats.combine('Lu', 'Ll') == 'A-Za-z'
",
    );
}

#[test]
fn a_module_whose_exports_are_gone_through_has_them_all() {
    check(
        "
--- adjustments
{\"namespaces\": [\"pkg.one\"], \"register\": [\"pkg.one\"]}
--- trace
holds pkg.one __all__ other list
holds pkg.one Used class pkg.one:Used
holds pkg.one Other class pkg.one:Other
holds pkg.one Inner class pkg.one:Inner
--- pkg/__init__.py
--- pkg/one.py
+__all__ = ['Used', 'Other']
+class Inner:
+    name = 'inner'
+class Used(Inner):
+    name = 'used'
+class Other(Inner):
+    name = 'other'
--- pkg/mod.py
+TABLE = {'used': 'pkg.one'}
+def load(name):
*    mod = __import__(TABLE[name], None, None, ['__all__'])
*    return {getattr(mod, one).name: one for one in mod.__all__}
--- test_a.py
+from pkg.mod import load
+def test_f():
*    assert load('used')['used']
",
        "test_a.py::test_f",
        r#"
+import sys
+import types
+sys.modules["pkg"] = sys.modules.get(__name__)
+one = sys.modules["pkg.one"] = types.ModuleType("pkg.one")
 TABLE = {'used': 'pkg.one'}
 def load(name):
     mod = __import__(TABLE[name], None, None, ['__all__'])
     return {getattr(mod, one).name: one for one in mod.__all__}
 def test_f():
     assert load('used')['used']
 __all__ = ['Used', 'Other']
+vars(one).update(__all__=__all__)
 class Inner:
     name = 'inner'
 class Used(Inner):
     name = 'used'
 class Other(Inner):
     name = 'other'
+vars(one).update(Used=Used, Other=Other)
"#,
    );
}

#[test]
fn a_test_may_be_made_by_a_call() {
    check(
        "
--- lib.py
+class Base:
*    def run(self):
*        return 1
+def make(name):
+    return type(name, (Base,), {'test_one': lambda self: None})
--- test_it.py
+import lib
+UNUSED = lib.make('Unused')
+TestMade = lib.make('TestMade')
",
        "test_it.py::TestMade::test_one",
        "
+import sys
+lib = sys.modules.get(__name__)
 class Base:
     def run(self):
         return 1
 def make(name):
     return type(name, (Base,), {'test_one': lambda self: None})
 TestMade = lib.make('TestMade')
",
    );
}

#[test]
fn a_test_that_is_not_entered_is_among_those_of_the_command() {
    check(
        "
--- test_it.py
+import unittest
+class Base(unittest.TestCase):
+    def setUp(self):
*        raise ValueError
+    def test_one(self):
-        self.fail()
+    def test_two(self):
-        self.fail()
+class TestIt(Base):
+    pass
",
        "test_it.py::TestIt::test_one",
        "
 import unittest
 class Base(unittest.TestCase):
     def setUp(self):
         raise ValueError
     def test_one(self):
         self.fail()
 class TestIt(Base):
     pass
",
    );
}

#[test]
fn a_path_that_a_block_imports_is_reached_through_an_object() {
    check(
        "
--- pkg/__init__.py
--- pkg/late.py
+def make():
*    return 1
+def other():
-    return 2
--- pkg/mod.py
+def user():
*    import pkg.late
*    return pkg.late.make()
--- test_it.py
+from pkg.mod import user
+def test_f():
*    assert user()
",
        "test_it.py::test_f",
        "
+import sys
+late = pkg = sys.modules.get(__name__)
 def user():
     return pkg.late.make()
 def test_f():
     assert user()
 def make():
     return 1
",
    );
}

#[test]
fn names_of_templates_that_a_module_fills_with_its_own() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+DIGIT = '[0-9]'
+ALPHA = '[a-z]'
+OTHER = '[.]'
+WORD = r'%(ALPHA)s (?: %(ALPHA)s | %(DIGIT)s )*' % locals()
+MORE = '{WORD}!'.format(**vars())
+def text():
*    return '%(MORE)s' % globals()
--- test_a.py
+from pkg.mod import text
+def test_f():
*    assert text()
",
        "test_a.py::test_f",
        "
 DIGIT = '[0-9]'
 ALPHA = '[a-z]'
 WORD = r'%(ALPHA)s (?: %(ALPHA)s | %(DIGIT)s )*' % locals()
 MORE = '{WORD}!'.format(**vars())
 def text():
     return '%(MORE)s' % globals()
 def test_f():
     assert text()
",
    );
}
