"""Other texts for the same module: what differs only in spelling must compare equal.

Two sorts of functions: `EDITS` change a parsed module without changing what it means; `SPELLINGS`
change a text that the printer wrote. Each takes the source of randomness that tells it where.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from editing import BODIES, before, constant

from tileir_tools.dialect import DEFAULT_KEY, OPS
from tileir_tools.model import (
    DenseElementsAttr,
    DictAttr,
    Module,
    Operation,
    OptimizationHintsAttr,
    StringAttr,
    TileType,
)
from tileir_tools.model.floats import FLOAT_FORMATS, encode_decimal

Edit = Callable[[Module, Random], None]
Spelling = Callable[[str, Random], str]
EDITS: dict[str, Edit] = {}
SPELLINGS: dict[str, Spelling] = {}


def edit(function: Edit) -> Edit:
    EDITS[function.__name__] = function
    return function


def spelling(function: Spelling) -> Spelling:
    SPELLINGS[function.__name__] = function
    return function


# -- edits of the module ---------------------------------------------------------------------------


def _pure(op: Operation) -> bool:
    return op.spec is not None and op.spec.is_pure and not op.spec.is_terminator


@edit
def duplicate_constants(module: Module, random: Random) -> None:
    """Give some readers of a constant a constant of their own."""
    for op in list(module.find("constant")):
        value = op.attributes["value"]
        assert isinstance(value, DenseElementsAttr)
        for user, index in op.result.uses:
            if random.random() < 0.5:
                flags = {"value": value}
                user.set_operand(index, before(op, "constant", [], [value.type], flags).result)


@edit
def add_dead_code(module: Module, random: Random) -> None:
    """Compute things that nobody reads."""
    for op in list(module.walk()):
        is_inside = op.parent_op is not None and op.parent_op.name not in BODIES
        if _pure(op) and not op.regions and is_inside and random.random() < 0.3:
            types = [v.type for v in op.results]
            copy = before(op, op.name, op.operands, types, dict(op.attributes), op.segments)
            if op.name == "addf":
                before(op, "mulf", [copy.result, copy.result], types)
            if op.name == "constant" and isinstance(types[0], TileType):
                constant(op, types[0], 1)


@edit
def reorder(module: Module, random: Random) -> None:
    """Exchange neighbours that do not read each other."""
    for op in list(module.walk()):
        if op.parent is None or not _pure(op) or random.random() < 0.5:
            continue
        operations = op.parent.operations
        place = operations.index(op)
        following = operations[place + 1]
        if _pure(following) and not set(op.results) & _read_inside(following):
            operations[place], operations[place + 1] = following, op


def _read_inside(op: Operation) -> set[object]:
    return {v for inner in op.walk() for v in inner.operands}


@edit
def commute(module: Module, random: Random) -> None:
    """Exchange the operands of commutative operations."""
    for op in module.walk():
        if op.spec is not None and "commutative" in op.spec.traits and random.random() < 0.5:
            op.set_operands(op.operands[::-1], op.segments)


@edit
def rename_entries(module: Module, random: Random) -> None:
    """Call the kernel by an alias."""
    for entry in module.entries:
        entry.attributes["sym_name"] = StringAttr(f"alias{random.randrange(100)}__kernel")


@edit
def name_targets(module: Module, random: Random) -> None:
    """Write the hints of `default` under the name of a target, where no target is named."""
    hints = [op for op in module.walk() if op.hints is not None]
    names = {name for op in hints if op.hints for name, _ in op.hints.value.items}
    if names != {DEFAULT_KEY}:
        return
    target = random.choice(("sm_90", "sm_100"))
    for op in hints:
        assert op.hints is not None
        renamed = tuple((target, entries) for _, entries in op.hints.value.items)
        op.attributes["optimization_hints"] = OptimizationHintsAttr(DictAttr(renamed))


@edit
def name_module(module: Module, random: Random) -> None:
    """Put a `cuda_tile.module` around the text, under another name."""
    module.name = f"module_{random.randrange(100)}"


# -- spellings of the text -------------------------------------------------------------------------

_LINE = re.compile(r"^(\s*(?:%[^=]*= )?)([a-z_$0-9]+)(?= |$)", re.MULTILINE)
_TYPES = r"(?<![\w.!#])(tile|tensor_view|partition_view|strided_view|gather_scatter_view)<"


def _outside_strings(text: str, change: Callable[[str], str]) -> str:
    """Change everything but what is in quotes."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    return "".join(part if k % 2 else change(part) for k, part in enumerate(parts))


@spelling
def prefix_operations(text: str, random: Random) -> str:
    """`cuda_tile.addf` for `addf`."""

    def prefixed(match: re.Match[str]) -> str:
        known = match[2] in OPS and random.random() < 0.7
        return f"{match[1]}{'cuda_tile.' if known else ''}{match[2]}"

    return _LINE.sub(prefixed, text)


