#!/usr/bin/env bash
# pytest (9.2.0 on CPython 3.15) loads every lazy import (PEP 810) at the top of a test module while it collects: it
# looks for fixtures by `getattr(module, name)` for each name of `dir(module)`, which carries the import out. A lazy
# import that no test uses is loaded all the same. A `__dir__` of the module that leaves such names out keeps them lazy.
# PYTHON names a Python 3.15 [default: python3.15].
set -euo pipefail
python=${PYTHON:-python3.15}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$python" -m venv --without-pip "$directory/environment"
if command -v uv >/dev/null; then
  uv pip install -q --python "$directory/environment/bin/python" pytest==9.2.0
else
  python3 -m pip --python "$directory/environment/bin/python" install -q --disable-pip-version-check pytest==9.2.0
fi
cat > "$directory/test_plain.py" <<'PYTHON'
import sys
lazy import wave


def test_is_lazy():
    assert "wave" not in sys.modules
PYTHON
{ cat "$directory/test_plain.py"; cat <<'PYTHON'; } > "$directory/test_hidden.py"


def __dir__():
    return [name for name in globals() if name != "wave"]
PYTHON
run=("$directory/environment/bin/python" -m pytest -q -p no:cacheprovider --rootdir "$directory")
"${run[0]}" -c 'import sys, pytest; print("python", sys.version.split()[0], "pytest", pytest.__version__)'
plain=0 hidden=0
"${run[@]}" "$directory/test_plain.py" | tail -2 || plain=$?
"${run[@]}" "$directory/test_hidden.py" | tail -2 || hidden=$?
echo "a lazy import of a test module: exit code $plain; hidden from dir(): exit code $hidden"
[ "$plain" = 1 ] && [ "$hidden" = 0 ] || { echo "the behaviour has changed"; exit 1; }
