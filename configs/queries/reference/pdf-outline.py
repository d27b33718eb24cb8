"""Writes the outline of a document."""

import json

from pypdf import PdfReader

reader = PdfReader("inputs/manual.pdf")
entries = []


def walk(items, level):
    for item in items:
        if isinstance(item, list):
            walk(item, level + 1)
        else:
            page = reader.get_destination_page_number(item) + 1
            entries.append({"title": item.title, "page": page, "level": level})


walk(reader.outline, 1)
told = {"title": reader.metadata.title, "author": reader.metadata.author, "outline": entries}
with open("outputs/output.json", "w") as file:
    json.dump(told, file, indent=1)
