"""An annotation has a name that is a word of SQL."""

from tortoise import Tortoise, fields, run_async
from tortoise.expressions import F
from tortoise.models import Model


class Meal(Model):
    id = fields.IntField(primary_key=True)
    size = fields.IntField()


async def main():
    await Tortoise.init(db_url="sqlite://:memory:", modules={"models": ["__main__"]})
    await Tortoise.generate_schemas()
    await Meal.create(size=3)
    await Meal.create(size=1)
    found = await Meal.annotate(order=F("size")).order_by("order")
    print([meal.size for meal in found])


run_async(main())
