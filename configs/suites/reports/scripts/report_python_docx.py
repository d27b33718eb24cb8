"""A relationship of the body that leads to an anchor, as some editors write it, keeps a document from being opened."""

import io
import zipfile

from docx import Document

made = io.BytesIO()
Document().save(made)
anchored = io.BytesIO()
with zipfile.ZipFile(made) as old, zipfile.ZipFile(anchored, "w") as new:
    for name in old.namelist():
        part = old.read(name)
        if name == "word/_rels/document.xml.rels":
            link = (
                b'<Relationship Id="rId99" Target="#_top" '
                b'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink"/>'
            )
            part = part.replace(b"</Relationships>", link + b"</Relationships>")
        new.writestr(name, part)
print(len(Document(anchored).paragraphs))
