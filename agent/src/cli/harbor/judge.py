"""Tells if a file does the same as its original, with one function as a candidate has it.

    python judge.py ORIGINAL CANDIDATE FUNCTION [REWARD]

Of the candidate only the function counts: all else, tests among it, is the original's. Both files run
alone, in directories of their own. They do the same if they end with the same exit code and the same cases
of pytest, or, where pytest is not used, print the same. Exits with 0 if so, with 4 if not, and with 3 if
the original has no such function. REWARD is a file for `{"reward": 0 or 1, "cases": share}`.
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


def masked(text):
    """Returns a text with one word for all addresses, paths and times: they differ from run to run."""
    text = re.sub(r"0x[0-9a-fA-F]+", "0x0", text)
    text = re.sub(r"(?<![\w.])/[\w.@+-]+(?:/[\w.@+-]*)*", "/", text)
    return re.sub(r"\bin \d+\.\d+ ?s\b", "in 0s", text)


def cases_of(report):
    """Returns the cases of a report of pytest with their outcomes, sorted; None without a report."""
    try:
        root = xml.etree.ElementTree.parse(report).getroot()
    except (OSError, xml.etree.ElementTree.ParseError):
        return None
    found = []
    for case in root.iter("testcase"):
        ends = [part for part in case if part.tag in ("failure", "error", "skipped")]
        outcomes = [(part.tag, masked(part.get("message") or "").split("\n", 1)[0]) for part in ends]
        found.append((case.get("classname"), case.get("name"), outcomes))
    return sorted(found)


def ending(text):
    """Runs a file and returns how it ends: exit code, cases, and without cases what it prints."""
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
            return None, None, f"no end within {SECONDS} s"
        printed = masked(done.stdout.decode("utf-8", "replace"))
        cases = cases_of(report)
        return done.returncode, cases, printed if cases is None else ""


def verdict(original, candidate, name):
    """Returns the reward, the share of the original's cases with the same outcome, and a sentence."""
    merged = with_function(original, candidate, name)
    if merged is None:
        return 0, 0.0, f"the file has no function {name}, or is no Python"
    expected, found = ending(original), ending(merged)
    cases = expected[1] or []
    same = [case for case in cases if case in (found[1] or [])]
    share = len(same) / len(cases) if cases else float(expected == found)
    if expected == found:
        return 1, share, "it does the same"
    if expected[1:] == found[1:]:
        return 0, share, f"it ends with exit code {found[0]}, not {expected[0]}"
    if cases:
        return 0, share, f"{len(same)} of {len(cases)} cases end as the original's"
    return 0, share, "it prints something else"


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
    points, share, sentence = verdict(original, text, name)
    print(sentence)
    if reward is not None:
        pathlib.Path(reward).write_text(json.dumps({"reward": points, "cases": share}) + "\n")
    return 0 if points else 4


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
