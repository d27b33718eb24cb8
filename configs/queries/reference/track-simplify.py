"""Simplifies a track."""

import gpxpy

with open("inputs/river.gpx") as file:
    gpx = gpxpy.parse(file)
gpx.simplify(10)
with open("outputs/output.gpx", "w") as file:
    file.write(gpx.to_xml())
