"""Whatever a reader accepts or a caller builds, verifying it ends in diagnostics, never in a traceback."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import FIXTURES, fixture_kernels

from tileir_tools import parse, parse_all
from tileir_tools.dialect import KEYWORDS, VERSIONS
from tileir_tools.errors import TileIRError
from tileir_tools.model import (
    TOKEN,
    Attribute,
    BoundedAttr,
    DivByAttr,
    ElementType,
    EnumAttr,
    IntegerAttr,
    Module,
    OpaqueAttr,
    OpaqueType,
    Operation,
    PartitionViewType,
    PointerType,
    SameElementsAttr,
    TensorViewType,
    TileType,
    Type,
)
from tileir_tools.model.types import ELEMENT_NAMES

F32 = ElementType("f32")
VIEW = TensorViewType((None, 3), (1, None), F32, "multicast")


@cache
def texts() -> list[str]:
    small = [p for p in fixture_kernels() if p.stat().st_size < 20_000]
    return [p.read_text() for p in small]


@cache
def binaries() -> list[bytes]:
    return [p.read_bytes() for p in sorted(FIXTURES.glob("*.tileirbc"))[::3]]


def any_type(pick: random.Random) -> Type:
    element = ElementType(pick.choice(ELEMENT_NAMES))
    shape = tuple(pick.choice((0, 1, 2, 3, 8, 1 << 20)) for _ in range(pick.randrange(4)))
    return pick.choice(
        (
            TileType(shape, element),
            TileType(shape, PointerType(element)),
            TileType(shape, OpaqueType("f8E3M4")),
            TensorViewType(shape, shape, element),
            PartitionViewType(shape, VIEW, (0, 5), "nan"),
            VIEW,
            TOKEN,
            OpaqueType("!other.type"),
        )
    )


def any_attribute(pick: random.Random, value: Attribute) -> Attribute:
    if isinstance(value, EnumAttr):
        return EnumAttr(value.kind, pick.choice(KEYWORDS[value.kind]))
    if isinstance(value, IntegerAttr):
        return IntegerAttr(pick.choice((-1, 0, 3, 1 << 40)), value.type)
    if isinstance(value, (DivByAttr, BoundedAttr, SameElementsAttr)):
        return pick.choice(
            (DivByAttr(3, 2, 9), BoundedAttr(5, -5), SameElementsAttr((9,)), OpaqueAttr("#x.y"))
        )
    return value


def damage(pick: random.Random, module: Module) -> None:
    """One change to the model that no rule allows for."""
    operations = list(module.walk())
    op = pick.choice(operations)
    kind = pick.randrange(8)
    if kind == 0 and op.results:
        pick.choice(op.results).type = any_type(pick)
    elif kind == 1 and op.attributes:
        name = pick.choice(list(op.attributes))
        op.attributes[name] = any_attribute(pick, op.attributes[name])
    elif kind == 2 and op.operands:
        values = [value for other in operations for value in other.results]
        op.set_operand(pick.randrange(len(op.operands)), pick.choice(values or op.operands))
    elif kind == 3 and op.operands:
        op.set_operands(op.operands[1:], op.segments)
    elif kind == 4:
        blocks = [b for o in operations for r in o.regions for b in r.blocks if b.arguments]
        if blocks:
            pick.choice(pick.choice(blocks).arguments).type = any_type(pick)
    elif kind == 5 and op.parent is not None and not isinstance(op.parent_op, type(None)):
        op.parent.operations.remove(op)
    elif kind == 6 and op.regions:
        region = pick.choice(op.regions)
        region.blocks = [] if pick.random() < 0.5 else [*region.blocks, *region.blocks]
    elif kind == 7 and op.attributes and not op.name.endswith(("entry", "global")):
        del op.attributes[pick.choice(list(op.attributes))]


def check(module: Module) -> None:
    module.verify()
    module.verify(strict_hints=True, bytecode_version=VERSIONS[0], arch="sm_80")


@given(st.integers(0, 1 << 30))
@settings(deadline=None, max_examples=150)
def test_damaged_models(seed: int) -> None:
    pick = random.Random(seed)
    for module in parse_all(pick.choice(texts())):
        for _ in range(pick.randrange(1, 6)):
            damage(pick, module)
        check(module)


@given(st.integers(0, 1 << 30))
@settings(deadline=None, max_examples=150)
def test_damaged_bytecode(seed: int) -> None:
    pick = random.Random(seed)
    data = bytearray(pick.choice(binaries()))
    for _ in range(pick.choice((1, 1, 2))):
        data[pick.randrange(12, len(data))] = pick.randrange(256)
    try:
        module = parse(bytes(data))
    except TileIRError:
        return
    check(module)


@pytest.mark.parametrize("seed", range(20))
def test_cut_texts(seed: int) -> None:
    pick = random.Random(seed)
    lines = pick.choice(texts()).splitlines(keepends=True)
    del lines[pick.randrange(len(lines))]
    try:
        modules = parse_all("".join(lines))
    except TileIRError:
        return
    for module in modules:
        check(module)


def test_unknown_operations_are_passed_over() -> None:
    module = parse(
        "entry @k(%p: tile<i32>) {\n"
        "  %0 = cuda_tile.frobnicate %p : tile<i32> -> tile<i32>\n"
        "  %1 = negi %0 : tile<i32>\n"
        "  return\n}"
    )
    assert isinstance(next(module.find("frobnicate")), Operation)
    assert module.verify() == []
