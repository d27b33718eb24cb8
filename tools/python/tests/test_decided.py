"""The values that decide a failure."""

from __future__ import annotations

import ast
import doctest
import os
import sys
import types
from pathlib import Path

import pytest

from gistify_run import decided

SOURCE = """
from decimal import Decimal
from enum import Enum

calls = []


class Color(Enum):
    RED = 1
    BLUE = 2


class Point:
    def __init__(self, x):
        self.__x = x

    def __repr__(self):
        return "shown"

    def check(self, limit):
        if self.__x > limit:
            raise ValueError


def total(values):
    calls.append(values)
    print("side effect")
    return sum(values)


def compare(values, limit, names):
    found = total(values)
    if names:
        if not found == limit or names["a"].startswith(0, values):
            raise ValueError("wrong")
    assert total(values) < limit and isinstance(values, list), "wrong"


def scopes(values, limit):
    assert all(one < limit for one in values)


def write(path):
    with open(path, "w") as file:
        file.write("x")


"""


def test_examples_of_the_documentation() -> None:
    assert doctest.testmod(decided).failed == 0


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("compare([1, 2], 2, {})", ["3", "2", "True", "[1, 2]", "<class 'list'>"]),
        ("compare([1], 2, {'a': 'b'})", ["{'a': 'b'}", "1", "2", "<TypeError>", "'b'", "[1]"]),
        ("raise ValueError", []),
        ("assert calls is total", ["[]", "<function>"]),
        ("assert {}.missing or calls", ["<AttributeError>", "[]"]),
        ("assert calls or missing", ["[]", "<NameError>"]),
        ("assert Color.RED is Color.BLUE", ["<Color.RED: 1>", "<Color.BLUE: 2>"]),
        ("assert Decimal('1.5') == Point(1)", ["Decimal('1.5')", "<Point>"]),
        ("assert Point == {Point(1): {2, 3}}", ["<class Point>", "{<Point>: {2, 3}}"]),
        ("assert [Point(1)] == list(range(101))", ["[<Point>]", "<list of 101>"]),
        ("Point(2).check(1)", ["2", "1"]),
        ("scopes([1, 5], 3)", ["False", "<generator>"]),
        ("assert write('beside') or calls", ["<PermissionError>", "[]"]),
    ],
)
def test_values_of_the_innermost_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], call: str, expected: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mod.py"
    path.write_text(SOURCE + call)
    module = types.ModuleType("mod")
    module.__file__ = str(path)
    monkeypatch.setitem(sys.modules, "mod", module)
    with pytest.raises(Exception) as raised:
        exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    (tmp_path / "beside").unlink(missing_ok=True)
    before = len(module.__dict__["calls"])
    capfd.readouterr()
    values = decided.decide(raised.value.__traceback__, os.path.realpath(tmp_path))
    assert len(module.__dict__["calls"]) == before, "another process evaluates"
    assert capfd.readouterr().out == "", "nothing is printed"
    assert not (tmp_path / "beside").exists(), "nothing is written"
    assert values == expected


def code_objects(code):
    """Yields a code object and those in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_objects(constant)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code objects have no qualified names before Python 3.11")
def test_a_function_alone_has_the_conditions_of_the_whole_file():
    source = Path(decided.__file__).read_text() + SOURCE
    whole = decided._parse(source)
    compared = 0
    for code in code_objects(compile(source, "file", "exec")):
        for line in {line for _, _, line in code.co_lines() if line and line >= code.co_firstlineno}:
            tree = decided.function_tree(source.encode(), code.co_name, code.co_firstlineno, line)
            if tree is None:
                assert code.co_name.startswith("<"), code.co_name
                continue
            around = decided.class_around(code.co_qualname)
            found = decided.conditions(tree, line - code.co_firstlineno + 2, around)
            expected = decided.conditions(whole, line)
            assert [ast.unparse(one) for one in found] == [ast.unparse(one) for one in expected], line
            compared += 1
    assert compared > 100


def test_code_with_other_lines_than_its_file_is_parsed_whole():
    assert decided.function_tree(b"x = 1\n", "f", 51, 52) is None
    assert decided.function_tree(b"def f(a):\r    assert a\r", "f", 1, 2) is None
