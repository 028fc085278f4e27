"""Everything that the files of a cutile-rs wrapper say.

Place in the flow: files -> **facts of a wrapper** -> findings; imports `rust`, `ffi`, `walk`, `trace` and
`sources`. Nothing is imported, compiled or run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..sources import Dtype, Project, PythonFile, Registration, Undecided, read_python
from ..sources.bodies import module_scope
from ..sources.host import Host, host_of
from ..sources.literals import evaluate
from ..sources.operation import registrations_of
from ..sources.project import depth_guarded, read_inside
from ..sources.scopes import Scope
from .ffi import Export, RustEntry, entries_of, exports_of, option_order
from .rust import RustFile
from .trace import Tracer
from .walk import Done, FfiCall, Search, Walk, Walked

BACKEND = "cutile-rs"
_DECLARATION = re.compile(
    r"\b[a-z]\w*[\s*]+(?P<symbol>[A-Za-z_]\w*)\s*\((?P<parameters>[^()]*)\)\s*;"
)


class Declaration(NamedTuple):
    """A C declaration in the Python file: the symbol, names of its parameters, the line of the symbol."""

    symbol: str
    parameters: tuple[str, ...]
    line: int


class Gate(NamedTuple):
    """Number formats that are let through, all others raise: torch's names, and the line of the check."""

    dtypes: tuple[str, ...]
    line: int


class Wrapper(NamedTuple):
    """A wrapper.

    Attributes:
        name: of its file.
        path, kernel_path, ffi_path: of its files, from the project's root; None for one that is not there.
        registrations: for the backend cutile-rs.
        functions: of the file -> their lines.
        constants: names that the statements of the module bind, imports included.
        state: names of the module that functions bind anew.
        refused: parameters of registered functions that raise where they are true.
        gates: checks of number formats.
        declarations: of symbols, for cffi.
        calls: through the boundary, in the order in which a registered function comes to them.
        searches: as above.
        works: for PyTorch, as above.
        entries: of kernel.rs.
        exports: of ffi.rs.
        sources: path -> lines, from which excerpts are taken.
        undecided: everything that the files alone do not say, each with the path that it is in.
    """

    name: str
    path: str
    kernel_path: str | None
    ffi_path: str | None
    registrations: tuple[Registration, ...]
    functions: dict[str, int]
    constants: tuple[str, ...]
    state: tuple[str, ...]
    refused: tuple[str, ...]
    gates: tuple[Gate, ...]
    declarations: tuple[Declaration, ...]
    calls: tuple[FfiCall, ...]
    searches: tuple[Search, ...]
    works: tuple[Done, ...]
    entries: tuple[RustEntry, ...]
    exports: tuple[Export, ...]
    sources: dict[str, tuple[str, ...]]
    undecided: tuple[tuple[str, Undecided], ...]

    def excerpt(self, path: str, line: int) -> str:
        """A line of one of the files, without the space around it."""
        lines = self.sources.get(path, ())
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def read_wrapper(project: Project, name: str) -> Wrapper | None:
    """Read the wrapper `src/*/ops/cutile_rs/NAME.py` with `NAME_kernel/kernel.rs` and `ffi.rs` beside it.

    None where the project has no such file.

    Raises:
        UsageError: no plain name, or several files of that name.
        InputError, ParseError: one of the files cannot be read.
    """
    path = project.wrapper_file(name)
    if path is None:
        return None
    file = read_python(path, project.root)
    folder = f"{path.rpartition('/')[0]}/{name}_kernel"
    kernel = _rust(project, f"{folder}/kernel.rs")
    ffi = _rust(project, f"{folder}/ffi.rs")
    shared = _rust(project, f"{path.rpartition('/')[0]}/ffi_util.rs")
    entries = entries_of(kernel) if kernel is not None else ()
    with depth_guarded(f"{folder}/ffi.rs"):
        exports = exports_of(ffi, entries, option_order(shared)) if ffi is not None else ()
    with depth_guarded(file.path):
        return _wrapper(name, file, kernel, ffi, entries, exports)


def _rust(project: Project, path: str) -> RustFile | None:
    if not Path(project.root, path).is_file():
        return None
    text, name = read_inside(path, project.root)
    return RustFile(text, name)


