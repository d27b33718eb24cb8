"""Tells if a file does the same as its original, with one function as a candidate has it.

    python judge.py ORIGINAL CANDIDATE FUNCTION [REWARD]

Of the candidate only the function counts: all else, tests among it, is the original's. Both files run
alone, in directories of their own, the original twice: words that differ between its runs may be any. They do
the same if they end with the same exit code and the same cases of pytest, or, where pytest is not used, print
the same. A file that does not end does never the same. Prints `PASSED name` or `FAILED name` for each case,
by whether it ends the same, and for the whole, which is called gist.py. Exits with 0 if they do the same,
with 4 if not, and with 3 if the original has no such function. REWARD is a file for
`{"reward": 0 or 1, "cases": share}`.
"""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SECONDS = 300


def definitions(tree):
    """Returns the functions of modules and classes by their dotted names, without names that stand twice."""
    found = {}

    def visit(body, prefix):
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found.setdefault(prefix + node.name, []).append(node)
            elif isinstance(node, ast.ClassDef):
                visit(node.body, prefix + node.name + ".")
            else:
                for part in ("body", "orelse", "handlers", "finalbody"):
                    visit(getattr(node, part, []), prefix)

    visit(tree.body, "")
    return {name: nodes[0] for name, nodes in found.items() if len(nodes) == 1}


def lines_of(text):
    """Returns the lines of a text as the parser counts them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def with_function(original, candidate, name):
    """Returns the original with a function as the candidate has it; None if that has no such function."""
    try:
        other = definitions(ast.parse(candidate)).get(name)
    except (SyntaxError, ValueError, RecursionError):
        return None
    own = definitions(ast.parse(original))[name]
    if other is None or other.col_offset != own.col_offset:
        return None
    lines = lines_of(original)
    lines[own.lineno - 1 : own.end_lineno] = lines_of(candidate)[other.lineno - 1 : other.end_lineno]
    return "\n".join(lines)


def untimed(text):
    """Returns a text with one number for all durations: two runs may take the same time by chance."""
    return re.sub(r"\bin \d+\.\d+ ?s\b", "in 0s", text)


def agrees(first, second, found):
    """Returns true if a text is one of two runs of the original, but for words in which these differ."""
    parts = [re.findall(r"\w+|\W", text) for text in (first, second, found)]
    if len({len(words) for words in parts}) > 1:
        return found in (first, second)
    return all(one != other or one == own for one, other, own in zip(*parts))


def cases_of(report):
    """Returns the cases of a report of pytest with their outcomes, sorted; None without a report."""
    try:
        root = xml.etree.ElementTree.parse(report).getroot()
    except (OSError, xml.etree.ElementTree.ParseError):
        return None
    found = []
    for case in root.iter("testcase"):
        ends = [part for part in case if part.tag in ("failure", "error", "skipped")]
        outcomes = [f"{part.tag} {(part.get('message') or '').splitlines()[:1]}" for part in ends]
        found.append((case.get("classname") or "", case.get("name") or "", untimed(" ".join(outcomes))))
    return sorted(found)


def numbered(cases):
    """Returns the outcome of each case by its class, its name and its number among those of that name."""
    seen = {}
    found = {}
    for group, name, outcome in cases:
        seen[group, name] = seen.get((group, name), 0) + 1
        found[group, name, seen[group, name]] = outcome
    return found


def ending(text):
    """Runs a file and returns its exit code, cases, and without cases its output; None if it is endless."""
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory, "place")
        place.mkdir()
        place.joinpath("gist.py").write_text(text, encoding="utf-8")
        report = pathlib.Path(directory, "cases.xml")
        variables = {
            **os.environ,
            "PYTEST_ADDOPTS": f"-p no:cacheprovider -o junit_family=xunit2 --junitxml={report}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
        }
        try:
            done = subprocess.run(
                [sys.executable, "gist.py"],
                cwd=place,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return None
        printed = untimed(done.stdout.decode("utf-8", "replace"))
        cases = cases_of(report)
        return done.returncode, cases, printed if cases is None else ""


def label(group, name, number):
    """Returns the name of a case as pytest prints it, in one word."""
    text = "::".join(["gist.py", *group.split(".")[1:], name])
    return re.sub(r"\s", "_", text) + (f"#{number}" if number > 1 else "")


def verdict(original, candidate, name):
    """Returns true if both do the same, for each case of the original the same, and a sentence."""
    merged = with_function(original, candidate, name)
    if merged is None:
        return False, {}, f"the file has no function {name}, or is no Python"
    first, second, found = ending(original), ending(original), ending(merged)
    if first is None or second is None or found is None:
        return False, {}, f"{'it' if first and second else 'the original'} does not end within {SECONDS} s"
    # A case that fails twice, in its call and in its teardown, stands twice.
    own, one, other = (numbered(cases or []) for _, cases, _ in (found, first, second))
    if first[0] != second[0] or list(one) != list(other):
        return False, {}, "the original ends in another way each time"
    same = {key: key in own and agrees(one[key], other[key], own[key]) for key in one}
    if len(own) != len(one) or not all(same.values()):
        return False, same, f"{sum(same.values())} of {len(same)} cases end as the original's"
    if not agrees(first[2], second[2], found[2]):
        return False, same, "it prints something else"
    if first[0] != found[0]:
        return False, same, f"it ends with exit code {found[0]}, not {first[0]}"
    return True, same, "it does the same"


def main(original, candidate, name, reward=None):
    """Judges and returns the exit code."""
    original = pathlib.Path(original).read_text(encoding="utf-8")
    if name not in definitions(ast.parse(original)):
        print(f"the original has no function {name}")
        return 3
    try:
        text = pathlib.Path(candidate).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    is_same, cases, sentence = verdict(original, text, name)
    for case, passed in [*((label(*key), same) for key, same in cases.items()), ("gist.py", is_same)]:
        print("PASSED" if passed else "FAILED", case)
    print(sentence)
    if reward is not None:
        share = sum(cases.values()) / len(cases) if cases else float(is_same)
        pathlib.Path(reward).write_text(json.dumps({"reward": int(is_same), "cases": share}) + "\n")
    return 0 if is_same else 4


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
