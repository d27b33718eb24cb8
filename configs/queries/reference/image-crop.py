"""Crops an image to what is not white."""

import png

width, height, rows, info = png.Reader("inputs/logo.png").asRGB8()
cells = [list(zip(row[0::3], row[1::3], row[2::3])) for row in rows]
white = (255, 255, 255)
ys = [y for y, row in enumerate(cells) if any(cell != white for cell in row)]
xs = [x for x in range(width) if any(row[x] != white for row in cells)]
kept = [row[xs[0] : xs[-1] + 1] for row in cells[ys[0] : ys[-1] + 1]]
with open("outputs/output.png", "wb") as file:
    writer = png.Writer(len(kept[0]), len(kept), greyscale=False, bitdepth=8)
    writer.write(file, [[value for cell in row for value in cell] for row in kept])
