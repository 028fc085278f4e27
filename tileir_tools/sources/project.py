"""The files of an operation in a project that is laid out as TileGym is, and Python files as trees.

Place in the flow: a project's Python -> **files** -> values -> facts of an operation; imports `errors`.
Nothing of a project is imported or run: `ast` reads it.
"""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ..errors import Diagnostic, InputError, ParseError, UsageError
from ..source import Source, Span

# Bytes. The largest operation of TileGym has 50 thousand.
MAX_FILE = 1 << 20


class PythonFile(NamedTuple):
    """A file of Python.

    Attributes:
        path: relative to the project's root, with `/`.
        text: all of it.
        tree: what `ast` makes of it.
    """

    path: str
    text: str
    tree: ast.Module

    def where(self, node: ast.AST) -> str:
        """`path:line` of a node."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}"


class Project(NamedTuple):
    """A folder with `src/*/ops/cutile`, `src/*/ops/triton` and `tests/ops`."""

    root: str

    def operation_file(self, name: str) -> str | None:
        """`src/*/ops/cutile/**/NAME.py`, relative to the root; None where absent.

        Raises:
            UsageError: no plain name, or several files of that name.
        """
        return self._only(f"src/*/ops/cutile/**/{_plain(name)}.py", name)

    def triton_file(self, name: str) -> str | None:
        """`src/*/ops/triton/NAME.py`; as `operation_file`."""
        return self._only(f"src/*/ops/triton/{_plain(name)}.py", name)

    def test_file(self, name: str) -> str | None:
        """`tests/ops/**/test_NAME.py`; as `operation_file`."""
        return self._only(f"tests/ops/**/test_{_plain(name)}.py", name)

    def wrapper_file(self, name: str) -> str | None:
        """`src/*/ops/cutile_rs/NAME.py`; as `operation_file`."""
        return self._only(f"src/*/ops/cutile_rs/{_plain(name)}.py", name)

    def operations(self) -> list[str]:
        """Names of all files of operations, sorted."""
        return sorted({p.stem for p in Path(self.root).glob("src/*/ops/cutile/**/[!_]*.py")})

    def _only(self, pattern: str, name: str) -> str | None:
        found = sorted(self._inside(pattern))
        if len(found) > 1:
            raise UsageError(f"{name}: several files in {self.root}: {', '.join(found)}")
        return found[0] if found else None

    def _inside(self, pattern: str) -> Iterator[str]:
        """Files that are in the project, links out of it left out."""
        root = Path(self.root).resolve()
        for path in Path(self.root).glob(pattern):
            if path.is_file() and path.resolve().is_relative_to(root):
                yield path.relative_to(self.root).as_posix()


def find_project(root: str | os.PathLike[str]) -> Project:
    """The project in a folder. Raises InputError: no such folder, or no operations of cuTile in it."""
    if not os.path.isdir(root):
        raise InputError(f"{root}: error: no such folder")
    if next(Path(root).glob("src/*/ops/cutile"), None) is None:
        raise InputError(f"{root}: error: no project of operations: expected src/*/ops/cutile")
    return Project(os.path.abspath(root))


def read_python(path: str | os.PathLike[str], root: str | os.PathLike[str]) -> PythonFile:
    """Read and parse a file; `path` is relative to `root`, or absolute below it.

    Raises:
        UsageError: the file is outside of the root.
        InputError: it cannot be read, is no UTF-8 or larger than `MAX_FILE`.
        ParseError: it is no Python.
    """
    text, name = read_inside(path, root)
    return parse_python(text, name)


def read_inside(path: str | os.PathLike[str], root: str | os.PathLike[str]) -> tuple[str, str]:
    """The text of a file and its path from the root; errors as those of `read_python`."""
    whole = Path(root, path)
    inside = whole.resolve()
    if not inside.is_relative_to(Path(root).resolve()):
        raise UsageError(f"{path} is outside of {root}")
    name = inside.relative_to(Path(root).resolve()).as_posix()
    try:
        if whole.stat().st_size > MAX_FILE:
            raise InputError(f"{name}: error: larger than {MAX_FILE} bytes")
        text = whole.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"{name}: error: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: error: no UTF-8 at byte {error.start}") from None
    return text, name


def parse_python(text: str, name: str) -> PythonFile:
    """Parse Python. Raises ParseError."""
    try:
        with warnings.catch_warnings():
            # A doubtful escape in somebody's string is none of our user's business.
            warnings.simplefilter("ignore")
            return PythonFile(name, text, ast.parse(text))
    except SyntaxError as error:
        raise ParseError([_diagnostic(text, name, error)]) from None
    except (ValueError, RecursionError, MemoryError) as error:
        # A NUL byte, or expressions nested deeper than Python's own parser takes.
        message = f"{name}:1: error: no Python: {str(error) or 'nested too deeply'}"
        raise InputError(message) from None


@contextmanager
def depth_guarded(path: object) -> Iterator[None]:
    """Work on the tree of a file. Raises InputError where it is nested deeper than Python can go."""
    try:
        yield
    except RecursionError:
        raise InputError(f"{path}:1: error: expressions are nested too deeply") from None


def _diagnostic(text: str, name: str, error: SyntaxError) -> Diagnostic:
    lines = text.split("\n")
    line = min(max(error.lineno or 1, 1), len(lines))
    start = sum(len(above) + 1 for above in lines[: line - 1])
    start += min(max((error.offset or 1) - 1, 0), len(lines[line - 1]))
    return Diagnostic("error", f"no Python: {error.msg}", Span(Source(text, name), start, start))


def _plain(name: str) -> str:
    if not name.isidentifier():
        raise UsageError(f"{name!r} is no name of an operation: expected a plain identifier")
    return name
