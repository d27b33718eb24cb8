"""The values that decide a failure."""

from __future__ import annotations

import doctest
import os
from pathlib import Path
from typing import Any

import pytest

from gistify_run import decided

SOURCE = """
calls = []


def total(values):
    calls.append(values)
    return sum(values)


def compare(values, limit, names):
    found = total(values)
    if names:
        if not found == limit or names["a"].startswith(0, values):
            raise ValueError("wrong")
    assert total(values) < limit and isinstance(values, list), "wrong"


"""


def test_examples_of_the_documentation() -> None:
    assert doctest.testmod(decided).failed == 0


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("compare([1, 2], 2, {})", "total(values) 3, limit 2, values [1, 2], list <type>"),
        ("compare([1], 2, {'a': 'b'})", "names {'a': 'b'}, found 1, limit 2, names['a'] 'b', values [1]"),
        ("raise ValueError", ""),
        ("assert calls is total", "calls [], total <function>"),
        ("assert {}.missing or calls", "{}.missing <AttributeError>, calls []"),
        ("assert calls or missing", "calls [], missing <NameError>"),
    ],
)
def test_values_of_the_innermost_frame(tmp_path: Path, call: str, expected: str) -> None:
    path = tmp_path / "mod.py"
    path.write_text(SOURCE + call)
    names: dict[str, Any] = {"__name__": "mod"}
    with pytest.raises(Exception) as raised:
        exec(compile(path.read_text(), str(path), "exec"), names)
    before = len(names["calls"])
    found = decided.decide(raised.value.__traceback__, os.path.realpath(tmp_path))
    assert len(names["calls"]) == before, "another process evaluates"
    assert ", ".join(" ".join(one) for one in found) == expected
