"""Attributes, numbers and strings as text.

Place in the flow: part of Module -> text; imports `model` and `dialect`. Floating-point numbers follow
LLVM's APFloat and MLIR's printer: six digits where they give the number back, then the digits that the
format can hold, then the bit pattern.
"""

from __future__ import annotations

import re

from ..dialect import HEADED_KINDS, PLAIN_INTEGER_KINDS, enum_number
from ..model import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    DictAttr,
    ElementType,
    EnumAttr,
    FloatAttr,
    IntegerAttr,
    OpaqueAttr,
    OptimizationHintsAttr,
    StringAttr,
    SymbolRefAttr,
    Type,
    TypeAttr,
    UnitAttr,
)
from ..model.floats import FLOAT_FORMATS, FloatFormat, decode, encode_decimal

_BARE_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*$", re.ASCII)
_BARE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*$", re.ASCII)

# MLIR prints more elements than this as one hexadecimal string.
_HEX_ABOVE = 100


def string_text(value: str) -> str:
    """A quoted string; bytes outside printable ASCII as two hex digits."""
    out = []
    for byte in value.encode("utf-8", "surrogateescape"):
        if byte == 0x5C:
            out.append("\\\\")
        elif 0x20 <= byte < 0x7F and byte != 0x22:
            out.append(chr(byte))
        else:
            out.append(f"\\{byte:02X}")
    return f'"{"".join(out)}"'


def symbol_text(name: str) -> str:
    return f"@{name}" if _BARE_SYMBOL.match(name) else f"@{string_text(name)}"


# -- numbers ----------------------------------------------------------------------------------------


def float_text(bits: int, element: str) -> str:
    """A floating-point number as MLIR prints it."""
    form = FLOAT_FORMATS[element]
    value = decode(bits, form)
    if value.kind == "finite":
        sign = "-" if value.negative else ""
        if value.significand == 0:
            return f"{sign}0.000000e+00"
        digits, exponent = _digits(value.significand, value.exponent, 6)
        text = sign + _scientific(digits, exponent)
        if encode_decimal(text, form) == bits:
            return text
        text = sign + _shortest_form(value.significand, value.exponent, form)
        if "." in text:
            return text
    return f"0x{bits:0{(form.width + 3) // 4}X}"


