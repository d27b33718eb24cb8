//! Tests code that depends on random values of each run.

use super::check;

/// Slices a function of one condition for a test that gives it a value.
#[track_caller]
fn check_condition(import: &str, drawn: &str, otherwise: [&str; 2]) {
    let [called, defined] = otherwise;
    check(
        &format!(
            "
--- test_a.py
+{import}
+from mod import encode
+def test_f():
*    number = {drawn}
*    assert encode(number)
--- mod.py
+def encode(number):
*    if number < 128:
*        return small(number)
-    return large(number)
+def small(number):
*    return bytes([number])
+def large(number):
-    return bytes([number, 0])
"
        ),
        "test_a.py::test_f",
        &format!(
            "
 {import}
 def encode(number):
     if number < 128:
         return small(number)
{called} def small(number):
     return bytes([number])
{defined} def test_f():
     number = {drawn}
     assert encode(number)
"
        ),
    );
}

#[test]
fn a_condition_on_what_is_drawn_keeps_both_ways() {
    let both =
        ["     return large(number)\n", " def large(number):\n     return bytes([number, 0])\n"];
    check_condition("import os", "os.urandom(1)[0]", both);
    check_condition("import random", "random.randrange(256)", both);
    check_condition("from random import randint as pick", "int(pick(0, 255))", both);
    check_condition("import random", "random.Random().getrandbits(8)", both);
    check_condition("import secrets", "max(secrets.randbelow(256), 1)", both);
}

#[test]
fn a_condition_on_what_a_seed_gives_keeps_the_way_it_took() {
    check_condition("import random", "random.Random(5).getrandbits(7)", ["", ""]);
    check_condition("import os", "len(os.listdir('.'))", ["", ""]);
}

#[test]
fn a_seed_for_the_generator_that_all_share_makes_its_draws_the_same() {
    let of = |seeds: &str, otherwise: &str| {
        check(
            &format!(
                "
--- mod.py
+import random
+def asked():
*    if random.random() < 0.5:
*        return
-    print(random.random())
--- test_a.py
+import random
+from mod import asked
+def test_f():
*    random.seed({seeds})
*    asked()
"
            ),
            "test_a.py::test_f",
            &format!(
                "
 import random
 def asked():
     if random.random() < 0.5:
         return
{otherwise} def test_f():
     random.seed({seeds})
     asked()
"
            ),
        );
    };
    of("5", "");
    of("", "     print(random.random())\n");
}

/// Slices a test whose lines receive random values, and a module that defines its imports.
#[track_caller]
fn check_flow(module: &str, test: &str, expected: &str) {
    check(
        &format!(
            "
--- mod.py
{module}
--- test_a.py
+import os
+from mod import asked
+def test_f():
*    drawn = os.urandom(2)
{test}
"
        ),
        "test_a.py::test_f",
        &format!(
            "
 import os
{expected}
"
        ),
    );
}

#[test]
fn what_is_drawn_goes_through_attributes_and_what_methods_give_back() {
    check_flow(
        "
+class asked:
+    def __init__(self, raw, name):
*        self.raw = raw
*        self.name = name
+    def first(self):
*        return self.raw[0]
+    def describe(self):
*        if self.name:
*            title = self.name
-        else:
-            title = 'key'
*        if self.first() > 9:
*            return title
-        elif self.raw:
-            return title + ' of one digit'
-        return 'empty'
",
        "
*    key = asked(drawn, name='a')
*    assert key.describe()
",
        " class asked:
     def __init__(self, raw, name):
         self.raw = raw
         self.name = name
     def first(self):
         return self.raw[0]
     def describe(self):
         if self.name:
             title = self.name
         if self.first() > 9:
             return title
         elif self.raw:
             return title + ' of one digit'
         return 'empty'
 def test_f():
     drawn = os.urandom(2)
     key = asked(drawn, name='a')
     assert key.describe()",
    );
}

#[test]
fn what_is_drawn_decides_how_often_a_loop_goes_round() {
    check_flow(
        "
+def asked(raw):
*    found = []
*    for byte in raw:
*        if byte > 99:
-            continue
*        found.append(byte)
*    while found:
-        if found.pop() == 7:
-            break
*    for name in []:
-        found.append(name)
*    return found
",
        "*    asked(drawn)",
        " def asked(raw):
     found = []
     for byte in raw:
         if byte > 99:
             continue
         found.append(byte)
     while found:
         if found.pop() == 7:
             break
     return found
 def test_f():
     drawn = os.urandom(2)
     asked(drawn)",
    );
}

#[test]
fn what_is_drawn_decides_within_an_expression() {
    check_flow(
        "
+def is_odd(number):
-    return number % 2
+def of_none():
-    none = 5
-    return none
+def asked(raw, other):
*    found = other or of_none()
*    return raw[0] > 9 and is_odd(raw[0]) or found
",
        "*    asked(drawn, 1)",
        " def is_odd(number):
     return number % 2
 def of_none():
     none = 5
 def asked(raw, other):
     found = other or of_none()
     return raw[0] > 9 and is_odd(raw[0]) or found
 def test_f():
     drawn = os.urandom(2)
     asked(drawn, 1)",
    );
}

