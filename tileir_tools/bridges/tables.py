"""The tables of facts, as data: what `to_arrow` gives and `tileir scan` writes.

Place in the flow: facts -> **bridges**; imports nothing. docs/scan.md shows them, and a test holds it against
this. A form is "text", "integer" or "boolean"; `[form]` is a list, `{name: form}` a record, `Counts` and
`Texts` are maps from texts to integers and to texts. Every column may be null.
"""

from __future__ import annotations

from typing import Any, NamedTuple

# Goes up where a column changes or goes; new columns are added within a version.
TABLES_VERSION = 1

TEXT, INTEGER, BOOLEAN = "text", "integer", "boolean"
# Maps: their keys are texts.
COUNTS, TEXTS = "counts", "texts"


class Column(NamedTuple):
    """A column: its name, its form, and what stands in it."""

    name: str
    form: Any
    about: str


_CONTENT = Column("content", TEXT, "SHA-256 of the content, unpacked; null for modules in memory")
_ENTRY = (
    _CONTENT,
    Column("module", INTEGER, "number of the module in the content, from 0"),
    Column("entry", INTEGER, "number of the entry in the module, from 0"),
)
_PAIR = (
    *_ENTRY,
    Column("reference_content", TEXT, "content of the reference; null: no entry corresponds"),
    Column("reference_module", INTEGER, "number of the module in it"),
    Column("reference_entry", INTEGER, "number of the entry in that module"),
)
_LEVELS = ("exact", "names", "hints", "dtype", "sizes", "structure")

