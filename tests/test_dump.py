"""cuTile kernels to Tile IR without a GPU: what may be said about parameters, and what comes out."""

from __future__ import annotations

import importlib.util
import io
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from samples import ROOT
from test_cli import check, tool
from test_toolchain import needs_tools

from tileir_tools import load
from tileir_tools.errors import ToolError, UsageError
from tileir_tools.read import parse
from tileir_tools.toolchain.compiling import compile_module
from tileir_tools.toolchain.dumping import dump_kernel
from tileir_tools.toolchain.signatures import Argument, parse_argument

KERNELS = ROOT / "examples" / "kernels"
MATMUL = f"{KERNELS / 'matmul.py'}:matmul"
CONSTANTS = {"TM": 128, "TN": 128, "TK": 64}
ARRAYS = [parse_argument("f16[?,?]")] * 3

needs_cutile = pytest.mark.skipif(
    importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.tile") is None,
    reason="needs cuda-tile",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f32", Argument(None, "float32", None, "rows")),
        ("scale=float32", Argument("scale", "float32", None, "rows")),
        ("a=f16[?, 64]", Argument("a", "float16", (None, 64), "rows")),
        ("i64[?]:strided", Argument(None, "int64", (None,), "strided")),
        ("x=bf16[]", Argument("x", "bfloat16", (), "rows")),
        ("f8E4M3FN[?,?]:int64", Argument(None, "float8_e4m3fn", (None, None), "int64")),
    ],
)
def test_arguments(text: str, expected: Argument) -> None:
    assert parse_argument(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f17", "unknown number format 'f17'"),
        ("f16[?,x]", "sizes are numbers or ?"),
        ("f16[?", "expected [NAME=]DTYPE"),
        ("f16[?]:columns", "a layout is one of rows, strided, int64"),
        ("f16:strided", "a layout is one of rows, strided, int64, of an array"),
    ],
)
def test_wrong_arguments(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        parse_argument(text)


@needs_cutile
def test_a_dump_is_the_kernel_that_cuda_tile_exports() -> None:
    import cuda.tile as ct  # type: ignore[import-untyped]
    from cuda.tile import compilation  # type: ignore[import-untyped]

    dump = dump_kernel(MATMUL, ARRAYS, CONSTANTS, arch="sm_100", version="13.3")
    array = compilation.ArrayConstraint(
        ct.float16,
        2,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=(None, 1),
        stride_divisible_by=(8, 1),  # 16 bytes
        shape_divisible_by=(1, 16),
        base_addr_divisible_by=16,
    )
    signature = compilation.KernelSignature(
        [array] * 3 + [128, 128, 64], compilation.CallingConvention.cutile_python_v1()
    ).with_mangled_symbol("matmul")
    buffer = io.BytesIO()
    compilation.export_kernel(
        runpy.run_path(str(KERNELS / "matmul.py"))["matmul"],
        [signature],
        buffer,
        gpu_code="sm_100",
        output_format="tileir_bytecode",
        bytecode_version="13.3",
    )
    wanted = parse(buffer.getvalue())
    module = parse(dump.bytecode)
    assert module.to_text() == wanted.to_text()
    assert module.bytecode_version == "13.3"
    assert dump.symbol == wanted.entries[0].symbol
    assert dump.parameters["a"] == "float16[?,?]:rows"
    assert dump.constants == CONSTANTS
    assert dump.source == (str(KERNELS / "matmul.py"), 6)


@needs_cutile
@pytest.mark.parametrize(
    ("where", "arguments", "constants", "message"),
    [
        ("matmul.py", ARRAYS, CONSTANTS, "expected FILE.py:KERNEL or MODULE:KERNEL"),
        ("absent.py:k", ARRAYS, CONSTANTS, "absent.py: no such file"),
        ("no_such_module:k", ARRAYS, CONSTANTS, "no_such_module: cannot be imported"),
        (
            f"{KERNELS / 'matmul.py'}:other",
            ARRAYS,
            CONSTANTS,
            "has no kernel 'other'; it has matmul",
        ),
        (MATMUL, ARRAYS[:2], CONSTANTS, "nothing is said about c: use --arg or --const"),
        (
            MATMUL,
            ARRAYS * 2,
            CONSTANTS,
            "there are more arguments than parameters (a, b, c, TM, TN, TK)",
        ),
        (MATMUL, ARRAYS, {**CONSTANTS, "TX": 1}, "the kernel has no parameter 'TX'"),
        (
            MATMUL,
            [parse_argument("a=f16[?,?]")] * 2,
            CONSTANTS,
            "parameter 'a' is given twice",
        ),
    ],
)
def test_wrong_requests(
    where: str, arguments: list[Argument], constants: dict[str, int], message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        dump_kernel(where, arguments, constants)


@needs_cutile
def test_a_kernel_that_cuda_tile_refuses(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"cuda-tile: .*matmul\.py:matmul: ") as caught:
        dump_kernel(MATMUL, ARRAYS, {**CONSTANTS, "TM": 100}, arch="sm_100")
    assert caught.value.kind == "failed"
    broken = tmp_path / "broken.py"
    broken.write_text("raise RuntimeError('no')\n")
    with pytest.raises(UsageError, match="cannot be imported: RuntimeError: no"):
        dump_kernel(f"{broken}:k", [], {})


@needs_cutile
def test_the_command(tmp_path: Path) -> None:
    arguments = [part for name in "abc" for part in ("--arg", f"{name}=f16[?,?]")]
    arguments += [part for item in CONSTANTS.items() for part in ("--const", "{}={}".format(*item))]
    done = tool(
        "tileir", "dump", MATMUL, *arguments, "--arch", "sm_90", "--arch", "sm_120",
        "--bytecode-version", "13.3", "-o", tmp_path / "out",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    manifest = check((tmp_path / "out" / "manifest.json").read_bytes())
    rows: Any = manifest["kernels"]
    assert [row["arch"] for row in rows] == ["sm_90", "sm_120"]
    for row in rows:
        bytecode, text, canonical = (
            load(tmp_path / "out" / row[kind]) for kind in ("bytecode", "text", "canonical")
        )
        assert bytecode.to_text() == text.to_text()
        assert canonical.entries[0].symbol == row["symbol"]
    assert tool("tileir", "dump", MATMUL, "-o", tmp_path / "none").returncode == 3
    assert not (tmp_path / "none").exists()
    wrong = tool("tileir", "dump", MATMUL, *arguments, "--const", "TM=big", "-o", tmp_path / "none")
    assert b"--const TM: 'big' is no number" in wrong.stderr


@needs_cutile
def test_an_alias_keeps_the_kernel(tmp_path: Path) -> None:
    for name in (None, "bmm__matmul"):
        dump = dump_kernel(MATMUL, ARRAYS, CONSTANTS, arch="sm_100", version="13.3", name=name)
        (tmp_path / f"{name}.tileirbc").write_bytes(dump.bytecode)
    done = tool(
        "tileir", "alias", tmp_path / "None.tileirbc", tmp_path / "bmm__matmul.tileirbc",
        "--kernel", "matmul",
    )  # fmt: skip
    assert done.returncode == 0


@needs_cutile
@needs_tools
@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_90", "sm_100", "sm_120"])
def test_all_example_kernels_dump_and_compile(arch: str) -> None:
    compiled, refused = [], []
    for path in sorted(KERNELS.glob("*.py")):
        for signature in runpy.run_path(str(path))["SIGNATURES"]:
            where = f"{path}:{signature['kernel']}"
            try:
                dump = dump_kernel(where, *_said(signature), arch=arch, version="13.4")
                compile_module(parse(dump.bytecode), arch)
                compiled.append(dump.symbol)
            except ToolError:
                refused.append(signature["kernel"])
    print(f"{arch}: {len(compiled)} kernels compile; refused: {refused}")
    # Block-scaled and 4-bit operations exist from sm_100 on.
    assert set(refused) <= ({"matmul_scaled", "tile_pieces"} if arch == "sm_90" else set())


def _said(signature: dict[str, Any]) -> tuple[list[Argument], dict[str, Any]]:
    """Arguments and constants of a signature as the example kernels write them."""
    arguments, constants = [], {}
    for name, spec in signature["params"].items():
        if isinstance(spec, tuple):
            dtype, rank, *layout = spec
            dtype = signature["dtypes"][0] if dtype == "T" else dtype
            arguments.append(Argument(name, dtype, (None,) * rank, layout[0] if layout else "rows"))
        elif isinstance(spec, str):
            arguments.append(Argument(name, spec, None, "rows"))
        else:
            constants[name] = spec
    return arguments, constants
