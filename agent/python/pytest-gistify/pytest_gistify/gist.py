"""One gist: the name of its file, the command that it stands for, and the process that writes it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

#: Plugins of this package, which the tests of a gist do not need.
OWN = {"gistify", "pytest_gistify", "no:gistify", "no:pytest_gistify"}

#: The share of the time limit after which the search ends by itself. The rest is for its confirming runs.
SEARCH = 0.8

#: Seconds that the program has to write what it reached, once it is interrupted. Then it is killed.
GRACE = 10.0


class NoGist(Exception):
    """A gist cannot be made; the message says why."""


@dataclass(frozen=True)
class Gist:
    """A gist that was written, and how large it is."""

    lines: int
    #: Lines of the repository; none where the program was stopped before it counted them.
    of_lines: int | None
    #: "reproduced 3 of 3", "faithful", or why not.
    verdict: str

    def __str__(self) -> str:
        size = f"{self.lines} lines" if self.of_lines is None else f"{self.lines} of {self.of_lines} lines"
        return f"{size}, {self.verdict}"


@dataclass(frozen=True)
class Maker:
    """What the gists of a run have in common."""

    program: str
    root: Path
    interpreter: str
    #: The command up to the node id.
    command: tuple[str, ...]

    @classmethod
    def of(cls, config: pytest.Config, interpreter: str) -> Maker:
        """Takes the options of a run that its gists need as well."""
        runner = ("python", "-m", "pytest") if _runs_as_module() else ("pytest",)
        return cls(
            program=find_program(),
            root=config.rootpath,
            interpreter=interpreter,
            command=(*runner, *passed_on(config)),
        )

    def make(self, node: str, path: Path, *, failed: bool, seconds: float | None) -> Gist:
        """Has a gist written to `path`; of a test that failed, one that fails in the same way alone.

        After `seconds` the program is interrupted, and what it has written by then is the gist.
        Raises `NoGist` where the program fails or its answer is not understood.
        """
        make_directory(path.parent)
        words = [self.program, "repro" if failed else "run", str(self.root), "--output", str(path)]
        words += ["--force", "--json", "--quiet", "--python", self.interpreter]
        if seconds is not None:
            words += ["--set", f"session.seconds={max(seconds * SEARCH, 0.001)}"]
        words += ["--", *self.command, node]
        before, began = version(path), time.monotonic()
        try:
            done, stopped = completed(words, self.root, seconds)
        except OSError as error:
            raise NoGist(f"{self.program}: {error.strerror}") from None
        try:
            gist = understood(json.loads(done.stdout))
        except (ValueError, KeyError, TypeError):
            # The search may have ended by itself, at its share of the limit.
            if seconds is None or time.monotonic() - began < seconds * SEARCH:
                raise NoGist(reason(done)) from None
            if version(path) in (None, before):
                why = "" if stopped else f": {reason(done)}"
                raise NoGist(f"nothing was reached within {seconds:g} s (--gist-timeout){why}") from None
            lines = len(path.read_bytes().splitlines())
            return Gist(lines, None, f"stopped after {seconds:g} s and not judged")
        return replace(gist, verdict=f"{gist.verdict}, stopped after {seconds:g} s") if stopped else gist


def version(path: Path) -> tuple[int, int] | None:
    """Returns what tells one writing of a file from the next, or none where there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def completed(
    words: list[str], directory: Path, seconds: float | None
) -> tuple[subprocess.CompletedProcess[str], bool]:
    """Runs a program; returns what it printed, and true if it was stopped after `seconds`."""
    process = subprocess.Popen(
        words,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    stopped = False
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        stopped = True
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=GRACE)
        except subprocess.TimeoutExpired:
            out, err = "", ""
    finally:
        # A process that inherited the pipes may live on: nothing waits for their end.
        if process.poll() is None:
            process.kill()
            process.wait()
    return subprocess.CompletedProcess(words, process.returncode, out, err), stopped