def _wrapper(
    name: str,
    file: PythonFile,
    kernel: RustFile | None,
    ffi: RustFile | None,
    entries: tuple[RustEntry, ...],
    exports: tuple[Export, ...],
) -> Wrapper:
    module = module_scope(file.tree)
    host = host_of(file, module.context.imports, set())
    registrations = registrations_of(file, module)
    registrations = tuple(r for r in registrations if r.backend == BACKEND)
    declarations = tuple(_declarations(file))
    names = {d.symbol: d.parameters for d in declarations}
    names |= {export.name: tuple(export.parameters) for export in exports}
    walked = [
        Walk(Tracer(host), module, names, [export.name for export in exports]).run(root)
        for root in dict.fromkeys(r.function for r in registrations)
    ]
    texts = {file.path: file.text}
    texts |= {rust.path: rust.text for rust in (kernel, ffi) if rust is not None}
    return Wrapper(
        name,
        file.path,
        kernel.path if kernel is not None else None,
        ffi.path if ffi is not None else None,
        registrations,
        {function: node.lineno for function, node in host.functions.items()},
        tuple(sorted({*host.bindings, *host.imports})),
        tuple(sorted(_state(file))),
        tuple(_refused(host, [r.function for r in registrations])),
        tuple(_gates(host, module)),
        declarations,
        tuple(call for one in walked for call in one.calls),
        tuple(search for one in walked for search in one.searches),
        tuple(work for one in walked for work in one.works),
        entries,
        exports,
        {path: tuple(text.split("\n")) for path, text in texts.items()},
        tuple(_undecided(file, kernel, ffi, registrations, walked, exports)),
    )


def _declarations(file: PythonFile) -> Iterator[Declaration]:
    """C declarations in the strings that the module binds."""
    for node in file.tree.body:
        value = node.value if isinstance(node, ast.Assign) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            text = re.sub(r"/\*.*?\*/|//[^\n]*", "", value.value)
            for found in _DECLARATION.finditer(text):
                parts = [part.split() for part in found["parameters"].split(",")]
                names = tuple(part[-1].lstrip("*") for part in parts if part)
                line = value.lineno + text.count("\n", 0, found.start("symbol"))
                yield Declaration(found["symbol"], names, line)


def _state(file: PythonFile) -> set[str]:
    found = (node.names for node in ast.walk(file.tree) if isinstance(node, ast.Global))
    return {name for names in found for name in names}


def _refused(host: Host, roots: list[str]) -> Iterator[str]:
    """Parameters that must not be true."""
    for root in roots:
        for node in ast.walk(host.functions[root]):
            if isinstance(node, ast.If) and isinstance(node.test, ast.Name):
                yield from [node.test.id] if isinstance(node.body[-1], ast.Raise) else []


def _gates(host: Host, module: Scope) -> Iterator[Gate]:
    """`if x.dtype not in FORMATS: raise`."""
    for node in ast.walk(host.file.tree):
        if not isinstance(node, ast.If) or not isinstance(node.body[-1], ast.Raise):
            continue
        test = node.test
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotIn):
            formats = evaluate(test.comparators[0], module)
            items = list(formats) if isinstance(formats, (tuple, list, set)) else []
            if items and all(isinstance(item, Dtype) for item in items):
                yield Gate(tuple(map(str, items)), test.lineno)


def _undecided(
    file: PythonFile,
    kernel: RustFile | None,
    ffi: RustFile | None,
    registrations: tuple[Registration, ...],
    walked: list[Walked],
    exports: tuple[Export, ...],
) -> Iterator[tuple[str, Undecided]]:
    for what, found in (("kernel.rs", kernel), ("ffi.rs", ffi)):
        if found is None:
            yield file.path, Undecided(what, 1, "there is no such file beside the wrapper")
    if not registrations:
        yield file.path, Undecided("register_impl", 1, f"nothing is registered for {BACKEND}")
    elif not any(one.calls for one in walked):
        why = "no call through the boundary is seen from a registered function"
        yield file.path, Undecided(registrations[0].function, registrations[0].line, why)
    for one in walked:
        yield from ((file.path, undecided) for undecided in one.undecided)
    for export in exports:
        yield from ((export.path, undecided) for undecided in export.undecided)
