#!/bin/sh
# Exits with 0 where a file fails as @NAME@ did:
#   @SHOWN@
# The file is the first argument, else @NAME@ in the current directory (Shrink Ray, C-Vise).
# Runs write nothing but the current directory and have no network, where bubblewrap can see to it.
# Written by gistify oracle, gistify @VERSION@. PYTHON=... names another interpreter.
python=${PYTHON:-@PYTHON@}
file=${1:-@NAME@}
export TMPDIR="$PWD" PYTHONDONTWRITEBYTECODE=1
set -- "$python" - "$file" @RUNNER@ @FAILURE@
if bwrap --ro-bind / / --dev /dev --proc /proc true 2>/dev/null; then
  set -- bwrap --ro-bind / / --dev /dev --proc /proc --bind "$PWD" "$PWD" --chdir "$PWD" \
    --unshare-net --unshare-pid --die-with-parent --new-session "$@"
fi
exec "$@" <<'PYTHON'
@PROGRAM@PYTHON
