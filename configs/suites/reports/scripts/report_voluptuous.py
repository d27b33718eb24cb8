"""Two schemas run in turn, and the second has a default."""

import voluptuous as v

check = v.All(
    v.Schema({v.Required(v.Any("red", "blue")): object}, extra=v.ALLOW_EXTRA),
    v.Schema({v.Exclusive("red", "paint"): str, v.Optional("dry", default=True): bool}, extra=v.REMOVE_EXTRA),
)
print(check({"red": "light", "dry": True}))
