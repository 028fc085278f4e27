"""Facts about a module as text or JSON.

Place in the flow: facts -> **report**; imports `analyze` records and `plain`.
"""

from __future__ import annotations

from ..analyze.facts import BlockMapping, EntryFacts, LoopFact, MemoryFact, MmaFact, ModuleFacts
from ..analyze.levels import LEVELS
from .plain import document, plain

SHOW_SCHEMA = "tileir-show/1"


def show_json(
    modules: list[ModuleFacts], source: str, evidence: list[dict[str, object]] | None = None
) -> str:
    """A document of schema `tileir-show/1`; with what the compiler made of the modules, where given."""
    content: dict[str, object] = {"source": source, "modules": plain(modules)}
    if evidence is not None:
        content["evidence"] = evidence
    return document(SHOW_SCHEMA, content)


def show_text(modules: list[ModuleFacts]) -> str:
    """For a terminal."""
    lines: list[str] = []
    for module in modules:
        for item in module.globals:
            constant = "constant " if item.constant else ""
            lines.append(f"global {constant}@{item.symbol}: {item.type}")
        for entry in module.entries:
            lines += ["", *_entry(entry, module.arch)] if lines else _entry(entry, module.arch)
    return "\n".join(lines)


def _entry(entry: EntryFacts, arch: str | None) -> list[str]:
    lines = [f"entry @{entry.symbol}", f"  {entry.signature}  [{entry.convention}]"]
    lines += _hints(entry, arch)
    lines += _section("blocks", [_mapping_line(m) for m in entry.block_mapping])
    lines += _section("loops", [_loop_line(f) for f in entry.loops])
    lines += _section("memory", [_memory_line(f) for f in entry.memory])
    lines += _section("mma", [line for f in entry.mma for line in _mma_lines(f)])
    lines += _section(
        "reductions",
        [
            f"{r.op} dim {r.dim}{' reversed' if r.reverse else ''} of {', '.join(r.operands)} by "
            f"{', '.join(r.body)} from {', '.join(r.identities)}{_depth(r.loop_depth)}{_line(r.where.line)}"
            for r in entry.reductions
        ],
    )
    lines += _section(
        "conversions",
        [
            f"{c.op} {c.source} -> {c.result}{_depth(c.loop_depth)}{_line(c.where.line)}"
            for c in entry.conversions
        ],
    )
    lines += _section("assumes", [f"{a.about}: {', '.join(a.predicates)}" for a in entry.assumes])
    lines += _section(
        "tiles", [f"{t.type}  {t.bytes} bytes, {t.values} values" for t in entry.tiles]
    )
    counts = ", ".join(f"{name} {count}" for name, count in entry.operations.items())
    lines.append(f"  operations: {counts}")
    if entry.fingerprints is None:
        return lines
    prints = ", ".join(f"{level} {digest[:8]}" for level, digest in zip(LEVELS, entry.fingerprints))
    return [*lines, f"  fingerprints: {prints}"]


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"  {title}:", *(f"    {line}" for line in lines)] if lines else []


def _line(number: int) -> str:
    return f"  (line {number})" if number else ""


def _depth(depth: int) -> str:
    return f", loop depth {depth}" if depth else ""


def _hints(entry: EntryFacts, arch: str | None) -> list[str]:
    lines = []
    for target, values in entry.hints.items():
        shown = ", ".join(f"{key} = {value}" for key, value in values.items())
        lines.append(f"{target}: {shown or 'none'}")
    if arch is not None:
        shown = ", ".join(f"{k} = {v}" for k, v in entry.resolved_hints.items())
        lines.append(f"resolved for {arch}: {shown or 'none'}")
    return _section("hints", lines)


def _mapping_line(mapping: BlockMapping) -> str:
    axis, indices, swizzled, persistent = mapping
    words = [w for w, on in (("swizzled", swizzled), ("persistent", persistent)) if on]
    text = f"block id {axis} -> {', '.join(indices) or 'loop bounds'}"
    return f"{text}  [{', '.join(words)}]" if words else text


def _loop_line(fact: LoopFact) -> str:
    bounds = f"for {fact.lower} to {fact.upper} step {fact.step}"
    text = "loop" if fact.op == "loop" else bounds
    if fact.trip_count is not None:
        text += f", {fact.trip_count} iterations"
    carried = [c for c in fact.carried if c != "token"]
    if carried:
        text += f", carries {', '.join(carried)}"
    return text + _depth(fact.depth) + _line(fact.where.line)


def _memory_line(fact: MemoryFact) -> str:
    shape = "x".join(map(str, fact.tile)) or "scalar"
    parts = [f"{fact.access} {shape} {fact.element} ({fact.bytes} bytes)"]
    through = fact.view or "pointers"
    parts.append(f"by {through} of {fact.base or '?'}")
    if fact.indices:
        parts.append(f"at [{', '.join(fact.indices)}]")
    extras = [
        f"padding {fact.padding}" if fact.padding else "",
        _permutation(fact.dim_map),
        f"traversal strides {list(fact.traversal_strides)}" if fact.traversal_strides else "",
        f"sparse dim {fact.sparse_dim}" if fact.sparse_dim is not None else "",
        "masked" if fact.masked else "",
        f"inbounds {list(fact.inbounds)}" if fact.inbounds else "",
        f"latency {fact.latency}" if fact.latency is not None else "",
        "no TMA" if fact.allow_tma is False else "",
        f"{fact.ordering} {fact.scope or ''}".strip() if fact.ordering != "weak" else "",
        f"after {', '.join(fact.token_from)}" if fact.token_from else "",
    ]
    text = " ".join(parts)
    known = [e for e in extras if e]
    return (
        text
        + (f"; {', '.join(known)}" if known else "")
        + _depth(fact.loop_depth)
        + _line(fact.where.line)
    )


def _permutation(dim_map: tuple[int, ...] | None) -> str:
    permuted = dim_map is not None and dim_map != tuple(range(len(dim_map)))
    return f"dim_map {list(dim_map or ())}" if permuted else ""


def _mma_lines(fact: MmaFact) -> list[str]:
    carried = "carried by the loop" if fact.accumulator_carried else "not carried"
    fast = ", fast_acc" if fact.fast_acc else ""
    return [
        f"{fact.op} {fact.lhs} x {fact.rhs} -> {fact.accumulator}, accumulator {carried}{fast}"
        f"{_depth(fact.loop_depth)}{_line(fact.where.line)}",
        f"  lhs from {' <- '.join(fact.lhs_chain)}",
        f"  rhs from {' <- '.join(fact.rhs_chain)}",
        f"  result to {' -> '.join(fact.result_chain) or 'nothing'}",
    ]
