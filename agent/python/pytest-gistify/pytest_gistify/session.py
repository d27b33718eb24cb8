"""What `pytest --gist` does: notes the failures of a run, and at its end has a gist of each written.

It changes no outcome and no exit code: whatever goes wrong here is a line of the terminal summary.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from . import FAILURES
from .gist import Gist, Maker, NoGist, file_names

if TYPE_CHECKING:
    from .junit import JUnitCase


class GistSession:
    """A run of pytest with `--gist`, in the process that controls it."""

    def __init__(
        self, config: pytest.Config, wanted: str, directory: Path, most: int, seconds: float | None
    ) -> None:
        self.config = config
        self.wanted = wanted
        self.directory = directory
        self.most = most
        #: Time for one gist.
        self.seconds = seconds
        #: Node ids in the order of their first report; true for those that failed.
        self.seen: dict[str, bool] = {}
        self.reports: dict[str, list[pytest.TestReport | pytest.CollectReport]] = {}
        self.cases: dict[str, JUnitCase] = {}
        self.lines: list[str] = []
        self.interrupted = False

    @classmethod
    def of(cls, config: pytest.Config) -> GistSession:
        """Reads the options and the ini keys.

        Raises `pytest.UsageError` for a `gist_max` or `gist_timeout` that is no number.
        """
        directory = config.getoption("gist_dir") or config.getini("gist_dir")
        most = config.getoption("gist_max")
        if most is None:
            text = str(config.getini("gist_max"))
            if not text.isdigit():
                raise pytest.UsageError(f"gist_max: {text} is no number")
            most = int(text)
        limit = config.getoption("gist_timeout")
        source = "gist_timeout" if limit is None else "--gist-timeout"
        seconds = seconds_of(str(config.getini("gist_timeout")) if limit is None else limit, source)
        return cls(config, config.getoption("gist"), config.rootpath / directory, most, seconds)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes a test, under xdist too: workers' reports arrive in the controller."""
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Notes a file that cannot be collected."""
        if report.failed and report.nodeid:
            self._note(report)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Notes that the user stopped the run; errors of the collection are no wish of the user."""
        self.interrupted = not isinstance(excinfo.value, pytest.Session.Interrupted)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Has the gists written, before the JUnit file is."""
        try:
            self._finish()
        except NoGist as error:
            self.lines.append(f"gist: {error}")
        except Exception as error:
            self.lines.append(f"gist: {type(error).__name__}: {error}")
        except KeyboardInterrupt:
            self.lines.append("gist: interrupted")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Prints a line for each gist."""
        if self.lines:
            terminalreporter.section("gists", sep="=")
            for line in self.lines:
                terminalreporter.write_line(line)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        self.seen[report.nodeid] = self.seen.get(report.nodeid, False) or report.failed
        if not self._is_wanted(report.nodeid):
            return
        self.reports.setdefault(report.nodeid, []).append(report)
        if isinstance(report, pytest.TestReport) and report.nodeid not in self.cases:
            from .junit import junit_case

            case = junit_case(self.config, report)
            if case is not None:
                self.cases[report.nodeid] = case

    def _is_wanted(self, node: str) -> bool:
        if self.wanted == FAILURES:
            return self.seen[node]
        return node == self.wanted or node.startswith((f"{self.wanted}::", f"{self.wanted}["))

    def _finish(self) -> None:
        nodes = [node for node in self.seen if self._is_wanted(node)]
        if self.interrupted:
            if nodes:
                self.lines.append("gist: none is written, the run was interrupted")
            return
        if not nodes:
            if self.wanted != FAILURES:
                self.lines.append(f"gist {self.wanted}: no such test in this run")
            return
        maker = Maker.of(self.config, sys.executable)
        names = file_names(nodes[: self.most])
        for at, (node, name) in enumerate(names.items()):
            self._progress(f"gist {at + 1} of {len(names)}: {node}")
            path = self.directory / name
            try:
                gist = maker.make(node, path, failed=self.seen[node], seconds=self.seconds)
            except NoGist as error:
                self.lines.append(f"gist {node}: {error}")
                continue
            shown = self._shown(path)
            self.lines.append(f"gist {node} -> {shown} ({gist})")
            self._publish(node, shown, gist)
        left = len(nodes) - len(names)
        if left > 0:
            self.lines.append(f"gist: {left} more without one (--gist-max {self.most})")

    def _publish(self, node: str, shown: str, gist: Gist) -> None:
        """Adds the path to the properties of the test: of its last report, and of its JUnit case."""
        report = self.reports[node][-1]
        if isinstance(report, pytest.TestReport):
            report.user_properties.append(("gist", shown))
        if node in self.cases:
            self.cases[node].add_property("gist", shown)
            self.cases[node].add_property("gist_summary", str(gist))

    def _shown(self, path: Path) -> str:
        """A path as pytest shows it: relative to where it was started."""
        try:
            return str(path.relative_to(self.config.invocation_params.dir))
        except ValueError:
            return str(path)

    def _progress(self, line: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\n{line}\n")


def seconds_of(text: str, source: str) -> float | None:
    """Returns a time limit, none for 0.

    Raises `pytest.UsageError` for text that is no number of seconds.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds < float("inf"):
        raise pytest.UsageError(f"{source}: {text} is no number of seconds")
    return seconds or None
