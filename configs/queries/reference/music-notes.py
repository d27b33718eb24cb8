"""Lists the notes of a channel with their times."""

import csv

import mido

now, started, rows = 0.0, {}, []
for message in mido.MidiFile("inputs/tune.mid"):
    now += message.time
    if message.type == "note_on" and message.channel == 0 and message.velocity > 0:
        started[message.note] = now
    elif message.type in ("note_on", "note_off") and message.channel == 0:
        start = started.pop(message.note)
        rows.append([message.note, f"{start:.3f}", f"{now - start:.3f}"])
with open("outputs/output.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["note", "start", "duration"])
    writer.writerows(rows)
