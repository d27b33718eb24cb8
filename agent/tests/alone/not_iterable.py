# A formula of a user: all other mistakes end in one of the library's own errors.
from simpleeval import EvalWithCompoundTypes, InvalidExpression


def evaluated(formula, **names):
    try:
        return EvalWithCompoundTypes(names=names).eval(formula)
    except InvalidExpression as error:
        return f"wrong: {error}"


print(evaluated("[x * 2 for x in prices]", prices=[1, 2]))
print(evaluated("[x * 2 for x in price]"))
print(evaluated("[x * 2 for x in price]", price=5))
