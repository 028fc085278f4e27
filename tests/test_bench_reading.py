"""Performance records of every format: what is read, what is refused, and that real logs are read whole."""

from __future__ import annotations

import ast
import gzip
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tileir_tools.validators.perf_log import validate_perf_log

from tileir_tools.bench import (
    Config,
    KernelTime,
    Measurement,
    PerformanceLog,
    parse_performance,
    read_performance,
)
from tileir_tools.bench.benchmark_property import method_of
from tileir_tools.bench.node_ids import junit_node_id, split_node_id
from tileir_tools.bench.results_block import read_results, write_results
from tileir_tools.bench.untrusted import literal
from tileir_tools.errors import ForeignFormatError, InputError, TileIRError, UsageError

PERF = Path(__file__).parent / "fixtures" / "perf"
MEASURED = Path(__file__).resolve().parents[2] / "shared" / "measurements"
SCALE = "test_scale.py::Test_Scale::test_perf"
KERNEL = "_scale_kernel_Kt1_A1f16_p16_I128"

needs_measurements = pytest.mark.skipif(
    not MEASURED.is_dir(), reason="needs ../shared/measurements beside the repository"
)


def read(name: str) -> PerformanceLog:
    return read_performance(str(PERF / name))


def outcomes(log: PerformanceLog) -> list[tuple[str, str]]:
    return [(test.test.rpartition("/")[2], test.outcome) for test in log.tests]


def rows(log: PerformanceLog) -> list[tuple[str, str | None, str | None, str, float | None]]:
    return [
        (m.config.label, m.backend, m.direction, m.method, m.median_ms) for m in log.measurements
    ]


# -- logs of an H200 --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "backends", "records", "tests"),
    [
        ("bmm_cutile", {"cutile"}, 2, 2),
        ("bmm_pytorch", {"pytorch"}, 2, 2),
        ("rms_norm_cutile", {"cutile"}, 10, 10),
        ("rms_norm_pytorch", {"pytorch"}, 10, 10),
        ("silu_and_mul_cutile", {"cutile"}, 16, 8),
        ("silu_and_mul_pytorch", {"pytorch"}, 16, 8),
        # `test_op` with operation and reference timed in the same tests.
        ("softmax_cutile", {"cutile", "pytorch"}, 24, 12),
    ],
)
def test_logs_of_tilegym_with_the_printing_plugin(
    name: str, backends: set[str], records: int, tests: int
) -> None:
    """TileGym's tests on an NVIDIA H200 with CUPTI=1 (cuda-tile 1.7.0, torch 2.11.0+cu130)."""
    log = read(f"h200/{name}.log")
    assert len(log.measurements) == records
    assert {m.backend for m in log.measurements} == backends
    assert {m.method for m in log.measurements} == {"cupti"}
    assert [outcome for _, outcome in outcomes(log)] == ["passed"] * tests
    text = (PERF / "h200" / f"{name}.log").read_text("utf-8")
    medians = [float(m) for m in re.findall(r"^  median: (\S+) ms$", text, re.M)]
    assert [m.median_ms for m in log.measurements] == medians
    assert all(m.kernels and m.nrep for m in log.measurements)
    assert validate_perf_log(str(PERF / "h200" / f"{name}.log")).passed


@pytest.mark.parametrize(
    ("result", "method"),
    [
        # The median of an even number of whole nanoseconds.
        ({"median": 0.0167515, "min": 0.016416, "max": 0.017856}, "cupti"),
        ({"median": 0.01675125, "min": 0.016416, "max": 0.017856}, "unknown"),
        ({"median": 0.0167515, "min": 0.0164165, "max": 0.017856}, "unknown"),
        ({"median": 0.01675125, "method": "proton"}, "proton"),
        ({"median": 0.25, "method": "guessed"}, "cupti"),
        ({"median": 0.25, "method": ["cupti"], "iqr": 0.1}, "cuda_event"),
    ],
)
def test_how_a_record_was_measured(result: dict[object, object], method: str) -> None:
    assert method_of(result) == method


