"""Title, author and outline are those of the document, with pages from 1."""

import json

from answer import outputs, say

told = json.loads((outputs / "output.json").read_text())
expected = [
    ("Setting up", 2, 1),
    ("What is in the box", 3, 2),
    ("First start", 4, 2),
    ("Daily use", 5, 1),
    ("Care", 6, 1),
]
try:
    outline = [(one["title"], one["page"], one["level"]) for one in told["outline"]]
    head = (told["title"], told["author"])
except (KeyError, TypeError) as error:
    say(True, False, f"it has another form: {error!r}")
right = sum(one == other for one, other in zip(outline, expected))
passed = outline == expected and head == ("Pump P7 manual", "Nordwerk")
say(
    True,
    passed,
    "" if passed else f"{right} of 5 entries are right, title and author are {head}",
    entries=right,
)
