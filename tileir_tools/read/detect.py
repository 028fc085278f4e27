"""What kind of input some bytes are, and their text.

Place in the flow: the first step of bytes -> Module; imports `errors`. What is not Tile IR is named as
what it is, so that nobody has to guess why a dump does not read.
"""

from __future__ import annotations

import re

from ..errors import ForeignFormatError, InputError

TILEIR_MAGIC = b"\x7fTileIR\x00"
_GZIP_MAGIC = b"\x1f\x8b"

# Magic number -> what carries it, and what to do instead.
_MAGICS: tuple[tuple[bytes, str, str], ...] = (
    (b"\x7fELF", "cubin", "an ELF file (a cubin or another compiled binary)"),
    (b"\x50\xed\x55\xba", "fatbin", "a CUDA fat binary"),
    (b"BC\xc0\xde", "llvm-bitcode", "LLVM bitcode"),
    (b"ML\xefR", "mlir-bytecode", "MLIR bytecode of another dialect"),
    (b"PK\x03\x04", "zip", "a zip archive"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd-compressed data; decompress it first"),
    (b"\xfd7zXZ", "xz", "xz-compressed data; decompress it first"),
    (b"BZh", "bzip2", "bzip2-compressed data; decompress it first"),
)

# Pattern in a text -> kind and name. Looked for only where no Tile IR begins.
_TEXTS: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"\btt\.func\b|\btt\.(?:load|store|get_program_id)\b"), "triton", "Triton TTIR"),
    (re.compile(r"\bttg\.|\btriton_gpu\."), "triton", "Triton TTGIR"),
    (
        re.compile(r"^\s*(?:; ModuleID|source_filename *=|target (?:triple|datalayout) *=|define .*@)", re.M),
        "llvm-ir",
        "LLVM IR",
    ),
    (re.compile(r"^\s*\.version +\d|^\s*\.target +sm_", re.M), "ptx", "PTX"),
    (re.compile(r"\bTile\[|\btyped_const\b|\bassume_bounded\(x="), "cutile-python-ir",
     "cuTile's Python-level IR; dump Tile IR with CUDA_TILE_DUMP_TILEIR or CUDA_TILE_DUMP_BYTECODE"),
    (re.compile(r"^\s*(?:\.section|\s*/\*[0-9a-f]{4}\*/)", re.M), "sass", "SASS"),
    (re.compile(r"^\s*(?:import|from|def|class|@ct\.kernel)\b", re.M), "python", "Python source"),
    (re.compile(r"\b(?:llvm|func|gpu|nvvm|arith|scf|memref|linalg|stablehlo)\.\w+"), "mlir",
     "MLIR without cuda_tile operations"),
    (re.compile(r"\A\s*[{\[]"), "json", "JSON"),
)

_TILE_IR = re.compile(r"\bcuda_tile\b|^\s*(?:entry|global)\b[^\n]*[@<]", re.MULTILINE)


def is_bytecode(data: bytes) -> bool:
    return data.startswith(TILEIR_MAGIC)


def unpack(data: bytes, name: str) -> bytes:
    """The data, out of gzip where it is compressed. Raises InputError."""
    if not data.startswith(_GZIP_MAGIC):
        return data
    import gzip
    import zlib

    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name}: error: broken gzip data: {error}") from None


def decode_text(data: bytes, name: str) -> str:
    """The text in some bytes.

    Raises:
        ForeignFormatError: the bytes are a known kind of file that is no Tile IR text.
        InputError: the bytes are no UTF-8 text.
    """
    if not data.strip():
        raise ForeignFormatError(f"{name}: error: the file is empty", "empty")
    for magic, kind, what in _MAGICS:
        if data.startswith(magic):
            raise ForeignFormatError(f"{name}: error: this is {what}, not Tile IR", kind)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{name}: error: this is UTF-16 text; Tile IR text is UTF-8")
    if b"\0" in data:
        offset = data.index(b"\0")
        raise ForeignFormatError(
            f"{name}: error: this is binary data (a zero byte at offset {offset}), not Tile IR text",
            "binary",
        )
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{name}:{line}: error: no UTF-8 text: byte 0x{data[error.start]:02x} at offset {error.start}"
        ) from None


def check_text_kind(text: str, name: str) -> None:
    """Raises ForeignFormatError, naming the kind, where a text is something other than Tile IR."""
    if _TILE_IR.search(text):
        return
    for pattern, kind, what in _TEXTS:
        if pattern.search(text, 0, 200_000):
            raise ForeignFormatError(f"{name}: error: this is {what}, not Tile IR", kind)
    raise ForeignFormatError(
        f"{name}: error: no Tile IR here: neither an entry nor a cuda_tile.module", "text"
    )
