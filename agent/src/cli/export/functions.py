"""Prints the functions of a gist on given lines as JSON, or the file in which the body of one is gone.

    python functions.py FILE GIST LINES
    python functions.py FILE NAME

FILE is the gist as a file that runs by itself, GIST the same without a head, LINES a JSON list of lines of
GIST. A function counts by the line of its `def`, and only if FILE has exactly one of its name.
"""

import ast
import json
import pathlib
import sys

from judge import definitions, lines_of

INSTEAD = "raise NotImplementedError"


def emptied(text, function):
    """Returns a text in which a function has a signature and a docstring, and raises; None without a body."""
    body = function.body
    if ast.get_docstring(function, clean=False) is not None:
        body = body[1:]
    if not body:
        return None
    lines = lines_of(text)
    first, column = body[0].lineno, body[0].col_offset
    for decorator in getattr(body[0], "decorator_list", []):
        if decorator.lineno < first:
            # The column of a decorator is behind its mark.
            first, column = decorator.lineno, decorator.col_offset - 1
    # Columns are bytes. What stands before the body is its indent, or the signature on the same line.
    before = lines[first - 1].encode()[:column].decode()
    lines[first - 1 : function.end_lineno] = [before + INSTEAD]
    return "\n".join(lines)


def list_functions(file, gist, wanted):
    """Prints the functions that have a body, in the order of the file."""
    text = pathlib.Path(file).read_text(encoding="utf-8")
    own = definitions(ast.parse(text))
    origins = definitions(ast.parse(pathlib.Path(gist).read_text(encoding="utf-8")))
    wanted = set(json.loads(pathlib.Path(wanted).read_text()))
    found = []
    for name, function in own.items():
        if name in origins and origins[name].lineno in wanted and emptied(text, function) is not None:
            lines = function.end_lineno - function.lineno + 1
            found.append({"name": name, "lines": lines, "line": origins[name].lineno})
    print(json.dumps(found))


def print_emptied(file, name):
    """Prints the file without the body of a function."""
    text = pathlib.Path(file).read_text(encoding="utf-8")
    sys.stdout.write(emptied(text, definitions(ast.parse(text))[name]))


if __name__ == "__main__":
    (list_functions if len(sys.argv) == 4 else print_emptied)(*sys.argv[1:])