# -- JUnit XML --------------------------------------------------------------------------------------


def test_junit_of_the_second_family() -> None:
    log = read("junit_xunit2.xml")
    assert log.format == "junit"
    assert log.blocks == 4
    assert outcomes(log) == [
        (f"{SCALE}[cutile-1024-torch.float16]", "passed"),
        (f"{SCALE}[cutile-2048-torch.float16]", "passed"),
        (f"{SCALE}[cutile-4096-torch.float16]", "failed"),
        (f"{SCALE}[triton-4096-torch.float16]", "skipped"),
        (f"{SCALE}[pytorch-4096-torch.float16]", "error"),
    ]
    forward, backward, invalid, failed = log.measurements
    assert forward == Measurement(
        Config(SCALE, ("1024", "torch.float16")),
        "cutile",
        "forward",
        "cupti",
        forward.place,
        0.0125,
        0.0126,
        0.0002,
        0.0124,
        0.013,
        40,
        (KernelTime(KERNEL, 1, 12.4, 12.4), KernelTime("Memset (Device)", 2, 0.75, 1.5)),
    )
    assert forward.launches == 3
    assert forward.kernels_us == pytest.approx(13.9)
    assert (forward.config.dtype, forward.config.shape) == ("f16", "1024")
    # This direction has quantiles: events timed it, though the other one was timed by CUPTI.
    assert (backward.direction, backward.method) == ("backward", "cuda_event")
    assert backward.max_ms == math.inf
    assert math.isnan(invalid.median_ms or 0.0)
    assert (invalid.min_ms, invalid.max_ms) == (0.02, -math.inf)
    assert (failed.median_ms, failed.outcome) == (0.0625, "failed")


def test_a_property_is_not_evaluated() -> None:
    (note,) = read("junit_xunit2.xml").notes
    assert note.endswith("[pytorch-4096-torch.float16]: no Python literal: Call at column 1")


def test_junit_of_the_first_family() -> None:
    log = read("junit_xunit1.xml")
    assert log.tests[0].test == f"tests/ops/{SCALE}[cutile-rs-1024-torch.float16]"
    (record,) = log.measurements
    assert (record.backend, record.config.params) == ("cutile_rs", ("1024", "torch.float16"))
    assert record.kernels == (KernelTime("scale_entry", 2, 12.5, 25.0),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<testsuites><testcase></testsuites>", "bad.xml:1:25: error: not XML: mismatched tag"),
        ("<html/>", "bad.xml: error: this is HTML"),
        (
            '<?xml version="1.0" encoding="x"?><testsuite/>',
            "bad.xml: error: not XML: unknown encoding",
        ),
        ("<report/>", "bad.xml: error: XML with root <report>, expected <testsuites>"),
        (
            '<!DOCTYPE t [<!ENTITY a "b">]><testsuite>&a;</testsuite>',
            "bad.xml: error: XML with a DTD or entities is not read",
        ),
    ],
)
def test_xml_that_is_refused(text: str, message: str) -> None:
    with pytest.raises(TileIRError) as caught:
        parse_performance(text.encode(), "bad.xml")
    assert str(caught.value).startswith(message)


# -- logs -------------------------------------------------------------------------------------------


def test_printed_records() -> None:
    log = read("results.log")
    assert (log.format, log.blocks, log.notes) == ("pytest log", 3, ())
    assert [outcome for _, outcome in outcomes(log)] == ["passed", "passed", "passed", "skipped"]
    assert rows(log) == [
        ("1024-torch.float16", "cutile", "forward", "cupti", 0.0125),
        ("1024-torch.float16", "cutile", "backward", "cupti", pytest.approx(0.0255)),
        ("2048-torch.float16", "cutile", "forward", "cupti", 0.021),
        ("2048-torch.float32", "cutile_rs", None, "cupti", 0.042),
    ]
    assert log.measurements[0].nrep == 40
    assert log.measurements[0].place.endswith("results.log:7")


