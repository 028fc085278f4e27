"""The numbers of the bytecode format: opcodes, tags, sections, and what each version encodes.

Place in the flow: data that the bytecode reader and writer consult; imports nothing. Source of the facts:
the public reader (NVIDIA/cuda-tile, 13.3) and the encoder of cuda-tile 1.7.0 for 13.4 and 13.5.
"""

from __future__ import annotations

MAGIC = b"\x7fTileIR\x00"
PADDING = b"\xcb"

# Section number -> name.
SECTIONS: dict[int, str] = {
    1: "String",
    2: "Func",
    3: "Debug",
    4: "Constant",
    5: "Type",
    6: "Global",
    7: "Producer",
}
# Section name -> alignment in bytes that the format demands.
SECTION_ALIGNMENT: dict[str, int] = {"String": 4, "Type": 4, "Func": 8, "Debug": 8, "Constant": 8}

# Bits of a function's flag byte.
FUNCTION_PRIVATE, FUNCTION_ENTRY, FUNCTION_HINTS = 1, 2, 4

# Mnemonic -> opcode. Numbers are never reused.
OPCODES: dict[str, int] = {
    name: number
    for number, name in (
        *enumerate(
            (
                "absf absi addf addi andi assert assume atomic_cas_tko atomic_rmw_tko bitcast break "
                "broadcast cat ceil cmpf cmpi constant continue cos cosh divf divi entry exp exp2"
            ).split()
        ),
        *enumerate(
            (
                "exti extract floor fma for ftof ftoi get_global get_index_space_shape "
                "get_num_tile_blocks get_tensor_shape get_tile_block_id global if int_to_ptr"
            ).split(),
            0x25,
        ),
        *enumerate(
            (
                "iota itof join_tokens load_ptr_tko load_view_tko log log2 loop make_partition_view "
                "make_tensor_view make_token maxf maxi minf mini mmaf mmai module mulf mulhii muli "
                "negf negi offset ori permute fpowf print_tko ptr_to_int ptr_to_ptr reduce remf remi "
                "reshape return rsqrt scan select shli shri sin sinh sqrt store_ptr_tko "
                "store_view_tko subf subi tan tanh trunci xori yield atan2 pack unpack alloca "
                "mmaf_scaled make_gather_scatter_view make_strided_view atomic_red_view_tko insert "
                "gdc_launch_dependents_tko gdc_wait_tko fpowi memory_fence_alias_tko "
                "multimem_load_reduce_view_tko multimem_reduce_view_tko multimem_store_view_tko"
            ).split(),
            0x3A,
        ),
    )
}

# Element type name -> (tag, version that brought it).
ELEMENT_TAGS: dict[str, tuple[int, str]] = {
    "i1": (0x00, "13.1"),
    "i8": (0x01, "13.1"),
    "i16": (0x02, "13.1"),
    "i32": (0x03, "13.1"),
    "i64": (0x04, "13.1"),
    "f16": (0x05, "13.1"),
    "bf16": (0x06, "13.1"),
    "f32": (0x07, "13.1"),
    "tf32": (0x08, "13.1"),
    "f64": (0x09, "13.1"),
    "f8E4M3FN": (0x0A, "13.1"),
    "f8E5M2": (0x0B, "13.1"),
    "f8E8M0FNU": (0x12, "13.2"),
    "f4E2M1FN": (0x13, "13.3"),
    "i4": (0x16, "13.3"),
    "fnv8E5M3FNU": (0x82, "13.4"),
}
# Kind of composite type -> (tag, version that brought it).
TYPE_TAGS: dict[str, tuple[int, str]] = {
    "ptr": (0x0C, "13.1"),
    "tile": (0x0D, "13.1"),
    "tensor_view": (0x0E, "13.1"),
    "partition_view": (0x0F, "13.1"),
    "function": (0x10, "13.1"),
    "token": (0x11, "13.1"),
    "gather_scatter_view": (0x14, "13.3"),
    "strided_view": (0x15, "13.3"),
}
# From this version on types with optional parts carry a word of flags.
TYPE_FLAGS_SINCE = "13.3"
# From this version on pointers and tensor views can carry an attribute (and then flags).
POINTER_ATTRIBUTE_SINCE = "13.4"
POINTER_ATTRIBUTES: tuple[str, ...] = ("none", "unicast", "multicast")
# Pointer attribute -> the version that brought it.
POINTER_ATTRIBUTES_SINCE = {"none": "13.4", "unicast": "13.5", "multicast": "13.5"}

# Kind of attribute -> tag.
ATTRIBUTE_TAGS: dict[str, int] = {
    "integer": 1,
    "float": 2,
    "bool": 3,
    "type": 4,
    "string": 5,
    "array": 6,
    "dense": 7,
    "div_by": 8,
    "same_elements": 9,
    "dict": 10,
    "hints": 11,
    "bounded": 12,
}

# Kind of debug-info record -> tag.
DEBUG_TAGS: dict[str, int] = {
    "compile_unit": 1,
    "file": 2,
    "lexical_block": 3,
    "loc": 4,
    "subprogram": 5,
    "callsite": 6,
}

# Versions that brought what is encoded outside of operations.
GLOBAL_FLAGS_SINCE = "13.3"
PRODUCER_SINCE = "13.3"
# From 13.5 an entry's hints are always encoded, and its argument attributes, and subprograms have flags.
ENTRY_ATTRIBUTES_SINCE = "13.5"


def version_key(version: str) -> tuple[int, int]:
    """`13.4` -> (13, 4), for comparing."""
    major, _, minor = version.partition(".")
    return int(major), int(minor)
