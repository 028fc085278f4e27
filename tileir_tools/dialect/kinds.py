"""Whether the values of an operation are of the kinds its row names.

Place in the flow: what every reader makes sure of, so that no later stage meets, say, a token where a tile
belongs; imports `constraints` and `model`. Only the kind is asked for here: that `addi` takes integers is for
`verify` to say, since a kernel that breaks it can still be read, printed and compared.
"""

from __future__ import annotations

from operator import attrgetter

from ..model import Operation, TensorViewType, TileType, Type, Value
from .constraints import CONSTRAINTS

_type_of = attrgetter("type")

# How an error names a kind: as the constraint does that asks for nothing else.
_NAMES: dict[type[Type], str] = {
    c.kind: c.words for c in CONSTRAINTS.values() if c.elements is None and not c.pointers
}


# What was asked before and fits: row, sizes of groups, types. Kernels repeat few combinations often.
_fitting: set[tuple[object, ...]] = set()


def misfit(op: Operation) -> str | None:
    """What is wrong with the kinds of an operation's operands and results; None where nothing is.

    The numbers of operands and results must be right already.
    """
    spec = op.spec
    if spec is None or spec.takes_anything:
        return None
    if spec.takes_tiles_only:
        # Most operations are of tiles only: no key has to be made for them.
        for value in (*op.operands, *op.results):
            if value.type.__class__ is not TileType:
                break
        else:
            return None
    key = (spec, op.segments, *map(_type_of, op.operands), *map(_type_of, op.results))
    if key in _fitting:
        return None
    sizes = op.segments if op.segments is not None else (1,) * len(spec.operands)
    first = 0
    for row, size in zip(spec.operands, sizes):
        wrong = _wrong(op.operands[first : first + size], row.constraint)
        if wrong is not None:
            return f"operand '{row.name}' of {spec.mnemonic} must be {wrong}"
        first += size
    for k, result in enumerate(spec.results):
        values = op.results if result.arity else op.results[k : k + 1]
        wrong = _wrong(values, result.constraint)
        if wrong is not None:
            return f"result '{result.name}' of {spec.mnemonic} must be {wrong}"
    if spec.mnemonic == "make_tensor_view":
        miscounted = _miscounted(op, sizes)
        if miscounted is not None:
            return miscounted
    _fitting.add(key)
    return None


def _miscounted(op: Operation, sizes: tuple[int, ...]) -> str | None:
    """A tensor view has one operand for each size and stride that its type leaves open."""
    view = op.result.type
    assert isinstance(view, TensorViewType)
    for what, open_sizes, given in zip(("shape", "strides"), (view.shape, view.strides), sizes[1:]):
        wanted = open_sizes.count(None)
        if given != wanted:
            return f"the {what} of {view} takes {wanted} values, make_tensor_view has {given}"
    return None


def _wrong(values: list[Value], constraint: str) -> str | None:
    wanted = CONSTRAINTS[constraint].kind
    for value in values:
        if not isinstance(value.type, wanted):
            return f"{_NAMES[wanted]}, found {value.type}"
    return None
