//! Tests that conditions are pruned to their executed part, and that removed code is never
//! executed.

use super::{check, prune::prunes};

#[test]
fn branches_that_never_ran_go() {
    prunes(
        "
+def f(x=1):
*    if x:
*        y = 1
-    else:
-        y = 2
*    if not x:
-        y = 3
*    return y
",
        "
 def f(x=1):
     if x:
         y = 1
     return y
",
    );
}

#[test]
fn an_elif_whose_if_went_becomes_an_if() {
    prunes(
        "
+def f(x=2):
*    if x == 1:
-        return 'one'
*    elif x == 2:
*        return 'two'
-    elif x == 3:
-        return 'three'
-    else:
-        return 'many'
",
        "
 def f(x=2):
     if x == 2:
         return 'two'
",
    );
    prunes(
        "
+def f():
*    for x in (2, 4):
*        if x == 1:
-            y = 'one'
*        elif x == 2:
*            y = 'two'
*        elif x == 3:
-            y = 'three'
-        else:
*            y = 'many'
*    return y
",
        "
 def f():
     for x in (2, 4):
         if x == 2:
             y = 'two'
         else:
             y = 'many'
     return y
",
    );
}

#[test]
fn an_else_that_is_left_alone_is_flattened() {
    prunes(
        "
+def f(x=2):
*    if x == 1:
-        y = 1
-    else:
*        y = 2
*        z = y
*    return z
",
        "
 def f(x=2):
     y = 2
     z = y
     return z
",
    );
    prunes(
        "
+def f(x=5):
*    if x == 1:
-        y = 1
*    elif x == 2:
-        y = 2
-    else:
*        if x == 3:
-            y = 3
-        else:
*            y = 4
*    return y
",
        "
 def f(x=5):
     y = 4
     return y
",
    );
}

#[test]
fn an_impure_condition_stays_with_a_filler_that_cannot_run() {
    prunes(
        "
+seen = []
+def note(x):
*    seen.append(x)
*    return False
+def f(x=1):
*    if x is None:
-        return 0
*    elif note(x):
-        y = 3 + x
-        z = y
*    if note(x) and x.real:
-        raise ValueError(x)
*    return x
",
        "
 seen = []
 def note(x):
     seen.append(x)
     return False
 def f(x=1):
     if note(x):
         z = y
     if note(x) and x.real:
         raise ValueError(x)
     return x
",
    );
}

#[test]
fn a_pure_function_in_a_condition_does_not_keep_it() {
    prunes(
        "
+def is_special(x):
*    kind = type(x).__name__
*    return kind.startswith('Special')
+def f(x=1):
*    if is_special(x):
-        return None
*    return x
",
        "
 def is_special(x):
     kind = type(x).__name__
     return kind.startswith('Special')
 def f(x=1):
     return x
",
    );
}

#[test]
fn a_property_in_a_condition_runs_when_it_is_read() {
    let files = |body: &str| {
        format!(
            r#"
--- pkg.py
+class Lines:
+    _starts = _ends = None
+    @property
+    def starts(self):
{body}
+    def first(self):
*        if not self.starts:
-            return None
*        return self._ends
--- test_a.py
+from pkg import Lines
+def test_f():
*    assert Lines().first() is None
"#
        )
    };
    let gist = |condition: &str, body: &str| {
        format!(
            r#"
 class Lines:
     _starts = _ends = None
{body}     def first(self):
{condition}         return self._ends
 def test_f():
     assert Lines().first() is None
"#
        )
    };
    let kept = "         if not self.starts:\n             return None\n";
    let fills = "*        self._ends = [1]\n*        return self._ends";
    let filled = "     @property\n     def starts(self):\n         self._ends = [1]\n         return self._ends\n";
    check(&files(fills), "test_a.py::test_f", &gist(kept, filled));
    let given = "     @property\n     def starts(self):\n         return [1]\n";
    check(&files("*        return [1]"), "test_a.py::test_f", &gist("", given));
}

#[test]
fn what_a_class_makes_a_property_of_runs_when_it_is_read() {
    for made in [
        "starts = property(fill)",
        "starts = property(fget=fill)",
        "starts: property = property(fill)",
        "starts = property(lambda self: self.fill())",
    ] {
        let files = format!(
            "
--- pkg.py
+class Lines:
+    _ends = None
+    def fill(self):
*        self._ends = [1]
*        return self._ends
+    {made}
+    def first(self):
*        if not self.starts:
-            return None
*        return self._ends
--- test_a.py
+from pkg import Lines
+def test_f():
*    assert Lines().first() == [1]
"
        );
        let gist = format!(
            "
 class Lines:
     _ends = None
     def fill(self):
         self._ends = [1]
         return self._ends
     {made}
     def first(self):
         if not self.starts:
             return None
         return self._ends
 def test_f():
     assert Lines().first() == [1]
"
        );
        check(&files, "test_a.py::test_f", &gist);
    }
}

