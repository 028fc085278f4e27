"""The public API: what `import tileir_tools` gives, and its manual."""

from __future__ import annotations

import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import tileir_tools as tt

ROOT = Path(__file__).resolve().parent.parent
MATMUL = ROOT / "tests/fixtures/kernels/matmul__128x128x64-float16__sm_100__bc13.4.mlir"


def test_every_public_name_exists_and_is_documented() -> None:
    for name in tt.__all__:
        found = getattr(tt, name)
        assert found.__doc__, name


def test_help_reads_like_a_manual() -> None:
    page = pydoc.plain(pydoc.render_doc(tt))
    for words in (
        "Read a file and look at it",
        "diff(reference",
        "load_all(path",
        "class Operation",
    ):
        assert words in page


def test_functions_are_not_shadowed_by_packages_of_their_name() -> None:

    assert all(
        callable(f)
        for f in (tt.analyze, tt.diff, tt.equal, tt.fingerprints, tt.variants, tt.verify)
    )


def test_start_up_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, tileir_tools, tileir_tools.cli.diff, tileir_tools.diff.compare\n"
        "heavy = {'lark', 'networkx', 'rich', 'torch', 'numpy', 'dataclasses', 'hypothesis', 'pyarrow',\n"
        "         'duckdb', 'distributed', 'pandas', 'tileir_tools.scan', 'tileir_tools.bridges'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    # Not in the repository: there `tileir_tools` is the source folder, which has no commands.
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    # click itself may import dataclasses in some version; this package does not.
    assert done.stdout.strip() in ("[]", "['dataclasses']")


def test_operations_by_name() -> None:
    module = tt.load(MATMUL)
    (mma,) = module.find("mmaf")
    lhs = mma.operand("lhs")
    assert lhs is not None
    assert lhs.defining_op is not None
    assert (lhs.defining_op.name, mma.loop_depth, str(lhs.type)) == (
        "load_view_tko",
        1,
        "tile<128x64xf16>",
    )
    load = lhs.defining_op
    assert load.keyword("memory_ordering_semantics") == "weak"
    assert [v.name for v in load.operand_group("index")] == ["%blockId_x", "%loopIdx"]
    token = load.operand("token")
    assert token is not None
    assert token.defining_op is not None
    assert token.defining_op.name == "make_token"
    with pytest.raises(KeyError):
        load.operand("nope")
    (convert,) = module.find("ftof")
    assert convert.keyword("rounding_mode") == "nearest_even"
    assert "rounding_mode" not in convert.attributes
    assert (mma, 0) in lhs.uses
    assert mma.parent_op is not None
    assert mma.parent_op.name == "for"


def test_several_modules_need_the_plural() -> None:
    text = "cuda_tile.module @a {entry @x() {return}}\n// -----\ncuda_tile.module @b {entry @y() {return}}"
    assert [m.name for m in tt.parse_all(text)] == ["a", "b"]
    with pytest.raises(tt.UsageError, match="2 modules"):
        tt.parse(text)


def test_editing() -> None:
    module = tt.parse(
        "entry @k(%a: tile<i32>, %b: tile<i32>) {\n%c = addi %a, %a : tile<i32>\n"
        "%d = muli %c, %b : tile<i32>\nreturn\n}"
    )
    (add,), (mul,) = module.find("addi"), module.find("muli")
    with pytest.raises(ValueError, match="still used"):
        add.erase()
    add.result.replace_all_uses_with(module.entries[0].arguments[1])
    assert add.result.users == []
    add.erase()
    assert [op.name for op in module.entries[0].body.operations] == ["muli", "return"]
    assert module.entries[0].arguments[0].users == []
    mul.set_operand(0, module.entries[0].arguments[0])
    assert "muli %arg0, %arg1" in module.to_text()


def test_a_tile_of_an_unknown_element_type_has_no_known_size() -> None:
    module = tt.parse("entry @k(%a: tile<4x!cuda_tile.f3>) {\n  return\n}\n")
    type = module.entries[0].arguments[0].type
    assert (type.elements, type.bytes) == (4, 0)  # type: ignore[attr-defined]


def test_what_is_no_module_is_refused_by_name() -> None:
    module = tt.load(MATMUL)
    for compare in (tt.diff, tt.equal):
        with pytest.raises(
            tt.UsageError, match="modules are compared, not str: `load` reads a file"
        ):
            compare("reference.mlir", module)  # type: ignore[operator]
    with pytest.raises(tt.UsageError, match="a policy is a Policy, not str"):
        tt.diff(module, module, policy="strict")  # type: ignore[arg-type]
