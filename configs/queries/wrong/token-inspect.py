"""Describes the tokens whose signature a key verifies."""

import json

import jwt

key, told = "a-key-of-thirty-two-bytes-or-more!", []
with open("inputs/captured.txt") as file:
    for line, token in enumerate(file.read().split(), 1):
        try:
            claims = jwt.decode(token, key, algorithms=["HS256"], options={"verify_exp": False})
        except jwt.InvalidTokenError:
            continue
        head = jwt.get_unverified_header(token)
        lifetime = claims["exp"] - claims["iat"]
        told.append({"line": line, "algorithm": head["alg"], "kid": head["kid"], "issuer": claims["iss"]})
        told[-1]["lifetime_s"] = lifetime
with open("outputs/output.json", "w") as file:
    json.dump(told, file, indent=1)
