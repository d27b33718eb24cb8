"""The tokens are described, although their keys are not known."""

import json

from answer import outputs, say

told = json.loads((outputs / "output.json").read_text())
expected = [
    {"line": 1, "algorithm": "HS256", "kid": "k1", "issuer": "shop", "lifetime_s": 3600},
    {"line": 2, "algorithm": "HS256", "kid": "k2", "issuer": "desk", "lifetime_s": 600},
    {"line": 3, "algorithm": "HS256", "kid": "k1", "issuer": "shop", "lifetime_s": 86400},
    {"line": 4, "algorithm": "HS512", "kid": "k3", "issuer": "mail", "lifetime_s": 60},
]
if not isinstance(told, list):
    say(True, False, "it is no list")
right = sum(one == other for one, other in zip(told, expected))
passed = told == expected
say(True, passed, "" if passed else f"{right} of {len(expected)} tokens are right", tokens=right)