def test_a_unit_that_the_outcome_is_glued_to() -> None:
    text = f"tests/{SCALE}[cutile-8] Performance Test Results\nmedian: 12.5 usPASSED\n"
    log = parse_performance(text.encode(), "x")
    assert (log.measurements[0].median_ms, log.tests[0].outcome) == (0.0125, "passed")


def test_a_rounded_number_does_not_say_how_it_was_measured() -> None:
    text = "Performance Test Results\nmedian: 0.5 ms\nPASSED\n"
    (record,) = parse_performance(text.encode(), "x").measurements
    assert record.method == "unknown"
    said = text.replace("median", "method: cuda_graph\nmedian")
    assert parse_performance(said.encode(), "x").measurements[0].method == "cuda_graph"
    quantiles = text.replace("PASSED", "iqr: 0.1\nPASSED")
    assert parse_performance(quantiles.encode(), "x").measurements[0].method == "cuda_event"


def test_event_blocks_of_a_log_that_was_cut_off() -> None:
    log = read("cupti.log")
    assert [outcome for _, outcome in outcomes(log)] == ["passed", "none"]
    assert rows(log) == [
        ("1024-torch.float16", "cutile", "forward", "cupti", 0.0125),
        ("1024-torch.float16", "cutile", "backward", "cupti", 0.031),
        ("2048-torch.float16", "cutile", "forward", "cupti", 0.021),
    ]
    first, second, _ = log.measurements
    assert [(k.launches, k.per_launch_us, k.total_us, k.cut) for k in first.kernels] == [
        (1, 12.5, 12.5, True)
    ]
    assert [(k.launches, k.per_launch_us, k.total_us, k.cut) for k in second.kernels] == [
        (2, 3.0, 6.0, True),
        (1, 25.0, 25.0, False),
    ]
    assert [note.partition("cupti.log:")[2] for note in log.notes] == [
        "10: CUPTI events without '=== end ===': the block was cut off",
        f"10: no outcome of tests/ops/{SCALE}[cutile-2048-torch.float16]: the log was cut off",
    ]


def test_launches_of_a_block_that_is_not_whole_are_not_counted() -> None:
    text = (PERF / "cupti.log").read_text()
    cut = text[: text.index("  _scale_backward_kernel")]
    log = parse_performance(cut.encode(), "x")
    assert [(m.median_ms, m.launches) for m in log.measurements] == [(0.0125, 1), (0.031, 0)]
    assert log.notes[0] == (
        "x:4: CUPTI events without '=== end ===': the block was cut off; 25.0 us are missing, so its "
        "launches are not counted"
    )


def test_a_record_in_json() -> None:
    text = 'Performance Test Results\n{"triton": {"forward": {"median": 0.5, "std": NaN, "nrep": null}}}\n'
    (record,) = parse_performance(text.encode(), "x").measurements
    assert (record.backend, record.median_ms, record.nrep) == ("triton", 0.5, None)


def test_a_distributed_run() -> None:
    log = read("distributed.log")
    assert outcomes(log) == [
        (f"{SCALE}[cutile-1024-torch.float16]", "passed"),
        (f"{SCALE}[cutile-2048-torch.float16]", "failed"),
        (f"{SCALE}[triton-2048-torch.float16]", "error"),
        ("test_other.py::test_x", "error"),
    ]
    assert rows(log) == [("1024-torch.float16", "cutile", "forward", "cupti", 0.0125)]
    (record,) = log.measurements
    assert record.kernels == (KernelTime(KERNEL, 1, 12.5, 12.5),)


