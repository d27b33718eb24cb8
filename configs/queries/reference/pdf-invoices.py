"""Writes the text of pages that mention an invoice."""

from pypdf import PdfReader

texts = [page.extract_text() for page in PdfReader("inputs/letters.pdf").pages]
found = [text for text in texts if "invoice" in text.lower()]
for number, text in enumerate(found, 1):
    with open(f"outputs/output_{number:02}.txt", "w", encoding="utf-8") as file:
        file.write(text)
