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


def test_lines_stay_where_they_are(tmp_path: Path) -> None:
    tree = ast.parse(FILE)
    before = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    tolerant.tolerate(tree)
    assert [node.lineno for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)] == before
    compile(tree, "test_file.py", "exec")
