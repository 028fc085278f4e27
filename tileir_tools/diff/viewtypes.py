"""In what two view types differ, and which rule each difference falls under.

Place in the flow: facts -> **findings**; imports `model`.
"""

from __future__ import annotations

from ..model import (
    GatherScatterViewType,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
    Type,
    ViewType,
)


def view_differences(reference: Type, generated: Type) -> list[tuple[str, str]]:
    """(rule, message) for each difference; empty for equal types."""
    if isinstance(reference, TensorViewType) and isinstance(generated, TensorViewType):
        return _tensor_differences(reference, generated)
    if not isinstance(reference, ViewType) or not isinstance(generated, ViewType):
        return [("MEM008", f"view is {reference} in the reference and {generated} here")]
    if type(reference) is not type(generated):
        names = [t.__class__.__name__.removesuffix("Type") for t in (reference, generated)]
        return [("MEM008", f"view is a {names[0]} in the reference and a {names[1]} here")]
    found: list[tuple[str, str]] = []
    if reference.tile_shape != generated.tile_shape:
        found.append(("MEM005", _sides("tile", _x(reference), _x(generated))))
    if reference.padding != generated.padding:
        found.append(
            ("MEM007", _sides("padding_value", reference.padding, generated.padding))
        )
    for name in _MAPS[type(reference)]:
        one, other = getattr(reference, name), getattr(generated, name)
        if one != other:
            shown = [list(v) if isinstance(v, tuple) else v for v in (one, other)]
            found.append(("MEM008", _sides(name, *shown)))
    return found + _tensor_differences(reference.tensor_view, generated.tensor_view)


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
    return f"{what} of the view is {left} in the reference and {right} in the generated kernel"


def _tensor_differences(
    reference: TensorViewType, generated: TensorViewType
) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if reference.element is not generated.element:
        found.append(("DFL005", _sides("element type", reference.element, generated.element)))
    if reference.shape != generated.shape:
        found.append(("MEM009", _sides("shape", *_shown(reference.shape, generated.shape))))
    if reference.strides != generated.strides:
        shown = _shown(reference.strides, generated.strides)
        if _only_last_became_dynamic(reference.strides, generated.strides):
            found.append(("PRF004", _sides("last stride", 1, "a run-time value")))
        else:
            found.append(("MEM009", _sides("strides", *shown)))
    if reference.attribute != generated.attribute:
        found.append(
            ("MEM008", _sides("ptr_attr", reference.attribute, generated.attribute))
        )
    return found


def _only_last_became_dynamic(
    reference: tuple[int | None, ...], generated: tuple[int | None, ...]
) -> bool:
    return (
        len(reference) == len(generated)
        and reference[:-1] == generated[:-1]
        and reference[-1] == 1
        and generated[-1] is None
    )


def _shown(*sizes: tuple[int | None, ...]) -> list[str]:
    return ["[" + ", ".join("?" if s is None else str(s) for s in one) + "]" for one in sizes]
