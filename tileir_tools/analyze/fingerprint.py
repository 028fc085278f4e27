"""Fingerprints of kernels: one hash for each level at which two kernels can be equal.

Place in the flow: Module -> **facts**; imports `sequence`, `digest`, `structure`, `levels`. The levels are
described in `levels`. Text, generic form and bytecode of one kernel have the same fingerprints, in
every process and on every version of Python.
"""

from __future__ import annotations

from ..collector import without_collecting
from ..errors import UsageError
from ..model import Entry, Module
from ..write.literals import attribute_text
from .dataflow import NodeTable, build_flow
from .digest import FlowDigest, digest_of
from .facts import Fingerprints
from .hints import check_arch, raw_hints
from .levels import DTYPE, NAMES, SIZES
from .precedence import Precedence
from .sequence import Step, steps
from .structure import Structure, structure_of


@without_collecting
def fingerprints(what: Module | Entry, arch: str | None = None) -> Fingerprints:
    """What `analyze.fingerprints` gives. Raises UsageError: unknown arch, no entries."""
    check_arch(arch)
    if isinstance(what, Entry):
        return examine(what, module_of(what), arch)[0]
    if not what.entries:
        raise UsageError("no entry in the module")
    found = [examine(entry, what, arch)[0] for entry in what.entries]
    if len(found) == 1:
        return found[0]
    exact, *columns = zip(*found)
    together = [digest_of(sorted(column)) for column in columns]
    return Fingerprints(digest_of(exact), *together)


def examine(entry: Entry, module: Module, arch: str | None) -> tuple[Fingerprints, Structure]:
    """The fingerprints of an entry, and its structure."""
    flow = build_flow(entry, module, NodeTable())
    before = Precedence(flow)
    names, dtype, sizes = (FlowDigest(flow, before, level, arch) for level in (NAMES, DTYPE, SIZES))
    structure = structure_of(sizes)
    prints = Fingerprints(
        exact=_exact(entry, module),
        names=names.entry,
        hints=names.without_hints(),
        dtype=dtype.entry,
        sizes=sizes.entry,
        structure=digest_of(("structure", repr(structure))),
    )
    return prints, structure


def same_dataflow(one: Entry, other: Entry, one_module: Module, other_module: Module) -> bool:
    """Whether two entries are equal modulo names, the hints at the entries aside."""
    flows = (build_flow(one, one_module, NodeTable()), build_flow(other, other_module, NodeTable()))
    left, right = (FlowDigest(flow, Precedence(flow), NAMES, None).body for flow in flows)
    return left == right


def module_of(entry: Entry) -> Module:
    """The entry with what stands beside it, as a module."""
    module = Module()
    if entry.parent is not None:
        module.body = entry.parent
    return module


def _exact(entry: Entry, module: Module) -> str:
    """The hash of the operations in their order, of the symbol and of the hints as written."""
    hints = raw_hints(entry.hints)
    written = sorted((target, sorted(values.items())) for target, values in hints.items())
    parts = [ascii(entry.symbol), ascii(written)]
    parts += [_step_text(step) for _, step in steps(entry, module)]
    return digest_of(parts)


def _step_text(step: Step) -> str:
    attributes = ", ".join([f"{name}={attribute_text(value)}" for name, value in step.attributes])
    types = " ".join(map(str, step.types))
    blocks = [" ".join(map(str, block)) for block in step.blocks]
    return (
        f"{step.depth} {step.name} {step.operands} {step.segments} {attributes} : {types} "
        f"{blocks} {step.text!a}"
    )
