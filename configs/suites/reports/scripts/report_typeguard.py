"""A local name with an annotation is set inside a condition."""

from typeguard import typechecked


@typechecked
def weigh() -> str:
    label: str
    if label := str(12):
        return label
    return ""


print(weigh())
