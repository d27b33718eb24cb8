"""The table has all rows of both workbooks, by name, with dates as YYYY-MM-DD."""

import csv

from answer import outputs, say

with open(outputs / "output.csv", encoding="utf-8-sig", newline="") as file:
    rows = [row for row in csv.reader(file) if row]
expected = [
    ["name", "since", "team", "office"],
    ["Adler, Jan", "2021-11-15", "sales", "Berlin"],
    ["Blanc, Zo\u00e9", "2022-07-04", "support", "Lyon"],
    ["Moreau, Luc", "2018-02-28", "design", "Lyon"],
    ["Petit, Ana", "2020-02-29", "sales", "Lyon"],
    ["Vogel, Ines", "2019-04-01", "design", "Berlin"],
]
right = sum(one == other for one, other in zip(rows, expected))
first = next((row for row, other in zip(rows, expected) if row != other), None)
say(
    True,
    rows == expected,
    "" if rows == expected else f"{len(rows)} rows, the first wrong is {first}",
    rows=right,
)
