"""What is written compiles to the same machine code as the original.

Needs tileiras, cuobjdump and nvdisasm (the extra `cutile`); no GPU. All but a few kernels are marked
`slow`: `pytest -m "slow or not slow" tests/test_sass.py` takes ten minutes.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from samples import corpus_kernels, fixture_kernels, nvidia_tool

from tileir_tools import load

ARCHS = ("sm_90", "sm_100")
TILEIRAS, CUOBJDUMP, NVDISASM = map(nvidia_tool, ("tileiras", "cuobjdump", "nvdisasm"))

pytestmark = pytest.mark.skipif(
    None in (TILEIRAS, CUOBJDUMP, NVDISASM), reason="needs tileiras, cuobjdump and nvdisasm"
)

_OURS = [p.with_suffix(".tileirbc") for p in fixture_kernels()]
# One in six goes with every run.
KERNELS = [
    pytest.param(p, id=p.name.split("__")[0], marks=() if k % 6 == 0 else pytest.mark.slow)
    for k, p in enumerate(p for p in _OURS if p.exists())
]
CORPUS = [p.with_suffix(".tileirbc") for p in corpus_kernels()]
CORPUS = [p for p in CORPUS if p.exists()]


def sass(bytecode: Path, arch: str) -> str | None:
    """The instructions tileiras makes of a file; None where it refuses the file for this arch."""
    assert TILEIRAS
    assert CUOBJDUMP
    assert NVDISASM
    cubin = bytecode.with_suffix(f".{arch}.cubin")
    done = subprocess.run(
        [TILEIRAS, "--gpu-name", arch, "-o", cubin, bytecode], capture_output=True, check=False
    )
    if done.returncode != 0:
        return None
    path = f"{Path(NVDISASM).parent}:/usr/bin:/bin"
    shown = subprocess.run(
        [CUOBJDUMP, "-sass", cubin], capture_output=True, check=True, env={"PATH": path}
    )
    return shown.stdout.decode()


def check(original: Path, arch: str, folder: Path) -> bool:
    """Compare the code from the original, from bytecode written again and from text; whether it compiles."""
    copy = folder / "original.tileirbc"
    shutil.copy(original, copy)
    wanted = sass(copy, arch)
    module = load(original)
    for name, data in (
        ("again", module.to_bytecode()),
        ("text", load(original.with_suffix(".mlir")).to_bytecode(module.bytecode_version)),
    ):
        path = folder / f"{name}.tileirbc"
        path.write_bytes(data)
        assert sass(path, arch) == wanted, name
    return wanted is not None


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("path", KERNELS)
def test_our_kernels_compile_to_the_same_code(path: Path, arch: str, tmp_path: Path) -> None:
    if not check(path, arch, tmp_path):
        # Block-scaled and 4-bit operations exist from sm_100 on.
        assert arch == "sm_90"


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS, reason="needs ../shared/corpus")
@pytest.mark.parametrize("arch", ARCHS)
def test_corpus_kernels_compile_to_the_same_code(arch: str, tmp_path: Path) -> None:
    assert len(CORPUS) >= 40
    compiled = [path for path in CORPUS if check(path, arch, tmp_path)]
    print(f"{arch}: {len(compiled)} of {len(CORPUS)} kernels compile, all to the same code")
    assert len(compiled) >= 40
