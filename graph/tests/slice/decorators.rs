//! Decorators that register what they decorate, however they go about it.

use super::harness::check;

/// Checks that `source`, whose decorators fill REGISTRY, is kept whole by a test that reads
/// REGISTRY.
#[track_caller]
fn registers(source: &str) {
    let module = format!(
        "+REGISTRY = {{}}\n{}\n+def names():\n*    return sorted(REGISTRY)\n",
        source.trim_matches('\n')
    );
    let test = "+def test_f():\n*    assert names() == ['one']\n";
    let files = format!(
        "--- pkg/__init__.py\n--- pkg/mod.py\n{module}--- test_a.py\n+from pkg.mod import names\n{test}"
    );
    let kept: String =
        format!("{module}{test}").lines().map(|line| format!(" {}\n", &line[1..])).collect();
    check(&files, "test_a.py::test_f", &kept);
}

#[test]
fn those_whose_arguments_are_optional() {
    registers(
        "
+def register(arg=None):
+    if callable(arg):
+        return register()(arg)
+    def decorator(function):
+        REGISTRY[function.__name__] = function
+        return function
+    return decorator
+@register
+def one():
-    return 1
",
    );
}

#[test]
fn those_that_have_an_inner_function_called() {
    registers(
        "
+def now(function):
+    return function()
+def register(function):
+    @now
+    def fill():
+        REGISTRY[function.__name__] = function
+    return function
+@register
+def one():
-    return 1
",
    );
    registers(
        "
+def register(function):
+    def add():
+        REGISTRY[function.__name__] = function
+    def choose():
+        return add
+    choose()()
+    return function
+@register
+def one():
-    return 1
",
    );
}

#[test]
fn those_below_or_under_another() {
    registers(
        "
+def register(function):
+    def wrapper():
+        REGISTRY[function.__name__] = function
+        return function()
+    return wrapper
+def call(function):
+    function()
+    return function
+@call
+@register
+def one():
+    return 1
",
    );
    registers(
        "
+def now(decorator):
+    return lambda function: decorator(function)()
+@now
+def register(function):
+    def finish():
+        REGISTRY[function.__name__] = function
+        return function
+    return finish
+@register
+def one():
-    return 1
",
    );
}

#[test]
fn those_that_leave_something_to_be_called_in_tests() {
    registers(
        "
+import atexit
+def register(function):
+    def add(*args):
*        REGISTRY[function.__name__] = function
+    atexit.register(add)
+    return function
+@register
+def one():
-    return 1
",
    );
}

#[test]
fn those_that_call_a_class() {
    registers(
        "
+class Entry:
+    def __init__(self, function):
+        self.function = function
+def register(function):
+    REGISTRY[function.__name__] = Entry(function)
+    return function
+@register
+def one():
-    return 1
",
    );
}

#[test]
fn those_that_give_what_a_method_gave() {
    registers(
        "
+def register(function):
+    return REGISTRY.setdefault(function.__name__, function)
+@register
+def one():
-    return 1
",
    );
}

#[test]
fn those_that_are_reached_by_a_path() {
    check(
        "
--- pkg/__init__.py
--- pkg/inner.py
+class Table:
+    def __init__(self):
+        self.held = []
+    def register(self, function):
+        self.held.append(function.__name__)
+        return function
+table = Table()
--- pkg/mod.py
+import pkg.inner
+@pkg.inner.table.register
+def one():
-    return 1
--- test_a.py
+import pkg.mod
+from pkg.inner import table
+def test_f():
*    assert table.held == ['one']
",
        "test_a.py::test_f",
        "
+import sys
+inner = pkg = sys.modules.get(__name__)
 class Table:
     def __init__(self):
         self.held = []
     def register(self, function):
         self.held.append(function.__name__)
         return function
 table = Table()
 @pkg.inner.table.register
 def one():
     return 1
 def test_f():
     assert table.held == ['one']
",
    );
}

