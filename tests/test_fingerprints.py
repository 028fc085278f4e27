"""Fingerprints: what changes them, what does not, and from which level kernels are equal."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import chain, islice
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutation_kinds import CRITICAL, KINDS, NONE, WARN, Kind
from mutations import Kernel, opened
from respell import EDITS, SPELLINGS, respelled
from samples import FIXTURES, ROOT, fixture_kernels, fixture_versions

import tileir_tools as tt
from tileir_tools.analyze.facts import Fingerprints
from tileir_tools.analyze.levels import LEVELS


def is_ordered(one: Fingerprints, other: Fingerprints) -> bool:
    """Whether what is equal at one level is equal at all that follow."""
    equal = [a == b for a, b in zip(one, other)]
    return equal == sorted(equal)


def first_equal(one: Fingerprints, other: Fingerprints) -> str | None:
    """The finest level at which two kernels are equal."""
    return next((level for level, a, b in zip(LEVELS, one, other) if a == b), None)


def test_levels_are_the_fields() -> None:
    assert Fingerprints._fields == LEVELS
    assert LEVELS == ("exact", "names", "hints", "dtype", "sizes", "structure")


# -- one kernel, read in several ways ---------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.tileirbc"))[::2], ids=lambda p: p.stem)
def test_every_reader_gives_the_same(path: Path) -> None:
    module = tt.load(path)
    wanted = tt.fingerprints(module)
    assert tt.fingerprints(tt.load(path.with_suffix(".mlir"))) == wanted
    assert tt.fingerprints(tt.parse(module.to_text(generic=True))) == wanted
    assert tt.fingerprints(module.entries[0]) == wanted
    debug = path.with_suffix(".g.mlir")
    if debug.exists():
        assert tt.fingerprints(tt.load(debug)) == wanted


def test_other_processes_give_the_same() -> None:
    path = fixture_kernels()[0]
    code = f"import tileir_tools as tt; print(*tt.fingerprints(tt.load({str(path)!r})))"
    wanted = tt.fingerprints(tt.load(path))
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        )
        assert tuple(done.stdout.split()) == tuple(wanted)


PINNED = Fingerprints(
    exact="e4027dd0a7262a81e0c486e9a20b26e4",
    names="aa2b2b6f4e50e3bf3191b95235dd05a9",
    hints="d6624f01fa02e9727d1cc75370e96a77",
    dtype="f3f9d1dd16549b42a659c8334780ecfc",
    sizes="2cd74b2c25006076376dfebfaf0bde39",
    structure="d988f4a38db570357cfec24ec20d20b5",
)


def test_values_are_pinned() -> None:
    """Fingerprints may be kept in files: a change of these is a change of the format."""
    text = (
        "entry @k(%a: tile<ptr<f32>>) {\n  %x, %t = load_ptr_tko weak %a : tile<ptr<f32>> -> "
        "tile<f32>, token\n  %y = addf %x, %x : tile<f32>\n  %u = store_ptr_tko weak %a, %y "
        "token=%t : tile<ptr<f32>>, tile<f32> -> token\n  return\n}\n"
    )
    assert tt.fingerprints(tt.parse(text)) == PINNED


# -- changes ----------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    path=st.sampled_from(fixture_kernels()),
    edits=st.lists(st.sampled_from(list(EDITS)), max_size=4),
    spellings=st.lists(st.sampled_from(list(SPELLINGS)), max_size=4, unique=True),
    seed=st.integers(0, 2**32),
)
def test_another_spelling_is_equal_modulo_names(
    path: Path, edits: list[str], spellings: list[str], seed: int
) -> None:
    module = tt.load(path)
    wanted = tt.fingerprints(module)
    edits = [edit for edit in edits if edit != "name_targets"]
    found = tt.fingerprints(tt.parse(respelled(module, edits, spellings, Random(seed))))
    assert found[1:] == wanted[1:]
    if not edits:
        assert found == wanted


# Rules about where a value is computed: fingerprints are about what is computed.
PLACES = frozenset({"PRF002", "PRF003"})


@pytest.fixture(scope="module")
def kernels() -> list[Kernel]:
    return opened(fixture_kernels())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_levels_see_what_the_differ_sees(kind: Kind, kernels: list[Kernel]) -> None:
    """What the differ reports as a difference is one modulo names, what it passes over is none."""
    start = KINDS.index(kind) * 7 % len(kernels)
    found = chain.from_iterable(
        islice(k.mutants(kind), 2) for k in (*kernels[start:], *kernels[:start])
    )
    for mutant in islice(found, 6):
        one, other = tt.fingerprints(mutant.reference), tt.fingerprints(mutant.generated)
        assert is_ordered(one, other), mutant.kernel
        if kind.severity in (CRITICAL, WARN) and not kind.codes <= PLACES:
            assert one.names != other.names, mutant.kernel
        if kind.severity == NONE:
            assert one.names == other.names, mutant.kernel


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_levels_are_ordered(data: st.DataObject) -> None:
    """Whatever is changed, however often: equal at one level is equal at every coarser one."""
    kernel = Kernel("kernel", data.draw(st.sampled_from(fixture_kernels())).read_text())
    wanted = tt.fingerprints(kernel.reference)
    for kind in data.draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3)):
        mutants = list(islice(kernel.mutants(kind), 5))
        if mutants:
            mutant = data.draw(st.sampled_from(mutants))
            assert is_ordered(wanted, tt.fingerprints(mutant.generated))
            kernel = Kernel("kernel", mutant.generated.to_text())
    assert is_ordered(wanted, tt.fingerprints(kernel.reference))


# -- from which level real kernels are equal ----------------------------------------------------------


def test_bytecode_versions_are_equal_modulo_hints() -> None:
    """13.2 writes hints under the target's name, 13.3 under `default`: for one target that is one."""
    for texts in fixture_versions().values():
        modules = [tt.load(path) for path in texts]
        if next(modules[0].find("print_tko"), None) is not None:
            # At 13.1 a mutex keeps prints apart, which is another body.
            modules = modules[1:]
        assert len({tt.fingerprints(m).hints for m in modules}) <= 1, texts[0].name
        assert len({tt.fingerprints(m, "sm_100").names for m in modules}) <= 1, texts[0].name


