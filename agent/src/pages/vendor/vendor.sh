#!/bin/sh
# Compares the files of this directory with the packages on npm. With --write it replaces them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-save --prefix . d3@7.9.0 @observablehq/plot@0.6.17 prismjs@1.30.0
mkdir new
cp node_modules/d3/dist/d3.min.js new/d3.js
cp node_modules/d3/LICENSE new/d3.LICENSE
cp node_modules/@observablehq/plot/dist/plot.umd.min.js new/plot.js
cp node_modules/@observablehq/plot/LICENSE new/plot.LICENSE
for part in core python; do
  cat "node_modules/prismjs/components/prism-$part.min.js"
  echo
done > new/prism.js
cp node_modules/prismjs/LICENSE new/prism.LICENSE
for file in new/*; do
  if [ "${1:-}" = --write ]; then
    cp "$file" "$here"
  else
    cmp "$file" "$here/${file#new/}"
  fi
done