def test_kernels_of_event_blocks_go_to_the_records_of_their_test() -> None:
    text = (
        f"tests/{SCALE}[cutile-8] === CUPTI events (total=12.5 us) ===\n"
        f"  {KERNEL}  total=12.5 us  per_call=12.50 us  rep_num=1\n=== end ===\n"
        "Performance Test Results\nforward median: 0.0126 ms, nrep: 40\nPASSED\n"
    )
    (record,) = parse_performance(text.encode(), "x").measurements
    assert (record.median_ms, record.nrep) == (0.0126, 40)
    assert record.kernels == (KernelTime(KERNEL, 1, 12.5, 12.5),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("t/test_a.py::test_x PASSED [ 50%]", ["passed"]),
        ("t/test_a.py::test_x \x1b[32mPASSED\x1b[0m\x1b[32m [100%]\x1b[0m", ["passed"]),
        ("t/test_a.py::test_x[a b-[1, 2]] FAILED", ["failed"]),
        ("t/test_a.py::test_x 0.5 msPASSED", ["passed"]),
        ("t/test_a.py::test_x\nthe build FAILED", ["none"]),
        ("t/test_a.py::test_x the earlier test FAILED\nPASSED", ["passed"]),
        ("t/test_a.py::test_x PASSED\nt/test_a.py::test_x ERROR", ["passed", "error"]),
        ("t/test_a.py::test_x RERUN\nt/test_a.py::test_x PASSED", ["passed"]),
        ("t/test_a.py::test_x XFAIL (known)", ["skipped"]),
        ("Performance Test Results\nmedian 1 ms\nPASSED", ["passed"]),
        ("t/test_a.py::test_x PASSED\n=== 1 failed, 1 passed in 2.0s ===", ["passed", "failed"]),
        ("FAILED t/test_a.py::test_x - AssertionError", ["failed"]),
        (
            "=== warnings summary ===\nt/test_a.py::test_x\n  a warning\n=== 2 passed in 1s ===",
            ["passed"] * 2,
        ),
    ],
)
def test_outcomes(text: str, expected: list[str]) -> None:
    assert [t.outcome for t in parse_performance(text.encode(), "x").tests] == expected


# -- profilers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "form", "method", "kernels"),
    [
        (
            "nsys.csv",
            "nsys csv",
            "nsys",
            [
                (KERNEL, 10, 12.0, 120.0),
                (
                    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>"
                    "(int, T2, T3)",
                    20,
                    1.5,
                    30.0,
                ),
            ],
        ),
        (
            "nsys.json",
            "nsys json",
            "nsys",
            [(KERNEL, 10, 12.0, 120.0), ("fill_kernel", 20, 1.5, 30.0)],
        ),
        (
            "ncu.csv",
            "ncu csv",
            "ncu",
            [("scale_entry", 2, 13.0, 26.0), ("fill_kernel", 1, 1.5, 1.5)],
        ),
        ("ncu_raw.csv", "ncu csv", "ncu", [("scale_entry", 2, 13.0, 26.0)]),
        (
            "torch_table.txt",
            "torch profiler table",
            "torch_profiler",
            [
                ("void at::native::vectorized_elementwise_kernel<4, a", 10, 1.5, 15.0),
                (KERNEL, 10, 120.0, 1200.0),
            ],
        ),
        (
            "trace.json",
            "chrome trace",
            "torch_profiler",
            [(KERNEL, 2, 13.0, 26.0), ("Memset (Device)", 1, 0.75, 0.75)],
        ),
    ],
)
def test_profiles(
    name: str, form: str, method: str, kernels: list[tuple[str, int, float, float]]
) -> None:
    log = read(name)
    (record,) = log.measurements
    assert (log.format, record.method, record.whole_profile) == (form, method, True)
    assert record.median_ms is None
    found = [(k.name, k.launches, k.per_launch_us, k.total_us) for k in record.kernels]
    assert found == kernels


def test_names_in_a_profiler_table_may_be_cut() -> None:
    assert [k.cut for k in read("torch_table.txt").measurements[0].kernels] == [True, False]


def test_scopes_of_a_proton_profile() -> None:
    log = read("profile.hatchet")
    assert [(m.config.test, m.kernels) for m in log.measurements] == [
        (
            "scale/step",
            (KernelTime("scale_kernel", 20, 13.0, 260.0), KernelTime("fill_kernel", 2, 1.5, 3.0)),
        ),
        ("", (KernelTime("lone_kernel", 4, 2.0, 8.0),)),
    ]


