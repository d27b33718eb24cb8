"""A test file is loaded although a gist lacks what its other tests need."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gistify_run import tolerant

pytest_plugins = ["pytester"]

FILE = '''
"""Tests."""
from __future__ import annotations
from math import pi, gone
import pytest

class TestOther:
    @pytest.mark.parametrize("x", [gone])
    def test_other(self, x): pass

    def test_own(self):
        assert pi > 4

if gone:
    other = 1

def test_lost(): gone
'''


def test_only_what_fails_is_lost(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(test_file=FILE.lstrip())
    lost = []

    class Plugin:
        def pytest_configure(self) -> None:
            tolerant.install(["test_file.py"], str(pytester.path), lambda *what: lost.append(what))

    result = pytester.inline_run("test_file.py", plugins=[Plugin()])
    _passed, _skipped, failed = result.listoutcomes()
    assert [report.nodeid for report in failed] == [
        "test_file.py::TestOther::test_own",
        "test_file.py::test_lost",
    ]
    assert "assert 3.14" in str(failed[0].longrepr)
    assert [line for _, line, _ in lost] == [3, 7, 13]


HOOKS = """
import pytest

def pytest_collection_modifyitems(items):
    "Skips and reverses."
    if count() < 2:
        for item in items:
            item.add_marker(pytest.mark.skip)
    items.reverse()

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield)
"""


def test_a_hook_may_miss_a_name(pytester: pytest.Pytester) -> None:
    # A conftest of the directory that is named would be loaded before the plugin acts.
    pytester.makepyfile(**{"own/conftest": HOOKS, "own/test_file": "def test_a(): gone\n\ndef test_b(): pass\n"})
    lost = []

    class Plugin:
        def pytest_configure(self) -> None:
            tolerant.install(["own/conftest.py"], str(pytester.path), lambda *what: lost.append(what))

    result = pytester.inline_run(".", plugins=[Plugin()])
    reports = [report for report in result.getreports("pytest_runtest_logreport") if report.when == "call"]
    assert [(report.nodeid, report.outcome) for report in reports] == [
        ("own/test_file.py::test_b", "passed"),
        ("own/test_file.py::test_a", "failed"),
    ]
    assert [(Path(file).name, line) for file, line, _ in lost] == [("conftest.py", 5)]


def test_lines_stay_where_they_are(tmp_path: Path) -> None:
    tree = ast.parse(FILE)
    before = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    tolerant.tolerate(tree)
    assert [node.lineno for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)] == before
    compile(tree, "test_file.py", "exec")
