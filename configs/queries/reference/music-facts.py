"""Writes facts of a piece."""

import collections
import json

import mido

piece = mido.MidiFile("inputs/tune.mid")
notes, programs = collections.Counter(), {}
for message in piece:
    if message.type == "note_on" and message.velocity > 0:
        notes[message.channel + 1] += 1
    elif message.type == "program_change":
        programs[message.channel + 1] = message.program
told = {
    "seconds": round(piece.length, 3),
    "ticks_per_beat": piece.ticks_per_beat,
    "notes": notes,
    "programs": programs,
}
with open("outputs/output.json", "w") as file:
    json.dump(told, file, indent=1)
