"""Each colour of the image is counted, the most frequent first."""

import collections
import csv

from answer import inputs, outputs, say
from png_pixels import pixels

_, rows = pixels(inputs / "map.png")
counts = collections.Counter("#{:02x}{:02x}{:02x}".format(*cell) for row in rows for cell in row)
expected = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
with open(outputs / "output.csv", newline="") as file:
    told = [row for row in csv.reader(file) if row]
if not told or [head.strip().lower() for head in told[0]] != ["colour", "pixels"]:
    say(True, False, f"the head is {told[:1]}")
try:
    told = [(row[0].strip().lower(), int(row[1])) for row in told[1:]]
except (ValueError, IndexError) as error:
    say(True, False, f"a row has another form: {error}")
say(True, told == expected, "" if told == expected else f"the colours are {told}", colours=len(told))