#[test]
fn a_property_within_a_condition_of_its_class_runs_when_it_is_read() {
    check(
        "
--- pkg.py
+import sys
+class Lines:
+    _ends = None
+    if sys.platform:
+        @property
+        def starts(self):
*            self._ends = [1]
*            return self._ends
+    def first(self):
*        if not self.starts:
-            return None
*        return self._ends
--- test_a.py
+from pkg import Lines
+def test_f():
*    assert Lines().first() == [1]
",
        "test_a.py::test_f",
        "
 import sys
 class Lines:
     _ends = None
     if sys.platform:
         @property
         def starts(self):
             self._ends = [1]
             return self._ends
     def first(self):
         if not self.starts:
             return None
         return self._ends
 def test_f():
     assert Lines().first() == [1]
",
    );
}

#[test]
fn a_walrus_in_a_condition_is_no_pure_test() {
    prunes(
        "
+def f(x=''):
*    if (y := x.strip()):
-        return None
*    return y
",
        "
 def f(x=''):
     if (y := x.strip()):
         return None
     return y
",
    );
}

#[test]
fn a_function_that_ran_is_never_filled_by_a_statement_that_could_run() {
    prunes(
        "
+def documented(x=0):
-    \"\"\"Does nothing yet.\"\"\"
*    if x:
-        print(x)
+def bare(x=0):
*    if x:
-        print(x)
-        del x
+def looped(x=()):
*    for one in x:
-        print(one)
+def f():
*    documented()
*    bare()
*    looped()
",
        "
 def documented(x=0):
     \"\"\"Does nothing yet.\"\"\"
 def bare(x=0):
     if x:
         del x
 def looped(x=()):
     for one in x:
         print(one)
 def f():
     documented()
     bare()
     looped()
",
    );
}

#[test]
fn declarations_are_no_filling() {
    prunes(
        "
+count = 0
+def f(x=0):
-    global count
*    if x:
-        count = x
",
        "
 count = 0
 def f(x=0):
     global count
     if x:
         count = x
",
    );
}

#[test]
fn module_level_blocks_are_pruned_too() {
    prunes(
        "
+import sys
+if sys.version_info < (3, 0):
-    text = unicode
+else:
+    text = str
+try:
+    import json
-except ImportError:
-    json = None
+for name in ():
-    print(name)
+def f():
*    return json.dumps(text(1))
",
        "
 text = str
 import json
 def f():
     return json.dumps(text(1))
",
    );
}

#[test]
fn a_module_level_import_that_failed_keeps_its_handler() {
    prunes(
        "
+try:
+    import surely_not_installed
-    fast = True
+except ImportError:
+    surely_not_installed = None
+def f():
*    return surely_not_installed
",
        "
 try:
     import surely_not_installed
 except ImportError:
     surely_not_installed = None
 def f():
     return surely_not_installed
",
    );
}

#[test]
fn a_condition_that_raised_stays() {
    // Nothing behind it ran.
    prunes(
        "
+def f(x=None):
*    if x.size:
-        return 1
-    return 2
",
        "
 def f(x=None):
     if x.size:
         return 1
",
    );
    // Nothing is behind it, or another call came further: the exception itself tells.
    prunes(
        "
+def f(x=None):
*    y = 1
*    if y:
!        if x.size:
-            return 1
",
        "
 def f(x=None):
     y = 1
     if y:
         if x.size:
             return 1
",
    );
    prunes(
        "
+def f(x=None):
*    for y in x.sizes:
-        return y
-    return x
",
        "
 def f(x=None):
     for y in x.sizes:
         return y
",
    );
}

#[test]
fn jumps_that_no_trace_below_3_10_tells_of_are_kept() {
    let files = "
--- trace
python 9
--- mod.py
+def work(values):
*    found = []
*    for value in values:
*        if value == 1 or value == 2:
-            continue
*        if value == 3:
-            continue
*        if value > 3:
*            if value == 4:
-                found.clear()
-            break
*        found.append(value)
*    return found
--- test_a.py
+from mod import work
+def test_f():
*    assert work([0, 1, 2, 5]) == [0]
";
    check(
        files,
        "test_a.py::test_f",
        "
 def work(values):
     found = []
     for value in values:
         if value == 1 or value == 2:
             continue
         if value > 3:
             break
         found.append(value)
     return found
 def test_f():
     assert work([0, 1, 2, 5]) == [0]
",
    );
}

#[test]
fn a_condition_that_may_lead_out_of_a_loop_stays() {
    check(
        r#"
--- adjustments
{"impure": false}
--- mod.py
+class Text:
+    def __init__(self, rows):
*        self.rows = rows
+    def step(self):
*        self.rows.pop()
*        return self.rows is not None
+    def skip(self):
*        if not self.step():
-            return None
*        while self.rows:
*            for _ in range(1):
*                if not self.step():
-                    return None
*        return self
--- test_a.py
+from mod import Text
+def test_f():
*    assert Text([1, 2]).skip()
"#,
        "test_a.py::test_f",
        "
 class Text:
     def __init__(self, rows):
         self.rows = rows
     def step(self):
         self.rows.pop()
         return self.rows is not None
     def skip(self):
         while self.rows:
             for _ in range(1):
                 if not self.step():
                     return None
         return self
 def test_f():
     assert Text([1, 2]).skip()
",
    );
}

