"""Entry symbols: function name, parameters and constants out of a mangled name.

Place in the flow (bytes -> Module -> facts -> findings -> report): facts. Imports `re` and `typing`
only, nothing of the package, since every command pays for what this module imports.

A kernel's symbol is often all that is left of how it was specialised: cuTile writes the whole
signature into it. What each convention looks like, and where the facts come from:

- `cutile_v1`, `cutile_v2`: `NAME_Kt1_A2f16_1v8l0_2t1_p16_I128`. Source: `cuda.tile.compilation` of
  cuda-tile 1.7.0. The last `_K` ends the name; parameters follow in source order, each opened by a
  capital. v2 adds static shapes and tuples. The codes of a later convention, which 1.7.0 has but
  does not switch on (strings, None, enums, dtypes, dataclasses, pointers), are read as well.
- `cutile_rs`: `NAME_entry`, as `KernelNaming::entry_name` of cutile-rs makes it, and
  `NAME_kernel_HASH`, as TileGym's `validate_ir.sh` describes them. Neither encodes a signature.
- `triton`: `NAME_memref_v2opt3_..`, known from the same script only. What follows the marker is
  kept as text. The public Triton-to-tile-IR backend does not mangle entries: those are `plain`.
- `plain`: everything else. The function is the symbol itself.

The grammar is read strictly enough that a name which only contains `_Kt1` stays plain, and loosely
where a newer cuTile may go on: a later `Kt` number, or a number format not listed here, is fine.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    ConstantValue: TypeAlias = "bool | int | float | str | tuple[ConstantValue, ...] | None"

__all__ = ["Parameter", "Symbol", "demangle"]


class Parameter(NamedTuple):
    """One parameter of a mangled signature. Sizes and strides are in elements, not bytes.

    Equality includes `text`, so it tells apart what Python's values do not: `1`, `1.0` and `True`,
    or two NaNs of different bits. Source of the facts: the constraint classes of
    `cuda.tile.compilation`.

    - `kind`: "array", "scalar", "constant", "list", "tuple", and from cuTile's third convention
      "dataclass", "pointer", "tensor_map", "stream"
    - `text`: the mangled text of this parameter
    - `dtype`: the element type of an array, scalar or pointer, in the dialect's spelling (`f16`,
      `f8E4M3FN`; a bool is `i1`) but with cuTile's signedness (`u32`). Of a constant, what it is:
      "int", "float", "bool", "str", "none", "dtype" or "enum"
    - `rank`: dimensions of an array; the tuples with one entry a dimension have this length
    - `index_dtype`: type of an array's sizes, strides and indices: `i32`, `u32` or `i64`
    - `shape`, `strides`: the constant size or stride of each dimension, None where it is not known
    - `shape_divisibility`, `stride_divisibility`: factor of each size or stride; 1 promises
      nothing, and is what a constant size or stride has
    - `stride_lower_bounds`: inclusive lower bound of each stride, or None
    - `alignment`: factor of an array's base address, in bytes; 1 promises nothing
    - `alias_groups`: numbers of the groups that an array or list is in. Two parameters may alias
      only if they share one. The symbol has numbers; the names that the Python code gave are lost
    - `may_alias_internally`: two indices of an array may be one address; two elements of a list may
      alias
    - `items`: the element of a list (an array), the items of a tuple, the fields of a dataclass
    - `name`: `module.qualname` of a dataclass
    - `value`: the value of a constant; the values of a tuple or dataclass all of whose items are
      constant. A dtype is its name, an enum member `module.qualname.MEMBER`
    """

    kind: str
    text: str
    dtype: str | None = None
    rank: int | None = None
    index_dtype: str | None = None
    shape: tuple[int | None, ...] = ()
    strides: tuple[int | None, ...] = ()
    shape_divisibility: tuple[int, ...] = ()
    stride_divisibility: tuple[int, ...] = ()
    stride_lower_bounds: tuple[int | None, ...] = ()
    alignment: int | None = None
    alias_groups: tuple[int, ...] = ()
    may_alias_internally: bool = False
    items: tuple[Parameter, ...] = ()
    name: str | None = None
    value: ConstantValue = None

    @property
    def is_constant(self) -> bool:
        """True where `value` is known at compile time, so that no entry argument carries it."""
        if self.kind in ("tuple", "dataclass"):
            return all(item.is_constant for item in self.items)
        return self.kind == "constant"

    def __str__(self) -> str:
        if self.kind == "array":
            return f"{self.dtype}[{self.rank}]"
        if self.kind == "constant":
            # Only a string needs quotes: a dtype or an enum member is a name.
            return str(self.value) if self.dtype in ("dtype", "enum") else repr(self.value)
        if self.kind == "list":
            return f"list<{self.items[0]}>"
        if self.kind == "pointer":
            return f"ptr<{self.dtype}>"
        if self.kind in ("tuple", "dataclass"):
            return f"{self.name or ''}({', '.join(map(str, self.items))})"
        return self.dtype or self.kind


class Symbol(NamedTuple):
    """An entry symbol taken apart. `raw == function + suffix` always holds.

    - `raw`: the symbol as it stands in the file, without `@` and quotes
    - `function`: the name without mangling; for an alias both halves, `gemm__matmul_kernel`
    - `suffix`: the mangling, from its first underscore; empty where the convention is "plain"
    - `convention`: "cutile_v1", "cutile_v2" (and on), "cutile_rs", "triton" or "plain"
    - `parameters`: all in source order, constants among them; empty where nothing is encoded
    - `constants`: the values of the constant parameters, in order. To Python `1 == True == 1.0`:
      compare `parameters` where the type matters
    - `op`, `alias_of`: the halves of a name `{op}__{real}`, the form in which TileGym's conversion
      skill re-dumps a kernel under its operation's name; None where the name is not of that form
    """

    raw: str
    function: str
    suffix: str = ""
    convention: str = "plain"
    parameters: tuple[Parameter, ...] = ()
    constants: tuple[ConstantValue, ...] = ()
    op: str | None = None
    alias_of: str | None = None

    @property
    def real_function(self) -> str:
        """The name that the kernel has in its source: behind an alias, the real one."""
        return self.alias_of or self.function

    def __str__(self) -> str:
        """`matmul_kernel(f16[2], f16[2]; 128, 64)`; only the name where no signature is encoded."""
        if not self.convention.startswith("cutile_v"):
            return self.function
        runtime = ", ".join(str(p) for p in self.parameters if not p.is_constant)
        constants = ", ".join(str(p) for p in self.parameters if p.is_constant)
        return f"{self.function}({runtime}{'; ' if constants else ''}{constants})"


def demangle(symbol: str) -> Symbol:
    """Take an entry symbol apart. Never raises: what follows no convention is "plain"."""
    found = _demangle_cutile(symbol)
    if found is None:
        found = _demangle_marked(symbol)
    op, _, real = found.function.partition("__")
    # A name may open with underscores or hold `__` by itself; an operation's name does neither.
    if op.isidentifier() and op[0] != "_" and real.isidentifier() and real.strip("_"):
        found = found._replace(op=op, alias_of=real)
    return found


# Patterns are text: `re` compiles each when it is first needed and keeps it. Compiling them here
# would be most of what importing this module costs.
_MARKED = (
    ("triton", r"_memref_v[0-9]+opt[0-9]+(?=_|\Z)"),
    ("cutile_rs", r"_entry\Z"),
    # Shorter runs of hex digits are words and numbers: `add_kernel_2d`, `add_kernel_1024`.
    ("cutile_rs", r"(?<=_kernel)_[0-9a-f]{8,64}\Z"),
)


def _demangle_marked(symbol: str) -> Symbol:
    """The conventions that mark a name but encode no signature, and plain."""
    if symbol.isidentifier():
        for convention, pattern in _MARKED:
            match = re.search(pattern, symbol)
            if match is not None and match.start() > 0:
                function, suffix = symbol[: match.start()], symbol[match.start() :]
                return Symbol(symbol, function, suffix, convention)
    return Symbol(symbol, symbol)


# --- cuTile's mangling ------------------------------------------------------------------------

# cuTile itself has no limit. These keep a hostile name from costing memory or stack.
_MAX_RANK = 64
_MAX_DEPTH = 32

# Names of the number formats. Another one of the same looks is kept as it is written.
_DTYPES = {"b8": "i1", "f8m3fn": "f8E4M3FN", "f8m2": "f8E5M2", "f8m0fnu": "f8E8M0FNU"}

# NaN is unequal to itself, but tuples compare by identity first: with one object for all of them, a
# symbol equals its own second reading.
_NAN = float("nan")
_INFINITY = float("inf")

_INT = r"(_?[0-9]+)"  # a minus sign is written as an underscore
_DTYPE = r"([a-z]+[0-9][0-9a-z]*)"
_GROUPS = r"((?:g(?:0|[1-9a-f][0-9a-f]*))*)"

_CONVENTION = r"_Kt([1-9][0-9]{0,3})(?=_|\Z)"
_ARRAY = r"([0-9]{1,3})" + _DTYPE
# Facts about dimensions, after a hexadecimal mask of those that share them. Bit 0 is dimension 0.
_AXES = f"_([0-9a-f]+)(?:s{_INT})?(?:i{_INT})?(?:t{_INT})?(?:v{_INT})?(?:l{_INT})?"
# Facts about the whole array. A mask takes every hex digit, so these start with other letters.
_EXTRAS = f"_(?=[pgiuw])(?:p{_INT})?{_GROUPS}(i?)([uw]?)"
_LIST = _GROUPS + "(i?)A"
# Letters, digits, and escapes for the rest. K is escaped too: `_K` must not occur after the name.
_ESCAPE = "_([_k]|[0-9a-f]{2}|u[0-9a-f]{4}|w00(?:0[0-9a-f]|10)[0-9a-f]{4})"
_STRING = f"(?:[0-9A-JL-Za-z]|{_ESCAPE})*_z"


class _Cursor:
    """A place in a symbol, and what the parameters so far have fixed."""

    __slots__ = ("depth", "groups", "pos", "text", "version")

    def __init__(self, text: str, pos: int, version: int) -> None:
        self.text = text
        self.pos = pos
        self.version = version
        self.groups = 0  # alias groups seen; they are numbered by first use
        self.depth = 0  # tuples and dataclasses that are open

    def take(self, pattern: str) -> re.Match[str] | None:
        """Move over `pattern` if it stands here."""
        match = re.compile(pattern).match(self.text, self.pos)
        if match is not None:
            self.pos = match.end()
        return match

    def expect(self, pattern: str) -> re.Match[str]:
        """Move over `pattern`; a symbol without it is not of this convention."""
        match = self.take(pattern)
        if match is None:
            raise ValueError(f"offset {self.pos}: expected {pattern}")
        return match


def _demangle_cutile(symbol: str) -> Symbol | None:
    """The symbol by cuTile's conventions, or None where it does not follow them."""
    start = symbol.rfind("_K")
    head = re.compile(_CONVENTION).match(symbol, start) if start > 0 else None
    if head is None:
        return None
    try:
        parameters = _read_parameters(_Cursor(symbol, head.end(), int(head[1])))
    except ValueError:  # ours, and that of int() for more digits than Python converts
        return None
    constants = tuple([p.value for p in parameters if p.is_constant])
    convention = f"cutile_v{head[1]}"
    return Symbol(symbol, symbol[:start], symbol[start:], convention, parameters, constants)


