"""Counts calls of a repository's functions from the first test on, as a plugin of pytest.

It writes one JSON object, files to numbers of calls. Comprehensions, class bodies and modules are no
calls; a generator counts once, however often it goes on.
"""

import dis
import json
import os
import sys
import threading

import pytest

_ROOT = os.path.join(os.environ["GISTIFY_CALLS_ROOT"], "")
_OUTPUT = os.environ["GISTIFY_CALLS_OUTPUT"]
_OPTIMIZED = 0x1
_RESUMED = 0x20 | 0x80 | 0x200
_counts = {}
_starts = {}


def _start(code):
    """The largest offset at which a frame of this code begins; below 3.11 that is before its first."""
    if code not in _starts:
        begins = [
            instruction.offset
            for instruction in dis.get_instructions(code)
            if instruction.opname == "RESUME" and not instruction.arg & 3
        ]
        _starts[code] = begins[0] if begins else -1
    return _starts[code]


def _profile(frame, event, _):
    if event != "call":
        return
    code = frame.f_code
    path = code.co_filename
    if not path.startswith(_ROOT) or not code.co_flags & _OPTIMIZED:
        return
    if code.co_name.startswith("<") and code.co_name != "<lambda>":
        return
    if code.co_flags & _RESUMED and frame.f_lasti > _start(code):
        return
    _counts[path] = _counts.get(path, 0) + 1


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    threading.setprofile(_profile)
    sys.setprofile(_profile)
    yield
    sys.setprofile(None)
    threading.setprofile(None)
    counts = {os.path.relpath(path, _ROOT): count for path, count in _counts.items()}
    with open(_OUTPUT, "w", encoding="utf-8") as output:
        json.dump(counts, output)
