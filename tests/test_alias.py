"""The alias proof, on pairs that cuda-tile compiles here and on edited copies of fixtures."""

from __future__ import annotations

import dataclasses
import importlib.util
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from samples import FIXTURES, ROOT

import tileir_tools as tt
from tileir_tools.diff.alias import AliasProof, prove_alias
from tileir_tools.transform import rename_entry

MATMUL = FIXTURES / "matmul__128x128x64-float16__sm_100__bc13.4.mlir"
PERSISTENT = FIXTURES / "persistent_matmul__group8-bfloat16__sm_100__bc13.4.mlir"


# -- compiled pairs ---------------------------------------------------------------------------------


class Compiler:
    """Compiles example kernels, under their own name or as `op__name`."""

    def __init__(self) -> None:
        path = ROOT / "examples" / "compile_fixtures.py"
        spec = importlib.util.spec_from_file_location("compile_fixtures", path)
        assert spec is not None
        assert spec.loader is not None
        self.script = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = self.script
        spec.loader.exec_module(self.script)
        self._modules: dict[Path, Any] = {}

    def module(self, source: Path) -> Any:
        if source not in self._modules:
            self._modules[source] = self.script.load(source)
        return self._modules[source]

    def build(self, source: Path, kernel: str, **changes: Any) -> tuple[Any, Any]:
        """The kernel object and the plan of its first fixture; `changes` are other constants."""
        module = self.module(source)
        plans = self.script.plan(source.stem, module.SIGNATURES)
        build = next(b for b in plans if b.kernel == kernel)
        dtype = changes.pop("dtype", build.dtype)
        params = {**build.params, **changes}
        return getattr(module, kernel), dataclasses.replace(build, params=params, dtype=dtype)

    def compile(self, kernel: Any, build: Any, name: str) -> tt.Module:
        from cuda.tile.compilation import export_kernel

        signature = self.script.kernel_signature(build).with_mangled_symbol(name)
        buffer = io.BytesIO()
        export_kernel(
            kernel,
            [signature],
            buffer,
            gpu_code="sm_100",
            output_format="tileir_bytecode",
            bytecode_version="13.3",
        )
        return tt.parse(buffer.getvalue())

    def pair(
        self,
        kernel: str,
        hints: dict[str, object] | None = None,
        source: Path | None = None,
        **changes: Any,
    ) -> tuple[tt.Module, tt.Module]:
        """A kernel and its alias, made by the recipe `ct.kernel(k._pyfunc)`.

        `hints` are carried over to the alias; it is compiled from `source` with `changes`.
        """
        import cuda.tile as ct

        home = _source_of(kernel)
        original, plan = self.build(home, kernel)
        aliased, other = self.build(source or home, kernel, **changes)
        again = ct.kernel(aliased._pyfunc)
        if hints:
            again = again.replace_hints(**hints)
        return (
            self.compile(original, plan, kernel),
            self.compile(again, other, f"op__{kernel}"),
        )


def _source_of(kernel: str) -> Path:
    for source in sorted(ROOT.glob("examples/*/*.py")):
        if f"\ndef {kernel}(" in source.read_text(encoding="utf-8"):
            return source
    raise AssertionError(kernel)


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    pytest.importorskip("cuda.tile", reason="needs cuda-tile (the extra `cutile`)")
    return Compiler()


# Kernels without entry hints: the recipe loses nothing.
PLAIN = [
    "argmax",
    "bmm_flat",
    "bmv",
    "bmv_gather",
    "cumsum",
    "embedding",
    "gelu",
    "histogram",
    "layer_norm",
    "matmul",
    "matmul_tf32",
    "transpose",
]
# Kernels with hints, and the options that carry them over.
HINTED: dict[str, dict[str, object]] = {
    "attention": {"occupancy": 2},
    "bmm": {"occupancy": 1},
    "bmm_static": {"occupancy": 2},
    "bmm_persistent": {"num_ctas": 2},
}