# Parameters by convention and text. The arrays of a symbol mostly repeat one text, and the symbols
# of a dump repeat each other's.
_KNOWN: dict[tuple[int, str], Parameter] = {}
_KNOWN_LIMIT = 4096


def _read_parameters(cursor: _Cursor) -> tuple[Parameter, ...]:
    text = cursor.text
    boundary = re.compile("_[A-Z]").search
    parameters = []
    while cursor.pos < len(text):
        if text[cursor.pos] != "_":
            raise ValueError(f"offset {cursor.pos}: expected _")
        cursor.pos = start = cursor.pos + 1
        # Only inside a string may `_` and a capital stand within a parameter. A text that was once
        # read as a whole parameter is one wherever it stands before a boundary.
        found = boundary(text, start)
        end = found.start() if found else len(text)
        parameter = _KNOWN.get((cursor.version, text[start:end]))
        if parameter is None:
            parameter = _read_parameter(cursor)
            _remember(cursor.version, parameter)
        else:
            cursor.pos = end
        parameters.append(parameter)
    return tuple(parameters)


def _remember(version: int, parameter: Parameter) -> None:
    if "g" in parameter.text:  # alias groups are checked against the parameters before
        return
    if len(_KNOWN) >= _KNOWN_LIMIT:
        _KNOWN.clear()
    _KNOWN[version, parameter.text] = parameter


