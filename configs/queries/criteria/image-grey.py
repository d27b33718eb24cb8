"""The image is grey, by the weights of Rec. 601."""

from answer import inputs, outputs, say
from png_pixels import pixels

_, before = pixels(inputs / "picture.png")
colour, after = pixels(outputs / "output.png")
if (len(after), len(after[0])) != (len(before), len(before[0])):
    say(True, False, "it has another size")
if colour not in (0, 4):
    say(True, False, "it is no grey image")
worst = max(
    abs(0.299 * one[0] + 0.587 * one[1] + 0.114 * one[2] - other[0])
    for row, grey in zip(before, after)
    for one, other in zip(row, grey)
)
say(True, worst <= 1.0, "" if worst <= 1.0 else f"a pixel differs by {worst:.1f}", worst=worst)
