"""Lets the original test files be loaded where a gist lacks what other tests of theirs need.

A gist has what one command needs; its test file may also import, decorate and build what only other tests use. Each
statement that runs while a test file is loaded may fail without ending that. A name that it would have bound stays
unbound, so that a test of the command that needs it fails. Statements inside functions are left alone, but for hooks of
pytest, which run for all tests: a statement of a hook may miss a name, an attribute or a method.
"""

from __future__ import annotations

import ast
import importlib.machinery
import os
import sys
import types
from collections.abc import Iterable, Sequence
from typing import Any, Callable

LOST = "@gistify_lost"
# The errors that a statement may end with: any while a file is loaded, those of what is missing in a hook.
_ANY, _MISSING = "@gistify_error", "@gistify_missing"
# How a test file says that its tests are skipped, or that nothing is to run; pytest's skips are no `Exception`.
_ENDINGS = ("SkipTest", "Exit", "UsageError")


def tolerate(tree: ast.Module) -> None:
    """Guards each statement of a module and of its classes.

    >>> tree = ast.parse("from pkg import a, b")
    >>> tolerate(tree)
    >>> [type(statement).__name__ for statement in tree.body]
    ['Try', 'Try']
    """
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name.startswith("pytest_"):
            statement.body = _block(statement.body, _MISSING)
    tree.body = _block(tree.body, _ANY)
    ast.fix_missing_locations(tree)


def _block(body: list[ast.stmt], error: str) -> list[ast.stmt]:
    guarded: list[ast.stmt] = []
    for at, statement in enumerate(body):
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if (
            at == 0
            and is_text
            or is_future
            or isinstance(statement, (ast.Pass, ast.Global))
            or _waits(statement, error)
        ):
            guarded.append(statement)
        elif isinstance(statement, ast.ImportFrom):
            guarded.extend(_guard(one, error) for one in _each_name(statement))
        else:
            if isinstance(statement, (ast.ClassDef, ast.If, ast.With)):
                statement.body = _block(statement.body, error)
            if isinstance(statement, ast.If):
                statement.orelse = _block(statement.orelse, error)
            guarded.append(_guard(statement, error))
    return guarded


def _each_name(statement: ast.ImportFrom) -> Iterable[ast.stmt]:
    for alias in statement.names:
        one = ast.ImportFrom(module=statement.module, names=[alias], level=statement.level)
        yield ast.copy_location(one, statement)


def _waits(statement: ast.stmt, error: str) -> bool:
    """Returns true if errors of a test come into a statement of a hook, as they do at `yield`."""
    waits = (ast.Yield, ast.YieldFrom)
    return error == _MISSING and any(isinstance(node, waits) for node in ast.walk(statement))


def _guard(statement: ast.stmt, error: str) -> ast.stmt:
    handler = ast.ExceptHandler(
        type=ast.Name(id=error, ctx=ast.Load()),
        name=None,
        body=[ast.Expr(ast.Call(func=ast.Name(id=LOST, ctx=ast.Load()), args=[], keywords=[]))],
    )
    guard = ast.Try(body=[statement], handlers=[handler], orelse=[], finalbody=[])
    # The first line of a decorated definition is its decorator's.
    decorators = getattr(statement, "decorator_list", [])
    place = decorators[0] if decorators else statement
    ast.copy_location(guard, place)
    ast.copy_location(handler, place)
    for node in ast.walk(handler):
        ast.copy_location(node, place)
    return guard


def install(paths: Sequence[str], root: str, lost: Callable[[str, int, str], None]) -> None:
    """Guards the files at some paths below a root; `lost` hears of each statement that failed."""
    import builtins

    root = os.path.realpath(root)
    files = frozenset(os.path.join(root, path) for path in paths)

    def note() -> None:
        kind, error, _traceback = sys.exc_info()
        assert kind is not None
        if any(base.__name__ in _ENDINGS for base in kind.__mro__):
            raise
        frame = sys._getframe(1)
        lost(frame.f_code.co_filename, frame.f_lineno, f"{kind.__name__}: {error}")

    setattr(builtins, LOST, note)
    setattr(builtins, _ANY, Exception)
    # An operation whose method is missing is a `TypeError`.
    setattr(builtins, _MISSING, (NameError, ImportError, AttributeError, TypeError))
    # Behind pytest's own finder, which explains assertions.
    before = sys.meta_path.index(importlib.machinery.PathFinder)
    sys.meta_path.insert(before, _Finder(files))
    _guard_rewriting(files)


def _guard_rewriting(files: frozenset[str]) -> None:
    """pytest compiles test files itself: they are guarded as it explains their assertions."""
    try:
        from _pytest.assertion import rewrite
    except ImportError:
        return
    explain = rewrite.rewrite_asserts

    def rewrite_asserts(mod: ast.Module, source: bytes, module_path: str | None = None, *rest: Any) -> None:
        if module_path is not None and os.path.realpath(module_path) in files:
            tolerate(mod)
        explain(mod, source, module_path, *rest)

    rewrite.rewrite_asserts = rewrite_asserts  # type: ignore[assignment]


class _Loader(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> types.CodeType:  # type: ignore[override]
        tree = ast.parse(data, path)
        tolerate(tree)
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)

    def get_code(self, fullname: str) -> Any:
        return self.source_to_code(self.get_data(self.path), self.path)


class _Finder:
    """Finds guarded files where pytest does not explain their assertions."""

    def __init__(self, files: frozenset[str]) -> None:
        self._files = files

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        origin = getattr(spec, "origin", None)
        if spec is None or origin is None or os.path.realpath(origin) not in self._files:
            return None
        spec.loader = _Loader(name, origin)
        return spec
