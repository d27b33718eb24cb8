"""A validator that runs afterwards is written as one of the class."""

from pydantic import BaseModel, model_validator


class Crate(BaseModel):
    weight: int = 0

    @model_validator(mode="after")
    def check(cls, values):
        assert values.weight > 0
        return values


print(Crate(weight=4))