#[test]
fn an_error_that_nothing_handles_is_not_waited_for() {
    let of = |handled: &str, [class, kept, handler]: [&str; 3]| {
        check_flow(
            &format!(
                "
+class Weak(Exception): pass
+def check_key(raw):
*    if not raw[0]:
-        text = 'weak'
-        raise Weak(text)
*    return raw
+def asked(raw):
*    try:
*        return check_key(raw)
*    except {handled}:
-        return None
"
            ),
            "*    asked(drawn)",
            &format!(
                "{class} def check_key(raw):
{kept}     return raw
 def asked(raw):
{handler} def test_f():
     drawn = os.urandom(2)
     asked(drawn)"
            ),
        );
    };
    let raises = "     if not raw[0]:\n         text = 'weak'\n         raise Weak(text)\n";
    let handles = |error: &str| {
        format!(
            "     try:\n         return check_key(raw)\n     except {error}:\n         return None\n"
        )
    };
    of("Weak", [" class Weak(Exception):\n     pass\n", raises, &handles("Weak")]);
    of("KeyError", ["", "", "     return check_key(raw)\n"]);
}

#[test]
fn what_is_decided_by_what_is_drawn_is_drawn() {
    check_flow(
        "
+def is_small(number):
*    if number < 128:
*        return True
-    return False
+def asked(raw):
*    flag = 0
*    if raw[1] > 9:
*        flag = 1
*    if is_small(raw[0]):
*        return flag
-    elif flag:
-        return 2
-    return 3
",
        "*    asked(drawn)",
        " def is_small(number):
     if number < 128:
         return True
     return False
 def asked(raw):
     flag = 0
     if raw[1] > 9:
         flag = 1
     if is_small(raw[0]):
         return flag
     elif flag:
         return 2
     return 3
 def test_f():
     drawn = os.urandom(2)
     asked(drawn)",
    );
}

#[test]
fn what_others_refuse_of_what_is_drawn_is_handled() {
    check_flow(
        "
+def asked(raw, name):
*    try:
*        name.encode()
*    except UnicodeEncodeError:
-        name = ''
*    try:
*        return raw.decode()
*    except UnicodeDecodeError:
-        return raw.hex()
",
        "*    asked(drawn, 'a')",
        " def asked(raw, name):
     name.encode()
     try:
         return raw.decode()
     except UnicodeDecodeError:
         return raw.hex()
 def test_f():
     drawn = os.urandom(2)
     asked(drawn, 'a')",
    );
}

#[test]
fn what_is_drawn_goes_to_the_parameters_that_it_is_given_for() {
    check_flow(
        "
+class Base:
+    def __init__(self, value, *rest, size=1, **more):
*        self.value = value
*        if size > 1:
-            self.size = size
*        if more:
-            self.more = more
*        if rest:
-            self.rest = rest
+    def append(self, value):
*        self.value = value
+class asked(Base):
+    def __init__(self, value):
*        Base.__init__(self, value)
*        self.append(0)
*        found = []
*        found.append(value)
*        x: int
*        if self.value:
*            return
-        elif found[0]:
-            print(1)
",
        "*    asked(drawn)",
        " class Base:
     def __init__(self, value, *rest, size=1, **more):
         self.value = value
         if rest:
             self.rest = rest
     def append(self, value):
         self.value = value
 class asked(Base):
     def __init__(self, value):
         Base.__init__(self, value)
         self.append(0)
         found = []
         found.append(value)
         x: int
         if self.value:
             return
         elif found[0]:
             print(1)
 def test_f():
     drawn = os.urandom(2)
     asked(drawn)",
    );
}

#[test]
fn a_later_run_does_not_tell_what_all_runs_execute() {
    let of = |drawn: &str, last: &str| {
        check(
            &format!(
                r#"
--- adjustments
{{"executed": [{{"path": "mod.py", "lines": [3, 4, 6], "functions": [2]}},
  {{"path": "test_a.py", "lines": [2, 3], "functions": [2]}}]}}
--- mod.py
+import os
+def asked():
*    drawn = {drawn}
*    if drawn:
*        print(1)
*    print(2)
--- test_a.py
+from mod import asked
+def test_f():
*    asked()
"#
            ),
            "test_a.py::test_f",
            &format!(
                "
 import os
 def asked():
     drawn = {drawn}
{last}     print(2)
 def test_f():
     asked()
"
            ),
        );
    };
    of("os.urandom(1)[0]", "     if drawn:\n         print(1)\n");
    of("os.getpid()", "");
}

#[test]
fn a_later_run_may_go_the_other_way() {
    check(
        r#"
--- adjustments
{"executed": [{"path": "mod.py", "lines": [3, 9, 10], "functions": [2, 8]},
  {"path": "test_a.py", "lines": [2, 3], "functions": [2]}]}
--- mod.py
+import random
+def low():
-    return 1
+def high():
*    if random.random() < 0.5:
*        return 2
-    return 3
+def asked():
*    if random.random() < 0.5:
-        return low()
*    return high()
--- test_a.py
+from mod import asked
+def test_f():
*    asked()
"#,
        "test_a.py::test_f",
        "
 import random
 def low():
     return 1
 def high():
     if random.random() < 0.5:
         return 2
     return 3
 def asked():
     if random.random() < 0.5:
         return low()
     return high()
 def test_f():
     asked()
",
    );
}