@spelling
def prefix_types(text: str, random: Random) -> str:
    """`!cuda_tile.tile<..>` for `tile<..>`, where it is a type of its own."""

    def prefixed(match: re.Match[str]) -> str:
        return f"{match[1]}!cuda_tile.{match[2]}<" if random.random() < 0.5 else match[0]

    return _outside_strings(text, lambda part: re.sub(r"([:>,] )(tile)<", prefixed, part))


@spelling
def rename_values(text: str, random: Random) -> str:
    """Other names for all values."""
    names: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        number = len(names) * 3 + random.randrange(3)
        return names.setdefault(match[0], f"%{random.choice(('v', 'x_', '', 'a.b$'))}{number}")

    return _outside_strings(text, lambda part: re.sub(r"%[\w.$-]+", renamed, part))


@spelling
def add_comments(text: str, random: Random) -> str:
    """Comments at the ends of lines and on lines of their own."""
    lines = []
    for line in text.split("\n"):
        if random.random() < 0.2:
            lines.append('  // addf %x "quoted" { mmaf')
        lines.append(f"{line} // }} store_view_tko" if random.random() < 0.3 and line else line)
    return "\n".join(lines)


@spelling
def add_space(text: str, random: Random) -> str:
    """White space where it means nothing: tabs, empty lines, carriage returns, deep indentation."""

    def spaced(match: re.Match[str]) -> str:
        return match[0] + random.choice(("", " ", "\t", "   "))

    text = _outside_strings(text, lambda part: re.sub(r", |: | = ", spaced, part))
    lines = [random.choice(("", "\t", "      ")) + line for line in text.split("\n")]
    return random.choice(("\n", "\n\n", "\r\n")).join(lines)


@spelling
def break_lines(text: str, random: Random) -> str:
    """Operations over several lines."""

    def broken(match: re.Match[str]) -> str:
        return match[0] + ("\n      " if random.random() < 0.2 else "")

    return _outside_strings(text, lambda part: re.sub(r", |(?<=[\w)>\]]) : ", broken, part))


@spelling
def add_locations(text: str, random: Random) -> str:
    """`loc(..)` behind operations."""
    places = ("loc(unknown)", 'loc("kernel.py":12:7)', 'loc("name")', 'loc("f"("kernel.py":1:2))')
    # Regions and the argument lists of reduction bodies go on in the next line.
    one_line = r"^(\s+(?:%[^=\n]*= )?(?!reduce|scan|module|entry|global)[a-z_0-9]+ [^\n]*[^{\s])$"

    def located(match: re.Match[str]) -> str:
        return f"{match[1]} {random.choice(places)}" if random.random() < 0.4 else match[1]

    return re.sub(one_line, located, text, flags=re.MULTILINE)


@spelling
def write_defaults(text: str, random: Random) -> str:
    """Attributes that say what holds without them."""
    rounded = r"(\b(?:addf|subf|mulf|divf) %[^ ]+, %[^ ]+|\b(?:sqrt|ftof) %[^ ]+) (?= ?:)"
    text = re.sub(rounded, r"\1 rounding<nearest_even> ", text)
    wrapping = r"(\b(?:addi|subi|muli|shli) %[^ ]+, %[^ ]+)(?= :)"
    text = re.sub(wrapping, r"\1 overflow<none>", text)
    text = re.sub(r"(\bdivi %[^ ]+, %[^ ]+ (?:un)?signed)(?= :)", r"\1 rounding<zero>", text)
    return re.sub(r"(\bexp %[^ ]+) (?= ?:)", r"\1 rounding<full> ", text)


@spelling
def write_maps(text: str, random: Random) -> str:
    """`dim_map=[0, 1]` where it is left out."""

    def mapped(match: re.Match[str]) -> str:
        rank = match[2].count("x") + 1
        shown = ", ".join(map(str, range(rank)))
        return f"{match[1]}, dim_map=[{shown}]>"

    view = r"(partition_view<tile=\(([\dx]+)\)[^<>]*tensor_view<[^<>]*>)>"
    return re.sub(view, mapped, text)


@spelling
def hexadecimal(text: str, random: Random) -> str:
    """The bits of floating-point constants instead of decimals."""

    def bits(match: re.Match[str]) -> str:
        form = FLOAT_FORMATS.get(match[1])
        if form is None or random.random() < 0.3:
            return match[0]
        digits = (form.width + 3) // 4
        return f"<{match[1]}: 0x{encode_decimal(match[2], form):0{digits}X}>"

    return re.sub(r"<(b?f\d+): (-?\d\.\d+e[+-]\d+)>", bits, text)


# -- together --------------------------------------------------------------------------------------


def respelled(
    module: Module, edits: list[str], spellings: list[str], random: Random, generic: bool = False
) -> str:
    """The text of a module after some edits (of the module itself) and in some spellings."""
    for name in edits:
        EDITS[name](module, random)
    if generic:
        return module.to_text(generic=True)
    text = module.to_text()
    for name in spellings:
        text = SPELLINGS[name](text, random)
    return text
