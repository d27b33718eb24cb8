"""Adds up quantities over the visible sheets of a workbook."""

import collections
import json

from openpyxl import load_workbook

totals = collections.Counter()
for sheet in load_workbook("inputs/sales.xlsx"):
    for product, quantity in sheet.iter_rows(min_row=2, values_only=True):
        totals[product] += quantity
with open("outputs/output.json", "w") as file:
    json.dump(totals, file, indent=1)
