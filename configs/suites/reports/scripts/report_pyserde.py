"""A field is a list or a tagged object."""

from dataclasses import dataclass

from serde import InternalTagging, serde
from serde.json import from_json, to_json


@serde
@dataclass
class Size:
    height: int


@serde(tagging=InternalTagging("kind"))
@dataclass
class Box:
    inside: list[int] | Size


box = Box(Size(3))
found = from_json(Box, to_json(box))
assert found == box, found
