//! Hooks of conftests and plugins, which are none in a test module.

use super::harness::check;

const FILES: &str = r#"
--- pkg/__init__.py
--- pkg/plugin.py
+import pytest
+WRAPPED = []
+def pytest_configure(config):
+    WRAPPED.append(config)
+def pytest_collect_file(file_path):
+    return None
+@pytest.hookimpl(tryfirst=True)
+def pytest_pyfunc_call(pyfuncitem):
*    WRAPPED.append(pyfuncitem)
+def pytest_runtest_setup(item):
-    WRAPPED.clear()
--- conftest.py
+pytest_plugins = ("pytester",)
+def pytest_runtest_setup(item):
*    item.seen = True
+def pytest_generate_tests(metafunc):
-    metafunc.parametrize("a", [1])
--- test_a.py
+def test_f():
*    assert True
"#;

#[test]
fn hooks_are_left_out_where_nothing_asks_for_them() {
    check(
        FILES,
        "test_a.py::test_f",
        r#"
 pytest_plugins = ("pytester",)
 def test_f():
     assert True
 import pytest
 WRAPPED = []
 @pytest.hookimpl(tryfirst=True)
 def pytest_pyfunc_call(pyfuncitem):
     WRAPPED.append(pyfuncitem)
"#,
    );
}

#[test]
fn hooks_that_ran_are_held_by_objects_in_the_place_of_their_modules() {
    let files = format!("{FILES}--- adjustments\n{{\"hooks\": true}}\n");
    check(
        &files,
        "test_a.py::test_f",
        r#"
+import sys
+import types
+sys.modules["pkg"] = sys.modules.get(__name__)
+conftest = sys.modules["conftest"] = types.ModuleType("conftest")
+plugin = sys.modules["pkg.plugin"] = types.ModuleType("pkg.plugin")
 pytest_plugins = ("pytester",)
 def pytest_runtest_setup(item):
     item.seen = True
+vars(conftest).update(__loader__=__loader__, pytest_runtest_setup=pytest_runtest_setup)
 def test_f():
     assert True
 import pytest
 WRAPPED = []
 def pytest_configure(config):
     WRAPPED.append(config)
 @pytest.hookimpl(tryfirst=True)
 def pytest_pyfunc_call(pyfuncitem):
     WRAPPED.append(pyfuncitem)
+vars(plugin).update(__loader__=__loader__, pytest_configure=pytest_configure, pytest_pyfunc_call=pytest_pyfunc_call)
+pytest_plugins = ["pytester", "conftest", "pkg.plugin"]
"#,
    );
}

#[test]
fn a_hook_whose_time_has_passed_is_the_next_that_is_told_of_the_session() {
    let files = |more: &str| {
        format!(
            r#"
--- pkg/__init__.py
--- conftest.py
+import os
+def pytest_sessionstart(session):
+    os.environ['KEY'] = 'Y'
{more}--- test_a.py
+def test_f():
*    assert True
--- adjustments
{{"hooks": true}}
"#
        )
    };
    check(
        &files(""),
        "test_a.py::test_f",
        r#"
+import sys
+import types
+conftest = sys.modules["conftest"] = types.ModuleType("conftest")
 import os
 def pytest_sessionstart(session):
     os.environ['KEY'] = 'Y'
+vars(conftest).update(__loader__=__loader__, pytest_collection_finish=pytest_sessionstart)
 def test_f():
     assert True
+pytest_plugins = ["conftest"]
"#,
    );
    // Another hook has that place.
    check(
        &files("+def pytest_collection_finish(session):\n+    session.seen = True\n"),
        "test_a.py::test_f",
        r#"
+import sys
+import types
+conftest = sys.modules["conftest"] = types.ModuleType("conftest")
 def pytest_collection_finish(session):
     session.seen = True
+vars(conftest).update(__loader__=__loader__, pytest_collection_finish=pytest_collection_finish)
 def test_f():
     assert True
+pytest_plugins = ["conftest"]
"#,
    );
}

#[test]
fn a_fixture_that_another_of_its_name_asks_for_is_held_as_a_hook_is() {
    check(
        r#"
--- pkg/__init__.py
--- tests/conftest.py
+import pytest
+@pytest.fixture
+def app():
*    return ['plain']
+@pytest.fixture
+def client(app):
*    return app
--- tests/test_app.py
+import pytest
+@pytest.fixture
+def app(app):
*    return [*app, 'more']
+def test_app(app, client):
*    assert app is client
--- trace
fixture app tests/conftest.py 2
fixture app tests/test_app.py 2
fixture client tests/conftest.py 5
"#,
        "tests/test_app.py::test_app",
        r#"
+import sys
+import types
+sys.modules["tests"] = sys.modules.get(__name__)
+conftest = sys.modules["tests.conftest"] = types.ModuleType("tests.conftest")
 import pytest
 @pytest.fixture
 def app():
     return ['plain']
+vars(conftest).update(__loader__=__loader__, app=app)
 @pytest.fixture
 def client(app):
     return app
 @pytest.fixture
 def app(app):
     return [*app, 'more']
 def test_app(app, client):
     assert app is client
+pytest_plugins = ["tests.conftest"]
"#,
    );
}

#[test]
fn a_fixture_whose_function_has_another_name_is_there_by_its_own() {
    check(
        r#"
--- pkg/__init__.py
--- tests/conftest.py
+import pytest
+def made():
*    return 'made'
+app = pytest.fixture()(made)
--- tests/test_app.py
+def test_app(app):
*    assert app == 'made'
--- trace
fixture app tests/conftest.py 2
"#,
        "tests/test_app.py::test_app",
        r#"
 import pytest
 def made():
     return 'made'
 app = pytest.fixture()(made)
 def test_app(app):
     assert app == 'made'
"#,
    );
}
