"""The dataflow of a kernel as an SVG picture: stages in layers, loops and branches as frames.

Place in the flow: facts -> **report**, part of `html_report`; imports `analyze`, `model`, `markup`. Stages and
what feeds them are facts (`analyze.stages`); here they get places. A frame is laid out by itself and is one
box of what is around it; within a frame a box stands below everything that feeds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..analyze.expressions import Expressions
from ..analyze.memory import is_memory_op, memory_fact
from ..analyze.stages import Feed, feeds, stages
from ..dialect import ABSENT_MEANS
from ..model import ArrayAttr, Entry, IntegerAttr, Operation, TileType
from .markup import Html, escaped, joined, tag

# More stages than this are no picture any more.
_MOST = 150

# Sizes in pixels. The width of a character is that of the monospaced font of the style sheet, at its size.
_CHARACTER = 6.7
_PAD = 10
_LINE = 15
_GAP = 22
_LAYER_GAP = 46
_WIDEST_LAYER = 4


class _Box:
    """A stage, or a frame around some."""

    def __init__(self, op: Operation | None, title: list[str], inner: list[_Box]):
        self.op = op
        self.title = title
        self.inner = inner
        self.x = self.y = self.width = self.height = 0.0

    @property
    def is_frame(self) -> bool:
        return bool(self.inner)

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


class Stage(NamedTuple):
    """What the page knows about an operation: the id of its line, and the class of its worst finding."""

    anchor: str | None
    kind: str


def picture(
    entry: Entry, arch: str | None, about: Callable[[Operation], Stage], title: str
) -> Html:
    """The picture of an entry; a paragraph where there is nothing to draw, or too much.

    Args:
        entry: the kernel.
        arch: target for which hints are resolved.
        about: what the page knows about an operation.
        title: what the picture shows, for those who do not see it.
    """
    ops = stages(entry)
    if not ops:
        return tag("p", "No loads, stores, products or reductions.")
    if len(ops) > _MOST:
        return tag("p", f"{len(ops)} loads, stores, products and reductions: too many to draw.")
    flows = feeds(entry)
    boxes: dict[Operation, _Box] = {}
    looping = {f.target: f for f in flows if f.source is f.target}
    root = _Box(None, [], _tree(entry, _titles(entry, ops, arch, looping), boxes))
    _lay_out(root, flows, boxes)
    _shift(root, 0, 0)
    drawn = [
        *_frames(root),
        *_edges(flows, boxes),
        *(_stage(box, about(op)) for op, box in boxes.items() if not box.is_frame),
    ]
    width, height = root.width + 2, root.height + 2
    return tag(
        "svg",
        tag("title", title),
        *drawn,
        width=round(width),
        height=round(height),
        viewBox=f"-1 -1 {round(width)} {round(height)}",
        role="group",
        aria_label=title,
    )


# -- boxes ------------------------------------------------------------------------------------------


def _tree(
    op: Operation, titles: dict[Operation, list[str]], boxes: dict[Operation, _Box]
) -> list[_Box]:
    """The boxes inside an operation; one with a single box inside a branch keeps its frame."""
    found: list[_Box] = []
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                if inner in titles:
                    boxes[inner] = _Box(inner, titles[inner], [])
                    found.append(boxes[inner])
                elif inner.regions:
                    inside = _tree(inner, titles, boxes)
                    if inside:
                        boxes[inner] = _Box(inner, [_frame_title(inner, op)], inside)
                        found.append(boxes[inner])
    return found


def _frame_title(op: Operation, around: Operation) -> str:
    if op.name == "if":
        return "if"
    carried = [v for v in op.operand_group("initValues") if isinstance(v.type, TileType)]
    text = f"{op.name} loop" if op.name == "for" else op.name
    return f"{text}, carries {', '.join(_tile(v.type) for v in carried)}" if carried else text


def _titles(
    entry: Entry, ops: Sequence[Operation], arch: str | None, looping: dict[Operation, Feed]
) -> dict[Operation, list[str]]:
    expressions = Expressions(entry)
    found = {}
    for op in ops:
        if op.spec is not None and is_memory_op(op):
            lines = _memory_title(op, expressions, arch)
        else:
            lines = _product_title(op)
        feed = looping.get(op)
        if feed is not None:
            steps = f" by {', '.join(feed.steps)}" if feed.steps else ""
            lines.append(f"\u21bb carried by the loop{steps}")
        found[op] = lines
    return found


def _memory_title(op: Operation, expressions: Expressions, arch: str | None) -> list[str]:
    fact = memory_fact(op, expressions, arch)
    kind = op.name if fact.access == "atomic" else fact.access
    by = "" if fact.family == "view" else " by pointer"
    lines = [f"{kind} {fact.base or '?'}{by}", f"{_shape(fact.tile)} {fact.element}"]
    extras = [
        f"[{', '.join(fact.indices)}]" if fact.indices else "",
        f"padding {fact.padding}" if fact.padding else "",
        "masked" if fact.masked else "",
    ]
    hints = [
        f"latency {fact.latency}" if fact.latency is not None else "",
        "no TMA" if fact.allow_tma is (not ABSENT_MEANS["allow_tma"]) else "",
    ]
    for more in (extras, hints):
        words = [w for w in more if w]
        if words:
            lines.append(_cut(" \u00b7 ".join(words)))
    return lines


def _product_title(op: Operation) -> list[str]:
    if op.spec is None:
        return [op.name, "unknown operation"]
    types = [v.type for v in op.operands]
    result = op.results[0].type
    if op.name in ("reduce", "scan"):
        body = _body(op)
        dim = op.attributes["dim"]
        axis = f" along {dim.value}" if isinstance(dim, IntegerAttr) else ""
        sources = [_tile(t) for t in types]
        return [
            _cut(f"{op.name} {body}{axis}"),
            _cut(f"{', '.join(sources)} \u2192 {_tile(result)}"),
        ]
    return [op.name, f"{_tile(types[0])} \u00d7 {_tile(types[1])}", f"\u2192 {_tile(result)}"]


def _body(op: Operation) -> str:
    """What a reduction combines with: the names of its operations."""
    block = op.regions[0].block if op.regions and op.regions[0].blocks else None
    names = [o.name for o in block.operations if not o.terminator] if block else []
    identities = op.attributes.get("identities")
    several = isinstance(identities, ArrayAttr) and len(identities.items) > 1
    return " ".join(names[:2]) + ("..." if several or len(names) > 2 else "")


def _tile(type: object) -> str:
    if isinstance(type, TileType):
        return f"{_shape(type.shape)} {type.element}".strip()
    return str(type)


def _shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def _cut(text: str, width: int = 38) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}\u2026"


# -- layout -----------------------------------------------------------------------------------------


def _lay_out(frame: _Box, flows: Sequence[Feed], boxes: dict[Operation, _Box]) -> None:
    """Sizes of a frame and everything in it; places relative to the frame."""
    for box in frame.inner:
        if box.is_frame:
            _lay_out(box, flows, boxes)
        else:
            longest = max(map(len, box.title))
            box.width = longest * _CHARACTER + 2 * _PAD
            box.height = len(box.title) * _LINE + _PAD
    edges = _lifted(frame, flows, boxes)
    head = _LINE + 4 if frame.title else 0
    margin = _PAD if frame.title else 0
    layers = _layers(frame.inner, edges)
    widths = [sum(b.width for b in layer) + _GAP * (len(layer) - 1) for layer in layers]
    title = len(frame.title[0]) * _CHARACTER + 2 * _PAD if frame.title else 0
    frame.width = max(*widths, title) + 2 * margin if widths else title
    y = head + margin
    for layer, width in zip(layers, widths):
        x = (frame.width - width) / 2
        tallest = max(b.height for b in layer)
        for box in layer:
            box.x, box.y = x, y + (tallest - box.height) / 2
            x += box.width + _GAP
        y += tallest + _LAYER_GAP
    frame.height = y - _LAYER_GAP + margin


def _lifted(
    frame: _Box, flows: Sequence[Feed], boxes: dict[Operation, _Box]
) -> set[tuple[_Box, _Box]]:
    """The feeds between the boxes directly inside a frame, those of boxes further in included."""
    owner: dict[_Box, _Box] = {}
    for box in frame.inner:
        pending = [box]
        while pending:
            one = pending.pop()
            owner[one] = box
            pending += one.inner
    found = set()
    for flow in flows:
        one, other = owner.get(boxes[flow.source]), owner.get(boxes[flow.target])
        if one is not None and other is not None and one is not other and not flow.carried:
            found.add((one, other))
    return found


def _layers(inner: Sequence[_Box], edges: set[tuple[_Box, _Box]]) -> list[list[_Box]]:
    """Each box in the layer behind its last source; long layers are broken."""
    order = {box: k for k, box in enumerate(inner)}
    depth: dict[_Box, int] = {}
    for box in inner:
        # Sources stand before their targets in the text: one pass is enough.
        before = [depth[a] for a, b in edges if b is box and a in depth]
        depth[box] = max(before, default=-1) + 1
    _sink(inner, edges, depth)
    layers: list[list[_Box]] = []
    place: dict[_Box, float] = {}
    for level in sorted(set(depth.values())):
        layer = [b for b in inner if depth[b] == level]
        if layers:
            sources = {b: [place[a] for a, c in edges if c is b and a in place] for b in layer}
            layer.sort(key=lambda b: (_mean(sources[b], order[b] / len(order)), order[b]))
        for k, box in enumerate(layer):
            place[box] = (k + 0.5) / len(layer)
        layers += [layer[k : k + _WIDEST_LAYER] for k in range(0, len(layer), _WIDEST_LAYER)]
    return layers


def _sink(inner: Sequence[_Box], edges: set[tuple[_Box, _Box]], depth: dict[_Box, int]) -> None:
    """Move what nothing feeds down to the layer before its first reader: short edges."""
    for box in reversed(inner):
        behind = [depth[b] for a, b in edges if a is box and depth[b] > depth[box]]
        if behind and not any(b is box for _, b in edges):
            depth[box] = min(behind) - 1


def _mean(numbers: list[float], default: float) -> float:
    return sum(numbers) / len(numbers) if numbers else default


def _shift(box: _Box, x: float, y: float) -> None:
    """Make places absolute."""
    box.x += x
    box.y += y
    for inner in box.inner:
        _shift(inner, box.x, box.y)


# -- drawing ----------------------------------------------------------------------------------------


def _frames(frame: _Box) -> list[Html]:
    found = []
    for box in frame.inner:
        if box.is_frame:
            found.append(tag("rect", class_="frame", rx=8, **_rectangle(box)))
            x, y = round(box.x + _PAD), round(box.y + _LINE)
            found.append(tag("text", box.title[0], class_="frame-title", x=x, y=y))
            found += _frames(box)
    return found


def _rectangle(box: _Box) -> dict[str, str | int | bool | None]:
    return {
        "x": round(box.x),
        "y": round(box.y),
        "width": round(box.width),
        "height": round(box.height),
    }


def _stage(box: _Box, about: Stage) -> Html:
    assert box.op is not None
    lines = [
        tag(
            "text",
            line,
            x=round(box.middle),
            y=round(box.y + _PAD / 2 + _LINE * (k + 0.75)),
            class_="first" if k == 0 else None,
        )
        for k, line in enumerate(box.title)
    ]
    shape = tag("rect", rx=5, **_rectangle(box))
    kind = f"stage {_kind(box.op)} {about.kind}".rstrip()
    href = f"#{about.anchor}" if about.anchor else None
    return tag("a", shape, *lines, href=href, class_=kind, aria_label=", ".join(box.title))


def _kind(op: Operation) -> str:
    if op.spec is None:
        return "unknown"
    if not is_memory_op(op):
        return "reduction" if op.name in ("reduce", "scan") else "product"
    return "load" if "loads" in op.spec.traits else "store"


def _edges(flows: Sequence[Feed], boxes: dict[Operation, _Box]) -> list[Html]:
    """One curve for each feed, from below its source to above its target, with the steps beside it."""
    shown = [f for f in flows if f.source is not f.target]
    leaving = _ports(shown, boxes, lambda f: f.source, lambda f: f.target)
    arriving = _ports(shown, boxes, lambda f: f.target, lambda f: f.source)
    curves: list[Html] = []
    labels: list[Html] = []
    for number, flow in enumerate(shown):
        one, other = boxes[flow.source], boxes[flow.target]
        x1, y1 = leaving[number], one.y + one.height
        x2, y2 = arriving[number], other.y
        bend = max(20.0, abs(y2 - y1) / 2) if y2 > y1 else 40.0
        path = f"M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2 - 5:.0f}"
        kind = "edge carried" if flow.carried else "edge"
        curves.append(tag("path", d=path, class_=kind))
        tip = f"M{x2 - 4:.0f} {y2 - 7:.0f}h8l-4 7z"
        curves.append(tag("path", d=tip, class_="tip"))
        if flow.steps:
            text = _cut(", ".join(flow.steps), 30)
            where = {"x": round((x1 + x2) / 2), "y": round((y1 + y2) / 2) + 3}
            full = tag("title", ", ".join(flow.steps))
            labels.append(Html(f'<text class="label" x="{where["x"]}" y="{where["y"]}">'))
            labels[-1] = joined([labels[-1], full, escaped(text), Html("</text>")])
    return [*curves, *labels]


def _ports(
    flows: Sequence[Feed],
    boxes: dict[Operation, _Box],
    here: Callable[[Feed], Operation],
    there: Callable[[Feed], Operation],
) -> list[float]:
    """Where each feed touches the box on its one end: side by side, in the order of the other ends."""
    at: dict[Operation, list[int]] = {}
    for number, flow in enumerate(flows):
        at.setdefault(here(flow), []).append(number)
    found = [0.0] * len(flows)
    for op, numbers in at.items():
        numbers.sort(key=lambda n: boxes[there(flows[n])].middle)
        box = boxes[op]
        for k, number in enumerate(numbers):
            found[number] = box.x + box.width * (k + 1) / (len(numbers) + 1)
    return found
