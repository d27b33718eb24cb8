//! Text is cut, never printed again.

use super::check;

#[test]
fn strings_of_several_lines_keep_their_indentation() {
    check(
        "
--- a.py
+def f(x=0):
*    if x:
-        y = 0
-    else:
*        y = '''one
*  two
*        three''' + f'''four {
*            x
*        } five
*''' + call(
*            1,
*          2,
*        )
*    return y
+def call(*args):
*    return ''
--- test_a.py
+from a import f
+def test_f():
*    f()
",
        "test_a.py::test_f",
        "
 def f(x=0):
     y = '''one
   two
         three''' + f'''four {
             x
         } five
 ''' + call(
         1,
       2,
     )
     return y
 def call(*args):
     return ''
 def test_f():
     f()
",
    );
}

#[test]
fn tabs_become_spaces() {
    check(
        "
--- a.py
+class A:
+\tdef f(self, x=0):
*\t\tif x:
-\t\t\ty = 0
-\t\telse:
*\t\t\ty = [
*\t\t\t\t1,
*\t\t\t]
*\t\treturn y
--- test_a.py
+from a import A
+def test_f():
*\tassert A().f()
",
        "test_a.py::test_f",
        "
 class A:
     def f(self, x=0):
         y = [
         \t1,
         ]
         return y
 def test_f():
     assert A().f()
",
    );
}

#[test]
fn comments_stay_on_the_lines_of_code() {
    check(
        "
--- a.py
+# A comment of the module.
+def f(x=0):  # what it does
-    # A comment between.
*    if x:  # never
-        y = 0
*    y = [  # a list
-        # of one
*        1,  # one
*    ]  # the end
*    return y  # done; really
--- test_a.py
+from a import f
+def test_f():
-    # A comment in the test.
*    assert f()  # calls it
",
        "test_a.py::test_f",
        "
 def f(x=0):  # what it does
     y = [  # a list
         # of one
         1,  # one
     ]  # the end
     return y  # done; really
 def test_f():
     assert f()  # calls it
",
    );
}

#[test]
fn statements_that_share_a_line_are_taken_apart_but_for_a_block_and_its_header() {
    check(
        "
--- a.py
+A = 1; B = 2; C = 3
=def f(x=0): return g(x) + B
+def g(x):
*    y = 1; z = 2  # two
*    if x: y = 2
*    for i in (1, 2): z += i
*    while z > 100: z -= 1
*    try: int('a')
*    except ValueError: z = 0
*    with open('/dev/null') as file: y = 3
*    return y; pass
--- test_a.py
+from a import f
+def test_f():
*    f()
",
        "test_a.py::test_f",
        "
 B = 2
 def f(x=0): return g(x) + B
 def g(x):
     y = 1
     z = 2  # two
     if x: y = 2
     for i in (1, 2): z += i
     while z > 100: z -= 1
     try:
         int('a')
     except ValueError:
         z = 0
     with open('/dev/null') as file: y = 3
     return y
     pass
 def test_f():
     f()
",
    );
}

#[test]
fn headers_of_several_lines_are_cut_whole() {
    check(
        "
--- a.py
+import functools
+class A(
+    dict,
+    metaclass=type,  # as ever
+):
+    @functools.lru_cache(
+        maxsize=1,
+    )  # cached
+    def f(
+        self,
+        key=lambda x: {x: x},
+        # the slice
+        part: 'int' = [1, 2][0:1],
+    ) -> dict[
+        'a': 'b'
+    ]:
*        if (
*            key
*            and part
*        ):
*            return key(1)
+    __hash__ = object.__hash__
--- test_a.py
+from a import A
+def test_f():
*    assert A().f()
",
        "test_a.py::test_f",
        "
 import functools
 class A(
     dict,
     metaclass=type,  # as ever
 ):
     @functools.lru_cache(
         maxsize=1,
     )  # cached
     def f(
         self,
         key=lambda x: {x: x},
         # the slice
         part: 'int' = [1, 2][0:1],
     ) -> dict[
         'a': 'b'
     ]:
         if (
             key
             and part
         ):
             return key(1)
     __hash__ = object.__hash__
 def test_f():
     assert A().f()
",
    );
}

#[test]
fn joined_lines_stay_joined() {
    check(
        "
--- a.py
+TOTAL = 1 + \\
+    2
+def f(x=1):
*    assert x, \\
*        'no x'
*    if x and \\
*            TOTAL:
*        return x \\
*            + TOTAL
--- test_a.py
+from a import f
+def test_f():
*    f()
",
        "test_a.py::test_f",
        "
 TOTAL = 1 + \\
     2
 def f(x=1):
     assert x, \\
         'no x'
     if x and \\
             TOTAL:
         return x \\
             + TOTAL
 def test_f():
     f()
",
    );
}

