"""A hint is a word or a sequence of words that is no word itself."""

from collections.abc import Sequence
from typing import Annotated

from beartype import beartype
from beartype.vale import IsInstance

Words = Annotated[Sequence[str], ~IsInstance[str]]


@beartype
def count(words: Words | str) -> int:
    return len(words)


print(count(["one", "two"]))
