"""Length, resolution, and the notes of each channel are right."""

import json

from answer import outputs, say

told = json.loads((outputs / "output.json").read_text())
expected = {
    "seconds": 3.5,
    "ticks_per_beat": 480,
    "notes": {"1": 6, "2": 3, "10": 6},
    "programs": {"1": 73, "2": 32},
}
wrong = []
for key, value in expected.items():
    own = told.get(key) if isinstance(told, dict) else None
    same = abs(own - value) <= 0.01 if key == "seconds" and isinstance(own, (int, float)) else own == value
    wrong += [] if same else [f"{key} is {own}"]
say(True, not wrong, "; ".join(wrong), right=len(expected) - len(wrong))
