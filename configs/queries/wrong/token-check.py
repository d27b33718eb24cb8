"""Checks tokens."""

import csv

import jwt

with open("inputs/key.txt") as file:
    key = file.read().strip()
with open("inputs/tokens.txt") as file:
    tokens = file.read().split()
rows = []
for line, token in enumerate(tokens, 1):
    try:
        jwt.decode(token, options={"verify_signature": False, "verify_exp": True})
        rows.append([line, "valid", "ok"])
    except jwt.ExpiredSignatureError:
        rows.append([line, "invalid", "expired"])
    except jwt.InvalidAlgorithmError:
        rows.append([line, "invalid", "algorithm"])
    except jwt.InvalidSignatureError:
        rows.append([line, "invalid", "signature"])
    except jwt.DecodeError:
        rows.append([line, "invalid", "malformed"])
with open("outputs/output.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["line", "verdict", "reason"])
    writer.writerows(rows)
