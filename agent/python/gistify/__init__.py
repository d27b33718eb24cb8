"""Finds the program `gistify` that this distribution installs.

    >>> from gistify import find_binary
    >>> subprocess.run([find_binary(), "--version"])

The package refuses to do anything else: it has no Python interface besides the program's own files.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator

__all__ = ["BinaryNotFound", "find_binary"]


class BinaryNotFound(FileNotFoundError):
    """The distribution is installed without its program, or the program was moved."""


def find_binary() -> str:
    """Returns the absolute path of the program.

    Raises `BinaryNotFound` with the places that were tried.
    """
    name = "gistify" + (sysconfig.get_config_var("EXE") or "")
    tried = [os.path.join(directory, name) for directory in _directories()]
    for path in tried:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    places = ", ".join(tried)
    raise BinaryNotFound(f"no program {name} (tried {places}; reinstall gistify)")


def _directories() -> Iterator[str]:
    """Yields the directories in which installers put programs, the likeliest first, each once."""
    seen: set[str] = set()
    for directory in _candidates():
        if directory and directory not in seen:
            seen.add(directory)
            yield directory


def _candidates() -> Iterator[str | None]:
    # The environment of the running interpreter, and the one that it was made from.
    yield sysconfig.get_path("scripts")
    yield sysconfig.get_path("scripts", vars={"base": sys.base_prefix})
    package = os.path.dirname(os.path.abspath(__file__))
    site = os.path.dirname(package)
    # PREFIX/lib/pythonX.Y/site-packages: environments that are only on the path of the interpreter
    # (`uv run --with`, `pip install --prefix`).
    yield os.path.join(site, os.pardir, os.pardir, os.pardir, "bin")
    # `pip install --target`
    yield os.path.join(site, "bin")
    # `pip install --user`
    scheme = f"{os.name}_user"
    if scheme in sysconfig.get_scheme_names():
        yield sysconfig.get_path("scripts", scheme=scheme)
