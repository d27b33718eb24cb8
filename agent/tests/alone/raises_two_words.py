# A docstring of somebody else's: one bad line, and none of it can be read.
from docstring_parser import DocstringStyle, parse

DOCSTRING = """Opens the till.

:param code: the code
:raises ValueError if the code is wrong: always
"""

parsed = parse(DOCSTRING, style=DocstringStyle.REST)
for raised in parsed.raises:
    print(raised.type_name, raised.description)
