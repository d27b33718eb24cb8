"""The facts of the ride are those of its points."""

import datetime
import json
import math
import pathlib
import sys
from xml.etree import ElementTree

inputs, outputs = map(pathlib.Path, sys.argv[1:])


def say(completed, passed, reason="", **metrics):
    print(json.dumps({"completed": completed, "passed": passed, "reason": reason, "metrics": metrics}))
    sys.exit()


def points(path):
    """The points of a track: latitude, longitude, height and time."""
    found = []
    for point in ElementTree.parse(path).getroot().iter():
        if point.tag.rsplit("}", 1)[-1] == "trkpt":
            parts = {child.tag.rsplit("}", 1)[-1]: child.text for child in point}
            time = (
                datetime.datetime.fromisoformat(parts["time"].replace("Z", "+00:00"))
                if "time" in parts
                else None
            )
            found.append(
                (float(point.get("lat")), float(point.get("lon")), float(parts.get("ele", "nan")), time)
            )
    return found


def metres(one, other):
    """The distance of two points on a sphere."""
    lat1, lon1, lat2, lon2 = map(math.radians, (*one[:2], *other[:2]))
    inner = (
        math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    )
    return 2 * 6_371_000 * math.asin(math.sqrt(inner))


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
