"""Counts the colours of an image."""

import collections
import csv

import png

width, height, rows, info = png.Reader("inputs/map.png").asRGB8()
counts = collections.Counter()
for row in rows:
    counts.update("#{:02x}{:02x}{:02x}".format(*cell) for cell in zip(row[0::3], row[1::3], row[2::3]))
with open("outputs/output.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["colour", "pixels"])
    writer.writerows(sorted(counts.items(), key=lambda one: (-one[1], one[0])))
