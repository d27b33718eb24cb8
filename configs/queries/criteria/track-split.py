"""The hike is in three parts, cut at its long breaks."""

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


hike, parts = points(inputs / "hike.gpx"), [[]]
for point in hike:
    if parts[-1] and (point[3] - parts[-1][-1][3]).total_seconds() > 600:
        parts.append([])
    parts[-1].append(point)
files = sorted(path.name for path in outputs.iterdir())
if files != [f"output_{number:02}.gpx" for number in range(1, len(parts) + 1)]:
    say(True, False, f"the files are {files}")


def rounded(part):
    return [(round(point[0], 5), round(point[1], 5), round(point[2], 1), point[3]) for point in part]


right = sum(rounded(points(outputs / name)) == rounded(part) for name, part in zip(files, parts))
say(True, right == len(parts), "" if right == len(parts) else f"{right} parts are right", parts=right)
