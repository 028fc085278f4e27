"""How the subject of a rule is written in source: cuTile-Python and cutile-rs.

Place in the flow: data beside `rules`; imports nothing. Sources of the spellings: the signatures of cuda-tile
1.7 (`ct.load`, `ct.store`, `ct.kernel`), and the documented cutile-rs API (`load_view_tko`, `CompileOptions`).
"""

from __future__ import annotations

from typing import NamedTuple


class Construct(NamedTuple):
    """The same thing in both languages."""

    cutile: str
    cutile_rs: str


_ENTRY = Construct(
    "@ct.kernel(occupancy=.., num_ctas=.., num_worker_warps=..)",
    "CompileOptions::default().occupancy(..).num_cta_in_cga(..), passed with .compile_options(..)",
)
_LATENCY = Construct(
    "latency= of ct.load, ct.store, ct.gather, ct.scatter",
    "the latency argument: Some(n) or None of load_view_tko, Latency::<n> of load_ptr_tko",
)
_TMA = Construct(
    "allow_tma= of ct.load and ct.store", "tma::Enabled or tma::Disabled of the access"
)
_PADDING = Construct("padding_mode=ct.PaddingMode.ZERO and the like", "padding:: of the partition")
_INDEX = Construct(
    "index= of ct.load and ct.store", "the index array of load_view_tko and store_view_tko_mut"
)
_TILE = Construct("shape= of ct.load", "the tile of .partition(..)")
_ORDER = Construct(
    "order= of ct.load and ct.store; ct.permute, ct.transpose",
    ".partition_permuted(tile, const_array![..])",
)
_MEMORY_ORDER = Construct("memory_order= and memory_scope=", "the ordering:: and scope:: arguments")
_BOUNDS = Construct("check_bounds=", "unchecked_accesses of #[cutile::entry(..)]")
_MASK = Construct(
    "mask= and check_bounds= of ct.gather and ct.scatter", "the mask argument: Some(mask)"
)
_MMA = Construct("ct.mma(a, b, acc)", "mmaf(a, b, acc)")
_REDUCE = Construct(
    "ct.sum, ct.max, ct.reduce with axis=", "reduce_sum(x, dim), reduce_max(x, dim)"
)
_ASTYPE = Construct("ct.astype(x, dtype)", "convert_tile(x)")
_ROUNDING = Construct("rounding_mode=", "the rounding:: argument")
_FLUSH = Construct("flush_to_zero=", "ftz::Enabled or ftz::Disabled")
_DIVISIBLE = Construct(
    "ct.assume_divisible_by", "unsafe { assume_div_by::<_, 16>(x) }, pointers only"
)
_CONSTANT = Construct("a ct.Constant[int] parameter", "a const generic of the entry")
_CEILING = Construct("ct.cdiv, ct.num_tiles", "(a + b - 1) / b, or get_index_space_shape")
_LOOP = Construct("for i in range(..)", "for i in 0i32..n, .step_by(..)")
_BID = Construct("ct.bid(axis)", "get_tile_block_id()")
_FAMILY = Construct("ct.load against ct.gather", "a &Tensor parameter against *mut E")
_VIEW = Construct("the array that ct.load reads", ".partition(..) outside of the loop")

CONSTRUCTS: dict[str, Construct] = {
    "ABI002": _CONSTANT,
    "MEM003": _FAMILY,
    "MEM004": _INDEX,
    "MEM005": _TILE,
    "MEM006": _MASK,
    "MEM007": _PADDING,
    "MEM008": _ORDER,
    "MEM010": _BOUNDS,
    "MEM011": _BOUNDS,
    "MEM012": _MEMORY_ORDER,
    "MMA001": _MMA,
    "MMA002": _MMA,
    "MMA003": _MMA,
    "RED001": _REDUCE,
    "RED002": _REDUCE,
    "RED003": _REDUCE,
    "FLT002": _ROUNDING,
    "FLT003": _FLUSH,
    "FLT004": _FLUSH,
    "CVT001": _ASTYPE,
    "CVT002": _ASTYPE,
    "CVT003": _ASTYPE,
    "LOP001": _LOOP,
    "LOP002": _LOOP,
    "LOP003": _LOOP,
    "LOP007": _CEILING,
    "DFL006": _BID,
    "ASM001": _DIVISIBLE,
    "ASM002": _DIVISIBLE,
    "ASM003": _DIVISIBLE,
    "HNT001": _ENTRY,
    "HNT002": _ENTRY,
    "HNT003": _ENTRY,
    "HNT004": _LATENCY,
    "HNT005": _LATENCY,
    "HNT006": _TMA,
    "HNT007": _TMA,
    "PRF001": _BID,
    "PRF003": _VIEW,
}
