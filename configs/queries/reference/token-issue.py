"""Issues tokens for users."""

import json

import jwt

with open("inputs/key.txt") as file:
    key = file.read().strip()
with open("inputs/users.json", encoding="utf-8") as file:
    users = json.load(file)
with open("outputs/output.txt", "w") as file:
    for user in users:
        claims = {**user, "iss": "gate", "iat": 1750000000, "exp": 1750003600}
        file.write(jwt.encode(claims, key, algorithm="HS256", headers={"kid": "2025-06"}) + "\n")
