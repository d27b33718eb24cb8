//! Tests modules with an object of their own, and the attributes read from it.

use super::check;

#[test]
fn a_module_whose_place_is_asked_for_has_its_own() {
    check(
        "
--- pkg/__init__.py
+LIMIT = 3
+OTHER = 4
--- pkg/tests/helper.py
+import os
+import pkg
+ROOT = os.path.dirname(pkg.__file__)
--- pkg/tests/test_it.py
+import pkg
+from pkg.tests.helper import ROOT
+def test_f():
*    assert ROOT and pkg.LIMIT
",
        "pkg/tests/test_it.py::test_f",
        r#"
+import types
+pkg = types.ModuleType("pkg")
+vars(pkg).update(__file__=__file__.rsplit('/', 2)[0] + '/__init__.py', __path__=[__file__.rsplit('/', 2)[0]])
 LIMIT = 3
+vars(pkg).update(LIMIT=LIMIT)
 import os
 ROOT = os.path.dirname(pkg.__file__)
 def test_f():
     assert ROOT and pkg.LIMIT
"#,
    );
}

#[test]
fn a_module_that_is_found_by_its_name_has_a_spec() {
    check(
        r#"
--- adjustments
{"register": ["pkg"]}
--- pkg/__init__.py
+LIMIT = 3
--- helper.py
+import os
+import pkg
+ROOT = os.path.dirname(pkg.__file__)
--- test_it.py
+import pkgutil
+import pkg
+from helper import ROOT
+def test_f():
*    assert ROOT and pkg.LIMIT and pkgutil.get_data('pkg', 'data')
"#,
        "test_it.py::test_f",
        r#"
+import sys
+import types
+pkg = sys.modules["pkg"] = types.ModuleType("pkg")
+vars(pkg).update(__file__=__file__.rsplit('/', 1)[0] + '/pkg/__init__.py', __path__=[__file__.rsplit('/', 1)[0] + '/pkg'], __spec__=__import__("importlib.util", fromlist=['_']).spec_from_file_location("pkg", __file__.rsplit('/', 1)[0] + '/pkg/__init__.py', submodule_search_locations=[__file__.rsplit('/', 1)[0] + '/pkg']))
 import pkgutil
 LIMIT = 3
+vars(pkg).update(LIMIT=LIMIT)
 import os
 ROOT = os.path.dirname(pkg.__file__)
 def test_f():
     assert ROOT and pkg.LIMIT and pkgutil.get_data('pkg', 'data')
"#,
    );
}

#[test]
fn what_a_compiler_is_told_is_no_attribute_of_a_module() {
    check(
        "
--- trace
holds pkg.space annotations other _Feature
holds pkg.space LIMIT other int
--- pkg/__init__.py
--- pkg/space.py
+from __future__ import annotations
+LIMIT = 3
--- test_it.py
+from pkg import space
+KNOWN = {'pkg.space'}
+def choose():
*    return space
+def test_f():
*    found = choose()
*    assert found.LIMIT and found.__name__ in KNOWN and 'annotations'
",
        "test_it.py::test_f",
        r#"
 from __future__ import annotations
+import sys
+import types
+sys.modules["pkg"] = sys.modules.get(__name__)
+space = types.ModuleType("pkg.space")
 LIMIT = 3
+vars(space).update(LIMIT=LIMIT)
 KNOWN = {'pkg.space'}
 def choose():
     return space
 def test_f():
     found = choose()
     assert found.LIMIT and found.__name__ in KNOWN and 'annotations'
"#,
    );
}

#[test]
fn a_module_is_itself_again_where_its_name_held_something_else() {
    check(
        r#"
--- adjustments
{"namespaces": ["pkg.table"]}
--- trace
holds pkg.table LIMIT other int
--- pkg/__init__.py
--- pkg/table.py
+LIMIT = 3
+OTHER = 4
--- pkg/names.py
+table = {'a': 1}
+def look(name):
*    return table[name]
--- test_it.py
+from pkg import table
+from pkg.names import look
+def test_f():
*    assert look('a') and getattr(table, 'LIMIT') == 3
"#,
        "test_it.py::test_f",
        r#"
+import types
+table = table_table = types.ModuleType("pkg.table")
 LIMIT = 3
+vars(table_table).update(LIMIT=LIMIT)
 table = {'a': 1}
+table_names = table
+table = table_table
 def look(name):
~    return table_names[name]
 def test_f():
     assert look('a') and getattr(table, 'LIMIT') == 3
"#,
    );
}