@pytest.mark.parametrize("kernel", PLAIN)
def test_renamed_only(compiler: Compiler, kernel: str) -> None:
    original, alias = compiler.pair(kernel)
    proof = prove_alias(original, alias, kernel)
    assert (proof.reasons, proof.body, proof.op) == ((), "equal", "op")
    assert proof
    assert proof.original.startswith(f"{kernel}_Kt1_")
    assert proof.alias == f"op__{proof.original}"
    assert proof.operations == len(list(original.walk())) - 1


@pytest.mark.parametrize("kernel", HINTED)
def test_hints_kept(compiler: Compiler, kernel: str) -> None:
    assert prove_alias(*compiler.pair(kernel, HINTED[kernel]), kernel, "op").proven


@pytest.mark.parametrize("kernel", HINTED)
def test_hints_lost(compiler: Compiler, kernel: str) -> None:
    proof = prove_alias(*compiler.pair(kernel), kernel, "op")
    ((option, value),) = HINTED[kernel].items()
    assert (bool(proof), proof.body, proof.mangling) == (False, "equal", True)
    (hint,) = proof.hints
    key = {"num_ctas": "num_cta_in_cga"}.get(option, option)
    assert hint == f"{key} = {value} for default is lost in the alias"
    (reason,) = proof.reasons
    assert f"ct.kernel(k._pyfunc).replace_hints({option}={value})" in reason


def test_hints_by_target_are_lost(compiler: Compiler) -> None:
    original, alias = compiler.pair("rms_norm")
    proof = prove_alias(original, alias, "rms_norm")
    assert proof.body == "equal"
    assert proof.hints
    hints = "default = {occupancy = 4}, sm_100 = {occupancy = 8}"
    text = original.to_text()
    written = text[text.index("optimization_hints=<") :].partition("<")[2].partition("> {")[0]
    several = tt.parse(text.replace(written, hints))
    reason = prove_alias(several, alias, "rms_norm").reasons[-1]
    assert "replace_hints(occupancy=ct.ByTarget(default=4, sm_100=8))" in reason


def test_other_hints(compiler: Compiler) -> None:
    proof = prove_alias(*compiler.pair("bmm", {"occupancy": 3}), "bmm")
    assert proof.hints == ("occupancy for default is 1 in the original and 3 in the alias",)
    assert "_pyfunc" not in proof.reasons[0]


@pytest.mark.parametrize(
    ("kernel", "changes", "parameter"),
    [
        ("matmul", {"TM": 64}, "parameter 3 is I128 in the original and I64 in the alias"),
        ("matmul_tf32", {"TK": 64}, "parameter 5 is I32 in the original and I64 in the alias"),
        ("gelu", {"TILE": 512}, "I1024 in the original and I512 in the alias"),
    ],
)
def test_other_constants(
    compiler: Compiler, kernel: str, changes: dict[str, object], parameter: str
) -> None:
    proof = prove_alias(*compiler.pair(kernel, None, **changes), kernel)
    assert (bool(proof), proof.mangling, proof.body) == (False, False, "different")
    assert parameter in proof.reasons[1]
    assert proof.difference is not None


@pytest.mark.parametrize("kernel", ["matmul", "layer_norm"])
def test_other_mangling(compiler: Compiler, kernel: str) -> None:
    proof = prove_alias(*compiler.pair(kernel, None, dtype="bfloat16"), kernel)
    assert (bool(proof), proof.mangling, proof.body) == (False, False, "different")
    assert proof.reasons[0] == (
        "the bodies differ; first difference: parameter 0 is tile<ptr<f16>> in the original and "
        "tile<ptr<bf16>> in the alias"
    )


@pytest.mark.parametrize(
    ("kernel", "old", "new", "message"),
    [
        ("matmul", "ZERO", "NEG_INF", "padding_value = neg_inf"),
        ("cumsum", "cumsum(part, axis=1)", "cumsum(part, axis=1, reverse=True)", "reverse of scan"),
        ("persistent_matmul", "latency=4", "latency=3", "optimization_hints of load_view_tko"),
    ],
)
def test_one_attribute_changed(
    compiler: Compiler, tmp_path: Path, kernel: str, old: str, new: str, message: str
) -> None:
    text = _source_of(kernel).read_text(encoding="utf-8")
    assert old in text
    source = tmp_path / f"changed_{kernel}.py"
    source.write_text(text.replace(old, new, 1))
    proof = prove_alias(*compiler.pair(kernel, None, source), kernel)
    assert (bool(proof), proof.mangling, proof.body) == (False, True, "different")
    assert message in proof.reasons[0]


