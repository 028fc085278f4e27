"""Compile the example kernels into the fixtures the tests read: bytecode and its official text.

    python examples/compile_fixtures.py [--kernels DIR] [--out DIR] [--check]

`--kernels examples/variants --out tests/fixtures/variants` makes those that are to be grouped,
`--kernels examples/evidence --out tests/fixtures/evidence` those whose machine code is explained.
`--kernels examples/pairs --out tests/fixtures/pairs` those that say one thing in two ways.

Needs no GPU, only `pip install cuda-tile nvidia-cuda-tileiras` and Linux. Each kernel in
`examples/kernels` is exported by cuda-tile as `KERNEL__VARIANT-DTYPE__ARCH__bcVERSION.tileirbc`;
`tileirdisasm` prints it as `.mlir` and, for the newest version of each kernel, with debug
information as `.g.mlir`, unless its signature says no to `debug_text`. `index.json` says what every file holds.

Bytecode names its source file by absolute path, so the kernels are copied to one fixed place and
compiled there: two runs, on any machine, give the same bytes from the same releases (the committed
files: cuda-tile 1.7.0, nvidia-cuda-tileiras 13.5.37). `--check` compiles into a temporary folder
instead and lists the files that differ from those in DIR (exit status 1).
"""

from __future__ import annotations

import argparse
import fcntl
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import cuda.tile as ct  # type: ignore[import-untyped]
from cuda.tile.compilation import (  # type: ignore[import-untyped]
    ArrayConstraint,
    CallingConvention,
    KernelSignature,
    ScalarConstraint,
    export_kernel,
)

KERNELS = Path(__file__).resolve().parent / "kernels"
FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "kernels"
STAGE = Path("/tmp/tileir-fixtures")  # not tempfile.gettempdir(): the path is part of the bytecode

VERSIONS = ("13.1", "13.2", "13.3", "13.4")
EXTRA_DTYPE_VERSION = "13.3"
EXTRA_ARCH_VERSION = "13.2"  # the last one whose load and store hints are keyed by architecture


@dataclass(frozen=True)
class Build:
    """One bytecode file to make: what to compile, and for which target."""

    module: str
    kernel: str
    variant: str
    params: Mapping[str, Any]
    dtype: str
    arch: str
    version: str
    debug_text: bool

    @property
    def stem(self) -> str:
        return f"{self.kernel}__{self.variant}-{self.dtype}__{self.arch}__bc{self.version}"


@dataclass(frozen=True)
class Entry:
    """What `index.json` says about one bytecode file."""

    file: str
    kernel: str
    variant: str
    dtype: str
    arch: str
    version: str
    source: str
    entries: list[str]
    constants: dict[str, bool | int | float]
    debug_text: bool


def plan(module: str, signatures: Sequence[Mapping[str, Any]]) -> Iterator[Build]:
    """The builds of one kernel file: the first dtype and arch at every version, the others once."""
    seen: set[str] = set()
    for signature in signatures:
        first_variant = signature["kernel"] not in seen
        seen.add(signature["kernel"])
        first_dtype, *other_dtypes = signature["dtypes"]
        first_arch, *other_arches = signature.get("arches", ["sm_100"])
        versions = tuple(signature.get("versions", VERSIONS))
        targets = [(first_dtype, first_arch, version) for version in versions]
        targets += [(dtype, first_arch, EXTRA_DTYPE_VERSION) for dtype in other_dtypes]
        targets += [(first_dtype, arch, EXTRA_ARCH_VERSION) for arch in other_arches]
        for dtype, arch, version in targets:
            yield Build(
                module=module,
                kernel=signature["kernel"],
                variant=signature["variant"],
                params=signature["params"],
                dtype=dtype,
                arch=arch,
                version=version,
                debug_text=first_variant
                and signature.get("debug_text", True)
                and (dtype, arch, version) == (first_dtype, first_arch, versions[-1]),
            )


def array_constraint(dtype: str, ndim: int, layout: str = "rows") -> ArrayConstraint:
    """An array nothing else aliases: C-contiguous and aligned, or "strided" (nothing known)."""
    assumptions: dict[str, Any] = {}
    if layout != "strided":
        outer = ndim - 1
        assumptions = {
            "stride_constant": (*[None] * outer, 1),
            "stride_divisible_by": (*[16] * outer, 1),
            "shape_divisible_by": (*[1] * outer, 16),
            "base_addr_divisible_by": 16,
        }
    return ArrayConstraint(
        getattr(ct, dtype),
        ndim,
        index_dtype=ct.int64 if layout == "int64" else ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        **assumptions,
    )


def kernel_signature(build: Build) -> KernelSignature:
    """Turn a kernel's plain parameter list into cuda-tile's own description of it.

    A tuple is an array (dtype, ndim[, layout]), a string a scalar's dtype, any other value a
    constant; the dtype "T" stands for the dtype being built.
    """
    parameters: list[Any] = []
    for spec in build.params.values():
        if isinstance(spec, tuple):
            dtype, ndim, *layout = spec
            dtype = build.dtype if dtype == "T" else dtype
            parameters.append(array_constraint(dtype, ndim, *layout))
        elif isinstance(spec, str):
            parameters.append(ScalarConstraint(getattr(ct, spec)))
        else:
            parameters.append(spec)
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v1())
    return signature.with_mangled_symbol(build.kernel)


def constants(params: Mapping[str, Any]) -> dict[str, bool | int | float]:
    return {name: spec for name, spec in params.items() if not isinstance(spec, tuple | str)}


