"""The next time is asked for from another start."""

from datetime import datetime

from croniter import croniter

times = croniter("0 12 * * *", datetime(2024, 7, 1))
found = times.get_next(datetime, start_time=datetime(2024, 7, 26))
assert found == datetime(2024, 7, 26, 12), found
