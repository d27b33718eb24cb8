# Durations come as text out of the configuration.
from datetime import datetime, timezone

from icalendar import Calendar, Event

calendar = Calendar()
calendar.add("prodid", "-//report//")
event = Event()
event.add("dtstart", datetime(2024, 6, 1, 8, tzinfo=timezone.utc))
event.add("duration", "PT1H")
calendar.add_component(event)
print(calendar.to_ical().decode())
