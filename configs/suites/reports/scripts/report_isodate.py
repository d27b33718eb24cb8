"""A duration in the alternative format says nothing of months."""

import isodate

found = isodate.parse_duration("P0002T05", as_timedelta_if_possible=False)
assert found.months == 0, found
