"""What must hold for any bytes at all: a module comes out, or one of our errors.

Used by the tests, by `every_flip.py` and by the coverage-guided `bytecode_target.py`.
"""

from __future__ import annotations

from tileir_tools import parse_all
from tileir_tools.errors import TileIRError
from tileir_tools.model import Module

# Printing a module that damaged bytes still make can be long: only small ones are printed.
_PRINTED = 4_000


def read_anyhow(data: bytes) -> Module | TileIRError:
    """Read bytes, with all locations and, where they are few, the text of the operations.

    Any other exception goes through: that is the fault looked for.
    """
    try:
        module = parse_all(data, "fuzz")[0]
        for op in module.walk():
            _ = op.location
        if len(data) <= _PRINTED:
            module.to_text(debug_info=True)
        return module
    except TileIRError as error:
        return error
