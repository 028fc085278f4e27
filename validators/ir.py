"""Is a file Tile IR of a kernel? Takes the place of TileGym's `validate_ir.sh FILE KERNEL`.

Place in the flow: a thin consumer of bytes -> Module; imports `read`, `verify`, `errors`.

What the script found with greps is decided on the parsed module here: the entry has to be an entry (not
a name in a comment or string), text without a module wrapper is as good as text with one, and what is no
Tile IR is named as what it is.
"""

from __future__ import annotations

from tileir_tools.errors import Diagnostic, ParseError, TileIRError
from tileir_tools.model import Entry, Module
from tileir_tools.read import load_all
from tileir_tools.verify import verify

from .outcome import Line, Outcome

# Operations without which a kernel hardly does anything (the script's list, atomics added).
_KEY_OPS = frozenset(
    {
        "load_ptr_tko",
        "store_ptr_tko",
        "load_view_tko",
        "store_view_tko",
        "atomic_rmw_tko",
        "atomic_cas_tko",
        "atomic_red_view_tko",
        "mmaf",
        "mmai",
        "mmaf_scaled",
        "reduce",
        "scan",
        "make_partition_view",
        "make_strided_view",
        "make_gather_scatter_view",
    }
)
_SHOWN_ERRORS = 10


def validate_ir(path: str, kernel: str) -> Outcome:
    """Whether a file holds valid Tile IR with an entry whose symbol contains `kernel`.

    Args:
        path: the file; `-` is the standard input.
        kernel: text that the symbol of some entry has to contain.

    Returns:
        An Outcome; a file that cannot be read is a failure, not an exception.
    """
    try:
        modules = load_all(path)
    except ParseError as error:
        return Outcome("IR", path, tuple(_error_lines(error.diagnostics)))
    except TileIRError as error:
        return Outcome("IR", path, (Line("FAIL", str(error)),))
    entries = [entry for module in modules for entry in module.entries]
    matched = [entry for entry in entries if kernel in entry.symbol]
    lines = _symbol_lines(entries, matched, kernel)
    found = [verify(module) for module in modules]
    for diagnostics in found:
        lines += _error_lines([d for d in diagnostics if d.severity == "error"])
    lines += _warnings(modules, entries, found)
    if not any(line.level == "FAIL" for line in lines):
        lines.append(_pass_line(modules, matched[0]))
    return Outcome("IR", path, tuple(lines))


def _error_lines(diagnostics: list[Diagnostic]) -> list[Line]:
    lines = []
    for diagnostic in diagnostics[:_SHOWN_ERRORS]:
        first, *detail = diagnostic.render().split("\n")
        lines.append(Line("FAIL", first, tuple(detail)))
    hidden = len(diagnostics) - len(lines)
    return [*lines, Line("FAIL", f"{hidden} more errors")] if hidden > 0 else lines


def _symbol_lines(entries: list[Entry], matched: list[Entry], kernel: str) -> list[Line]:
    if not entries:
        return [Line("FAIL", "No entry in the file")]
    if matched:
        return []
    found = ("Found entries:", *(f"  entry @{entry.symbol}" for entry in entries[:_SHOWN_ERRORS]))
    return [Line("FAIL", f"No entry symbol contains '{kernel}' as substring", found)]


def _warnings(
    modules: list[Module], entries: list[Entry], found: list[list[Diagnostic]]
) -> list[Line]:
    lines = []
    for module, diagnostics in zip(modules, found):
        warnings = [d for d in diagnostics if d.severity == "warning"]
        for warning in (*module.warnings, *warnings):
            lines.append(Line("WARN", warning.render().split("\n")[0]))
    if entries and not any(e.hints for e in entries):
        lines.append(Line("WARN", "Missing 'optimization_hints' in entry"))
    if entries and not _key_ops(modules):
        lines.append(Line("WARN", "No recognized ops found (load/store/mma/reduce/partition)"))
    return lines


def _key_ops(modules: list[Module]) -> int:
    return sum(1 for module in modules for op in module.walk() if op.name in _KEY_OPS)


def _pass_line(modules: list[Module], entry: Entry) -> Line:
    source = modules[0].source
    lines = source.text.count("\n") if source else 0
    return Line(
        "PASS",
        f"Valid MLIR IR matched entry @{entry.symbol} ({lines} lines, {_key_ops(modules)} key ops)",
    )
