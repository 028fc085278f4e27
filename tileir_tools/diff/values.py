"""Comparing two values: from what is used down to the operations that differ.

Place in the flow: facts -> **findings**; imports `analyze`, `pair`, `rewrites`, `viewtypes`.
"""

from __future__ import annotations

from typing import NamedTuple

from ..analyze.dataflow import Flow, Node
from ..dialect import OPS
from ..model import (
    DenseElementsAttr,
    EnumAttr,
    Operation,
    TensorViewType,
    TileType,
    ViewType,
)
from ..write.literals import attribute_text, elements_text
from .finding import DIFFERS, EXTRA, MISSING, SEMANTIC_EQUIV
from .pair import Pair
from .rewrites import ALGEBRAIC, EXACT, Rewriter
from .viewtypes import view_differences

MMA = frozenset({"mmaf", "mmai", "mmaf_scaled"})
REDUCTIONS = frozenset({"reduce", "scan"})
CONVERSIONS = frozenset(
    {"ftof", "ftoi", "itof", "exti", "trunci", "bitcast", "int_to_ptr", "ptr_to_int", "ptr_to_ptr"}
)
_COMMUTATIVE = frozenset(name for name, spec in OPS.items() if "commutative" in spec.traits)

# Attribute -> rule, where the attribute alone decides.
_ATTRIBUTE_CODES = {
    "propagate_nan": "FLT005",
    "fast_acc": "MMA005",
    "signedness_lhs": "MMA005",
    "signedness_rhs": "MMA005",
    "reverse": "RED001",
    "identities": "RED002",
    "saturating": "CVT003",
    "value": "DFL002",
}


class Use(NamedTuple):
    """What two values are used for.

    `role` names it in a message; `code` is the rule that differences fall under, None to let the
    operation that differs decide; `reference` and `generated` are the operations that use them.
    """

    role: str
    code: str | None
    reference: Operation
    generated: Operation


def is_float_op(name: str) -> bool:
    spec = OPS.get(name)
    return spec is not None and any(o.constraint == "float" for o in spec.operands)


