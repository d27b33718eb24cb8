//! Loops, `with`, `try` and `match` are cut down to what ran of them.

use super::{check, prune::prunes};

#[test]
fn loops_that_never_began_go_when_nothing_minds() {
    prunes(
        "
+seen = []
+def items():
*    seen.append(1)
*    return []
+def f(x=()):
*    for one in x:
-        print(one)
*    for one in items():
-        print(one)
-        two = one
*    while x:
-        x.pop()
*    return x
",
        "
 seen = []
 def items():
     seen.append(1)
     return []
 def f(x=()):
     for one in items():
         two = one
     return x
",
    );
}

#[test]
fn an_else_of_a_loop_stays_when_it_ran() {
    prunes(
        "
+def f(x=()):
*    for one in (1, 2):
*        if one == 2:
*            break
-    else:
-        raise ValueError
*    for one in (1, 2):
*        x += (one,)
*    else:
*        x += (3,)
*    for one in ():
-        x += (4,)
-    else:
*        x += (5,)
*    while len(x) > 10:
-        x = x[1:]
-    else:
*        x += (6,)
*    return x
",
        "
 def f(x=()):
     for one in (1, 2):
         if one == 2:
             break
     for one in (1, 2):
         x += (one,)
     else:
         x += (3,)
     x += (5,)
     x += (6,)
     return x
",
    );
}

#[test]
fn a_loop_that_runs_keeps_what_ran_of_it() {
    prunes(
        "
+def f(x=3):
*    while True:
*        x -= 1
*        if x > 100:
-            continue
*        if not x:
*            break
*    return x
",
        "
 def f(x=3):
     while True:
         x -= 1
         if not x:
             break
     return x
",
    );
}

#[test]
fn a_with_stays_with_what_ran_of_it() {
    prunes(
        "
+import contextlib
+@contextlib.contextmanager
+def fails():
*    raise ValueError
-    yield
+def f(x=()):
*    with contextlib.suppress(ValueError):
*        with fails() as failed, open('f'):
-            print(failed)
-            x = 1
*    with contextlib.suppress(KeyError), \\
*            contextlib.suppress(OSError):
*        if x:
-            return 1
*        x = 2
*    return x
",
        "
 import contextlib
 @contextlib.contextmanager
 def fails():
     raise ValueError
     yield
 def f(x=()):
     with contextlib.suppress(ValueError):
         with fails() as failed, open('f'):
             x = 1
     with contextlib.suppress(KeyError), \\
             contextlib.suppress(OSError):
         x = 2
     return x
",
    );
}

#[test]
fn a_try_whose_handlers_never_ran_is_flattened() {
    prunes(
        "
+def f(x='1'):
*    try:
*        y = int(x)
-    except ValueError:
-        y = 0
-    except (TypeError, KeyError) as error:
-        raise RuntimeError from error
-    else:
*        y += 1
*    return y
",
        "
 def f(x='1'):
     y = int(x)
     y += 1
     return y
",
    );
}

#[test]
fn handlers_that_ran_stay() {
    prunes(
        "
+def f(x='a'):
*    try:
*        y = int(x)
-        z = 1
-    except TypeError:
-        y = 0
*    except ValueError as error:
*        y = str(error)
-    else:
-        y += 1
-    finally:
*        x = None
*    return y
",
        "
 def f(x='a'):
     try:
         y = int(x)
     except ValueError as error:
         y = str(error)
     finally:
         x = None
     return y
",
    );
}

#[test]
fn a_handler_of_nothing_but_pass_stays_as_it_is() {
    prunes(
        "
+def f(x='a'):
*    try:
*        x = int(x)
*    except ValueError:
*        pass
*    return x
",
        "
 def f(x='a'):
     try:
         x = int(x)
     except ValueError:
         pass
     return x
",
    );
}

#[test]
fn a_finally_stays_when_the_handlers_go() {
    prunes(
        "
+def f(x='1'):
*    try:
*        return int(x)
-    except ValueError:
-        return 0
-    finally:
*        x = None
",
        "
 def f(x='1'):
     try:
         return int(x)
     finally:
         x = None
",
    );
}

#[test]
fn cases_that_never_matched_go() {
    prunes(
        "
+def f(x=(1, 2)):
*    match x:
*        case [a]:
-            return a
*        case [a, b] if a < b:
*            return b
-        case {'k': k, **rest}:
-            return rest
-        case _:
-            return None
",
        "
 def f(x=(1, 2)):
     match x:
         case [a, b] if a < b:
             return b
",
    );
    prunes(
        "
+def f(x=1):
*    match x:
*        case 'a' | 'b':
-            return 0
*    return x
",
        "
 def f(x=1):
     return x
",
    );
}

#[test]
fn a_case_whose_guard_has_an_effect_stays() {
    prunes(
        "
+seen = []
+def note(x):
*    seen.append(x)
*    return False
+def f(x=1):
*    match x:
*        case int() if note(x):
-            y = x
-            return y
*        case 1:
*            return seen
",
        "
 seen = []
 def note(x):
     seen.append(x)
     return False
 def f(x=1):
     match x:
         case int() if note(x):
             y = x
         case 1:
             return seen
",
    );
}

#[test]
fn decorators_stay_with_their_functions() {
    prunes(
        "
+import functools
+def twice(function):
*    @functools.wraps(function)
*    def wrapper(*args):
*        if not args:
*            return function() * 2
-        return function(*args)
*    return wrapper
+@functools.lru_cache(
+    maxsize=None,
+)
+@twice
+def one():
*    return 1
+def f():
*    return one()
",
        "
 import functools
 def twice(function):
     @functools.wraps(function)
     def wrapper(*args):
         if not args:
             return function() * 2
     return wrapper
 @functools.lru_cache(
     maxsize=None,
 )
 @twice
 def one():
     return 1
 def f():
     return one()
",
    );
}

#[test]
fn a_handler_takes_the_place_of_an_import_that_failed() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+try:
+    from pkg.fast import work
+except ImportError as error:
+    cause = error
+    def work():
*        return 1
+finally:
+    done = True
+try:
+    from pkg import fast
-except ValueError:
-    fast = 1
+except ImportError:
+    fast = None
+finally:
+    finished = True
+def user():
*    return work(), fast, done, finished, cause
--- pkg/fast.py
+raise ImportError('no')
--- test_a.py
+from pkg.mod import user
+def test_f():
*    assert user()
",
        "test_a.py::test_f",
        "
 try:
+    raise ImportError
 except ImportError as error:
     cause = error
     def work():
         return 1
 finally:
     done = True
 try:
+    raise ImportError
 except ImportError:
     fast = None
 finally:
     finished = True
 def user():
     return work(), fast, done, finished, cause
 def test_f():
     assert user()
",
    );
}

#[test]
fn a_loop_without_a_body_needs_no_glue() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+def user(rows):
*    for row in rows:
-        print(row)
+def other(rows):
*    while rows:
-        rows.pop()
--- test_a.py
+from pkg.mod import user, other
+def test_f():
*    assert user([]) is other([])
",
        "test_a.py::test_f",
        "
 def user(rows):
     for row in rows:
         print(row)
 def other(rows):
     while rows:
         rows.pop()
 def test_f():
     assert user([]) is other([])
",
    );
}
