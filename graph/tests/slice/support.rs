//! Tests, their classes, conftests and fixtures.

use super::check;

#[test]
fn a_fixture_of_a_conftest_comes_along() {
    check(
        "
--- pkg/__init__.py
--- pkg/app.py
+class App:
+    def __init__(self, debug):
*        self.debug = debug
--- conftest.py
+import pytest
+from pkg.app import App
+@pytest.fixture
+def debug():
*    return True
+@pytest.fixture(scope='function')
+def app(debug):
*    app = App(debug)
*    yield app
*    app.debug = None
+@pytest.fixture
+def unused():
-    return 1
--- test_a.py
+def test_f(app):
*    assert app.debug
",
        "test_a.py::test_f",
        "
 import pytest
 class App:
     def __init__(self, debug):
         self.debug = debug
 @pytest.fixture
 def debug():
     return True
 @pytest.fixture(scope='function')
 def app(debug):
     app = App(debug)
     yield app
     app.debug = None
 def test_f(app):
     assert app.debug
",
    );
}

#[test]
fn the_other_tests_of_a_class_go() {
    check(
        "
--- test_a.py
+class TestAll:
+    limit = 1
+    def setup_method(self):
*        self.x = 1
+    def test_one(self):
*        assert self.x == self.limit
+    def test_two(self):
-        assert self.x == 2
+    def helper(self):
-        return 3
+class TestOther:
+    def test_three(self):
-        assert True
+def test_four():
-    assert True
",
        "test_a.py::TestAll::test_one",
        "
 class TestAll:
     limit = 1
     def setup_method(self):
         self.x = 1
     def test_one(self):
         assert self.x == self.limit
",
    );
}

#[test]
fn a_test_is_kept_whole() {
    check(
        "
--- test_a.py
+import sys
+def test_f():
-    \"\"\"Checks.\"\"\"
*    if sys.maxsize < 0:
-        value = 1
-    else:
*        value = 2
*    try:
*        assert value == 2
-    except KeyError:
-        raise
",
        "test_a.py::test_f",
        "
 import sys
 def test_f():
     \"\"\"Checks.\"\"\"
     if sys.maxsize < 0:
         value = 1
     else:
         value = 2
     try:
         assert value == 2
     except KeyError:
         raise
",
    );
}

#[test]
fn a_test_that_was_skipped_is_there_all_the_same() {
    check(
        "
--- test_a.py
+import pytest
+pytestmark = pytest.mark.filterwarnings('ignore')
+NOT_NEEDED = 1
+@pytest.mark.skip(reason='why')
+def test_f():
-    \"\"\"Checks.\"\"\"
-    assert NOT_NEEDED
",
        "test_a.py::test_f",
        "
 import pytest
 pytestmark = pytest.mark.filterwarnings('ignore')
 @pytest.mark.skip(reason='why')
 def test_f():
     \"\"\"Checks.\"\"\"
",
    );
}

#[test]
fn parameters_are_kept_with_what_makes_them() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+def double(x):
=    return x * 2
--- test_a.py
+import pytest
+from pkg.mod import double
+CASES = [(1, 2), (double(1), 4)]
+IDS = [1]
+@pytest.mark.parametrize('x, y', CASES)
+def test_f(x, y):
*    assert double(x) == y
+@pytest.mark.parametrize('x', IDS)
+def test_g(x):
-    assert double(x) == x
",
        "test_a.py::test_f",
        "
 import pytest
 def double(x):
     return x * 2
 CASES = [(1, 2), (double(1), 4)]
 @pytest.mark.parametrize('x, y', CASES)
 def test_f(x, y):
     assert double(x) == y
",
    );
}

