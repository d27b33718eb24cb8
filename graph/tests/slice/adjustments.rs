//! Tests that the lessons of a failed or a probing run change the slice.

use super::check;

const TABLE: &str = r#"
--- pkg/__init__.py
--- pkg/mod.py
+class Table:
-    """Rows."""
+    def __init__(self):
*        self.rows = []
+    def add(self, row):
-        """Adds."""
-        self.rows.append(row)
+    def get(self, x=0):
-        """Gets."""
*        if x:
-            return None
*        return self.rows
+LIMIT = 3
+print(__name__)
--- test_a.py
+from pkg.mod import Table
+def test_f():
*    assert Table().get() == []
"#;

/// Slices the table above under adjustments.
#[track_caller]
fn adjusts(adjustments: &str, expected: &str) {
    check(&format!("--- adjustments\n{adjustments}{TABLE}"), "test_a.py::test_f", expected);
}

#[test]
fn nothing_is_adjusted() {
    adjusts(
        "{}",
        r#"
 class Table:
     def __init__(self):
         self.rows = []
     def add(self, row):
         """Adds."""
     def get(self, x=0):
         return self.rows
 print(__name__)
 def test_f():
     assert Table().get() == []
"#,
    );
}

#[test]
fn docstrings_stay_where_they_are_read() {
    adjusts(
        r#"{"docstrings": true}"#,
        r#"
 class Table:
     """Rows."""
     def __init__(self):
         self.rows = []
     def add(self, row):
         """Adds."""
     def get(self, x=0):
         """Gets."""
         return self.rows
 print(__name__)
 def test_f():
     assert Table().get() == []
"#,
    );
}

#[test]
fn stubs_are_those_that_were_asked_for() {
    adjusts(
        r#"{"uncalled": [], "side_effects": false}"#,
        "
 class Table:
     def __init__(self):
         self.rows = []
     def get(self, x=0):
         return self.rows
 def test_f():
     assert Table().get() == []
",
    );
    adjusts(
        r#"{"uncalled": [], "more_uncalled": [{"path": "pkg/mod.py", "line": 5}], "side_effects": false}"#,
        r#"
 class Table:
     def __init__(self):
         self.rows = []
     def add(self, row):
         """Adds."""
     def get(self, x=0):
         return self.rows
 def test_f():
     assert Table().get() == []
"#,
    );
}

#[test]
fn what_the_program_itself_does_is_no_mere_side_effect() {
    check(
        r#"
--- adjustments
{"side_effects": false}
--- trace
runs run.py __main__
--- pkg/__init__.py
--- pkg/cli.py
+import sys
+print('loaded')
+def main(args=None):
*    print(args or sys.argv[1:])
--- run.py
+import sys
+from pkg.cli import main
+sys.exit(main())
"#,
        "run.py",
        "
 import sys
 def main(args=None):
     print(args or sys.argv[1:])
 sys.exit(main())
",
    );
}

#[test]
fn a_function_can_be_kept_whole() {
    adjusts(
        r#"{"whole": [{"path": "pkg/mod.py", "line": 8}, {"path": "pkg/mod.py", "line": 5}]}"#,
        r#"
 class Table:
     def __init__(self):
         self.rows = []
     def add(self, row):
         """Adds."""
         self.rows.append(row)
     def get(self, x=0):
         """Gets."""
         if x:
             return None
         return self.rows
 print(__name__)
 def test_f():
     assert Table().get() == []
"#,
    );
}

#[test]
fn statements_can_be_kept_and_dropped() {
    adjusts(
        r#"{"keep": [{"path": "pkg/mod.py", "line": 13}], "drop": [{"path": "pkg/mod.py", "line": 14}], "uncalled": []}"#,
        "
 class Table:
     def __init__(self):
         self.rows = []
     def get(self, x=0):
         return self.rows
 LIMIT = 3
 def test_f():
     assert Table().get() == []
",
    );
}

