"""Two imports stand before the list of what a module exports."""

import isort

SOURCE = """\
from .first import (
    Beta,
    Alpha,
)
from .second import (
    Delta,
    Gamma,
)

__all__ = [
    "Gamma",
    "Alpha",
    "Delta",
    "Beta",
]
"""
found = isort.code(SOURCE, config=isort.Config(sort_reexports=True, profile="black"))
compile(found, "found.py", "exec")
assert found.count("__all__") == 1 and '"Alpha"' in found and found.index("__all__") > found.index("from .second"), found
