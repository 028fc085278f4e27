"""`tileir perf`: records, geometric means, ratios and launches, as text and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_cli import check, tool

PERF = Path(__file__).parent / "fixtures" / "perf"
REFERENCE, GENERATED = PERF / "junit_xunit2.xml", PERF / "junit_xunit1.xml"


def text(*arguments: object) -> list[str]:
    done = tool("tileir", "perf", *arguments, cwd=PERF)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode().splitlines()


def test_records() -> None:
    assert text("cupti.log") == [
        "cupti.log: pytest log; tests: 1 passed, 1 none",
        "  note: cupti.log:10: CUPTI events without '=== end ===': the block was cut off",
        "  note: cupti.log:10: no outcome of tests/ops/test_scale.py::Test_Scale::test_perf"
        "[cutile-2048-torch.float16]: the log was cut off",
        "",
        "backend  direction  configuration       median ms  rel std  n  launches  method",
        "cutile   forward    1024-torch.float16  0.0125     -        1  1         cupti",
        "cutile   backward   1024-torch.float16  0.031      -        1  3         cupti",
        "cutile   forward    2048-torch.float16  0.021      -        1  1         cupti",
        "",
        "geomean ms  configurations  rel std  backend  direction  group  method",
        "0.0162019   2               -        cutile   forward    all    cupti",
        "0.031       1               -        cutile   backward   all    cupti",
    ]


def test_a_profile_shows_its_kernels() -> None:
    assert text("ncu.csv")[-6:] == [
        "launches  us each  us in all  kernel",
        "2         13.00    26.00      scale_entry",
        "1         1.50     1.50       fill_kernel",
        "",
        "no time of a call",
        "left out: -: a profile of several calls has no median of one (ncu.csv)",
    ]


def test_ratios_and_launches() -> None:
    lines = text(GENERATED.name, "--reference", REFERENCE.name, "--direction", "forward")
    start = lines.index("ratio  reference ms  generated ms  noise  direction  configuration")
    assert lines[start + 1 :] == [
        "2.000  0.0125        0.025         1.99%  forward    1024-torch.float16",
        "left out: 2048-torch.float16: median is nan",
        "left out: 4096-torch.float16: its test ended as failed",
        "geomean ratio 2.0000, single (n = 1, 100% near the median)",
        "near a factor of two everywhere: look for a second launch first",
        "",
        "1024-torch.float16 forward: more launches",
        "launches of  reference  us each  us in all  generated  us each  us in all",
        "kernel       1          12.40    12.40      2          12.50    25.00",
        "fill         2          0.75     1.50       0          0.00     0.00",
        "kernel: 2 launches in a call, 1 in the reference (the operation itself)",
    ]


@pytest.mark.parametrize(
    "arguments",
    [[PERF / name] for name in sorted(p.name for p in PERF.iterdir() if p.is_file())]
    + [
        [GENERATED, "--reference", REFERENCE],
        [PERF / "nsys.csv", "--reference", PERF / "nsys.json"],
        [PERF / "results.log", PERF / "cupti.log", "--by", "dtype", "--backend", "cutile"],
    ],
    ids=lambda arguments: " ".join(getattr(a, "name", a) for a in arguments),
)
def test_documents_keep_their_schema(arguments: list[object]) -> None:
    done = tool("tileir", "perf", *arguments, "--format", "json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert check(done.stdout)["schema"] == "tileir-perf/1"


def test_a_document() -> None:
    done = tool("tileir", "perf", GENERATED, "--reference", REFERENCE, "--format", "json")
    document = check(done.stdout)
    assert document["groups"] == [
        {
            "name": "all",
            "backend": "cutile_rs",
            "direction": "forward",
            "method": "cupti",
            "configs": 1,
            "geomean_ms": pytest.approx(0.025),
            "rel_std": pytest.approx(0.0003 / 0.0251),
        }
    ]
    comparison, launches = document["comparison"], document["launches"]
    assert isinstance(comparison, dict)
    assert isinstance(launches, dict)
    assert [row["ratio"] for row in comparison["rows"]] == [pytest.approx(2.0)]
    # The reference has a backward pass too.
    assert [c["params"][0] for c in comparison["only_reference"]] == ["1024"]
    assert launches["verdict"] == "more launches"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.log"], "absent.log: error: no such file"),
        (["cupti.log", "--backend", "triton"], "no records of backend 'triton'; there are cutile"),
        (["cupti.log", "--reference-backend", "x"], "--reference-backend chooses from --reference"),
        (["cupti.log", "--method", "x"], "unknown method 'x'"),
        (
            ["pytest_benchmark.json", "--reference", "cupti.log", "--backend", "cutile"],
            "measured by cupti (cupti.log:1) and by pytest_benchmark (pytest_benchmark.json: benchmarks[0])",
        ),
        ([], "Missing argument"),
    ],
)
def test_what_makes_no_sense(arguments: list[str], message: str) -> None:
    done = tool("tileir", "perf", *arguments, cwd=PERF)
    assert done.returncode == 3
    assert message in done.stderr.decode()
