"""Modules through MLIR's own Python bindings and back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from programs import programs
from samples import FIXTURES

import tileir_tools as tt
from tileir_tools.errors import ParseError, UsageError
from tileir_tools.mlir import from_mlir, mlir_text, to_mlir

MATMUL = FIXTURES / "matmul__128x128x64-float16__sm_100__bc13.4.mlir"
CONSTANT = "entry @k() {{\n  %0 = constant <{}> : {}\n  return\n}}\n"


def _bindings() -> bool:
    try:
        from mlir import ir  # noqa: F401
    except ImportError:
        return False
    return True


needs_mlir = pytest.mark.skipif(not _bindings(), reason="needs MLIR's bindings (extra mlir)")


@needs_mlir
@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.mlir"))[::4], ids=lambda p: p.stem)
def test_real_kernels_come_back_as_they_went(path: Path) -> None:
    for module in tt.load_all(path):
        before = module.to_text()
        back = from_mlir(to_mlir(module))
        assert back.to_text(wrap=True) == module.to_text(wrap=True)
        assert [op.location for op in back.walk()] == [op.location for op in module.walk()]
        assert module.to_text() == before


@needs_mlir
@given(programs())
@settings(max_examples=100, deadline=None)
def test_any_program_comes_back(text: str) -> None:
    module = tt.parse(text)
    assert from_mlir(to_mlir(module)).to_text(wrap=True) == module.to_text(wrap=True)


@needs_mlir
def test_mlir_sees_operations_regions_and_constants() -> None:
    from mlir import ir

    there = to_mlir(tt.load(MATMUL))
    names: list[str] = []

    def note(op: ir.Operation) -> ir.WalkResult:
        names.append(op.name)
        return ir.WalkResult.ADVANCE

    there.operation.walk(note)
    assert names.count("cuda_tile.mmaf") == 1
    assert names.count("cuda_tile.for") == 1
    assert "dense<0.000000e+00> : tensor<128x128xf32>" in str(there)


@needs_mlir
def test_a_pass_of_mlir_changes_what_comes_back() -> None:
    from mlir import ir
    from mlir.passmanager import PassManager

    text = "entry @k() {\n  %0 = constant <i32: 1> : tile<i32>\n  return\n}\n"
    there = to_mlir(tt.parse(text))
    with there.context:
        for op in there.body.operations[0].regions[0].blocks[0].operations:
            op.attributes["sym_name"] = ir.StringAttr.get("renamed")
        PassManager.parse("builtin.module(strip-debuginfo)").run(there.operation)
    assert from_mlir(there).entries[0].symbol == "renamed"


@needs_mlir
def test_the_context_may_be_the_callers() -> None:
    from mlir import ir

    context = ir.Context()
    assert to_mlir(tt.load(MATMUL), context).context == context


@needs_mlir
def test_what_has_no_generic_form_is_refused_by_name() -> None:
    module = tt.parse("entry @k() {\n  new_operation <3> : tile<i32>\n  return\n}\n")
    with pytest.raises(UsageError, match="MLIR refuses the module"):
        to_mlir(module)


@needs_mlir
def test_what_is_no_tile_ir_is_no_module() -> None:
    from mlir import ir

    with ir.Context():
        other = ir.Module.parse("module { func.func private @f() }")
    with pytest.raises(tt.ForeignFormatError, match="MLIR without cuda_tile operations"):
        from_mlir(other)


@pytest.mark.parametrize(
    ("elements", "type", "shown"),
    [
        ("i32: [1, 2]", "tile<2xi32>", "dense<[1, 2]> : tensor<2xi32>"),
        ("f32: 1.5", "tile<f32>", "dense<1.500000e+00> : tensor<f32>"),
        ("i1: true", "tile<4x2xi1>", "dense<true> : tensor<4x2xi1>"),
        ("f8E4M3FN: 0x38", "tile<8xf8E4M3FN>", "dense<1.000000e+00> : tensor<8xf8E4M3FN>"),
    ],
)
def test_constants_are_tensors_and_are_read_back(elements: str, type: str, shown: str) -> None:
    module = tt.parse(CONSTANT.format(elements, type))
    text = mlir_text(module)
    assert f"value = {shown}}}>" in text
    assert tt.parse(text).to_text(wrap=False) == module.to_text(wrap=False)


@pytest.mark.parametrize(
    ("type", "message"),
    [
        ("tensor<?xi32>", "expected static sizes, found '?'"),
        ("tensor<4>", "expected an element type such as f32 or ptr<f32>"),
        ("tensor", "expected '<'"),
    ],
)
def test_wrong_tensors_are_errors_at_their_place(type: str, message: str) -> None:
    text = mlir_text(tt.parse(CONSTANT.format("i32: 1", "tile<4xi32>")))
    with pytest.raises(ParseError, match=message.replace("?", r"\?")) as caught:
        tt.parse(text.replace("tensor<4xi32>", type))
    assert str(caught.value).startswith("<string>:3:")


def test_without_the_bindings_the_error_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "mlir.py").write_text("")  # What pymlir installs has no `ir` either.
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import tileir_tools as tt\nfrom tileir_tools.mlir import to_mlir\n"
        "try: to_mlir(tt.Module())\n"
        "except tt.UsageError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "pip install 'tileir-tools[mlir]'" in done.stdout