def understood(result: dict[str, Any]) -> Gist:
    """Reads what the program prints: of a repro how often it failed again, of another gist its verdict."""
    scores = result["scores"]
    if scores.get("kind") == "repro":
        verdict = f"reproduced {scores['reproduced']} of {scores['runs']}"
        if scores["runs"] == 0:
            verdict = "not run again"
        if not scores["complete"]:
            verdict += ", not minimal"
        if scores.get("needs"):
            verdict += f", needs {', '.join(scores['needs'])} beside it"
        return Gist(scores["lines"], scores["repository_lines"], verdict)
    scores = scores["scores"]
    size = scores["lines_of_executed"]["evidence"]
    fidelity = scores.get("execution_fidelity_strict")
    if fidelity is None:
        verdict = "not scored"
    else:
        verdict = "faithful" if fidelity["value"] == 1 else "not faithful"
    return Gist(size["gist"]["lines"], size["repository"]["lines"], verdict)


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """Why the program wrote no gist: the last line of its complaint."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    last = lines[-1] if lines else f"gistify exits with {done.returncode} and says nothing"
    return last.removeprefix("gistify: ")


def find_program() -> str:
    """Returns the program of the environment's distribution, else the one on the path.

    Raises `NoGist` where there is neither.
    """
    try:
        from gistify import find_binary  # type: ignore[import-not-found, unused-ignore]

        return str(find_binary())
    except (ImportError, FileNotFoundError):
        pass
    found = shutil.which("gistify")
    if found is None:
        raise NoGist("the program gistify is not installed (pip install gistify)")
    return found


def passed_on(config: pytest.Config) -> list[str]:
    """Returns the options of the command line and of `PYTEST_ADDOPTS` that decide how a test runs.

    Those of the configuration are in the repository, where the run of a gist finds them again.
    """
    option = config.option
    configured = set(config.getini("addopts"))

    def given(flag: str, values: Iterable[str] | None) -> list[str]:
        new = [value for value in values or () if value not in configured and flag + value not in configured]
        return [word for value in dict.fromkeys(new) for word in (flag, value)]

    words = given("-p", [name for name in option.plugins or () if name not in OWN])
    words += given("-o", option.override_ini)
    words += given("-W", option.pythonwarnings)
    if option.inifilename:
        path = (config.invocation_params.dir / option.inifilename).resolve()
        words += ["-c", os.path.relpath(path, config.rootpath)]
    mode = option.importmode
    if mode != "prepend" and f"--import-mode={mode}" not in configured:
        words.append(f"--import-mode={mode}")
    if option.doctestmodules and "--doctest-modules" not in configured:
        words.append("--doctest-modules")
    return words


def file_names(nodes: Iterable[str]) -> dict[str, str]:
    """Names the files of gists: `tests/test_a.py::A::test_b[x]` becomes `a_A_test_b.py`.

    A name that is taken gets a number. No name is one that pytest collects by default.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for node in nodes:
        file, *parts = node.split("[", 1)[0].split("::")
        words = [Path(file).stem.removeprefix("test_"), *parts]
        stem = re.sub(r"\W+", "_", "_".join(words), flags=re.ASCII)[:100].strip("_") or "gist"
        if stem.endswith("_test") or stem.startswith("test_"):
            stem = f"gist_{stem}_"
        name, number = stem, 2
        while name in taken:
            name, number = f"{stem}_{number}", number + 1
        taken.add(name)
        names[node] = f"{name}.py"
    return names


def make_directory(directory: Path) -> None:
    """Makes the directory of gists, which git ignores; one that exists stays as it is."""
    if not directory.exists():
        directory.mkdir(parents=True)
        (directory / ".gitignore").write_text("# Written by pytest-gistify.\n*\n", encoding="utf-8")


def _runs_as_module() -> bool:
    """Returns true for `python -m pytest`, which puts the current directory on `sys.path`."""
    return os.path.basename(sys.argv[0]) == "__main__.py"
