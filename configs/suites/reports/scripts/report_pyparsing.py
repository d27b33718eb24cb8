"""An operand of a sum is a product, in one group of its own."""

import pyparsing as pp

seen = []
number = pp.Word(pp.nums)
expression = pp.infix_notation(
    number,
    [
        ("*", 2, pp.OpAssoc.LEFT, lambda tokens: seen.append(tokens.as_list())),
        ("+", 2, pp.OpAssoc.LEFT, lambda tokens: seen.append(tokens.as_list())),
    ],
)
expression.parse_string("1 + 2 * 3", parse_all=True)
assert seen == [[["2", "*", "3"]], [["1", "+", ["2", "*", "3"]]]], seen
