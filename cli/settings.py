"""What a project has set: `tileir.toml`, or `[tool.tileir]` of its `pyproject.toml`.

Place in the flow: shared by the commands that judge; imports `diff.policy`.
"""

from __future__ import annotations

import os
import sys

from tileir_tools.diff.policy import Policy, policy_from
from tileir_tools.errors import InputError

from .running import read_text


def find_settings() -> Policy:
    """The policy of the nearest folder, from the current one upwards, that sets one. Raises InputError."""
    folder = os.getcwd()
    while True:
        for name in ("tileir.toml", "pyproject.toml"):
            path = os.path.join(folder, name)
            # Most projects say nothing about us: their file is not parsed for that.
            if os.path.isfile(path) and (name == "tileir.toml" or "tool.tileir" in read_text(path)):
                return read_settings(path)
        above = os.path.dirname(folder)
        if above == folder:
            return Policy()
        folder = above


def read_settings(path: str) -> Policy:
    """The policy in a TOML file. Raises InputError."""
    table = _toml(read_text(path), path)
    if os.path.basename(path) == "pyproject.toml":
        tool = table.get("tool")
        return policy_from(tool.get("tileir", {}) if isinstance(tool, dict) else {}, path)
    return policy_from(table, path)


def _toml(text: str, path: str) -> dict[str, object]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        found: dict[str, object] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: error: no TOML: {error}") from None
    return found
