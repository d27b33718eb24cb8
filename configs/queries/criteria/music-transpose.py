"""All notes are three semitones higher, those of the drums are as they were."""

from answer import inputs, outputs, say
from midi_events import events

_, before = events(inputs / "tune.mid")
_, after = events(outputs / "output.mid")


def notes(tracks, up):
    found = []
    for tick, status, channel, data in (event for track in tracks for event in track):
        if status in (8, 9):
            pitch = data[0] + (up if channel != 9 else 0)
            sounds = status == 9 and data[1] > 0
            found.append((tick, channel, pitch, sounds))
    return sorted(found)


def others(tracks):
    return sorted(
        str(event)
        for track in tracks
        for event in track
        if event[1] not in (8, 9) and event[1:3] != ("meta", 47)
    )


right, told = notes(before, 3), notes(after, 0)
same = sum(one == other for one, other in zip(right, told))
passed = right == told and others(before) == others(after)
say(True, passed, "" if passed else f"{same} of {len(right)} events are right", events=same)
