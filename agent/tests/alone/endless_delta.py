# The time until a counter runs over, which is long.
import humanize


class Counter:
    def __init__(self, rate):
        self.rate = rate

    def left(self):
        return 2**1000 / self.rate


print(humanize.precisedelta(3600 * 30))
print(f"runs over in {humanize.precisedelta(Counter(rate=8).left())}")