def _read_parameter(cursor: _Cursor) -> Parameter:
    start = cursor.pos
    length = 3 if cursor.text.startswith("C", start) else 1
    cursor.pos = start + length
    reader = _READERS.get(cursor.text[start : cursor.pos])
    if reader is None or cursor.version < reader[0]:
        raise ValueError(f"offset {start}: no parameter of convention {cursor.version}")
    return reader[1](cursor, start)


def _read_array(cursor: _Cursor, start: int) -> Parameter:
    head = cursor.expect(_ARRAY)
    rank = int(head[1])
    if rank > _MAX_RANK:
        raise ValueError(f"offset {start}: rank {rank}")
    shape, shape_divisibility, strides, stride_divisibility, bounds = _read_axes(cursor, rank)
    _check_axes(shape, shape_divisibility, strides, stride_divisibility, bounds)
    if cursor.version < 2 and any(size is not None for size in shape):
        raise ValueError(f"offset {start}: static shape in convention {cursor.version}")
    extras = cursor.take(_EXTRAS)
    alignment, groups, internal, index = extras.groups() if extras else (None, "", "", "")
    return Parameter(
        "array",
        dtype=_DTYPES.get(head[2], head[2]),
        rank=rank,
        index_dtype={"u": "u32", "w": "i64"}.get(index, "i32"),
        shape=tuple(shape),
        strides=tuple(strides),
        # `or 1`: no fact. cuTile never writes a factor of 1.
        shape_divisibility=tuple([factor or 1 for factor in shape_divisibility]),
        stride_divisibility=tuple([factor or 1 for factor in stride_divisibility]),
        stride_lower_bounds=tuple(bounds),
        alignment=_factor(alignment) if alignment else 1,
        alias_groups=_alias_groups(cursor, groups),
        may_alias_internally=bool(internal),
        text=cursor.text[start : cursor.pos],
    )


