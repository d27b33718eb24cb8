# The same field once as a value and once as a dictionary.
from parse import compile

formats = ["{user[name]} {user[mail]}", "{user[name]} {user[name][first]}"]
for one in formats:
    result = compile(one).parse("maria m@example.org")
    print(result.named)
