"""A child stands before its parent's own header, and another table between its siblings."""

import tomlkit

SOURCE = """\
[shop]
[shop.floor.first]
[shop.floor]
[staff]
[shop.floor.second]
"""
print(tomlkit.parse(SOURCE))
