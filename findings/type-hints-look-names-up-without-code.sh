#!/usr/bin/env bash
# CPython 3.14 and later evaluate the text of an annotation without running code, if the text is one plain name:
# `annotationlib.ForwardRef.evaluate` looks `"Item"` up in dictionaries itself. The text is still compiled, and the code
# never runs. `"Item | None"` is compiled and run, as both are up to 3.13. A tracer, a profiler or an audit hook for
# `exec` therefore sees the second text and misses the first.
# PYTHON names a Python 3.14 or later [default: python3.14].
set -euo pipefail
python=${PYTHON:-python3.14}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cat > "$directory/look.py" <<'PYTHON'
import sys
import typing


class Item:
    pass


seen = []
sys.addaudithook(lambda event, args: event in ("compile", "exec") and seen.append(event))


def look(text):
    def function(item):
        pass

    function.__annotations__ = {"item": text}
    seen.clear()
    typing.get_type_hints(function)
    return list(seen)


look("Item")  # Modules are loaded at the first time.
print("python", sys.version.split()[0])
for text in ("Item", "Item | None"):
    print(f"{text!r}: {look(text)}")
PYTHON
"$python" "$directory/look.py" | tee "$directory/printed"
cat > "$directory/expected" <<'TEXT'
'Item': ['compile']
'Item | None': ['compile', 'exec']
TEXT
tail -n 2 "$directory/printed" | diff "$directory/expected" - || { echo "the behaviour has changed"; exit 1; }
