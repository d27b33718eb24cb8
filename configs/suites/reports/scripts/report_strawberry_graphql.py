"""Two lists of two nested generic types get one name in the schema."""

from typing import Generic, TypeVar

import strawberry

Item = TypeVar("Item")


@strawberry.type
class Shelf(Generic[Item]):
    upper: list[Item] = strawberry.field(resolver=lambda: [])
    lower: list[Item] = strawberry.field(resolver=lambda: [])


@strawberry.type
class Room(Generic[Item]):
    things: list[Item]


@strawberry.type
class Book:
    title: str


@strawberry.type
class Vase:
    height: int


@strawberry.type
class Query:
    @strawberry.field
    def library(self) -> Room[Shelf[Book]]:
        return Room(things=[])

    @strawberry.field
    def hall(self) -> Room[Shelf[Vase]]:
        return Room(things=[])


print(strawberry.Schema(query=Query))
