"""What runs on the GPU in one call: names of kernels, kinds, and launches of two sides beside each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileir_tools.bench import (
    Config,
    KernelTime,
    Measurement,
    compare_launches,
    function_of,
    is_same_kernel,
    kind_of,
    read_performance,
)
from tileir_tools.errors import UsageError

PERF = Path(__file__).parent / "fixtures" / "perf"
LONG = "_scale_kernel_Kt1_" + "_".join(["A2f16_1v8l0_2t1_3i16_p16"] * 4) + "_I128"
FILL = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)"


def call(*kernels: tuple[str, int, float], **other: object) -> Measurement:
    times = tuple(KernelTime(n, count, each, count * each) for n, count, each in kernels)
    made = Measurement(Config("test_a.py::test_perf", ("8",)), "cutile", "forward", "cupti", "x:1")
    return made._replace(kernels=times, **other)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("_scale_kernel_Kt1_A1f16_p16_I128", "kernel"),
        ("scale_entry", "kernel"),
        ("_copy_kernel_Kt1_A1f16_p16", "kernel"),
        (LONG[:100], "kernel"),
        ("scale_canary_entry", "canary"),
        ("Memset (Device)", "fill"),
        (FILL, "fill"),
        ("Memcpy DtoD (Device -> Device)", "copy"),
        ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::Opaqu", "copy"),
        (
            "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<"
            "at::native::direct_co",
            "copy",
        ),
        (
            "void at::native::unrolled_elementwise_kernel<at::native::bfloat16_copy_kernel_cuda",
            "cast",
        ),
        (
            "void at::native::unrolled_elementwise_kernel<.., at::native::memory::LoadWithCast<1>",
            "cast",
        ),
        ("nvjet_sm90_hsh_256x128_64x4_1x2_h_bz_coopA_TTT", "fallback"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm>", "fallback"),
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn", "fallback"),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", "fallback"),
        ("_ZN2at6native13reduce_kernelILi512ELi1EEEvT_", "fallback"),
        ("_ZN2at6native18elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaEE", "copy"),
        ("matmul_kernel", "kernel"),
    ],
)
def test_kinds(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def test_the_operation_s_own_kernel_is_known_by_its_function() -> None:
    assert kind_of("memset_kernel_entry") == "kernel"
    assert kind_of("zeros_kernel") == "fill"
    assert kind_of("zeros_kernel", kernel="zeros_kernel") == "kernel"


@pytest.mark.parametrize("length", [len(LONG), 100, 90, 60, 42])
def test_the_function_of_a_name_that_was_cut(length: int) -> None:
    assert function_of(LONG[:length]) == "_scale_kernel"


def test_names_without_a_convention_are_whole() -> None:
    assert function_of("matmul_kernel") == "matmul_kernel"
    assert function_of("scale_entry") == "scale"
    assert function_of(FILL) == FILL


@given(st.text(max_size=120))
def test_every_name_has_a_function_and_a_kind(name: str) -> None:
    assert name.startswith(function_of(name))
    assert kind_of(name)


def test_names_that_were_cut_match_the_beginning_of_a_symbol() -> None:
    shown = read_performance(str(PERF / "cupti.log")).measurements[0].kernels[0]
    assert is_same_kernel(shown, shown.name + "v8l0_2t1_I64")
    assert not is_same_kernel(shown, shown.name[:50])
    assert is_same_kernel(shown, "scale_op__" + shown.name + "v8l0_2t1_I64")
    assert is_same_kernel(KernelTime("k", 1, 1.0, 1.0), "k")
    assert not is_same_kernel(KernelTime("k", 1, 1.0, 1.0), "k2")


# -- two sides --------------------------------------------------------------------------------------


def test_a_second_launch() -> None:
    found = compare_launches(
        call(("_k_Kt1_A1f16_p16", 1, 10.0)), call(("k_entry", 2, 10.0), (FILL, 1, 1.5))
    )
    assert found.verdict == "more launches"
    kernel, fill = found.rows
    assert (kernel.kind, kernel.reference_launches, kernel.generated_launches) == ("kernel", 1, 2)
    assert (kernel.reference_per_launch_us, kernel.generated_per_launch_us) == (10.0, 10.0)
    assert (kernel.reference_us, kernel.generated_us) == (10.0, 20.0)
    assert (fill.kind, fill.reference_launches, fill.generated_us) == ("fill", 0, 1.5)
    assert fill.reference_per_launch_us == 0.0
    assert found.reasons == (
        "kernel: 2 launches in a call, 1 in the reference (the operation itself)",
        "fill: 1 launches in a call, 0 in the reference (a fill: torch.zeros, torch.ones, .zero_() "
        "where torch.empty would do)",
    )


def test_two_configurations_of_one_function() -> None:
    found = compare_launches(
        call(("_k_Kt1_A1f16_p16_I64", 1, 10.0)),
        call(("_k_Kt1_A1f16_p16_I64", 1, 10.0), ("_k_Kt1_A1f16_p16_I128", 1, 11.0)),
    )
    assert found.reasons[1] == (
        "kernel: one function under several symbols: two configurations are launched"
    )


@pytest.mark.parametrize(
    ("generated", "verdict"),
    [
        ([("k_entry", 1, 10.3)], "aligned"),
        ([("k_entry", 1, 13.0)], "slower kernel"),
        ([("k_entry", 1, 13.0), (FILL, 1, 1.0)], "both"),
        ([("Memcpy DtoD (Device -> Device)", 1, 1.0), ("k_entry", 1, 10.0)], "more launches"),
    ],
)
def test_verdicts(generated: list[tuple[str, int, float]], verdict: str) -> None:
    found = compare_launches(call(("_k_Kt1_A1f16_p16", 1, 10.0)), call(*generated))
    assert found.verdict == verdict
    assert found.rows[0].kind == "kernel"


def test_fewer_helpers_do_not_make_up_for_a_second_launch() -> None:
    reference = call(("_k_Kt1_A1f16_p16", 1, 10.0), (FILL, 3, 1.0))
    assert compare_launches(reference, call(("k_entry", 2, 10.0))).verdict == "more launches"
    library = call(("nvjet_sm90_hsh_256x128", 2, 10.0))
    assert compare_launches(library, call(("k_entry", 1, 10.0))).verdict == "fewer launches"


def test_fewer_launches() -> None:
    reference = call(("_k_Kt1_A1f16_p16", 1, 10.0), (FILL, 1, 1.0))
    assert compare_launches(reference, call(("k_entry", 1, 10.0))).verdict == "fewer launches"


def test_what_cannot_be_compared() -> None:
    k = ("k_entry", 1, 10.0)
    with pytest.raises(UsageError, match="reference: x:1 names no kernels"):
        compare_launches(call(), call(k))
    with pytest.raises(UsageError, match=r"measured by cupti, those of x:1 by nsys"):
        compare_launches(call(k), call(k, method="nsys"))
    with pytest.raises(UsageError, match="x:1 measures 8 forward, x:1 measures 8 backward"):
        compare_launches(call(k), call(k, direction="backward"))


def test_profiles_say_that_they_are() -> None:
    k = ("k_entry", 10, 10.0)
    profile = {"whole_profile": True, "method": "nsys"}
    found = compare_launches(call(k, **profile), call(k, **profile))
    assert found.reasons == ("launches are of whole profiles: both have to hold as many calls",)
