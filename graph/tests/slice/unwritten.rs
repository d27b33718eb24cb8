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
