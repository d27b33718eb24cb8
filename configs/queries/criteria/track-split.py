"""The hike is in three parts, cut at its long breaks."""

from answer import inputs, outputs, say
from gpx_points import points

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
