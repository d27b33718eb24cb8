"""A subquery speaks of its own table and of the outer one."""

import sqlglot
from sqlglot.optimizer.qualify import qualify

QUERY = "SELECT * FROM pupils AS p WHERE EXISTS(SELECT 1 FROM marks WHERE mark > p.age)"
found = qualify(sqlglot.parse_one(QUERY)).sql()
assert '"p"."marks"' not in found, found
