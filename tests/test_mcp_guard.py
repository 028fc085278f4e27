"""What a process under the guard can reach, tried in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tileir_tools.errors import UsageError
from tileir_tools.server.access import Access, is_inside

HEAD = """
import os, sys, subprocess, shutil, tempfile, pathlib, glob
from tileir_tools.server.guard import Limits, Refused, guard
root, outside = sys.argv[1:]
guard(Limits((root + "/reads",), (root + "/writes",), {programs!r}))
try:
    {code}
except Refused as error:
    print("refused:", error.strerror)
else:
    print("done")
"""

READS = [
    "open(outside + '/file').read()",
    "open(root + '/reads/../../outside/file').read()",
    "open(root + '/reads/link').read()",
    "open(root + '/reads/folder/file').read()",
    "pathlib.Path(outside, 'file').read_text()",
    "os.open(outside + '/file', os.O_RDONLY)",
    "open((outside + '/file').encode()).read()",
    "os.listdir(outside)",
    "os.scandir(root + '/reads/folder')",
    "os.chdir(outside) or open('file').read()",
    "os.chdir(outside) or os.listdir()",
    "shutil.copy(outside + '/file', root + '/writes/copy')",
    "open('/etc/passwd')",
    "open('/proc/self/environ')",
]
WRITES = [
    "open(root + '/reads/file', 'w')",
    "open(root + '/reads/file', 'a')",
    "open(root + '/reads/new', 'x')",
    "os.open(root + '/reads/file', os.O_RDWR)",
    "open(root + '/writes/link', 'w')",
    "os.remove(root + '/reads/file')",
    "os.rename(root + '/writes/file', outside + '/stolen')",
    "os.rename(root + '/reads/file', root + '/writes/moved')",
    "os.mkdir(outside + '/new')",
    "os.rmdir(outside)",
    "os.chmod(root + '/reads/file', 0o777)",
    "os.truncate(root + '/reads/file', 0)",
    "os.link(outside + '/file', root + '/writes/hard')",
    "os.symlink('/', root + '/reads/new')",
    "shutil.rmtree(outside)",
]
STARTS = [
    "subprocess.run(['/bin/true'])",
    "subprocess.run('true', shell=True)",
    "os.system('true')",
    "os.posix_spawn('/bin/true', ['true'], {})",
    "os.execv('/bin/true', ['true'])",
    "subprocess.run(['tileiras'])",
]
ALLOWED = [
    "open(root + '/reads/file').read()",
    "open(root + '/reads/inner').read()",
    "os.listdir(root + '/reads')",
    "open(root + '/writes/new', 'w').write('x')",
    "os.rename(root + '/writes/file', root + '/writes/new')",
    "os.mkdir(root + '/writes/new') or shutil.rmtree(root + '/writes')",
    "__import__('xml.dom.minidom')",
    "__import__('tileir_tools.cli.agent')",
    "open(os.devnull, 'w').write('x')",
]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "reads", root / "writes", outside):
        folder.mkdir(parents=True)
        (folder / "file").write_text("text")
    (root / "reads" / "link").symlink_to(outside / "file")
    (root / "reads" / "folder").symlink_to(outside)
    (root / "reads" / "inner").symlink_to(root / "reads" / "file")
    (root / "writes" / "link").symlink_to(outside / "file")
    return root, outside


def tried(code: str, folders: tuple[Path, Path], programs: str = "none") -> str:
    """What a guarded process says that runs a line of code."""
    text = HEAD.replace("{code}", code).replace("{programs!r}", repr(programs))
    command = [sys.executable, "-c", text, *map(str, folders)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent
    )
    assert done.stderr == ""
    return done.stdout.strip()


def state(folders: tuple[Path, Path]) -> list[tuple[str, int, str]]:
    return [
        (str(path), path.lstat().st_mode, path.read_text() if path.is_file() else "")
        for folder in folders
        for path in sorted(folder.rglob("*"))
    ]


@pytest.mark.parametrize("code", READS)
def test_reading_outside(code: str, folders: tuple[Path, Path]) -> None:
    assert tried(code, folders) == "refused: outside of what may be read"


@pytest.mark.parametrize("code", WRITES)
def test_writing_outside(code: str, folders: tuple[Path, Path]) -> None:
    before = state(folders)
    assert tried(code, folders).startswith("refused: ")
    assert state(folders) == before


@pytest.mark.parametrize("code", STARTS)
def test_starting_programs(code: str, folders: tuple[Path, Path]) -> None:
    for programs in ("none", "compiler"):
        assert tried(code, folders, programs) == "refused: the server may not start programs"


@pytest.mark.parametrize("code", ALLOWED)
def test_what_is_allowed(code: str, folders: tuple[Path, Path]) -> None:
    assert tried(code, folders) == "done"


def test_the_compiler_is_started_by_its_path(folders: tuple[Path, Path]) -> None:
    program = folders[1] / "tileiras"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    code = "subprocess.run([outside + '/tileiras'], check=True)"
    assert tried(code, folders, "compiler") == "done"
    assert tried(code, folders) == "refused: the server may not start programs"
    assert tried("subprocess.run(['/bin/true'], check=True)", folders, "any") == "done"


def test_paths_of_a_client(folders: tuple[Path, Path]) -> None:
    root, outside = map(str, folders)
    access = Access((f"{root}/reads", f"{root}/writes"))
    assert access.path("file") == f"{root}/reads/file"
    assert access.path("inner") == f"{root}/reads/file"
    assert access.path(f"{root}/writes/file") == f"{root}/writes/file"
    assert access.path("*.mlir") == f"{root}/reads/*.mlir"
    assert access.folder(None) == f"{root}/reads"
    assert access.path("../writes/file") == f"{root}/writes/file"
    for wrong in ("link", "folder", "../../outside/file", outside, "/", "../nothing"):
        with pytest.raises(UsageError, match="outside of"):
            access.path(wrong)
    with pytest.raises(UsageError, match="no such folder"):
        access.folder("file")
    with pytest.raises(UsageError, match="a link"):
        access.kernel_folder(None, "folder")


def test_inside() -> None:
    assert is_inside("/a/b", ("/a",))
    assert is_inside("/a", ("/a",))
    assert is_inside("/a", ("/",))
    assert not is_inside("/ab", ("/a",))
    assert not is_inside("/", ("/a",))
