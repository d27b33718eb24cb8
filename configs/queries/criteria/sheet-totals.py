"""The totals are those of the visible sheets."""

import json

from answer import outputs, say

told = json.loads((outputs / "output.json").read_text())
expected = {"bolt": 22, "nut": 10, "hinge": 3, "washer": 9}
if not isinstance(told, dict):
    say(True, False, "it is no object")
wrong = [name for name in expected if told.get(name) != expected[name]] + [
    name for name in told if name not in expected
]
say(True, not wrong, f"wrong: {wrong}" if wrong else "", right=len(expected) - len(wrong))
