# A field that is null in one of the objects: a filter should leave this one out.
import json

from jsonpath_ng.ext import parse

DATA = json.loads('{"items": [{"name": "a", "price": 3}, {"name": "b", "price": null}]}')


def names(path):
    return [match.value["name"] for match in parse(path).find(DATA)]


print(names("$.items[*]"))
print(names("$.items[?price > 1]"))
