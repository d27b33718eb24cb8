"""Reads tracks of GPX files without a package."""

import datetime
import math
from xml.etree import ElementTree


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
