"""Records which lines of chosen functions each case of pytest executes, as a plugin of pytest.

It reads the functions as [[path, first line], ...] and writes a line for each case as it ends: [case, [[function's index,
line, ...], ...]]. What runs outside of cases (imports, fixtures of a session) belongs to no case.
"""

import json
import os
import sys
import threading

import pytest

_ROOT = os.path.realpath(os.environ["GISTIFY_ENTERED_ROOT"])
_OUTPUT = os.environ["GISTIFY_ENTERED_OUTPUT"]
with open(os.environ["GISTIFY_ENTERED_FUNCTIONS"], encoding="utf-8") as _input:
    _WANTED = {
        (os.path.join(_ROOT, path), line): index
        for index, (path, line) in enumerate(json.load(_input))
    }
_FILES = {path for path, _ in _WANTED}
_known = {}
_lines = None


def _index(code):
    """The function that a code object is; None for all others."""
    try:
        return _known[code]
    except KeyError:
        pass
    path = code.co_filename
    found = None
    if path in _FILES or os.path.realpath(path) in _FILES:
        found = _WANTED.get((os.path.realpath(path), code.co_firstlineno))
        if code.co_name.startswith("<"):
            found = None
    _known[code] = found
    return found


def _local(index):
    def trace(frame, event, _):
        if event == "line" and _lines is not None:
            _lines.setdefault(index, set()).add(frame.f_lineno)
        return trace

    return trace


def _trace(frame, event, _):
    if event != "call" or _lines is None:
        return None
    index = _index(frame.f_code)
    if index is None:
        return None
    _lines.setdefault(index, set())
    return _local(index)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    global _lines
    _lines = {}
    threading.settrace(_trace)
    sys.settrace(_trace)
    yield
    sys.settrace(None)
    threading.settrace(None)
    if _lines:
        found = [[index, *sorted(lines)] for index, lines in sorted(_lines.items())]
        # A run that is stopped leaves what it had seen.
        with open(_OUTPUT, "a", encoding="utf-8") as output:
            output.write(json.dumps([item.nodeid, found]) + "\n")
    _lines = None
