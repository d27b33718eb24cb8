"""Writes the values that tests/page_rank.rs expects, computed by networkx.

Usage: page_rank_reference.py NAME GRAPH.json (the output of `gistify graph`), once for each repository.
networkx runs once per module, with a personalization of 2 for it and 1 for all others.
"""

import json
import pathlib
import sys

import networkx

name, path = sys.argv[1:]
graph = json.loads(pathlib.Path(path).read_text())
count = len(graph["modules"])
edges = [(edge["from"], edge["to"], edge["weight"]) for edge in graph["imports"]]
digraph = networkx.DiGraph()
digraph.add_nodes_from(range(count))
digraph.add_weighted_edges_from(edges)
scores = []
for module in range(count):
    personalization = {node: 2 if node == module else 1 for node in range(count)}
    scores.append(networkx.pagerank(digraph, alpha=0.85, personalization=personalization)[module])
made = {"networkx": networkx.__version__, "count": count, "edges": edges, "scores": scores}
target = pathlib.Path(__file__).parent / "data" / f"page_rank_{name}.json"
target.write_text(json.dumps(made) + "\n")