FILES = (
    Column("side", TEXT, "`scanned`, or `reference` for what `--reference` named"),
    Column("root", TEXT, "the folder or file that was named"),
    Column("path", TEXT, "the file"),
    Column(
        "member", TEXT, "name in the tarball, key in the compile cache; null for the file itself"
    ),
    Column("file_bytes", INTEGER, "bytes of the file at `path`"),
    Column("modified_ns", INTEGER, "when it was changed, nanoseconds since 1970"),
    _CONTENT._replace(about="SHA-256 of the content, unpacked; null where it was not read"),
    Column("error", TEXT, "why it was not read: broken archive, too large, no permission.."),
)
CONTENTS = (
    _CONTENT._replace(about="SHA-256 of the content, unpacked"),
    Column("bytes", INTEGER, "its bytes"),
    Column("kind", TEXT, "`text`, `bytecode`; `cubin` out of a compile cache; null: no Tile IR"),
    Column("bytecode_version", TEXT, "such as `13.3`; null for text"),
    Column("producer", TEXT, "what made it, where it says so"),
    Column("modules", INTEGER, "modules in it"),
    Column("symbols", [TEXT], "symbols of the entries, in order"),
    Column("operations", INTEGER, "operations in its entries"),
    Column("warnings", INTEGER, "what the reader warned of, such as unknown operations"),
    Column("verify_errors", INTEGER, "what breaks the dialect's rules; 0: valid"),
    Column("verify_message", TEXT, "the first of these errors"),
    Column("verify_line", INTEGER, "its line; null for bytecode"),
    Column(
        "error_kind",
        TEXT,
        "`parse`, `bytecode`, `foreign:KIND`, `input`, `internal`, `worker`; null: read",
    ),
    Column("error", TEXT, "why it cannot be read"),
    Column("error_line", INTEGER, "line of the error, from 1"),
    Column("error_column", INTEGER, "column of the error, from 1"),
    Column("error_offset", INTEGER, "for bytecode: byte of the error, from 0"),
)
ENTRIES = (
    *_ENTRY,
    Column("symbol", TEXT, "symbol of the entry"),
    Column("function", TEXT, "name without mangling"),
    Column("real_function", TEXT, "name without mangling and alias"),
    Column("convention", TEXT, "how the symbol is mangled"),
    Column("signature", TEXT, "the symbol, readable"),
    Column("line", INTEGER, "line of the entry; null for bytecode"),
    Column("parameters", [{"name": TEXT, "type": TEXT}], "parameters"),
    Column("arch", TEXT, "target for which hints are resolved; null: `default` alone"),
    Column("hints", TEXTS, "hints of the entry, resolved: key to value as text"),
    Column("operations", COUNTS, "how many of each operation, by name"),
    Column(
        "tiles", [{"type": TEXT, "bytes": INTEGER, "values": INTEGER}], "tile types, largest first"
    ),
    Column(
        "mma",
        [
            {
                "op": TEXT,
                "line": INTEGER,
                "lhs": TEXT,
                "rhs": TEXT,
                "accumulator": TEXT,
                "fast_acc": BOOLEAN,
                "accumulator_carried": BOOLEAN,
                "loop_depth": INTEGER,
            }
        ],
        "matrix products: types of operands, whether a loop carries the accumulator",
    ),
    Column(
        "loops",
        [
            {
                "op": TEXT,
                "line": INTEGER,
                "lower": TEXT,
                "upper": TEXT,
                "step": TEXT,
                "trip_count": INTEGER,
                "carried": [TEXT],
                "depth": INTEGER,
            }
        ],
        "loops: bounds as expressions, iterations where constant, types that are carried",
    ),
    *(
        Column(f"fingerprint_{level}", TEXT, f"equal for entries that are equal at level `{level}`")
        for level in _LEVELS
    ),
)
MEMORY = (
    *_ENTRY,
    Column("number", INTEGER, "number among the memory operations of the entry, from 0"),
    Column("op", TEXT, "the operation"),
    Column("line", INTEGER, "its line; null for bytecode"),
    Column("access", TEXT, "`load`, `store` or `atomic`"),
    Column("family", TEXT, "`view` or `pointer`"),
    Column("view", TEXT, "kind of view; null for pointers"),
    Column("base", TEXT, "what the address comes from: an argument, a global.."),
    Column("tile", [INTEGER], "shape of what is moved"),
    Column("element", TEXT, "element type"),
    Column("bytes", INTEGER, "bytes moved"),
    Column("indices", [TEXT], "what the view is indexed with, as expressions"),
    Column("shape", [INTEGER], "of the tensor view; null is dynamic"),
    Column("strides", [INTEGER], "of the tensor view; null is dynamic"),
    Column("padding", TEXT, "what elements outside read as"),
    Column("masked", BOOLEAN, "whether a mask is there"),
    Column("inbounds", [INTEGER], "dimensions promised to stay inside"),
    Column("latency", INTEGER, "hint, resolved; null: absent"),
    Column("allow_tma", BOOLEAN, "hint, resolved; true where absent"),
    Column(
        "may_use_tma", BOOLEAN, "through a view, and `allow_tma` is not false: the compiler decides"
    ),
    Column("ordering", TEXT, "memory ordering"),
    Column("scope", TEXT, "its scope"),
    Column("loop_depth", INTEGER, "loops around it"),
    Column("token_from", [TEXT], "operations whose tokens it waits for"),
)
HINTS = (
    *_ENTRY,
    Column("op", TEXT, "operation that has the hint; `entry` for the entry itself"),
    Column("line", INTEGER, "its line; null for bytecode"),
    Column("arch", TEXT, "target, or `default`"),
    Column("key", TEXT, "such as `latency`"),
    Column("value", TEXT, "its value as text"),
)
COMPARISONS = (
    *_PAIR,
    Column(
        "matched_by",
        TEXT,
        "`symbol`, `constants`, `function`, `alias`, `sizes`, `place`; null: nothing corresponds",
    ),
    Column("verdict", TEXT, "`PASS`, `PASS_WITH_NOTES`, `FAIL_FIXABLE`; null: not compared"),
    Column("codes", [TEXT], "codes of the findings, each once"),
    Column("error", TEXT, "why they were not compared"),
)
FINDINGS = (
    *_PAIR,
    Column(
        "number", INTEGER, "number among the findings of the pair, the weightiest first, from 0"
    ),
    Column("code", TEXT, "the rule: `tileir rules CODE`"),
    Column("severity", TEXT, "`CRITICAL`, `WARN` or `INFO`"),
    Column("status", TEXT, "`DIFFERS`, `MISSING`, `EXTRA` or `SEMANTIC_EQUIV`"),
    Column("owner", TEXT, "`kernel` or `host`"),
    Column("message", TEXT, "one sentence"),
    Column("line", INTEGER, "where, in the scanned file; null for bytecode"),
    Column("reference_line", INTEGER, "where, in the reference; null for bytecode"),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "files": FILES,
    "contents": CONTENTS,
    "entries": ENTRIES,
    "memory": MEMORY,
    "hints": HINTS,
    "comparisons": COMPARISONS,
    "findings": FINDINGS,
}
