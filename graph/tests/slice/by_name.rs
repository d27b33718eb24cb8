//! Modules that are imported by computed names while the tests run.

const MODULES: &str = "
--- trace
loads pkg/load.py 3 pkg/one.py pkg/three.py pkg/two.py
loads pkg/one.py 1 pkg/base.py
holds pkg.base NAME other str
holds pkg.one NAME other str
holds pkg.two NAME other str
--- pkg/__init__.py
--- pkg/base.py
*NAME = 'base'
--- pkg/one.py
*from .base import NAME
--- pkg/two.py
*NAME = 'two'
--- pkg/three.py
*OTHER = 3
--- pkg/load.py
";

const TEST: &str = "
--- test_a.py
+from pkg.load import load
+def test_f():
*    assert load(['one', 'two'])
";

/// Slices a test of `pkg/load.py`, whose third line imports three modules. One has no other uses,
/// and another imports a fourth.
#[track_caller]
fn check(load: &str, expected: &str) {
    let load = load.trim_matches('\n');
    super::check(&format!("{MODULES}{load}{TEST}"), "test_a.py::test_f", expected);
}

#[test]
fn what_a_function_imports_by_computed_names_is_there_from_the_start() {
    check(
        "
+from importlib import import_module
+def load(names):
*    return [import_module(f'pkg.{name}').NAME for name in names]
",
        r#"
+import sys
+import types
+sys.modules["pkg"] = sys.modules.get(__name__)
+one = sys.modules["pkg.one"] = types.ModuleType("pkg.one")
+three = sys.modules["pkg.three"] = types.ModuleType("pkg.three")
+two = sys.modules["pkg.two"] = types.ModuleType("pkg.two")
 from importlib import import_module
 def load(names):
     return [import_module(f'pkg.{name}').NAME for name in names]
 def test_f():
     assert load(['one', 'two'])
 NAME = 'base'
+NAME_base = NAME
+vars(one).update(NAME=NAME_base)
 NAME = 'two'
+vars(two).update(NAME=NAME)
"#,
    );
}

#[test]
fn what_a_table_names_is_there_where_all_of_it_was_loaded() {
    for (absent, there) in [("", true), (", 'pkg.absent'", false)] {
        let early = if there {
            "base = sys.modules[\"pkg.base\"] = types.ModuleType(\"pkg.base\")\n+"
        } else {
            ""
        };
        let filled = if there { "+vars(base).update(NAME=NAME_base)\n" } else { "" };
        check(
            &format!(
                "
+TABLE = ['pkg.base', 'pkg.one'{absent}]
+def load(names):
*    return [__import__(name, fromlist=['NAME']).NAME for name in TABLE]
"
            ),
            &format!(
                r#"
+import sys
+import types
+sys.modules["pkg"] = sys.modules.get(__name__)
+{early}one = sys.modules["pkg.one"] = types.ModuleType("pkg.one")
+three = sys.modules["pkg.three"] = types.ModuleType("pkg.three")
+two = sys.modules["pkg.two"] = types.ModuleType("pkg.two")
 TABLE = ['pkg.base', 'pkg.one'{absent}]
 def load(names):
     return [__import__(name, fromlist=['NAME']).NAME for name in TABLE]
 def test_f():
     assert load(['one', 'two'])
 NAME = 'base'
+NAME_base = NAME
{filled}+vars(one).update(NAME=NAME_base)
 NAME = 'two'
+vars(two).update(NAME=NAME)
"#
            ),
        );
    }
}

#[test]
fn what_is_loaded_otherwise_waits_for_an_error_that_asks_for_it() {
    check(
        "
+import importlib
+def load(names):
*    from . import one, two; return one.NAME and two.NAME
",
        "
+import sys
+one = two = sys.modules.get(__name__)
 def load(names):
~    return one.NAME_base and two.NAME
 def test_f():
     assert load(['one', 'two'])
 NAME = 'base'
+NAME_base = NAME
 NAME = 'two'
",
    );
    check(
        "
+import importlib
+def __getattr__(name):
*    return importlib.import_module(f'pkg.{name}')
+def load(names):
*    return names
",
        "
 import importlib
 def __getattr__(name):
     return importlib.import_module(f'pkg.{name}')
 def load(names):
     return names
 def test_f():
     assert load(['one', 'two'])
",
    );
    // Code of a module stays only where something needs it.
    check(
        "
+def load(names):
*    return names
*found = [__import__(f'pkg.{name}') for name in ('one', 'two')]
",
        "
 def load(names):
     return names
 def test_f():
     assert load(['one', 'two'])
",
    );
    // A run of the last gist did not come there.
    check(
        "
+def load(names):
*    if not names:
*        return __import__('pkg.' + names)
*    return names
--- adjustments
{\"executed\": [{\"path\": \"pkg/load.py\", \"lines\": [1, 2, 4], \"functions\": [1]},
  {\"path\": \"test_a.py\", \"lines\": [1, 2, 3], \"functions\": [2]}]}
",
        "
 def load(names):
     return names
 def test_f():
     assert load(['one', 'two'])
",
    );
}
