"""Prints every class and function of the files below a directory as CPython's ast sees it."""

import ast
import json
import os
import sys
import warnings

warnings.simplefilter("ignore")
root = sys.argv[1]
for directory, _, names in sorted(os.walk(root)):
    for name in sorted(names):
        if not name.endswith(".py"):
            continue
        path = os.path.join(directory, name)
        try:
            tree = ast.parse(open(path, "rb").read())
        except (SyntaxError, ValueError, RecursionError):
            continue
        found = []
        for node in ast.walk(tree):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                kind = "class" if isinstance(node, ast.ClassDef) else "function"
                found.append([kind, node.name, node.lineno, node.end_lineno])
            elif isinstance(node, ast.Lambda):
                found.append(["lambda", "<lambda>", node.lineno, node.end_lineno])
        print(json.dumps([os.path.relpath(path, root), sorted(found)]))
