"""A message that shows a dictionary is logged with one more argument."""

import sys

from loguru import logger

logger.remove()
logger.add(sys.stdout, format="{message}")
order = {"size": 3}
logger.error(f"refused {order}", order)
