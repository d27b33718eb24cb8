"""Checks dependency sets against a run: over the lines of functions that tests execute, the names on them that the
repository defines, as the running modules have them.

    python traced_names.py PROBLEMS.jsonl ROOT [--pydepcall] [-- PYTEST ARGUMENTS]

PROBLEMS.jsonl is a file of `gistify repoexec build --all --tests none`, ROOT the repository, and python one that runs its
tests. The script needs nothing of gistify: it reads bytecode of executed lines and follows names through the modules
that the run loaded. It prints precision and recall, pooled over functions, and what differs; with --pydepcall (which has
to be installed) the same of that library's dependencies.
"""

import argparse
import ast
import dis
import json
import os
import sys
import types

import pytest


class Tracer:
    """Notes the executed lines of functions, and their code objects."""

    def __init__(self, wanted):
        self.wanted = wanted
        self.files = {path for path, _ in wanted}
        self.known = {}
        self.lines = {}
        self.codes = {}
        self.globals = {}

    def key(self, code):
        if code not in self.known:
            path = os.path.realpath(code.co_filename)
            key = (path, code.co_firstlineno)
            self.known[code] = key if key in self.wanted and path in self.files else None
        return self.known[code]

    def trace(self, frame, event, _):
        if event != "call":
            return None
        key = self.key(frame.f_code)
        if key is None:
            # A function inside of one that is watched belongs to it.
            back = frame.f_back
            while back is not None and back.f_code.co_filename == frame.f_code.co_filename:
                if self.key(back.f_code) is not None and frame.f_code in nested(back.f_code):
                    key = self.key(back.f_code)
                    break
                back = back.f_back
            if key is None:
                return None
        self.codes.setdefault(key, set()).add(frame.f_code)
        self.globals[key] = frame.f_globals
        lines = self.lines.setdefault(key, set())

        def local(frame, event, _):
            if event == "line":
                lines.add(frame.f_lineno)
            return local

        return local

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        sys.settrace(self.trace)
        yield
        sys.settrace(None)


def nested(code):
    found = set()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= {constant} | nested(constant)
    return found


class Origins:
    """Which module of the repository defines what a name of a module means."""

    def __init__(self, root):
        self.root = os.path.join(os.path.realpath(root), "")
        self.bound = {}

    def inside(self, module):
        path = getattr(module, "__file__", None)
        return bool(path) and os.path.realpath(path).startswith(self.root)

    def bindings(self, module):
        """Names of a module's top level: own ones, imported ones with their origin, and starred modules."""
        name = module.__name__
        if name not in self.bound:
            own, imported, stars = set(), {}, []
            with open(module.__file__, encoding="utf-8") as file:
                tree = ast.parse(file.read())
            package = name if hasattr(module, "__path__") else name.rpartition(".")[0]
            pending = list(tree.body)
            while pending:
                node = pending.pop(0)
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    own.add(node.name)
                elif isinstance(node, ast.Import):
                    for alias in node.names:
                        imported[alias.asname or alias.name.split(".")[0]] = (
                            alias.name if alias.asname else alias.name.split(".")[0],
                            None,
                        )
                elif isinstance(node, ast.ImportFrom):
                    source = node.module or ""
                    if node.level:
                        base = package.split(".")[: len(package.split(".")) - node.level + 1]
                        source = ".".join(base + ([source] if source else []))
                    for alias in node.names:
                        if alias.name == "*":
                            stars.append(source)
                        else:
                            imported[alias.asname or alias.name] = (source, alias.name)
                else:
                    for child in ast.walk(node):
                        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                            own.add(child.id)
                    for field in ("body", "orelse", "finalbody"):
                        pending = [*getattr(node, field, []), *pending]
                    for handler in getattr(node, "handlers", []):
                        pending = [*handler.body, *pending]
            self.bound[name] = own, imported, stars
        return self.bound[name]

    def defines(self, module, name, seen=()):
        """True if the repository defines what a name of one of its modules means; None if nothing is seen to."""
        if (module.__name__, name) in seen:
            return None
        seen = (*seen, (module.__name__, name))
        own, imported, stars = self.bindings(module)
        value = vars(module).get(name)
        if isinstance(value, types.ModuleType):
            return False
        home = getattr(value, "__module__", None)
        if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)) and home:
            other = sys.modules.get(home)
            if other is None or not self.inside(other):
                # A value from outside that the repository gives a name of its own is its variable.
                return name in own and name not in imported
        if name in imported:
            source, attribute = imported[name]
            other = sys.modules.get(source)
            if other is None or not self.inside(other):
                return False
            return False if attribute is None else self.defines(other, attribute, seen)
        if name in own:
            return True
        for star in reversed(stars):
            other = sys.modules.get(star)
            if other is not None and name in vars(other):
                return self.defines(other, name, seen) if self.inside(other) else False
        return None


def is_typing(value):
    return type(value).__module__ in ("typing", "typing_extensions") or getattr(value, "__module__", "") in (
        "typing",
        "typing_extensions",
    )