def _read_axes(cursor: _Cursor, rank: int) -> list[list[int | None]]:
    """Five facts about every dimension, in the order in which `_AXES` has them."""
    columns: list[list[int | None]] = [[None] * rank for _ in range(5)]
    while (match := cursor.take(_AXES)) is not None:
        mask = int(match[1], 16)
        if not 0 < mask < 1 << rank:
            raise ValueError(f"mask {mask:#x} of an array of rank {rank}")
        axes = [axis for axis in range(rank) if mask >> axis & 1]
        for which, text in enumerate(match.groups()[1:]):
            if text is not None:
                value = _factor(text) if which in (1, 3) else _signed(text)
                _set_fact(columns[which], axes, value)
    return columns


def _set_fact(column: list[int | None], axes: list[int], value: int) -> None:
    for axis in axes:
        if column[axis] is not None:
            raise ValueError(f"dimension {axis} has one fact twice")
        column[axis] = value


def _check_axes(
    shape: list[int | None],
    shape_divisibility: list[int | None],
    strides: list[int | None],
    stride_divisibility: list[int | None],
    bounds: list[int | None],
) -> None:
    """Refuse facts that contradict each other; drop a factor that a constant size implies."""
    for axis, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        if size is not None:
            if size < 0 or size % (shape_divisibility[axis] or 1):
                raise ValueError(f"dimension {axis} cannot have size {size}")
            shape_divisibility[axis] = None
        if stride is not None and (stride_divisibility[axis] or bounds[axis] is not None):
            raise ValueError(f"dimension {axis} has a constant stride and facts about it")


def _alias_groups(cursor: _Cursor, text: str) -> tuple[int, ...]:
    groups = tuple([int(number, 16) for number in text.split("g")[1:]])
    last = -1
    for group in groups:
        if not last < group <= cursor.groups:
            raise ValueError(f"alias group {group} out of order")
        cursor.groups = max(cursor.groups, group + 1)
        last = group
    return groups


def _read_list(cursor: _Cursor, start: int) -> Parameter:
    head = cursor.expect(_LIST)
    groups = _alias_groups(cursor, head[1])
    element = _read_array(cursor, cursor.pos - 1)
    return Parameter(
        "list",
        cursor.text[start : cursor.pos],
        alias_groups=groups,
        may_alias_internally=bool(head[2]),
        items=(element,),
    )


def _read_tuple(cursor: _Cursor, start: int) -> Parameter:
    return _read_items(cursor, start, "tuple", None)


def _read_dataclass(cursor: _Cursor, start: int) -> Parameter:
    return _read_items(cursor, start, "dataclass", f"{_read_text(cursor)}.{_read_text(cursor)}")


