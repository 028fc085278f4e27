"""The rules of comparing, as data: code, severity, owner, what it means, what to do.

Place in the flow: facts -> **findings**; imports nothing. `compare` decides which rule a difference
falls under; a policy can change severities. `tileir rules CODE` prints a row. The rows follow the
published judging policy: everything that changes what is computed or ordered is CRITICAL; what
costs speed without being contradicted is WARN; what is proven equal is INFO.
"""

from __future__ import annotations

from typing import NamedTuple

CRITICAL, WARN, INFO = "CRITICAL", "WARN", "INFO"
KERNEL, HOST = "kernel", "host"


CORRECTNESS, SPEED = "correctness", "speed"

# Rules of which a difference costs time but changes no result.
_SPEED_ONLY = frozenset(
    "MEM003 MEM011 MEM015 ASM002 ASM003 OVF002 DFL008 ABI002 PRF001 PRF002 PRF003 PRF004 PRF005".split()
)

# Which differences are named first where several are as severe: what the kernels are made of, then what they
# compute, then what usually follows from another difference.
_FIRST = ("ENT001 ABI001", "LOP001", "MEM001 MEM002 MEM003", "MMA002 MMA004", "RED004")
_LAST = ("LOP004", "MEM013")


class Rule(NamedTuple):
    """One rule: `owner` says who mends it, the kernel's code or the host code that launches it."""

    code: str
    severity: str
    owner: str
    title: str
    meaning: str
    action: str

    @property
    def impact(self) -> str:
        """What a difference touches: "correctness", or "speed" alone."""
        hint = self.code.startswith("HNT")
        return SPEED if hint or self.code in _SPEED_ONLY else CORRECTNESS

    @property
    def place(self) -> int:
        """Where a finding stands among those of its severity: causes before what follows from them."""
        for place, codes in enumerate((*_FIRST, "", *_LAST)):
            if self.code in codes:
                return place
        return len(_FIRST)


