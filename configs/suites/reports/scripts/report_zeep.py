"""A service sends a date with a time behind it."""

import datetime

from zeep.xsd.types.builtins import Date

found = Date().pythonvalue("2024-10-11T00:00:00")
assert found == datetime.date(2024, 10, 11), found