def names_on(tracer, key, origins):
    """(names of the repository on executed lines, all names on executed lines)."""
    lines, scope = tracer.lines.get(key, set()), tracer.globals.get(key)
    truth, seen = set(), set()
    if scope is None:
        return truth, seen
    module = sys.modules.get(scope.get("__name__"))
    for code in tracer.codes[key]:
        line, chain = code.co_firstlineno, None
        imports = {}
        for step in dis.get_instructions(code):
            starts = step.starts_line
            if starts is not None:
                line = step.positions.lineno if starts is True else starts
            if line not in lines:
                chain = None
                continue
            name = step.argval if isinstance(step.argval, str) else None
            if step.opname == "IMPORT_NAME":
                chain = ("import", name)
            elif step.opname == "IMPORT_FROM" and chain and chain[0] == "import":
                source = sys.modules.get(absolute(chain[1], code, module))
                imports[name] = source
            elif step.opname in ("STORE_FAST", "STORE_DEREF") and imports:
                pass
            elif step.opname in ("LOAD_GLOBAL", "STORE_GLOBAL", "LOAD_NAME"):
                seen.add(name)
                value = scope.get(name)
                if isinstance(value, types.ModuleType) and origins.inside(value):
                    chain = ("module", value)
                    continue
                chain = None
                if name in scope and not is_typing(value) and origins.defines(module, name):
                    truth.add(name)
            elif step.opname in ("LOAD_FAST", "LOAD_DEREF", "LOAD_FAST_CHECK") and name in imports:
                seen.add(name)
                source = imports[name]
                if source is not None and origins.inside(source) and origins.defines(source, name):
                    truth.add(name)
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain and chain[0] == "module":
                seen.add(name)
                value = vars(chain[1]).get(name)
                if isinstance(value, types.ModuleType) and origins.inside(value):
                    chain = ("module", value)
                    continue
                if origins.defines(chain[1], name) and not is_typing(value):
                    truth.add(name)
                chain = None
            elif step.opname not in ("CACHE", "EXTENDED_ARG", "PUSH_NULL", "PRECALL", "POP_TOP"):
                chain = chain if chain and chain[0] == "import" else None
    return truth, seen


def absolute(name, code, module):
    if name in sys.modules:
        return name
    package = module.__name__ if hasattr(module, "__path__") else module.__name__.rpartition(".")[0]
    return f"{package}.{name}" if name else package


def of_pydepcall(root, rows):
    """The names that pydepcall gives each function: (path, name) to names."""
    from pydepcall.extractor import Extractor

    found = {}
    for path, module in Extractor(root).extract().items():
        for function in module.function_list:
            names = set()
            pending = list(function.children)
            while pending:
                child = pending.pop()
                if type(child).__name__ == "ImportNode":
                    called = set(function.called_identifiers)
                    names |= {one.name for one in child.children if getattr(one, "name", None) in called}
                elif getattr(child, "name", None):
                    names.add(child.name)
                else:
                    names |= set(child.content.split("=")[0].split(":")[0].split()[:1])
            found[(os.path.realpath(path), function.name)] = names - {function.name}
    return found


def figures(title, sets, traced):
    hit = wrong = missed = 0
    lines = []
    for key, (truth, seen) in traced.items():
        told = sets.get(key, set()) & seen
        hit += len(told & truth)
        wrong += len(told - truth)
        missed += len(truth - told)
        if told != truth:
            lines.append(f"  {os.path.basename(key[0])}:{key[1]}: extra {sorted(told - truth)}, missed {sorted(truth - told)}")
    precision = hit / (hit + wrong) if hit + wrong else 1.0
    recall = hit / (hit + missed) if hit + missed else 1.0
    print(f"{title}: precision {precision:.3f}, recall {recall:.3f} ({hit} hit, {wrong} extra, {missed} missed)")
    return lines


def main():
    arguments = sys.argv[1:]
    rest = arguments[arguments.index("--") + 1 :] if "--" in arguments else []
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("problems")
    parser.add_argument("root")
    parser.add_argument("--pydepcall", action="store_true")
    options = parser.parse_args(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    root = os.path.realpath(options.root)
    with open(options.problems, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    functions = [row["function"] for row in rows if row["function"].get("unfit") != "test"]
    keys = {(os.path.join(root, one["path"]), one["line"]): one for one in functions}
    tracer = Tracer(set(keys))
    os.chdir(root)
    sys.path.insert(0, root)
    pytest.main(["-q", "-x" if False else "-p", "no:cacheprovider", "--no-header", *rest], plugins=[tracer])
    origins = Origins(root)
    traced = {key: names_on(tracer, key, origins) for key in keys if tracer.lines.get(key)}
    # A function's own name is no dependency.
    traced = {key: (truth - {keys[key]["name"]}, seen) for key, (truth, seen) in traced.items()}
    print(f"functions {len(functions)}, executed {len(traced)}")
    sets = {key: {one["written"] for one in row["dependencies"] if one["depth"] == 1} for key, row in keys.items()}
    for line in figures("gistify", sets, traced):
        print(line)
    if options.pydepcall:
        theirs = of_pydepcall(root, rows)
        figures("pydepcall", {key: theirs.get((key[0], row["name"]), set()) for key, row in keys.items()}, traced)


main()
