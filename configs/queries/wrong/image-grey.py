"""Makes an image grey."""

import png

width, height, rows, info = png.Reader("inputs/picture.png").asRGB8()
grey = []
for row in rows:
    cells = zip(row[0::3], row[1::3], row[2::3])
    grey.append([(red + green + blue) // 3 for red, green, blue in cells])
with open("outputs/output.png", "wb") as file:
    png.Writer(width, height, greyscale=True, bitdepth=8).write(file, grey)
