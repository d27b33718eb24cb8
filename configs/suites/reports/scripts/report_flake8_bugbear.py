"""The checker meets a handler of everything that raises another exception."""

import ast

from bugbear import BugBearChecker

SOURCE = """\
try:
    print()
except BaseException as error:
    raise RuntimeError("no paper") from error
"""
tree = ast.parse(SOURCE)
for finding in BugBearChecker(tree=tree, filename="made.py", lines=SOURCE.splitlines(True)).run():
    print(finding)
