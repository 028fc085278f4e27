"""What verifying found as text or JSON.

Place in the flow: findings -> **report**; imports `errors` and `plain`.
"""

from __future__ import annotations

from ..errors import Diagnostic
from .plain import document

VERIFY_SCHEMA = "tileir-verify/1"


def verify_json(file: str, found: list[Diagnostic]) -> str:
    """A document of schema `tileir-verify/1`."""
    errors, warnings = _counts(found)
    return document(
        VERIFY_SCHEMA,
        {
            "file": file,
            "valid": errors == 0,
            "errors": errors,
            "warnings": warnings,
            "diagnostics": [_plain(diagnostic) for diagnostic in found],
        },
    )


def _plain(diagnostic: Diagnostic) -> dict[str, object]:
    span = diagnostic.span
    return {
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "line": span.line if span else None,
        "column": span.column if span else None,
    }


def verify_text(file: str, found: list[Diagnostic]) -> str:
    """For a terminal: every diagnostic, then one line that sums up."""
    lines = [_rendered(file, diagnostic) for diagnostic in found]
    errors, warnings = _counts(found)
    counts = [_counted(n, what) for n, what in ((errors, "error"), (warnings, "warning")) if n]
    verdict = "not valid" if errors else "valid"
    return "\n".join([*lines, f"{file}: {', '.join([verdict, *counts])}"])


def _rendered(file: str, diagnostic: Diagnostic) -> str:
    text = diagnostic.render()
    return text if diagnostic.span else f"{file}: {text}"


def _counts(found: list[Diagnostic]) -> tuple[int, int]:
    errors = sum(1 for diagnostic in found if diagnostic.severity == "error")
    return errors, len(found) - errors


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