#[test]
fn hooks_of_a_conftest_go_but_for_the_one_that_makes_parameters() {
    check(
        "
--- conftest.py
+import pytest
+def pytest_configure(config):
+    config.addinivalue_line('markers', 'slow')
+def pytest_runtest_setup(item):
*    item.prepared = True
+def pytest_generate_tests(metafunc):
+    metafunc.parametrize('x', [1, 2])
+@pytest.fixture(autouse=True)
+def quiet():
*    yield
--- test_a.py
+def test_f(x):
*    assert x
",
        "test_a.py::test_f",
        "
 import pytest
 def pytest_generate_tests(metafunc):
     metafunc.parametrize('x', [1, 2])
 @pytest.fixture(autouse=True)
 def quiet():
     yield
 def test_f(x):
     assert x
",
    );
}

#[test]
fn of_a_hook_that_makes_parameters_stays_what_the_original_ran() {
    let files = "
--- conftest.py
+import os
+def pytest_generate_tests(metafunc):
*    seeds = os.environ.get('SEEDS')
*    if seeds is None:
*        values = [42]
*    elif seeds == 'all':
-        values = list(range(100))
-    else:
-        values = [int(seeds)]
*    if 'seed' in metafunc.fixturenames:
*        metafunc.parametrize('seed', values)
--- test_a.py
+def test_f():
*    pass
+def test_g(seed):
-    assert seed
";
    let expected = "
 import os
 def pytest_generate_tests(metafunc):
     seeds = os.environ.get('SEEDS')
     if seeds is None:
         values = [42]
     if 'seed' in metafunc.fixturenames:
         metafunc.parametrize('seed', values)
 def test_f():
     pass
";
    check(files, "test_a.py::test_f", expected);
    // Nor does what a gist ran of it make it another hook.
    let run = r#"
--- adjustments
{"executed": [{"path": "conftest.py", "lines": [1, 2, 3, 4, 5, 9], "functions": [2]},
              {"path": "test_a.py", "lines": [1, 2], "functions": [1]}]}
"#;
    check(&format!("{}{}", files.trim_end(), run), "test_a.py::test_f", expected);
}

#[test]
fn what_support_did_for_other_tests_stays_in_a_class_that_stays() {
    check(
        r#"
--- conftest.py
+class Kit:
+    def cases(self):
+        return self.those('a')
+    def others(self):
+        return self.those('b')
+    def those(self, name):
+        return [name]
--- test_a.py
+from conftest import Kit
+KIT = Kit()
+CASES = KIT.cases()
+OTHERS = KIT.others()
+def test_f():
*    assert CASES
+def test_g():
-    assert OTHERS
--- adjustments
{"executed": [{"path": "conftest.py", "lines": [1, 2, 3, 4, 6, 7], "functions": [2, 6]},
              {"path": "test_a.py", "lines": [1, 2, 3, 5, 6], "functions": [5]}],
 "uncalled": []}
"#,
        "test_a.py::test_f",
        "
 class Kit:
     def cases(self):
         return self.those('a')
     def others(self):
         return self.those('b')
     def those(self, name):
         return [name]
 KIT = Kit()
 CASES = KIT.cases()
 def test_f():
     assert CASES
",
    );
}

#[test]
fn a_test_class_keeps_its_base() {
    check(
        "
--- pkg/__init__.py
--- pkg/testing.py
+import unittest
+class Case(unittest.TestCase):
+    def setUp(self):
*        self.x = 1
+    def unused(self):
-        return 2
--- test_a.py
+from pkg.testing import Case
+class TestIt(Case):
+    def test_one(self):
*        self.assertEqual(self.x, 1)
+    def test_two(self):
-        self.assertEqual(self.x, 2)
",
        "test_a.py::TestIt::test_one",
        "
 import unittest
 class Case(unittest.TestCase):
     def setUp(self):
         self.x = 1
     def unused(self):
         return 2
 class TestIt(Case):
     def test_one(self):
         self.assertEqual(self.x, 1)
",
    );
}

