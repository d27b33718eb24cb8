"""Writes down what asserted expressions come to, as expressions that make the values again, as a plugin of pytest.

The text of a value is its repr where that evaluates to an equal value, else its pickle where that loads to one. Values
that neither can tell are left out.
"""

import ast
import json
import os
import pickle

_OUTPUT = os.environ["GISTIFY_ASSERTED_OUTPUT"]
_notes = []


def _equal(left, right):
    return type(left) is type(right) and bool(left == right)


def _text(value):
    try:
        text = repr(value)
        if _equal(ast.literal_eval(text), value):
            return text
    except Exception:
        pass
    try:
        data = pickle.dumps(value, protocol=4)
        if _equal(pickle.loads(data), value):
            return f"pickle.loads({data!r})"
    except Exception:
        pass
    return ""


def note(test, assertion, value):
    _notes.append([test, assertion, _text(value)])


def pytest_sessionfinish(session):
    with open(_OUTPUT, "w", encoding="utf-8") as output:
        json.dump(_notes, output)
