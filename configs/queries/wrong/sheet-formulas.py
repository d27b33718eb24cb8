"""Writes the orders into a workbook."""

import csv

from openpyxl import Workbook
from openpyxl.styles import Font

with open("inputs/orders.csv", newline="") as file:
    head, *rows = csv.reader(file)
book = Workbook()
sheet = book.active
sheet.title = "Orders"
sheet.append([*head, "total"])
for order, region, product, quantity, price in rows:
    sheet.append([order, region, product, int(quantity), float(price), int(quantity) * float(price)])
for cell in sheet[1]:
    cell.font = Font(bold=True)
sheet.freeze_panes = "A2"
book.save("outputs/output.xlsx")
