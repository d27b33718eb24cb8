"""A number of a subclass has a constant of its class in its state."""

import jsonpickle


class Long(int):
    __slots__ = ()
    kind = 18

    def __getstate__(self):
        return {"kind": 18}

    def __setstate__(self, state):
        pass


TEXT = '{"py/object": "__main__.Long", "py/newargs": {"py/tuple": [7]}, "kind": 18}'
print(jsonpickle.decode(TEXT))
