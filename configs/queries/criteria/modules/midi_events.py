"""Reads MIDI files without a package."""


def events(path):
    """The events of each track as (tick, status, channel, data), with metas as (tick, "meta", kind, data)."""
    data, at, tracks = path.read_bytes(), 14, []
    beat = int.from_bytes(data[12:14], "big")
    while at < len(data):
        end = at + 8 + int.from_bytes(data[at + 4 : at + 8], "big")
        at, tick, status, track = at + 8, 0, 0, []

        def length():
            nonlocal at
            value = 0
            while True:
                byte = data[at]
                at += 1
                value = value << 7 | byte & 127
                if byte < 128:
                    return value

        while at < end:
            tick += length()
            if data[at] >= 128:
                status = data[at]
                at += 1
            if status == 255:
                kind = data[at]
                at += 1
                size = length()
                track.append((tick, "meta", kind, data[at : at + size]))
            elif status in (240, 247):
                size = length()
            else:
                size = 1 if status >> 4 in (12, 13) else 2
                track.append((tick, status >> 4, status & 15, data[at : at + size]))
            at += size
        tracks.append(track)
    return beat, tracks
