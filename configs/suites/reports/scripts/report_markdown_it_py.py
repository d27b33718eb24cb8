"""A comment that opens a block has a list item and a blank line in it."""

from markdown_it import MarkdownIt

SOURCE = """\
- <!-- one

two -->
three
"""
found = MarkdownIt("commonmark").render(SOURCE)
assert "two --&gt;" not in found, found
