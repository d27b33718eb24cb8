"""The finder as tests see it: imports, patches and what the import system sets."""

from __future__ import annotations

import importlib
import pickle
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from gistify_run import linked

GIST = """
import os
TABLE = {}
def make(): return helper()
def helper(): return 1
make_shapes = make
def make(): return 2
class Kind:
    pass
conf = __import__("types").ModuleType("pkg.conf")
__import__("sys").modules["pkg.late"] = conf
level = 3
vars(conf).update(level=level)
def read(): return conf.level, TABLE
def read_first(): return level
"""


def entry(path: str, names: dict[str, Any], **more: Any) -> dict[str, Any]:
    fields = {"directories": None, "internal": {}, "outside": {}, "stars": None, "object": None}
    return {"path": path, "names": names, **fields, **more}


@pytest.fixture
def finder(tmp_path: Path) -> Iterator[linked.Finder]:
    (tmp_path / "concise.py").write_text(GIST)
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "data.txt").write_text("text")
    modules = {
        "pkg": entry(
            "pkg/__init__.py",
            {"make": ["make"], "build": ["make_shapes"]},
            directories=["pkg"],
            internal={"shapes": "pkg.shapes"},
            outside={"os": ["os", None]},
            stars=["make", "gone"],
        ),
        "pkg.shapes": entry(
            "pkg/shapes.py",
            {
                "make": ["make_shapes"],
                "helper": ["helper"],
                "TABLE": ["TABLE"],
                "Kind": ["Kind"],
                "read": ["read"],
                "read_first": ["read_first"],
            },
        ),
        "pkg.conf": entry("pkg/conf.py", {"level": ["level"]}, object="conf"),
        "pkg.late": entry("pkg/late/__init__.py", {}, directories=["pkg/late"], object="conf"),
        "pkg.late.part": entry("pkg/late/part.py", {"helper": ["helper"]}),
    }
    known = set(sys.modules)
    finder = linked.install({"gist": "concise.py", "modules": modules}, str(tmp_path), [])
    yield finder
    sys.meta_path.remove(finder)  # type: ignore[arg-type]
    for name in set(sys.modules) - known:
        del sys.modules[name]


def load(name: str) -> Any:
    return importlib.import_module(name)


def test_names_of_one_gist_are_those_of_their_modules(finder: linked.Finder | None) -> None:
    assert load("pkg").make() == 2
    assert load("pkg.shapes").make() == 1 == load("pkg").build()
    with pytest.raises(ImportError):
        exec("from pkg.shapes import gone", {})
    with pytest.raises(ModuleNotFoundError):
        load("pkg.gone")
    assert load("pkg").shapes is load("pkg.shapes")
    assert load("pkg").os is importlib.import_module("os")


def test_a_patch_reaches_what_the_code_reads_and_is_undone(
    finder: linked.Finder, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes, conf = load("pkg.shapes"), load("pkg.conf")
    with monkeypatch.context() as patch:
        patch.setattr("pkg.shapes.helper", lambda: 7)
        patch.setattr(conf, "level", 9)
        assert shapes.make() == 7 and shapes.read()[0] == 9
        # Imported by value, before the patch.
        assert shapes.read_first() == 3
    with mock.patch("pkg.shapes.helper", return_value=8), mock.patch.object(conf, "level", 4):
        assert shapes.make() == 8 and shapes.read()[0] == 4
    with mock.patch.dict("pkg.shapes.TABLE", a=1):
        assert shapes.read() == (3, {"a": 1})
    vars(shapes)["helper"] = lambda: 5
    assert shapes.make() == 5
    monkeypatch.delattr(conf, "level")
    assert not hasattr(conf, "level")
    monkeypatch.undo()
    assert conf.level == 3
    monkeypatch.delattr(shapes, "helper")
    with pytest.raises(NameError):
        shapes.make()
    monkeypatch.undo()
    assert shapes.make() == 5


def test_what_looks_at_modules_finds_modules(finder: linked.Finder) -> None:
    pkg, shapes = load("pkg"), load("pkg.shapes")
    scope: dict[str, Any] = {}
    exec("from pkg import *", scope)
    assert "make" in scope and "gone" not in scope
    assert isinstance(shapes, types.ModuleType) and sys.modules["pkg.shapes"] is shapes
    assert "make" in dir(shapes) and "make" in vars(shapes)
    assert type(pickle.loads(pickle.dumps(shapes.Kind()))) is shapes.Kind
    assert pickle.loads(b"cpkg.shapes\nKind\n.") is shapes.Kind
    files = importlib.import_module("importlib.resources").files
    assert files("pkg").joinpath("data.txt").read_text() == "text"
    assert pkg.__file__.endswith("pkg/__init__.py")


def test_a_package_that_the_gist_registers_has_parts(finder: linked.Finder) -> None:
    assert load("pkg").make() == 2
    assert load("pkg.late.part").helper() == 1
    assert load("pkg.late").level == 3
