"""Grouping dumps: our own kernels, real ones, broken ones."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import FIXTURES

import tileir_tools as tt
from tileir_tools.diff.grouping import Variant, Variants
from tileir_tools.read.search import SUFFIXES, find_files
from tileir_tools.report.variants_report import variants_text

VARIANTS = FIXTURES.parent / "variants"


def shown(variant: Variant) -> tuple[str, int, tuple[str, ...], list[tuple[str, ...]]]:
    """Name, members, formats of the representative and of the supplements."""
    supplements = [s.dtypes for s in variant.supplements]
    return variant.name, len(variant.members), variant.representative.dtypes, supplements


@pytest.fixture(scope="module")
def ours() -> Variants:
    return tt.variants(sorted(VARIANTS.glob("*.tileirbc")))


# -- our own kernels --------------------------------------------------------------------------------


def test_groups(ours: Variants) -> None:
    assert [shown(v) for v in ours.variants] == [
        ("bmm_flat", 1, ("f16",), []),
        ("bmm_persistent.1", 4, ("f16",), [("bf16",), ("f32",)]),
        ("bmm_persistent.2", 1, ("f16",), []),
        ("bmm_static", 6, ("f16",), [("bf16",), ("f32",)]),
        ("bmv", 5, ("f16",), [("bf16",), ("f32",)]),
        ("bmv_gather", 1, ("f16",), []),
    ]
    assert ours.unread == ()


def test_sizes_and_formats_are_of_one_body(ours: Variants) -> None:
    for variant in ours.variants:
        assert len({m.fingerprints.sizes for m in variant.members}) == 1
        assert {o.equal_from for o in variant.others} <= {"sizes"}


def test_supplements_say_what_they_prove(ours: Variants) -> None:
    found = {v.name: {s.dtypes: s.conversions for s in v.supplements} for v in ours.variants}
    assert found["bmm_static"] == {("bf16",): ("f32 to bf16",), ("f32",): ("f32 to tf32",)}
    assert found["bmv"] == {("bf16",): ("bf16 to f32", "f32 to bf16"), ("f32",): ()}


def test_every_pair_is_told_apart(ours: Variants) -> None:
    found = {(s.one, s.other): (s.level, s.reason) for s in ours.separations}
    assert len(found) == 15
    assert found["bmm_persistent.1", "bmm_static"] == (
        "structure",
        "a persistent loop over blocks in bmm_persistent.1, none in bmm_static",
    )
    assert found["bmm_persistent.1", "bmm_persistent.2"] == (
        "structure",
        "transposition in bmm_persistent.2, none in bmm_persistent.1",
    )
    assert found["bmm_flat", "bmm_static"][1] == "tiles of rank 2 in bmm_flat, 3 in bmm_static"
    assert found["bmm_static", "bmv"][1] == "mma in bmm_static, none in bmv"
    assert found["bmv", "bmv_gather"][1] == (
        "load by partition view in bmv, by partition view and pointer in bmv_gather"
    )


def test_representative() -> None:
    """The formats of most members, then their body and sizes, then the first by name."""
    ours = tt.variants([VARIANTS / f"bmm_static__{n}.tileirbc" for n in _STATIC])
    (variant,) = ours.variants
    assert Path(variant.representative.file).name.startswith("bmm_static__64x64x32-float16")
    without_half = tt.variants(
        [
            VARIANTS / f"bmm_static__{n}.tileirbc"
            for n in _STATIC
            if "float32" in n or "bfloat16" in n
        ]
    )
    assert without_half.variants[0].representative.dtypes == ("bf16",)


_STATIC = [
    "64x64x32-float32__sm_100__bc13.3",
    "64x64x32-float16__sm_100__bc13.4",
    "64x64x32-bfloat16__sm_100__bc13.3",
    "128x64x32-float16__sm_100__bc13.4",
    "128x128x64-float16__sm_100__bc13.4",
]


def test_the_order_of_inputs_means_nothing(ours: Variants) -> None:
    turned = tt.variants(sorted(VARIANTS.glob("*.tileirbc"), reverse=True))
    assert turned == ours


def test_text_and_bytecode_are_one(ours: Variants) -> None:
    both = tt.variants([VARIANTS])
    assert [v.name for v in both.variants] == [v.name for v in ours.variants]
    assert {o.equal_from for v in both.variants for o in v.others} == {"exact", "sizes"}


def test_an_executor_gives_the_same(ours: Variants) -> None:
    with ThreadPoolExecutor(2) as executor:
        assert tt.variants(sorted(VARIANTS.glob("*.tileirbc")), executor=executor) == ours


def test_modules_are_inputs_too() -> None:
    modules = [tt.load(p) for p in sorted(VARIANTS.glob("bmv__*.tileirbc"))]
    (variant,) = tt.variants(modules).variants
    assert {m.file for m in variant.members} == {f"<module {k}>" for k in range(1, 6)}
    assert len(variant.members) == 5


def test_aliases_and_other_names_stay_together() -> None:
    path = VARIANTS / "bmv__64x128-float16__sm_100__bc13.4.mlir"
    text = path.read_text()
    others = [text.replace("@bmv_", f"@{name}_") for name in ("gemv__bmv", "something_else")]
    (variant,) = tt.variants([tt.parse(t) for t in (text, *others)]).variants
    assert [o.equal_from for o in variant.others] == ["names", "names"]


def test_functions_of_one_structure_stay_apart() -> None:
    text = (
        "entry @{0}(%p: tile<ptr<f32>>) {{\n"
        "  %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token\n"
        "  %y = {1} %x, %x : tile<f32>\n"
        "  %u = store_ptr_tko weak %p, %y token=%t : tile<ptr<f32>>, tile<f32> -> token\n"
        "  return\n}}\n"
    )
    double, square = text.format("double", "addf"), text.format("square", "mulf")
    found = tt.variants([tt.parse(double), tt.parse(square)])
    assert [v.name for v in found.variants] == ["double", "square"]
    assert found.separations[0].level == "sizes"
    # Of one function they are one variant, and the other body is pointed out.
    (variant,) = tt.variants(
        [tt.parse(double), tt.parse(square.replace("square", "double"))]
    ).variants
    assert [(o.equal_from, o.reason) for o in variant.others] == [
        ("structure", "value of store_ptr_tko: addf in the reference, mulf in the generated kernel")
    ]


def test_with_many_variants_each_is_compared_with_the_nearest() -> None:
    found = tt.variants(sorted(FIXTURES.glob("*bc13.4.tileirbc")))
    assert len(found.variants) > 20
    assert len(found.separations) == len(found.variants) - 1


# -- files ------------------------------------------------------------------------------------------


def test_a_bad_file_stops_nothing(tmp_path: Path) -> None:
    for path in VARIANTS.glob("bmv__64x128*.tileirbc"):
        shutil.copy(path, tmp_path)
    (tmp_path / "broken.mlir").write_text("entry @k( {")
    (tmp_path / "triton.mlir").write_text("module { tt.func @k() { tt.return } }")
    (tmp_path / "empty.tileirbc").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("not looked at")
    found = tt.variants([tmp_path, tmp_path / "absent.mlir"])
    assert [len(v.members) for v in found.variants] == [3]
    names = [Path(u.file).name for u in found.unread]
    assert names == ["broken.mlir", "empty.tileirbc", "triton.mlir", "absent.mlir"]
    assert all("error" in u.error for u in found.unread)
    text = variants_text(found)
    assert "4 files could not be read:" in text


def test_files_are_found_below_folders(tmp_path: Path) -> None:
    for name in ("a.mlir", "b/c.tileirbc", "b/d.mlir.gz", "b/e.json", "f.gz"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
    names = [str(Path(p).relative_to(tmp_path)) for p in find_files(str(tmp_path))]
    assert names == ["a.mlir", "b/c.tileirbc", "b/d.mlir.gz"]
    assert all(s.startswith(".") for s in SUFFIXES)


def test_gzip_and_several_entries(tmp_path: Path) -> None:
    text = "\n".join(p.read_text() for p in sorted(VARIANTS.glob("bmv__*13.4.mlir")))
    path = tmp_path / "all.mlir.gz"
    path.write_bytes(gzip.compress(text.encode()))
    (variant,) = tt.variants([path, path]).variants
    assert [m.entry for m in variant.members] == [0, 1, 2]


def test_nothing_to_group(tmp_path: Path) -> None:
    with pytest.raises(tt.UsageError, match="no entry in any input"):
        tt.variants([])
    with pytest.raises(tt.UsageError, match="unknown arch"):
        tt.variants([VARIANTS], arch="sm_1")
    found = tt.variants([tmp_path])
    assert found.variants == ()
    assert [u.error for u in found.unread] == [
        f"{tmp_path}: error: no file of Tile IR in this folder"
    ]


# -- real kernels -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corpus(shared: Path) -> dict[str, list[Variant]]:
    """The variants of some families of real kernels: file name of the source -> its variants."""
    rows = [json.loads(r) for r in (shared / "corpus" / "index.jsonl").read_text().splitlines()]
    families: dict[str, list[Path]] = {}
    for row in rows:
        path = shared / "corpus" / f"{row['path']}.tileirbc"
        families.setdefault(Path(row["source_file"]).name, []).append(path)
    names = (
        "bmm",
        "layer_norm_legacy",
        "matmul",
        "attention",
        "gelu",
        "relu",
        "rms_norm",
        "group_gemm",
    )
    return {name: list(tt.variants(families[f"{name}.py"]).variants) for name in names}


def _counts(variants: Iterable[Variant]) -> list[tuple[str, int, list[str]]]:
    return [
        (n, m, [" ".join(d) for d in supplements]) for n, m, _, supplements in map(shown, variants)
    ]


def test_families_of_real_kernels(corpus: dict[str, list[Variant]]) -> None:
    """One variant for each structure: the same kernel at other versions, formats, sizes is none."""
    assert {name: _counts(found) for name, found in corpus.items()} == {
        # B as it is, and transposed.
        "bmm": [
            ("_static_persistent_bmm_kernel.1", 17, []),
            ("_static_persistent_bmm_kernel.2", 9, []),
        ],
        "layer_norm_legacy": [
            ("_layer_norm_fwd_kernel", 8, ["f32"]),
            ("_persistent_layer_norm_fwd_kernel", 24, []),
        ],
        "matmul": [("_matmul_kernel", 5, []), ("_static_persistent_matmul_kernel", 5, [])],
        # The forward kernel has a loop less where it is not causal.
        "attention": [
            ("_fmha_bwd_dkdv_kernel", 39, ["bf16 f32"]),
            ("_fmha_bwd_dq_kernel", 39, ["bf16 f32"]),
            ("_fmha_bwd_preprocess_kernel", 5, ["bf16 f32"]),
            ("_fmha_fwd_kernel_with_lse.1", 14, ["bf16 f32"]),
            ("_fmha_fwd_kernel_with_lse.2", 2, []),
        ],
        # The kernel knows two approximations: other arithmetic is no other structure.
        "gelu": [("_gelu_kernel", 8, ["f16"])],
        "relu": [("_relu_fwd_kernel", 8, ["f32"])],
        "rms_norm": [
            ("_rms_norm_kernel_gather", 6, ["bf16 f32", "f32"]),
            ("_rms_norm_bwd_w_large_ct", 7, ["bf16 f32", "f16 f32"]),
        ],
        "group_gemm": [("_group_gemm_kernel.1", 5, []), ("_group_gemm_kernel.2", 1, [])],
    }


def test_versions_of_real_kernels_are_one_body(shared: Path) -> None:
    rows = [json.loads(r) for r in (shared / "corpus" / "index.jsonl").read_text().splitlines()]
    found: dict[tuple[str, ...], set[str]] = {}
    for row in rows[::3]:
        for entry in tt.load(shared / "corpus" / f"{row['path']}.tileirbc").entries:
            key = (row["source_file"], row["kernel"], row["sm_arch"], entry.symbol)
            found.setdefault(key, set()).add(tt.fingerprints(entry).hints)
    assert len(found) > 100
    assert [key for key, prints in found.items() if len(prints) > 1] == []


@settings(max_examples=25, deadline=None)
@given(
    paths=st.lists(st.sampled_from(sorted(FIXTURES.glob("*.tileirbc"))), min_size=1, max_size=12)
)
def test_every_entry_is_in_one_variant(paths: list[Path]) -> None:
    """One variant each; of one structure; equal bodies together; the representative among them."""
    found = tt.variants(paths)
    members = [m for v in found.variants for m in v.members]
    assert sorted(m.file for m in members) == sorted({str(p) for p in paths})
    homes: dict[str, set[str]] = {}
    for variant in found.variants:
        assert variant.representative in variant.members
        assert len({m.fingerprints.structure for m in variant.members}) == 1
        assert len(
            {s.dtypes for s in variant.supplements} | {variant.representative.dtypes}
        ) == 1 + len(variant.supplements)
        for member in variant.members:
            homes.setdefault(member.fingerprints.sizes, set()).add(variant.name)
    assert {len(names) for names in homes.values()} == {1}


def test_a_file_that_is_gone_by_then_stops_nothing(tmp_path: Path) -> None:
    text = (VARIANTS / "bmv__64x128-float16__sm_100__bc13.4.mlir").read_text()
    for name, content in (("a", text), ("b", text.replace("addf", "subf"))):
        (tmp_path / f"{name}.mlir").write_text(content)

    class Removing(ThreadPoolExecutor):
        """Removes the files when all of them were read."""

        def map(self, *arguments: object, **options: object) -> list[object]:  # type: ignore[override]
            results = list(super().map(*arguments, **options))  # type: ignore[call-overload]
            shutil.rmtree(tmp_path)
            return results

    with Removing(1) as executor:
        (variant,) = tt.variants([tmp_path], executor=executor).variants
    assert [o.reason for o in variant.others] == [
        "another body; a file of the two can no longer be read"
    ]
