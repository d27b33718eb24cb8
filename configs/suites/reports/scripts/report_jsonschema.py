"""Neither alternative fits better, so the error that holds for both is the best match."""

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

schema = {
    "oneOf": [
        {"required": ["alpha"], "properties": {"alpha": {"type": "string"}}},
        {"required": ["beta"], "properties": {"beta": {"type": "string"}}},
    ]
}
found = best_match(Draft202012Validator(schema).iter_errors({"alpha": 1, "beta": 2}))
assert found.validator == "oneOf", f"{found.validator}: {found.message}"
