"""The facts of the ride are those of its points."""

import json

from answer import inputs, outputs, say
from gpx_points import metres, points

ride = points(inputs / "ride.gpx")
heights = [point[2] for point in ride]
expected = {
    "points": (len(ride), 0),
    "length_m": (sum(map(metres, ride, ride[1:])), 15),
    "duration_s": ((ride[-1][3] - ride[0][3]).total_seconds(), 1),
    "lowest_m": (min(heights), 0.11),
    "highest_m": (max(heights), 0.11),
}
told = json.loads((outputs / "output.json").read_text())
wrong = []
for key, (value, room) in expected.items():
    own = told.get(key) if isinstance(told, dict) else None
    if not isinstance(own, (int, float)) or abs(own - value) > room:
        wrong.append(f"{key} is {own}, not {value:.1f}")
say(True, not wrong, "; ".join(wrong), right=len(expected) - len(wrong))