#[test]
fn the_name_of_a_module_can_be_written_out() {
    adjusts(
        r#"{"module_names": true, "uncalled": []}"#,
        r#"
 class Table:
     def __init__(self):
         self.rows = []
     def get(self, x=0):
         return self.rows
~print("pkg.mod")
 def test_f():
     assert Table().get() == []
"#,
    );
}

#[test]
fn what_is_defined_can_be_told_its_module() {
    adjusts(
        r#"{"homes": [{"path": "pkg/mod.py", "line": 1}], "uncalled": [], "side_effects": false}"#,
        r#"
+import sys
+sys.modules["pkg"] = sys.modules["pkg.mod"] = sys.modules.get(__name__)
 class Table:
+    __module__ = "pkg.mod"
     def __init__(self):
         self.rows = []
     def get(self, x=0):
         return self.rows
 def test_f():
     assert Table().get() == []
"#,
    );
}

#[test]
fn modules_can_be_registered_and_imported() {
    adjusts(
        r#"{"register": ["pkg.mod"], "imports": ["os.path"], "uncalled": [], "side_effects": false}"#,
        r#"
+import sys
+import os.path
+sys.modules["pkg"] = sys.modules["pkg.mod"] = sys.modules.get(__name__)
 class Table:
     def __init__(self):
         self.rows = []
     def get(self, x=0):
         return self.rows
 def test_f():
     assert Table().get() == []
"#,
    );
}

#[test]
fn a_run_of_the_gist_narrows_the_trace() {
    adjusts(
        r#"{"executed": [{"path": "pkg/mod.py", "lines": [1, 3, 4, 8, 12], "functions": [3, 8]},
            {"path": "test_a.py", "lines": [2, 3], "functions": [2]}], "uncalled": [], "side_effects": false}"#,
        "
 class Table:
     def __init__(self):
         self.rows = []
     def get(self, x=0):
         return self.rows
 def test_f():
     assert Table().get() == []
",
    );
}

#[test]
fn what_only_the_original_executed_goes_after_a_run_of_the_gist() {
    check(
        r#"
--- adjustments
{"executed": [{"path": "pkg/mod.py", "lines": [1, 2, 3, 7], "functions": [1]},
  {"path": "test_a.py", "lines": [3, 4], "functions": [3]}]}
--- pkg/__init__.py
--- pkg/mod.py
+def work(x=1):
=    if x:
=        return 1
+    else:
+        return 2
+def once():
+    return work(0)
--- pkg/other.py
+from .mod import once
+ONCE = once()
--- test_a.py
+import pkg.other
+from pkg.mod import work
+def test_f():
*    assert work() == 1
"#,
        "test_a.py::test_f",
        "
 def work(x=1):
     if x:
         return 1
 def test_f():
     assert work() == 1
",
    );
}

#[test]
fn conditions_that_may_have_an_effect_can_go() {
    for (impure, kept) in [(true, "\n     if note(x):\n         return None\n"), (false, "\n")] {
        check(
            &format!(
                r#"
--- adjustments
{{"impure": {impure}}}
--- a.py
+seen = []
+def note(x):
*    seen.append(x)
+def f(x=0):
*    if note(x):
-        return None
*    return x
--- test_a.py
+from a import f
+def test_f():
*    assert f() == 0
"#
            ),
            "test_a.py::test_f",
            &format!(
                "
 seen = []
 def note(x):
     seen.append(x)
 def f(x=0):{kept}     return x
 def test_f():
     assert f() == 0
"
            ),
        );
    }
}

#[test]
fn annotations_can_be_evaluated() {
    check(
        r#"
--- adjustments
{"annotations": true}
--- pkg/__init__.py
--- pkg/mod.py
+from __future__ import annotations
+class Kind:
+    pass
+class Data:
+    kind: Kind
+def data():
*    return Data
--- test_a.py
+from pkg.mod import data
+def test_f():
*    assert data()
"#,
        "test_a.py::test_f",
        "
 from __future__ import annotations
 class Kind:
     pass
 class Data:
     kind: Kind
 def data():
     return Data
 def test_f():
     assert data()
",
    );
}

