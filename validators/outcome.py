"""What a validator says.

Place in the flow: the answer of every validator; imports `report.plain`, `errors`.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from tileir_tools.errors import UsageError
from tileir_tools.report.plain import document

VALIDATE_SCHEMA = "tileir-validate/1"


class Line(NamedTuple):
    """One statement: level "PASS", "FAIL" or "WARN", the text, further lines of detail.

    "ERROR" is one of several failures where the script calls them so and sums them up in a FAIL; "OK" is
    one of several things that are as they should be.
    """

    level: str
    text: str
    detail: tuple[str, ...] = ()


class Outcome(NamedTuple):
    """Everything a validator says about one file; it passes where nothing fails.

    `heading` is printed before the lines as it is, `closing` behind them. `counted`: whether the text ends
    with a count of failures, as that of most shell scripts does.
    """

    validator: str
    file: str
    lines: tuple[Line, ...]
    heading: str = ""
    counted: bool = True
    closing: str = ""

    @property
    def passed(self) -> bool:
        return not any(line.level in ("FAIL", "ERROR") for line in self.lines)

    @property
    def exit_code(self) -> int:
        return 0 if self.passed else 1

    def text(self) -> str:
        """`LEVEL: text` lines; a count of failures at the end, as the shell scripts print it."""
        shown: list[str] = [self.heading] if self.heading else []
        failures = 0
        for line in self.lines:
            shown.append(f"{line.level}: {line.text}")
            shown += [f"      {detail}" for detail in line.detail]
            failures += line.level == "FAIL"
        if failures and self.counted:
            shown += ["---", f"FAIL: {failures} error(s) in {self.validator} validation"]
        shown += [self.closing] if self.closing else []
        return "\n".join(shown)

    def json(self) -> str:
        """A document of schema `tileir-validate/1`."""
        return document(
            VALIDATE_SCHEMA,
            {
                "validator": self.validator,
                "file": self.file,
                "passed": self.passed,
                "exit_code": self.exit_code,
                "heading": self.heading,
                "closing": self.closing,
                "lines": [
                    {"level": line.level, "text": line.text, "detail": list(line.detail)}
                    for line in self.lines
                ],
            },
        )


def printable(text: str) -> str:
    """Text on one line: what is in a file cannot pass for a line of ours."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def kernel_folder(root: str, kernel: str) -> str:
    """The folder of a kernel below the folder of all. Raises UsageError: `kernel` is no plain name."""
    if not kernel.isprintable() or kernel in ("", ".", "..") or "/" in kernel or "\\" in kernel:
        raise UsageError(f"{kernel!a} is no name of a kernel: expected that of a folder")
    return os.path.join(root, kernel)
