"""Says whether a distribution is installed, and whether pytest cannot do without it."""
import json
import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(name):
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


own = normal(sys.argv[1])
needed, pending = set(), ["pytest"]
while pending:
    name = normal(pending.pop())
    if name in needed or not installed(name):
        continue
    needed.add(name)
    for line in requires(name) or []:
        if "extra ==" not in line:
            pending.append(re.match(r"[A-Za-z0-9._-]+", line).group())

print(json.dumps({"installed": installed(own), "needed": own in needed}))
