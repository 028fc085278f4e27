"""Comparing two values: from what is used down to the operations that differ.

Place in the flow: facts -> **findings**; imports `analyze`, `codes`, `pair`, `rewrites`, `swizzle`,
`viewtypes`, `words`.
"""

from __future__ import annotations

from typing import NamedTuple

from ..analyze.dataflow import Flow, Node, is_commutative
from ..dialect import OPS
from ..model import DenseElementsAttr, Operation, TensorViewType, ViewType
from .codes import attribute_code, default_code, gone_code, replaced_code
from .finding import DIFFERS, EXTRA, MISSING, SEMANTIC_EQUIV
from .pair import Pair
from .rewrites import ALGEBRAIC, CONDITIONAL, EXACT, Rewriter, reassociated
from .swizzle import Swizzles
from .viewtypes import size_difference, sizes_of, tensor_differences, view_differences
from .words import (
    CONVERSIONS,
    constant_difference,
    element_text,
    functions_read,
    say,
    say_attribute,
    shape_text,
)

_MMA = ("mmaf", "mmai", "mmaf_scaled")
_TILE_VIEWS = ("make_partition_view", "make_strided_view", "make_gather_scatter_view")
_VIEW_QUERIES = ("get_index_space_shape", "get_tensor_shape")


class Use(NamedTuple):
    """What two corresponding values are used for.

    `role` names it in a message; `code` is the rule that differences fall under, None to let the
    operation that differs decide; `reference` and `generated` are the operations that read the
    values; `padding` says whether the padding of a view can be seen; `root` is the operation of the
    reference that something happens in.
    """

    role: str
    code: str | None
    reference: Operation
    generated: Operation
    padding: bool = True
    root: Operation | None = None


Pending = list[tuple[Node, Node, Use]]


