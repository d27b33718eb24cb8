"""A page with a link is converted."""

import io

from markitdown import MarkItDown

page = b"<html><body><p>See <a href='https://example.org/'>there</a>.</p></body></html>"
found = MarkItDown().convert_stream(io.BytesIO(page), file_extension=".html").text_content
assert "[there](https://example.org/)" in found, found
