# More widths than columns: expected are a table or a message, not an IndexError inside.
from tabulate import tabulate

rows = [["apple", "red"], ["pear"]]
print(tabulate(rows, tablefmt="grid"))
print(tabulate(rows, tablefmt="grid", maxcolwidths=[1, 2, 3], colalign=["left", "left", "left"]))