def test_pytest_benchmark_has_seconds() -> None:
    first, second = read("pytest_benchmark.json").measurements
    assert (first.backend, first.config) == (
        "cutile",
        Config("test_scale.py::test_perf", ("1024",)),
    )
    assert (first.median_ms, first.std_ms, first.nrep) == (
        pytest.approx(0.025),
        pytest.approx(0.001),
        100,
    )
    assert (second.backend, second.median_ms, second.method) == (
        "cutile_rs",
        2.0,
        "pytest_benchmark",
    )


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (b"SQLite format 3\0", "sqlite", "this is an SQLite database; export it: nsys stats"),
        (gzip.compress(b"x"), "gzip", "this is gzip; unpack it first"),
        (b"a\0b", "binary", "this is a binary file"),
        (b'{"a": 1}\n{"a": 2}\n', "jsonl", "this is JSON Lines, of no known kind"),
        (b'{"a": 1}', "json", "JSON of no known kind"),
        (b"cuda_tile.module @m {\n", "tileir", "this is Tile IR text"),
        (b"hello\n", "unknown", "no performance records"),
    ],
)
def test_foreign_files_are_named(data: bytes, kind: str, message: str) -> None:
    with pytest.raises(ForeignFormatError) as caught:
        parse_performance(data, "f")
    assert caught.value.kind == kind
    assert str(caught.value).startswith(f"f: error: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f: error: the file is empty"),
        ('{"benchmarks": [}', "f:1:17: error: not JSON: Expecting value"),
        ('{"benchmarks": [1]}', "f: error: benchmarks[0] has no stats"),
        ('{"traceEvents": 1}', "f: error: traceEvents is no list"),
        ('[{"frame": {}, "children": [1]}]', "f: error: expected frames with children, found int"),
        (
            "Time (%),Total Time (ns),Instances,Name\n1,x,2,k\n",
            "f:2: error: Total Time (ns): expected a number, found 'x'",
        ),
        (
            "Time (%),Total Time (ns),Instances,Name\n1,5\n",
            "f:2: error: 2 columns, the head has 4: cut off?",
        ),
        (
            "Time (%),Total Time (furlong),Instances,Name\n1,5,1,k\n",
            "f:2: error: unknown unit of time 'furlong'",
        ),
        ("Time (%),Total Time (ns),Instances,Name\n1,5,0,k\n", "f:2: error: 0 launches"),
        (
            "Time (%),Total Time (ns),Num Calls,Name\n1,5,1,cudaMalloc\n",
            "f: error: no sums of kernels",
        ),
        ('"ID","Kernel Name","Metric Name"\n"0","k","Registers"\n', "f: error: no durations"),
    ],
)
def test_broken_files_name_the_place(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_performance(text.encode(), "f")
    assert str(caught.value).startswith(message)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_performance(str(tmp_path / "absent"))
    with pytest.raises(InputError, match="this is a directory"):
        read_performance(str(tmp_path))
    with pytest.raises(UsageError, match="unknown method 'stopwatch'; known are cupti, cuda_event"):
        read_performance(str(PERF / "results.log"), method="stopwatch")


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tileir_tools.bench.untrusted.MAX_BYTES", 1 << 20)
    path = tmp_path / "large.log"
    path.write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(InputError, match="larger than 1 MiB"):
        read_performance(str(path))


def test_a_method_that_the_user_knows(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("Performance Test Results\nmedian: 0.5\nPASSED\n")
    assert read_performance(str(path), method="cuda_graph").measurements[0].method == "cuda_graph"
    assert {
        m.method for m in read_performance(str(PERF / "cupti.log"), method="ncu").measurements
    } == {"cupti"}


# -- ids and literals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "tests/ops/test_a.py::Test_A::test_perf[cutile-8-True-torch.float16]",
            ("test_a.py::Test_A::test_perf", ("8", "True", "torch.float16"), "cutile"),
        ),
        ("test_a.py::test_x[8-triton_tileir]", ("test_a.py::test_x", ("8",), "triton_tileir")),
        ("test_a.py::test_x[cutile-rs-8]", ("test_a.py::test_x", ("8",), "cutile_rs")),
        ("test_a.py::test_x[a::b-8]", ("test_a.py::test_x", ("a::b", "8"), None)),
        ("test_a.py::test_x", ("test_a.py::test_x", (), None)),
    ],
)
def test_node_ids(text: str, expected: tuple[str, tuple[str, ...], str | None]) -> None:
    assert tuple(split_node_id(text)) == expected


