"""A measured length is shown in a handier unit."""

import pint

units = pint.UnitRegistry()
print((1240 * units.metre).plus_minus(10).to_compact())
