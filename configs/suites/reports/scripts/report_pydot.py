"""A node's name has a period in it."""

import pydot

graph = pydot.Dot("streets", graph_type="digraph")
graph.add_node(pydot.Node("st.james"))
graph.add_edge(pydot.Edge("st.james", "market"))
found = graph.to_string()
assert '"st.james" -> market' in found, found