class Values:
    """Explains differences between values of two flows; reports each once."""

    def __init__(self, pair: Pair):
        self.pair = pair
        table = pair.reference.table
        self._exact = Rewriter(table, EXACT, pair.reference)
        self._algebra = Rewriter(table, {**EXACT, **ALGEBRAIC}, None)
        self._explained: set[tuple[int, int, str | None]] = set()

    def explain(self, reference: Node, generated: Node, use: Use) -> None:
        """Report in what two corresponding values differ; nothing where they are equal."""
        pending = [(reference, generated, use)]
        while pending:
            a, b, use = pending.pop()
            key = (a.id, b.id, use.code)
            if a is b or key in self._explained:
                continue
            self._explained.add(key)
            if not self._rewritten(a, b, use, pending):
                self._differ(a, b, use, pending)

    # -- equal by a rewrite -------------------------------------------------------------------------

    def _rewritten(
        self, a: Node, b: Node, use: Use, pending: list[tuple[Node, Node, Use]]
    ) -> bool:
        """Whether two nodes are one value in two spellings; reports it where the spellings part."""
        for rewriter, code, status in (
            (self._exact, "EQV001", SEMANTIC_EQUIV),
            (self._algebra, "ALG001", DIFFERS),
        ):
            if rewriter.rewrite(a) is not rewriter.rewrite(b):
                continue
            inner = _aligned(a, b)
            if inner and all(rewriter.rewrite(x) is rewriter.rewrite(y) for x, y in inner):
                pending += [(x, y, use) for x, y in inner]
                return True
            names = sorted(rewriter.used(a) ^ rewriter.used(b)) or sorted(rewriter.used(a))
            what = f"{use.role}: {', '.join(names) or 'another order of operations'}"
            self._report(code, status, what, a, b, use)
            return True
        return False

    # -- different ----------------------------------------------------------------------------------

    def _differ(self, a: Node, b: Node, use: Use, pending: list[tuple[Node, Node, Use]]) -> None:
        if a.name != b.name or a.is_leaf or b.is_leaf:
            self._different_operations(a, b, use, pending)
            return
        found = self._attributes(a, b, use)
        found += self._body(a, b, use, pending)
        if len(a.operands) != len(b.operands):
            self._report(
                self._code(a, "DFL003", use), DIFFERS,
                f"{use.role}: {a.name} reads {len(a.operands)} values in the reference and "
                f"{len(b.operands)} in the generated kernel", a, b, use,
            )
            return
        if self._swapped(a, b, use):
            return
        pairs = _pairs(a, b)
        different = [(x, y) for x, y in pairs if x is not y]
        for number, (x, y) in enumerate(pairs):
            if x is not y and not self._accumulator(a, number, x, y, use):
                pending.append((x, y, self._operand_use(a, b, number, use)))
        if a.type is not b.type and not (found or different):
            self._types(a, b, use)
        elif a.type is not b.type and isinstance(a.type, (ViewType, TensorViewType)):
            self._types(a, b, use)
        elif not found and not different:
            self._report(
                self._code(a, "DFL006", use), DIFFERS,
                f"{use.role}: {self._say(a, True)} in the reference, "
                f"{self._say(b, False)} in the generated kernel", a, b, use,
            )

    def _operand_use(self, a: Node, b: Node, number: int, use: Use) -> Use:
        """What an operand is used for, in the words of a message."""
        if use.code is not None:
            return use
        if a.name == "make_tensor_view" and number:
            return use._replace(role="size or stride of the tensor view", code="MEM009")
        left, right = self.pair.reference.op_of(a), self.pair.generated.op_of(b)
        if left is None or right is None:
            return use
        spec = OPS.get(a.name)
        name = spec.operands[number].name if spec and number < len(spec.operands) else "operand"
        return Use(f"{name} of {a.name}", None, left, right)

    def _attributes(self, a: Node, b: Node, use: Use) -> int:
        """Report attributes that differ; how many do."""
        left, right = dict(a.attributes), dict(b.attributes)
        names = [n for n in (*left, *(r for r in right if r not in left)) if not n.startswith("#")]
        count = 0
        for name in names:
            one, other = left.get(name), right.get(name)
            if one is other:
                continue
            count += 1
            code = self._attribute_code(a, b, name, use)
            if name == "value":
                message = f"{use.role}: constant {_constant(a)} in the reference, {_constant(b)} in the generated kernel"
            else:
                default = OPS[a.name].default(name) if a.name in OPS else None
                message = (
                    f"{use.role}: {name} of {a.name} is {_say_attribute(one or default)} in the "
                    f"reference and {_say_attribute(other or default)} in the generated kernel"
                )
            self._report(code, DIFFERS, message, a, b, use)
        return count

    def _attribute_code(self, a: Node, b: Node, name: str, use: Use) -> str:
        if name in ("rounding", "rounding_mode"):
            if a.name in CONVERSIONS:
                return "CVT003"
            if a.name == "divi":
                return "LOP007" if use.code == "LOP002" else use.code or "DFL004"
            return "FLT002"
        if name == "flush_to_zero":
            return "FLT003" if a.attribute(name) is not None else "FLT004"
        if name == "overflow":
            return "OVF001" if _promises_more(a, b) else "OVF002"
        if name == "dim" and a.name in REDUCTIONS:
            return "RED001"
        if name in _ATTRIBUTE_CODES and (name != "value" or use.code is None):
            return _ATTRIBUTE_CODES[name]
        if a.name in CONVERSIONS:
            return "CVT003"
        return use.code or "DFL004"

    def _body(self, a: Node, b: Node, use: Use, pending: list[tuple[Node, Node, Use]]) -> int:
        """The bodies of reductions; how many yielded values differ."""
        inside = Use(f"body of {a.name}", "RED003", use.reference, use.generated)
        different = [(x, y) for x, y in zip(a.body, b.body) if x is not y]
        pending += [(x, y, inside) for x, y in different]
        if len(a.body) != len(b.body):
            self._report("RED003", DIFFERS, f"body of {a.name} yields another number of values", a, b, use)
        return len(different)

    def _swapped(self, a: Node, b: Node, use: Use) -> bool:
        """Whether two operands stand in each other's place; reports it."""
        if a.name in _COMMUTATIVE:
            return False
        for i in range(len(a.operands)):
            for j in range(i + 1, len(a.operands)):
                x, y, u, v = a.operands[i], a.operands[j], b.operands[i], b.operands[j]
                if x is v and y is u and x is not y:
                    code = "MMA001" if a.name in MMA else self._code(a, "DFL003", use)
                    self._report(
                        code, DIFFERS, f"{use.role}: operands {i} and {j} of {a.name} are swapped", a, b, use
                    )
                    return True
        return False

    def _accumulator(self, a: Node, number: int, x: Node, y: Node, use: Use) -> bool:
        """Whether an mma accumulates into another value than the loop's; reports it."""
        if a.name not in MMA or number != 2 or "carried" not in (x.name, y.name):
            return False
        left, right = self._say(x, True), self._say(y, False)
        self._report(
            "MMA003", DIFFERS,
            f"accumulator of {a.name}: {left} in the reference, {right} in the generated kernel",
            a, x if x.name != "carried" else y, use,
        )
        return True

    def _types(self, a: Node, b: Node, use: Use) -> None:
        if isinstance(a.type, (ViewType, TensorViewType)) and isinstance(
            b.type, (ViewType, TensorViewType)
        ):
            for code, message in view_differences(a.type, b.type):
                self._report(code, DIFFERS, message, a, b, use)
            return
        code = "MMA002" if a.name in MMA else "CVT003" if a.name in CONVERSIONS else "DFL005"
        self._report(
            code, DIFFERS,
            f"{use.role}: {a.name} gives {a.type} in the reference and {b.type} in the generated kernel",
            a, b, use,
        )

    # -- other operations ---------------------------------------------------------------------------

    def _different_operations(
        self, a: Node, b: Node, use: Use, pending: list[tuple[Node, Node, Use]]
    ) -> None:
        if self._swizzle(a, b, use):
            return
        if not a.is_leaf and self._skips(a, b):
            self._report(self._missing_code(a, use, "CVT001"), MISSING,
                         f"{use.role}: {self._say(a, True)} is missing in the generated kernel", a, b, use)
            pending += [(x, b, use) for x in _inner(a, b)]
            return
        if not b.is_leaf and self._skips(b, a):
            self._report(self._missing_code(b, use, "CVT002"), EXTRA,
                         f"{use.role}: {self._say(b, False)} is not in the reference", a, b, use)
            pending += [(a, y, use) for y in _inner(b, a)]
            return
        if a.name == "constant" and b.name == "arg":
            self._report("ABI002", DIFFERS,
                         f"{use.role}: constant {_constant(a)} of the reference is a parameter of the generated kernel",
                         a, b, use)
            return
        code = self._replaced_code(a, b, use)
        self._report(code, DIFFERS,
                     f"{use.role}: {self._say(a, True)} in the reference, {self._say(b, False)} in the generated kernel",
                     a, b, use)

    def _skips(self, outer: Node, other: Node) -> bool:
        """Whether `outer` is one operation more on the way to the same value."""
        if any(x is other for x in outer.operands):
            return True
        if outer.name in CONVERSIONS and outer.operands:
            inner = outer.operands[0]
            return inner.name == other.name and not (inner.is_leaf and other.is_leaf)
        return False

    def _missing_code(self, node: Node, use: Use, conversion: str) -> str:
        if node.name in CONVERSIONS and use.code is None:
            return conversion
        return self._replaced_code(node, node, use)

    def _replaced_code(self, a: Node, b: Node, use: Use) -> str:
        if use.code is not None:
            return use.code
        names = {a.name, b.name}
        if names & MMA:
            return "MMA004"
        if names & REDUCTIONS:
            return "RED004"
        if use.role.split(" of ")[-1] in MMA and a.is_leaf and b.is_leaf:
            return "MMA001"
        if a.is_leaf and b.is_leaf:
            return "DFL006"
        if not a.is_leaf and is_float_op(a.name):
            return "FLT001"
        return "DFL001" if not a.is_leaf else "DFL006"

    def _swizzle(self, a: Node, b: Node, use: Use) -> bool:
        """A block id used as it is where the reference maps it through divisions."""
        if use.code != "MEM004" or b.name != "get_tile_block_id":
            return False
        names = {n.name for n in cone(a)}
        leaves = {n.name for n in cone(a) if n.is_leaf}
        if not ({"divi", "remi"} & names and "get_tile_block_id" in names) or leaves - {"arg"}:
            return False
        self._report("PRF001", DIFFERS,
                     f"{use.role}: the reference maps the block id to a tile, the generated kernel uses it as it is",
                     a, b, use)
        return True

    # -- words --------------------------------------------------------------------------------------

    def _code(self, a: Node, default: str, use: Use) -> str:
        if use.code is not None:
            return use.code
        if a.name in MMA:
            return "MMA001"
        return default

    def _say(self, node: Node, is_reference: bool) -> str:
        return say(node, self.pair.reference if is_reference else self.pair.generated)

    def _report(
        self, code: str, status: str, message: str, a: Node, b: Node, use: Use
    ) -> None:
        left = self.pair.reference.op_of(a) or use.reference
        right = self.pair.generated.op_of(b) or use.generated
        self.pair.report(code, status, message, left, right)


