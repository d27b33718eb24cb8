"""Reverses and turns the pages of a document."""

from pypdf import PdfReader, PdfWriter

writer = PdfWriter()
for page in reversed(PdfReader("inputs/slides.pdf").pages):
    writer.add_page(page).rotate(90)
writer.write("outputs/output.pdf")
