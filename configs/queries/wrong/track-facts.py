"""Writes the facts of a track."""

import json

import gpxpy

with open("inputs/ride.gpx") as file:
    track = gpxpy.parse(file).tracks[0]
heights = track.get_elevation_extremes()
told = {
    "points": track.get_points_no(),
    "length_m": round(track.length_2d() / 1000, 3),
    "duration_s": track.get_duration(),
    "lowest_m": heights.minimum,
    "highest_m": heights.maximum,
}
with open("outputs/output.json", "w") as file:
    json.dump(told, file, indent=1)
