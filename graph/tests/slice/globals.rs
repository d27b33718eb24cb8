//! Code that goes through all names of a module finds those that the module has, and no others.

use super::check;

#[test]
fn code_that_goes_through_its_globals_finds_all_of_its_module() {
    for all in ["list(globals().values())", "{**globals()}.values()", "dict(globals()).values()"] {
        let goes = format!("for one in {all}:\n");
        let here = goes.replace("globals()", "vars(kinds)");
        let original = format!(
            "
--- trace
holds pkg.kinds Kind class pkg.kinds:Kind
holds pkg.kinds Round class pkg.kinds:Round
holds pkg.kinds KNOWN other dict
holds pkg.kinds one class pkg.kinds:Round
holds pkg.other Odd class pkg.other:Odd
--- pkg/__init__.py
--- pkg/other.py
+class Odd:
+    letter = 'O'
+def odd():
*    return Odd.letter
--- pkg/kinds.py
+class Kind:
+    letter = None
+class Round(Kind):
+    letter = 'R'
+KNOWN = {{}}
+{goes}+    if isinstance(one, type) and one.letter:
+        KNOWN[one.letter] = one
--- test_a.py
+from pkg.other import odd
+from pkg.kinds import KNOWN
+def test_f():
*    assert odd() not in KNOWN and KNOWN['R']
"
        );
        let gist = format!(
            "
+import types
+kinds = types.ModuleType(\"pkg.kinds\")
 class Odd:
     letter = 'O'
 def odd():
     return Odd.letter
 class Kind:
     letter = None
 class Round(Kind):
     letter = 'R'
 KNOWN = {{}}
+vars(kinds).update(Kind=Kind, Round=Round, KNOWN=KNOWN)
~{here}     if isinstance(one, type) and one.letter:
         KNOWN[one.letter] = one
+vars(kinds).update(one=one)
 def test_f():
     assert odd() not in KNOWN and KNOWN['R']
"
        );
        check(&original, "test_a.py::test_f", &gist);
    }
}

#[test]
fn a_function_that_goes_through_globals_while_its_module_runs_finds_the_gist_s() {
    check(
        "
--- trace
holds pkg.kinds Round class pkg.kinds:Round
holds pkg.kinds KNOWN other list
--- pkg/__init__.py
--- pkg/kinds.py
+class Round:
+    letter = 'R'
+def collect():
+    return [name for name in globals() if name == 'Round']
+KNOWN = collect()
--- test_a.py
+from pkg.kinds import KNOWN, Round
+def test_f():
*    assert KNOWN == [Round.__name__]
",
        "test_a.py::test_f",
        "
 class Round:
     letter = 'R'
 def collect():
     return [name for name in globals() if name == 'Round']
 KNOWN = collect()
 def test_f():
     assert KNOWN == [Round.__name__]
",
    );
}

#[test]
fn what_a_module_defines_is_told_apart_from_what_it_imports() {
    // The code knows the module that it goes through, or is given it.
    for (imports, of_tests, parameter, argument) in [
        ("+from pkg import rules\n", "", "", ""),
        ("", "+from pkg import rules\n", "module", "rules"),
    ] {
        let module = if parameter.is_empty() { "rules" } else { parameter };
        let original = format!(
            r#"
--- trace
holds pkg.rules Base class pkg.base:Base
holds pkg.rules Long class pkg.rules:Long
holds pkg.rules short function pkg.rules:short
holds pkg.rules NAME other str
--- pkg/__init__.py
--- pkg/base.py
+class Base:
-    pass
--- pkg/rules.py
+from pkg.base import Base
+class Long(Base):
-    pass
+def short():
-    pass
+@str
+def NAME():
-    pass
--- pkg/mod.py
{imports}+def own({parameter}):
*    found = [value for value in vars({module}).values() if callable(value)]
*    return [value.__name__ for value in found if value.__module__ == {module}.__name__]
--- test_a.py
{of_tests}+from pkg.mod import own
+def test_f():
*    assert own({argument}) == ['Long', 'short']
"#
        );
        let gist = format!(
            r#"
+import sys
+import types
+sys.modules["pkg"] = sys.modules.get(__name__)
+rules = sys.modules["pkg.rules"] = types.ModuleType("pkg.rules")
 class Base:
     pass
 class Long(Base):
+    __module__ = "pkg.rules"
     pass
 def short():
     pass
+short.__module__ = "pkg.rules"
 @str
 def NAME():
     pass
+vars(rules).update(Base=Base, Long=Long, short=short, NAME=NAME)
 def own({parameter}):
     found = [value for value in vars({module}).values() if callable(value)]
     return [value.__name__ for value in found if value.__module__ == {module}.__name__]
 def test_f():
     assert own({argument}) == ['Long', 'short']
"#
        );
        check(&original, "test_a.py::test_f", &gist);
    }
}

#[test]
fn a_method_that_goes_through_globals_finds_its_module_s() {
    check(
        "
--- trace
holds pkg.kinds Round class pkg.kinds:Round
--- pkg/__init__.py
--- pkg/other.py
+class Odd:
+    pass
--- pkg/kinds.py
+class Round:
+    @classmethod
+    def all(cls):
*        return [name for name in globals() if name[0].isupper()]
--- test_a.py
+from pkg.other import Odd
+from pkg.kinds import Round
+def test_f():
*    assert Odd and Round.all() == ['Round']
",
        "test_a.py::test_f",
        "
+import types
+kinds = types.ModuleType(\"pkg.kinds\")
 class Odd:
     pass
 class Round:
     @classmethod
     def all(cls):
~        return [name for name in vars(kinds) if name[0].isupper()]
+vars(kinds).update(Round=Round)
 def test_f():
     assert Odd and Round.all() == ['Round']
",
    );
}

#[test]
fn what_a_loop_does_to_each_is_done_to_what_it_goes_through() {
    check(
        "
--- lib.py
+class Rule:
+    def __init__(self, text):
+        self.text = text
+    def prepare(self):
+        self.size = len(self.text)
+FIRST = Rule('first')
+SECOND = Rule('second')
+THIRD = Rule('third')
+for rule in [FIRST, SECOND]:
+    rule.prepare()
+for other in (THIRD,):
+    other.prepare()
--- test_it.py
+from lib import FIRST
+def test_f():
*    assert FIRST.size
",
        "test_it.py::test_f",
        "
 class Rule:
     def __init__(self, text):
         self.text = text
     def prepare(self):
         self.size = len(self.text)
 FIRST = Rule('first')
 SECOND = Rule('second')
 for rule in [FIRST, SECOND]:
     rule.prepare()
 def test_f():
     assert FIRST.size
",
    );
}

/// An import binds a variable of its own, which the functions of the other module do not rebind.
#[test]
fn a_rebound_global_keeps_its_first_value_where_it_was_imported() {
    check(
        "
--- pkg/__init__.py
+from .state import counter
--- pkg/state.py
+counter = 0
+def bump():
*    global counter
*    counter += 1
--- pkg/use.py
+from .state import counter as first, bump
+from . import state
+def run():
*    bump()
*    return first, state.counter
--- test_a.py
+import pkg
+from pkg.use import run
+def test_f():
*    assert run() == (0, 1)
*    assert pkg.counter == 0
",
        "test_a.py::test_f",
        "
+import sys
+pkg = state = sys.modules.get(__name__)
 counter = 0
+counter_state = counter
 def bump():
~    global counter_state
~    counter_state += 1
+counter = counter_state
+first = counter_state
 def run():
     bump()
~    return first, state.counter_state
 def test_f():
     assert run() == (0, 1)
     assert pkg.counter == 0
",
    );
}

/// A method may return a part of its object, so that a change of the one changes the other.
#[test]
fn a_change_of_a_part_is_a_change_of_the_whole() {
    check(
        "
--- pkg/__init__.py
--- pkg/kinds.py
+import lookups
+table = lookups.Table()
+parts = table.parts
+types = table.part('types')
+unused = lookups.Table()
+first = unused.part('types')
+class Override:
+    pass
+types['Override'] = Override
+parts.append('types')
+first['Override'] = Override
+def find(name):
*    return table.find(name)
--- test_a.py
+from pkg.kinds import find
+def test_f():
*    assert find('Override')
",
        "test_a.py::test_f",
        "
 import lookups
 table = lookups.Table()
 parts = table.parts
 types = table.part('types')
 class Override:
     pass
 types['Override'] = Override
 parts.append('types')
 def find(name):
     return table.find(name)
 def test_f():
     assert find('Override')
",
    );
}

/// A star import gives a name back to the module that it comes from.
#[test]
fn a_star_import_that_brings_back_a_name_leaves_it() {
    check(
        "
--- pkg/__init__.py
+import logging
+logger = logging.getLogger('pkg')
+from .core import *
--- pkg/core.py
+from . import logger
+def run():
*    logger.error('no')
*    return logger
--- test_a.py
+from pkg import logger, run
+def test_f():
*    assert run() is logger
",
        "test_a.py::test_f",
        "
 import logging
 logger = logging.getLogger('pkg')
 def run():
     logger.error('no')
     return logger
 def test_f():
     assert run() is logger
",
    );
}
