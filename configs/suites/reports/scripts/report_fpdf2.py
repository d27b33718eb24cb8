"""On the page after a break, the fill of a padded cell is painted over the text."""

import re

import fpdf

document = fpdf.FPDF()
document.set_compression(False)
document.add_page()
document.set_font("times")
document.set_fill_color(240)
document.multi_cell(w=0, text="A line of text\n" * 70, fill=True, padding=[2, 0, 0, 0])
pages = re.findall(rb"stream\n(.*?)\nendstream", bytes(document.output()), re.DOTALL)
second = pages[1].split(b"\n")
painted = [at for at, line in enumerate(second) if line.endswith(b" re f")]
written = [at for at, line in enumerate(second) if b"(A line of text)" in line]
assert max(painted) < min(written), f"painted at {painted}, written at {written}"
