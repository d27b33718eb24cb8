"""The track has fewer points, all of them its own, and none of it is left by far."""

import math

from answer import inputs, outputs, say
from gpx_points import points

before, after = points(inputs / "river.gpx"), points(outputs / "output.gpx")
key = {(round(point[0], 5), round(point[1], 5)): at for at, point in enumerate(before)}
places = [key.get((round(point[0], 5), round(point[1], 5))) for point in after]
if None in places or places != sorted(set(places)):
    say(True, False, "it has points that are none of the track's, or in another order")
if not places or places[0] != 0 or places[-1] != len(before) - 1:
    say(True, False, "an end is missing")


def flat(point):
    scale = math.radians(1) * 6_371_000
    return (point[1] - before[0][1]) * math.cos(math.radians(before[0][0])) * scale, (
        point[0] - before[0][0]
    ) * scale


def distance(point, one, other):
    (x, y), (x1, y1), (x2, y2) = flat(point), flat(one), flat(other)
    size = (x2 - x1) ** 2 + (y2 - y1) ** 2
    share = max(0.0, min(1.0, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / size)) if size else 0.0
    return math.hypot(x - x1 - share * (x2 - x1), y - y1 - share * (y2 - y1))


worst = max(
    distance(before[at], before[first], before[last])
    for first, last in zip(places, places[1:])
    for at in range(first, last + 1)
)
passed = worst <= 10.5 and len(after) <= len(before) // 3
reason = (
    "" if passed else f"{len(after)} of {len(before)} points are left, the farthest is {worst:.1f} m away"
)
say(True, passed, reason, points=len(after), worst=worst)
