"""Says whether a distribution is installed, and whether pytest or a plugin of it cannot do without it."""
import json
import re
import sys
from importlib.metadata import PackageNotFoundError, distributions, requires, version


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(name):
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def is_plugin(distribution):
    try:
        return any(entry.group == "pytest11" for entry in distribution.entry_points)
    except Exception:
        return False  # Nor can pytest read what is broken.


def plugins():
    for distribution in distributions():
        if is_plugin(distribution) and distribution.metadata["Name"]:
            yield distribution.metadata["Name"]


own = normal(sys.argv[1])
# What the repository has as a plugin is its own.
needed, pending = set(), ["pytest", *(name for name in plugins() if normal(name) != own)]
while pending:
    name = normal(pending.pop())
    if name in needed or not installed(name):
        continue
    needed.add(name)
    for line in requires(name) or []:
        if "extra ==" not in line:
            pending.append(re.match(r"[A-Za-z0-9._-]+", line).group())

print(json.dumps({"installed": installed(own), "needed": own in needed}))
