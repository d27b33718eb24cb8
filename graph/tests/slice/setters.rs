//! Classes that get their attributes by `setattr`.

use super::check;

#[test]
fn what_an_object_gives_classes_by_name_when_it_is_made_comes_with_them() {
    check(
        "
--- pkg/__init__.py
+from . import store, options
+from .options import Options
+options = Options()
--- pkg/store.py
+class Store:
+    def first(self):
*        return 1
+    def last(self):
-        return 2
--- pkg/options.py
+import pkg
+class Options:
+    def __init__(self):
+        self.choose(False)
+    def choose(self, back):
+        Store = pkg.store.Store
+        methods = {Store: {'get': Store.last if back else Store.first}}
+        for cls, named in methods.items():
+            for name, method in named.items():
+                setattr(cls, name, method)
--- pkg/other.py
+class Other:
+    def __init__(self):
+        for name in ['a']:
+            setattr(self, name, 1)
+other = Other()
--- test_a.py
+import pkg
+def test_f():
*    assert pkg.store.Store().get() == 1
",
        "test_a.py::test_f",
        "
+import sys
+pkg = store = sys.modules.get(__name__)
 class Store:
     def first(self):
         return 1
     def last(self):
         return 2
 class Options:
     def __init__(self):
         self.choose(False)
     def choose(self, back):
         Store = pkg.store.Store
         methods = {Store: {'get': Store.last if back else Store.first}}
         for cls, named in methods.items():
             for name, method in named.items():
                 setattr(cls, name, method)
 options = Options()
 def test_f():
     assert pkg.store.Store().get() == 1
",
    );
}

#[test]
fn a_class_may_be_named_in_a_function_of_another_module_or_a_base() {
    check(
        "
--- pkg/__init__.py
--- pkg/store.py
+class Store:
+    pass
+class Other:
+    pass
--- pkg/install.py
+from . import store
+def install():
+    setattr(store.Store, 'get', lambda self: 1)
--- pkg/options.py
+from .install import install
+class Base:
+    def __init__(self):
+        install()
+class Options(Base):
+    pass
+options = Options()
--- pkg/plain.py
+class Plain:
+    def __init__(self):
+        setattr(self, 'a', 1)
+plain = Plain()
--- test_a.py
+from pkg import options, plain
+from pkg.store import Store
+def test_f():
*    assert Store().get() == 1
",
        "test_a.py::test_f",
        "
+import sys
+store = sys.modules.get(__name__)
 class Store:
     pass
 def install():
     setattr(store.Store, 'get', lambda self: 1)
 class Base:
     def __init__(self):
         install()
 class Options(Base):
     pass
 options = Options()
 def test_f():
     assert Store().get() == 1
",
    );
}

#[test]
fn what_an_object_is_asked_to_give_classes_comes_with_them() {
    check(
        "
--- pkg/__init__.py
--- pkg/formats.py
+class Registry:
+    def register(self, name):
+        from .core import Rows
+        setattr(Rows, name, name.upper())
+    def register_all(self):
+        self.register('csv')
+    def idle(self):
-        return 1
+registry = Registry()
--- pkg/core.py
+from .formats import registry
+class Rows:
+    pass
+class Other:
+    pass
+registry.register_all()
--- test_a.py
+from pkg.core import Rows
+def test_f():
*    assert Rows.csv == 'CSV'
+def test_g():
-    assert Other
",
        "test_a.py::test_f",
        "
 class Registry:
     def register(self, name):
         setattr(Rows, name, name.upper())
     def register_all(self):
         self.register('csv')
     def idle(self):
         return 1
 registry = Registry()
 class Rows:
     pass
 registry.register_all()
 def test_f():
     assert Rows.csv == 'CSV'
",
    );
}