#[test]
fn a_module_can_be_made_an_object_of_its_own() {
    check(
        "
--- adjustments
{\"namespaces\": [\"pkg.mod\"]}
--- pkg/__init__.py
--- pkg/mod.py
+LIMIT = 1
+def work():
*    return LIMIT
--- pkg/user.py
+from . import mod
+def user():
*    return mod.work() + mod.LIMIT
--- test_a.py
+from pkg.user import user
+def test_f():
*    assert user() == 2
",
        "test_a.py::test_f",
        "
+import types
+mod = types.ModuleType(\"pkg.mod\")
 LIMIT = 1
 def work():
     return LIMIT
+vars(mod).update(LIMIT=LIMIT, work=work)
 def user():
     return mod.work() + mod.LIMIT
 def test_f():
     assert user() == 2
",
    );
}

#[test]
fn a_module_that_is_imported_by_its_name_is_there_though_nothing_is_asked_of_it() {
    check(
        r#"
--- adjustments
{"namespaces": ["pkg.mod"], "register": ["pkg.mod"]}
--- pkg/__init__.py
--- pkg/mod.py
+LIMIT = 1
--- pkg/user.py
+def user(name):
*    __import__(name)
--- test_a.py
+from pkg.user import user
+def test_f():
*    user('pkg' + '.mod')
"#,
        "test_a.py::test_f",
        r#"
+import sys
+import types
+sys.modules["pkg"] = sys.modules.get(__name__)
+mod = sys.modules["pkg.mod"] = types.ModuleType("pkg.mod")
 def user(name):
     __import__(name)
 def test_f():
     user('pkg' + '.mod')
"#,
    );
}

#[test]
fn an_object_of_its_own_takes_no_name_of_the_tests() {
    check(
        "
--- adjustments
{\"namespaces\": [\"pkg.json\"]}
--- pkg/__init__.py
--- pkg/json.py
+def load():
*    return 1
--- pkg/user.py
+from . import json
+def user():
*    return json.load()
--- test_a.py
+import json
+from pkg.user import user
+def test_f():
*    assert user() == 1
+def test_g():
-    assert json.loads('1') == user()
",
        "test_a.py::test_f",
        "
+import types
+json_json = types.ModuleType(\"pkg.json\")
 def load():
     return 1
+vars(json_json).update(load=load)
 def user():
~    return json_json.load()
 def test_f():
     assert user() == 1
",
    );
}

#[test]
fn a_module_is_loaded_by_an_import_of_the_original() {
    check(
        r#"
--- adjustments
{"imports": ["a.b", "c", "d", "e.f", "g"]}
--- pkg/__init__.py
--- pkg/mod.py
+import x, a.b as ab
+from c import (one,
+    two as deux)
+from d import work
+from e import f
+def work():
*    return 1
--- test_a.py
+from pkg.mod import work
+def test_f():
*    assert work() == 1
"#,
        "test_a.py::test_f",
        "
 import a.b as ab
 from c import one
+import d
 from e import f
+import g
 def work():
     return 1
 def test_f():
     assert work() == 1
",
    );
}

#[test]
fn a_method_that_one_run_did_not_call_is_what_the_original_did_with_it() {
    check(
        r#"
--- pkg/__init__.py
--- pkg/mod.py
+class Number:
+    def ask(self, name):
*        return getattr(self, name)()
+    def real(self):
*        if self:
*            return True
-        return False
--- test_a.py
+from pkg.mod import Number
+def test_f():
*    assert Number().ask('real')
--- adjustments
{"executed": [{"path": "pkg/mod.py", "lines": [1, 2, 3, 4], "functions": [2]},
 {"path": "test_a.py", "lines": [2, 3], "functions": [2]}],
 "uncalled": [], "more_uncalled": [{"path": "pkg/mod.py", "line": 4}]}
"#,
        "test_a.py::test_f",
        "
 class Number:
     def ask(self, name):
         return getattr(self, name)()
     def real(self):
         if self:
             return True
 def test_f():
     assert Number().ask('real')
",
    );
}

/// A function whose loop and inner branch decided on nothing, cut by a run that had other lines than the original.
#[track_caller]
fn check_again(heard: &str, expected: &str) {
    let files = "
--- adjustments
{\"executed\": [{\"path\": \"pkg/mod.py\", \"functions\": [1], HEARD}]}
--- pkg/__init__.py
--- pkg/mod.py
+def find(all, end):
*    for one in all:
-        end = one
-        break
-    else:
*        end += 1
*    if end:
*        if all:
-            return None
-    else:
*        end = 2
*    return end
--- test_a.py
+from pkg.mod import find
+def test_f():
*    assert find([], 1) == 2 and find([], -1) == 2
";
    check(&files.replace("HEARD", heard), "test_a.py::test_f", expected);
}

#[test]
fn a_run_tells_nothing_of_lines_that_it_did_not_have() {
    let ran = "\"lines\": [1, 6, 7, 11, 12], \"kept\": [1, 6, 7, 10, 11, 12]";
    check_again(
        ran,
        "
 def find(all, end):
     end += 1
     if end:
         if all:
             return None
     else:
         end = 2
     return end
 def test_f():
     assert find([], 1) == 2 and find([], -1) == 2
",
    );
    check_again(
        &format!("{ran}, \"idle\": [7]"),
        "
 def find(all, end):
     end += 1
     if end:
+        pass
     else:
         end = 2
     return end
 def test_f():
     assert find([], 1) == 2 and find([], -1) == 2
",
    );
}

#[test]
fn an_import_is_kept_for_what_it_binds() {
    check(
        r#"
--- adjustments
{"keep": [{"path": "pkg/mod.py", "line": 2}]}
--- pkg/__init__.py
--- pkg/mod.py
+try:
+    from textwrap import dedent
-except ImportError:
-    dedent = str
+def f(x):
*    return x
--- test_a.py
+from pkg import mod
+def replace(module, name):
*    return getattr(module, name)
+def test_f():
*    assert mod.f(3) == 3
*    assert replace(mod, "dedent")
"#,
        "test_a.py::test_f",
        r#"
+import sys
+mod = sys.modules.get(__name__)
 from textwrap import dedent
 def f(x):
     return x
 def replace(module, name):
     return getattr(module, name)
 def test_f():
     assert mod.f(3) == 3
     assert replace(mod, "dedent")
"#,
    );
}

#[test]
fn conditions_stay_where_they_are_asked_for() {
    let files = r#"
--- pkg/__init__.py
--- pkg/mod.py
+def count(rows, limit=0):
*    for row in rows.items():
-        print(row)
*    if limit > 0:
-        return limit
*    return 0
--- test_a.py
+from pkg.mod import count
+def test_f():
*    assert count({}) == 0
"#;
    for (adjustments, kept) in [
        ("{}", ""),
        (
            r#"{"conditions": true}"#,
            "     for row in rows.items():\n         print(row)\n     if limit > 0:\n         return limit\n",
        ),
    ] {
        let expected = format!(
            "\n def count(rows, limit=0):\n{kept}     return 0\n def test_f():\n     assert count({{}}) == 0\n"
        );
        check(&format!("--- adjustments\n{adjustments}{files}"), "test_a.py::test_f", &expected);
    }
}

#[test]
fn a_class_of_which_nothing_else_is_left_is_told_its_module_and_no_more() {
    check(
        r#"
--- adjustments
{"homes": [{"path": "pkg/mod.py", "line": 1}], "uncalled": [], "side_effects": false}
--- pkg/__init__.py
--- pkg/mod.py
+class Table:
+    def add(self, row):
-        return row
--- test_a.py
+from pkg.mod import Table
+def test_f():
*    assert Table.__module__ == "pkg.mod"
"#,
        "test_a.py::test_f",
        r#"
+import sys
+sys.modules["pkg"] = sys.modules["pkg.mod"] = sys.modules.get(__name__)
 class Table:
+    __module__ = "pkg.mod"
 def test_f():
     assert Table.__module__ == "pkg.mod"
"#,
    );
}

#[test]
fn a_package_that_is_asked_for_its_path_is_an_object_with_it() {
    check(
        r#"
--- adjustments
{"demands": [["pkg", "__path__"]], "register": ["pkg.mod"]}
--- pkg/__init__.py
--- pkg/mod.py
+from importlib import import_module
+def load(name):
*    return import_module(name)
--- test_a.py
+from pkg.mod import load
+def test_f():
*    load("pkg.none")
"#,
        "test_a.py::test_f",
        r#"
+import sys
+import types
+sys.modules["pkg.mod"] = sys.modules.get(__name__)
+pkg = sys.modules["pkg"] = types.ModuleType("pkg")
+vars(pkg).update(__file__=__file__.rsplit('/', 1)[0] + '/pkg/__init__.py', __path__=[__file__.rsplit('/', 1)[0] + '/pkg'], __spec__=__import__("importlib.util", fromlist=['_']).spec_from_file_location("pkg", __file__.rsplit('/', 1)[0] + '/pkg/__init__.py', submodule_search_locations=[__file__.rsplit('/', 1)[0] + '/pkg']))
 from importlib import import_module
 def load(name):
     return import_module(name)
 def test_f():
     load("pkg.none")
"#,
    );
}

#[test]
fn a_kept_import_of_a_module_gives_its_name() {
    check(
        r#"
--- adjustments
{"keep": [{"path": "test_a.py", "line": 1}], "side_effects": true}
--- mod.py
+def f(x):
*    return x
--- test_a.py
+import mod
+exec("def call(x):\n    return mod.f(x)\n")
+from mod import f
+def test_f():
*    assert f(3) == 3
"#,
        "test_a.py::test_f",
        r#"
+import sys
+mod = sys.modules.get(__name__)
 def f(x):
     return x
 exec("def call(x):\n    return mod.f(x)\n")
 def test_f():
     assert f(3) == 3
"#,
    );
}

#[test]
fn a_header_that_decided_in_the_original_stays_where_its_branch_is_no_longer_taken() {
    check(
        "
--- adjustments
{\"executed\": [{\"path\": \"pkg/mod.py\", \"functions\": [1, 8, 15], \"lines\": [1, 2, 5, 6, 8, 9, 10, 13, 15, 16, 19, 20]}]}
--- pkg/mod.py
+def size(name):
*    if isinstance(name, str):
*        name = [name, name]
*    else:
*        name = list(name)
*    return len(name)

+def count(text):
*    try:
*        found = int(text)
*    except ValueError:
*        found = 0
*    return found

+def last(names):
*    for name in names:
*        break
*    else:
*        name = None
*    return name
--- test_a.py
+from pkg.mod import count, last, size
+def test_f():
*    assert size(()) == count(\"0\") == 0 and last(()) is None
",
        "test_a.py::test_f",
        "
 def size(name):
     if isinstance(name, str):
         name = [name, name]
     else:
         name = list(name)
     return len(name)
 def count(text):
     try:
         found = int(text)
     except ValueError:
         found = 0
     return found
 def last(names):
     for name in names:
+        pass
     else:
         name = None
     return name
 def test_f():
     assert size(()) == count(\"0\") == 0 and last(()) is None
",
    );
}

#[test]
fn records_of_earlier_versions_have_other_names() {
    let read = |text: &str| -> String {
        let read: gistify_graph::Adjustments = serde_json::from_str(text).unwrap();
        serde_json::to_string(&read).unwrap()
    };
    let place = r#"[{"path": "a.py", "line": 3}]"#;
    let (old, new) = (("stubs", "more_stubs"), ("uncalled", "more_uncalled"));
    let text = |(one, more): (&str, &str)| format!(r#"{{"{one}": {place}, "{more}": {place}}}"#);
    assert_eq!(read(&text(old)), read(&text(new)));
}
