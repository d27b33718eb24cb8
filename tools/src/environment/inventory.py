"""Says what is installed: distributions, what of the site directories is theirs, and who owns a module."""
import json
import os
import sys
from importlib import metadata

SUFFIXES = (".py", ".so", ".pyd")


def normalized(name):
    return name.replace("_", "-").replace(".", "-").lower()


def module_of(parts):
    """The dotted name that a file has below its site directory; none for what is no module."""
    stem, dot, _ = parts[-1].partition(".")
    if not dot or not parts[-1].endswith(SUFFIXES):
        return None
    return ".".join(parts[:-1] if stem == "__init__" else parts[:-1] + (stem,))


def required(line):
    """The name in a requirement; none where only an extra asks for it."""
    requirement, _, marker = line.partition(";")
    if "extra" in marker:
        return None
    end = next((at for at, c in enumerate(requirement) if not (c.isalnum() or c in "._-")), None)
    return normalized(requirement[:end])


def editable(distribution):
    try:
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    except ValueError:
        return False
    return bool(origin.get("dir_info", {}).get("editable"))


def licence(metadata):
    """The name of the licence in one line; empty where there is none."""
    named = metadata.get("License-Expression") or metadata.get("License") or ""
    if named and "\n" not in named and len(named) <= 80:
        return named
    marks = [mark.split(" :: ") for mark in metadata.get_all("Classifier") or ()]
    return ", ".join(mark[-1] for mark in marks if mark[0] == "License")


def described(distribution, owners):
    name = normalized(distribution.metadata["Name"] or "")
    tops = set()
    for file in distribution.files or ():
        parts = file.parts
        if not parts or parts[0] == ".." or parts[0] == "__pycache__":
            continue
        tops.add(parts[0])
        module = module_of(parts)
        if module is not None:
            owners.setdefault(module, name)
    points = [point for point in distribution.entry_points if point.group == "pytest11"]
    return {
        "name": name,
        "version": distribution.version,
        "site": os.path.realpath(str(distribution.locate_file(""))),
        "tops": sorted(tops),
        "requires": sorted({required(line) for line in distribution.requires or ()} - {None}),
        "plugin": bool(points),
        "editable": editable(distribution),
        "licence": licence(distribution.metadata),
        "licence_files": distribution.metadata.get_all("License-File") or [],
    }


def owner(name, owners):
    while name:
        if name in owners:
            return owners[name]
        name = name.rpartition(".")[0]
    return None


owners, found = {}, {}
for distribution in metadata.distributions():
    one = described(distribution, owners)
    found.setdefault(one["name"], one)
asked = {name: owner(name, owners) for name in sys.argv[1:]}
print(json.dumps({
    "base": os.path.realpath(getattr(sys, "_base_executable", sys.executable)),
    "distributions": sorted(found.values(), key=lambda one: one["name"]),
    "owners": {name: one for name, one in asked.items() if one is not None},
}))
