"""What is written, and what passes make, compiles to the same machine code as the original.

Needs tileiras, cuobjdump and nvdisasm (the extra `cutile`); no GPU. All but a few kernels are marked
`slow`: `pytest -m "slow or not slow" tests/test_sass.py` takes ten minutes.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import samples
from samples import corpus_kernels, fixture_kernels, nvidia_tool

from tileir_tools import load
from tileir_tools.transform import canonicalize, cse

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


CANONICAL = sorted(samples.CORPUS.rglob("*.canon.mlir"), key=lambda p: p.stat().st_size)


def _canonical_code(canonical: Path, arch: str, folder: Path) -> str | None:
    """The code from NVIDIA's canonical form and from ours; None where it does not compile for an arch."""
    module = load(str(canonical).replace(".canon.mlir", ".tileirbc"))
    theirs = load(canonical).to_bytecode(module.bytecode_version)
    canonicalize(module)
    cse(module)
    codes = []
    for name, data in (("theirs", theirs), ("ours", module.to_bytecode())):
        path = folder / f"{name}.tileirbc"
        path.write_bytes(data)
        codes.append(sass(path, arch))
    assert codes[0] == codes[1], canonical.name
    return codes[0]


@pytest.mark.skipif(not CANONICAL, reason="needs ../shared/corpus")
def test_our_canonical_form_compiles_to_the_code_of_nvidias(tmp_path: Path) -> None:
    assert all(_canonical_code(path, "sm_100", tmp_path) for path in CANONICAL[:3])


@pytest.mark.slow
@pytest.mark.skipif(not CANONICAL, reason="needs ../shared/corpus")
def test_more_canonical_forms_compile_to_the_code_of_nvidias(tmp_path: Path) -> None:
    # One of each kernel.
    kernels = {path.name.split("__")[0]: path for path in CANONICAL}
    compiled = [p for p in kernels.values() if _canonical_code(p, "sm_100", tmp_path)]
    print(f"{len(compiled)} of {len(kernels)} canonical forms compile, all to the same code")
    assert len(compiled) >= 40