#[test]
fn names_beyond_ascii_do_not_shift_a_cut() {
    check(
        "
--- pkg/__init__.py
--- pkg/a.py
+def größe():
*    return 'ü' * 2
=def f(): return ('ä', größe(), 'ö')
--- pkg/b.py
+def größe():
*    return 'é'
--- test_a.py
+from pkg.a import f
+from pkg.b import größe
+def test_f():
*    assert f() and größe()
",
        "test_a.py::test_f",
        "
 def größe():
     return 'ü' * 2
+größe_a = größe
~def f(): return ('ä', größe_a(), 'ö')
 def größe():
     return 'é'
 def test_f():
     assert f() and größe()
",
    );
}

#[test]
fn docstrings_of_a_module_whose_examples_run_stay_whole() {
    let of = |tests: &str, docstring: &str| {
        check(
            r#"
--- a.py
+def idle(x):
-    """Gives it back.
-
-    >>> idle(1)
-    1
-    """
-    return x
+def used():
*    return idle
--- test_a.py
+from a import used
+def test_f():
*    used()
"#,
            tests,
            &format!(
                "\n def idle(x):\n{docstring}\n def used():\n     return idle\n def test_f():\n     used()\n"
            ),
        );
    };
    of("test_a.py::test_f", r#"~    """Gives it back.""""#);
    let whole = ["    \"\"\"Gives it back.", "", "    >>> idle(1)", "    1", "    \"\"\""];
    let whole: Vec<String> =
        whole.iter().map(|line| format!(" {line}").trim_end().to_owned()).collect();
    of("test_a.py::test_f a.py::a.idle", &whole.join("\n"));
}

#[test]
fn what_only_skipped_examples_name_is_a_case_all_the_same() {
    check(
        r#"
--- pkg/__init__.py
--- pkg/mod.py
+def drawn(x):
-    """Varies.
-
-    >>> drawn(1) # doctest: +SKIP
-    """
-    return x
+def idle(x):
-    return x
+def used():
-    """
-    >>> used()
-    1
-    """
*    return 1
"#,
        "pkg/mod.py pkg/mod.py::pkg.mod.drawn pkg/mod.py::pkg.mod.used",
        r#"
 def drawn(x):
     """Varies.

     >>> drawn(1) # doctest: +SKIP
     """
 def used():
     """
     >>> used()
     1
     """
     return 1
"#,
    );
}

#[test]
fn so_is_what_skipped_examples_of_a_class_name() {
    let files = r#"
--- adjustments
{"uncalled": []}
--- pkg/__init__.py
--- pkg/mod.py
+class Box:
-    """
-    >>> Box() # doctest: +SKIP
-    """
+    size = 1
+    def idle(self):
-        return 1
+    @property
+    def width(self):
-        """
-        >>> Box().width # doctest: +SKIP
-        """
-        return 2
+    @staticmethod
+    def made(x):
-        """Makes.
-
-        >>> Box.made(1) # doctest: +SKIP
-        """
-        return x
+    class Lid:
+        def shut(self):
-            """
-            >>> Box.Lid().shut() # doctest: +SKIP
-            """
+class Other:
+    def idle(self):
-        return 1
"#;
    let gist = r#"
 class Box:
     """
     >>> Box() # doctest: +SKIP
     """
     size = 1
     @property
     def width(self):
         """
         >>> Box().width # doctest: +SKIP
         """
     @staticmethod
     def made(x):
         """Makes.

         >>> Box.made(1) # doctest: +SKIP
         """
     class Lid:
         def shut(self):
             """
             >>> Box.Lid().shut() # doctest: +SKIP
             """
"#;
    let ids = ["width", "made", "Lid.shut"];
    let named = ids.map(|id| format!("pkg/mod.py::pkg.mod.Box.{id}")).join(" ");
    check(files, &format!("pkg/mod.py {named}"), gist);
    let collected = ids.map(|id| format!("pkg/mod.py::Box::{}", id.replace('.', "::"))).join(" ");
    check(files, &format!("pkg/mod.py {collected}"), gist);
}

#[test]
fn a_docstring_of_a_module_whose_examples_run_is_that_of_the_gist() {
    let of = |tests: &str, docstring: &str| {
        check(
            r#"
--- pkg/__init__.py
+"""No examples."""
--- pkg/mod.py
+"""Numbers.
-
->>> limit
-3
-"""  # ours
+from __future__ import annotations
+import sys
+limit = len(sys.argv)
*limit += 1
--- pkg/more.py
+"""
->>> 4
-4
-"""
*limit = 1
"#,
            tests,
            &format!(
                "{docstring}\n from __future__ import annotations\n import sys\n limit = len(sys.argv)\n limit += 1\n"
            ),
        );
    };
    let text = r#"
 """Numbers.

 >>> limit
 3
 """  # ours"#;
    of("pkg/mod.py::limit", "");
    of("pkg/mod.py::limit pkg/mod.py::pkg.mod", text);
    of("pkg/mod.py::limit pkg/mod.py::__doc__ pkg/more.py::__doc__", text);
    of("pkg/mod.py::limit pkg/__init__.py::__doc__ pkg/mod.py::__doc__", text);
}
