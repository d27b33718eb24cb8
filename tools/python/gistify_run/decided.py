"""Tells the values that decided a failure: the operands of the `assert` that failed, or of the conditions around the
statement that raised.

Without them a smaller program passes for the same failure although it computes something else: an exception often has
no message, or the same one for each wrong value.
"""

from __future__ import annotations

import ast
import json
import os
import select
import sys
import types
from collections.abc import Iterator
from typing import Any

# Seconds that the expressions may take.
_SECONDS = 2.0
_MAX_TEXT = 500
_MAX_ITEMS = 100
_MAX_DEPTH = 4
_PLAIN = (int, float, complex, bool, str, bytes, type(None))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

# An expression and its value.
Value = tuple[str, str]


def decide(traceback: types.TracebackType | None, root: str) -> list[Value]:
    """Returns expressions and their values for the innermost frame whose file is below `root`; nothing where no
    condition decided. A copy of this process evaluates them, so that this one has none of their side effects."""
    frame, line = None, 0
    while traceback is not None:
        path = os.path.realpath(os.path.join(root, traceback.tb_frame.f_code.co_filename))
        if path.startswith(root + os.sep):
            frame, line = traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next
    threading = sys.modules.get("threading")
    if frame is None or threading is not None and threading.active_count() > 1:
        return []
    path = os.path.realpath(os.path.join(root, frame.f_code.co_filename))
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
    expressions = list(conditions(tree, line))
    return _in_a_copy(expressions, frame) if expressions else []


def conditions(tree: ast.Module, line: int) -> Iterator[ast.expr]:
    """Yields the operands of the conditions that decide about a line.

    >>> tree = ast.parse("if a == b[0] and not c(d):\\n    raise E('x')")
    >>> [ast.unparse(one) for one in conditions(tree, 2)]
    ['a', 'b[0]', 'd']
    """
    body: list[ast.stmt] = tree.body
    tests: list[ast.expr] = []
    while True:
        around = [one for one in body if one.lineno <= line <= (one.end_lineno or one.lineno)]
        if not around:
            break
        statement = around[-1]
        if isinstance(statement, _FUNCTIONS):
            tests = []
        if isinstance(statement, ast.Assert):
            tests.append(statement.test)
        if isinstance(statement, (ast.If, ast.While)):
            tests.append(statement.test)
        body = [one for one in _inner(statement)]
    for test in tests:
        yield from _operands(test)


def _inner(statement: ast.stmt) -> Iterator[ast.stmt]:
    for name in ("body", "orelse", "finalbody"):
        yield from getattr(statement, name, [])
    for part in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
        yield from part.body


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _operands(value)
    elif isinstance(test, ast.UnaryOp):
        yield from _operands(test.operand)
    elif isinstance(test, ast.Compare):
        yield from (one for one in [test.left, *test.comparators] if not isinstance(one, ast.Constant))
    elif isinstance(test, ast.Call):
        if isinstance(test.func, ast.Attribute):
            yield test.func.value
        yield from (one for one in test.args if not isinstance(one, (ast.Constant, ast.Starred)))
    elif not isinstance(test, ast.Constant):
        yield test


def _in_a_copy(expressions: list[ast.expr], frame: types.FrameType) -> list[Value]:
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reads)
            _close_streams()
            text = json.dumps([[ast.unparse(one), _value(one, frame)] for one in expressions])
            os.write(writes, text.encode("ascii")[:65536])
        finally:
            os._exit(0)
    os.close(writes)
    data = b""
    try:
        while select.select([reads], [], [], _SECONDS)[0]:
            more = os.read(reads, 65536)
            if not more:
                break
            data += more
    finally:
        os.close(reads)
        try:
            os.kill(child, 9)
            os.waitpid(child, 0)
        except OSError:
            pass
    try:
        values: list[list[str]] = json.loads(data)
    except ValueError:
        return [("", "no value")]
    return [(text, value) for text, value in values]


def _close_streams() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _value(expression: ast.expr, frame: types.FrameType) -> str:
    try:
        code = compile(ast.Expression(expression), "<condition>", "eval")
        return describe(eval(code, frame.f_globals, frame.f_locals))
    except BaseException as error:
        return f"<{type(error).__name__}>"


def describe(value: Any) -> str:
    """Returns the text of a plain value; of another one its type.

    >>> describe([1, {"a": None}]), describe(object())
    ("[1, {'a': None}]", '<object>')
    """
    if _is_plain(value, 0):
        return repr(value)[:_MAX_TEXT]
    return f"<{type(value).__qualname__}>"


def _is_plain(value: Any, depth: int) -> bool:
    kind = type(value)
    if kind in _PLAIN:
        return True
    items: list[Any] | tuple[Any, ...]
    if kind is dict:
        items = [*value.keys(), *value.values()]
    elif kind in (list, tuple):
        items = value
    else:
        # The order of a set may vary from process to process.
        return False
    return depth < _MAX_DEPTH and len(items) <= _MAX_ITEMS and all(_is_plain(one, depth + 1) for one in items)
