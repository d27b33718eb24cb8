# The column has its name in the second part of the union only.
import sqlglot
from sqlglot.optimizer import optimize

QUERY = """
select b
from (
    select 1 as a
    union all
    select 2 as b
) as both
where b = 2
"""
print(sqlglot.transpile(QUERY, pretty=True)[0])
print(optimize(QUERY).sql())
