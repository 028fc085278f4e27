"""The types of cuda_tile: elements, pointers, tiles, views, tokens.

Place in the flow: part of the model; imports `interned` and `floats`. Every type is interned: two equal
types are one object, so `is` compares them. `str()` of a type is its text without the dialect's prefix,
as the official disassembler prints it; `.mlir` is the full spelling that generic MLIR uses.
"""

from __future__ import annotations

from .floats import FLOAT_FORMATS
from .interned import Interned


class Type(Interned):
    """Base of all types."""

    __slots__ = ()

    @property
    def mlir(self) -> str:
        """The spelling that is valid anywhere in MLIR: `!cuda_tile.tile<4xf32>`, or `i32`."""
        return f"!cuda_tile.{self}"


class ElementType(Type):
    """A number format: `i1 i4 i8 i16 i32 i64` or one of the float formats (`f32`, `f8E4M3FN`..)."""

    __slots__ = ("name",)
    name: str

    def __new__(cls, name: str) -> ElementType:
        return cls._of(name)

    def __str__(self) -> str:
        return self.name

    @property
    def mlir(self) -> str:
        return self.name

    @property
    def is_integer(self) -> bool:
        """`i1` to `i64`."""
        return self.name[0] == "i"

    @property
    def is_float(self) -> bool:
        """Everything else, `f8E4M3FN` and `tf32` included."""
        return self.name[0] != "i"

    @property
    def width(self) -> int:
        """Bits of one element."""
        form = FLOAT_FORMATS.get(self.name)
        return form.width if form else int(self.name[1:])

    @property
    def storage_bits(self) -> int:
        """Bits that one element takes in memory: i1 takes a byte, tf32 four."""
        return {"i1": 8, "tf32": 32}.get(self.name, self.width)


class PointerType(Type):
    """`ptr<f32>`; `attribute` is "multicast", "unicast" or "none" where the type says so (13.4)."""

    __slots__ = ("pointee", "attribute")
    pointee: Type
    attribute: str | None

    def __new__(cls, pointee: Type, attribute: str | None = None) -> PointerType:
        return cls._of(pointee, attribute)

    def __str__(self) -> str:
        if self.attribute:
            return f"ptr<{self.pointee}, <{self.attribute}>>"
        return f"ptr<{self.pointee}>"

    storage_bits = 64


