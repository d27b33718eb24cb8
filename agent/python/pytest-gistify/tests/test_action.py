"""The composite action: its steps that are scripts, run in their order as a runner of GitHub does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ACTION = Path(__file__).parents[3] / "action" / "action.yml"


def filled(text: str, values: dict[str, str]) -> str:
    """Fills in `${{ inputs.name }}`; an expression that names anything else is a mistake of the action."""
    return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda match: values[match[1]], text)


def outcome(step: dict[str, Any], values: dict[str, str], directory: Path, tmp_path: Path) -> str:
    """Runs a step; returns what it printed."""
    environment = {name: filled(value, values) for name, value in step.get("env", {}).items()}
    files = {name: str(tmp_path / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=directory / filled(step.get("working-directory", "."), values),
        env={**os.environ, **environment, **files},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_writes_the_gists_of_the_failures_of_an_earlier_step(tmp_path: Path) -> None:
    action = yaml.safe_load(ACTION.read_text())
    values = {f"inputs.{name}": given["default"] for name, given in action["inputs"].items()}
    values |= {"inputs.python": sys.executable, "inputs.pytest-args": "-p pytest_gistify"}
    project = tmp_path / "project"
    project.mkdir()
    (project / "test_a.py").write_text(
        "def test_right(): pass\ndef test_wrong(): assert 0\ndef test_other(): assert []\n"
    )
    values["inputs.max"] = "1"
    subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=project, check=False, capture_output=True)

    steps = [step for step in action["runs"]["steps"] if "run" in step and step["name"] == "Write"]
    assert len(steps) == 1
    outcome(steps[0], values, project, tmp_path)
    assert [path.name for path in (project / ".gists").glob("*.py")] == ["a_test_wrong.py"]
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == f"directory={project / '.gists'}\n"
    summary = (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    assert "gist test_a.py::test_wrong -> " in summary
    assert "gist: 1 more without one" in summary


def test_every_input_is_used_and_every_step_names_its_shell() -> None:
    text = ACTION.read_text()
    action = yaml.safe_load(text)
    for name in action["inputs"]:
        assert f"${{{{ inputs.{name} }}}}" in text, name
    for step in action["runs"]["steps"]:
        assert ("run" in step) == (step.get("shell") == "bash"), step["name"]
        # Inputs reach scripts as variables: an expression would be code of whoever gives the input.
        assert "${{" not in step.get("run", ""), step["name"]