#[test]
fn a_condition_that_waits_for_another_thread_stays() {
    check(
        r#"
--- adjustments
{"impure": false}
--- mod.py
+import threading
+class Server:
+    def __init__(self):
*        self.ready = threading.Event()
*        self.ready.set()
+    def start(self):
*        if not self.ready.wait(5):
-            raise RuntimeError
*        if self.other():
-            raise RuntimeError
*        return self
+    def other(self):
*        return False
--- test_a.py
+from mod import Server
+def test_f():
*    assert Server().start()
"#,
        "test_a.py::test_f",
        "
 import threading
 class Server:
     def __init__(self):
         self.ready = threading.Event()
         self.ready.set()
     def start(self):
         if not self.ready.wait(5):
             raise RuntimeError
         return self
     def other(self):
         return False
 def test_f():
     assert Server().start()
",
    );
}

#[test]
fn more_jumps_that_no_trace_below_3_10_tells_of() {
    check(
        "
--- trace
python 9
--- mod.py
+def work(values):
*    found = []
*    for value in values:
*        if value == 1:
*            found.append(value)
-        else:
-            continue
*        found.append(0)
*    for value in values:
*        try:
*            found.append(value)
*        except ValueError:
-            found.clear()
-        continue
-        found.clear()
*    for value in values:
*        if (value if value else True):
-            continue
*        found.append(9)
*    return found
--- test_a.py
+from mod import work
+def test_f():
*    assert work([1, 2])
",
        "test_a.py::test_f",
        " def work(values):
     found = []
     for value in values:
         if value == 1:
             found.append(value)
         else:
             continue
         found.append(0)
     for value in values:
         found.append(value)
         continue
     for value in values:
         if (value if value else True):
             continue
         found.append(9)
     return found
 def test_f():
     assert work([1, 2])
",
    );
}

#[test]
fn what_decides_on_equality_and_on_failures_keeps_what_it_asked() {
    check(
        "
--- pkg/__init__.py
--- pkg/money.py
+class Money:
+    quiet = False
+    def __eq__(self, other):
*        if other is None:
-            return False
*        return True
+    def __enter__(self):
*        if self is None:
-            return None
*        return self
+    def __exit__(self, kind, value, trace):
*        if kind is None:
*            return False
-        return True
--- test_a.py
+from pkg.money import Money
+def test_f():
*    with Money() as money:
*        assert money == 1
",
        "test_a.py::test_f",
        "
 class Money:
     quiet = False
     def __eq__(self, other):
         if other is None:
             return False
         return True
     def __enter__(self):
         return self
     def __exit__(self, kind, value, trace):
         if kind is None:
             return False
 def test_f():
     with Money() as money:
         assert money == 1
",
    );
}

#[test]
fn what_decides_keeps_what_it_did_for_others() {
    check(
        r#"
--- pkg/__init__.py
--- pkg/bag.py
+class Bag:
+    items = {1}
+    def __contains__(self, item):
*        try:
*            return item in self.items
*        except TypeError:
*            return False
--- test_a.py
+from pkg.bag import Bag
+def test_f():
*    assert 1 in Bag()
+def test_g():
-    assert [] not in Bag()
--- adjustments
{"executed": [{"path": "pkg/bag.py", "lines": [1, 2, 3, 4, 5], "functions": [3]},
              {"path": "test_a.py", "lines": [1, 2, 3], "functions": [2]}]}
"#,
        "test_a.py::test_f",
        "
 class Bag:
     items = {1}
     def __contains__(self, item):
         try:
             return item in self.items
         except TypeError:
             return False
 def test_f():
     assert 1 in Bag()
",
    );
}

#[test]
fn a_loop_over_what_may_be_a_generator_runs_it() {
    let of = |made: &str, kept: &str| {
        check(
            &format!(
                "
--- pkg/__init__.py
--- pkg/mod.py
+SEEN = []
+def parse(lines):
*    SEEN.append(1)
{made}
+def collect(rows):
*    for row in rows:
         SEEN.append(row)
*    return SEEN
--- test_a.py
+from pkg.mod import collect, parse
+def test_f():
*    assert collect(parse([])) == [1]
"
            ),
            "test_a.py::test_f",
            &format!(
                "
 SEEN = []
 def parse(lines):
     SEEN.append(1)
{kept}
     return SEEN
 def test_f():
     assert collect(parse([])) == [1]
"
            ),
        );
    };
    let generator = "*    yield from lines";
    of(
        generator,
        "     yield from lines\n def collect(rows):\n     for row in rows:\n         SEEN.append(row)",
    );
    of("*    return lines", "     return lines\n def collect(rows):");
}
