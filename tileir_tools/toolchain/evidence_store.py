"""What was compiled before, kept: evidence by the content that it was made from.

Place in the flow: beside `compiling`; imports `files`, `machine_code`, `remarks`. One file of JSON for each
kernel, target and set of tools, in `TILEIR_CACHE_DIR` (`off`: nothing is kept), else `~/.cache/tileir-tools`. A
file that cannot be read, or was written by another release, is as if it were not there.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from ..files import make_folder, write_file
from .machine_code import Function
from .remarks import Remark

# Changes with what is kept of a compilation.
_FORM = "1"
# Files that are kept; the ones written first go first.
_MOST = 2000


def store_folder() -> str | None:
    """Where evidence is kept; None: nowhere."""
    named = os.environ.get("TILEIR_CACHE_DIR")
    if named is not None and named.strip().lower() in ("", "0", "off", "none"):
        return None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return named or os.path.join(base, "tileir-tools")


def key_of(data: bytes, arch: str, tools: Sequence[str]) -> str:
    """The name of what tools make of bytecode for a target; other files of the tools, another name."""
    digest = hashlib.sha256(f"{_FORM} {arch} ".encode())
    for tool in tools:
        with contextlib.suppress(OSError):
            found = os.stat(tool)
            digest.update(f"{os.path.realpath(tool)} {found.st_size} {found.st_mtime_ns} ".encode())
    digest.update(data)
    return digest.hexdigest()


def fetch(key: str) -> dict[str, Any] | None:
    """What is kept under a name: fields of an Evidence."""
    folder = store_folder()
    if folder is None:
        return None
    try:
        with open(os.path.join(folder, f"{key}.json"), encoding="utf-8") as file:
            content = json.load(file)
        return {
            "functions": tuple(Function(**row) for row in content["functions"]),
            "remarks": tuple(
                Remark(**{**row, "details": tuple(map(tuple, row["details"]))})
                for row in content["remarks"]
            ),
            "seconds": float(content["seconds"]),
            "cubin": base64.b64decode(content["cubin"], validate=True),
            "versions": {str(k): v for k, v in content["versions"].items()},
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def keep(key: str, fields: dict[str, Any]) -> None:
    """Keep the fields of an Evidence; what cannot be written is not kept."""
    folder = store_folder()
    if folder is None:
        return
    content = {
        "functions": [function._asdict() for function in fields["functions"]],
        "remarks": [remark._asdict() for remark in fields["remarks"]],
        "seconds": fields["seconds"],
        "cubin": base64.b64encode(fields["cubin"]).decode(),
        "versions": fields["versions"],
    }
    with contextlib.suppress(InputError, OSError):
        make_folder(folder)
        _make_room(folder)
        write_file(json.dumps(content).encode(), os.path.join(folder, f"{key}.json"))


def _make_room(folder: str) -> None:
    names = [name for name in os.listdir(folder) if name.endswith(".json")]
    if len(names) >= _MOST:
        paths = sorted((os.path.join(folder, name) for name in names), key=os.path.getmtime)
        for path in paths[: len(names) - _MOST + 1]:
            os.unlink(path)
