"""A no-break space behind a table's delimiter row is more than two extras together can take."""

import markdown2

rows = ["| left | right |", "|------|-------|\xa0", "| 1 | 2 |"]
print(markdown2.markdown("\n".join(rows), extras=["tables", "break-on-newline"]))
