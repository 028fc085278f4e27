"""The pytest plugin prints records that our reader, our validator and TileGym's script take."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tileir_tools.validators.perf_log import validate_perf_log

from tileir_tools.bench import KernelTime, PerformanceLog, parse_performance

pytest_plugins = ["pytester"]

TILEGYM = os.environ.get("TILEGYM_PATH", "")
SCRIPT = (
    Path(TILEGYM)
    / "skills/tilegym-converting-cutile-triton-to-cutile-rs/scripts/validate_perf_log.sh"
)
needs_tilegym = pytest.mark.skipif(
    not SCRIPT.is_file(), reason="TILEGYM_PATH names no checkout of TileGym"
)
PLUGIN = ("-p", "tileir_tools.bench.pytest_plugin")
TESTS = """
    import sys
    import pytest

    KERNEL = "void at::native::fill<4, std::array<char*, 1ul> >(int, float)"
    RESULT = {
        "mean": 0.0126, "std": 0.0002, "median": 0.0125, "min": 0.0124, "max": 0.013, "nrep": 40,
        "kernel_times": [{"name": KERNEL, "self_time_us": 12.4, "total_time_us": 12.4, "count": 2}],
    }

    class Test_Scale:
        @pytest.mark.parametrize("framework", ["cutile", "triton"])
        @pytest.mark.parametrize("n", [8, 16])
        def test_perf(self, n, framework, record_property):
            if framework == "triton" and n == 16:
                pytest.skip("no triton")
            print("output without newline", end="")
            both = {"forward": RESULT, "backward": {**RESULT, "median": float("nan")}}
            record_property("benchmark", {framework: both if n == 8 else {"forward": RESULT}})

    def test_without_record():
        pass

    def test_odd_record(record_property):
        record_property("benchmark", 3)
"""
# As TileGym's has it: what follows an option that is there already is never reached.
CONFTEST = """
    def pytest_addoption(parser):
        try:
            parser.addoption("--arch", default="sm90")
            parser.addoption("--print-record", action="store_true", default=False)
            parser.addoption("--run-full", action="store_true", default=False)
        except ValueError:
            pass

    def pytest_configure(config):
        assert config.getoption("--run-full") is False
"""
OUTPUTS = (("-v",), ("-sv",), ("-rA", "-v"), ("-q",))


def run(pytester: pytest.Pytester, *arguments: str) -> str:
    pytester.makepyfile(test_scale=TESTS)
    result = pytester.runpytest(*PLUGIN, "-p", "no:cacheprovider", *arguments)
    assert result.ret == 0, result.stderr.str()
    return result.stdout.str()


def read(text: str) -> PerformanceLog:
    return parse_performance(text.encode(), "log")


@pytest.mark.parametrize("output", OUTPUTS, ids=" ".join)
def test_every_record_is_printed_once(pytester: pytest.Pytester, output: tuple[str, ...]) -> None:
    log = read(run(pytester, "--print-record", *output))
    assert log.blocks == 3
    found = [(m.config.label, m.backend, m.direction, m.method) for m in log.measurements]
    assert found == [
        ("8", "cutile", "forward", "cupti"),
        ("8", "cutile", "backward", "cupti"),
        ("8", "triton", "forward", "cupti"),
        ("8", "triton", "backward", "cupti"),
        ("16", "cutile", "forward", "cupti"),
    ]
    first = log.measurements[0]
    assert (first.median_ms, first.mean_ms, first.std_ms, first.nrep) == (
        0.0125,
        0.0126,
        0.0002,
        40,
    )
    name = "void at::native::fill<4, std::array<char*, 1ul> >(int, float)"
    assert first.kernels == (KernelTime(name, 2, 6.2, 12.4),)
    assert log.measurements[1].median_ms != log.measurements[1].median_ms
    assert sum(t.outcome == "passed" for t in log.tests) == 5


def test_nothing_is_printed_unasked(pytester: pytest.Pytester) -> None:
    assert "Performance Test Results" not in run(pytester, "-v")


def test_an_odd_record_is_named(pytester: pytest.Pytester) -> None:
    text = run(pytester, "--print-record", "-v")
    assert (
        "no performance record of test_scale.py::test_odd_record: a benchmark record is a dict"
        in text
    )


def test_the_option_may_be_there_already(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    assert read(run(pytester, "--print-record", "-v")).blocks == 3


def test_the_option_may_be_another_plugin_s(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        other="""
        def pytest_addoption(parser):
            parser.getgroup("other").addoption("--print-record", action="store_true")
        """
    )
    pytester.syspathinsert()
    assert read(run(pytester, "-p", "other", "--print-record", "-v")).blocks == 3


def test_a_distributed_run(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    log = read(run(pytester, "--print-record", "-v", "-n", "2"))
    assert log.blocks == 3
    assert sum(t.outcome == "passed" for t in log.tests) == 5


ONLY_RECORDS = ("-k", "test_perf")


@pytest.mark.parametrize("output", [("-v",), ("-sv",)], ids=" ".join)
def test_the_log_passes_our_validator(
    pytester: pytest.Pytester, output: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "perf.txt"
    path.write_text(run(pytester, "--print-record", *ONLY_RECORDS, *output))
    outcome = validate_perf_log(str(path), "perf")
    assert outcome.exit_code == 0
    assert outcome.heading == "perf: perf_sections=3 passed=3 failed=0 skipped=1"


@needs_tilegym
@pytest.mark.parametrize("output", [("-v",), ("-sv",)], ids=" ".join)
def test_the_log_passes_tilegym_s_script(
    pytester: pytest.Pytester, output: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "perf.txt"
    path.write_text(run(pytester, "--print-record", *ONLY_RECORDS, *output))
    done = subprocess.run(
        ["bash", SCRIPT, path, "perf"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            "perf: perf_sections=3 passed=3 failed=0 skipped=1",
            "PASS: perf: 3 perf records for 3 passed tests",
        ],
    )


@needs_tilegym
def test_tilegym_s_own_conftest(pytester: pytest.Pytester) -> None:
    """The option is TileGym's, and the rest of its options are not lost."""
    pytester.makeconftest((Path(TILEGYM) / "tests" / "conftest.py").read_text())
    # All that it asks of torch.
    pytester.makepyfile(
        torch="class cuda:\n    get_device_capability = staticmethod(lambda _: (9, 0))"
    )
    pytester.syspathinsert()
    assert read(run(pytester, "--print-record", "--run-full", *ONLY_RECORDS, "-v")).blocks == 3
