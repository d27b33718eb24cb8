//! Names that no statement of a module binds: its code puts them there while it runs.

use super::check;

const FILES: &str = "
--- pkg/__init__.py
--- pkg/console.py
+codes = {'bold': 1, 'red': 2}
+def create(name):
+    def inner(text):
*        return name + text
+    globals()[name] = inner
+for name in codes:
+    create(name)
--- pkg/show.py
+from pkg.console import bold
+def show(text):
*    return bold(text)
--- test_a.py
+from pkg.show import show
+def test_f():
*    assert show('a') == 'bolda'
--- trace
holds pkg.console bold function pkg.console:create.inner
";

/// The module is an object of its own.
const OBJECT: &str = r#"--- adjustments
{"namespaces": ["pkg.console"]}
"#;

#[test]
fn what_a_module_puts_among_its_names_while_it_runs_is_brought() {
    check(
        FILES,
        "test_a.py::test_f",
        "
 codes = {'bold': 1, 'red': 2}
 def create(name):
     def inner(text):
         return name + text
     globals()[name] = inner
 for name in codes:
     create(name)
 def show(text):
     return bold(text)
 def test_f():
     assert show('a') == 'bolda'
",
    );
}

#[test]
fn what_such_a_module_gives_its_own_object_is_had_from_there() {
    check(
        &format!("{FILES}{OBJECT}"),
        "test_a.py::test_f",
        r#"
+import types
+console = types.ModuleType("pkg.console")
 codes = {'bold': 1, 'red': 2}
 def create(name):
     def inner(text):
         return name + text
~    vars(console)[name] = inner
 for name in codes:
     create(name)
+bold = console.bold
 def show(text):
     return bold(text)
 def test_f():
     assert show('a') == 'bolda'
"#,
    );
}

#[test]
fn what_such_a_module_asks_for_itself_is_there_as_soon_as_it_is_given() {
    check(
        r#"
--- pkg/__init__.py
--- pkg/keys.py
+NAMES = 'tab enter'
+last = 0
+for name in NAMES.split():
+    last += 1
+    globals()['KEY_' + name] = last
+TABLE = {'\t': KEY_tab}
+def enter():
*    return KEY_enter
--- test_a.py
+from pkg.keys import TABLE, enter
+def test_f():
*    assert TABLE and enter()
--- trace
holds pkg.keys KEY_tab other int
holds pkg.keys KEY_enter other int
--- adjustments
{"namespaces": ["pkg.keys"]}
"#,
        "test_a.py::test_f",
        r#"
+import types
+keys = types.ModuleType("pkg.keys")
 NAMES = 'tab enter'
 last = 0
 for name in NAMES.split():
     last += 1
~    vars(keys)['KEY_' + name] = last
+KEY_tab = keys.KEY_tab
 TABLE = {'\t': KEY_tab}
 def enter():
     return KEY_enter
+KEY_enter = keys.KEY_enter
 def test_f():
     assert TABLE and enter()
"#,
    );
}
