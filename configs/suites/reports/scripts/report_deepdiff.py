"""A whole number became a float, in a list whose order does not matter."""

from deepdiff import DeepDiff

found = DeepDiff([{"size": 1}], [{"size": 1.0}], ignore_order=True)
assert "type_changes" in str(found), found