def _read_items(cursor: _Cursor, start: int, kind: str, name: str | None) -> Parameter:
    cursor.depth += 1
    if cursor.depth > _MAX_DEPTH:
        raise ValueError(f"offset {start}: nested too deeply")
    count = int(cursor.expect("[0-9]{1,6}")[0])
    items = tuple([_read_parameter(cursor) for _ in range(count)])
    cursor.depth -= 1
    constant = all(item.is_constant for item in items)
    value = tuple([item.value for item in items]) if constant else None
    return Parameter(kind, cursor.text[start : cursor.pos], items=items, name=name, value=value)


def _read_scalar(cursor: _Cursor, start: int) -> Parameter:
    return Parameter("scalar", dtype=_read_dtype(cursor), text=cursor.text[start : cursor.pos])


def _read_pointer(cursor: _Cursor, start: int) -> Parameter:
    return Parameter("pointer", dtype=_read_dtype(cursor), text=cursor.text[start : cursor.pos])


def _read_tensor_map(cursor: _Cursor, start: int) -> Parameter:
    return Parameter("tensor_map", cursor.text[start : cursor.pos])


def _read_stream(cursor: _Cursor, start: int) -> Parameter:
    return Parameter("stream", cursor.text[start : cursor.pos])


def _constant(cursor: _Cursor, start: int, dtype: str, value: ConstantValue) -> Parameter:
    return Parameter("constant", cursor.text[start : cursor.pos], dtype, value=value)


def _read_bool(cursor: _Cursor, start: int) -> Parameter:
    return _constant(cursor, start, "bool", cursor.expect("[01]")[0] == "1")


def _read_int(cursor: _Cursor, start: int) -> Parameter:
    return _constant(cursor, start, "int", _signed(cursor.expect(_INT)[0]))


def _read_float(cursor: _Cursor, start: int) -> Parameter:
    return _constant(cursor, start, "float", _float64(int(cursor.expect("[0-9a-f]{16}")[0], 16)))


def _read_none(cursor: _Cursor, start: int) -> Parameter:
    return _constant(cursor, start, "none", None)


def _read_string(cursor: _Cursor, start: int) -> Parameter:
    return _constant(cursor, start, "str", _read_text(cursor))


def _read_dtype_constant(cursor: _Cursor, start: int) -> Parameter:
    return _constant(cursor, start, "dtype", _read_dtype(cursor))


def _read_enum(cursor: _Cursor, start: int) -> Parameter:
    member = f"{_read_text(cursor)}.{_read_text(cursor)}.{_read_text(cursor)}"
    return _constant(cursor, start, "enum", member)


# Code of a parameter -> the first convention that has it, and its reader. Those that open with C
# are free to every convention: cuTile hides them behind a build flag, not behind a version.
_READERS: dict[str, tuple[int, Callable[[_Cursor, int], Parameter]]] = {
    "A": (1, _read_array),
    "B": (1, _read_bool),
    "Cd_": (1, _read_dtype_constant),
    "Ce_": (1, _read_enum),
    "Cn_": (1, _read_none),
    "Cs_": (1, _read_string),
    "D": (3, _read_dataclass),
    "F": (1, _read_float),
    "I": (1, _read_int),
    "L": (1, _read_list),
    "M": (3, _read_tensor_map),
    "P": (3, _read_pointer),
    "R": (3, _read_stream),
    "S": (1, _read_scalar),
    "T": (2, _read_tuple),
}


def _read_dtype(cursor: _Cursor) -> str:
    code = cursor.expect(_DTYPE)[0]
    return _DTYPES.get(code, code)


def _read_text(cursor: _Cursor) -> str:
    return re.sub(_ESCAPE, _unescape, cursor.expect(_STRING)[0][:-2])


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code in ("_", "k"):
        return "_" if code == "_" else "K"
    return chr(int(code.lstrip("uw"), 16))


def _signed(text: str) -> int:
    return -int(text[1:]) if text[0] == "_" else int(text)


def _factor(text: str) -> int:
    value = _signed(text)
    if value < 2:
        raise ValueError(f"divisibility by {value}")
    return value


def _float64(bits: int) -> float:
    """The value of an IEEE 754 double, exactly; `struct` would be one import more."""
    sign = -1.0 if bits >> 63 else 1.0
    exponent = bits >> 52 & 0x7FF
    fraction = bits & (1 << 52) - 1
    if exponent == 0x7FF:
        return _NAN if fraction else sign * _INFINITY
    if exponent:
        fraction |= 1 << 52
    else:  # zero and the subnormals: no hidden bit, the smallest exponent
        exponent = 1
    return sign * fraction * 2.0 ** (exponent - 1075)
