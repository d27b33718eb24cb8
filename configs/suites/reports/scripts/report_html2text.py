"""The edge of a block inside a link becomes a second space."""

import html2text

found = html2text.html2text("<a href='there'>Read: <p>\nthe news</p></a>")
assert ":  the" not in found, repr(found)
