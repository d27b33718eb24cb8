//! Tests failed imports of the repository: a gist fails at the same external import.

use super::check;

#[test]
fn an_import_that_failed_fails_again() {
    check(
        "
--- pkg/__init__.py
--- pkg/fast/__init__.py
+NAME = 'fast'
--- pkg/choice.py
+def load():
+    from .fast import parts
-    return parts
+try:
+    load()
-    FAST = True
+except ImportError:
+    FAST = False
--- test_a.py
+from pkg.choice import FAST
+def test_f():
*    assert not FAST
--- trace
holds pkg.fast NAME other str
",
        "test_a.py::test_f",
        "
 def load():
     from .fast import parts
 try:
     load()
 except ImportError:
     FAST = False
 def test_f():
     assert not FAST
",
    );
}

#[test]
fn an_import_of_a_module_that_cannot_be_loaded_fails_as_its_module_did() {
    check(
        "
--- pkg/__init__.py
--- pkg/socks.py
*import logging
*from missing import (  # not there
*    one,
*    two as other)
-from . import other
-class Proxy:
-    pass
--- pkg/choice.py
+def load():
*    from .socks import Proxy
-    return Proxy()
--- test_a.py
+from pkg.choice import load
+def test_f():
!    load()
--- trace
runs pkg/socks.py pkg.socks
",
        "test_a.py::test_f",
        "
 def load():
+    from missing import one, two as other
 def test_f():
     load()
",
    );
}

#[test]
fn an_import_fails_as_what_it_brings_did_in_turn() {
    let gist = "+import sys\n+choice = one = sys.modules.get(__name__)\n";
    for (import, stands) in [
        ("from pkg.choice import pick", ""),
        ("from pkg import choice", ""),
        ("import pkg.choice.one", gist),
    ] {
        check(
            &format!(
                "
--- pkg/__init__.py
--- pkg/parts.py
*import missing
-from . import other
-class Part:
-    pass
--- pkg/choice/__init__.py
*from pkg.parts import Part
--- pkg/choice/one.py
-ONE = 1
--- test_a.py
+def test_f():
!    load()
+def load():
!    {import}
-    return 1
--- trace
runs pkg/parts.py pkg.parts
runs pkg/choice/__init__.py pkg.choice
"
            ),
            "test_a.py::test_f",
            &format!(
                "
{stands} def test_f():
     load()
 def load():
+    import missing
     return 1
"
            ),
        );
    }
}
