"""Named items are of a class of their own."""

from dataclasses import dataclass

from dataclass_wizard import fromdict


@dataclass
class Port:
    number: int


@dataclass
class Plan:
    ports: dict[str, Port]


print(fromdict(Plan, {"ports": {"web": {"number": 80}}}))
