//! Modules that a function uses first run at that time where a run showed that it matters.

/// Slices a test whose `pkg.core` uses `pkg.heavy` first when `go` runs.
#[track_caller]
fn check(adjustments: &str, core: &str, heavy: &str, expected: &str) {
    let (core, heavy) = (core.trim_matches('\n'), heavy.trim_matches('\n'));
    let line = core.lines().position(|line| line.starts_with('*')).expect("a line that ran") + 1;
    let files = format!(
        "
--- adjustments
{adjustments}
--- trace
python 15
loads pkg/core.py {line} pkg/heavy.py
--- pkg/__init__.py
--- pkg/core.py
{core}
--- pkg/heavy.py
{heavy}
--- test_a.py
+from pkg.core import go
+def test_f():
*    assert go(3) == 9
"
    );
    super::check(&files, "test_a.py::test_f", expected);
}

const HEAVY: &str = "
*print('loaded')
*def compute(x):
*    return x * x
";

const LAZY: &str = "
+lazy from pkg.heavy import compute
+def go(x):
*    return compute(x)
";

/// The block of [`HEAVY`] in a gist.
const BLOCK: &str = r#"
+if _Late("pkg.heavy"):
     print('loaded')
     def compute(x):
         return x * x
"#;

const INNER: &str = "
+def go(x):
*    from .heavy import compute
*    return compute(x)
";

#[test]
fn by_default_all_runs_while_the_gist_is_loaded() {
    check(
        "{}",
        LAZY,
        HEAVY,
        "
 def go(x):
     return compute(x)
 def test_f():
     assert go(3) == 9
 print('loaded')
 def compute(x):
     return x * x
",
    );
}

#[test]
fn a_lazy_import_stays_and_leads_to_a_block() {
    check(
        r#"{"first_use": true}"#,
        LAZY,
        HEAVY,
        &format!(
            "{}{BLOCK}",
            r#"
+import sys
+import types
+__dir__ = lambda: [name for name, held in globals().items() if not isinstance(held, types.LazyImportType)]
+class _Late(str):
 lazy from pkg.heavy import compute
 def go(x):
     return compute(x)
 def test_f():
     assert go(3) == 9"#
        ),
    );
}

#[test]
fn an_import_in_a_function_runs_the_block() {
    check(
        r#"{"first_use": true}"#,
        INNER,
        HEAVY,
        &format!(
            "{}{BLOCK}",
            r#"
+import sys
+import types
+class _Late(str):
 def go(x):
+    __import__("pkg.heavy")
     return compute(x)
 def test_f():
     assert go(3) == 9"#
        ),
    );
}

#[test]
fn a_string_of_several_lines_stays_what_it_is() {
    check(
        r#"{"first_use": true}"#,
        INNER,
        "
*TEXT = '''
*a
*  b'''
*def compute(x):
*    return x * x if TEXT else 0
",
        r#"
+import sys
+import types
+class _Late(str):
 def go(x):
+    __import__("pkg.heavy")
     return compute(x)
 def test_f():
     assert go(3) == 9
+if _Late("pkg.heavy"):
     TEXT = '''
 a
   b'''
     def compute(x):
         return x * x if TEXT else 0
"#,
    );
}