# One row, one rule: the formatter would give every field a line of its own.
# fmt: off
_ROWS = (
    # -- entries and parameters
    Rule("ENT001", CRITICAL, KERNEL, "entry missing",
         "The reference has a kernel that the generated module does not have.",
         "Generate the kernel, or compare with the module that holds it."),
    Rule("ENT002", WARN, KERNEL, "entry extra",
         "The generated module has a kernel that the reference does not have.",
         "Remove it, or check that nobody launches it in place of another."),
    Rule("ABI001", CRITICAL, HOST, "parameters differ",
         "The kernels take different parameters: number, order or types.",
         "Give the generated kernel the reference's parameter list."),
    Rule("ABI002", CRITICAL, HOST, "constant passed at run time",
         "A compile-time constant of the reference is a run-time parameter of the generated "
         "kernel: the compiler can neither unroll nor specialise on it.",
         "Make the parameter a compile-time constant."),
    # -- memory
    Rule("MEM001", CRITICAL, KERNEL, "memory operation missing",
         "A load, store or atomic of the reference has no counterpart.",
         "Add the access, with its ordering."),
    Rule("MEM002", CRITICAL, KERNEL, "memory operation extra",
         "The generated kernel accesses memory where the reference does not.",
         "Remove the access."),
    Rule("MEM003", CRITICAL, KERNEL, "memory family changed",
         "An access through a view became one through pointers or the other way round; the "
         "compiler moves data in another way (TMA against per-element loads).",
         "Use the reference's family."),
    Rule("MEM004", CRITICAL, KERNEL, "address differs",
         "The access touches other elements: its indices or pointers are computed differently.",
         "Make index or pointer arithmetic the reference's."),
    Rule("MEM005", CRITICAL, KERNEL, "tile shape differs",
         "The access moves a tile of another shape.",
         "Use the reference's tile shape."),
    Rule("MEM006", CRITICAL, KERNEL, "mask differs",
         "The mask of a pointer access is missing, extra or computed differently: elements beyond"
         " the tensor may be touched, or wanted ones left out.",
         "Mask the access as the reference does."),
    Rule("MEM007", CRITICAL, KERNEL, "padding differs",
         "Elements outside the tensor read as another value.",
         "Give the view, or the load, the reference's padding value."),
    Rule("MEM008", CRITICAL, KERNEL, "view maps other elements",
         "The view's kind, dim_map, traversal strides or sparse dimension differ.",
         "Make the view the reference's."),
    Rule("MEM009", CRITICAL, KERNEL, "tensor shape or strides differ",
         "The tensor view describes another tensor: sizes or strides differ.",
         "Build the tensor view from the same sizes and strides."),
    Rule("MEM010", CRITICAL, KERNEL, "inbounds promised",
         "The generated access promises to stay inside the tensor, the reference's does not: a "
         "wrong promise corrupts memory.",
         "Drop the promise unless it can be proven."),
    Rule("MEM011", WARN, KERNEL, "inbounds not promised",
         "The reference promises that an access stays inside the tensor, the generated one does "
         "not: the compiler keeps bounds checks.",
         "Promise it as the reference does."),
    Rule("MEM012", CRITICAL, KERNEL, "memory ordering or scope differs",
         "Ordering semantics or scope of an access differ.",
         "Use the reference's ordering and scope."),
    Rule("MEM013", CRITICAL, KERNEL, "order between accesses lost",
         "Tokens order two accesses of the reference that may touch the same memory; nothing "
         "orders them in the generated kernel.",
         "Thread the token of the first access into the second."),
    Rule("MEM014", CRITICAL, KERNEL, "atomic operation differs",
         "The atomic combines values in another way.",
         "Use the reference's mode."),
    Rule("MEM015", WARN, KERNEL, "load moved across a loop",
         "A load stands in another loop than in the reference.",
         "Put it where the reference has it."),
    Rule("MEM016", CRITICAL, KERNEL, "access moved across a loop, branch or exit",
         "A store or atomic is executed another number of times, or an access of any kind is "
         "executed under another condition.",
         "Put it where the reference has it."),
    # -- matrix products
    Rule("MMA001", CRITICAL, KERNEL, "mma operands differ",
         "A matrix product multiplies other operands, or the same ones in another order.",
         "Pass the reference's operands in its order."),
    Rule("MMA002", CRITICAL, KERNEL, "mma types differ",
         "Operand or accumulator type of a matrix product differ: precision and speed change.",
         "Use the reference's types; convert as it does."),
    Rule("MMA003", CRITICAL, KERNEL, "mma accumulator differs",
         "The accumulator is another value; typically it is not the one that the loop carries.",
         "Accumulate into the value that the loop carries."),
    Rule("MMA004", CRITICAL, KERNEL, "mma missing or replaced",
         "A matrix product of the reference is something else in the generated kernel.",
         "Use the reference's operation."),
    Rule("MMA005", CRITICAL, KERNEL, "mma mode differs",
         "fast_acc or the signedness of a matrix product differs.",
         "Use the reference's mode."),
    # -- reductions
    Rule("RED001", CRITICAL, KERNEL, "reduction dimension differs",
         "A reduce or scan runs along another dimension, or in the other direction.",
         "Reduce along the reference's dimension and direction."),
    Rule("RED002", CRITICAL, KERNEL, "reduction identity differs",
         "A reduce or scan starts from another identity.",
         "Use the reference's identity."),
    Rule("RED003", CRITICAL, KERNEL, "reduction body differs",
         "A reduce or scan combines elements in another way.",
         "Use the reference's combination."),
    Rule("RED004", CRITICAL, KERNEL, "reduction missing or replaced",
         "A reduce or scan of the reference is something else in the generated kernel.",
         "Use the reference's operation."),
    # -- arithmetic
    Rule("FLT001", CRITICAL, KERNEL, "floating-point operation replaced",
         "A floating-point operation is missing, extra or another one.",
         "Use the reference's operation."),
    Rule("FLT002", CRITICAL, KERNEL, "rounding differs",
         "A floating-point operation rounds differently (approx, full, directed).",
         "Use the reference's rounding mode."),
    Rule("FLT003", CRITICAL, KERNEL, "flush_to_zero dropped",
         "The reference flushes subnormal numbers, the generated operation does not: results and "
         "speed differ.",
         "Set flush_to_zero."),
    Rule("FLT004", CRITICAL, KERNEL, "flush_to_zero added",
         "The generated operation flushes subnormal numbers, the reference's does not.",
         "Drop flush_to_zero."),
    Rule("FLT005", CRITICAL, KERNEL, "NaN handling differs",
         "propagate_nan differs on a maximum or minimum.",
         "Set propagate_nan as the reference does."),
    Rule("CVT001", CRITICAL, KERNEL, "conversion missing",
         "A conversion of the reference is missing: for ftof to tf32 before mmaf, or to a narrower "
         "type before a store, precision and speed change.",
         "Convert where the reference converts."),
    Rule("CVT002", CRITICAL, KERNEL, "conversion extra",
         "The generated kernel converts where the reference does not.",
         "Remove the conversion."),
    Rule("CVT003", CRITICAL, KERNEL, "conversion differs",
         "A conversion goes to another type, rounds or saturates differently, or reads the sign "
         "differently.",
         "Convert as the reference does."),
    # -- control flow
    Rule("LOP001", CRITICAL, KERNEL, "loop missing, extra or of another kind",
         "A loop has no counterpart, or a bounded `for` stands against an unbounded `loop`.",
         "Use the reference's loop structure."),
    Rule("LOP002", CRITICAL, KERNEL, "loop bound differs",
         "Lower or upper bound of a loop differs: it runs over other iterations.",
         "Use the reference's bounds."),
    Rule("LOP003", CRITICAL, KERNEL, "loop step differs",
         "The step of a loop differs.",
         "Use the reference's step."),
    Rule("LOP004", CRITICAL, KERNEL, "carried value differs",
         "A loop carries another value: its start, its update or its number differ.",
         "Carry the reference's values."),
    Rule("LOP005", CRITICAL, KERNEL, "branch differs",
         "A branch is missing, extra or taken on another condition.",
         "Branch as the reference does."),
    Rule("LOP006", CRITICAL, KERNEL, "control leaves elsewhere",
         "A return, break, continue or yield is missing, extra or gives other values.",
         "Leave the region as the reference does."),
    Rule("LOP007", CRITICAL, KERNEL, "trip count rounds differently",
         "A loop bound is a quotient that one kernel rounds up and the other down: the ragged "
         "tail is lost or run twice.",
         "Round the quotient as the reference does."),
    # -- dataflow
    Rule("DFL001", CRITICAL, KERNEL, "operation replaced",
         "A value is computed by another operation.",
         "Use the reference's operation."),
    Rule("DFL002", CRITICAL, KERNEL, "constant differs",
         "A constant has another value or shape.",
         "Use the reference's constant."),
    Rule("DFL003", CRITICAL, KERNEL, "operands swapped or different",
         "An operation reads other operands, or the same ones in another order.",
         "Pass the reference's operands in its order."),
    Rule("DFL004", CRITICAL, KERNEL, "attribute differs",
         "Predicate, signedness, permutation, dimension or another attribute of an operation "
         "differs.",
         "Use the reference's attribute."),
    Rule("DFL005", CRITICAL, KERNEL, "shape or type differs",
         "A value has another shape or element type.",
         "Use the reference's shape and type."),
    Rule("DFL006", CRITICAL, KERNEL, "other source",
         "A value comes from another argument, load, loop or block id.",
         "Read the value that the reference reads."),
    Rule("DFL007", CRITICAL, KERNEL, "print or assert differs",
         "A print or assert is missing, extra or says something else.",
         "Print and assert as the reference does."),
    Rule("DFL008", WARN, KERNEL, "assert added",
         "The generated kernel asserts something that the reference does not; inside a loop that "
         "costs time in every iteration.",
         "Remove the assert from the generated kernel."),
    Rule("OPQ001", WARN, KERNEL, "unknown operation compared by text",
         "An operation that this version does not know has equal text on both sides.",
         "Update tileir-tools, or check the operation by hand."),
    Rule("OPQ002", CRITICAL, KERNEL, "unknown operation differs",
         "An operation that this version does not know differs in its text.",
         "Update tileir-tools, or check the operation by hand."),
    # -- promises
    Rule("ASM001", CRITICAL, KERNEL, "promise added",
         "The generated kernel assumes something that the reference does not assume about the same "
         "value and that does not follow from the code: if it is false, results are corrupted.",
         "Drop the assume, or have the host guarantee it."),
    Rule("ASM002", CRITICAL, KERNEL, "pointer divisibility lost",
         "The reference promises a pointer's alignment; the generated kernel does not, and "
         "accesses memory through raw pointers: loads cannot be vectorised.",
         "Assume div_by on the pointer as the reference does."),
    Rule("ASM003", WARN, KERNEL, "promise missing",
         "An assume of the reference is missing.",
         "Assume what the reference assumes."),
    Rule("ASM004", INFO, KERNEL, "promise that follows from the code",
         "The generated kernel assumes something that follows from the code, such as a block id "
         "that is not negative.",
         "Nothing to do."),
    Rule("OVF001", CRITICAL, KERNEL, "overflow promise added",
         "The generated operation promises that it does not overflow, the reference's does not.",
         "Drop the overflow flag."),
    Rule("OVF002", WARN, KERNEL, "overflow promise missing",
         "The reference promises that an operation does not overflow, the generated one does not.",
         "Set the overflow flag as the reference does."),
    # -- hints
    Rule("HNT001", CRITICAL, HOST, "entry hint contradicted",
         "occupancy, num_cta_in_cga or num_worker_warps_per_cta have different explicit values.",
         "Launch with the reference's value."),
    Rule("HNT002", WARN, HOST, "entry hint missing",
         "The reference sets an entry hint that the generated kernel does not set.",
         "Set the hint."),
    Rule("HNT003", WARN, HOST, "entry hint extra",
         "The generated kernel sets an entry hint that the reference does not set.",
         "Remove the hint, or measure that it helps."),
    Rule("HNT004", CRITICAL, KERNEL, "latency differs inside a loop",
         "The latency hint of an access inside a loop differs (absent is a value of its own): it "
         "decides how deep the compiler pipelines. Measured: latency 1 costs 2.2x.",
         "Set the reference's latency, or remove it where the reference has none."),
    Rule("HNT005", WARN, KERNEL, "latency differs outside loops",
         "The latency hint of an access outside loops differs.",
         "Set the reference's latency."),
    Rule("HNT006", CRITICAL, KERNEL, "TMA forbidden",
         "allow_tma is true in the reference (absent means true) and false in the generated "
         "kernel. Measured: it costs 10x.",
         "Allow TMA."),
    Rule("HNT007", WARN, KERNEL, "TMA allowed",
         "allow_tma is false in the reference and true in the generated kernel.",
         "Forbid TMA as the reference does, or measure that it helps."),
    Rule("HNT008", WARN, KERNEL, "unknown hint differs",
         "A hint that this version does not know differs.",
         "Set the reference's hint."),
    Rule("HNT009", INFO, KERNEL, "hint that cutile-rs cannot say is absent",
         "The reference gives `simt_num_warps_in_cta` or `tensor_dim_factor`, the generated kernel does not: "
         "there is no way to write it there.",
         "Nothing to do."),
    # -- speed without a change of meaning
    Rule("PRF001", WARN, KERNEL, "block swizzle missing",
         "The reference maps block ids to tiles through divisions and remainders for cache reuse; "
         "the generated kernel uses the block id as it is.",
         "Map block ids as the reference does."),
    Rule("PRF002", WARN, KERNEL, "computed inside a loop",
         "A value that the reference computes outside a loop is computed inside it.",
         "Hoist the computation."),
    Rule("PRF003", WARN, KERNEL, "view made inside a loop",
         "A view that the reference makes outside a loop is made inside it.",
         "Hoist the view."),
    Rule("PRF004", WARN, KERNEL, "size or stride in another form",
         "A size or stride is part of the tensor view's type in one kernel and a run-time value in "
         "the other, and it is the same number, or it is the last stride, which is the constant 1 "
         "in the reference.",
         "Give sizes and strides where the reference gives them."),
    Rule("PRF005", WARN, KERNEL, "dimensions mapped in another form",
         "The same elements are accessed, but what the view's dim_map does in one kernel, a permute of the "
         "tile or a turned tensor view does in the other.",
         "Map dimensions where the reference does: a view that transposes saves the permute."),
    # -- rewrites
    Rule("ALG001", WARN, KERNEL, "algebra spelled differently",
         "The same formula is written with other operations (negation moved, subtraction as "
         "addition, division as multiplication, reassociation, fma split or fused): rounding may "
         "differ.",
         "Write it as the reference does where bits matter."),
    Rule("EQV001", INFO, KERNEL, "proven equal",
         "Another spelling of the same value (division that rounds up, minimum by comparison, "
         "index space, remainder of a non-negative value, comparison turned around or inverse, constants "
         "computed, a neutral element, arithmetic before a change of shape), or of the same address "
         "(another kind of view, a wider index).",
         "Nothing to do."),
)
# fmt: on

RULES: dict[str, Rule] = {rule.code: rule for rule in _ROWS}
