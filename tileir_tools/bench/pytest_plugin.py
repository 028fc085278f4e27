"""A pytest plugin that prints what tests record: `pytest -p tileir_tools.bench.pytest_plugin --print-record`.

Place in the flow: test reports -> text; imports `results_block`. The public TileGym takes `--print-record`
and prints nothing; with this plugin its logs have one `Performance Test Results` block for each test that
passed and recorded a `benchmark` property, behind the test's outcome.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress

import pytest

from .benchmark_property import measurements_of
from .node_ids import split_node_id
from .records import Measurement
from .results_block import write_results


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(parser: pytest.Parser) -> Generator[None, object, object]:
    """Add `--print-record` once every conftest had its turn: TileGym's has the option itself, and does
    not get to its others where somebody was faster."""
    result = yield
    # Where the option is there already, pytest says so by a ValueError.
    with suppress(ValueError):
        parser.addoption(
            "--print-record",
            action="store_true",
            default=False,
            help="Print the performance record of each test that has one.",
        )
    return result


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--print-record", default=False):
        config.pluginmanager.register(_Printer(config), "tileir-print-record")


class _Printer:
    """Prints the records of reports as they come in."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if report.when != "call" or not report.passed or terminal is None:
            return
        measurements: list[Measurement] = []
        for name, value in report.user_properties:
            if name == "benchmark":
                try:
                    measurements += measurements_of(
                        value, split_node_id(report.nodeid), report.nodeid
                    )
                except ValueError as error:
                    terminal.write_line(f"no performance record of {report.nodeid}: {error}")
        if measurements:
            terminal.ensure_newline()
            terminal.write_line(write_results(report.nodeid, measurements))