def say(node: Node, flow: Flow) -> str:
    """A value in the words of a message."""
    if node.name == "arg":
        return f"argument {node.detail[1]}" if isinstance(node.detail[1], int) else "a parameter of its own"
    if node.name == "index":
        return "the loop's index"
    if node.name == "carried":
        return f"carried value {node.detail[-1]} of the loop"
    if node.name == "param":
        return f"argument {node.detail[1]} of the body"
    if node.name == "result":
        effect = flow.by_label.get(node.detail[0])  # type: ignore[arg-type]
        return f"the result of {effect.name}" if effect else "the result of another operation"
    if node.name == "constant":
        return f"constant {_constant(node)}"
    if node.name == "get_tile_block_id":
        return f"block id {'xyz'[node.output]}"
    if node.name == "get_num_tile_blocks":
        return f"grid size {'xyz'[node.output]}"
    if node.name in CONVERSIONS:
        return f"{node.name} to {_element(node)}"
    return node.name


def _element(node: Node) -> str:
    return str(node.type.element) if isinstance(node.type, TileType) else str(node.type)


def _constant(node: Node) -> str:
    value = node.attribute("value")
    if not isinstance(value, DenseElementsAttr):
        return "?"
    text = elements_text(value)
    return f"{text if len(text) <= 40 else text[:37] + '...'} : {node.type}"


