"""An extra that is called like a version is compared as one, and the empty extra is no version."""

from packaging.requirements import Requirement

requirement = Requirement('colour ~= 2.0 ; extra == "v3"')
assert not requirement.marker.evaluate({"extra": ""})