@pytest.mark.parametrize(
    ("one", "other", "level"),
    [
        ("matmul__128x128x64-float16 13.3", "matmul__128x128x64-bfloat16 13.3", "dtype"),
        ("softmax__tile1024-float32 13.3", "softmax__tile1024-bfloat16 13.3", "dtype"),
        ("transpose__64x32-float16 13.3", "transpose__64x32-int8 13.3", "dtype"),
        ("collatz__max1000-int32 13.3", "collatz__max1000-int64 13.3", "dtype"),
        ("matmul__128x128x64-float16 13.4", "matmul__strided_64x64x32-float16 13.4", "sizes"),
        ("matmul__128x128x64-float16 13.4", "persistent_matmul__group8-bfloat16 13.4", None),
    ],
)
def test_levels_of_real_pairs(one: str, other: str, level: str | None) -> None:
    texts = [FIXTURES / f"{name.replace(' ', '__sm_100__bc')}.mlir" for name in (one, other)]
    found = [tt.fingerprints(tt.load(path), "sm_100") for path in texts]
    assert first_equal(*found) == level


def stored(body: str, value: str, type: str) -> Fingerprints:
    """A kernel that computes something from `%x` (f32) or `%h` (f16) and stores it."""
    return tt.fingerprints(
        tt.parse(
            f"entry @k(%p: tile<ptr<{type}>>, %x: tile<f32>, %h: tile<f16>, %q: tile<4x4xf32>) {{\n"
            f"{body}  %t = store_ptr_tko weak %p, {value} : tile<ptr<{type}>>, tile<{type}> -> token\n"
            "  return\n}\n"
        )
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            "%v = fma %x, %x, %x : tile<f32>",
            "%m = mulf %x, %x : tile<f32>; %v = addf %m, %x : tile<f32>",
            id="fused",
        ),
        pytest.param(
            "%a = reshape %x : tile<f32> -> tile<1xf32>; %v = reshape %a : tile<1xf32> -> tile<f32>",
            "%a = reshape %x : tile<f32> -> tile<1xf32>; %b = ftof %a  : tile<1xf32> -> tile<1xf16>; "
            "%c = reshape %b : tile<1xf16> -> tile<f16>; %v = ftof %c  : tile<f16> -> tile<f32>",
            id="conversion between reshapes",
        ),
        pytest.param(
            "%c = constant <f32: 0.1> : tile<f32>; %v = mulf %x, %c : tile<f32>",
            "%c = constant <f16: 0.1> : tile<f16>; %w = ftof %c  : tile<f16> -> tile<f32>; "
            "%v = mulf %x, %w : tile<f32>",
            id="constant",
        ),
        pytest.param(
            "%v = addf %x, %x rounding<zero> flush_to_zero : tile<f32>",
            "%v = addf %x, %x : tile<f32>",
            id="rounding",
        ),
    ],
)
def test_what_a_number_format_brings(one: str, other: str) -> None:
    bodies = ["".join(f"  {line}\n" for line in text.split("; ")) for text in (one, other)]
    assert first_equal(*(stored(body, "%v", "f32") for body in bodies)) == "dtype"