@contextmanager
def staged_kernels(sources: Path) -> Iterator[Path]:
    """The kernel sources in their one fixed place, for one run at a time."""
    STAGE.mkdir(mode=0o700, exist_ok=True)
    if STAGE.is_symlink() or STAGE.stat().st_uid != os.getuid():
        raise SystemExit(f"{STAGE} belongs to somebody else: remove it and try again")
    with open(STAGE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kernels = STAGE / sources.name
        shutil.rmtree(kernels, ignore_errors=True)
        kernels.mkdir()
        for source in sorted(sources.glob("*.py")):
            shutil.copyfile(source, kernels / source.name)
        try:
            yield kernels
        finally:
            shutil.rmtree(kernels, ignore_errors=True)


def load(source: Path) -> ModuleType:
    """Import one kernel file from its path, leaving no compiled copy beside it."""
    spec = importlib.util.spec_from_file_location(f"fixture_kernels_{source.stem}", source)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{source}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # cuda-tile looks a kernel's globals up by module
    spec.loader.exec_module(module)
    return module


def find_disassembler() -> Path:
    """`tileirdisasm` from PATH, or from the nvidia-cuda-tileiras package of this Python."""
    on_path = shutil.which("tileirdisasm")
    if on_path:
        return Path(on_path)
    nvidia = importlib.util.find_spec("nvidia")
    for root in nvidia.submodule_search_locations or () if nvidia else ():
        for found in sorted(Path(root).glob("*/bin/tileirdisasm")):
            return found
    raise SystemExit("tileirdisasm not found: pip install nvidia-cuda-tileiras")


def disassemble(tool: Path, bytecode: Path, *options: str) -> bytes:
    done = subprocess.run([tool, *options, bytecode], capture_output=True, timeout=60, check=False)
    if done.returncode:
        raise SystemExit(f"{bytecode.name}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def compile_build(build: Build, module: ModuleType, folder: str, out: Path, tool: Path) -> Entry:
    """Write one build's bytecode and texts into `out`."""
    signature = kernel_signature(build)
    buffer = io.BytesIO()
    try:
        export_kernel(
            getattr(module, build.kernel),
            [signature],
            buffer,
            gpu_code=build.arch,
            output_format="tileir_bytecode",
            bytecode_version=build.version,
        )
    except ct.TileError as error:
        raise SystemExit(f"{build.stem}: {error}") from error
    bytecode = out / f"{build.stem}.tileirbc"
    bytecode.write_bytes(buffer.getvalue())
    (out / f"{build.stem}.mlir").write_bytes(disassemble(tool, bytecode))
    if build.debug_text:
        (out / f"{build.stem}.g.mlir").write_bytes(disassemble(tool, bytecode, "-g"))
    return Entry(
        file=bytecode.name,
        kernel=build.kernel,
        variant=build.variant,
        dtype=build.dtype,
        arch=build.arch,
        version=build.version,
        source=f"examples/{folder}/{build.module}.py",
        entries=[signature.symbol],
        constants=constants(build.params),
        debug_text=build.debug_text,
    )


def compile_all(out: Path, sources: Path) -> list[Entry]:
    """Compile every kernel of a folder into `out`, which is made to hold nothing else."""
    tool = find_disassembler()
    out.mkdir(parents=True, exist_ok=True)
    index: list[Entry] = []
    sys.dont_write_bytecode = True
    with staged_kernels(sources) as kernels:
        for source in sorted(kernels.glob("*.py")):
            module = load(source)
            for build in plan(source.stem, module.SIGNATURES):
                index.append(compile_build(build, module, sources.name, out, tool))
    index.sort(key=lambda entry: entry.file)
    lines = ",\n".join(json.dumps(asdict(entry)) for entry in index)
    (out / "index.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    return index


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def differences(expected: Path, actual: Path) -> list[str]:
    """One line for each file that is missing, superfluous or different in `expected`."""
    have, want = contents(expected) if expected.is_dir() else {}, contents(actual)
    lines = []
    for name in sorted(have.keys() | want.keys()):
        if name not in have:
            lines.append(f"missing: {name}")
        elif name not in want:
            lines.append(f"no longer made: {name}")
        elif have[name] != want[name]:
            lines.append(f"differs: {name}")
    return lines


def install(made: Path, out: Path) -> None:
    """Move freshly made fixtures into `out`; of its old files, delete those its index names."""
    out.mkdir(parents=True, exist_ok=True)
    fresh = contents(made)
    index = out / "index.json"
    listed = json.loads(index.read_text(encoding="utf-8")) if index.is_file() else []
    for name, data in fresh.items():
        partial = out / f".{name}.part"
        partial.write_bytes(data)
        partial.replace(out / name)
    for entry in listed:
        stem = entry["file"].removesuffix(".tileirbc")
        for name in (f"{stem}.tileirbc", f"{stem}.mlir", f"{stem}.g.mlir"):
            if name not in fresh:
                (out / name).unlink(missing_ok=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "--kernels", type=Path, default=KERNELS, metavar="DIR", help="what to compile"
    )
    parser.add_argument("--out", type=Path, default=FIXTURES, metavar="DIR", help="where to write")
    parser.add_argument("--check", action="store_true", help="compare only, exit 1 if files differ")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="tileir-fixtures-") as folder:
        made = Path(folder)
        index = compile_all(made, arguments.kernels)
        if arguments.check:
            lines = differences(arguments.out, made)
            print("\n".join(lines) or f"{len(index)} kernels are up to date")
            return 1 if lines else 0
        install(made, arguments.out)
        size = sum(path.stat().st_size for path in made.iterdir())
    print(f"{len(index)} kernels, {size / 1e6:.2f} MB in {arguments.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
