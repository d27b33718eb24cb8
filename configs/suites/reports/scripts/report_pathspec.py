"""A star pair inside a name matches within that name, as git does."""

from pathspec import GitIgnoreSpec

spec = GitIgnoreSpec.from_lines(["left**/right"])
assert spec.match_file("left-hand/right")
brackets = GitIgnoreSpec.from_lines(["["])
assert not brackets.match_file("["), "an unclosed bracket matches itself"