@pytest.mark.parametrize(
    ("classname", "name", "file", "expected"),
    [
        ("tests.ops.test_a.Test_A", "test_x[8]", None, "tests/ops/test_a.py::Test_A::test_x[8]"),
        ("tests.ops.test_a", "test_x", None, "tests/ops/test_a.py::test_x"),
        ("a.b.Test_A", "test_x", "a/b.py", "a/b.py::Test_A::test_x"),
        ("bench.speed.Speed", "test_x", None, "bench/speed.py::Speed::test_x"),
        ("", "test_x", None, "test_x"),
    ],
)
def test_junit_ids(classname: str, name: str, file: str | None, expected: str) -> None:
    assert junit_node_id(classname, name, file) == expected


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(_VALUES)
def test_literals_are_python_s(value: object) -> None:
    assert literal(repr(value)) == ast.literal_eval(repr(value))


@pytest.mark.parametrize(
    "text",
    ["print(1)", "a", "1 +", "[x for x in y]", "(lambda: 1)()", "f''", "{**a}", "[" * 5000],
)
def test_no_literals(text: str) -> None:
    with pytest.raises(ValueError, match="literal"):
        literal(text)


# -- properties -------------------------------------------------------------------------------------

_LINES = st.sampled_from(
    [
        *(PERF / "results.log").read_text().splitlines(),
        *(PERF / "cupti.log").read_text().splitlines(),
        *(PERF / "distributed.log").read_text().splitlines(),
        "",
        "median: nan",
        "{'cutile': {",
        "}",
    ]
)


@given(st.lists(_LINES, max_size=30))
def test_lines_in_any_order_are_read_without_complaint(lines: list[str]) -> None:
    text = "=== test session starts ===\n" + "\n".join(lines)
    log = parse_performance(text.encode(), "x")
    assert log.blocks == sum("Performance Test Results" in line for line in lines)
    assert all(m.median_ms is not None for m in log.measurements)


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_arbitrary_bytes_give_a_log_or_a_clear_error(data: bytes) -> None:
    path = "f"
    try:
        path = parse_performance(data, "f").path
    except TileIRError as caught:
        path = str(caught).partition(":")[0]
    assert path == "f"


@given(st.sampled_from(sorted(path for path in PERF.rglob("*") if path.is_file())), st.data())
def test_files_that_somebody_damaged(path: Path, data: st.DataObject) -> None:
    text = path.read_text()
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        until = at + data.draw(st.integers(0, 12))
        put = data.draw(
            st.sampled_from(
                ["", "nan", "Infinity", "-1", "1.2.3", "9" * 5000, '"', ",", "{", "\n", "0"]
            )
        )
        text = text[:at] + put + text[until:]
    name = "f"
    try:
        name = parse_performance(text.encode(), "f").path
    except TileIRError as caught:
        name = str(caught).partition(":")[0]
    assert name == "f"


_TIMES = st.floats(min_value=1e-6, max_value=1e6)
_KERNELS = st.builds(
    lambda name, launches, each: KernelTime(name, launches, each / 8, launches * each / 8),
    st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_:<>(), ]{0,60}[a-zA-Z0-9_>)]", fullmatch=True).filter(
        lambda name: "  " not in name
    ),
    st.integers(1, 99),
    st.integers(1, 10**6),
)
_RECORDS = st.builds(
    lambda direction, method, times, nrep, kernels: Measurement(
        Config(SCALE, ("8",)), "cutile", direction, method, "x:1", *times, nrep, tuple(kernels)
    ),
    st.sampled_from(["forward", "backward", None]),
    st.sampled_from(["cupti", "cuda_event", "cuda_graph", "unknown"]),
    st.tuples(_TIMES, _TIMES, _TIMES, _TIMES, _TIMES),
    st.integers(1, 1000) | st.none(),
    st.lists(_KERNELS, max_size=3),
)


