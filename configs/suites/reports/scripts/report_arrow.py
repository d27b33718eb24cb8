"""A negative amount is read as a positive one."""

import arrow

start = arrow.get(2024, 5, 1, 12)
try:
    found = start.dehumanize("in -2 hours")
except ValueError:
    found = None
assert found is None or found < start, found
