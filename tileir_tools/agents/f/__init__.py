"""Agent F: why a ported kernel is slower than its reference, with the evidence, for those who mend it.

Place in the flow: performance records and findings -> **diagnosis** -> reports; a thin consumer of `bench`,
`report`, `agents.workspace`, `agents.gate`.

    diagnosis = Diagnosis("softmax", "FIXABLE", "LARGE_GAP", 1.98, "uniform", ..)
    checks = [run_validator(workspace, "perf-investigation", ["softmax"], None)]
    write_reports(workspace, diagnosis, commands, checks)
"""

from __future__ import annotations

from .diagnosis import (
    ABOUT,
    CONFIDENCES,
    DIAGNOSIS_SCHEMA,
    EVIDENCE_KINDS,
    SEVERITIES,
    SHAPE_PATTERNS,
    VERDICTS,
    Cause,
    ConfigRatio,
    Diagnosis,
    Evidence,
    IRRow,
    LaunchRow,
    TuningRow,
    to_json,
)
from .pipeline import Answer, diagnose, run_agent_f
from .plots import launch_plot, ratio_plot
from .reports import report_names, write_reports
from .request import Request

__all__ = [
    "ABOUT",
    "CONFIDENCES",
    "DIAGNOSIS_SCHEMA",
    "EVIDENCE_KINDS",
    "SEVERITIES",
    "SHAPE_PATTERNS",
    "VERDICTS",
    "Answer",
    "Cause",
    "ConfigRatio",
    "Diagnosis",
    "Evidence",
    "IRRow",
    "LaunchRow",
    "Request",
    "TuningRow",
    "diagnose",
    "launch_plot",
    "ratio_plot",
    "report_names",
    "run_agent_f",
    "to_json",
    "write_reports",
]