class TileType(Type):
    """`tile<128x64xf16>`: elements of one type in a static shape (empty: a scalar)."""

    __slots__ = ("shape", "element")
    shape: tuple[int, ...]
    element: Type

    def __new__(cls, shape: tuple[int, ...], element: Type) -> TileType:
        return cls._of(shape, element)

    def __str__(self) -> str:
        return f"tile<{_dims(self.shape)}{self.element}>"

    @property
    def rank(self) -> int:
        """Number of dimensions; 0 for a scalar."""
        return len(self.shape)

    @property
    def elements(self) -> int:
        """Number of elements."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def bytes(self) -> int:
        """Bytes that the elements take, packed (0.5 per f4 element, rounded up).

        0 where the element type is not known.
        """
        if not isinstance(self.element, (ElementType, PointerType)):
            return 0
        return (self.elements * self.element.storage_bits + 7) // 8


class TensorViewType(Type):
    """`tensor_view<?x64xf16, strides=[?,1]>`; a dynamic size or stride is None."""

    __slots__ = ("shape", "strides", "element", "attribute")
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    element: Type
    attribute: str | None

    def __new__(
        cls,
        shape: tuple[int | None, ...],
        strides: tuple[int | None, ...],
        element: Type,
        attribute: str | None = None,
    ) -> TensorViewType:
        return cls._of(shape, strides, element, attribute)

    def __str__(self) -> str:
        text = f"tensor_view<{_dims(self.shape)}{self.element}"
        if self.shape:
            text += f", strides=[{','.join(_dynamic(s) for s in self.strides)}]"
        if self.attribute:
            text += f", #cuda_tile.ptr_attr<{self.attribute}>"
        return text + ">"

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)


class ViewType(Type):
    """Base of the tile views that loads and stores go through."""

    __slots__ = ()
    tile_shape: tuple[int, ...]
    tensor_view: TensorViewType
    padding: str | None

    @property
    def rank(self) -> int:
        """Number of dimensions of its tiles."""
        return len(self.tile_shape)

    @property
    def tile(self) -> TileType:
        """The type of the tile that one load through the view gives."""
        return TileType(self.tile_shape, self.tensor_view.element)

    def _head(self) -> str:
        return f"tile=({'x'.join(map(str, self.tile_shape))}), "

    def _padding(self) -> str:
        return f"padding_value = {self.padding}, " if self.padding else ""


class PartitionViewType(ViewType):
    """`partition_view<tile=(64x32), padding_value = zero, tensor_view<..>, dim_map=[1, 0]>`.

    `dim_map[i]` is the dimension of the tensor that dimension i of the tile runs along.
    """

    __slots__ = ("tile_shape", "tensor_view", "dim_map", "padding")
    dim_map: tuple[int, ...]

    def __new__(
        cls,
        tile_shape: tuple[int, ...],
        tensor_view: TensorViewType,
        dim_map: tuple[int, ...] | None = None,
        padding: str | None = None,
    ) -> PartitionViewType:
        if dim_map is None:
            dim_map = tuple(range(len(tile_shape)))
        return cls._of(tile_shape, tensor_view, dim_map, padding)

    def __str__(self) -> str:
        return (
            f"partition_view<{self._head()}{self._padding()}{self.tensor_view}"
            f"{_dim_map(self.dim_map)}>"
        )


class StridedViewType(ViewType):
    """A partition view whose tiles start every `traversal_strides[i]` elements (13.3)."""

    __slots__ = ("tile_shape", "traversal_strides", "tensor_view", "dim_map", "padding")
    traversal_strides: tuple[int, ...]
    dim_map: tuple[int, ...]

    def __new__(
        cls,
        tile_shape: tuple[int, ...],
        traversal_strides: tuple[int, ...],
        tensor_view: TensorViewType,
        dim_map: tuple[int, ...] | None = None,
        padding: str | None = None,
    ) -> StridedViewType:
        if dim_map is None:
            dim_map = tuple(range(len(tile_shape)))
        return cls._of(tile_shape, traversal_strides, tensor_view, dim_map, padding)

    def __str__(self) -> str:
        strides = ",".join(map(str, self.traversal_strides))
        return (
            f"strided_view<{self._head()}traversal_strides=[{strides}], {self._padding()}"
            f"{self.tensor_view}{_dim_map(self.dim_map)}>"
        )


class GatherScatterViewType(ViewType):
    """A view whose dimension `sparse_dim` is indexed by a tile of indices (13.3)."""

    __slots__ = ("tile_shape", "tensor_view", "sparse_dim", "padding")
    sparse_dim: int

    def __new__(
        cls,
        tile_shape: tuple[int, ...],
        tensor_view: TensorViewType,
        sparse_dim: int,
        padding: str | None = None,
    ) -> GatherScatterViewType:
        return cls._of(tile_shape, tensor_view, sparse_dim, padding)

    def __str__(self) -> str:
        return (
            f"gather_scatter_view<{self._head()}{self._padding()}{self.tensor_view}, "
            f"sparse_dim={self.sparse_dim}>"
        )


class TokenType(Type):
    """`token`: orders memory operations."""

    __slots__ = ()

    def __new__(cls) -> TokenType:
        return cls._of()

    def __str__(self) -> str:
        return "token"


class FunctionType(Type):
    """`(inputs) -> (results)`, in the generic form of an entry."""

    __slots__ = ("inputs", "results")
    inputs: tuple[Type, ...]
    results: tuple[Type, ...]

    def __new__(cls, inputs: tuple[Type, ...], results: tuple[Type, ...]) -> FunctionType:
        return cls._of(inputs, results)

    def __str__(self) -> str:
        return self._spell([str(t) for t in self.inputs], [str(t) for t in self.results])

    @property
    def mlir(self) -> str:
        return self._spell([t.mlir for t in self.inputs], [t.mlir for t in self.results])

    @staticmethod
    def _spell(inputs: list[str], results: list[str]) -> str:
        right = results[0] if len(results) == 1 else f"({', '.join(results)})"
        return f"({', '.join(inputs)}) -> {right}"


class OpaqueType(Type):
    """A type this version does not know, kept as its text."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> OpaqueType:
        return cls._of(text)

    def __str__(self) -> str:
        return self.text

    @property
    def mlir(self) -> str:
        return self.text


I1 = ElementType("i1")
I32 = ElementType("i32")
I64 = ElementType("i64")
F64 = ElementType("f64")
TOKEN = TokenType()

ELEMENT_NAMES: tuple[str, ...] = ("i1", "i4", "i8", "i16", "i32", "i64", *FLOAT_FORMATS)


def _dynamic(size: int | None) -> str:
    return "?" if size is None else str(size)


def _dims(shape: tuple[int | None, ...] | tuple[int, ...]) -> str:
    return "".join(_dynamic(size) + "x" for size in shape)


def _dim_map(dim_map: tuple[int, ...]) -> str:
    if dim_map == tuple(range(len(dim_map))):
        return ""
    return f", dim_map=[{', '.join(map(str, dim_map))}]"
