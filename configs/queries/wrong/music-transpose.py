"""Transposes a piece by three semitones."""

import mido

piece = mido.MidiFile("inputs/tune.mid")
for track in piece.tracks:
    for message in track:
        if message.type in ("note_on", "note_off"):
            message.note += 3
piece.save("outputs/output.mid")
