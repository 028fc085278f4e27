"""A folder of dumps: bytecode, text, canonical text, and `manifest.json` that says what each one is.

Place in the flow: Module -> bytes; imports `errors`, `files`, `model`, `read`, `transform`, `analyze.symbols`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InputError, TileIRError
from ..files import make_folder, write_file

if TYPE_CHECKING:
    from ..model import Module

MANIFEST = "manifest.json"
MANIFEST_SCHEMA = "tileir-manifest/1"

# Suffixes of files that may hold Tile IR.
_SUFFIXES = (
    ".tileirbc",
    ".cutile",
    ".tilebc",
    ".tile",
    ".bc",
    ".bytecode",
    ".mlir",
    ".cuda_tile",
    ".log",
)
# A manifest that is longer was written by nobody.
_MOST_MANIFEST = 256 << 20


class Dump(NamedTuple):
    """One kernel as it was compiled.

    Attributes:
        symbol: of the entry.
        kernel: name of the Python function.
        source: (file, line) of it; None where nothing says so.
        parameters: name -> what was said about it, as text.
        constants: name -> value.
        arch: target; None for none.
        bytecode: the Tile IR.
        options: compiler options of the kernel, as text.
        calls: the launches that need it, in the order in which they were made; see the manifest's schema.
    """

    symbol: str
    kernel: str
    source: tuple[str, int] | None
    parameters: Mapping[str, str]
    constants: Mapping[str, bool | int | float]
    arch: str | None
    bytecode: bytes
    options: Mapping[str, str] = {}
    calls: tuple[Mapping[str, object], ...] = ()


def write_dumps(
    dumps: Sequence[Dump],
    folder: str,
    *,
    name: str | None = None,
    more: Mapping[str, object] | None = None,
) -> list[dict[str, object]]:
    """Write dumps and their manifest.

    Args:
        dumps: what to write; files are called after their kernels and targets.
        folder: where; is made.
        name: what to call the files instead of the kernel.
        more: other things that the manifest says.

    Returns:
        The manifest's rows of kernels, with the names of their files.

    Raises:
        InputError: a file cannot be written.
        BytecodeError: a dump is no bytecode.
    """
    from ..read import parse

    modules = [parse(dump.bytecode, dump.symbol) for dump in dumps]
    make_folder(folder)
    rows = []
    for dump, module, stem in zip(dumps, modules, _stems(dumps, name)):
        files = _write(module, dump.bytecode, folder, stem)
        rows.append({**files, **_row(dump), "bytecode_version": module.bytecode_version})
    write_manifest(folder, rows, more or {})
    return rows


def write_manifest(
    folder: str, rows: Sequence[Mapping[str, object]], more: Mapping[str, object]
) -> None:
    """Write a manifest: its rows of kernels, and other things that it says. Raises InputError."""
    from .find import find_tool

    version = find_tool("cuda-tile").version
    content = {"schema": MANIFEST_SCHEMA, "cuda_tile": version, "kernels": rows, **more}
    text = json.dumps(content, indent=2, ensure_ascii=False)
    write_file(f"{text}\n".encode(), os.path.join(folder, MANIFEST))


def _row(dump: Dump) -> dict[str, object]:
    source = None if dump.source is None else {"file": dump.source[0], "line": dump.source[1]}
    row: dict[str, object] = {
        "kernel": dump.kernel,
        "symbol": dump.symbol,
        "source": source,
        "parameters": dict(dump.parameters),
        "constants": dict(dump.constants),
        "arch": dump.arch,
    }
    if dump.options:
        row["options"] = dict(dump.options)
    if dump.calls:
        row["calls"] = [dict(call) for call in dump.calls]
    return row


def _stems(dumps: Sequence[Dump], name: str | None) -> Iterator[str]:
    """Names of files without suffix: kernel, target, and a number where these are not enough."""
    plain = [
        f"{name or dump.kernel}{f'__{dump.arch}' if dump.arch else ''}".replace("/", "_")
        for dump in dumps
    ]
    for number, stem in enumerate(plain):
        same = plain.count(stem)
        yield stem if same == 1 else f"{stem}__{plain[:number].count(stem) + 1}"


def _write(module: Module, bytecode: bytes, folder: str, stem: str) -> dict[str, object]:
    """Write the three forms of a kernel; gives their names."""
    from ..transform import canonicalize, cse

    text = module.to_text()
    canonicalize(module)
    cse(module)
    contents = {
        "bytecode": (f"{stem}.tileirbc", bytecode),
        "text": (f"{stem}.mlir", text.encode()),
        "canonical": (f"{stem}.canon.mlir", module.to_text(wrap=True).encode()),
    }
    for file, content in contents.values():
        write_file(content, os.path.join(folder, file))
    return {kind: file for kind, (file, _) in contents.items()}


def read_manifest(folder: str) -> dict[str, object]:
    """The manifest of a folder of dumps. Raises InputError: there is none, or it is no manifest."""
    path = os.path.join(folder, MANIFEST)
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_MANIFEST + 1)
        content = json.loads(data[:_MOST_MANIFEST])
    except OSError as error:
        raise InputError(f"{path}: error: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: error: no JSON: {error}") from None
    if not isinstance(content, dict) or content.get("schema") != MANIFEST_SCHEMA:
        raise InputError(f"{path}: error: expected schema {MANIFEST_SCHEMA}")
    return content


# -- folders that others wrote ----------------------------------------------------------------------


def collect(folder: str) -> tuple[list[Dump], list[str]]:
    """The kernels in a folder of files that hold Tile IR, such as `CUDA_TILE_DUMP_BYTECODE` leaves.

    Equal kernels are taken once. Text, Tile IR inside a log, and folders inside are taken too.

    Returns:
        The dumps in the order of their files' names, and what was wrong with files that cannot be read.

    Raises:
        InputError: no such folder, or nothing in it is Tile IR.
    """
    from ..read import parse_all, read_bytes
    from ..read.detect import is_bytecode

    if not os.path.isdir(folder):
        raise InputError(f"{folder}: error: no such folder")
    found: dict[bytes, Dump] = {}
    wrong: list[str] = []
    for path in _files(folder):
        try:
            data = read_bytes(path)
            for module in parse_all(data, path):
                if module.entries:
                    own = data if is_bytecode(data) else module.to_bytecode()
                    found.setdefault(own, _dumped(module, own))
        except TileIRError as error:
            wrong.append(str(error))
    if not found:
        said = f"; {wrong[0]}" if wrong else ""
        raise InputError(f"{folder}: error: no kernel in a file of this folder{said}")
    return list(found.values()), wrong


def _files(folder: str) -> Iterator[str]:
    """The files in a folder that may hold Tile IR, in the order of their names."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith(_SUFFIXES):
                yield os.path.join(place, name)


def _dumped(module: Module, data: bytes) -> Dump:
    """What a module itself says about its first kernel."""
    from ..analyze.symbols import demangle

    entry = module.entries[0]
    symbol = demangle(entry.symbol)
    place = entry.location.file_line
    parameters = {
        parameter.name or f"#{number}": str(parameter)
        for number, parameter in enumerate(symbol.parameters, 1)
        if not parameter.is_constant
    }
    constants: dict[str, bool | int | float] = {
        f"#{number}": parameter.value
        for number, parameter in enumerate(symbol.parameters, 1)
        if isinstance(parameter.value, (bool, int, float))
    }
    return Dump(entry.symbol, symbol.function, place, parameters, constants, None, data)
