"""A function asks which attempt it is in."""

from tenacity import retry, stop_after_attempt


@retry(stop=stop_after_attempt(3), reraise=True)
def fetch():
    return fetch.retry.statistics["attempt_number"]


print(fetch())
