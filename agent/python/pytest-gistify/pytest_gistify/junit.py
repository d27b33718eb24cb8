"""Properties of test cases in a JUnit file, added when pytest has already rendered the case.

pytest renders a case when its test ends, and writes the file when the session ends. Where pytest's
object has another form than in the versions that the tests of this package use, no property is added.
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest


class JUnitCase:
    """A test case of the JUnit file that pytest will write."""

    def __init__(self, reporter: Any) -> None:
        self._reporter = reporter

    def add_property(self, name: str, value: str) -> None:
        """Adds `<property name=... value=.../>` to the case."""
        case = self._reporter.to_xml()
        if not isinstance(case, ElementTree.Element):
            return
        properties = case.find("properties")
        if properties is None:
            properties = ElementTree.Element("properties")
            case.insert(0, properties)
        ElementTree.SubElement(properties, "property", name=name, value=value)


def junit_case(config: pytest.Config, report: pytest.TestReport) -> JUnitCase | None:
    """Returns the case of a report, or none where no JUnit file is written."""
    if not config.getoption("xmlpath", None):
        return None
    for plugin in config.pluginmanager.get_plugins():
        of_report = getattr(plugin, "node_reporter", None)
        if of_report is not None and hasattr(plugin, "node_reporters_ordered"):
            return JUnitCase(of_report(report))
    return None
