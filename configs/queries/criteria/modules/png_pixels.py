"""Reads PNG files without a package."""

import struct
import zlib


def pixels(path):
    """The rows of a PNG of 8 bits a channel or with a palette, as lists of tuples."""
    data = path.read_bytes()
    at, head, body, palette = 8, b"", b"", []
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, chunk = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        at += 12 + size
        if kind == b"IHDR":
            head = chunk
        elif kind == b"IDAT":
            body += chunk
        elif kind == b"PLTE":
            palette = [tuple(chunk[i : i + 3]) for i in range(0, size, 3)]
    width, height, depth, colour = struct.unpack(">IIBB", head[:10])
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    length = (width * channels * depth + 7) // 8
    step = max(1, channels * depth // 8)
    raw, rows, above = zlib.decompress(body), [], bytes(length)
    for y in range(height):
        start = y * (length + 1)
        row = bytearray(raw[start + 1 : start + 1 + length])
        for i in range(length):
            left = row[i - step] if i >= step else 0
            corner = above[i - step] if i >= step else 0
            guess = left + above[i] - corner
            near = sorted((left, above[i], corner), key=lambda v: abs(guess - v))
            paeth = next(v for v in (left, above[i], corner) if abs(guess - v) == abs(guess - near[0]))
            add = (0, left, above[i], (left + above[i]) // 2, paeth)[raw[start]]
            row[i] = (row[i] + add) % 256
        above = bytes(row)
        if depth < 8:
            bits = "".join(f"{byte:08b}" for byte in row)
            values = [int(bits[i * depth : (i + 1) * depth], 2) for i in range(width)]
        else:
            values = list(row)
        cells = [tuple(values[i : i + channels]) for i in range(0, width * channels, channels)]
        rows.append([palette[cell[0]] if colour == 3 else cell for cell in cells])
    return colour, rows
