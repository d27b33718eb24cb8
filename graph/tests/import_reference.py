"""What importlib makes of the import statements below a directory, which is the first on the path.

One line of JSON a statement: the importing file, and the file that it depends on (nothing for a directory
without __init__.py, or where nothing is found).
"""
import ast
import importlib.machinery
import importlib.util
import json
import os
import sys

root = os.path.realpath(sys.argv[1])
sys.path[:] = [root]


def find(name):
    """The file of a module, without running any."""
    path, spec = [root], None
    for part in name.split("."):
        # Looked for by its last name, since a parent would have to be loaded.
        spec = importlib.machinery.PathFinder.find_spec(part, list(path)) if path else None
        path = spec and spec.submodule_search_locations
    return spec


for directory, _, files in sorted(os.walk(root)):
    for file in sorted(files):
        path = os.path.join(directory, file)
        importer = os.path.relpath(path, root)
        module = importer[:-3].replace("/", ".")
        package = module[: -len(".__init__")] if file == "__init__.py" else module.rpartition(".")[0]
        with open(path) as opened:
            tree = ast.parse(opened.read())
        for node in tree.body:
            if isinstance(node, ast.Import):
                wanted = [(node.names[0].name, None)]
            elif isinstance(node, ast.ImportFrom):
                name = "." * node.level + (node.module or "")
                try:
                    name = importlib.util.resolve_name(name, package)
                except ImportError:
                    name = ""
                wanted = [(name, node.names[0].name)]
            else:
                continue
            for name, attribute in wanted:
                spec = find(name) if name else None
                inner = find(f"{name}.{attribute}") if spec and attribute else None
                found = inner if inner and inner.has_location else spec
                # A module's own names win over modules inside it; none are alike here.
                origin = found.origin if found and found.has_location else None
                print(json.dumps([importer, origin and os.path.relpath(origin, root)]))
