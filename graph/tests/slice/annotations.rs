//! Annotations, evaluated or not.

use super::check;

#[test]
fn annotations_refer_to_nothing_below_the_future_import() {
    check(
        "
--- pkg/__init__.py
--- pkg/lazy.py
+from __future__ import annotations
+import decimal
+class Unused:
+    pass
+def lazy(x: Unused) -> decimal.Decimal:
*    y: Unused = x
*    return y
--- pkg/plain.py
+class Kind:
+    pass
+def plain(x: Kind = None) -> Kind:
*    return x
--- test_a.py
+from pkg.lazy import lazy
+from pkg.plain import plain
+def test_f():
*    assert lazy(1) and plain() is None
",
        "test_a.py::test_f",
        "
 from __future__ import annotations
 def lazy(x: Unused) -> decimal.Decimal:
     y: Unused = x
     return y
 def plain(x: Kind = None) -> Kind:
     return x
 def test_f():
     assert lazy(1) and plain() is None
",
    );
}

#[test]
fn annotations_are_references_where_no_module_defers_them() {
    check(
        "
--- pkg/__init__.py
--- pkg/plain.py
+class Kind:
+    pass
+class Local:
+    pass
+def plain(x: Kind = None, *args: Kind) -> 'Unused':
*    y: Local = x
*    return y
+class Data:
+    field: Kind
+def data():
*    return Data.__annotations__
--- test_a.py
+from pkg.plain import plain, data
+def test_f():
*    assert plain() is None and data()
",
        "test_a.py::test_f",
        "
 class Kind:
     pass
 def plain(x: Kind = None, *args: Kind) -> 'Unused':
     y: Local = x
     return y
 class Data:
     field: Kind
 def data():
     return Data.__annotations__
 def test_f():
     assert plain() is None and data()
",
    );
}

#[test]
fn what_says_that_a_field_is_none_stays_where_annotations_are_deferred() {
    check(
        "
--- pkg/__init__.py
--- pkg/base.py
+from __future__ import annotations
+import typing as ty
+from dataclasses import dataclass
+from typing import Any
+@dataclass
+class Base:
+    kinds: ty.ClassVar[list[Any]] = []
+    name: Any = ''
--- test_a.py
+from pkg.base import Base
+def test_f():
*    assert Base('a').kinds == []
",
        "test_a.py::test_f",
        "
 from __future__ import annotations
 import typing as ty
 from dataclasses import dataclass
 @dataclass
 class Base:
     kinds: ty.ClassVar[list[Any]] = []
     name: Any = ''
 def test_f():
     assert Base('a').kinds == []
",
    );
}
