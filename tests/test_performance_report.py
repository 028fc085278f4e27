"""Agent E's `performance.md`: what is read in every spelling, what is odd, what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileir_tools.bench import PerformanceReport, read_performance_report
from tileir_tools.bench import performance_report as reading
from tileir_tools.bench.comparison import pattern_of
from tileir_tools.bench.performance_report import parse_performance_report
from tileir_tools.errors import InputError, ParseError, TileIRError

REPORT = """\
VERDICT: INVESTIGATE

## Performance Results: bmm

| Config | baseline (ms) | cutile-rs (ms) | ratio | verdict |
|--------|---------------|----------------|-------|---------|
| 8-1024-torch.float16 | 0.100 | 0.150 | 1.50x | INVESTIGATE |
| 8-2048-torch.float16 | 0.400 | 0.400 | 1.00x | PASS |
| 8-4096-torch.float16 | 0.900 | NA | NA | INVESTIGATE |

geomean_ratio=1.2247
Geo-mean ratio: 1.22x
Severity: MISSING_DATA
"""


def parsed(text: str) -> PerformanceReport:
    return parse_performance_report(text, "performance.md")


def table(head: str, *rows: str, before: str = "VERDICT: DONE\n\n", after: str = "") -> str:
    rule = "|" + "---|" * (head.count("|") - 1)
    return before + "\n".join([head, rule, *rows]) + f"\n\n{after}"


def one(head: str, row: str) -> tuple[float | None, float | None, float | None]:
    """Medians of the reference and of cutile-rs, and the stated ratio, of a table with one row."""
    [found] = parsed(table(head, row)).rows
    return found.reference_ms, found.generated_ms, found.ratio


# -- what the contract says ---------------------------------------------------------------------------


def test_the_report_of_the_contract(tmp_path: Path) -> None:
    path = tmp_path / "performance.md"
    path.write_text(REPORT)
    found = read_performance_report(str(path))
    assert (found.path, found.verdict, found.severity) == (
        str(path),
        "INVESTIGATE",
        "MISSING_DATA",
    )
    assert found.geomean_ratio == 1.2247
    assert found.recomputed_geomean == pytest.approx(math.sqrt(1.5))
    assert [(r.label, r.medians_ms, r.ratio, r.valid, r.verdict, r.line) for r in found.rows] == [
        ("8-1024-torch.float16", {"baseline": 0.1, "cutile_rs": 0.15}, 1.5, True, "INVESTIGATE", 7),
        ("8-2048-torch.float16", {"baseline": 0.4, "cutile_rs": 0.4}, 1.0, True, "PASS", 8),
        (
            "8-4096-torch.float16",
            {"baseline": 0.9, "cutile_rs": None},
            None,
            False,
            "INVESTIGATE",
            9,
        ),
    ]
    assert found.rows[2].why == "cutile_rs has no median: 'NA'"
    assert {row.section for row in found.rows} == {"Performance Results: bmm"}
    assert found.notes == (f"{path}:9: 8-4096-torch.float16: cutile_rs has no median: 'NA'",)


def test_its_ratios_have_a_pattern() -> None:
    found = parsed(REPORT).ratios()
    assert [(r.config.label, r.reference_ms, r.generated_ms) for r in found] == [
        ("8-1024-torch.float16", 0.1, 0.15),
        ("8-2048-torch.float16", 0.4, 0.4),
    ]
    assert found[0].config.dtype == "f16"
    pattern = pattern_of(found)
    assert (pattern.name, pattern.n) == ("shape-specific", 2)


# -- spellings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "row", "expected"),
    [
        ("| Config | baseline (ms) | cutile-rs (ms) | ratio |", "| a | 1 | 2 | 2.00x |", (1, 2, 2)),
        ("| ratio | cutile-rs (ms) | baseline (ms) | Config |", "| 2 | 2 | 1 | a |", (1, 2, 2)),
        ("| Shape | cuTile-Python (us) | cutile_rs (us) | Ratio |", "| a | 1000 | 2000 | 2 |", (1, 2, 2)),
        ("| Params | cutile_py | cutile-rs |", "| a | 1.0 ms | 2000 us |", (1, 2, None)),
        ("| case | reference median (s) | cutile_rs median (ms) |", "| a | 0.001 | 2 |", (1, 2, None)),
        ("| **Config** | `baseline` (ms) | **cutile-rs** (ms) |", "| a | **1.0** | `2.0` |", (1, 2, None)),
        ("| Config | baseline (cutile, ms) | cutile-rs, ms |", "| a | 1 ± 0.1 | 2 |", (1, 2, None)),
        ("| Config | Triton-TileIR (ms) | cutile-rs (ms) | rs / py |", "| a | 1e0 | 2 | 2× |", (1, 2, 2)),
        ("| Config | baseline (ns) | cutile-rs (µs) | ratio |", "| a | 1,000,000 | 2000 | 2 |", (1, 2, 2)),
        ("| Config | Agent A's baseline (ms) | cutile-rs CUPTI median [ms] |", "| a | 1 | 2 |", (1, 2, None)),
        ("| Config | Winning baseline: triton (ms) | cutile-rs (ms) |", "| a | 1 | 2 |", (1, 2, None)),
        ("| Config | baseline (ms) | cutile-rs (ms) | speedup | ratio |", "| a | 1 | 2 | 0.5 | 2 |", (1, 2, 2)),
        ("| Config | baseline | cutile-rs mean (ms) | cutile-rs (ms) |", "| a | 1 | 3 | 2 |", (1, 2, None)),
    ],
)  # fmt: skip
def test_columns_and_numbers_in_every_spelling(
    head: str, row: str, expected: tuple[float, float, float | None]
) -> None:
    assert one(head, row) == pytest.approx(expected)


@pytest.mark.parametrize(
    "cell",
    ["NA", "N/A", "nan", "", "-", "—", "none", "FAILED", "0", "0.0", "-1.5", "inf", "1e400", "abc",
     "1.2.3", "1 2", "0x10", "9" * 400, "1e-99", "½"],
)  # fmt: skip
def test_what_is_no_time(cell: str) -> None:
    found = parsed(table("| Config | baseline (ms) | cutile-rs (ms) |", f"| a | 1 | {cell} |"))
    [row] = found.rows
    assert (row.generated_ms, row.recomputed, row.valid) == (None, None, False)
    assert row.why == f"cutile_rs has no median: '{cell[:40]}'"
    assert found.recomputed_geomean is None
    assert found.ratios() == ()


def test_a_failed_configuration_with_medians_does_not_count() -> None:
    head = "| Config | baseline (ms) | cutile-rs (ms) | status |"
    rows = ("| a | 1 | 2 | correctness FAILED |", "| b | 1 | 3 | PASS |", "| c | 1 | 3 |")
    found = parsed(table(head, *rows))
    assert [(r.valid, r.why) for r in found.rows] == [
        (False, "its verdict is correctness FAILED"),
        (True, ""),
        (True, ""),
    ]
    assert found.recomputed_geomean == pytest.approx(3)


def test_several_columns_name_a_configuration() -> None:
    head = "| dtype | baseline (ms) | cutile-rs (ms) | shape |"
    assert [r.label for r in parsed(table(head, "| f16 | 1 | 2 | 8-64 |")).rows] == ["f16-8-64"]
    head = "| M | N | baseline (ms) | cutile-rs (ms) | ratio |"
    assert [r.label for r in parsed(table(head, "| 8 | 64 | 1 | 2 | 2 |")).rows] == ["8-64"]


def test_a_bar_in_a_cell_and_a_table_without_outer_bars() -> None:
    text = "VERDICT: DONE\nConfig | baseline (ms) | cutile-rs (ms)\n--|:-:|--\na\\|b | 1 | 2\n"
    assert [(r.label, r.recomputed) for r in parsed(text).rows] == [("a|b", 2)]


def test_rows_that_sum_up_others_are_none() -> None:
    head = "| Config | baseline (ms) | cutile-rs (ms) | ratio |"
    sums = ("Geo-mean", "**geomean**", "Overall (all)", "Total", "average", "geometric mean")
    found = parsed(table(head, "| a | 1 | 2 | 2 |", *(f"| {s} | 1 | 9 | 9 |" for s in sums)))
    assert [row.label for row in found.rows] == ["a"]


def test_the_reference_is_the_column_that_ratios_agree_with() -> None:
    head = "| Config | cutile (ms) | triton (ms) | cutile-rs (ms) | ratio |"
    found = parsed(
        table(head, "| a | 2.0 | 1.0 | 3.0 | 3.00x |", "| b | 2.0 | 1.0 | 2.0 | 2.00x |")
    )
    assert [(r.reference, r.recomputed) for r in found.rows] == [("triton", 3), ("triton", 2)]
    named = head.replace("cutile (ms)", "baseline cutile (ms)")
    found = parsed(table(named, "| a | 2.0 | 1.0 | 3.0 | 3.00x |"))
    assert [(r.reference, r.recomputed) for r in found.rows] == [("cutile", 1.5)]
    assert [r.medians_ms for r in found.rows] == [{"cutile": 2, "triton": 1, "cutile_rs": 3}]


# -- sections -----------------------------------------------------------------------------------------

HEAD = "| Config | baseline (ms) | cutile-rs (ms) | ratio |\n|--|--|--|--|\n"


def test_tables_of_other_sections_are_left_out() -> None:
    text = (
        f"VERDICT: DONE\n## Before\n{HEAD}| old | 1 | 9 | 9 |\n"
        f"## Performance Results: k\n### one\n{HEAD}| a | 1 | 2 | 2 |\n"
        f"### two\n{HEAD}| b | 1 | 3 | 3 |\n## After\n{HEAD}| new | 1 | 8 | 8 |\n"
    )
    found = parsed(text)
    assert [(r.label, r.section) for r in found.rows] == [("a", "one"), ("b", "two")]
    assert found.notes[1:] == (
        "performance.md:3: a table below 'Before' is left out",
        "performance.md:16: a table below 'After' is left out",
    )


def test_without_that_section_every_table_counts_but_those_of_means_and_in_code() -> None:
    text = (
        f"VERDICT: DONE\n## Forward\n{HEAD}| a | 1 | 2 | 2 |\n## Backward\n{HEAD}| a | 2 | 3 | 1.5 |\n"
        f"## Geo-means\n{HEAD}| all of it 1 | 1 | 2 | 2 |\n```text\n{HEAD}| code | 1 | 2 | 2 |\n```\n"
        "| Config | baseline (ms) |\n|--|--|\n| x | 1 |\n"
        "| Variant | baseline geomean (ms) | cutile-rs geomean (ms) |\n|--|--|--|\n| v | 1 | 2 |\n"
    )
    found = parsed(text)
    assert [(r.label, r.section, r.recomputed) for r in found.rows] == [
        ("a", "Forward", 2),
        ("a", "Backward", 1.5),
    ]


def test_a_configuration_twice() -> None:
    text = f"VERDICT: DONE\n{HEAD}| a | 1 | 2 | 2 |\n| a | 1 | 2 | 2 |\n| a | 1 | 4 | 4 |\n"
    found = parsed(f"{text}geomean_ratio=2.0\n")
    assert [r.recomputed for r in found.rows] == [2]
    assert found.notes == ("performance.md:6: a has other medians on line 4, which count",)


# -- what is computed again ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "note"),
    [
        ("| a | 0.100 | 0.150 | 1.50x |", None),
        ("| a | 0.100 | 0.150 | 1.49x |", None),
        ("| a | 0.001 | 0.002 | 2.9x |", None),
        ("| a | 0.001 | 0.002 | 5.1x |", "a: the ratio is 5.1, its medians give 2"),
        ("| a | 0.100 | 0.150 | 1.40x |", "a: the ratio is 1.4, its medians give 1.5"),
        ("| a | 0.100 | 0.150 | 0.67x |", "a: the ratio is 0.67, its medians give 1.5"),
        ("| a | 0.100 | 0.150 | |", "a: states no ratio"),
    ],
)
def test_ratios_that_rounding_does_not_explain_are_noted(row: str, note: str | None) -> None:
    found = parsed(f"VERDICT: DONE\n{HEAD}{row}\n")
    expected = ["performance.md: no line geomean_ratio=X.XXXX"]
    assert list(found.notes) == expected + ([f"performance.md:4: {note}"] if note else [])


@pytest.mark.parametrize(
    ("line", "value", "note"),
    [
        ("geomean_ratio=2.0000", 2.0, None),
        ("geomean_ratio=2.0000  \r", 2.0, None),
        ("geomean_ratio=2.01", 2.01, None),
        (
            "geomean_ratio=2.1000",
            2.1,
            "5: geomean_ratio is 2.1, the medians of 1 configurations give 2.0000",
        ),
        ("geomean_ratio=2.0x", None, "5: geomean_ratio is no positive number"),
        ("geomean_ratio=0", None, "5: geomean_ratio is no positive number"),
        ("geomean_ratio=nan", None, "5: geomean_ratio is no positive number"),
        ("geomean_ratio=2\ngeomean_ratio=2", 2.0, "6: geomean_ratio stands here again"),
    ],
)
def test_the_geometric_mean(line: str, value: float | None, note: str | None) -> None:
    found = parsed(f"VERDICT: DONE\n{HEAD}| a | 0.100 | 0.200 | 2.0 |\n{line}\n")
    assert found.geomean_ratio == value
    assert found.recomputed_geomean == pytest.approx(2)
    notes = [n for n in found.notes if "no line" not in n]
    assert notes == ([f"performance.md:{note}"] if note else [])


@pytest.mark.parametrize(
    "first", ["VERDICT: PASS", "verdict: DONE", "", "# Report", "VERDICT:DONE"]
)
def test_a_first_line_that_is_no_verdict(first: str) -> None:
    found = parsed(f"{first}\n{HEAD}| a | 1 | 2 | 2 |\n")
    assert found.verdict is None
    assert found.notes[0] == "performance.md:1: the first line is no VERDICT: DONE or INVESTIGATE"


# -- what is refused ----------------------------------------------------------------------------------


def test_no_table() -> None:
    with pytest.raises(
        ParseError, match=r"performance\.md:1:1: error: no table has medians of cutile-rs"
    ):
        parsed("VERDICT: DONE\nnothing\n")
    assert parsed("VERDICT: BLOCKED\nno GPU\n").rows == ()


def test_a_table_without_a_reference() -> None:
    with pytest.raises(ParseError) as error:
        parsed("VERDICT: DONE\n\n| Config | cutile-rs (ms) |\n|--|--|\n| a | 1 |\n")
    assert str(error.value).startswith(
        "performance.md:3:1: error: a table without a reference beside cutile-rs; expected columns "
    )


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_performance_report(str(tmp_path / "absent"))
    with pytest.raises(InputError, match="directory"):
        read_performance_report(str(tmp_path))
    path = tmp_path / "performance.md"
    path.write_bytes(b"VERDICT: DONE\n" * 200_000)
    monkeypatch.setattr(reading, "MAX_REPORT", 1 << 20)
    with pytest.raises(InputError, match="larger than 1 MiB"):
        read_performance_report(str(path))


CELLS = st.one_of(
    st.sampled_from(["1.0", "2 ms", "3x", "**4**", "nan", "1e300", "-1", "", "a\\|b", "Config"]),
    st.sampled_from(
        ["baseline (ms)", "cutile-rs (ms)", "ratio", "verdict", "---", ":-:", "geomean"]
    ),
    st.text(max_size=12),
)
LINES = st.one_of(
    st.lists(CELLS, max_size=6).map(lambda cells: f"| {' | '.join(cells)} |"),
    st.sampled_from(
        [
            "VERDICT: DONE",
            "VERDICT: BLOCKED",
            "| Config | baseline (ms) | cutile-rs (ms) | ratio |",
            "|--|--|--|",
            "| a | 1 | 2 | 2 |",
            "geomean_ratio=1.0",
            "## Performance Results",
            "# x",
            "```",
        ]
    ),
    st.text(max_size=40),
)


@given(st.lists(LINES, max_size=14).map("\n".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parsed(text)
    except TileIRError:
        return
    for row in found.rows:
        times = [ms for ms in row.medians_ms.values() if ms is not None]
        assert all(0 < ms < math.inf for ms in times)
        assert row.valid == (not row.why)
        assert not row.valid or row.recomputed == row.generated_ms / row.reference_ms  # type: ignore[operator]
    mean = found.recomputed_geomean
    assert (mean is None) == (not any(row.valid for row in found.rows))
    assert mean is None or (math.isfinite(mean) and mean > 0)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        parsed(data.decode("utf-8-sig", "replace"))
    except TileIRError:
        return


def test_a_table_without_a_configuration() -> None:
    found = parsed(f"VERDICT: DONE\n{HEAD}|  | 1 | 2 | 2 |\ngeomean_ratio=1.0\n")
    assert (found.rows, found.notes) == ((), ("performance.md: no table has a configuration",))


@pytest.mark.parametrize(
    "text",
    [
        "|" * 2_000_000 + "\n" + "|-" * 1_000_000,
        "#" * 1_000_000 + " x",
        "severity" + " " * 1_000_000 + "X",
        " " * 1_000_000 + "|\n" + " " * 1_000_000 + "-|",
        "`" * 1_000_000 + "\n|a|",
        "\n" * 1_000_000,
    ],
)
def test_large_texts_are_refused(text: str) -> None:
    with pytest.raises(ParseError):
        parsed(text)


def test_a_large_cell_is_no_time() -> None:
    for cell in ("1," * 500_000, "9" * 1_000_000, "*" * 1_000_000, "1" + " " * 1_000_000 + "y"):
        [row] = parsed(f"VERDICT: DONE\n{HEAD}| a | 1 | {cell} | 2 |\n").rows
        assert not row.valid
