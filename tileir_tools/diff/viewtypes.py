"""In what views and tensor views differ, and which rule each difference falls under.

Place in the flow: facts -> **findings**; imports `analyze` and `model`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..analyze.dataflow import Node, scalar_constant
from ..model import (
    EnumAttr,
    GatherScatterViewType,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
    ViewType,
)


def view_differences(
    reference: ViewType, generated: ViewType, padding: bool
) -> list[tuple[str, str]]:
    """(rule, message) for each difference of two tile views, their tensor views left out.

    `padding` says whether anything can see it: loads can, stores cannot.
    """
    if type(reference) is not type(generated):
        names = [t.__class__.__name__.removesuffix("Type") for t in (reference, generated)]
        return [("MEM008", _sides("kind of view", *names))]
    found: list[tuple[str, str]] = []
    if reference.tile_shape != generated.tile_shape:
        found.append(("MEM005", _sides("tile of the view", _x(reference), _x(generated))))
    if padding and reference.padding != generated.padding:
        one, other = reference.padding, generated.padding
        found.append(("MEM007", _sides("padding_value of the view", one, other)))
    for name in _MAPS[type(reference)]:
        one, other = getattr(reference, name), getattr(generated, name)
        # Another rank is a matter of the tile's shape.
        if one != other and reference.rank == generated.rank:
            shown = [list(v) if isinstance(v, tuple) else v for v in (one, other)]
            found.append(("MEM008", _sides(f"{name} of the view", *shown)))
    return found


_MAPS: dict[type, tuple[str, ...]] = {
    PartitionViewType: ("dim_map",),
    StridedViewType: ("dim_map", "traversal_strides"),
    GatherScatterViewType: ("sparse_dim",),
}


def _x(view: ViewType) -> str:
    return "x".join(map(str, view.tile_shape))


def _sides(what: str, reference: object, generated: object) -> str:
    left = "absent" if reference is None else reference
    right = "absent" if generated is None else generated
    return f"{what} is {left} in the reference and {right} in the generated kernel"


# -- tensor views ----------------------------------------------------------------------------------


def tensor_differences(one: Node, other: Node) -> list[tuple[str, str]]:
    """(rule, message) for what two tensor views say beside their base, sizes and strides."""
    reference, generated = one.type, other.type
    assert isinstance(reference, TensorViewType)
    assert isinstance(generated, TensorViewType)
    found: list[tuple[str, str]] = []
    # The element type follows from the pointer's.
    if (
        reference.element is not generated.element
        and one.operands[0].type is other.operands[0].type
    ):
        shown = _sides("element type of the tensor", reference.element, generated.element)
        found.append(("DFL005", shown))
    if reference.attribute != generated.attribute:
        shown = _sides("ptr_attr of the tensor", reference.attribute, generated.attribute)
        found.append(("MEM008", shown))
    if reference.rank != generated.rank:
        found.append(("MEM009", _sides("rank of the tensor", reference.rank, generated.rank)))
    return found


def sizes_of(node: Node) -> list[tuple[str, int | Node]]:
    """Sizes and strides of a `make_tensor_view`, each with its name."""
    assert isinstance(node.type, TensorViewType)
    dynamic = iter(node.operands[1:])
    return [
        *_sizes("size", node.type.shape, dynamic),
        *_sizes("stride", node.type.strides, dynamic),
    ]


def _sizes(
    what: str, static: tuple[int | None, ...], dynamic: Iterator[Node]
) -> list[tuple[str, int | Node]]:
    return [
        (f"{what} {k} of the tensor", next(dynamic) if size is None else size)
        for k, size in enumerate(static)
    ]


def size_difference(
    what: str, reference: int | Node, generated: int | Node, is_last_stride: bool
) -> tuple[str, str] | None:
    """(rule, message) for a size of which at most one side is a run-time value."""
    left, right = _number(reference), _number(generated)
    if isinstance(reference, int) and isinstance(generated, int):
        return None if left == right else ("MEM009", _sides(what, left, right))
    shown = [f"the constant {n}" if n is not None else "a run-time value" for n in (left, right)]
    if left == right and left is not None:
        shown[isinstance(reference, int)] += " given at run time"
        return ("PRF004", _sides(what, *shown))
    if is_last_stride and reference == 1 and right is None:
        return ("PRF004", _sides(what, *shown))
    return ("MEM009", _sides(what, *shown))


def _number(size: int | Node) -> int | None:
    return size if isinstance(size, int) else scalar_constant(size)


# -- the same elements through another view --------------------------------------------------------


def same_addresses(one: Node, other: Node, indices: list[tuple[Node, Node]]) -> bool:
    """Whether a partition view and a strided view with other indices touch the same elements."""
    left, right = one.type, other.type
    if type(left) is type(right):
        return False
    if not isinstance(left, (PartitionViewType, StridedViewType)):
        return False
    if not isinstance(right, (PartitionViewType, StridedViewType)):
        return False
    if one.operands != other.operands or left.padding != right.padding:
        return False
    if left.tile_shape != right.tile_shape or left.dim_map != right.dim_map:
        return False
    steps = zip(_steps(left), _steps(right), strict=True)
    return len(indices) == len(left.tile_shape) and all(
        _offset(a, left_step) == _offset(b, right_step)
        for (a, b), (left_step, right_step) in zip(indices, steps, strict=True)
    )


def widened(one: Node, other: Node) -> tuple[Node, Node]:
    """Two indices without the sign extensions around them, which do not change what they mean."""
    inner = []
    for index in (one, other):
        while index.name == "exti" and _is_signed(index):
            index = index.operands[0]
        inner.append(index)
    # An extension without sign, on one side, has to be compared with what the other side has.
    return (one, other) if "exti" in (inner[0].name, inner[1].name) else (inner[0], inner[1])


def _is_signed(node: Node) -> bool:
    found = node.attribute("signedness")
    return isinstance(found, EnumAttr) and found.value == "signed"


def _steps(view: PartitionViewType | StridedViewType) -> tuple[int, ...]:
    """How many elements lie between tiles whose index differs by one."""
    return view.traversal_strides if isinstance(view, StridedViewType) else view.tile_shape


def _offset(index: Node, step: int) -> tuple[Node | None, int]:
    """Where a tile starts, in elements: a node and what it is multiplied by."""
    value = scalar_constant(index)
    if value is not None:
        return None, value * step
    if index.name == "muli":
        for factor, rest in (index.operands, reversed(index.operands)):
            number = scalar_constant(factor)
            if number is not None:
                inner, more = _offset(rest, step)
                return inner, number * more
    return index, step
