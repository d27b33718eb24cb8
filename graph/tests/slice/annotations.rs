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

/// PEP 649: from 3.14 on an annotation is evaluated when it is asked for.
#[test]
fn annotations_that_nobody_asked_for_need_nothing() {
    check(
        "
--- trace
python 14
--- pkg/__init__.py
--- pkg/heavy.py
+class Thing:
+    pass
--- pkg/core.py
+from pkg import heavy
+class Other:
+    pass
+def helper(a: heavy.Thing, b: Other = None) -> heavy.Thing:
*    return a
--- test_a.py
+from pkg.core import helper
+def test_f():
*    assert helper(1) == 1
",
        "test_a.py::test_f",
        "
 def helper(a: heavy.Thing, b: Other = None) -> heavy.Thing:
     return a
 def test_f():
     assert helper(1) == 1
",
    );
}

#[test]
fn annotations_are_evaluated_later_than_the_names_that_they_mention() {
    check(
        "
--- trace
python 14
evaluates pkg/a.py 3 Money
evaluates pkg/b.py 3 Money
--- pkg/__init__.py
--- pkg/a.py
+class Money:
+    kind = 'a'
+def pay(m: Money):
*    return m
--- pkg/b.py
+class Money:
+    kind = 'b'
+def pay_b(m: Money):
*    return m
--- test_a.py
+import inspect
+from pkg.a import pay
+from pkg.b import pay_b
+def test_f():
*    assert inspect.signature(pay) != inspect.signature(pay_b)
*    assert pay(1) and pay_b(1)
",
        "test_a.py::test_f",
        "
 import inspect
 class Money:
     kind = 'a'
+Money_a = Money
~def pay(m: Money_a):
     return m
 class Money:
     kind = 'b'
 def pay_b(m: Money):
     return m
 def test_f():
     assert inspect.signature(pay) != inspect.signature(pay_b)
     assert pay(1) and pay_b(1)
",
    );
}

/// `typing.get_type_hints` evaluates the texts, as the names of generated code show.
#[test]
fn texts_of_annotations_find_the_names_of_their_module() {
    check(
        "
--- trace
mentions Money
--- pkg/__init__.py
--- pkg/a.py
+class Money:
+    kind = 'a'
+def pay(m: 'Money | None', n: 'Coin'):
*    return m
--- pkg/b.py
+class Money:
+    kind = 'b'
+def make():
*    return Money()
--- test_a.py
+import typing
+from pkg.a import pay
+from pkg.b import make
+def test_f():
*    assert typing.get_type_hints(pay)
*    assert pay(1) and make()
",
        "test_a.py::test_f",
        "
 import typing
 class Money:
     kind = 'a'
+Money_a = Money
~def pay(m: 'Money_a | None', n: 'Coin'):
     return m
 class Money:
     kind = 'b'
 def make():
     return Money()
 def test_f():
     assert typing.get_type_hints(pay)
     assert pay(1) and make()
",
    );
}

#[test]
fn a_name_that_the_module_lacks_stays_missing() {
    check(
        "
--- trace
mentions Model
--- pkg/__init__.py
--- pkg/core.py
+def f(model: 'Model'):
*    return 1
--- pkg/models.py
+class Model:
+    pass
--- test_a.py
+import typing
+from pkg.core import f
+from pkg.models import Model
+def test_f():
*    assert f(Model())
*    typing.get_type_hints(f)
",
        "test_a.py::test_f",
        "
 import typing
~def f(model: 'Model_core'):
     return 1
 class Model:
     pass
 def test_f():
     assert f(Model())
     typing.get_type_hints(f)
",
    );
}

/// PEP 563: the import is one of the file, the annotations are those of modules with and without it.
#[test]
fn annotations_below_the_future_import_become_texts_beside_others() {
    check(
        "
--- adjustments
{\"apart\": true}
--- pkg/__init__.py
--- pkg/a.py
+from __future__ import annotations
+class A:
+    x: dict[str, Missing]|None = None
+    y: dict[
+        str,  # a name
+        tuple[Missing, int],
+    ] = {}  # all
+def fa(p: \"A\", q: int = 1, r: dict[
+    str, int
+] = {}) -> A:
*    y: A = p
*    return y
--- pkg/b.py
+class B:
+    x: int = 1
--- test_a.py
+from pkg.a import A, fa
+from pkg.b import B
+def test_f():
*    assert fa(A) is A and B.__annotations__ == {'x': int}
",
        "test_a.py::test_f",
        "
 class A:
~    x: 'dict[str, Missing] | None' = None
~    y: 'dict[str, tuple[Missing, int]]' = {}  # all
~def fa(p: \"'A'\", q: 'int' = 1, r: 'dict[str, int]' = {}) -> 'A':
     y: A = p
     return y
 class B:
     x: int = 1
 def test_f():
     assert fa(A) is A and B.__annotations__ == {'x': int}
",
    );
}

/// PEP 750 and `f\"{name=}\"`: what is shown is the text of the expression.
#[test]
fn text_that_is_shown_is_not_renamed() {
    check(
        "
--- pkg/__init__.py
--- pkg/a.py
+NAME = 'a'
+def fa():
*    return f'{NAME=}'
--- pkg/b.py
+NAME = 'b'
+def fb():
*    return f'{NAME=}'
--- test_a.py
+from pkg.a import fa
+from pkg.b import fb
+def test_f():
*    assert fa() == fb()
",
        "test_a.py::test_f",
        "
 NAME = 'a'
+NAME_a = NAME
 def fa():
+    NAME = NAME_a
     return f'{NAME=}'
 NAME = 'b'
 def fb():
     return f'{NAME=}'
 def test_f():
     assert fa() == fb()
",
    );
}

/// PEP 810: lazy imports from outside stay lazy.
#[test]
fn lazy_imports_from_outside_stay_lazy() {
    check(
        "
--- trace
python 15
--- pkg/__init__.py
--- pkg/core.py
+lazy import json
+lazy from collections import abc, deque
+def f():
*    return json.dumps([]), deque()
--- test_a.py
+from pkg.core import f
+def test_f():
*    assert f()
",
        "test_a.py::test_f",
        "
 lazy import json
 lazy from collections import deque
 def f():
     return json.dumps([]), deque()
 def test_f():
     assert f()
",
    );
}
