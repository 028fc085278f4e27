"""Statistics on performance records: means, ratios, selection, and what is never averaged or compared."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileir_tools.bench import (
    GROUPINGS,
    Config,
    Measurement,
    choose_backends,
    compare,
    geomean,
    read_performance,
    summarise,
)
from tileir_tools.errors import UsageError

PERF = Path(__file__).parent / "fixtures" / "perf"
MEASURED = Path(__file__).resolve().parents[2] / "shared" / "measurements"


def record(
    median: float | None,
    *params: str,
    backend: str | None = "cutile",
    direction: str | None = "forward",
    method: str = "cupti",
    std: float | None = None,
    nrep: int | None = 10,
    outcome: str = "passed",
) -> Measurement:
    return Measurement(
        Config("test_a.py::test_perf", params or ("8",)),
        backend,
        direction,
        method,
        f"log:{method}",
        median,
        median,
        std,
        nrep=nrep,
        outcome=outcome,
    )


# -- means ------------------------------------------------------------------------------------------


def test_the_geometric_mean() -> None:
    assert geomean([1.0, 4.0, 16.0]) == pytest.approx(4.0)
    with pytest.raises(ValueError, match="nothing"):
        geomean([])


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=50), st.floats(1e-3, 1e3))
def test_the_geometric_mean_scales_and_inverts(values: list[float], factor: float) -> None:
    assert geomean(v * factor for v in values) == pytest.approx(geomean(values) * factor)
    assert geomean(1 / v for v in values) == pytest.approx(1 / geomean(values))
    assert min(values) * (1 - 1e-9) <= geomean(values) <= max(values) * (1 + 1e-9)


def test_one_mean_for_each_backend_and_direction() -> None:
    found = summarise(
        [
            record(1.0, "1", std=0.01),
            record(4.0, "2", std=0.12),
            record(9.0, "1", direction="backward"),
            record(2.0, "1", backend="triton"),
        ]
    )
    assert [(g.backend, g.direction, g.configs, g.geomean_ms) for g in found.groups] == [
        ("cutile", "forward", 2, pytest.approx(2.0)),
        ("cutile", "backward", 1, pytest.approx(9.0)),
        ("triton", "forward", 1, pytest.approx(2.0)),
    ]
    assert found.groups[0].rel_std == pytest.approx(0.02)
    assert found.groups[1].rel_std is None


def test_groups_by_number_format_shape_and_variant() -> None:
    given = [
        record(1.0, "64", "torch.float16"),
        record(4.0, "128", "torch.float16"),
        record(3.0, "64", "torch.float32"),
    ]
    by_dtype = summarise(given, GROUPINGS["dtype"]).groups
    assert [(g.name, g.configs, g.geomean_ms) for g in by_dtype] == [
        ("f16", 2, pytest.approx(2.0)),
        ("f32", 1, pytest.approx(3.0)),
    ]
    by_shape = summarise(given, GROUPINGS["shape"]).groups
    assert [(g.name, g.configs) for g in by_shape] == [("64", 2), ("128", 1)]
    variants = summarise(given, lambda c: "small" if c.shape == "64" else "large").groups
    assert [(g.name, g.configs) for g in variants] == [("small", 2), ("large", 1)]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (record(math.nan), "median is nan"),
        (record(math.inf), "median is inf"),
        (record(0.0), "median is zero"),
        (record(-1.0), "median is negative"),
        (record(None), "no median"),
        (record(1e308), "median is 1e+308 ms, which is no time of a call"),
        (record(1.0, outcome="failed"), "its test ended as failed"),
        (
            record(1.0)._replace(whole_profile=True),
            "a profile of several calls has no median of one",
        ),
    ],
)
def test_what_is_left_out_has_a_reason(bad: Measurement, reason: str) -> None:
    found = summarise([bad, record(2.0, "9")])
    assert [g.geomean_ms for g in found.groups] == [pytest.approx(2.0)]
    assert [(e.measurement, e.reason) for e in found.excluded] == [(bad, reason)]


def test_repeated_records_are_one_configuration() -> None:
    (group,) = summarise([record(1.0), record(1.1), record(5.0)]).groups
    assert (group.configs, group.geomean_ms) == (1, pytest.approx(1.1))
    comparison = compare([record(1.0), record(1.2), record(1.3)], [record(2.4)])
    (row,) = comparison.rows
    assert row.ratio == pytest.approx(2.0)


def test_methods_are_not_mixed() -> None:
    with pytest.raises(UsageError) as caught:
        summarise([record(1.0, "1"), record(1.0, "2", method="cuda_event")])
    assert str(caught.value) == (
        "cutile forward: measured by cupti (log:cupti) and by cuda_event (log:cuda_event); "
        "numbers of two methods are not comparable"
    )
    # Directions stand for themselves: TileGym times some backward passes by events.
    summarise([record(1.0), record(1.0, direction="backward", method="cuda_event")])


# -- selection --------------------------------------------------------------------------------------


def test_the_fastest_backend_of_each_variant() -> None:
    given = [
        record(1.0, "64", "a"),
        record(2.0, "64", "b"),
        record(2.0, "64", "a", backend="triton"),
        record(1.0, "64", "b", backend="triton"),
    ]
    found = choose_backends(given, lambda config: config.params[1])
    assert [(c.variant, c.winner, c.margin) for c in found.choices] == [
        ("a", "cutile", pytest.approx(2.0)),
        ("b", "triton", pytest.approx(2.0)),
    ]
    assert found.choices[0].geomeans_ms == {
        "cutile": pytest.approx(1.0),
        "triton": pytest.approx(2.0),
    }


def test_backends_are_compared_over_common_configurations() -> None:
    given = [
        record(1.0, "1"),
        record(100.0, "2"),
        record(2.0, "1", backend="triton"),
        record(math.nan, "2", backend="triton"),
        record(0.1, "3", backend="pytorch"),
    ]
    (choice,) = choose_backends(given).choices
    assert (choice.winner, choice.configs, choice.left_out) == ("cutile", 1, ("pytorch",))
    assert choice.geomeans_ms == {"cutile": pytest.approx(1.0), "triton": pytest.approx(2.0)}


def test_a_single_backend_wins_without_margin() -> None:
    (choice,) = choose_backends([record(1.0)]).choices
    assert (choice.winner, choice.margin) == ("cutile", None)


def test_events_are_not_used_where_cupti_is_there() -> None:
    event = record(0.5, backend="triton", method="cuda_event")
    found = choose_backends([record(1.0), record(2.0, backend="triton"), event])
    assert [(c.winner, c.method) for c in found.choices] == [("cutile", "cupti")]
    assert [(e.measurement, e.reason) for e in found.excluded] == [
        (event, "timed by cuda_event where CUPTI timed others")
    ]


def test_selection_refuses_two_other_methods() -> None:
    with pytest.raises(UsageError, match=r"variant default: measured by cupti .* and by nsys "):
        choose_backends([record(1.0), record(1.0, backend="triton", method="nsys")])


# -- comparison -------------------------------------------------------------------------------------


def ratios(*values: float) -> tuple[list[Measurement], list[Measurement]]:
    reference = [record(1.0, str(k)) for k in range(len(values))]
    generated = [record(v, str(k), backend="cutile_rs") for k, v in enumerate(values)]
    return reference, generated


@pytest.mark.parametrize(
    ("values", "name", "near_twice", "exceptions"),
    [
        ([1.0, 1.02, 0.97, 1.04], "aligned", False, 0),
        ([2.0, 2.02, 1.95, 2.05], "uniform", True, 0),
        ([1.3, 1.32, 1.28], "uniform", False, 0),
        ([1.0, 1.0, 2.5, 1.01], "shape-specific", False, 1),
        ([*[1.5] * 19, 4.0], "uniform", False, 1),
        ([2.1], "single", True, 0),
        ([0.5, 0.51, 0.49], "uniform", False, 0),
    ],
)
def test_how_slowness_is_spread(
    values: list[float], name: str, near_twice: bool, exceptions: int
) -> None:
    pattern = compare(*ratios(*values)).pattern
    assert (pattern.name, pattern.near_twice, pattern.n) == (name, near_twice, len(values))
    assert len(pattern.exceptions) == exceptions
    assert pattern.geomean == pytest.approx(geomean(values))
    assert pattern.near_median == pytest.approx(1 - exceptions / len(values))


def test_ratios_are_of_configurations_in_both() -> None:
    reference = [
        record(1.0, "1", std=0.03),
        record(1.0, "2"),
        record(1.0, "1", direction="backward"),
    ]
    generated = [
        record(3.0, "1", std=0.12, backend="cutile_rs"),
        record(2.0, "4", backend="cutile_rs"),
    ]
    found = compare(reference, generated)
    (row,) = found.rows
    assert (row.ratio, row.reference_ms, row.generated_ms) == (pytest.approx(3.0), 1.0, 3.0)
    assert row.noise == pytest.approx(math.hypot(0.03, 0.04))
    assert [(p.config.label, p.direction) for p in found.only_reference] == [
        ("2", "forward"),
        ("1", "backward"),
    ]
    assert [p.config.label for p in found.only_generated] == ["4"]
    assert found.method == "cupti"


def test_a_record_without_direction_is_of_the_only_one() -> None:
    found = compare([record(1.0)], [record(2.0, direction=None)])
    assert [(r.ratio, r.direction) for r in found.rows] == [(2.0, "forward")]
    both = [record(1.0), record(1.0, direction="backward")]
    assert compare(both, [record(2.0, direction=None)]).rows == ()
    with pytest.raises(UsageError, match="not comparable"):
        compare(both, [record(2.0, direction=None, method="ncu")])


def test_nothing_in_common() -> None:
    found = compare([record(1.0, "1")], [record(1.0, "2")])
    assert (found.rows, found.pattern.name, found.pattern.geomean) == ((), "no data", None)


def test_comparing_refuses_two_methods_and_several_backends() -> None:
    with pytest.raises(UsageError) as caught:
        compare([record(1.0)], [record(1.0, method="ncu")])
    assert str(caught.value) == (
        "reference and generated, forward: measured by cupti (log:cupti) and by ncu (log:ncu); "
        "numbers of two methods are not comparable"
    )
    with pytest.raises(
        UsageError, match=r"reference: several backends \(cutile, triton\): choose one"
    ):
        compare([record(1.0), record(1.0, backend="triton")], [record(1.0)])


def test_what_explains_the_differences() -> None:
    reference, generated = [], []
    for size in ("64", "128", "256", "512"):
        for dtype, ratio in (("torch.float16", 1.0), ("torch.float32", 2.0)):
            reference.append(record(1.0, size, dtype))
            generated.append(record(ratio, size, dtype))
    (influence,) = compare(reference, generated).influences
    assert (influence.parameter, influence.explained) == ("dtype", pytest.approx(1.0))
    assert influence.geomeans == {"f16": pytest.approx(1.0), "f32": pytest.approx(2.0)}


@given(st.lists(st.floats(0.1, 10), min_size=3, max_size=12))
def test_what_differs_for_each_configuration_explains_nothing(values: list[float]) -> None:
    assert compare(*ratios(*values)).influences == ()


# -- real records -----------------------------------------------------------------------------------


@pytest.mark.skipif(not MEASURED.is_dir(), reason="needs ../shared/measurements")
def test_a_real_selection() -> None:
    log = read_performance(str(MEASURED / "junit_silu_and_mul.xml"))
    (choice,) = choose_backends(log.measurements).choices
    assert (choice.winner, choice.configs, choice.method) == ("cutile", 16, "cupti")
    assert choice.geomeans_ms["cutile"] == pytest.approx(0.598005, rel=1e-5)
    assert choice.geomeans_ms["pytorch"] == pytest.approx(1.654612, rel=1e-5)
    sides = [[m for m in log.measurements if m.backend == b] for b in ("pytorch", "cutile")]
    found = compare(*sides)
    assert found.pattern.geomean == pytest.approx(0.598005 / 1.654612, rel=1e-5)
    assert found.influences[0].parameter == "dtype"


@pytest.mark.skipif(not MEASURED.is_dir(), reason="needs ../shared/measurements")
def test_two_runs_of_one_kernel_agree_within_their_noise() -> None:
    """A log of event blocks (one sample) and JUnit XML (a hundred) of the same tests."""
    runs = []
    for name in ("cupti_silu_and_mul.log", "junit_silu_and_mul.xml"):
        log = read_performance(str(MEASURED / name))
        runs.append([m for m in log.measurements if m.backend == "cutile"])
    found = compare(*runs)
    assert (found.pattern.name, found.pattern.n) == ("aligned", 16)
    assert (found.only_reference, found.only_generated, found.excluded) == ((), (), ())
