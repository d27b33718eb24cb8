"""A table has headers with a width, and no rows."""

from tabulate import tabulate

print(tabulate([], headers=["name", "age"], maxheadercolwidths=4))
