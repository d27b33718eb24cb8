#!/usr/bin/env bash
# The crate ruff_python_parser 0.0.10 reports valid Python as a syntax error: a `raise` without an expression in front of
# another statement of its line ("raise; x = 1"). `return` in the same place is read as Python reads it. The ruff program
# of the package index (0.17.6) accepts both, so that who compares the two meets files which only one of them reads.
# Minified modules have such lines (a YAML parser that is vendored by dynaconf 3.3.5, for one).
set -euo pipefail
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
mkdir -p "$directory/src"
cat > "$directory/Cargo.toml" <<'TOML'
[package]
name = "reads"
version = "0.1.0"
edition = "2024"
[dependencies]
ruff_python_parser = "=0.0.10"
TOML
cat > "$directory/src/main.rs" <<'RUST'
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
fn main() {
    for text in ["try: f()\nexcept E: raise; x = 1\n", "def f(): return; x = 1\n"] {
        let parsed = parse_unchecked(text, ParseOptions::from(Mode::Module));
        let errors: Vec<String> = parsed.errors().iter().map(|one| one.error.to_string()).collect();
        println!("crate: {:?} {errors:?}", text.lines().last().unwrap());
    }
}
RUST
printf 'try: f()\nexcept E: raise; x = 1\n' > "$directory/raise.py"
python3 -m py_compile "$directory/raise.py" && echo "python: valid"
python3 -m venv "$directory/environment"
"$directory/environment/bin/pip" install -q ruff==0.17.6 2>/dev/null
"$directory/environment/bin/ruff" check --isolated --quiet --select E9 "$directory/raise.py" && echo "ruff 0.17.6: valid"
cargo run --quiet --manifest-path "$directory/Cargo.toml" | tee "$directory/found"
grep -q 'raise; x = 1" \["Expected an expression"\]' "$directory/found" && grep -q 'return; x = 1" \[\]' "$directory/found" ||
  { echo "the behaviour has changed"; exit 1; }
