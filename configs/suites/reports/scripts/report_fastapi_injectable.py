"""A dependency may be there or not."""

import asyncio
from typing import Annotated

from fastapi import Depends
from fastapi_injectable import injectable


class Mayor:
    pass


async def find_mayor() -> Mayor | None:
    return None


@injectable
async def describe(mayor: Annotated[Mayor | None, Depends(find_mayor)]) -> str:
    return "nobody" if mayor is None else "somebody"


print(asyncio.run(describe()))