#[test]
fn those_that_are_classes_and_objects() {
    registers(
        "
+class register:
+    def __init__(self, function):
+        REGISTRY[function.__name__] = self
+@register
+def one():
-    return 1
",
    );
    registers(
        "
+def add(table, function):
+    table[function.__name__] = function
+    return function
+import functools
+register = functools.partial(add, REGISTRY)
+@register
+def one():
-    return 1
",
    );
    registers(
        "
+def register(table):
+    def decorator(function):
+        table[function.__name__] = function
+        return function
+    return decorator
+@register(REGISTRY)
+def one():
-    return 1
",
    );
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+class Table:
+    def __init__(self):
+        self.held = []
+    def __call__(self, function):
+        self.held.append(function.__name__)
+        return function
+    def add(self, function):
+        self.held.append(function.__name__)
+        return function
+table = Table()
+add = table.add
+@table
+def one():
-    return 1
+@add
+def two():
-    return 2
--- test_a.py
+from pkg.mod import table
+def test_f():
*    assert table.held == ['one', 'two']
",
        "test_a.py::test_f",
        "
 class Table:
     def __init__(self):
         self.held = []
     def __call__(self, function):
         self.held.append(function.__name__)
         return function
     def add(self, function):
         self.held.append(function.__name__)
         return function
 table = Table()
 add = table.add
 @table
 def one():
     return 1
 @add
 def two():
     return 2
 def test_f():
     assert table.held == ['one', 'two']
",
    );
}

#[test]
fn those_that_have_another_name() {
    registers(
        "
+def traced(decorator):
+    return decorator
+def register(function):
+    REGISTRY[function.__name__] = function
+    return function
+register = traced(register)
+register = traced(register)
+register = traced(register)
+@register
+def one():
-    return 1
",
    );
    registers(
        "
+import functools
+def add(function, table):
+    table[function.__name__] = function
+    return function
+register: object = functools.partial(add, table=REGISTRY)
+@register
+def one():
-    return 1
",
    );
    registers(
        "
+def make(table):
+    def decorator(function):
+        return table.setdefault(function.__name__, function)
+    return decorator
+register = make(REGISTRY)
+@register
+def one():
-    return 1
",
    );
    registers(
        "
+class Base:
+    def __init__(self, table):
+        self.table = table
+    def __call__(self, function):
+        REGISTRY[function.__name__] = function
+        return function
+class Table(Base):
+    pass
+register = Table(REGISTRY)
+@register
+def one():
-    return 1
",
    );
    registers(
        "
+class register:
+    def __init__(self, function):
+        REGISTRY['one'] = 0
+        REGISTRY['one'] += 1
+@register
+def one():
-    return 1
",
    );
}

#[test]
fn those_whose_arguments_are_of_another_module() {
    check(
        "
--- pkg/__init__.py
--- pkg/reg.py
+import functools
+def add(first, second, function):
+    first.append(function.__name__)
+    second.append(function.__name__)
+    return function
+def register(table):
+    def decorator(function):
+        table.append(function.__name__)
+        return function
+    return decorator
+alias = register
--- pkg/mod.py
+from functools import partial
+from .reg import add, alias
+FIRST = []
+SECOND = []
+THIRD = []
+once = partial(add, FIRST)
+twice = partial(once, SECOND)
+@alias(THIRD)
+def one():
-    return 1
+@twice
+def two():
-    return 2
--- test_a.py
+from pkg.mod import FIRST, THIRD
+def test_f():
*    assert (FIRST, THIRD) == (['two'], ['one'])
",
        "test_a.py::test_f",
        "
 from functools import partial
 def add(first, second, function):
     first.append(function.__name__)
     second.append(function.__name__)
     return function
 def register(table):
     def decorator(function):
         table.append(function.__name__)
         return function
     return decorator
 alias = register
 FIRST = []
 SECOND = []
 THIRD = []
 once = partial(add, FIRST)
 twice = partial(once, SECOND)
 @alias(THIRD)
 def one():
     return 1
 @twice
 def two():
     return 2
 def test_f():
     assert (FIRST, THIRD) == (['two'], ['one'])
",
    );
}

