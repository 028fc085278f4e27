"""The pages of the documentation as blocks that can be run, and their running.

A page is README.md or one below docs/. Its blocks of `sh` and `python` are run one after the other in a folder
that has `examples/` and `tests/fixtures/` as the repository has them, and kernels under the names of `NAMES`. A
block of `text` or `json` right behind one of these is its output, to the letter but for lines that are only
`...`, which stand for any lines. Comments right before a block, which no reader sees, say what else holds:

    <!-- exit: 1 -->         the exit code of a block of `sh`; without it 0
    <!-- file: NAME -->      what the block holds is a file of that name for the blocks behind it
    <!-- needs: NAME -->     run where that is installed (`NEEDS`)
    <!-- not run: REASON --> never run, and why (`REASONS`)

`python tests/pages.py PAGE..` writes what is printed into the blocks that show something else. Read what it
wrote.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from tileir_tools.toolchain import find_tool
from tileir_tools.toolchain.find import tool_version

ROOT = Path(__file__).resolve().parent.parent

# Files that pages speak of without saying where they are.
NAMES = {
    "kernel.mlir": "examples/ir/matmul_reference.mlir",
    "kernel.tileirbc": "tests/fixtures/evidence/matmul__256x128x64-float16__sm_100__bc13.3.tileirbc",
    "reference.mlir": "examples/ir/matmul_reference.mlir",
    "generated.mlir": "examples/ir/matmul_generated.mlir",
    "ref.mlir": "examples/ir/matmul_reference.mlir",
    "gen.mlir": "examples/ir/matmul_generated.mlir",
}

REASONS = {
    "needs a GPU",
    "needs TileGym",
    "needs the network",
    "needs an agent's program",
    "needs the folders of the other agents",
    "takes minutes",
}


@cache
def _tools() -> bool:
    """Whether NVIDIA's tools are there, the compilers in the version whose numbers the pages show."""
    here = all(tool_version(name) == "13.5.37" for name in ("tileiras", "ptxas"))
    here = here and all(find_tool(name).problem is None for name in ("cuobjdump", "nvdisasm"))
    return here and find_spec("elftools") is not None


def _cutile() -> bool:
    """Whether cuda-tile is there, in the version whose dumps the pages show."""
    try:
        return version("cuda-tile").startswith("1.7.")
    except PackageNotFoundError:
        return False


# What has to be there (of the version that the pages were made with), and whether it is.
NEEDS = {
    "cutile": _cutile,
    "evidence": _tools,
    "graph": lambda: find_spec("networkx") is not None,
    "graphviz": lambda: shutil.which("dot") is not None,
    "highlight": lambda: find_spec("pygments") is not None,
    "mlir": lambda: find_spec("mlir") is not None,
    "scan": lambda: find_spec("pyarrow") is not None and find_spec("duckdb") is not None,
    "pandas": lambda: find_spec("pyarrow") is not None and find_spec("pandas") is not None,
    "bench": lambda: find_spec("defusedxml") is not None,
}

RUN = ("sh", "python")
OUTPUT = ("text", "json")
_FENCE = re.compile(
    r"(?P<marks>(?:^<!--[^\n]*-->\n+)*)"
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)
_MARK = re.compile(r"<!-- ([a-z ]+): (.*?) -->")
# Whoever reads installs first; where tests run that is done. What is installed is checked by name.
_INSTALL = re.compile(r"(?:python3 -m venv \S+ && )?\S*pip install (?P<what>[^&#\n]*)(?:&& )?")


class Block(NamedTuple):
    """A fenced block of a page; `follows`: nothing stands between it and the block before."""

    line: int
    language: str
    text: str
    marks: dict[str, str]
    follows: bool


def pages() -> list[Path]:
    """All pages that hold blocks, README.md first."""
    written = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in written if "```" in path.read_text(encoding="utf-8")]


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    end = 0
    for match in _FENCE.finditer(text):
        indent = match["indent"]
        lines = [line.removeprefix(indent) for line in match["text"].splitlines(keepends=True)]
        marks = dict(_MARK.findall(match["marks"]))
        line = text.count("\n", 0, match.start("language")) + 1
        follows = bool(found) and not text[end : match.start()].strip()
        found.append(Block(line, match["language"], "".join(lines), marks, follows))
        end = match.end()
    return found


def faults(page: Path) -> list[str]:
    """Blocks that are neither run, nor output, nor files, nor marked; marks that say nothing known."""
    wrong = []
    before: Block | None = None
    for block in blocks(page):
        where = f"{page.name}:{block.line}"
        is_output = block.language in OUTPUT and block.follows
        is_output = is_output and before is not None and before.language in RUN
        if not ({"file", "not run"} & set(block.marks) or block.language in RUN or is_output):
            wrong.append(f"{where}: a block of {block.language or 'nothing'} that nothing checks")
        if unknown := set(block.marks) - {"exit", "file", "needs", "not run"}:
            wrong.append(f"{where}: unknown mark {', '.join(unknown)}")
        for mark, known in (("not run", REASONS), ("needs", NEEDS)):
            if mark in block.marks and block.marks[mark] not in known:
                wrong.append(f"{where}: {mark}: {block.marks[mark]}: not known")
        before = block
    return wrong


