"""The pytest plugin that times what correctness tests compare, where a project has no `test_perf`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileir_tools.bench import Measurement, read_performance

pytest_plugins = ["pytester"]

HARNESS = """
    RESULT = {"median": 0.25, "mean": 0.25, "min": 0.25, "max": 0.25, "std": 0.0, "nrep": 3}
    CALLS = []

    def benchmark_framework(name, function):
        CALLS.append((name, function()))
        return {name: {"forward": {**RESULT, "median": 0.5 if name == "pytorch" else 0.25}}}

    class Wrapped:
        def __init__(self, tensor): self.tensor = tensor

    class Case:
        def assertCorrectness(self, test_fn, ref_fn, kwargs, extra_test_kwargs=None,
                              extra_ref_kwargs=None, rtol=None, atol=None):
            given = {k: getattr(v, "tensor", v) for k, v in kwargs.items()}
            assert test_fn(**given, **(extra_test_kwargs or {})) == ref_fn(**given)
"""
TESTS = """
    import pytest
    from harness import CALLS, Case, Wrapped

    class Test_Double(Case):
        @pytest.mark.parametrize("backend", ["cutile", "cutile-rs"])
        def test_op(self, backend):
            CALLS.clear()
            self.assertCorrectness(lambda x, extra: 2 * x + extra, lambda x: 2 * x, {"x": Wrapped(4)},
                                   extra_test_kwargs={"extra": 0}, rtol=0)
            self.assertCorrectness(lambda x: x, lambda x: x, {"x": 1})
            assert CALLS == [(backend.replace("-", "_"), 8), ("pytorch", 8)]

        def test_wrong(self):
            CALLS.clear()
            try:
                self.assertCorrectness(lambda x: 3 * x, lambda x: 2 * x, {"x": 4})
            finally:
                assert CALLS == []

    class Test_Other:
        def test_op(self):
            pass
"""


@pytest.fixture
def log(pytester: pytest.Pytester) -> Path:
    pytester.makepyfile(harness=HARNESS, test_double=TESTS)
    done = pytester.runpytest_subprocess(
        "-v", "-p", "tileir_tools.bench.pytest_plugin", "--print-record",
        "-p", "tileir_tools.bench.timed_checks", "-p", "no:xdist",
    )  # fmt: skip
    done.assert_outcomes(passed=3, failed=1)
    path: Path = pytester.path / "log.txt"
    path.write_text(str(done.stdout))
    return path


def test_operation_and_reference_are_timed_once_they_agree(log: Path) -> None:
    found = read_performance(str(log)).measurements

    def seen(m: Measurement) -> tuple[str, tuple[str, ...], str | None, float | None]:
        return m.config.test, m.config.params, m.backend, m.median_ms

    test = "test_double.py::Test_Double::test_op"
    assert [seen(m) for m in found] == [
        (test, (), "cutile", 0.25),
        (test, (), "pytorch", 0.5),
        (test, (), "cutile_rs", 0.25),
        (test, (), "pytorch", 0.5),
    ]
