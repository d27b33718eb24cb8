"""The names that each scope of each file below a directory binds, by CPython's own symtable.

One line of JSON a file: its path, and its scopes as kind, name, line of the keyword, sorted names.
"""
import json
import os
import symtable
import sys


def plain(name, classes):
    """A private name as it is written."""
    for outer in reversed(classes):
        prefix = "_" + outer.lstrip("_")
        if outer.strip("_") and name.startswith(prefix + "__"):
            return name[len(prefix):]
        break
    return name


def scopes(table, classes, found):
    kind, name = str(table.get_type()), table.get_name()
    if kind == "class":
        classes = [*classes, name]
    if kind in ("module", "class") or (kind == "function" and name not in SKIPPED):
        names = {plain(s.get_name(), classes) for s in table.get_symbols() if s.is_local()}
        found.append([kind, name if kind != "module" else "", table.get_lineno(), sorted(names)])
    for child in table.get_children():
        scopes(child, classes, found)


SKIPPED = ("lambda", "listcomp", "setcomp", "dictcomp", "genexpr")

root = sys.argv[1]
for directory, _, files in sorted(os.walk(root)):
    for name in sorted(files):
        path = os.path.join(directory, name)
        if not name.endswith(".py"):
            continue
        try:
            with open(path, "rb") as file:
                table = symtable.symtable(file.read(), path, "exec")
        except (SyntaxError, ValueError):
            continue
        found = []
        scopes(table, [], found)
        print(json.dumps([os.path.relpath(path, root), found]))
