//! Functions, classes and their stubs.

use super::{check, prune::prunes};

#[test]
fn a_generator_stays_a_generator() {
    prunes(
        "
+def empty(done=True):
*    if done:
*        return
-    yield 1
+def none(items=()):
*    for item in items:
-        yield item
+def only(flag=False):
*    if flag:
-        x = yield flag
-        print(x)
+def f():
*    return [*empty(), *none(), *only()]
",
        "
 def empty(done=True):
     if done:
         return
     yield 1
 def none(items=()):
     for item in items:
         yield item
 def only(flag=False):
     if flag:
         x = yield flag
 def f():
     return [*empty(), *none(), *only()]
",
    );
}

#[test]
fn the_yield_of_a_nested_function_makes_no_generator() {
    prunes(
        "
+def f(x=0):
*    def inner():
-        yield 1
*    if x:
-        return inner
*    return x
",
        "
 def f(x=0):
     def inner():
         yield 1
     return x
",
    );
}

#[test]
fn a_coroutine_keeps_its_awaits() {
    prunes(
        "
+import asyncio
+class Manager:
+    async def __aenter__(self):
*        return self
+    async def __aexit__(self, *error):
*        return False
+async def numbers():
*    for i in (1, 2):
*        yield i
+async def work(x):
*    async with Manager() as manager:
*        async for i in numbers():
*            if i > 5:
-                await asyncio.sleep(i)
*            x += i
*        x += await asyncio.sleep(0, 1)
-        async for i in numbers() if x < 0 else numbers():
-            pass
*    return x
+def f():
*    return asyncio.run(work(0))
",
        "
 import asyncio
 class Manager:
     async def __aenter__(self):
         return self
     async def __aexit__(self, *error):
         return False
 async def numbers():
     for i in (1, 2):
         yield i
 async def work(x):
     async with Manager() as manager:
         async for i in numbers():
             x += i
         x += await asyncio.sleep(0, 1)
     return x
 def f():
     return asyncio.run(work(0))
",
    );
}

#[test]
fn uncalled_methods_become_stubs_of_their_own_text() {
    prunes(
        "
+class Box:
-    \"\"\"Holds.\"\"\"
+    size = 1
+    def __init__(self):
-        \"\"\"Makes.\"\"\"
*        self.x = 1
+    def documented(self):
-        \"\"\"Never called.\"\"\"
-        self.x = 2
-        return self.x
+    def plain(self, y):
-        if y:
-            self.x = y + y
-        return y
+    def empty(self):
-        pass
+    def dots(self): ...
+def f():
*    return Box().x
",
        "
 class Box:
     size = 1
     def __init__(self):
         self.x = 1
     def documented(self):
         \"\"\"Never called.\"\"\"
     def plain(self, y):
         return y
     def empty(self):
         pass
     def dots(self):
         ...
 def f():
     return Box().x
",
    );
}

#[test]
fn a_class_of_which_nothing_is_left_keeps_its_docstring() {
    prunes(
        "
+class Failure(Exception):
-    \"\"\"Something failed.\"\"\"
+class Other(Failure): pass
+def f():
*    return Failure, Other
",
        "
 class Failure(Exception):
     \"\"\"Something failed.\"\"\"
 class Other(Failure):
     pass
 def f():
     return Failure, Other
",
    );
}

#[test]
fn of_a_docstring_that_stands_for_a_body_one_line_is_enough() {
    prunes(
        r#"
+class Failure(Exception):
-    """Something failed.
-
-    Nobody knows why.
-    """
+def idle(x):
-    r'''
-    Counts \d.
-
-    >>> idle(1)
-    '''
-    return x
+def joined(x):
-    """First \
-    second.
-    """
-    return x
+def f():
*    return Failure, idle, joined
"#,
        r#"
 class Failure(Exception):
~    """Something failed."""
 def idle(x):
~    r'''Counts \d.'''
 def joined(x):
     """First \
     second.
     """
 def f():
     return Failure, idle, joined
"#,
    );
}

#[test]
fn nested_definitions_are_pruned_like_others() {
    prunes(
        "
+def f(x=1):
*    def called(y):
*        if y > 5:
-            return 5
*        return y + x
*    def uncalled(y):
-        z = y * 2
-        return z + x
*    class Local:
*        def get(self):
*            return called(x)
*        def unused(self):
-            return uncalled(x)
*    return Local().get() or uncalled
",
        "
 def f(x=1):
     def called(y):
         return y + x
     def uncalled(y):
         z = y * 2
     class Local:
         def get(self):
             return called(x)
         def unused(self):
             return uncalled(x)
     return Local().get() or uncalled
",
    );
}