#[test]
fn those_whose_methods_call_each_other() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+class Table:
+    def __init__(self):
+        self.names = []
+    def first(self, function, again=True):
+        if again:
+            return self.second(function)
+        self.names += [function.__name__]
+        return function
+    def second(self, function):
+        return self.first(function, False)
+TABLE = Table()
+OTHER = Table()
+def ignore(function):
+    return OTHER.first(function)
+def register(function):
+    return TABLE.second(function)
+@ignore
+def zero():
-    return 0
+@register
+def one():
-    return 1
--- test_a.py
+from pkg.mod import TABLE
+def test_f():
*    assert TABLE.names == ['one']
",
        "test_a.py::test_f",
        "
 class Table:
     def __init__(self):
         self.names = []
     def first(self, function, again=True):
         if again:
             return self.second(function)
         self.names += [function.__name__]
         return function
     def second(self, function):
         return self.first(function, False)
 TABLE = Table()
 def register(function):
     return TABLE.second(function)
 @register
 def one():
     return 1
 def test_f():
     assert TABLE.names == ['one']
",
    );
}

#[test]
fn those_that_keep_what_they_were_made_of() {
    registers(
        "
+class register:
+    def __init__(self, table):
+        self.table = table
+    def __call__(self, function):
+        name = function.__name__
+        self.table[name] = 1
+        return function
+@register(REGISTRY)
+def one():
-    return 1
",
    );
}

#[test]
fn bases_are_looked_at_once() {
    let layers = (1..12).flat_map(|at| (0..8).map(move |wide| (at, wide))).map(|(at, wide)| {
        let below: Vec<String> = (0..8).map(|other| format!("L{}_{other}", at - 1)).collect();
        format!("+class L{at}_{wide}({}):\n+    pass\n", below.join(", "))
    });
    let first: String = (0..8).map(|wide| format!("+class L0_{wide}:\n+    pass\n")).collect();
    let test = "--- test_a.py\n+def test_f():\n*    assert True\n";
    let layers: String = layers.collect();
    let files = format!("--- pkg/__init__.py\n--- pkg/mod.py\n{first}{layers}{test}");
    check(&files, "test_a.py::test_f", " def test_f():\n     assert True\n");
}

/// Checks that of two functions below one decorator only the one stays that a test calls.
#[track_caller]
fn changes_nothing(source: &str) {
    let source = source.trim_matches('\n');
    let test = "--- test_a.py\n+from pkg.mod import one\n+def test_f():\n*    assert one('x')\n";
    let other = source.replace("def one", "def other").replace('*', "-");
    let other = other.split_once("# below\n").map_or("", |(_, below)| below);
    let files = format!("--- pkg/__init__.py\n--- pkg/mod.py\n{source}\n{other}\n{test}");
    let kept: String = format!("{source}\n+def test_f():\n*    assert one('x')\n")
        .lines()
        .filter(|line| !line.ends_with("# below") && !line.starts_with('-'))
        .map(|line| format!(" {}\n", &line[1..]))
        .collect();
    check(&files, "test_a.py::test_f", &kept);
}

#[test]
fn those_that_only_read_what_they_mention() {
    changes_nothing(
        "
+import re
+NAME = re.compile('[a-z]')
+def validate(function):
+    function.valid = NAME.match(function.__name__)
+    return function
+# below
+@validate
+def one(x):
*    return x
",
    );
}

#[test]
fn those_that_change_something_only_when_the_function_is_called() {
    changes_nothing(
        "
+CACHE = {}
+class memo:
+    def __init__(self, function):
+        self.function = function
+    def __call__(self, *args):
*        CACHE[args] = self.function(*args)
*        return CACHE[args]
+# below
+@memo
+def one(x):
*    return x
",
    );
    changes_nothing(
        "
+SEEN = []
+def noting(seen):
+    def decorator(function):
+        def wrapper(*args):
*            seen.append(args)
*            return function(*args)
+        return wrapper
+    return decorator
+# below
+@noting(SEEN)
+def one(x):
*    return x
",
    );
}

#[test]
fn what_is_installed_early_and_runs_in_tests_is_a_change() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+import logging
+SEEN = []
+def install():
+    def make(*args):
*        SEEN.append(args[0])
*        return logging.LogRecord(*args)
+    logging.setLogRecordFactory(make)
+install()
+def seen():
*    return SEEN
--- test_a.py
+from pkg.mod import seen
+def test_f():
*    assert seen() == ['x']
",
        "test_a.py::test_f",
        "
 import logging
 SEEN = []
 def install():
     def make(*args):
         SEEN.append(args[0])
         return logging.LogRecord(*args)
     logging.setLogRecordFactory(make)
 install()
 def seen():
     return SEEN
 def test_f():
     assert seen() == ['x']
",
    );
}
