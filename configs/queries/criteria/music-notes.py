"""The notes of the melody, with their times in seconds."""

import csv

from answer import inputs, outputs, say
from midi_events import events

beat, tracks = events(inputs / "tune.mid")
changes = [
    (tick, int.from_bytes(data, "big"))
    for track in tracks
    for tick, what, kind, data in track
    if (what, kind) == ("meta", 81)
]


def seconds(tick):
    total, last, tempo = 0.0, 0, 500_000
    for at, new in sorted(changes):
        if at >= tick:
            break
        total, last, tempo = total + (at - last) * tempo / beat / 1e6, at, new
    return total + (tick - last) * tempo / beat / 1e6


expected, open_notes = [], {}
for tick, status, channel, data in (event for track in tracks for event in track):
    if channel == 0 and status == 9 and data[1] > 0:
        open_notes[data[0]] = tick
    elif channel == 0 and status in (8, 9):
        start = seconds(open_notes.pop(data[0]))
        expected.append((data[0], start, seconds(tick) - start))
with open(outputs / "output.csv", newline="") as file:
    head, *rows = [row for row in csv.reader(file) if row]
if [one.strip().lower() for one in head] != ["note", "start", "duration"]:
    say(True, False, f"the head is {head}")
try:
    told = [(int(row[0]), float(row[1]), float(row[2])) for row in rows]
except (ValueError, IndexError) as error:
    say(True, False, f"a row has another form: {error}")


def alike(one, other):
    return one[0] == other[0] and all(abs(a - b) <= 0.01 for a, b in zip(one[1:], other[1:]))


right = sum(alike(one, other) for one, other in zip(told, expected))
passed = right == len(expected) == len(told)
say(True, passed, "" if passed else f"{right} of {len(expected)} notes are right", notes=right)
