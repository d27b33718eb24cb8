"""Exits with 0 where a file fails in a given way, else with 1.

    python - FILE RUNNER FAILURE < same_failure.py

RUNNER is `python` or `pytest`. FAILURE is `TYPE: MESSAGE`, `TYPE`, `exit code N` or `signal N`, as a repro
names it; of a message the first line counts. Addresses and absolute paths differ from run to run, so all
of them count as the same one.
"""

import re
import subprocess
import sys


def masked(text):
    """Returns a text with one word for all addresses, and one for all absolute paths."""
    text = re.sub(r"0x[0-9a-fA-F]+", "0x0", text)
    return re.sub(r"(?<![\w.])/[\w.@+-]+(?:/[\w.@+-]*)*", "/", text).strip()


def own_words(kind, message):
    """Returns what an assertion says itself: what pytest explains is not there without pytest."""
    if kind != "AssertionError":
        return message
    if message.startswith("assert "):
        return ""
    return message.split("\nassert ", 1)[0]


def is_same(failure, returncode, output):
    """Returns true if a run that ended with `returncode` and printed `output` failed in this way."""
    ended = re.fullmatch(r"(exit code|signal) (\d+)", failure)
    if ended:
        return returncode == int(ended[2]) * (1 if ended[1] == "exit code" else -1)
    if returncode == 0:
        return False
    kind, _, message = failure.partition(": ")
    words = masked(own_words(kind, message).split("\n", 1)[0])
    for line in output.splitlines():
        # pytest marks the lines of an error with an E.
        line = masked(re.sub(r"^E +", "", line))
        # Of a type from outside a traceback shows the module as well.
        found, _, said = line.partition(": ")
        if found.rsplit(".", 1)[-1] == kind and (not words or said == words):
            return True
        # pytest names no type where an assertion says something.
        if kind == "AssertionError" and (line == words if words else line.startswith("assert ")):
            return True
    return False


def main(file, runner, failure):
    """Runs the file and returns the exit code."""
    words = [sys.executable, "-B", file]
    if runner == "pytest":
        words[2:] = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no", file]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return int(not is_same(failure, done.returncode, done.stdout.decode("utf-8", "replace")))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
