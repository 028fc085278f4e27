"""What the compiler made of a kernel, as text or JSON.

Place in the flow: toolchain -> **report**; imports `toolchain` records, `model` and `plain`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Module, Operation
from ..toolchain.compiling import Evidence
from ..toolchain.devices import device_of
from ..toolchain.machine_code import Function
from ..toolchain.occupancy import Occupancy, occupancy
from ..toolchain.remarks import Remark
from .plain import document, plain

COMPILE_SCHEMA = "tileir-compile/1"


def compile_json(file: str, module: Module, found: Sequence[Evidence]) -> str:
    """A document of schema `tileir-compile/1`."""
    return document(COMPILE_SCHEMA, {"file": file, "targets": evidence_rows(module, found)})


def evidence_rows(module: Module, found: Sequence[Evidence]) -> list[dict[str, object]]:
    """What the compiler made of a module for each target, as plain data."""
    operations = _numbered(module)
    return [
        {
            "arch": evidence.arch,
            "seconds": round(evidence.seconds, 3),
            "cubin_bytes": len(evidence.cubin),
            "versions": evidence.versions,
            "functions": [
                {
                    **_fields(function),
                    "spills": function.spills,
                    "occupancy": plain(_held(function, evidence.arch)),
                }
                for function in evidence.functions
            ],
            "remarks": [
                {**_fields(remark), "operation": _operation(operations[remark.place])}
                for remark in evidence.remarks
            ],
        }
        for evidence in found
    ]


def _held(function: Function, arch: str) -> Occupancy | None:
    device = device_of(arch)
    return occupancy(function, device) if device is not None else None


def _fields(record: object) -> dict[str, object]:
    found = plain(record)
    assert isinstance(found, dict)
    return found


def _numbered(module: Module) -> list[Operation | None]:
    """Number of an operation -> operation; a remark about none has number 0."""
    return [None, *module.walk()]


def _operation(op: Operation | None) -> dict[str, object] | None:
    if op is None:
        return None
    origin = op.location.file_line
    return {
        "name": op.name,
        "line": op.span.line if op.span is not None else None,
        "loop_depth": op.loop_depth,
        "origin": list(origin) if origin is not None else None,
    }


def compile_text(module: Module, found: Sequence[Evidence]) -> str:
    """For a terminal: resources, instructions by class, remarks with their operation."""
    lines: list[str] = []
    for evidence in found:
        lines += ["", *_target(module, evidence)] if lines else _target(module, evidence)
    return "\n".join(lines)


def _target(module: Module, evidence: Evidence) -> list[str]:
    tools = ", ".join(f"{name} {version}" for name, version in evidence.versions.items())
    lines = [f"{evidence.arch}: compiled in {evidence.seconds:.2f} s by {tools}"]
    for function in evidence.functions:
        lines.append(f"  @{function.symbol}")
        lines.append(
            f"    {function.registers} registers, stack {function.stack}, shared {function.shared}, "
            f"local {function.local} bytes"
        )
        held = _held(function, evidence.arch)
        if held is not None:
            lines.append(
                f"    {function.threads} threads a block; {held.blocks} blocks at a time on a "
                f"multiprocessor, limited by {held.limit}"
            )
        classes = ", ".join(f"{name} {count}" for name, count in function.classes.items())
        lines.append(f"    instructions: {classes}")
        if function.spills:
            lines.append(f"    SPILLS: {function.spills} loads and stores of local memory")
    operations = _numbered(module)
    lines += [f"  {_remark(r, operations[r.place])}" for r in evidence.remarks]
    return lines


def _remark(remark: Remark, op: Operation | None) -> str:
    details = ", ".join(f"{key} {value}" for key, value in remark.details)
    text = f"{remark.kind}: {remark.message}{f' ({details})' if details else ''}"
    if op is not None:
        text += f"  -- {op.name}{f' line {op.span.line}' if op.span else ''}"
        origin = op.location.file_line
        text += f"  [{origin[0]}:{origin[1]}]" if origin is not None else ""
    return text