#[test]
fn a_module_whose_names_are_listed_has_them_all() {
    check(
        "
--- trace
holds mod Base class mod:Base
holds mod First class mod:First
holds mod Second class mod:Second
--- mod.py
+class Base:
+    pass
+class First(Base):
+    pass
+class Second(Base):
+    pass
--- test_a.py
+import mod
+First = None
+Second = None
+for value in list(mod.__dict__.values()):
+    if isinstance(value, type) and issubclass(value, mod.Base):
+        globals()[value.__name__] = value.__name__
+def test_f():
*    assert First == 'First' and Second == 'Second'
",
        "test_a.py::test_f",
        "
+import types
+mod = types.ModuleType(\"mod\")
 class Base:
     pass
 class First(Base):
     pass
+First_mod = First
 class Second(Base):
     pass
+Second_mod = Second
+vars(mod).update(Base=Base, First=First_mod, Second=Second_mod)
 First = None
 Second = None
 for value in list(mod.__dict__.values()):
     if isinstance(value, type) and issubclass(value, mod.Base):
         globals()[value.__name__] = value.__name__
 def test_f():
     assert First == 'First' and Second == 'Second'
",
    );
    // What follows the argument tells which of the names.
    for (import, asks) in [
        ("", "[name for name in dir(mod) if name[:1] != '_'] == ['first', 'second']"),
        ("from inspect import getmembers, isfunction\n", "len(getmembers(mod, isfunction)) == 2"),
    ] {
        let source = if import.is_empty() { String::new() } else { format!("+{import}") };
        let kept = if import.is_empty() { String::new() } else { format!(" {import}") };
        check(
            &format!(
                "
--- trace
holds mod first function mod:first
holds mod second function mod:second
--- mod.py
+def first():
-    return 1
+def second():
-    return 2
--- test_a.py
{source}+import mod
+def test_f():
*    assert {asks}
"
            ),
            "test_a.py::test_f",
            &format!(
                "
+import types
+mod = types.ModuleType(\"mod\")
{kept} def first():
     return 1
 def second():
     return 2
+vars(mod).update(first=first, second=second)
 def test_f():
     assert {asks}
"
            ),
        );
    }
}

#[test]
fn a_module_whose_exports_are_gone_through_has_its_own() {
    check(
        "
--- trace
holds pkg.inner __all__ other list
holds pkg.inner Inner class pkg.inner:Inner
--- pkg/__init__.py
--- pkg/outer.py
+import sys
+from . import inner
+__all__ = ['Outer']
+def take(module):
+    this = sys.modules[__name__]
+    for name in module.__all__:
+        setattr(this, name, getattr(module, name))
+        this.__all__.append(name)
+take(inner)
+def names():
*    return __all__
--- pkg/inner.py
+__all__ = ['Inner']
+class Inner:
+    pass
--- test_a.py
+from pkg.outer import names, Inner
+def test_f():
*    assert names() == ['Outer', 'Inner'] and Inner
",
        "test_a.py::test_f",
        r#"
+import types
+inner = types.ModuleType("pkg.inner")
 import sys
 __all__ = ['Inner']
+__all___inner = __all__
+vars(inner).update(__all__=__all___inner)
 class Inner:
     pass
+vars(inner).update(Inner=Inner)
 __all__ = ['Outer']
 def take(module):
     this = sys.modules[__name__]
     for name in module.__all__:
         setattr(this, name, getattr(module, name))
         this.__all__.append(name)
 take(inner)
 def names():
     return __all__
 def test_f():
     assert names() == ['Outer', 'Inner'] and Inner
"#,
    );
}

#[test]
fn exports_of_an_earlier_module_are_those_of_the_gist_again() {
    check(
        "
--- trace
holds pkg.inner __all__ other list
holds pkg.inner Inner class pkg.inner:Inner
--- pkg/__init__.py
--- pkg/outer.py
+import sys
+__all__ = ['Outer']
+def take(module):
+    this = sys.modules[__name__]
+    for name in module.__all__:
+        setattr(this, name, getattr(module, name))
+        this.__all__.append(name)
+from . import inner
+take(inner)
--- pkg/inner.py
+__all__ = ['Inner']
+class Inner:
+    pass
--- test_a.py
+from pkg.outer import Inner
+def test_f():
*    assert Inner
",
        "test_a.py::test_f",
        r#"
+import types
+inner = types.ModuleType("pkg.inner")
 import sys
 __all__ = ['Outer']
+__all___outer = __all__
 def take(module):
     this = sys.modules[__name__]
     for name in module.__all__:
         setattr(this, name, getattr(module, name))
         this.__all__.append(name)
 __all__ = ['Inner']
+__all___inner = __all__
+__all__ = __all___outer
+vars(inner).update(__all__=__all___inner)
 class Inner:
     pass
+vars(inner).update(Inner=Inner)
 take(inner)
 def test_f():
     assert Inner
"#,
    );
}

#[test]
fn exports_of_a_module_that_is_named_make_no_object_of_others() {
    check(
        "
--- trace
holds pkg.one __all__ other list
holds pkg.one run function pkg.one:run
--- pkg/__init__.py
--- pkg/one.py
+__all__ = ['run', 'idle']
+def run():
*    return 1
+def idle():
-    return 2
--- pkg/two.py
+__all__ = ['two']
+two = 2
--- pkg/mod.py
+from pkg import one, two
+PLUGINS = [one]
+def use():
*    return [plugin.run() for plugin in PLUGINS] if 'two' in two.__all__ else []
--- test_a.py
+from pkg.mod import use
+def test_f():
*    assert use() == [1]
",
        "test_a.py::test_f",
        "
+import sys
+one = two = sys.modules.get(__name__)
 def run():
     return 1
 __all__ = ['two']
 PLUGINS = [one]
 def use():
     return [plugin.run() for plugin in PLUGINS] if 'two' in two.__all__ else []
 def test_f():
     assert use() == [1]
",
    );
}

#[test]
fn exports_are_imported_as_anything_is() {
    check(
        "
--- pkg/__init__.py
--- pkg/one.py
+__all__ = ['run', 'idle']
+def run():
*    return 1
--- pkg/mod.py
+def use():
*    from pkg.one import __all__ as names
*    return names
--- test_a.py
+from pkg.mod import use
+def test_f():
*    assert use() == ['run', 'idle']
",
        "test_a.py::test_f",
        "
 def use():
+    names = __all__
     return names
 def test_f():
     assert use() == ['run', 'idle']
 __all__ = ['run', 'idle']
 def run():
     return 1
",
    );
}

#[test]
fn a_package_that_code_asks_for_its_data_is_found_by_its_name() {
    check(
        "
--- pkg/__init__.py
+VERSION = 1
--- pkg/words.py
+from importlib import resources
+def text():
*    package = __spec__ and __spec__.parent
*    return resources.files(package or __package__).joinpath('words.txt').read_text()
--- test_a.py
+from pkg.words import text
+def test_f():
*    assert text()
",
        "test_a.py::test_f",
        r#"
+import sys
+import types
+pkg = sys.modules["pkg"] = types.ModuleType("pkg")
+vars(pkg).update(__file__=__file__.rsplit('/', 1)[0] + '/pkg/__init__.py', __path__=[__file__.rsplit('/', 1)[0] + '/pkg'], __spec__=__import__("importlib.util", fromlist=['_']).spec_from_file_location("pkg", __file__.rsplit('/', 1)[0] + '/pkg/__init__.py', submodule_search_locations=[__file__.rsplit('/', 1)[0] + '/pkg']))
 from importlib import resources
 def text():
~    package = __spec__ and "pkg"
~    return resources.files(package or "pkg").joinpath('words.txt').read_text()
 def test_f():
     assert text()
"#,
    );
}

#[test]
fn modules_that_code_finds_among_the_names_of_one_have_all_of_theirs() {
    let of = |asks: &str, expected: &str| {
        check(
            &format!(
                "
--- trace
holds pkg load function pkg.registry:load
holds pkg shapes module pkg.shapes
holds pkg.shapes Circle class pkg.shapes:Circle
--- pkg/__init__.py
+from pkg.registry import load
+from pkg import shapes
--- pkg/shapes.py
+class Circle:
+    pass
--- pkg/registry.py
+import types
+def load():
*    package = __import__('pkg')
*    found = [getattr(package, name) for name in dir(package)]
*    modules = [one for one in found if {asks}]
*    return [name for module in modules for name in dir(module)]
--- test_a.py
+from pkg import load
+def test_f():
*    assert len(load()) > 8
"
            ),
            "test_a.py::test_f",
            expected,
        );
    };
    let gist = |asks: &str, shapes: [&str; 3]| {
        let [made, held, filled] = shapes;
        // A package has a module once that has been executed.
        let package = match held {
            "" => "+vars(pkg).update(shapes=shapes, load=load)\n".to_owned(),
            held => format!("{held}+vars(pkg).update(load=load, shapes=shapes)\n"),
        };
        format!(
            "
+import sys
 import types
+pkg = sys.modules[\"pkg\"] = types.ModuleType(\"pkg\")
+shapes = {made}
 def load():
     package = __import__('pkg')
     found = [getattr(package, name) for name in dir(package)]
     modules = [one for one in found if {asks}]
     return [name for module in modules for name in dir(module)]
{package}{filled} def test_f():
     assert len(load()) > 8
"
        )
    };
    let asks = "isinstance(one, types.ModuleType)";
    let circle = " class Circle:\n     pass\n";
    let all = ["types.ModuleType(\"pkg.shapes\")", circle, "+vars(shapes).update(Circle=Circle)\n"];
    of(asks, &gist(asks, all));
    // Where nothing asks which are modules, nothing goes on to theirs.
    let asks = "hasattr(one, 'Square')";
    of(asks, &gist(asks, ["types.ModuleType(\"pkg.shapes\")", "", ""]));
}

#[test]
fn a_package_leads_to_the_module_whose_names_are_listed() {
    check(
        "
--- trace
holds top.pkg Circle class top.pkg:Circle
--- top/__init__.py
--- top/pkg.py
+class Circle:
+    pass
--- test_a.py
+import top.pkg
+def load():
*    module = __import__('top.pkg').pkg
*    return [name for name in dir(module)]
+def test_f():
*    assert 'Circle' in load()
",
        "test_a.py::test_f",
        "
+import sys
+import types
+pkg = sys.modules[\"top.pkg\"] = types.ModuleType(\"top.pkg\")
+top = sys.modules[\"top\"] = types.ModuleType(\"top\")
+vars(top).update(pkg=pkg)
 class Circle:
     pass
+vars(pkg).update(Circle=Circle)
 def load():
     module = __import__('top.pkg').pkg
     return [name for name in dir(module)]
 def test_f():
     assert 'Circle' in load()
",
    );
}

#[test]
fn what_is_asked_for_its_place_is_an_object_of_its_own() {
    check(
        "
--- trace
holds pkg.one NAME other str
--- pkg/one.py
+NAME = 'one'
--- pkg/__init__.py
+from . import one
+def place(module):
*    return module.__file__, module.NAME
--- test_a.py
+from pkg import one, place
+def test_f():
*    assert 'one' in place(one)[0]
",
        "test_a.py::test_f",
        "
+import types
+one = types.ModuleType(\"pkg.one\")
+vars(one).update(__file__=__file__.rsplit('/', 1)[0] + '/pkg/one.py')
 NAME = 'one'
+vars(one).update(NAME=NAME)
 def place(module):
     return module.__file__, module.NAME
 def test_f():
     assert 'one' in place(one)[0]
",
    );
}

#[test]
fn modules_that_objects_hold_are_told_apart() {
    check(
        "
--- trace
holds pkg.four version other int
holds pkg.six version other int
--- pkg/__init__.py
--- pkg/four.py
+version = 4
--- pkg/six.py
+version = 6
--- pkg/mod.py
+from pkg import four, six
+class Address:
+    def __init__(self, module):
*        self.module = module
+    def version(self):
*        return self.module.version
--- test_a.py
+from pkg import four, six
+from pkg.mod import Address
+def test_f():
*    assert Address(four).version() == 4 and Address(six).version() == 6
--- adjustments
{\"keep\": [{\"path\": \"pkg/four.py\", \"line\": 1}, {\"path\": \"pkg/six.py\", \"line\": 1}]}
",
        "test_a.py::test_f",
        "
+import types
+four = types.ModuleType(\"pkg.four\")
+six = types.ModuleType(\"pkg.six\")
 version = 4
+version_four = version
+vars(four).update(version=version_four)
 version = 6
+vars(six).update(version=version)
 class Address:
     def __init__(self, module):
         self.module = module
     def version(self):
         return self.module.version
 def test_f():
     assert Address(four).version() == 4 and Address(six).version() == 6
",
    );
}
