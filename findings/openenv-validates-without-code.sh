#!/usr/bin/env bash
# `openenv validate` (openenv 0.10.0) exits with 0 for a package of which only openenv.yaml is left. The server, the
# client and the project file are gone, although the manifest names `app: server.app:app`. `openenv init` writes a
# manifest without the section `validation.execution`. Of such a package only the manifest itself is checked, and all
# other checks are skipped. The verdict WARN counts as success, so that no line of the environment is checked.
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
python3 -m venv environment
environment/bin/pip install -q openenv==0.10.0 2>/dev/null
environment/bin/pip show openenv 2>/dev/null | sed -n 2p
environment/bin/openenv init sample >log 2>&1 || { cat log; exit 1; }
find sample -mindepth 1 ! -name openenv.yaml -delete
echo "files: $(ls sample)"
grep '^app:' sample/openenv.yaml
code=0
environment/bin/openenv validate sample >report 2>&1 || code=$?
echo "passed $(grep -c '^  PASS ' report), failed $(grep -c '^  FAIL ' report || true), skipped $(grep -c '^  SKIP ' report)"
tail -1 report
echo "exit code: $code"
[ "$code" -eq 0 ] && [ "$(grep -c '^  PASS ' report)" -eq 1 ] && grep -q '^Verdict: WARN' report ||
  { echo "the behaviour has changed"; exit 1; }