def _digits(significand: int, exponent: int, precision: int) -> tuple[str, int]:
    """At most `precision` decimal digits, without trailing zeros, and the power of ten of the last.

    As APFloat does it: excess digits are first cut off by an estimate of how many decimal digits the
    binary ones hold (which may cut off one too many), then the rest is rounded half up.
    """
    zeros = (significand & -significand).bit_length() - 1
    significand >>= zeros
    exponent += zeros
    if exponent >= 0:
        number, power = significand << exponent, 0
    else:
        number, power = significand * 5**-exponent, exponent
    excess = (number.bit_length() - (precision * 196 + 58) // 59) * 59 // 196
    if excess > 0:
        number //= 10**excess
        power += excess
    text = str(number)
    if len(text) > precision:
        power += len(text) - precision
        text = str(int(text[:precision]) + (text[precision] >= "5"))
    stripped = text.rstrip("0") or "0"
    return stripped, power + len(text) - len(stripped)


def _scientific(digits: str, exponent: int) -> str:
    """`1.500000e+00`: six decimals."""
    exponent += len(digits) - 1
    return f"{digits[0]}.{digits[1:]:0<6}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _shortest_form(significand: int, exponent: int, form: FloatFormat) -> str:
    """APFloat's default form: plain while it is short, else `1.5E-7`."""
    precision = 2 + (form.mantissa + 1) * 59 // 196
    digits, power = _digits(significand, exponent, precision)
    count = len(digits)
    if power >= 0:
        if power > 3 or count + power > precision:
            return _plain_scientific(digits, power)
        return digits + "0" * power
    leading = power + count - 1
    if leading >= 0:
        return f"{digits[: leading + 1]}.{digits[leading + 1 :]}"
    if -leading > 3:
        return _plain_scientific(digits, power)
    return f"0.{'0' * (-leading - 1)}{digits}"


def _plain_scientific(digits: str, power: int) -> str:
    exponent = power + len(digits) - 1
    sign = "-" if exponent < 0 else "+"
    return f"{digits[0]}.{digits[1:] or '0'}E{sign}{abs(exponent)}"


def element_text(raw: int, element: Type) -> str:
    """One element of a constant."""
    name = str(element)
    if name in FLOAT_FORMATS:
        return float_text(raw, name)
    if name == "i1":
        return "true" if raw else "false"
    return str(raw)


def elements_text(value: DenseElementsAttr) -> str:
    """The elements of a constant, as they stand in `<i32: ..>` or `dense<..>`."""
    element = value.type.element
    if value.is_splat:
        return element_text(value.raw[0], element)
    if len(value.raw) > _HEX_ABOVE:
        return _packed(value)
    texts = [element_text(raw, element) for raw in value.raw]
    for size in reversed(value.type.shape):
        texts = [f"[{', '.join(texts[k : k + size])}]" for k in range(0, len(texts), size)]
    return texts[0] if texts else "[]"


def _packed(value: DenseElementsAttr) -> str:
    element = value.type.element
    assert isinstance(element, ElementType)
    size = (element.width + 7) // 8
    mask = (1 << (8 * size)) - 1
    data = b"".join((raw & mask).to_bytes(size, "little") for raw in value.raw)
    return f'"0x{data.hex().upper()}"'


def dense_text(value: DenseElementsAttr) -> str:
    """`<i32: 1> : tile<i32>`."""
    return f"<{value.type.element}: {elements_text(value)}> : {value.type}"


# -- attributes -------------------------------------------------------------------------------------


def attribute_text(value: Attribute, elide_type: bool = False) -> str:
    """Any attribute in MLIR's own spelling; `elide_type` leaves i64 and f64 out, as in arrays."""
    if isinstance(value, IntegerAttr):
        text = str(value.value)
        return text if elide_type and str(value.type) == "i64" else f"{text} : {value.type.mlir}"
    if isinstance(value, FloatAttr):
        text = float_text(value.bits, value.type.name)
        return text if elide_type and value.type.name == "f64" else f"{text} : {value.type}"
    if isinstance(value, BoolAttr):
        return "true" if value.value else "false"
    if isinstance(value, UnitAttr):
        return "unit"
    if isinstance(value, StringAttr):
        return string_text(value.value)
    if isinstance(value, SymbolRefAttr):
        return symbol_text(value.value)
    if isinstance(value, TypeAttr):
        return value.value.mlir
    if isinstance(value, ArrayAttr):
        return f"[{', '.join(attribute_text(item, elide_type=True) for item in value.items)}]"
    if isinstance(value, DictAttr):
        return dict_text(value.items)
    if isinstance(value, OpaqueAttr):
        return value.text
    return _dialect_attribute_text(value)


def _dialect_attribute_text(value: Attribute) -> str:
    if isinstance(value, EnumAttr):
        if value.kind in PLAIN_INTEGER_KINDS:
            return f"{enum_number(value)} : i32"
        return f"#cuda_tile.{value.kind}<{value.value}>"
    if isinstance(value, DenseArrayAttr):
        return _dense_array_text(value)
    if isinstance(value, DenseElementsAttr):
        return f"dense<{elements_text(value)}> : {value.type.mlir}"
    if isinstance(value, OptimizationHintsAttr):
        return f"#cuda_tile.optimization_hints{hints_text(value)}"
    return f"#cuda_tile.{value}"


def _dense_array_text(value: DenseArrayAttr) -> str:
    if not value.values:
        return f"array<{value.element}>"
    if value.element == "i1":
        return f"array<i1: {', '.join('true' if v else 'false' for v in value.values)}>"
    return f"array<{value.element}: {', '.join(map(str, value.values))}>"


def dict_text(items: tuple[tuple[str, Attribute], ...] | list[tuple[str, Attribute]]) -> str:
    """`{flag, name = value}`."""
    parts = []
    for name, value in items:
        key = name if _BARE_KEY.match(name) else string_text(name)
        parts.append(key if isinstance(value, UnitAttr) else f"{key} = {attribute_text(value)}")
    return f"{{{', '.join(parts)}}}"


def hints_text(hints: OptimizationHintsAttr) -> str:
    """`<sm_100 = {latency = 4}>`: values without their types."""
    arches = []
    for arch, entries in hints.value.items:
        assert isinstance(entries, DictAttr)
        inside = ", ".join(f"{key} = {_untyped(value)}" for key, value in entries.items)
        arches.append(f"{arch} = {{{inside}}}")
    return f"<{', '.join(arches)}>"


def _untyped(value: Attribute) -> str:
    if isinstance(value, IntegerAttr):
        return str(value.value)
    if isinstance(value, FloatAttr):
        return float_text(value.bits, value.type.name)
    return attribute_text(value)


def pretty_attribute_text(value: Attribute) -> str:
    """An attribute as the pretty forms of ops print it."""
    if isinstance(value, EnumAttr):
        return f"{value.kind}<{value.value}>" if value.kind in HEADED_KINDS else value.value
    if isinstance(value, IntegerAttr):
        return str(value.value)
    if isinstance(value, DenseArrayAttr):
        words = ("false", "true") if value.element == "i1" else None
        return f"[{', '.join(words[v] if words else str(v) for v in value.values)}]"
    if isinstance(value, DenseElementsAttr):
        return dense_text(value)
    if isinstance(value, OptimizationHintsAttr):
        return hints_text(value)
    text = attribute_text(value)
    return text.removeprefix("#cuda_tile.")