@given(_RECORDS)
def test_what_the_plugin_prints_is_read_back(record: Measurement) -> None:
    text = write_results(f"tests/{SCALE}[cutile-8]", [record])
    node = split_node_id(f"tests/{SCALE}[cutile-8]")
    found, problem = read_results(text.splitlines(), node, "x:1", "unknown")
    assert problem is None
    assert found == [record]


# -- real records -----------------------------------------------------------------------------------


@needs_measurements
@pytest.mark.parametrize(
    ("name", "tests", "records", "kernels", "first", "last", "notes"),
    [
        ("cupti_bmm.log", 5, 4, 4, 0.0454, 0.0451, 1),
        ("cupti_matmul.log", 13, 12, 12, 0.0266, 36.9217, 1),
        ("cupti_rms_norm.log", 20, 20, 90, 0.2817, 14.2359, 0),
        ("cupti_rope.log", 24, 24, 69, 0.0021, 29.0159, 0),
        ("cupti_silu_and_mul.log", 16, 32, 96, 0.0523, 16.7002, 0),
        ("junit_bmm_pytorch.xml", 8, 8, 12, 0.044798000000000004, 0.17910900000000005, 0),
        ("junit_silu_and_mul.xml", 16, 32, 96, 0.051423, 16.792503000000004, 0),
    ],
)
def test_real_records_are_read_whole(
    name: str, tests: int, records: int, kernels: int, first: float, last: float, notes: int
) -> None:
    """Counts and times as grep finds them in the files."""
    log = read_performance(str(MEASURED / name))
    assert (len(log.tests), len(log.measurements), len(log.notes)) == (tests, records, notes)
    assert {m.method for m in log.measurements} == {"cupti"}
    assert all(m.backend and m.direction for m in log.measurements)
    assert sum(len(m.kernels) for m in log.measurements) == kernels
    assert log.measurements[0].median_ms == pytest.approx(first, rel=1e-12)
    assert log.measurements[-1].median_ms == pytest.approx(last, rel=1e-12)


@needs_measurements
def test_real_records_survive_printing() -> None:
    log = read_performance(str(MEASURED / "junit_silu_and_mul.xml"))
    for test in log.tests:
        node = split_node_id(test.test)
        records = [
            m
            for m in log.measurements
            if (m.config, m.backend) == (Config(node.test, node.params), node.backend)
        ]
        text = f"{test.test} PASSED\n{write_results(test.test, records)}\n"
        found = parse_performance(text.encode(), "log").measurements
        assert [m.median_ms for m in found] == [m.median_ms for m in records]
        for left, right in zip(found, records, strict=True):
            assert (left.config, left.backend, left.method) == (
                right.config,
                right.backend,
                right.method,
            )
            assert [k.name for k in left.kernels] == [k.name for k in right.kernels]
            assert left.kernels_us == pytest.approx(right.kernels_us, abs=0.01)


@needs_measurements
def test_kernels_of_real_blocks_add_up() -> None:
    for path in sorted(MEASURED.glob("cupti_*.log")):
        for m in read_performance(str(path)).measurements:
            # A block prints every number to 0.1 us.
            rounding = 0.05 * (len(m.kernels) + 1) + 1e-6
            assert m.kernels_us == pytest.approx((m.median_ms or 0) * 1000, abs=rounding), m.place


def test_reading_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, tileir_tools.bench\n"
        "heavy = {'xml.etree.ElementTree', 'defusedxml', 'csv', 'pytest', 'numpy', 'torch', 'hypothesis'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == "[]"