def test_other_constants_are_equal_modulo_sizes() -> None:
    bodies = [
        f"  %c = constant <f32: {c}> : tile<f32>\n  %v = mulf %x, %c : tile<f32>\n"
        for c in ("0.1", "0.2")
    ]
    assert first_equal(*(stored(body, "%v", "f32") for body in bodies)) == "sizes"


def test_long_chains_cost_no_stack() -> None:
    lines, value = [], "%x"
    for k in range(3000):
        lines += [
            f"  %a{k} = reshape {value} : tile<f32> -> tile<1xf32>",
            f"  %b{k} = ftof %a{k}  : tile<1xf32> -> tile<1xf16>",
            f"  %c{k} = reshape %b{k} : tile<1xf16> -> tile<f16>",
            f"  %d{k} = ftof %c{k}  : tile<f16> -> tile<f32>",
        ]
        value = f"%d{k}"
    assert stored("\n".join(lines) + "\n", value, "f32").dtype == stored("", "%x", "f32").dtype


def test_order_counts_whatever_the_tokens() -> None:
    """Joined or chained tokens are one order; a lost edge is another kernel."""
    head = (
        "entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {\n"
        "  %a = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token\n"
        "  %l, %b = load_ptr_tko weak %p token=%a : tile<ptr<f32>> -> tile<f32>, token\n"
    )
    store = (
        "  %c = store_ptr_tko weak %p, %l{} : tile<ptr<f32>>, tile<f32> -> token\n  return\n}}\n"
    )
    chained = tt.fingerprints(tt.parse(head + store.format(" token=%b")))
    joined = head + "  %j = join_tokens %a, %b : token\n" + store.format(" token=%j")
    assert tt.fingerprints(tt.parse(joined))[1:] == chained[1:]
    lost = tt.fingerprints(tt.parse(head + store.format(" token=%a")))
    assert first_equal(lost, chained) == "structure"


def test_several_entries_and_none() -> None:
    text = "entry @a() {\n  return\n}\nentry @b(%x: tile<i32>) {\n  return\n}\n"
    both = tt.fingerprints(tt.parse(text))
    turned = tt.fingerprints(
        tt.parse("entry @b(%x: tile<i32>) {\n  return\n}\nentry @a() {\n  return\n}\n")
    )
    assert both.exact != turned.exact
    assert both[1:] == turned[1:]
    with pytest.raises(tt.UsageError, match="no entry"):
        tt.fingerprints(tt.parse("cuda_tile.module @m {\n}\n"))
    with pytest.raises(tt.UsageError, match="unknown arch"):
        tt.fingerprints(tt.parse(text), "sm_1")