class Values:
    """Explains differences between values of two flows; reports each once."""

    def __init__(self, pair: Pair):
        self.pair = pair
        table = pair.reference.table
        self.swizzles = Swizzles(pair)
        self._exact = Rewriter(table, EXACT, pair.reference)
        unasked = Rewriter(table, CONDITIONAL, None)
        self._algebra = Rewriter(table, ALGEBRAIC, None, unasked)
        self._explained: set[tuple[int, int, str | None, bool]] = set()

    def spelling(self, node: Node) -> Node:
        """The node that stands for all spellings of one value."""
        return self._exact.rewrite(node)

    def explain(self, reference: Node, generated: Node, use: Use) -> None:
        """Report in what two corresponding values differ; nothing where they are equal."""
        pending: Pending = [(reference, generated, use._replace(root=use.reference))]
        while pending:
            a, b, use = pending.pop()
            key = (a.id, b.id, use.code, use.padding)
            if a is b or key in self._explained:
                continue
            self._explained.add(key)
            if not self._rewritten(a, b, use, pending):
                self._differ(a, b, use, pending)

    # -- equal by a rewrite ------------------------------------------------------------------------

    def _rewritten(self, a: Node, b: Node, use: Use, pending: Pending) -> bool:
        """Whether two nodes are one value in two spellings; reports where the spellings part."""
        for rewriter, code, status in (
            (self._exact, "EQV001", SEMANTIC_EQUIV),
            (self._algebra, "ALG001", DIFFERS),
        ):
            if rewriter.rewrite(a) is not rewriter.rewrite(b):
                continue
            inner = _aligned(a, b)
            if inner and all(rewriter.rewrite(x) is rewriter.rewrite(y) for x, y in inner):
                inside = self._inside(a, b, use)
                pending += [(x, y, inside) for x, y in inner]
                return True
            names = sorted(rewriter.used(a) ^ rewriter.used(b)) or sorted(rewriter.used(a))
            self._report(code, status, ", ".join(names) or "spelled differently", a, b, use)
            return True
        if reassociated(self._algebra.rewrite(a), self._algebra.rewrite(b)):
            self._report("ALG001", DIFFERS, "reassociation", a, b, use)
            return True
        return False

    # -- different ---------------------------------------------------------------------------------

    def _differ(self, a: Node, b: Node, use: Use, pending: Pending) -> None:
        if a.name != b.name or a.is_leaf:
            self._different_operations(a, b, use, pending)
        elif a.name == "make_tensor_view":
            self._tensors(a, b, use, pending)
        elif len(a.operands) != len(b.operands):
            counts = f"{len(a.operands)} values in the reference and {len(b.operands)}"
            text = f"{a.name} reads {counts} in the generated kernel"
            self._report(default_code(a, "DFL003", use.code), DIFFERS, text, a, b, use)
        else:
            self._same_operation(a, b, use, pending)

    def _same_operation(self, a: Node, b: Node, use: Use, pending: Pending) -> None:
        """One operation on both sides: attributes, body, operands, type."""
        if a.attribute("#text") is not b.attribute("#text"):
            text = f"operation '{a.name}' is not known; its text differs"
            self._report("OPQ002", DIFFERS, text, a, b, use)
            return
        self._product_types(a, b, use)
        found = self._attributes(a, b, use) + self._body(a, b, use, pending)
        if self._swapped(a, b, use):
            return
        pairs = _pairs(a, b)
        different = [(k, x, y) for k, (x, y) in enumerate(pairs) if x is not y]
        for number, x, y in different:
            if not self._accumulator(a, b, number, x, y, use):
                pending.append((x, y, self._operand_use(a, b, number, use)))
        if a.type is not b.type and a.name != "constant":
            # Where the operands' types differ too, this is what follows.
            if isinstance(a.type, ViewType) or all(x.type is y.type for _, x, y in different):
                self._types(a, b, use)
        elif not found and not different:
            text = f"{self._say(a)} in the reference, {self._say(b, False)} in the generated kernel"
            self._report(default_code(a, "DFL006", use.code), DIFFERS, text, a, b, use)

    def _inside(self, a: Node, b: Node, use: Use) -> Use:
        """The use for operands: the operations that compute the two nodes read them."""
        left = self.pair.reference.op_of(a, use.reference) or use.reference
        right = self.pair.generated.op_of(b, use.generated) or use.generated
        padding = use.padding and a.name not in _VIEW_QUERIES
        return use._replace(reference=left, generated=right, padding=padding)

    def _operand_use(self, a: Node, b: Node, number: int, use: Use) -> Use:
        """What an operand is used for, in the words of a message."""
        inside = self._inside(a, b, use)
        if use.code is not None:
            return inside
        spec = OPS.get(a.name)
        name = spec.operands[number].name if spec and number < len(spec.operands) else "operand"
        return inside._replace(role=f"{name} of {a.name}")

    def _attributes(self, a: Node, b: Node, use: Use) -> int:
        """Report attributes that differ; how many do."""
        left, right = dict(a.attributes), dict(b.attributes)
        names = [n for n in dict.fromkeys((*left, *right)) if not n.startswith("#")]
        different = [n for n in names if left.get(n) is not right.get(n)]
        for name in different:
            code = attribute_code(a, b, name, use.code)
            if name == "value" and a.type is not b.type and _same_elements(a, b):
                self._shapes(code, a, b, use)
                continue
            if name in ("value", "global"):
                text = constant_difference(a, b)
            else:
                default = OPS[a.name].default(name) if a.name in OPS else None
                one = say_attribute(left.get(name, default))
                other = say_attribute(right.get(name, default))
                text = f"{name} of {a.name} is {one} in the reference and {other}"
                text += " in the generated kernel"
            self._report(code, DIFFERS, text, a, b, use)
        return len(different)

    def _body(self, a: Node, b: Node, use: Use, pending: Pending) -> int:
        """The bodies of reductions; how many yielded values differ."""
        inside = self._inside(a, b, use)._replace(role=f"body of {a.name}", code="RED003")
        different = [(x, y) for x, y in zip(a.body, b.body, strict=False) if x is not y]
        if different and sorted(n.id for n in a.body) == sorted(n.id for n in b.body):
            text = f"body of {a.name} yields its values in another order"
            self._report("RED003", DIFFERS, text, a, b, use)
            return len(different)
        pending += [(x, y, inside) for x, y in different]
        if len(a.body) != len(b.body):
            text = f"body of {a.name} yields another number of values"
            self._report("RED003", DIFFERS, text, a, b, use)
        return len(different)

    def _swapped(self, a: Node, b: Node, use: Use) -> bool:
        """Whether two operands stand in each other's place; reports it."""
        if _commutes(a) or _commutes(b):
            return False
        places = [k for k, x in enumerate(a.operands) if x is not b.operands[k]]
        left, right = ([n.operands[k].id for k in places] for n in (a, b))
        if not places or sorted(left) != sorted(right):
            return False
        shown = " and ".join(map(str, places)) if a.name != "fma" else "of factors and addend"
        text = f"operands {shown} of {a.name} stand in another order"
        self._report(default_code(a, "DFL003", use.code), DIFFERS, text, a, b, use)
        return True

    def _accumulator(self, a: Node, b: Node, number: int, x: Node, y: Node, use: Use) -> bool:
        """Whether an mma accumulates into another value than the loop's; reports it."""
        if a.name not in _MMA or number != 2 or "carried" not in (x.name, y.name):
            return False
        if _same_leaf(x, y):
            return False
        text = f"accumulator of {a.name} is {self._say(x)} in the reference and "
        text += f"{self._say(y, False)} in the generated kernel"
        self._report("MMA003", DIFFERS, text, a, b, use)
        return True

    def _product_types(self, a: Node, b: Node, use: Use) -> None:
        """Report that a matrix product reads values of other types, conversions aside."""
        spec = OPS.get(a.name)
        if a.name not in _MMA or spec is None:
            return
        for row, x, y in zip(spec.operands, a.operands, b.operands, strict=True):
            one, other = element_text(x), element_text(y)
            if one != other and not {x.name, y.name} & CONVERSIONS:
                text = f"{row.name} of {a.name} holds {one} in the reference and {other} in the "
                text += "generated kernel"
                self._report("MMA002", DIFFERS, text, a, b, use._replace(role=""))

    def _types(self, a: Node, b: Node, use: Use) -> None:
        if isinstance(a.type, ViewType) and isinstance(b.type, ViewType):
            for code, message in view_differences(a.type, b.type, use.padding):
                self._report(code, DIFFERS, message, a, b, use._replace(role=""))
            return
        if a.name in CONVERSIONS:
            text = f"{a.name} gives {a.type} in the reference and {b.type} in the generated kernel"
            self._report("CVT003", DIFFERS, text, a, b, use)
        else:
            self._shapes("DFL005", a, b, use)

    def _shapes(self, code: str, a: Node, b: Node, use: Use) -> None:
        """Report another type; the same change in several places is one finding."""
        one, other = shape_text(a.type), shape_text(b.type)
        what = "shape"
        if one == other:
            what, one, other = "type", str(a.type), str(b.type)
        text = f"{what} is {one} in the reference and {other} in the generated kernel"
        left = _place(self.pair.reference, a, use.reference, False)
        right = _place(self.pair.generated, b, use.generated, False)
        self.pair.report_spread(code, DIFFERS, text, left, right, use.role)

    # -- tensor views ------------------------------------------------------------------------------

    def _tensors(self, a: Node, b: Node, use: Use, pending: Pending) -> None:
        inside = self._inside(a, b, use)
        use = use._replace(role="")
        for code, message in tensor_differences(a, b):
            self._report(code, DIFFERS, message, a, b, use)
        base = inside._replace(role="base of the tensor", code="MEM004")
        pending.append((a.operands[0], b.operands[0], base))
        assert isinstance(a.type, TensorViewType)
        assert isinstance(b.type, TensorViewType)
        if a.type.rank != b.type.rank:
            return
        last = 2 * a.type.rank - 1
        for k, ((what, x), (_, y)) in enumerate(zip(sizes_of(a), sizes_of(b), strict=True)):
            if isinstance(x, Node) and isinstance(y, Node):
                pending.append((x, y, inside._replace(role=what, code="MEM009")))
                continue
            found = size_difference(what, x, y, k == last)
            if found is not None:
                self._report(found[0], DIFFERS, found[1], a, b, use)

    # -- other operations --------------------------------------------------------------------------

    def _different_operations(self, a: Node, b: Node, use: Use, pending: Pending) -> None:
        if _same_leaf(a, b) or self._of_other_loops(a, b):
            # Only the type differs, or the kind of loop. That is reported where it comes from.
            return
        one, other = self.spelling(a), self.spelling(b)
        folded = one.name == "constant" and "constant" not in (a.name, b.name)
        if one.name == other.name and (one is not a or other is not b) and not folded:
            # In one spelling it may be seen more closely in what they differ.
            pending.append((one, other, self._inside(a, b, use)))
            return
        if use.code == "MEM004" and self.swizzles.note(
            a, b, use.role, use.reference, use.generated
        ):
            return
        if self._peeled(a, b, use, pending, True) or self._peeled(b, a, use, pending, False):
            return
        if a.name in _TILE_VIEWS and b.name in _TILE_VIEWS:
            self._types(a, b, use)
            operands = zip(a.operands, b.operands, strict=True)
            pending += [(x, y, self._inside(a, b, use)) for x, y in operands]
            return
        left, right = self._say(a), self._say(b, False)
        if a.name == "constant" and b.name == "arg":
            text = f"{left} of the reference is {right} of the generated kernel"
            self._report("ABI002", DIFFERS, text, a, b, use)
            return
        code = replaced_code(a, b, use.role, use.code)
        text = f"{left} in the reference, {right} in the generated kernel"
        reading = functions_read(a), functions_read(b)
        if reading[0] != reading[1]:
            shown = [" and ".join(sorted(names)) or "none" for names in reading]
            text += f" (of {shown[0]} and of {shown[1]})"
        self._report(code, DIFFERS, text, a, b, use)

    def _of_other_loops(self, a: Node, b: Node) -> bool:
        """Whether two values come from loops that correspond but are of another kind."""
        one, other = self.pair.reference.source_of(a), self.pair.generated.source_of(b)
        if one is None or other is None or one.label != other.label:
            return False
        return one.name != other.name and self.pair.is_critical("LOP001")

    def _peeled(
        self, outer: Node, other: Node, use: Use, pending: Pending, of_reference: bool
    ) -> bool:
        """Whether one side does something more on the way to the same value; reports it."""
        names, inner = _peel(outer, other)
        if not names:
            return False
        code = gone_code(outer, use.code, of_reference)
        flow = self.pair.reference if of_reference else self.pair.generated
        what = " of ".join(say(n, flow) for n in names)
        if of_reference:
            text = f"{what} is missing in the generated kernel"
            self._report(code, MISSING, text, outer, other, use)
            pending.append((inner, other, self._inside(outer, other, use)))
        else:
            self._report(code, EXTRA, f"{what} is not in the reference", other, outer, use)
            pending.append((other, inner, self._inside(other, outer, use)))
        return True

    # -- reporting ---------------------------------------------------------------------------------

    def _say(self, node: Node, is_reference: bool = True) -> str:
        return say(node, self.pair.reference if is_reference else self.pair.generated)

    def _report(self, code: str, status: str, text: str, a: Node, b: Node, use: Use) -> None:
        left = _place(self.pair.reference, a, use.reference, status == EXTRA)
        right = _place(self.pair.generated, b, use.generated, status == MISSING)
        # Where the use decides about the rule, it is one index, mask or bound that differs.
        root = use.root if use.code is not None else None
        self.pair.report(code, status, text, left, right, use.role, root)


