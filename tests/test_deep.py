"""Modules that nest as deep as is allowed: everything that is done with a module can be done with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tileir_tools.read.depth import MAX_REGION_DEPTH

# The regions of the module and of the entry are levels too.
LEVELS = MAX_REGION_DEPTH - 2
HEAD = """entry @k(%p: tile<i1>, %n: tile<i32>) {
%zero = constant <i32: 0> : tile<i32>
%one = constant <i32: 1> : tile<i32>
"""
PRINT = '%t = print_tko "%d", %n : tile<i32> -> token\n'
NESTED = {
    "if": "if %p {\n" * LEVELS + PRINT + "}\n" * LEVELS,
    "loop": "loop {\n" * LEVELS + PRINT + "break\n" + "}\nbreak\n" * (LEVELS - 1) + "}\n",
    "for": "".join(f"for %i{k} in (%zero to %n, step %one) : tile<i32> {{\n" for k in range(LEVELS))
    + PRINT
    + "}\n" * LEVELS,
}

# In a process of its own, whose stack nobody has made room on yet.
PROGRAM = """
import sys
import tileir_tools as tt
from tileir_tools.bridges import dot_text, operation_graph
from tileir_tools.report.diff_report import diff_text
from tileir_tools.report.html_report import diff_html
from tileir_tools.report.show_report import show_text
from tileir_tools.transform import canonicalize, cse, dce, normalize

levels, text = int(sys.argv[1]), sys.stdin.read()
module = tt.parse(text)
printed = module.to_text()
assert tt.parse(printed).to_text() == printed
assert tt.equal(module, tt.parse(module.to_text(generic=True)))
other = tt.parse(module.to_bytecode())
assert other.to_text() == printed
assert tt.verify(module) == []
facts = tt.analyze(module)
assert facts.entries[0].symbol == "k"
assert tt.fingerprints(module) == tt.fingerprints(other)
assert tt.equal(module, other)
answer = tt.diff(module, other)
assert answer.verdict == "PASS", answer.verdict
assert "PASS" in diff_text(answer)
assert "PASS" in diff_html(answer, [module], [other], ("one", "other"))
assert "digraph" in dot_text(operation_graph(module))
assert "@k" in show_text([facts])
print(sum(op.name in ("if", "loop", "for") for op in module.walk()))
for change in (dce, cse, canonicalize, normalize):
    change(other)
    assert tt.verify(other) == []
"""


@pytest.mark.parametrize("name", NESTED)
def test_the_deepest_module_is_read_written_checked_and_compared(name: str) -> None:
    text = f"{HEAD}{NESTED[name]}return\n}}\n"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(LEVELS)],
        input=text,
        # Not in the repository, whose folders stand before the installed package, compiled or not.
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{LEVELS}\n"
