"""The Python half of the benches: what other tools answer, and what really happens.

peers.py runtime ROOT -- PYTEST-ARGUMENTS   calls made while the tests below ROOT run (Python 3.12 or newer)
peers.py jedi ROOT                          what jedi infers for the call sites on standard input
peers.py networkx                           PageRank of the graph on standard input, once per node

All exchange JSON on standard output; times are CPU seconds.
"""
import ast
import functools
import json
import os
import sys
import time
import types
import typing


def call_nodes(path):
    """The calls of a file by their position: line and column of the callee's name, and the name."""
    with open(path, "rb") as file:
        source = file.read()
    lines = source.split(b"\n")
    nodes = {}
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name):
            line, column, name = called.lineno, called.col_offset, called.id
        elif isinstance(called, ast.Attribute):
            line, name = called.end_lineno, called.attr
            column = called.end_col_offset - len(name.encode())
        else:
            line, column, name = called.lineno, called.col_offset, ""
        column = len(lines[line - 1][:column].decode(errors="replace"))
        place = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
        nodes[place] = (line, column, name)
    return nodes


def code_called(called, root):
    """The code that a call of this object runs, without running any of it; wrappers of others are looked through."""
    if type(called) is functools._lru_cache_wrapper:
        called = called.__wrapped__
    if type(called) in (types.GenericAlias, typing._GenericAlias):
        called = called.__origin__
    if type(called) is types.MethodType:
        called = called.__func__
    while type(called) is types.FunctionType:
        if called.__code__.co_filename.startswith(root) or "__wrapped__" not in called.__dict__:
            return called.__code__, None
        called = called.__dict__["__wrapped__"]
    # A class, or an object that can be called.
    names = ("__init__", "__new__") if isinstance(called, type) else ("__call__",)
    kind = called if isinstance(called, type) else type(called)
    order = type.__dict__["__mro__"].__get__(kind)
    for name in names:
        for base in order:
            found = type.__dict__["__dict__"].__get__(base).get(name)
            if type(found) in (staticmethod, classmethod):
                found = found.__func__
            if type(found) is types.FunctionType:
                return found.__code__, kind.__name__ if isinstance(called, type) else None
            if found is not None:
                break
    return None, None


def runtime(root, arguments):
    root = os.path.realpath(root) + os.sep
    monitoring = sys.monitoring
    tool = 4
    monitoring.use_tool_id(tool, "graphs")
    places, nodes, seen = {}, {}, {}

    def started(code, _):
        if code.co_filename.startswith(root):
            monitoring.set_local_events(tool, code, monitoring.events.CALL)
        return monitoring.DISABLE

    def calling(code, offset, called, _):
        place = places.get((code, offset))
        if place is None:
            position = list(code.co_positions())[offset // 2]
            path = code.co_filename
            if path not in nodes:
                nodes[path] = call_nodes(path)
            node = nodes[path].get(position)
            place = places[code, offset] = node and (path[len(root):], *node)
        if not place:
            return monitoring.DISABLE
        callees = seen.setdefault(place, {})
        ran, of_class = code_called(called, root)
        if ran is not None and ran.co_filename.startswith(root):
            named = place[3] and place[3] in (ran.co_name, of_class)
            callees[ran.co_filename[len(root):], ran.co_firstlineno] = bool(named)

    monitoring.register_callback(tool, monitoring.events.PY_START, started)
    monitoring.register_callback(tool, monitoring.events.CALL, calling)
    monitoring.set_events(tool, monitoring.events.PY_START)
    os.chdir(root)
    source = os.path.join(root, "src")
    sys.path.insert(0, source if os.path.isdir(source) else root)
    import pytest

    saved = os.dup(1)
    os.dup2(2, 1)
    pytest.main(["-q", "-p", "no:cacheprovider", *arguments])
    monitoring.set_events(tool, 0)
    os.dup2(saved, 1)
    sites = [
        {"place": place, "callees": [[*callee, named] for callee, named in sorted(callees.items())]}
        for place, callees in sorted(seen.items())
    ]
    print(json.dumps(sites))


def jedi(root):
    import jedi

    sites = json.load(sys.stdin)
    root = os.path.realpath(root)
    source = os.path.join(root, "src")
    project = jedi.Project(root, added_sys_path=[source] if os.path.isdir(source) else [])
    started = time.process_time()
    scripts, answers = {}, []
    for path, line, column, _ in sites:
        if path not in scripts:
            scripts[path] = jedi.Script(path=os.path.join(root, path), project=project)
        found = []
        try:
            for name in scripts[path].infer(line, column):
                where = str(name.module_path or "")
                if where.startswith(root + os.sep) and name.line:
                    found.append([where[len(root) + 1:], name.line])
        except Exception:  # jedi has bugs; what it cannot answer is no answer
            pass
        answers.append(found)
    print(json.dumps({"seconds": time.process_time() - started, "answers": answers}))


def page_rank():
    import networkx

    given = json.load(sys.stdin)
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(given["count"]))
    graph.add_weighted_edges_from(given["edges"])
    networkx.pagerank(graph)
    started = time.process_time()
    scores = []
    for node in graph:
        personal = {other: 2 if other == node else 1 for other in graph}
        scores.append(networkx.pagerank(graph, alpha=0.85, personalization=personal)[node])
    print(json.dumps({"seconds": time.process_time() - started, "scores": scores}))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["runtime", root, "--", *arguments]:
            runtime(root, arguments)
        case ["jedi", root]:
            jedi(root)
        case ["networkx"]:
            page_rank()
        case _:
            sys.exit(__doc__)
