"""An exception that a processor turned into a list is to be shown on the console."""

import structlog

structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.processors.dict_tracebacks,
        structlog.dev.ConsoleRenderer(colors=False),
    ]
)
log = structlog.get_logger()
try:
    1 / 0
except ZeroDivisionError:
    log.exception("divided")
