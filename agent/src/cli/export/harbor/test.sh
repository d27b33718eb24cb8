#!/bin/bash
# Judges the function of /app/gist.py and writes the reward.
python3 -B /tests/judge.py /tests/original.py /app/gist.py @FUNCTION@ /logs/verifier/reward.json
