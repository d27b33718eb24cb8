"""The two pages that mention an invoice are there as text, in order."""

import re

from answer import outputs, say


def words(name):
    return re.sub(r"\s+", " ", (outputs / name).read_text(encoding="utf-8")).strip()


first, second = words("output_01.txt"), words("output_02.txt")
expected = [
    "Invoice 2041 Amount due: 318.40",
    "Reminder The invoice 1987 is open since March. Amount due: 75.00",
]
right = sum(one == other for one, other in zip([first, second], expected))
more = [path.name for path in outputs.glob("output_*") if path.name not in ("output_01.txt", "output_02.txt")]
passed = right == 2 and not more
say(True, passed, "" if passed else f"{right} of 2 pages are right, more: {more}", pages=right)
