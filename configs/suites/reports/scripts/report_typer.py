"""No tag is given, so the factory's empty list is the value."""

from typing import Annotated

import typer

app = typer.Typer()


def nothing() -> list[str]:
    return []


@app.command()
def show(tag: Annotated[list[str], typer.Option(default_factory=nothing)]):
    assert tag == [], type(tag).__name__


app([])
