"""What the agents of the cuTile-to-cutile-rs pipeline hand to each other.

Place in the flow: thin consumers of bytes -> Module -> facts and of performance records; imports `errors`,
`source`, `report.plain`. An agent measures, dumps and decides; its answer is a file that the next one reads.

    text = to_json(Analysis(kernel_name="softmax", ..))
    content = read_analysis("softmax/reference/analysis.json")
"""

from __future__ import annotations

from .analysis import (
    ANALYSIS_SCHEMA,
    BACKENDS,
    Analysis,
    Conversion,
    CorrectnessReference,
    EntrySymbolPolicy,
    MatrixProduct,
    PerfTest,
    Selection,
    Tolerance,
    Undecided,
    VariantEntry,
    VariantIR,
    read_analysis,
    to_json,
)

__all__ = [
    "ANALYSIS_SCHEMA",
    "BACKENDS",
    "Analysis",
    "Conversion",
    "CorrectnessReference",
    "EntrySymbolPolicy",
    "MatrixProduct",
    "PerfTest",
    "Selection",
    "Tolerance",
    "Undecided",
    "VariantEntry",
    "VariantIR",
    "read_analysis",
    "to_json",
]
