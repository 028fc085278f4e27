"""What the sources of an operation say, as text or JSON.

Place in the flow: facts of an operation -> **report**; imports the records of `sources` and `plain`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ..sources import (
    Autotune,
    Chain,
    Conditional,
    Kernel,
    Launch,
    OperationSource,
    Parametrisation,
    ReadSource,
    TestSource,
    Tolerance,
    Undecided,
    as_json,
)
from .plain import document

SOURCE_SCHEMA = "tileir-source/1"
# Rows listed one by one in the text; the JSON has all.
_SHOWN = 6
# Longer texts that sizes come from are in the JSON only.
_WIDTH = 90


def source_json(sources: Sequence[ReadSource]) -> str:
    """A document of schema `tileir-source/1`."""
    return document(SOURCE_SCHEMA, {"operations": as_json(list(sources))})


def source_table(sources: Sequence[ReadSource]) -> str:
    """One line of a Markdown table for each operation."""
    head = "operation registered kernels launches test_op test_perf tolerances searches undecided"
    rows = [head.split(), ["---"] * len(head.split()), *map(_row, sources)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(source: ReadSource) -> list[str]:
    operation, tests = source.operation, source.tests
    undecided = len(operation.undecided) + (len(tests.undecided) if tests is not None else 0)
    return [
        source.name,
        ", ".join(r.name for r in operation.registrations) or "-",
        str(len(operation.kernels)),
        str(len(operation.launches)),
        _count(tests.op if tests is not None else None),
        _count(tests.perf if tests is not None else None),
        _limits(tests.tolerances if tests is not None else ()) or "-",
        ", ".join(map(_configs, operation.autotunes)) or "-",
        str(undecided),
    ]


def _count(test: Parametrisation | None) -> str:
    if test is None:
        return "-"
    skipped = sum(config.skipped is not None for config in test.configs)
    return f"{len(test.configs)}" + (f" ({skipped} skipped)" if skipped else "")


def _configs(search: Autotune) -> str:
    return "?" if isinstance(search.configs, Undecided) else str(len(search.configs))


def _limits(found: Iterable[Tolerance]) -> str:
    """`float16 0.01/0.02` for rtol/atol, those of `test_op` and `test_perf` together."""
    texts = dict.fromkeys(
        f"{t.dtype or 'any'} {_value(t.rtol)}/{_value(t.atol)}"
        for t in found
        if t.test in ("test_op", "test_perf")
    )
    return ", ".join(texts)


def _value(value: object) -> str:
    """A value as a source has it; `?` for one that is not decided."""
    if isinstance(value, Undecided):
        return "?"
    return str(value) if value is not None else "default"


def source_text(source: ReadSource) -> str:
    """For a terminal: the operation, its kernels and launches, its tests, and what is not decided."""
    operation, tests = source.operation, source.tests
    lines = [f"{source.name}: {operation.path}"]
    if source.triton is not None:
        lines.append(f"  Triton: {source.triton.path}")
    lines += _operation_lines(operation)
    lines += ["", "tests: none"] if tests is None else _test_lines(tests)
    undecided = [(operation.path, u) for u in operation.undecided]
    undecided += [(tests.path, u) for u in tests.undecided] if tests is not None else []
    if undecided:
        lines += ["", "not decided:"]
        lines += [f"  {path}:{u.line}: {u.text}: {u.why}" for path, u in undecided]
    return "\n".join(lines)


def _operation_lines(operation: OperationSource) -> Iterator[str]:
    for r in operation.registrations:
        yield f"  {r.line}: {r.name} for {r.backend}: {r.signature}"
    yield from ("", "kernels:")
    for kernel in operation.kernels:
        yield from _kernel_lines(kernel)
    yield from ("", "launches:")
    for launch in operation.launches:
        yield from _launch_lines(launch)
    for search in operation.autotunes:
        yield from ("", *_search_lines(search))
    for title, remarks in (("formats", operation.dtype_gates), ("layouts", operation.layouts)):
        if remarks:
            yield from ("", f"{title}:")
            yield from (f"  {r.line}: {r.text}" for r in remarks)
    if operation.elsewhere:
        yield from ("", f"calls of other files: {', '.join(operation.elsewhere)}")


def _kernel_lines(kernel: Kernel) -> Iterator[str]:
    options = ", ".join(f"{name}={text}" for name, text in kernel.options.items())
    yield f"  {kernel.line}: {kernel.name}({', '.join(kernel.parameters)})"
    if options:
        yield f"    options: {options}"
    if kernel.constants:
        yield f"    constants: {', '.join(kernel.constants)}"
    yield f"    operations: {', '.join(kernel.ops)}"
    for branch in kernel.branches:
        said = "the sides differ" if branch.differs else "the same calls on both sides"
        yield f"    {branch.line}: if {branch.condition}: {said}"


def _launch_lines(launch: Launch) -> Iterator[str]:
    kernels = " or ".join(launch.kernels or launch.unknown_kernels)
    tuned = ", tuned" if launch.autotuned else ""
    yield f"  {launch.line}: {kernels} in {launch.function}{tuned}"
    yield f"    grid: {' or '.join(launch.grid)}"
    constants = [f"{a.parameter}={a.text}" for a in launch.arguments if a.constant]
    if constants:
        yield f"    constants: {', '.join(constants)}"
    sizes = [f"{name} = {' or '.join(texts)}" for name, texts in launch.sizes.items()]
    yield from (f"    {line}" for line in sizes if len(line) <= _WIDTH)
    for chain in launch.chains[:_SHOWN]:
        yield f"    {_chain_text(chain)}"
    if len(launch.chains) > _SHOWN:
        yield f"    and {len(launch.chains) - _SHOWN} more ways"


def _chain_text(chain: Chain) -> str:
    conditions = [c.text if c.holds else f"not ({c.text})" for c in chain.conditions]
    return " > ".join(chain.functions) + (f" if {' and '.join(conditions)}" if conditions else "")


def _search_lines(search: Autotune) -> Iterator[str]:
    yield f"search in {search.function}, line {search.line}: {' or '.join(search.kernels)}"
    if search.cache is not None:
        yield f"  remembered in {search.cache} by {', '.join(search.key)}"
    if isinstance(search.configs, Undecided):
        yield f"  of {search.space}: not decided: {search.configs.why}"
        return
    counts = Counter(config.when for config in search.configs)
    for when, count in counts.items():
        yield f"  {count} configurations" + (f" if {' and '.join(when)}" if when else "")
        shown = [c for c in search.configs if c.when == when][:_SHOWN]
        yield from (f"    {_config_text(c)}" for c in shown)
        if count > len(shown):
            yield f"    and {count - len(shown)} more"


def _config_text(config: Conditional) -> str:
    if not isinstance(config.value, dict):
        return _value(config.value)
    return ", ".join(f"{name}={_value(value)}" for name, value in config.value.items())


def _test_lines(tests: TestSource) -> Iterator[str]:
    others = f"; other classes: {', '.join(tests.other_classes)}" if tests.other_classes else ""
    yield from ("", f"tests: {tests.path}:{tests.line}: {tests.class_name or 'no class'}{others}")
    yield f"  calls: {', '.join(tests.calls) or '-'}"
    for choice in tests.choices:
        items = [f"{v}{' (' + ' and '.join(w) + ')' if w else ''}" for v, w in choice.items]
        yield f"  {choice.name}: {', '.join(items)}"
    for test in (tests.perf, tests.op, *tests.others):
        if test is not None:
            yield from _parametrisation_lines(test)
    if tests.perf is None:
        yield "  no test_perf: configurations are those of test_op"
    for reference in tests.references:
        yield f"  reference: {reference.file}:{reference.line}: {reference.name}"
        yield from (f"    {line}" for line in reference.text.splitlines())
        yield from (f"    calls {h.name}, line {h.line}" for h in reference.helpers)
    yield "  tolerances (rtol, atol):"
    for t in tests.tolerances:
        source = "" if t.source == "stated" else f" ({t.source})"
        when = f" if {' and '.join(t.when)}" if t.when else ""
        limits = f"{_value(t.rtol)}, {_value(t.atol)}"
        yield f"    {t.test}, line {t.line}: {t.dtype or 'any format'}: {limits}{source}{when}"


def _parametrisation_lines(test: Parametrisation) -> Iterator[str]:
    yield f"  {test.line}: {test.name}: {_count(test)} configurations"
    for config in test.configs[:_SHOWN]:
        values = ", ".join(f"{name}={_value(value)}" for name, value in config.values.items())
        when = f" if {' and '.join(config.when)}" if config.when else ""
        skipped = f" skipped in line {config.skipped.line}" if config.skipped is not None else ""
        yield f"    {values}{when}{skipped}"
    if len(test.configs) > _SHOWN:
        yield f"    and {len(test.configs) - _SHOWN} more"
