#!/bin/bash
set -uxo pipefail
cd /testbed
rm -rf judge
git apply --verbose - <<'END_OF_TEST_PATCH'
@TEST_PATCH@
END_OF_TEST_PATCH
: '>>>>> Start Test Output'
python3 -B judge/judge.py judge/original.py gist.py @FUNCTION@
: '>>>>> End Test Output'
rm -rf judge
