"""The message of an exception has a control code in it."""

import io

from rich.console import Console

screen = io.StringIO()
console = Console(file=screen, width=80)
try:
    raise RuntimeError("\x1b[31mred")
except RuntimeError:
    console.print_exception()
assert "\x1b[31mred" not in screen.getvalue().splitlines()[-1], repr(screen.getvalue().splitlines()[-1])
