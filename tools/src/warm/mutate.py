"""Changes functions of loaded modules: their code is compiled anew from a changed text and put in their place.

A change names a file, the first line of one statement of its top level, and that statement before and after.
Lines keep their numbers, so that all but what was changed is the same code. Functions are found by the code that
they have; those that are made later come from the changed code of the function that makes them.
"""

from __future__ import annotations

import __future__
import ast
import gc
import sys
from types import CodeType, FunctionType
from typing import Any, Iterator

_compile = compile
_parse = ast.parse
_FUTURE = 0
for _feature in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _feature).compiler_flag


class Functions:
    """The functions of all modules that are loaded when this is made, by file."""

    def __init__(self) -> None:
        self._by_file: dict[str, list[FunctionType]] = {}
        for thing in gc.get_objects():
            if type(thing) is FunctionType:
                self._by_file.setdefault(thing.__code__.co_filename, []).append(thing)

    def change(self, file: str, first: int, before: str, after: str, config: Any) -> int:
        """Puts the code of `after` in the place of that of `before`; returns how many functions have it."""
        own = self._by_file.get(file, [])
        if not own:
            return 0
        flags = own[0].__code__.co_flags & _FUTURE
        rewrites = _is_rewritten(file)

        def read(text: str) -> list[tuple[tuple[str, int, int], CodeType]]:
            source = "\n" * (first - 1) + text
            tree = _parse(source)
            if rewrites:
                from _pytest.assertion.rewrite import rewrite_asserts

                rewrite_asserts(tree, source.encode(), file, config)
            return list(_numbered(_compile(tree, file, "exec", flags, True)))

        changed = dict(read(after))
        wanted = {}
        for key, code in read(before):
            other = changed.get(key)
            if other is not None and other != code:
                wanted[code] = other
        count = 0
        for function in own:
            other = wanted.get(function.__code__)
            if other is not None and other.co_freevars == function.__code__.co_freevars:
                function.__code__ = other
                count += 1
        return count


def _numbered(code: CodeType) -> Iterator[tuple[tuple[str, int, int], CodeType]]:
    """The code of all functions in some code, each with its name, line and number among such."""
    seen: dict[tuple[str, int], int] = {}
    pending = [code]
    while pending:
        for constant in pending.pop().co_consts:
            if isinstance(constant, CodeType):
                key = (constant.co_name, constant.co_firstlineno)
                seen[key] = seen.get(key, 0) + 1
                yield (*key, seen[key]), constant
                pending.append(constant)


def _is_rewritten(file: str) -> bool:
    """Returns true if pytest has rewritten the assertions of a file."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == file:
            loader = getattr(getattr(module, "__spec__", None), "loader", None)
            return type(loader).__name__ == "AssertionRewritingHook"
    return False