#[test]
fn the_package_may_look_for_more_in_what_a_test_hands_it() {
    let of = |adjustments: &str, stays: &str| {
        check(
            &format!(
                "
--- adjustments
{{{adjustments}}}
--- pkg/__init__.py
--- pkg/mod.py
+class Shell:
+    def knows(self, name):
*        return hasattr(self, 'do_' + name)
--- test_a.py
+from pkg.mod import Shell
+class TestShell(Shell):
+    def do_it(self):
-        return 1
+    def do_more(self):
-        return 2
+class TestMine:
+    def test_one(self):
*        assert TestShell().knows('it')
+    def helped(self):
-        return 3
"
            ),
            "test_a.py::TestMine::test_one",
            &format!(
                "
 class Shell:
     def knows(self, name):
         return hasattr(self, 'do_' + name)
 class TestShell(Shell):
{stays} class TestMine:
     def test_one(self):
         assert TestShell().knows('it')
"
            ),
        );
    };
    let it = "     def do_it(self):\n         return 1\n";
    of("", &format!("{it}     def do_more(self):\n         return 2\n"));
    // A run has told for what it looked.
    of(r#""uncalled": [{"path": "test_a.py", "line": 3}]"#, it);
}

#[test]
fn two_tests_of_two_files_share_one_gist() {
    check(
        "
--- tests/__init__.py
--- tests/common.py
+def check(x):
*    assert x
--- tests/test_a.py
+from .common import check
+def test_a():
*    check(1)
--- tests/test_b.py
+from tests import common
+def test_b():
*    common.check(2)
",
        "tests/test_a.py::test_a tests/test_b.py::test_b",
        "
+import sys
+common = sys.modules.get(__name__)
 def check(x):
     assert x
 def test_a():
     check(1)
 def test_b():
     common.check(2)
",
    );
}

#[test]
fn names_inside_tests_are_never_renamed() {
    check(
        "
--- pkg/__init__.py
--- pkg/mod.py
+def build():
*    return value
+value = 'module'
--- test_a.py
+from pkg import mod
+value = 'test'
+def test_f():
*    assert (value, mod.build()) == ('test', 'module')
",
        "test_a.py::test_f",
        "
+import sys
+mod = sys.modules.get(__name__)
 def build():
~    return value_mod
 value = 'module'
+value_mod = value
 value = 'test'
 def test_f():
     assert (value, mod.build()) == ('test', 'module')
",
    );
}

#[test]
fn a_name_of_a_nested_test_class_is_found() {
    check(
        "
--- test_a.py
+class TestOuter:
+    class TestInner:
+        def test_one(self):
*            assert True
+        def test_two(self):
-            assert False
+    def test_three(self):
-        assert False
",
        "test_a.py::TestOuter::TestInner::test_one",
        "
 class TestOuter:
     class TestInner:
         def test_one(self):
             assert True
",
    );
}

#[test]
fn a_test_keeps_what_it_defines() {
    check(
        "
--- test_a.py
+def test_f():
*    class Module:
*        app = 1
*        def create(self):
-            return 2
*    def unused():
-        return 3
*    assert Module.app == 1
",
        "test_a.py::test_f",
        "
 def test_f():
     class Module:
         app = 1
         def create(self):
             return 2
     def unused():
         return 3
     assert Module.app == 1
",
    );
}

#[test]
fn what_helps_tests_keeps_what_was_evaluated() {
    let files = "
--- pkg/__init__.py
--- pkg/testing.py
+def none_of(names, strict):
*    for name in names:
-        raise AssertionError(name)
*    if strict:
-        raise AssertionError(strict)
*    names = [*names]
-    raise AssertionError
--- test_a.py
+from pkg.testing import none_of
+def test_f():
*    none_of([], False)
";
    check(
        &format!("--- trace\nhelps pkg/testing.py{files}"),
        "test_a.py::test_f",
        "
 def none_of(names, strict):
     for name in names:
         raise AssertionError(name)
     if strict:
         raise AssertionError(strict)
     names = [*names]
 def test_f():
     none_of([], False)
",
    );
    check(
        files,
        "test_a.py::test_f",
        "
 def none_of(names, strict):
     names = [*names]
 def test_f():
     none_of([], False)
",
    );
}
