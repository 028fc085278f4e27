"""The attributes of cuda_tile operations.

Place in the flow: part of the model; imports `interned`, `types`, `floats`. Attributes are interned:
equal attributes are one object. Floating-point values are kept as bit patterns, so that equality is
equality of bits whatever the text said (`-0.0`, NaN payloads, hex or decimal).
"""

from __future__ import annotations

from .floats import FLOAT_FORMATS, to_float
from .interned import Interned
from .types import ElementType, TileType, Type


class Attribute(Interned):
    """Base of all attributes."""

    __slots__ = ()


class UnitAttr(Attribute):
    """A flag that is there."""

    __slots__ = ()

    def __new__(cls) -> UnitAttr:
        return cls._of()


class BoolAttr(Attribute):
    """`true` or `false`."""

    __slots__ = ("value",)
    value: bool

    def __new__(cls, value: bool) -> BoolAttr:
        return cls._of(value)


class IntegerAttr(Attribute):
    """An integer and its type (an element type)."""

    __slots__ = ("value", "type")
    value: int
    type: Type

    def __new__(cls, value: int, type: Type) -> IntegerAttr:
        return cls._of(value, type)


class FloatAttr(Attribute):
    """A floating-point number: bit pattern and element type."""

    __slots__ = ("bits", "type")
    bits: int
    type: ElementType

    def __new__(cls, bits: int, type: ElementType) -> FloatAttr:
        return cls._of(bits, type)

    @property
    def value(self) -> float:
        """The number that the bits are."""
        return to_float(self.bits, FLOAT_FORMATS[self.type.name])


class StringAttr(Attribute):
    """A string; bytes that are not UTF-8 are kept as surrogate escapes."""

    __slots__ = ("value",)
    value: str

    def __new__(cls, value: str) -> StringAttr:
        return cls._of(value)


class SymbolRefAttr(Attribute):
    """`@name`."""

    __slots__ = ("value",)
    value: str

    def __new__(cls, value: str) -> SymbolRefAttr:
        return cls._of(value)


class TypeAttr(Attribute):
    """A type."""

    __slots__ = ("value",)
    value: Type

    def __new__(cls, value: Type) -> TypeAttr:
        return cls._of(value)


class ArrayAttr(Attribute):
    """A list of attributes: `[1 : i32, "a"]`."""

    __slots__ = ("items",)
    items: tuple[Attribute, ...]

    def __new__(cls, items: tuple[Attribute, ...]) -> ArrayAttr:
        return cls._of(items)


class DictAttr(Attribute):
    """Named attributes, ordered by name as MLIR keeps them."""

    __slots__ = ("items",)
    items: tuple[tuple[str, Attribute], ...]

    def __new__(cls, items: tuple[tuple[str, Attribute], ...]) -> DictAttr:
        return cls._of(tuple(sorted(items, key=lambda item: item[0])))

    def get(self, key: str) -> Attribute | None:
        """The attribute of that name; None where there is none."""
        for name, value in self.items:
            if name == key:
                return value
        return None


class DenseArrayAttr(Attribute):
    """`array<i32: 1, 0>`: element type name ("i1", "i32", "i64") and plain integers."""

    __slots__ = ("element", "values")
    element: str
    values: tuple[int, ...]

    def __new__(cls, element: str, values: tuple[int, ...]) -> DenseArrayAttr:
        return cls._of(element, values)


class DenseElementsAttr(Attribute):
    """The elements of a constant tile, in row-major order.

    `raw` holds one value for a splat, else one per element: signed integers for integer elements
    (0 and 1 for i1), bit patterns for floats.
    """

    __slots__ = ("type", "raw")
    type: TileType
    raw: tuple[int, ...]

    def __new__(cls, type: TileType, raw: tuple[int, ...]) -> DenseElementsAttr:
        if len(raw) > 1 and raw.count(raw[0]) == len(raw):
            raw = raw[:1]
        return cls._of(type, raw)

    @property
    def is_splat(self) -> bool:
        """Whether one value stands for all elements."""
        return len(self.raw) == 1

    @property
    def values(self) -> tuple[int | float, ...]:
        """The elements as numbers; one value for a splat."""
        form = FLOAT_FORMATS.get(str(self.type.element))
        return tuple(to_float(bits, form) for bits in self.raw) if form else self.raw


class EnumAttr(Attribute):
    """A keyword out of a fixed set: kind (`rounding`, `signedness`..) and keyword."""

    __slots__ = ("kind", "value")
    kind: str
    value: str

    def __new__(cls, kind: str, value: str) -> EnumAttr:
        return cls._of(kind, value)


class DivByAttr(Attribute):
    """`div_by<16>` or `div_by<16, every 4 along 0>`: a promise about divisibility."""

    __slots__ = ("divisor", "every", "along")
    divisor: int
    every: int | None
    along: int | None

    def __new__(cls, divisor: int, every: int | None = None, along: int | None = None) -> DivByAttr:
        return cls._of(divisor, every, along)

    def __str__(self) -> str:
        if self.every is None:
            return f"div_by<{self.divisor}>"
        return f"div_by<{self.divisor}, every {self.every} along {self.along}>"


class BoundedAttr(Attribute):
    """`bounded<0, ?>`: inclusive signed bounds; None is an open end."""

    __slots__ = ("lower", "upper")
    lower: int | None
    upper: int | None

    def __new__(cls, lower: int | None, upper: int | None) -> BoundedAttr:
        return cls._of(lower, upper)

    def __str__(self) -> str:
        lower, upper = ("?" if b is None else str(b) for b in (self.lower, self.upper))
        return f"bounded<{lower}, {upper}>"


class SameElementsAttr(Attribute):
    """`same_elements<[2, 4]>`: the group size per dimension within which elements are equal."""

    __slots__ = ("values",)
    values: tuple[int, ...]

    def __new__(cls, values: tuple[int, ...]) -> SameElementsAttr:
        return cls._of(values)

    def __str__(self) -> str:
        return f"same_elements<[{', '.join(map(str, self.values))}]>"


class OptimizationHintsAttr(Attribute):
    """Hints by target: `value` maps an arch key (`sm_100`, `default`) to a DictAttr of hints."""

    __slots__ = ("value",)
    value: DictAttr

    def __new__(cls, value: DictAttr) -> OptimizationHintsAttr:
        return cls._of(value)


class OpaqueAttr(Attribute):
    """An attribute this version does not know, kept as its text."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> OpaqueAttr:
        return cls._of(text)


UNIT = UnitAttr()
