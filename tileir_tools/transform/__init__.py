"""Modules to modules: what changes a module and leaves what it means alone.

Place in the flow: bytes -> Module -> verify/**transform** -> Module -> facts. Imports `model`,
`analyze.symbols`, `errors`. Every function changes the module that it is given.
"""

from .rename import rename_entry, strip_mangling

__all__ = ["rename_entry", "strip_mangling"]
