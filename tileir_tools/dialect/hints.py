"""Optimization hints: targets, keys, which operation takes which key, what an absent key means.

Place in the flow: data that verify, analyze and diff consult; imports nothing. Source of the facts: the
hints attribute of the dialect's public table and its op reference (NVIDIA/cuda-tile, 13.3).
"""

from __future__ import annotations

# The targets that hints may name, oldest first.
ARCHES: tuple[str, ...] = (
    "sm_80",
    "sm_86",
    "sm_87",
    "sm_88",
    "sm_89",
    "sm_90",
    "sm_100",
    "sm_103",
    "sm_110",
    "sm_120",
    "sm_121",
)

# The key that holds for every target that has no value of its own (from 13.3).
DEFAULT_KEY = "default"

# op mnemonic -> hint keys it takes.
HINT_KEYS: dict[str, tuple[str, ...]] = {
    "entry": ("num_cta_in_cga", "num_worker_warps_per_cta", "occupancy"),
    "load_view_tko": ("allow_tma", "latency"),
    "store_view_tko": ("allow_tma", "latency"),
    "load_ptr_tko": ("latency",),
    "store_ptr_tko": ("latency",),
}

# Hint keys that are booleans; the others are integers.
BOOLEAN_HINTS = frozenset({"allow_tma"})

# What the compiler does where a key is absent. `allow_tma` is the only key with a value of its own
# for that; an absent latency or occupancy lets the compiler choose.
ABSENT_MEANS: dict[str, bool] = {"allow_tma": True}
