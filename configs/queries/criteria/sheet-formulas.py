"""The workbook has the table of orders with a bold, frozen head and totals as formulas."""

import re
import zipfile
from xml.etree import ElementTree

from answer import inputs, outputs, say

M = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def texts(archive):
    if "xl/sharedStrings.xml" not in archive.namelist():
        return []
    root = ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
    return ["".join(t.text or "" for t in item.iter(M + "t")) for item in root.iter(M + "si")]


with zipfile.ZipFile(outputs / "output.xlsx") as archive:
    shared = texts(archive)
    book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    styles = ElementTree.fromstring(archive.read("xl/styles.xml"))
    sheet = ElementTree.fromstring(archive.read("xl/worksheets/sheet1.xml"))
names = [one.get("name") for one in book.iter(M + "sheet")]
if names != ["Orders"]:
    say(True, False, f"the sheets are {names}")
cells = {}
for cell in sheet.iter(M + "c"):
    value, formula = cell.find(M + "v"), cell.find(M + "f")
    text = value.text if value is not None else "".join(t.text or "" for t in cell.iter(M + "t"))
    if cell.get("t") == "s":
        text = shared[int(text)]
    cells[cell.get("r")] = (text, None if formula is None else formula.text, int(cell.get("s", "0")))
head = [cells.get(f"{column}1", ("", None, 0))[0] for column in "ABCDEF"]
if head != ["order", "region", "product", "quantity", "unit price", "total"]:
    say(True, False, f"the head is {head}")
rows = [line.split(",") for line in (inputs / "orders.csv").read_text().splitlines()[1:]]
right = 0
for at, row in enumerate(rows, 2):
    told = [cells.get(f"{column}{at}", ("", None, 0)) for column in "ABCDEF"]
    same = [one[0] for one in told[:3]] == row[:3]
    number = all(abs(float(one[0] or "nan") - float(value)) < 1e-9 for one, value in zip(told[3:5], row[3:]))
    formula = re.sub(r"[\s$]|PRODUCT|[()]", "", told[5][1] or "").replace(",", "*").replace(":", "*")
    right += same and number and formula in (f"D{at}*E{at}", f"E{at}*D{at}")
fonts = [font.find(M + "b") is not None for font in styles.find(M + "fonts")]
formats = [int(one.get("fontId", "0")) for one in styles.find(M + "cellXfs")]
bold = all(fonts[formats[cells[f"{column}1"][2]]] for column in "ABCDEF")
frozen = any(
    pane.get("ySplit") == "1" and "frozen" in pane.get("state", "") for pane in sheet.iter(M + "pane")
)
passed = right == len(rows) and bold and frozen
say(True, passed, "" if passed else f"{right} rows are right, bold: {bold}, frozen: {frozen}", rows=right)
