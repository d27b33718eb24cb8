"""What was found is kept by its path."""

from jsonpath_ng import parse

shop = {"shelves": [{"name": "upper"}, {"name": "lower"}]}
print({match.full_path: match.value for match in parse("$.shelves[*].name").find(shop)})
