"""A child is one of the subclasses, as its owner is."""

from functools import partial

import attrs
import cattrs
from cattrs.strategies import configure_tagged_union, include_subclasses


@attrs.frozen
class Node:
    pass


@attrs.frozen
class Leaf(Node):
    text: str


@attrs.frozen
class Branch(Node):
    text: str
    child: Node


converter = cattrs.Converter()
include_subclasses(Node, converter, union_strategy=partial(configure_tagged_union, tag_name="kind"))
tree = Branch("trunk", Leaf("green"))
found = converter.structure(converter.unstructure(tree), Node)
assert found == tree, found
