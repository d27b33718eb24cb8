"""Joins the staff of two workbooks."""

import csv

from openpyxl import load_workbook

rows = []
for office in ["Berlin", "Lyon"]:
    sheet = load_workbook(f"inputs/staff_{office.lower()}.xlsx").active
    for name, since, team in sheet.iter_rows(min_row=2, values_only=True):
        rows.append([name, since.date().isoformat(), team, office])
with open("outputs/output.csv", "w", encoding="utf-8", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["name", "since", "team", "office"])
    writer.writerows(sorted(rows))
