"""Tells the values that decided a failure: the operands of the `assert` that failed, or of the conditions around the
statement that raised.

Without them a smaller program passes for the same failure although it computes something else: an exception often has
no message, or the same one for each wrong value.

A copy of the process evaluates the expressions, so that the process has none of their side effects. Functions that the
program may replace are bound when this module is loaded, which is before the program starts.
"""

from __future__ import annotations

import ast
import json
import os
import resource
import select
import sys
import threading
import types
from collections.abc import Iterator
from time import monotonic as _monotonic
from typing import Any, NoReturn

# Seconds of the processor that the expressions may take, and seconds until the copy is ended that waits for something.
_CPU_SECONDS = 2
_SECONDS = 20.0
_MAX_TEXT = 500
_MAX_ITEMS = 100
_MAX_DEPTH = 4
_MAX_DATA = 1 << 20
_BRACKETS: dict[type, str] = {list: "[%s]", tuple: "(%s)", dict: "{%s}", set: "{%s}", frozenset: "frozenset{%s}"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

_open, _read, _write, _close, _pipe, _exit = os.open, os.read, os.write, os.close, os.pipe, os._exit
_fork, _kill, _wait, _select, _dup = os.fork, os.kill, os.waitpid, select.select, os.dup2
_close_range, _realpath, _join, _separator = os.closerange, os.path.realpath, os.path.join, os.sep
_limit, _cpu_limit = resource.setrlimit, resource.RLIMIT_CPU
_dumps, _loads, _parse, _compile, _open_file, _eval, _repr = (
    json.dumps, json.loads, ast.parse, compile, open, eval, repr,
)  # fmt: skip
_add_hook, _count_threads, _modules = sys.addaudithook, threading.active_count, sys.modules

# Events of a change outside of the process.
_CHANGES = frozenset(
    "os.chmod os.chown os.kill os.killpg os.link os.mkdir os.posix_spawn os.remove os.rename os.rmdir os.startfile "
    "os.symlink os.system os.truncate os.utime os.exec os.fork os.forkpty socket.connect socket.sendto socket.sendmsg "
    "socket.bind subprocess.Popen pty.spawn signal.pthread_kill sqlite3.connect".split()
)


def decide(traceback: types.TracebackType | None, root: str) -> list[str]:
    """Returns the values of the conditions that decided a failure, in the innermost frame whose file is below `root`.
    The list is empty where no condition decided, and where no copy of the process can evaluate them."""
    frame, line = None, 0
    while traceback is not None:
        path = _realpath(_join(root, traceback.tb_frame.f_code.co_filename))
        if path.startswith(root + _separator):
            frame, line = traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next
    # A fork copies no other thread, and locks that one holds stay locked.
    if frame is None or line is None or _count_threads() > 1:
        return []
    path = _realpath(_join(root, frame.f_code.co_filename))
    try:
        with _open_file(path, "rb") as file:
            source = file.read()
        code = frame.f_code
        function = function_tree(source, code.co_name, code.co_firstlineno, line)
        if function is not None and hasattr(code, "co_qualname"):
            expressions = list(conditions(function, line - code.co_firstlineno + 2, class_around(code.co_qualname)))
        else:
            expressions = list(conditions(_parse(source), line))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
    return _evaluate_in_copy(expressions, frame, root) if expressions else []


def function_tree(source: bytes, name: str, first: int, line: int) -> ast.Module | None:
    """Returns a tree of the function alone, after an `if` on line 1. The function begins with the line `first` and has
    `line` in it. Returns None if the whole file must be parsed, which takes longer than a short run.

    >>> tree = function_tree(b"x = 1\\ndef f(a):\\n    assert a\\nf(0)", "f", 2, 3)
    >>> ast.unparse(tree).splitlines()[-2:]
    ['def f(a):', '    assert a']
    """
    lines = source.split(b"\n")
    # A declared encoding is one of the whole file.
    if name.startswith("<") or b"coding" in b"".join(lines[:2]):
        return None
    # Code may name lines that its file does not have.
    if not 0 < first <= line <= len(lines):
        return None
    indent = _indent(lines[first - 1])
    ends = (at for at in range(line, len(lines)) if lines[at].strip() and _indent(lines[at]) <= indent)
    body = b"\n".join(lines[first - 1 : next(ends, len(lines))])
    # The `if` gives a method its indentation; a function of a file gets one of its own.
    around = b"if 1:\n" if indent else b"if 1: pass\n"
    try:
        return _parse(around + body)
    except SyntaxError:
        return None


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def class_around(qualified: str) -> str:
    """Returns the innermost class around a function by its qualified name; nothing for one in no class.

    >>> class_around("Box.open"), class_around("Box.open.<locals>.key"), class_around("main.<locals>.key")
    ('Box', 'Box', '')
    """
    parts = qualified.split(".")
    around = [one for one, inner in zip(parts, parts[1:]) if "<locals>" not in (one, inner)]
    return around[-1] if around else ""


def conditions(tree: ast.Module, line: int, owner: str = "") -> Iterator[ast.expr]:
    """Yields the operands of the conditions that decide about a line, with private names as the compiler writes them.
    `owner` is the class around the tree.

    >>> tree = ast.parse("if a == b[0] and not c(d):\\n    raise E('x')")
    >>> [ast.unparse(one) for one in conditions(tree, 2)]
    ['a', 'b[0]', 'c(d)', 'd']
    """
    body: list[ast.stmt] = tree.body
    tests: list[ast.expr] = []
    while True:
        around = [one for one in body if one.lineno <= line <= (one.end_lineno or one.lineno)]
        if not around:
            break
        statement = around[-1]
        if isinstance(statement, ast.ClassDef):
            tests, owner = [], statement.name
        if isinstance(statement, _FUNCTIONS):
            tests = []
        if isinstance(statement, (ast.Assert, ast.If, ast.While)):
            tests.append(statement.test)
        body = list(_inner(statement))
    for test in tests:
        for operand in _operands(test):
            yield _Mangled(owner).visit(operand)


class _Mangled(ast.NodeTransformer):
    """The private names of a class as its methods use them.

    >>> ast.unparse(_Mangled("_Box").visit(ast.parse("self.__top + __x + y.__len__")))
    'self._Box__top + _Box__x + y.__len__'
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner.lstrip("_")

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._mangle(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        node.attr = self._mangle(node.attr)
        self.generic_visit(node)
        return node

    def _mangle(self, name: str) -> str:
        is_private = self.owner and name.startswith("__") and not name.endswith("__")
        return f"_{self.owner}{name}" if is_private else name


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
        yield test
        if isinstance(test.func, ast.Attribute):
            yield test.func.value
        yield from (one for one in test.args if not isinstance(one, (ast.Constant, ast.Starred)))
    elif not isinstance(test, ast.Constant):
        yield test


def _evaluate_in_copy(expressions: list[ast.expr], frame: types.FrameType, root: str) -> list[str]:
    reads, writes = _pipe()
    child = _fork()
    if child == 0:
        _answer(expressions, frame, root, writes)
    _close(writes)
    data, last = b"", _monotonic() + _SECONDS
    try:
        while len(data) <= _MAX_DATA and _select([reads], [], [], max(0.0, last - _monotonic()))[0]:
            more = _read(reads, 65536)
            if not more:
                break
            data += more
    finally:
        _close(reads)
        try:
            _kill(child, 9)
            _wait(child, 0)
        except OSError:
            pass
    try:
        values: list[str] = _loads(data)
    except ValueError:
        return []
    return values


def _answer(expressions: list[ast.expr], frame: types.FrameType, root: str, writes: int) -> NoReturn:
    """Writes the values and ends this process, the copy, in which nothing is left that reaches others."""
    try:
        sys.settrace(None)
        sys.setprofile(None)
        _limit(_cpu_limit, (_CPU_SECONDS, _CPU_SECONDS))
        nothing = _open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            _dup(nothing, stream)
        _close_range(3, writes)
        _close_range(writes + 1, 65536)
        sys.stdout, sys.stderr = _open_file(1, "w"), _open_file(2, "w")
        _add_hook(_refuse_change)
        values = [_value(one, frame, root) for one in expressions]
        data = _dumps(values).encode("ascii")
        while data:
            data = data[_write(writes, data) :]
    finally:
        _exit(0)


def _refuse_change(event: str, args: Any) -> None:
    is_written = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if event in _CHANGES or is_written:
        raise PermissionError("the copy changes nothing")


def _value(expression: ast.expr, frame: types.FrameType, root: str) -> str:
    try:
        code = _compile(ast.Expression(expression), "<condition>", "eval")
        # In one scope, comprehensions see the local names.
        return describe(_eval(code, {**frame.f_globals, **frame.f_locals}), root)
    except BaseException as error:
        return f"<{type(error).__name__}>"


def describe(value: Any, root: str, depth: int = 0) -> str:
    """Returns the text of a value whose `__repr__` is from outside of `root`; of another one the name of its class,
    since a smaller program may leave out how it is shown.

    >>> describe([1, {2, 3}, {"a": None}], "/nowhere"), describe(describe, "/nowhere")
    ("[1, {2, 3}, {'a': None}]", '<function>')
    """
    kind = type(value)
    if kind in _BRACKETS:
        if depth >= _MAX_DEPTH or len(value) > _MAX_ITEMS:
            return f"<{kind.__name__} of {len(value)}>"
        texts = [describe(one, root, depth + 1) for one in value]
        if kind is dict:
            texts = [f"{text}: {describe(one, root, depth + 1)}" for text, one in zip(texts, value.values())]
        # The order of a set varies from process to process.
        joined = ", ".join(sorted(texts) if kind in (set, frozenset) else texts)
        return _BRACKETS[kind] % joined
    if isinstance(value, type):
        return f"<class {value.__qualname__}>" if _is_below(value, root) else _repr(value)[:_MAX_TEXT]
    definer = next(one for one in kind.__mro__ if "__repr__" in vars(one))
    if definer is not object and not _is_below(definer, root):
        text = _repr(value)[:_MAX_TEXT]
        if " at 0x" not in text:
            return text
    return f"<{kind.__qualname__}>"


def _is_below(kind: type, root: str) -> bool:
    if kind.__module__ == "__main__":
        return True
    file = getattr(_modules.get(kind.__module__), "__file__", None)
    return isinstance(file, str) and _realpath(_join(root, file)).startswith(root + _separator)
