"""The pages are in reverse order, each turned by a quarter clockwise."""

import re
import zlib

from answer import outputs, say

data = (outputs / "output.pdf").read_bytes()
objects = {int(number): body for number, body in re.findall(rb"(?s)(\d+) 0 obj(.*?)endobj", data)}


def stream(body):
    text = re.search(rb"(?s)stream\r?\n(.*?)\r?\n?endstream", body).group(1)
    return zlib.decompress(text) if b"/FlateDecode" in body else text


def rotation(number):
    while number is not None:
        found = re.search(rb"/Rotate\s+(-?\d+)", objects[number])
        if found:
            return int(found.group(1)) % 360
        parent = re.search(rb"/Parent\s+(\d+) 0 R", objects[number])
        number = int(parent.group(1)) if parent else None
    return 0


def leaves(number):
    kids = re.search(rb"(?s)/Kids\s*\[(.*?)\]", objects[number])
    if kids is None:
        return [number]
    return [leaf for kid in re.findall(rb"(\d+) 0 R", kids.group(1)) for leaf in leaves(int(kid))]


roots = [number for number, body in objects.items() if b"/Kids" in body and b"/Parent" not in body]
if len(roots) != 1:
    say(False, False, "it has no tree of pages that can be read")
pages = []
for number in leaves(roots[0]):
    contents = re.search(rb"/Contents\s*\[?\s*(\d+) 0 R", objects[number])
    text = re.search(rb"\(Slide (\w+)\)", stream(objects[int(contents.group(1))]))
    pages.append((text.group(1).decode(), rotation(number)))
expected = [(name, 90) for name in ("four", "three", "two", "one")]
right = sum(one == other for one, other in zip(pages, expected))
say(True, pages == expected, "" if pages == expected else f"the pages are {pages}", pages=right)
