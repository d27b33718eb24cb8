# Three days before the last of the month, as other crons write it.
from croniter import croniter


def parts(expression):
    expanded, nth = croniter.expand(expression)
    return expanded, nth


for expression in ["0 0 L * *", "0 0 L-3 * *"]:
    days, _ = parts(expression)
    print(expression, days[2])
