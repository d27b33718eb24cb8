#!/usr/bin/env bash
# CodeBLEU (codebleu 0.7.0) gives one pair of texts different scores in different processes: the data-flow match puts
# variables into sets, numbers them in the sets' order and compares the numbers, so that the score depends on
# PYTHONHASHSEED, which Python draws anew for each process. Scores of two runs of one evaluation cannot be compared
# digit by digit unless the seed is set.
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
python3 -m venv "$directory/environment"
"$directory/environment/bin/pip" install -q codebleu==0.7.0 tree-sitter==0.22.3 tree-sitter-python==0.21.0 2>/dev/null
cat > "$directory/score.py" <<'PYTHON'
from importlib.metadata import version
import os

from codebleu import calc_codebleu

reference = "while n > 0:\n    n = n - k\n    t = t + n * k\nreturn t"
prediction = "while n:\n    n = n - k\n    t = n * k + t\nreturn t"
score = calc_codebleu([reference], [prediction], lang="python")
print("codebleu", version("codebleu"), "hash seed", os.environ["PYTHONHASHSEED"], "score", score["codebleu"])
PYTHON
for seed in 0 1 2 3 4 5; do
  PYTHONHASHSEED=$seed "$directory/environment/bin/python" "$directory/score.py" 2>/dev/null
done | tee "$directory/scores"
different=$(awk '{print $NF}' "$directory/scores" | sort -u | wc -l)
echo "different scores of one pair: $different"
[ "$different" -gt 1 ] ||
  { echo "the behaviour has changed"; exit 1; }
