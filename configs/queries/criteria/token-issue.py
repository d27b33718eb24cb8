"""Each user has a token with the claims, signed by the key."""

import base64
import hashlib
import hmac
import json

from answer import inputs, outputs, say


def bytes_of(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


key = (inputs / "key.txt").read_bytes().strip()
users = json.loads((inputs / "users.json").read_text(encoding="utf-8"))
tokens = (outputs / "output.txt").read_text().split()
if len(tokens) != len(users):
    say(True, False, f"{len(tokens)} tokens for {len(users)} users")
right = 0
for token, user in zip(tokens, users):
    try:
        signed, _, signature = token.rpartition(".")
        head, claims = (json.loads(bytes_of(part)) for part in signed.split("."))
        good = hmac.compare_digest(
            hmac.new(key, signed.encode(), hashlib.sha256).digest(), bytes_of(signature)
        )
    except ValueError:
        continue
    wanted = {"sub": user["sub"], "role": user["role"], "iss": "gate", "iat": 1750000000, "exp": 1750003600}
    right += good and claims == wanted and (head.get("alg"), head.get("kid")) == ("HS256", "2025-06")
say(
    True,
    right == len(users),
    "" if right == len(users) else f"{right} of {len(users)} tokens are right",
    tokens=right,
)