def _say_attribute(value: object) -> str:
    if value is None:
        return "absent"
    if isinstance(value, EnumAttr):
        return value.value
    text = attribute_text(value)  # type: ignore[arg-type]
    return "set" if text == "unit" else text


def _promises_more(a: Node, b: Node) -> bool:
    """Whether the generated operation's overflow flags promise something the reference's do not."""
    promises = {
        "none": set(),
        "no_signed_wrap": {"s"},
        "no_unsigned_wrap": {"u"},
        "no_wrap": {"s", "u"},
    }

    def of(node: Node) -> set[str]:
        found = node.attribute("overflow")
        return promises[found.value] if isinstance(found, EnumAttr) else set()

    return not of(b) <= of(a)


def _aligned(a: Node, b: Node) -> list[tuple[Node, Node]]:
    """Operand pairs that differ, where two nodes are the same operation; else nothing."""
    if a.name != b.name or a.attributes != b.attributes or len(a.operands) != len(b.operands):
        return []
    return [(x, y) for x, y in _pairs(a, b) if x is not y]


def _pairs(a: Node, b: Node) -> list[tuple[Node, Node]]:
    """Operands side by side; those of a commutative operation in the order that fits best."""
    straight = list(zip(a.operands, b.operands))
    if a.name not in _COMMUTATIVE or len(straight) != 2:
        return straight
    crossed = list(zip(a.operands, reversed(b.operands)))
    return max((straight, crossed), key=lambda pairs: sum(_closeness(x, y) for x, y in pairs))


def _closeness(x: Node, y: Node) -> int:
    if x is y:
        return 4
    return (x.name == y.name) + (x.type is y.type)


def _inner(outer: Node, other: Node) -> list[Node]:
    """Where comparing goes on below a missing or extra operation."""
    if any(x is other for x in outer.operands):
        return []
    return [outer.operands[0]]


def cone(node: Node) -> set[Node]:
    """A node and everything that it is computed from, leaves included."""
    found: set[Node] = set()
    pending = [node]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += one.operands
    return found