def _place(flow: Flow, node: Node, reader: Operation, is_absent: bool) -> Operation:
    """The operation to show: what computes a node, or what reads it where nothing does."""
    if node.is_leaf or is_absent:
        return reader
    return flow.op_of(node, reader) or reader


def _same_leaf(a: Node, b: Node) -> bool:
    return a.is_leaf and a.name == b.name and a.detail == b.detail


def _same_elements(a: Node, b: Node) -> bool:
    """Whether two constants repeat the same element in another shape."""
    one, other = a.attribute("value"), b.attribute("value")
    if not isinstance(one, DenseElementsAttr) or not isinstance(other, DenseElementsAttr):
        return False
    return one.is_splat and one.raw == other.raw and one.type.element is other.type.element


def _peel(outer: Node, other: Node) -> tuple[list[Node], Node]:
    """What stands between a value and `other`, outermost first, and the node below it.

    Any operation may stand directly on `other`; conversions may stand on something like it.
    """
    if outer.is_leaf:
        return [], outer
    if any(x is other for x in outer.operands):
        return [outer], other
    peeled: list[Node] = []
    node = outer
    while node.name in CONVERSIONS and node.operands:
        peeled.append(node)
        node = node.operands[0]
        alike = node.name == other.name and not node.is_leaf
        if node is other or alike or _same_leaf(node, other):
            return peeled, node
    return [], outer


