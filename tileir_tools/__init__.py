"""tileir-tools: read, check and compare CUDA Tile IR.

CUDA Tile IR is what cuTile-Python, Triton-TileIR, cuTile.jl and cutile-rs compile to: MLIR of NVIDIA's
`cuda_tile` dialect. This package reads every spelling of its text and its bytecode (13.1 to 13.5), knows what
the operations mean, and says whether two kernels are the same and which difference matters.

Read a file and look at it:

    >>> import tileir_tools as tt
    >>> module = tt.load("matmul.mlir")
    >>> for op in module.find("mmaf"):
    ...     print(op.span.where(), op.operand("lhs").type, op.loop_depth)

`load` and `parse` give a `Module`; `load_all` and `parse_all` a list, for inputs that hold several. A module
has `entries` (kernels) and `globals`; an `Entry` has `symbol`, `arguments` and `body`; an `Operation` has
`name`, `operand("token")`, `attribute("rounding_mode")`, `results`, `regions`, `location`; a `Value` has
`type`, `defining_op`, `users`. `module.walk()` and `module.find("mmaf", "reduce")` visit operations in
order; `module.to_text()` prints exactly what the official disassembler prints, `module.to_bytecode()`
encodes it.

Facts about kernels, hints resolved for a target:

    >>> facts = tt.analyze(module, arch="sm_100")
    >>> facts.entries[0].memory[0].latency

The records are described in `tileir_tools.analyze.facts`.

Compare a generated kernel with its reference:

    >>> answer = tt.diff(tt.load("ref.mlir"), tt.load("gen.mlir"), arch="sm_100")
    >>> answer.verdict
    'FAIL_FIXABLE'
    >>> for finding in answer.findings:
    ...     print(finding.code, finding.severity, finding.message, finding.generated.line)

Ask whether two kernels are equal at a level of detail, and group many of them:

    >>> bool(tt.equal(tt.load("f16.mlir"), tt.load("bf16.mlir"), level="dtype"))
    True
    >>> for variant in tt.variants(["dumps"]).variants:
    ...     print(variant.name, variant.representative.file, len(variant.members))

`tt.fingerprints(module)` gives the hashes behind both.

Check a module: `tt.verify(module)`, or `module.verify()`, lists everything that breaks the dialect's rules,
for a bytecode version or a target where one is stated:

    >>> for diagnostic in module.verify(bytecode_version="13.3", arch="sm_90"):
    ...     print(diagnostic.render())

For other tools: `module.to_networkx()` is the graph of the operations, `tileir_tools.bridges` draws it and
gives facts as tables of Arrow and pandas; Jupyter shows modules and comparisons as tables;
`tileir_tools.scan` makes Parquet tables of whole folders and asks them in SQL; `tileir_tools.mlir` hands
modules to MLIR's own Python bindings and takes them back.

Errors: everything raised on purpose is a `TileIRError`. `InputError`: the input cannot be read;
`ForeignFormatError`: it is something other than Tile IR, named in `kind`; `ParseError`: it is not valid, with
one `Diagnostic` (message, file, line, column, source line) for each independent error; `BytecodeError`: the
same for bytecode, with the byte offset; `ConversionError`: an older bytecode version cannot say something;
`ToolError`: a tool of NVIDIA's is missing, crashed or said no; `UsageError`: the request makes no sense.

From the shell: `tileir-diff ref.mlir gen.mlir`, and `tileir`, whose `--help` lists the commands.
"""

from .analyze import analyze, demangle, fingerprints
from .diff import Diff, EntryDiff, Finding, Place, Policy, diff, equal, variants
from .errors import (
    BytecodeError,
    ConversionError,
    Diagnostic,
    ForeignFormatError,
    InputError,
    ParseError,
    TileIRError,
    ToolError,
    UsageError,
)
from .model import Block, Entry, Global, Location, Module, Operation, Region, Type, Value
from .read import load, load_all, parse, parse_all
from .source import Source, Span
from .verify import verify

__version__ = "0.1.0"

__all__ = [  # noqa: RUF022 - in the order in which a reader wants them
    "load",
    "load_all",
    "parse",
    "parse_all",
    "Module",
    "Entry",
    "Global",
    "Operation",
    "Region",
    "Block",
    "Value",
    "Type",
    "Location",
    "Source",
    "Span",
    "analyze",
    "demangle",
    "fingerprints",
    "diff",
    "equal",
    "variants",
    "Diff",
    "EntryDiff",
    "Finding",
    "Place",
    "Policy",
    "verify",
    "TileIRError",
    "InputError",
    "ForeignFormatError",
    "ParseError",
    "BytecodeError",
    "ConversionError",
    "ToolError",
    "UsageError",
    "Diagnostic",
]