#[test]
fn overloads_are_no_part_of_what_runs() {
    prunes(
        "
+from typing import overload
+@overload
+def g(x: int) -> int: ...
+@overload
+def g(x: str) -> str: ...
+def g(x):
*    return x
+def f():
*    return g(1)
",
        "
 def g(x):
     return x
 def f():
     return g(1)
",
    );
}

#[test]
fn a_nonlocal_keeps_its_variable() {
    prunes(
        "
+def f(x=0):
*    y = 1
*    def inner():
-        nonlocal y
*        y += 1
*    inner()
*    return y
",
        "
 def f(x=0):
     y = 1
     def inner():
         nonlocal y
         y += 1
     inner()
     return y
",
    );
}

#[test]
fn a_nonlocal_keeps_a_binding_of_its_variable() {
    prunes(
        "
+def f(x=0):
*    if x:
-        y = 1
-        print(y)
*    def inner():
-        nonlocal y
*        y = 2
*        return y
*    return inner()
",
        "
 def f(x=0):
     if x:
         y = 1
     def inner():
         nonlocal y
         y = 2
         return y
     return inner()
",
    );
}

#[test]
fn what_waits_in_a_thread_keeps_its_other_ways_out() {
    check(
        "
--- pkg/__init__.py
--- pkg/server.py
+def read(sock):
&    content = b''
&    while True:
&        if not sock.wait():
&            break
-        new = sock.recv()
-        if not new:
-            break
-        content += new
&    return content
+def name(sock):
&    if sock.named:
-        return sock.name
&    return None
--- test_a.py
+from threading import Thread
+from pkg.server import name, read
+def test_f():
*    Thread(target=lambda: read(name(1))).start()
",
        "test_a.py::test_f",
        "
 from threading import Thread
 def read(sock):
     content = b''
     while True:
         if not sock.wait():
             break
         new = sock.recv()
         if not new:
             break
         content += new
     return content
 def name(sock):
     return None
 def test_f():
     Thread(target=lambda: read(name(1))).start()
",
    );
}

#[test]
fn a_function_that_counts_lines_keeps_each_of_its_own() {
    check(
        "
--- lib.py
+import sys
+DISTANCE = 4
+def where(x):
*    here = sys._getframe().f_lineno
+    # four lines down
+
*    if x > 5:
-        return None
*    return sys._getframe().f_lineno - here == DISTANCE + 1
+def other(x):
*    if x > 5:
-        return None
+    # gone
*    return x
--- test_it.py
+from lib import other, where
+def test_f():
*    assert where(other(1))
",
        "test_it.py::test_f",
        "
 import sys
 DISTANCE = 4
 def where(x):
     here = sys._getframe().f_lineno
     # four lines down

     if x > 5:
         return None
     return sys._getframe().f_lineno - here == DISTANCE + 1
 def other(x):
     return x
 def test_f():
     assert where(other(1))
",
    );
}

#[test]
fn so_does_one_that_is_asked_where_it_begins() {
    check(
        "
--- test_it.py
+def fail(x):
*    error = None
+
*    try:
*        raise ValueError(x)
*    except ValueError as raised:
*        error = raised
*    return error
+def fails(x):
*    first = None
+
*    return fail(x)
+def test_f():
*    line = fail.__code__.co_firstlineno
*    assert fails(1).__traceback__.tb_lineno == line + 4
",
        "test_it.py::test_f",
        "
 def fail(x):
     error = None

     try:
         raise ValueError(x)
     except ValueError as raised:
         error = raised
     return error
 def fails(x):
     first = None
     return fail(x)
 def test_f():
     line = fail.__code__.co_firstlineno
     assert fails(1).__traceback__.tb_lineno == line + 4
",
    );
}

#[test]
fn what_is_given_other_examples_each_time_stays_whole() {
    let of = |external: &str, kept: &str| {
        check(
            &format!(
                "
--- pkg/__init__.py
--- pkg/mod.py
+def size(text):
*    if text:
         return len(text)
*    return 0
+def idle(text):
-    return size(text)
--- test_a.py
+from hypothesis import given, strategies
+from pkg.mod import size
+@given(strategies.text())
+def test_f(text):
*    assert size(text) >= 0
--- trace
{external}
"
            ),
            "test_a.py::test_f",
            &format!(
                "
 from hypothesis import given, strategies
 def size(text):
{kept}    return 0
 @given(strategies.text())
 def test_f(text):
     assert size(text) >= 0
"
            ),
        );
    };
    of("external hypothesis.core", "     if text:\n         return len(text)\n ");
    of("external hypothesis", " ");
}
