"""Renaming entries: function name and mangling apart, and everything that refers to them."""

from __future__ import annotations

from pathlib import Path

import pytest
from samples import FIXTURES

import tileir_tools as tt
from tileir_tools.model import ArrayAttr, DictAttr, SymbolRefAttr
from tileir_tools.transform import rename_entry, strip_mangling

MATMUL = FIXTURES / "matmul__128x128x64-float16__sm_100__bc13.4.tileirbc"
MANGLING = tt.demangle(tt.load(MATMUL).entries[0].symbol).suffix


def module(*symbols: str) -> tt.Module:
    return tt.parse("".join(f'entry @"{name}"() {{\n  return\n}}\n' for name in symbols))


def symbols(found: tt.Module) -> list[str]:
    return [entry.symbol for entry in found.entries]


def test_a_function_name_keeps_the_mangling() -> None:
    found = tt.load(MATMUL)
    assert rename_entry(found, "matmul", "gemm__matmul") == f"gemm__matmul{MANGLING}"
    assert symbols(found) == [f"gemm__matmul{MANGLING}"]
    assert f"entry @gemm__matmul{MANGLING}(" in found.to_text()


def test_a_whole_symbol_is_replaced() -> None:
    found = tt.load(MATMUL)
    assert rename_entry(found, f"matmul{MANGLING}", "k") == "k"
    assert symbols(found) == ["k"]


@pytest.mark.parametrize("path", [MATMUL, MATMUL.with_suffix(".g.mlir")], ids=["bytecode", "text"])
def test_linkage_names_follow_and_names_of_functions_stay(path: Path) -> None:
    found = tt.load(path)
    before = found.to_text(debug_info=True)
    assert before.count(f'linkageName = "matmul{MANGLING}"') == 1
    rename_entry(found, "matmul", "gemm")
    after = found.to_text(debug_info=True)
    assert after == before.replace(f"matmul{MANGLING}", f"gemm{MANGLING}")
    assert 'name = "matmul"' in after
    again = tt.parse(found.to_bytecode("13.4"))
    assert again.to_text(debug_info=True) == after


def test_mangling_is_stripped() -> None:
    found = tt.load(MATMUL)
    assert strip_mangling(found) == {f"matmul{MANGLING}": "matmul"}
    assert symbols(found) == ["matmul"]
    assert strip_mangling(found) == {}
    several = module("a__b_Kt1_I128", "c_kernel_0123456789abcdef", "d_entry", "plain")
    assert list(strip_mangling(several).values()) == ["a__b", "c_kernel", "d"]
    assert symbols(several) == ["a__b", "c_kernel", "d", "plain"]


def test_references_follow() -> None:
    found = module("k")
    op = found.entries[0].body.operations[0]
    op.attributes["launches"] = DictAttr(
        (("x", ArrayAttr((SymbolRefAttr("k"), SymbolRefAttr("l")))),)
    )
    rename_entry(found, "k", "m")
    launches = op.attributes["launches"]
    assert launches is DictAttr((("x", ArrayAttr((SymbolRefAttr("m"), SymbolRefAttr("l")))),))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("z", "y", "no entry is called 'z'; there is @a_Kt1_I1, @a_Kt1_I2, @b"),
        ("a", "y", "'a' is ambiguous, give a whole symbol: @a_Kt1_I1, @a_Kt1_I2"),
        ("b", "a_Kt1_I1", "@b cannot become @a_Kt1_I1: so would @a_Kt1_I1"),
        ("b", "", "the new name of an entry cannot be empty"),
    ],
)
def test_what_cannot_be_renamed(old: str, new: str, message: str) -> None:
    found = module("a_Kt1_I1", "a_Kt1_I2", "b")
    with pytest.raises(tt.UsageError) as raised:
        rename_entry(found, old, new)
    assert str(raised.value) == message
    assert symbols(found) == ["a_Kt1_I1", "a_Kt1_I2", "b"]


def test_stripping_does_not_collide() -> None:
    found = module("a_Kt1_I1", "a_Kt1_I2")
    with pytest.raises(tt.UsageError, match="@a_Kt1_I1 cannot become @a: so would @a_Kt1_I2"):
        strip_mangling(found)
    assert symbols(found) == ["a_Kt1_I1", "a_Kt1_I2"]
    with_global = tt.parse("global @a <i32: 1> : tile<1xi32>\nentry @a_Kt1_I1() {\n  return\n}\n")
    with pytest.raises(tt.UsageError, match="so would @a"):
        strip_mangling(with_global)


def test_renaming_to_itself_is_nothing() -> None:
    found = module("a", "b")
    assert rename_entry(found, "a", "a") == "a"
    assert symbols(found) == ["a", "b"]


def test_unknown_operations_that_mention_an_entry_are_not_guessed_at() -> None:
    found = tt.parse("entry @k() {\n  launch_other @k\n  launch_other @kernel\n  return\n}\n")
    with pytest.raises(tt.UsageError, match=r"operation 'launch_other' at .*mentions it"):
        rename_entry(found, "k", "m")
    assert symbols(found) == ["k"]
