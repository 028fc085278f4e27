"""How much of a foreign file is read, and what a value written by Python means.

Place in the flow: bytes -> text and literals; imports `errors`. Records come from elsewhere: nothing in
them is evaluated, and their size is bounded.
"""

from __future__ import annotations

import ast
import json
import math
import os
import sys
import warnings

from ..errors import InputError

# A trace of a few seconds has tens of megabytes; a longer one is a mistake.
MAX_BYTES = 256 << 20
# The record of one test has some kilobytes.
MAX_LITERAL = 4 << 20

_NUMBERS = frozenset("float float16 float32 float64 int int32 int64".split())
# Names that `repr` and JSON write for values.
_NAMED: dict[str, object] = {
    "nan": math.nan,
    "inf": math.inf,
    "NaN": math.nan,
    "Infinity": math.inf,
    "null": None,
    "true": True,
    "false": False,
}


def read_limited(path: str, most: int | None = None) -> bytes:
    """The bytes of a file; `-` is the standard input. Raises InputError, also above `most` (MAX_BYTES)."""
    most = MAX_BYTES if most is None else most
    try:
        if path == "-":
            data = sys.stdin.buffer.read(most + 1)
        else:
            if os.path.isdir(path):
                raise InputError(f"{path}: error: this is a directory")
            with open(path, "rb") as file:
                data = file.read(most + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: error: no such file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: error: cannot be read: {reason}") from None
    if len(data) > most:
        raise InputError(f"{path}: error: larger than {most >> 20} MiB")
    return data


def load_json(text: str, where: str, start: int | None = None) -> object:
    """A JSON document: the whole text, or the one that begins at `start`, whatever follows it.

    Raises:
        InputError: no JSON; with its line.
    """
    try:
        return json.loads(text) if start is None else json.JSONDecoder().raw_decode(text, start)[0]
    except json.JSONDecodeError as error:
        message = f"{where}:{error.lineno}:{error.colno}: error: not JSON: {error.msg}"
        raise InputError(message) from None
    except (RecursionError, ValueError) as error:
        # Digits beyond what Python converts are a ValueError of no line.
        raise InputError(f"{where}: error: JSON that cannot be read: {error}") from None


def literal(text: str) -> object:
    """The value of a Python literal without evaluating it; `nan`, `inf` and NumPy's numbers are known.

    Raises:
        ValueError: it is no literal, or a larger one than any record is.
    """
    if len(text) > MAX_LITERAL:
        raise ValueError(f"a literal of {len(text)} characters")
    try:
        with warnings.catch_warnings():
            # Odd spellings are the file's own matter.
            warnings.simplefilter("ignore", SyntaxWarning)
            return _value(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError as error:
        raise ValueError(f"no Python literal: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise ValueError("a literal nested too deeply") from None


def _value(node: ast.expr) -> object:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Dict):
        return {_key(key): _value(value) for key, value in zip(node.keys, node.values)}
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Name) and node.id in _NAMED:
        return _NAMED[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        number = _value(node.operand)
        if isinstance(number, (int, float)):
            return -number if isinstance(node.op, ast.USub) else number
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        # `np.float64(0.5)`, as NumPy 2 writes its numbers.
        name = (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        if name in _NUMBERS:
            return _value(node.args[0])
    raise ValueError(f"no Python literal: {type(node).__name__} at column {node.col_offset + 1}")


def _key(node: ast.expr | None) -> str:
    value = _value(node) if node is not None else None
    if not isinstance(value, (str, int, float)):
        raise ValueError("no Python literal: a key that is neither text nor number")
    return str(value)