# -- edited pairs -----------------------------------------------------------------------------------


def proof_of(edit: Callable[[str], str], path: Path = MATMUL, kernel: str = "matmul") -> AliasProof:
    """A fixture against itself under an alias, after an edit of its text."""
    original = tt.load(path)
    alias = tt.parse(edit(original.to_text()), "alias.mlir")
    rename_entry(alias, kernel, f"gemm__{kernel}")
    return prove_alias(original, alias, kernel, "gemm")


def test_same_text_is_proven() -> None:
    proof = proof_of(str)
    assert proof
    assert proof.difference is None


def test_places_are_shown() -> None:
    proof = proof_of(
        lambda text: text.replace("assume div_by<16>, %arg0", "assume div_by<8>, %arg0")
    )
    assert proof.body == "different"
    assert proof.difference is not None
    assert proof.difference.one is not None
    assert proof.difference.other is not None
    assert proof.difference.message == (
        "predicate of assume is div_by<16> in the original and div_by<8> in the alias"
    )
    assert "div_by<16>, %arg0" in proof.difference.one.text
    assert proof.difference.other.line == proof.difference.one.line


def test_equal_only_as_dataflow() -> None:
    def swapped(text: str) -> str:
        lines = text.split("\n")
        first = next(k for k, line in enumerate(lines) if "= constant" in line)
        lines[first], lines[first - 1] = lines[first - 1], lines[first]
        return "\n".join(lines)

    proof = proof_of(swapped)
    assert (bool(proof), proof.body) == (False, "dataflow")
    assert proof.reasons[0].startswith(
        "the bodies compute the same, but are not the same operations in the same order"
    )


def test_an_operation_more() -> None:
    proof = proof_of(
        lambda text: text.replace("  return\n", "  %dead = make_token : token\n  return\n")
    )
    assert proof.body == "dataflow"
    assert "return in the original, make_token in the alias" in proof.reasons[0]


def test_swapped_operands_are_different() -> None:
    text = (
        "entry @k(%a: tile<i32>, %p: tile<ptr<i32>>) {\n  %b = constant <i32: 1> : tile<i32>\n"
        "  %c = subi %a, %b : tile<i32>\n"
        "  %t = store_ptr_tko weak %p, %c : tile<ptr<i32>>, tile<i32> -> token\n  return\n}\n"
    )
    original = tt.parse(text)
    alias = tt.parse(text.replace("%a, %b", "%b, %a").replace("@k", "@op__k"))
    proof = prove_alias(original, alias, "k")
    assert proof.difference is not None
    assert proof.difference.message == "operand 0 of subi is another value"


@pytest.mark.parametrize(
    ("kernel", "op", "message"),
    [
        ("nothing", None, r"the original has no kernel 'nothing' \(it has matmul\)"),
        ("gemm", None, "'gemm' is the operation of the alias, the kernel is 'matmul'"),
        ("matmul", "bmm", r"the alias has no kernel 'bmm__matmul' \(it has gemm__matmul\)"),
    ],
)
def test_what_is_not_there(kernel: str, op: str | None, message: str) -> None:
    original, alias = tt.load(MATMUL), tt.load(MATMUL)
    rename_entry(alias, "matmul", "gemm__matmul")
    with pytest.raises(tt.UsageError, match=message):
        prove_alias(original, alias, kernel, op)


def test_several_are_ambiguous() -> None:
    both = tt.parse("entry @k() {\n  return\n}\nentry @k_entry() {\n  return\n}\n")
    alias = tt.parse("entry @op__k() {\n  return\n}\n")
    with pytest.raises(tt.UsageError, match="the original has several kernels 'k': @k, @k_entry"):
        prove_alias(both, alias, "k")
