"""Eight digits are a year, a month and a day."""

from datetime import datetime

import dateparser

found = dateparser.parse("20240201")
assert found == datetime(2024, 2, 1), found
