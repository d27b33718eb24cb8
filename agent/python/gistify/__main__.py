"""Replaces the interpreter by the program: `python -m gistify run ...`."""

from __future__ import annotations

import os
import sys

from . import BinaryNotFound, find_binary


def main() -> None:
    """Executes the program with the arguments of this process; exits with 5 where there is none."""
    try:
        program = find_binary()
    except BinaryNotFound as error:
        sys.stderr.write(f"gistify: {error}\n")
        raise SystemExit(5) from None
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
