"""What kind of input some bytes are, and their text.

Place in the flow: the first step of bytes -> Module; imports `errors`. What is not Tile IR is named as
what it is, so that nobody has to guess why a dump does not read.
"""

from __future__ import annotations

import re

from ..errors import ForeignFormatError, InputError

TILEIR_MAGIC = b"\x7fTileIR\x00"
_GZIP_MAGIC = b"\x1f\x8b"

# Compressed data that comes to more than this is not unpacked.
_MOST_UNPACKED = 1 << 31

# Foreign texts show what they are near their beginning.
_LOOKED_AT = 200_000

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

_CUTILE_PYTHON = (
    "cuTile's Python-level IR; dump Tile IR with CUDA_TILE_DUMP_TILEIR or CUDA_TILE_DUMP_BYTECODE"
)

# Pattern in a text -> kind and name. Looked for only where no line begins as Tile IR does.
_TEXTS: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(pattern, re.MULTILINE), kind, what)
    for pattern, kind, what in (
        (r"\bttg\.|\btriton_gpu\.", "triton", "Triton TTGIR"),
        (
            r'"tt\.\w+"\(|\btt\.func\b.*@|\btt\.(?:load|store) %|\btt\.get_program_id [xyz]',
            "triton",
            "Triton TTIR",
        ),
        (
            r"^[ \t]*(?:; ModuleID|source_filename *=|target (?:triple|datalayout) *=|define .*@)",
            "llvm-ir",
            "LLVM IR",
        ),
        (r"^[ \t]*\.(?:version +\d|target +sm_)", "ptx", "PTX"),
        (r"\bTile\[|\btyped_const\b|\bassume_bounded\(x=", "cutile-python-ir", _CUTILE_PYTHON),
        (r"^[ \t]*(?:\.section|/\*[0-9a-f]{4}\*/)", "sass", "SASS"),
        (r"^```\w*$", "markdown", "Markdown"),
        (r"^[ \t]*(?:import|from|def|class|@ct\.kernel)\b", "python", "Python source"),
        (
            r"\b(?:llvm|func|gpu|nvvm|arith|scf|memref|linalg|stablehlo)\.\w+",
            "mlir",
            "MLIR without cuda_tile operations",
        ),
        (r"\A\s*[{\[]", "json", "JSON"),
    )
)

# A line that begins as Tile IR does.
_BEGINS = re.compile(
    r'^[ \t]*(?:(?:cuda_tile\.)?(?:entry|global|testing\$func)\b[^\n]*[@<"]|cuda_tile\.module\b'
    r'|"cuda_tile\.[\w$]+"[ \t]*\()',
    re.MULTILINE,
)
_MENTIONS = re.compile(r"\bcuda_tile\.")


def is_bytecode(data: bytes) -> bool:
    return data.startswith(TILEIR_MAGIC)


def unpack(data: bytes, name: str, most: int = _MOST_UNPACKED) -> bytes:
    """The data, out of gzip where it is compressed. Raises InputError: broken, or more than `most` bytes."""
    if not data.startswith(_GZIP_MAGIC):
        return data
    import gzip
    import io
    import zlib

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            unpacked = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name}: error: broken gzip data: {error}") from None
    if len(unpacked) > most:
        raise InputError(f"{name}: error: gzip data of more than {most} bytes unpacked")
    return unpacked


def decode_text(data: bytes, name: str) -> str:
    """The text in some bytes.

    Raises:
        ForeignFormatError: the bytes are a known kind of file that is no Tile IR text.
        InputError: the bytes are no UTF-8 text.
    """
    for magic, kind, what in _MAGICS:
        if data.startswith(magic):
            raise ForeignFormatError(f"{name}: error: this is {what}, not Tile IR", kind)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{name}: error: this is UTF-16 text; Tile IR text is UTF-8")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if b"\0" in data:
            raise _binary(data.index(b"\0"), name) from None
        line = data.count(b"\n", 0, error.start) + 1
        wrong = f"byte 0x{data[error.start]:02x} at offset {error.start}"
        raise InputError(f"{name}:{line}: error: this is no UTF-8 text: {wrong}") from None


def check_text_kind(text: str, name: str) -> None:
    """Raises ForeignFormatError, naming the kind, where a text is something other than Tile IR."""
    if not text or text.isspace():
        raise ForeignFormatError(f"{name}: error: the input is empty", "empty")
    if "\0" in text:
        raise _binary(text.index("\0"), name)
    if _BEGINS.search(text):
        return
    for pattern, kind, what in _TEXTS:
        if pattern.search(text, 0, _LOOKED_AT):
            raise ForeignFormatError(f"{name}: error: this is {what}, not Tile IR", kind)
    if not _MENTIONS.search(text):
        raise ForeignFormatError(
            f"{name}: error: no Tile IR here: neither an entry nor a cuda_tile.module", "text"
        )


def _binary(offset: int, name: str) -> ForeignFormatError:
    return ForeignFormatError(
        f"{name}: error: this is binary data (a zero byte at offset {offset}), not Tile IR text",
        "binary",
    )
