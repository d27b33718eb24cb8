"""Lists the notes of a channel, as if the tempo never changed."""

import csv

import mido

piece, rows = mido.MidiFile("inputs/tune.mid"), []
tick, started = 0, {}
for message in piece.tracks[1]:
    tick += message.time
    now = mido.tick2second(tick, piece.ticks_per_beat, 500_000)
    if message.type == "note_on" and message.velocity > 0:
        started[message.note] = now
    elif message.type == "note_on":
        start = started.pop(message.note)
        rows.append([message.note, f"{start:.3f}", f"{now - start:.3f}"])
with open("outputs/output.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["note", "start", "duration"])
    writer.writerows(rows)
