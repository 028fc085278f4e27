"""Floating-point element formats: bit patterns to values and back, exactly.

Place in the flow: part of the model; imports nothing of the package. All arithmetic is on integers, so
that a decimal is rounded once, to nearest even, straight to its format.
"""

from __future__ import annotations

from typing import NamedTuple

# The smallest f64 takes 1076 characters in full; Python refuses to convert 4300 digits.
_LONGEST_DECIMAL = 4000


class FloatFormat(NamedTuple):
    """An element format. `bias` is that of the exponent; widths are in bits.

    `special`: "ieee" has infinities and NaNs at the largest exponent, "fn" has only NaN (all ones, no
    infinity), "finite" has neither. Source of the facts: the format definitions of the OCP 8-bit and MX
    specifications and IEEE 754, as LLVM's APFloat names them.
    """

    name: str
    width: int
    exponent: int
    mantissa: int
    bias: int
    special: str = "ieee"
    signed: bool = True


FLOAT_FORMATS: dict[str, FloatFormat] = {
    f.name: f
    for f in (
        FloatFormat("f16", 16, 5, 10, 15),
        FloatFormat("bf16", 16, 8, 7, 127),
        FloatFormat("f32", 32, 8, 23, 127),
        FloatFormat("tf32", 19, 8, 10, 127),
        FloatFormat("f64", 64, 11, 52, 1023),
        FloatFormat("f8E4M3FN", 8, 4, 3, 7, "fn"),
        FloatFormat("f8E5M2", 8, 5, 2, 15),
        FloatFormat("f8E8M0FNU", 8, 8, 0, 127, "fn", signed=False),
        FloatFormat("f4E2M1FN", 4, 2, 1, 1, "finite"),
        FloatFormat("fnv8E5M3FNU", 8, 5, 3, 15, "fn", signed=False),
    )
}


class Decoded(NamedTuple):
    """kind "finite": the value is (-1)**negative * significand * 2**exponent; else "inf" or "nan"."""

    kind: str
    negative: bool
    significand: int = 0
    exponent: int = 0


def decode(bits: int, form: FloatFormat) -> Decoded:
    """What a bit pattern stands for."""
    mantissa_mask = (1 << form.mantissa) - 1
    mantissa = bits & mantissa_mask
    biased = (bits >> form.mantissa) & ((1 << form.exponent) - 1)
    negative = form.signed and bool(bits >> (form.exponent + form.mantissa) & 1)
    top = (1 << form.exponent) - 1
    if form.special == "ieee" and biased == top:
        return Decoded("nan" if mantissa else "inf", negative)
    if form.special == "fn" and biased == top and mantissa == mantissa_mask:
        return Decoded("nan", negative)
    if form.mantissa == 0:
        # Only powers of two: there is no zero and no subnormal number.
        return Decoded("finite", False, 1, biased - form.bias)
    if biased == 0:
        return Decoded("finite", negative, mantissa, 1 - form.bias - form.mantissa)
    significand = mantissa | 1 << form.mantissa
    return Decoded("finite", negative, significand, biased - form.bias - form.mantissa)


def to_float(bits: int, form: FloatFormat) -> float:
    """The value as a Python float (exact for every format here)."""
    d = decode(bits, form)
    if d.kind != "finite":
        value = float(d.kind)
    elif d.exponent < -1000:
        # 2.0**exponent alone would underflow for the subnormal numbers of f64.
        value = d.significand * 2.0**-500 * 2.0 ** (d.exponent + 500)
    else:
        value = d.significand * 2.0**d.exponent
    return -value if d.negative else value


def encode_ratio(numerator: int, denominator: int, form: FloatFormat) -> int:
    """The bit pattern nearest to a ratio (ties to even); too large gives infinity or the NaN."""
    negative = numerator < 0
    sign = (1 << (form.exponent + form.mantissa)) if negative and form.signed else 0
    numerator = abs(numerator)
    if numerator == 0:
        return sign
    # The power of two of the leading bit, then the grid that the format has there.
    power = numerator.bit_length() - denominator.bit_length()
    if numerator < denominator << power if power >= 0 else numerator << -power < denominator:
        power -= 1
    smallest = (0 if form.mantissa == 0 else 1) - form.bias
    grid = max(power, smallest) - form.mantissa
    if grid >= 0:
        quotient, rest = divmod(numerator, denominator << grid)
        half = denominator << grid
    else:
        quotient, rest = divmod(numerator << -grid, denominator)
        half = denominator
    if 2 * rest > half or (2 * rest == half and quotient & 1):
        quotient += 1
    biased = grid + form.mantissa + form.bias
    if quotient >= 2 << form.mantissa:
        quotient >>= 1
        biased += 1
    if form.mantissa and quotient < 1 << form.mantissa:
        return sign | quotient
    bits = (biased << form.mantissa) | (quotient & ((1 << form.mantissa) - 1))
    return sign | min(bits, _overflow(form))


def encode_decimal(text: str, form: FloatFormat) -> int:
    """The bit pattern of a decimal such as `-1.5e-3`.

    Raises:
        ValueError: `text` is not a decimal number, or is absurdly long, or its exponent is.
    """
    if len(text) > _LONGEST_DECIMAL:
        raise ValueError(f"a number of {len(text)} characters is not read")
    mantissa, _, exponent_text = text.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    exponent = (int(exponent_text) if exponent_text else 0) - len(fraction)
    if abs(exponent) > 5000:
        raise ValueError(f"exponent of {text!r} is out of range")
    digits = int(whole + fraction)
    negative_zero = digits == 0 and text.startswith("-") and form.signed
    if negative_zero:
        return 1 << (form.exponent + form.mantissa)
    if exponent >= 0:
        return encode_ratio(digits * 10**exponent, 1, form)
    return encode_ratio(digits, 10**-exponent, form)


def encode_special(text: str, form: FloatFormat) -> int:
    """The bit pattern of `inf`, `-inf`, `nan` or `-nan` (the quiet one without payload).

    Raises:
        ValueError: the format has no such number.
    """
    name = text.removeprefix("-")
    negative = 1 << (form.exponent + form.mantissa) if text != name and form.signed else 0
    if form.special == "finite" or (form.special == "fn" and name == "inf"):
        raise ValueError(f"{form.name} has no {text}")
    bits = _overflow(form)
    if name == "nan" and form.special == "ieee":
        bits |= 1 << (form.mantissa - 1)
    return negative | bits


def _overflow(form: FloatFormat) -> int:
    """The bit pattern, without sign, of what lies beyond the largest number."""
    if form.special == "ieee":
        return ((1 << form.exponent) - 1) << form.mantissa
    return (1 << (form.exponent + form.mantissa)) - 1
