"""Our verdict beside that of tileirdisasm, which verifies what it reads, on modules with one thing changed.

    python tests/fuzz/verdicts.py [SEED [CASES]]

Sources are our own kernels and, where they are, the accepted test inputs of the dialect in
../shared/conformance, whose functions become entries. Prints each kind of difference once, then the counts.
None is expected, but for what docs/verify.md names. Needs tileirdisasm (the extra `cutile`).
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from samples import FIXTURES, nvidia_tool
from test_verify_conformance import CONFORMANCE, chunks, records
from test_verify_fuzz import any_type

from tileir_tools import parse, parse_all
from tileir_tools.dialect import KEYWORDS, OPS, VERSIONS
from tileir_tools.errors import TileIRError
from tileir_tools.model import (
    UNIT,
    Attribute,
    Block,
    BoundedAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    DivByAttr,
    ElementType,
    Entry,
    EnumAttr,
    FunctionType,
    GatherScatterViewType,
    IntegerAttr,
    Module,
    Operation,
    PartitionViewType,
    PointerType,
    SameElementsAttr,
    StridedViewType,
    StringAttr,
    TensorViewType,
    TileType,
    TokenType,
    Type,
    TypeAttr,
    Value,
    ViewType,
)

I32 = ElementType("i32")
NEWEST = VERSIONS[-1]
_MAKERS: dict[type[Type], str] = {
    PartitionViewType: "make_partition_view",
    StridedViewType: "make_strided_view",
    GatherScatterViewType: "make_gather_scatter_view",
}


class Maker:
    """Makes values of any type at the start of an entry, which takes scalars only."""

    def __init__(self, block: Block):
        self.block = block
        self.made: list[Operation] = []

    def value(self, type: Type) -> Value:
        if isinstance(type, TokenType):
            return self._op("make_token", [], type)
        if isinstance(type, TensorViewType):
            base = self.value(TileType((), PointerType(type.element, type.attribute)))
            sizes = [self.value(TileType((), I32)) for size in type.shape if size is None]
            strides = [self.value(TileType((), I32)) for size in type.strides if size is None]
            segments = (1, len(sizes), len(strides))
            return self._op("make_tensor_view", [base, *sizes, *strides], type, {}, segments)
        if isinstance(type, ViewType):
            return self._op(_MAKERS[type.__class__], [self.value(type.tensor_view)], type)
        if not isinstance(type, TileType):
            raise ValueError(type)
        if isinstance(type.element, PointerType):
            return self._pointers(type, type.element)
        if type.element is ElementType("i4"):
            wide = self.value(TileType(type.shape, ElementType("i8")))
            return self._op("trunci", [wide], type)
        return self._op("constant", [], type, {"value": DenseElementsAttr(type, (0,))})

    def _pointers(self, type: TileType, element: PointerType) -> Value:
        scalar = Value(TileType((), element), self.block, len(self.block.arguments))
        self.block.arguments.append(scalar)
        if not type.shape:
            return scalar
        one = self._op("reshape", [scalar], TileType((1,) * type.rank, element))
        return self._op("broadcast", [one], type)

    def _op(
        self,
        name: str,
        operands: list[Value],
        type: Type,
        attributes: dict[str, Attribute] | None = None,
        segments: tuple[int, ...] | None = None,
    ) -> Value:
        op = Operation(name, OPS[name], operands, [type], attributes, (), segments)
        op.parent = self.block
        self.made.append(op)
        return op.result


def make_entries(module: Module) -> None:
    """Functions of tests become entries; values from nowhere become made ones. Raises ValueError."""
    for entry in module.entries:
        block = entry.body
        arguments, block.arguments = block.arguments, []
        maker = Maker(block)
        for argument in arguments:
            argument.replace_all_uses_with(maker.value(argument.type))
        for op in [op for op in entry.walk() if op.spec is None and not op.operands]:
            for result in op.results:
                result.replace_all_uses_with(maker.value(result.type))
            op.erase()
        block.operations[:0] = maker.made
        for op in entry.walk():
            if op.name == "return":
                op.set_operands((), (0,))
        inputs = tuple(value.type for value in block.arguments)
        entry.name, entry.spec = "entry", OPS["entry"]
        entry.attributes = {
            "sym_name": entry.attributes["sym_name"],
            "function_type": TypeAttr(FunctionType(inputs, ())),
        }


# -- changes ----------------------------------------------------------------------------------------


def change(pick: random.Random, module: Module) -> str | None:
    """One change to a module; what was changed."""
    ops = [op for op in module.walk() if op.spec is not None and not isinstance(op, Entry)]
    name = pick.choice(sorted({op.name for op in ops}))
    op = pick.choice([op for op in ops if op.name == name])
    kind = pick.choice(("result", "attribute", "operand", "argument", "terminator"))
    if kind == "result" and op.results:
        pick.choice(op.results).type = any_type(pick)
    elif kind == "attribute":
        return _attribute(pick, op)
    elif kind == "operand" and op.operands:
        seen = op.parent.operations[: op.parent.operations.index(op)] if op.parent else []
        values = [value for other in seen for value in other.results]
        if not values:
            return None
        op.set_operand(pick.randrange(len(op.operands)), pick.choice(values))
    elif kind == "argument":
        blocks = [b for o in ops for r in o.regions for b in r.blocks if b.arguments]
        if not blocks:
            return None
        pick.choice(pick.choice(blocks).arguments).type = any_type(pick)
    elif kind == "terminator":
        last = pick.choice([o for o in ops if o.terminator])
        last.name = pick.choice(("return", "break", "continue", "yield"))
        last.spec = OPS[last.name]
    return f"{kind} of {name}"


def _attribute(pick: random.Random, op: Operation) -> str | None:
    assert op.spec is not None
    rows = [
        r for r in op.spec.attributes.values() if r.kind not in ("symbol_name", "type", "hints")
    ]
    if not rows:
        return None
    row = pick.choice(rows)
    value = op.attribute(row.name)
    if row.kind == "unit":
        op.attributes.pop(row.name) if value else op.attributes.update({row.name: UNIT})
    elif value is None and row.kind in KEYWORDS:
        op.attributes[row.name] = EnumAttr(row.kind, pick.choice(KEYWORDS[row.kind]))
    elif value is not None:
        op.attributes[row.name] = _changed(pick, value)
    return f"{row.name} of {op.name}"


def _changed(pick: random.Random, value: Attribute) -> Attribute:
    if isinstance(value, EnumAttr):
        return EnumAttr(value.kind, pick.choice(KEYWORDS[value.kind]))
    if isinstance(value, IntegerAttr):
        return IntegerAttr(pick.choice((-1, 0, 1, 2, 3, 16)), value.type)
    if isinstance(value, DenseArrayAttr):
        return DenseArrayAttr(value.element, tuple(pick.choice((0, 1)) for _ in value.values))
    if isinstance(value, (DivByAttr, BoundedAttr, SameElementsAttr)):
        sizes = tuple(pick.choice((0, 1, 8)) for _ in range(pick.randrange(3)))
        bounds = [pick.choice((None, 0, -1, 300)) for _ in range(2)]
        divisor = DivByAttr(pick.choice((0, 3, 8, 1 << 62, 1 << 63)))
        along = DivByAttr(2, pick.choice((0, 4, 64)), pick.choice((0, 2)))
        return pick.choice((divisor, along, BoundedAttr(*bounds), SameElementsAttr(sizes)))
    if isinstance(value, StringAttr):
        return StringAttr(pick.choice(("%", "%d", "%%", "%5d %f", "% ")))
    return value


# -- verdicts ---------------------------------------------------------------------------------------


def sources() -> list[str]:
    found = [path.read_text() for path in sorted(FIXTURES.glob("*13.4.mlir"))[::3]]
    if CONFORMANCE.is_dir():
        accepted = [r for r in records() if r["verdict"] == "accept"]
        found += [chunks(r["file"])[r["chunk"]] for r in accepted] * 2
    return found


def one_case(pick: random.Random, texts: list[str]) -> tuple[str, bytes] | None:
    """What was changed, and the module as bytecode; None where this cannot be said in bytecode."""
    try:
        module = pick.choice(parse_all(pick.choice(texts)))
        make_entries(module)
        what = change(pick, module)
        return (what, module.to_bytecode(NEWEST)) if what else None
    except (TileIRError, ValueError, KeyError, IndexError, AssertionError):
        return None


def their_verdict(tool: str, data: bytes) -> str:
    """The first line of what the tool complains about; empty where it does not."""
    with tempfile.NamedTemporaryFile(suffix=".tileirbc") as file:
        file.write(data)
        file.flush()
        done = subprocess.run([tool, file.name], capture_output=True, text=True, check=False)
    return done.stderr.strip().split("\n")[0] if done.returncode else ""


def our_verdict(data: bytes) -> str:
    try:
        found = parse(data).verify(bytecode_version=NEWEST)
        found = [d for d in found if d.severity == "error"]
    except TileIRError as error:
        return str(error)
    return found[0].message if found else ""


def main() -> None:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    tool = nvidia_tool("tileirdisasm")
    if tool is None:
        sys.exit("tileirdisasm is not installed")
    pick, texts, seen = random.Random(seed), sources(), set()
    done = refused = different = 0
    while done < cases:
        case = one_case(pick, texts)
        if case is None:
            continue
        what, data = case
        theirs, ours = their_verdict(tool, data), our_verdict(data)
        done += 1
        refused += bool(theirs)
        if bool(theirs) != bool(ours):
            different += 1
            key = (what, bool(ours), theirs[:60])
            if key not in seen:
                seen.add(key)
                print(f"{what}: tileirdisasm {theirs or 'takes it'}; we {ours or 'take it'}")
    print(f"{done} modules, {refused} refused by tileirdisasm, {different} verdicts differ")


if __name__ == "__main__":
    main()