def furnish(folder: Path) -> None:
    """Put into a folder what pages speak of."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copytree(ROOT / "tests" / "fixtures", folder / "tests" / "fixtures")
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    for name, source in NAMES.items():
        shutil.copy(ROOT / source, folder / name)


class PageRun:
    """One page's blocks, run in one folder and one Python namespace."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.skipped: set[str] = set()
        # Line of a block of output -> what was printed instead of what it shows.
        self.otherwise: dict[int, str] = {}

    def run(self, page: Path) -> list[str]:
        """Run all blocks; what is not as the page says."""
        wrong: list[str] = []
        printed: str | None = None
        for block in blocks(page):
            where = f"{page.name}:{block.line}"
            if block.language in OUTPUT and block.follows and "file" not in block.marks:
                shown = printed is None or "not run" in block.marks or is_shown(block.text, printed)
                if printed is not None and not shown:
                    self.otherwise[block.line] = printed
                    wrong.append(
                        f"{where}: the page shows\n{block.text}\nand what is printed is\n{printed}"
                    )
                continue
            printed = None
            need = block.marks.get("needs")
            if need is not None and not NEEDS[need]():
                self.skipped.add(need)
            elif "file" in block.marks:
                wrong += [f"{where}: {fault}" for fault in self._write(block)]
            elif block.language in RUN and "not run" not in block.marks:
                printed, fault = self._sh(block) if block.language == "sh" else self._python(block)
                wrong += [f"{where}: {fault}"] if fault else []
        return wrong

    def _write(self, block: Block) -> list[str]:
        path = self.folder / block.marks["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        if block.language == "json":
            try:
                json.loads(block.text)
            except ValueError as error:
                return [f"not JSON: {error}"]
        return []

    def _sh(self, block: Block) -> tuple[str, str]:
        """What a block prints on both streams, and its fault."""
        missing = _unknown_extras(block.text)
        if missing:
            return "", f"no such extra: {missing}"
        here = str(Path(sys.executable).parent)
        environment = {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", _INSTALL.sub("", block.text)],
            cwd=self.folder,
            env={**environment, "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        asked = int(block.marks.get("exit", 0))
        fault = f"exit code {done.returncode}, not {asked}:\n{done.stdout}"
        return done.stdout, fault if done.returncode != asked else ""

    def _python(self, block: Block) -> tuple[str | None, str]:
        """What a block prints, and its fault; one of `>>>` shows its results itself."""
        said = io.StringIO()
        with _inside(self.folder), contextlib.redirect_stdout(said):
            if ">>> " in block.text:
                test = doctest.DocTestParser().get_doctest(block.text, {}, "block", None, 0)
                test.globs = self.names
                failed = doctest.DocTestRunner(verbose=False).run(test, clear_globs=False).failed
                return None, said.getvalue() if failed else ""
            try:
                exec(compile(block.text, f"block at line {block.line}", "exec"), self.names)
            except Exception as error:
                return None, f"{type(error).__name__}: {error}"
        return said.getvalue(), ""


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """contextlib.chdir, which Python 3.10 has not."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def is_shown(shown: str, printed: str) -> bool:
    """Whether a block shows what was printed, `...` alone on a line standing for any lines."""
    pattern = "".join(
        r"(?:[^\n]*\n)*?" if line == "..." else re.escape(line) + r"\n"
        for line in shown.splitlines()
    )
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None


def _unknown_extras(text: str) -> str:
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    named = [
        extra
        for match in _INSTALL.finditer(text)
        for extras in re.findall(r"(?:tileir-tools|\.)\[([\w,]+)\]", match["what"])
        for extra in extras.split(",")
    ]
    return ", ".join(e for e in named if not re.search(rf"^{e} = \[", declared, re.MULTILINE))


def refresh(page: Path) -> list[str]:
    """Write into a page what its blocks print; what else is wrong with it."""
    with tempfile.TemporaryDirectory() as name:
        furnish(Path(name))
        page_run = PageRun(Path(name))
        wrong = page_run.run(page)
    text = page.read_text(encoding="utf-8")

    def refreshed(match: re.Match[str]) -> str:
        line = text.count("\n", 0, match.start("language")) + 1
        if line not in page_run.otherwise:
            return match[0]
        printed = page_run.otherwise[line].rstrip("\n") + "\n"
        start, end = match.start("text") - match.start(), match.end("text") - match.start()
        return match[0][:start] + printed + match[0][end:]

    page.write_text(_FENCE.sub(refreshed, text), encoding="utf-8")
    return [w for w in wrong if ": the page shows" not in w.splitlines()[0]]


if __name__ == "__main__":
    sys.exit("\n".join(w for name in sys.argv[1:] for w in refresh(Path(name))) or 0)
