"""Describes tokens without their keys."""

import json

import jwt

told = []
with open("inputs/captured.txt") as file:
    for line, token in enumerate(file.read().split(), 1):
        head = jwt.get_unverified_header(token)
        claims = jwt.decode(token, options={"verify_signature": False, "verify_exp": False})
        told.append(
            {
                "line": line,
                "algorithm": head["alg"],
                "kid": head["kid"],
                "issuer": claims["iss"],
                "lifetime_s": claims["exp"] - claims["iat"],
            }
        )
with open("outputs/output.json", "w") as file:
    json.dump(told, file, indent=1)
