"""What a cubin holds: resources and machine instructions of each function, as cuobjdump prints them.

Place in the flow: toolchain -> facts; imports `errors`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from ..errors import ToolError

_FUNCTION = re.compile(r"^\s*Function\s*:?\s*(\S+?):?\s*$")
_RESOURCE = re.compile(r"([A-Z]+)(?:\[\d+\])?:(\d+)")
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)")

# Class of instructions -> their names; a name that ends in * stands for all that begin so.
_CLASSES: dict[str, str] = {
    "tensor core": "HGMMA IGMMA QGMMA HMMA IMMA QMMA OMMA DMMA BMMA UTCHMMA* UTCQMMA* UTCIMMA* UTCOMMA*",
    "TMA": "UTMA* UBLKCP UBLKRED UBLKPF UTCCP*",
    "local memory": "LDL STL",
    "shared memory": "LDS STS LDSM STSM ATOMS",
    "tensor memory": "LDT STT LDTM STTM UTCATOMSWS",
    "global memory": "LDG STG LD ST ATOMG ATOM RED REDG LDGSTS",
    "barrier": "BAR SYNCS UCGABAR* DEPBAR LDGDEPBAR ARRIVES WARPSYNC WARPGROUP MEMBAR FENCE* ERRBAR CCTL*",
    "convert": "F2F F2I I2F I2I F2FP F2IP I2FP",
    "special function": "MUFU",
    "floating point": "FADD* FMUL* FFMA* HADD2* HMUL2* HFMA2* FMNMX* FSET* FSEL DADD DMUL DFMA DSETP",
    "control": "BRA BRX EXIT CALL RET BSSY BSYNC JMP NANOSLEEP ELECT BREAK YIELD",
}
_EXACT = {
    instruction: name
    for name, instructions in _CLASSES.items()
    for instruction in instructions.split()
    if not instruction.endswith("*")
}
_BEGINNINGS = [
    (instruction[:-1], name)
    for name, instructions in _CLASSES.items()
    for instruction in instructions.split()
    if instruction.endswith("*")
]


class Function(NamedTuple):
    """One function of a cubin.

    Attributes:
        symbol: its name.
        registers: per thread.
        stack, local: bytes per thread.
        shared: bytes per block.
        constant: bytes of constant bank 0.
        threads: of a block; 0 where the cubin does not say.
        instructions: machine instructions by name, without their suffixes.
        classes: how many of them are of each class ("tensor core", "TMA", "local memory"..).
    """

    symbol: str
    registers: int
    stack: int
    shared: int
    local: int
    constant: int
    threads: int
    instructions: dict[str, int]
    classes: dict[str, int]

    @property
    def spills(self) -> int:
        """Loads from and stores to local memory: registers that did not suffice."""
        return self.instructions.get("LDL", 0) + self.instructions.get("STL", 0)


def parse_functions(
    resources: str, sass: str, threads: Mapping[str, int] | None = None
) -> tuple[Function, ...]:
    """The functions of a cubin, in order.

    Args:
        resources: what `cuobjdump -res-usage` prints.
        sass: what `cuobjdump -sass` prints.
        threads: of a block of each function.

    Raises:
        ToolError: neither names a function (kind "garbage").
    """
    usage = _usage(resources)
    code = _code(sass)
    if not usage or not code:
        message = "cuobjdump: no function in what it prints"
        raise ToolError(message, "cuobjdump", "garbage")
    return tuple(
        _function(symbol, usage.get(symbol, {}), code[symbol], (threads or {}).get(symbol, 0))
        for symbol in code
    )


def _usage(text: str) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    current: dict[str, int] | None = None
    for line in text.splitlines():
        match = _FUNCTION.match(line)
        if match:
            current = found.setdefault(match[1], {})
        elif current is not None and not current:
            current.update({name: int(value) for name, value in _RESOURCE.findall(line)})
    return found


def _code(text: str) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    current: Counter[str] | None = None
    for line in text.splitlines():
        match = _FUNCTION.match(line)
        if match:
            current = found.setdefault(match[1], Counter())
            continue
        instruction = _INSTRUCTION.match(line)
        if instruction and current is not None:
            current[instruction[1].partition(".")[0]] += 1
    return found


def _function(symbol: str, usage: dict[str, int], code: Counter[str], threads: int) -> Function:
    classes: Counter[str] = Counter()
    for name, count in code.items():
        classes[_class_of(name)] += count
    return Function(
        symbol,
        usage.get("REG", 0),
        usage.get("STACK", 0),
        usage.get("SHARED", 0),
        usage.get("LOCAL", 0),
        usage.get("CONSTANT", 0),
        threads,
        dict(sorted(code.items())),
        dict(classes.most_common()),
    )


def _class_of(instruction: str) -> str:
    found = _EXACT.get(instruction)
    if found is not None:
        return found
    return next((name for start, name in _BEGINNINGS if instruction.startswith(start)), "other")
