#!/usr/bin/env bash
# CodeBLEU (codebleu 0.7.0) counts a data-flow match of 0 as 1 in its sum (`theta * (dataflow_match_score or 1)`). The
# guard is meant for references without data flow, but a prediction that gets all of a reference's data flow wrong has a
# match of 0 too: it scores a quarter more than one that gets a little of it right, and an empty prediction scores 0.25.
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
python3 -m venv "$directory/environment"
"$directory/environment/bin/pip" install -q codebleu==0.7.0 tree-sitter==0.22.3 tree-sitter-python==0.21.0 2>/dev/null
cat > "$directory/score.py" <<'PYTHON'
from importlib.metadata import version

from codebleu import calc_codebleu

print("codebleu", version("codebleu"))
reference = "a = b\nc = d + a\ne = c + a\nreturn e"
scores = {}
for name, prediction in [("empty", ""), ("nothing right", "pass"), ("a little right", "a = b\nreturn a")]:
    score = calc_codebleu([reference], [prediction], lang="python")
    scores[name] = score["codebleu"]
    print(f"{name}: data-flow match {score['dataflow_match_score']:.3f}, codebleu {score['codebleu']:.3f}")
raise SystemExit(0 if scores["empty"] == 0.25 and scores["nothing right"] == 0.25 else 1)
PYTHON
"$directory/environment/bin/python" "$directory/score.py" 2>/dev/null ||
  { echo "the behaviour has changed"; exit 1; }
