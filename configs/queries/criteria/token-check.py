"""Each token has its verdict, and the reason."""

import csv

from answer import outputs, say

expected = [
    ("1", "valid", "ok"),
    ("2", "invalid", "expired"),
    ("3", "invalid", "signature"),
    ("4", "invalid", "malformed"),
    ("5", "invalid", "algorithm"),
    ("6", "valid", "ok"),
    ("7", "invalid", "signature"),
]
with open(outputs / "output.csv", newline="") as file:
    head, *rows = [[cell.strip().lower() for cell in row] for row in csv.reader(file) if row]
if head != ["line", "verdict", "reason"]:
    say(True, False, f"the head is {head}")
right = sum(tuple(row) == other for row, other in zip(rows, expected))
passed = right == len(expected) == len(rows)
first = next((row for row, other in zip(rows, expected) if tuple(row) != other), None)
say(True, passed, "" if passed else f"{len(rows)} rows, the first wrong is {first}", rows=right)
