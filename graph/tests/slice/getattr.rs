//! Of `__getattr__`, which others ask for more in a gist than in the repository.

use super::check;

#[test]
fn the_getattr_of_a_module_answers_for_it() {
    check(
        "
--- pkg/__init__.py
+def __getattr__(name):
*    if name == 'answer':
*        return 42
-    raise AttributeError(name)
--- test_a.py
+import pkg
+def test_f():
*    assert pkg.answer == 42
",
        "test_a.py::test_f",
        "
+import sys
+pkg = sys.modules.get(__name__)
 def __getattr__(name):
     if name == 'answer':
         return 42
     raise AttributeError(name)
 def test_f():
     assert pkg.answer == 42
",
    );
}

#[test]
fn what_the_getattr_of_a_module_answers_is_imported() {
    let of = |test: &str, gist: &str| {
        let library = "
--- pkg/cmd.py
+KIND = 'kind'
+def __getattr__(name):
*    return KIND + name
--- pkg/__init__.py
+from . import cmd
";
        let head = "
+import sys
+import types
+sys.modules[\"pkg\"] = sys.modules.get(__name__)
+cmd = sys.modules[\"pkg.cmd\"] = types.ModuleType(\"pkg.cmd\")
 KIND = 'kind'
 def __getattr__(name):
     return KIND + name
+vars(cmd).update(__getattr__=__getattr__)
";
        check(&format!("{library}{test}"), "test_a.py::test_f", &format!("{head}{gist}"));
    };
    of(
        "--- test_a.py
+import pkg
+def test_f():
*    from pkg.cmd import cat, ls as list_
*    assert cat + list_ == 'kindcatkindls'
",
        " def test_f():
     assert cat + list_ == 'kindcatkindls'
+from pkg.cmd import cat
+from pkg.cmd import ls as list_
",
    );
    of(
        "--- test_a.py
+from pkg.cmd import cat
+def test_f():
*    assert cat == 'kindcat'
",
        " from pkg.cmd import cat
 def test_f():
     assert cat == 'kindcat'
",
    );
    of(
        "--- pkg/user.py
+def joined():
*    from .cmd import cat
*    return cat
--- test_a.py
+from pkg.user import joined
+def test_f():
*    assert joined() == 'kindcat'
",
        " def joined():
~    from pkg.cmd import cat
     return cat
 def test_f():
     assert joined() == 'kindcat'
",
    );
}

#[test]
fn the_getattr_of_a_class_answers_whoever_looks_through_the_gist() {
    let check_after = |executed: &str, ends: &str| {
        check(
            &format!(
                "
--- adjustments
{{{executed}}}
--- mod.py
+class Codes(dict):
+    def __getattr__(self, name):
*        if name in self:
*            return self[name]
-        elif name == 'all':
-            return list(self)
-        raise AttributeError(name)
+codes = Codes(ok=200)
--- test_a.py
+from mod import codes
+def test_f():
*    assert codes.ok == 200
"
            ),
            "test_a.py::test_f",
            &format!(
                "
 class Codes(dict):
     def __getattr__(self, name):
         if name in self:
             return self[name]
{ends} codes = Codes(ok=200)
 def test_f():
     assert codes.ok == 200
"
            ),
        );
    };
    let raises = "         raise AttributeError(name)\n";
    let all = "         elif name == 'all':\n             return list(self)\n";
    check_after("", &format!("{all}{raises}"));
    let heard = |lines: &str, kept: &str| {
        format!(
            r#""executed": [{{"path": "mod.py", "lines": [{lines}], "functions": [2]{kept}}},
              {{"path": "test_a.py", "lines": [2, 3], "functions": [2]}}]"#
        )
    };
    let kept = r#", "kept": [1, 2, 3, 4, 5, 6, 7, 8]"#;
    check_after(&heard("1, 2, 3, 4, 5, 7, 8", kept), raises);
    check_after(&heard("1, 2, 3, 4, 8", kept), "");
    // Of what is only taken to run as the original did, no run told.
    check_after(&heard("1, 2, 3, 4, 8", ""), &format!("{all}{raises}"));
}

#[test]
fn a_getattr_that_only_the_gist_was_asked_for_is_what_its_run_made_of_it() {
    check(
        r#"
--- adjustments
{"uncalled": [{"path": "mod.py", "line": 2}], "executed": [
  {"path": "mod.py", "lines": [1, 2, 3, 5, 6], "functions": [2], "kept": [1, 2, 3, 4, 5, 6]},
  {"path": "test_a.py", "lines": [2, 3], "functions": [2]}]}
--- mod.py
+class Codes(dict):
+    def __getattr__(self, name):
-        if name in self:
-            return self[name]
-        raise AttributeError(name)
+codes = Codes(ok=200)
--- test_a.py
+from mod import codes
+def test_f():
*    assert codes['ok'] == 200
"#,
        "test_a.py::test_f",
        "
 class Codes(dict):
     def __getattr__(self, name):
         raise AttributeError(name)
 codes = Codes(ok=200)
 def test_f():
     assert codes['ok'] == 200
",
    );
}
