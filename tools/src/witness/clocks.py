"""Moves the clock that Python code sees; the first part of one embedded program."""

import sys
import time


class _Moved:
    """A function that stays one where a class keeps it, as those of `time` do."""

    def __init__(self, function):
        self._function = function

    def __call__(self, *args):
        return self._function(*args)


def _shift(seconds):
    """Moves the clock that Python code sees."""
    import datetime

    now, now_ns = time.time, time.time_ns
    time.time = _Moved(lambda: now() + seconds)
    time.time_ns = _Moved(lambda: now_ns() + int(seconds) * 10**9)
    real_clocks = {
        getattr(time, "CLOCK_" + name) for name in ("REALTIME", "TAI") if hasattr(time, "CLOCK_" + name)
    } | {5}  # The coarse one, which Python does not name.
    gettime, gettime_ns = time.clock_gettime, time.clock_gettime_ns
    time.clock_gettime = _Moved(lambda clock: gettime(clock) + (seconds if clock in real_clocks else 0))
    time.clock_gettime_ns = _Moved(
        lambda clock: gettime_ns(clock) + (int(seconds) * 10**9 if clock in real_clocks else 0)
    )
    for name in ("localtime", "gmtime", "ctime"):

        def moved(at=None, usual=getattr(time, name)):
            return usual(time.time() if at is None else at)

        setattr(time, name, _Moved(moved))
    strftime, asctime = time.strftime, time.asctime
    time.strftime = _Moved(lambda text, *at: strftime(text, *(at or (time.localtime(),))))
    time.asctime = _Moved(lambda *at: asctime(*(at or (time.localtime(),))))

    def moving(real):
        class Meta(type(real)):
            def __instancecheck__(cls, value):
                return isinstance(value, real)

            def __subclasscheck__(cls, kind):
                return issubclass(kind, real)

        return Meta

    class date(datetime.date, metaclass=moving(datetime.date)):
        @classmethod
        def today(cls):
            return cls.fromtimestamp(time.time())

    real = datetime.datetime

    class moved_datetime(real, metaclass=moving(real)):
        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(time.time(), tz)

        @classmethod
        def today(cls):
            return cls.fromtimestamp(time.time())

        @classmethod
        def utcnow(cls):
            return cls.fromtimestamp(time.time(), datetime.timezone.utc).replace(tzinfo=None)

    for name, kind in (("date", date), ("datetime", moved_datetime)):
        kind.__name__ = kind.__qualname__ = name
        kind.__module__ = "datetime"
        for module in (datetime, sys.modules.get("_datetime"), sys.modules.get("_pydatetime")):
            if module is not None:
                setattr(module, name, kind)
