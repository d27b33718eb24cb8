"""The directories of a task, and the line by which a criteria script ends."""

import json
import pathlib
import sys

inputs, outputs = map(pathlib.Path, sys.argv[1:])


def say(completed, passed, reason="", **metrics):
    print(json.dumps({"completed": completed, "passed": passed, "reason": reason, "metrics": metrics}))
    sys.exit()