def _aligned(a: Node, b: Node) -> list[tuple[Node, Node]]:
    """Operand pairs that differ, where two nodes are the same operation; else nothing."""
    if a.name != b.name or a.attributes != b.attributes or a.body != b.body:
        return []
    if a.is_leaf or len(a.operands) != len(b.operands) or a.output != b.output:
        return []
    return [(x, y) for x, y in _pairs(a, b) if x is not y]


def _pairs(a: Node, b: Node) -> list[tuple[Node, Node]]:
    """Operands side by side; those of a commutative operation in the order that fits best."""
    straight = list(zip(a.operands, b.operands, strict=True))
    if a.name != "fma" and not ((_commutes(a) or _commutes(b)) and len(straight) == 2):
        return straight
    crossed = [(straight[0][0], straight[1][1]), (straight[1][0], straight[0][1]), *straight[2:]]
    return max((straight, crossed), key=lambda pairs: sum(_closeness(x, y) for x, y in pairs))


def _commutes(node: Node) -> bool:
    return is_commutative(node.name, node.attributes)


# How far below two operands their likeness is looked for.
_DEPTH = 3


def _closeness(x: Node, y: Node, depth: int = _DEPTH) -> float:
    """How alike two values are computed: 1 for one value, less for each thing that differs."""
    if x is y:
        return 1.0
    score = 0.1 * (x.type is y.type)
    if x.name != y.name:
        return score
    score += 0.3
    if depth and x.operands and len(x.operands) == len(y.operands):
        operands = zip(x.operands, y.operands, strict=True)
        score += 0.5 * sum(_closeness(v, w, depth - 1) for v, w in operands) / len(x.operands)
    return score
