"""The image is the smallest rectangle with all pixels that are not white."""

from answer import inputs, outputs, say
from png_pixels import pixels

_, before = pixels(inputs / "logo.png")
colour, after = pixels(outputs / "output.png")
white = (255, 255, 255)
rows = [y for y, row in enumerate(before) if any(cell != white for cell in row)]
columns = [x for x in range(len(before[0])) if any(row[x] != white for row in before)]
expected = [row[columns[0] : columns[-1] + 1] for row in before[rows[0] : rows[-1] + 1]]
same = [[cell[:3] for cell in row] for row in after] == expected
size = f"{len(after[0])}x{len(after)}, not {len(expected[0])}x{len(expected)}"
say(True, same, "" if same else f"it is {size}, or has other pixels", width=len(after[0]), height=len(after))
