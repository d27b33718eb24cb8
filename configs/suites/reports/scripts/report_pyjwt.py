"""A token of an issuer whose name is part of the expected one."""

import jwt

token = jwt.encode({"iss": "https://exam"}, "k" * 32, algorithm="HS256")
try:
    found = jwt.decode(token, "k" * 32, algorithms=["HS256"], issuer="https://example.org")
except jwt.InvalidIssuerError:
    found = None
assert found is None, found
