"""A field with two converters can be set once, and not again."""

import attrs


def strip(text):
    return text.strip()


@attrs.define
class Tag:
    name: str = attrs.field(converter=[strip, str.upper])


tag = Tag(" old ")
assert tag.name == "OLD"
tag.name = " new "
print(tag)
