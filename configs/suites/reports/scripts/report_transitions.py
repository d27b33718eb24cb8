"""A graph of a machine is drawn as Mermaid text."""

from transitions.extensions import GraphMachine

machine = GraphMachine(
    states=["still", "moving"],
    transitions=[["start", "still", "moving"]],
    initial="still",
    graph_engine="mermaid",
)
print(machine.get_graph().draw(None))
