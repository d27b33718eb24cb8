"""A shortened help flag is given."""

import cyclopts


def repeat(times: int):
    print("again " * times)


app = cyclopts.App()
app.default(repeat)
app(["--h"])
