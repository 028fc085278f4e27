"""The dataflow of a kernel as an SVG picture: stages in layers, loops and branches as frames.

Place in the flow: facts -> **report**, part of `html_report`; imports `analyze`, `model`, `layers`, `markup`.
Stages and what feeds them are facts (`analyze.stages`), their places are found by `layers`; here they get
words and are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..analyze.expressions import Expressions
from ..analyze.memory import is_memory_op, memory_fact
from ..analyze.stages import Feed, feeds, stages
from ..model import ArrayAttr, Entry, IntegerAttr, Operation, TileType
from .layers import LINE, PAD, Arrow, Box, lay_out
from .markup import Html, tag

# More stages than this are no picture any more.
_MOST = 150

# Width in pixels of a character of the style sheet's monospaced font at its size.
_CHARACTER = 6.7
_LONGEST = 32


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
    titles = _titles(entry, ops, arch, {f.target: f for f in flows if f.source is f.target})
    boxes: dict[Operation, Box] = {}
    root = Box(None, 0, 0, _tree(entry, titles, boxes))
    arrows = [
        Arrow(boxes[f.source], boxes[f.target], _cut(", ".join(f.steps)))
        for f in flows
        if f.source is not f.target and not f.carried
    ]
    lay_out(root, arrows)
    drawn = [
        *(_frame(op, box, titles, about) for op, box in boxes.items() if box.inner),
        *(_back(boxes[f.source], boxes[f.target]) for f in flows if _goes_back(f)),
        *map(_arrow, arrows),
        *(_stage(op, box, titles, about) for op, box in boxes.items() if not box.inner),
        *(_label(arrow, root.width) for arrow in arrows if arrow.label),
    ]
    width, height = round(root.width) + 2, round(root.height) + 2
    return tag(
        "svg",
        tag("title", title),
        *drawn,
        width=width,
        height=height,
        viewBox=f"-1 -1 {width} {height}",
        role="group",
        aria_label=title,
    )


def _goes_back(feed: Feed) -> bool:
    """Whether a loop carries a value to another stage; what comes back to itself is in its title."""
    return feed.carried and feed.source is not feed.target


# -- boxes ------------------------------------------------------------------------------------------


def _tree(
    op: Operation, titles: dict[Operation, list[str]], boxes: dict[Operation, Box]
) -> list[Box]:
    """The boxes inside an operation, in text order; those of loops and branches hold theirs.

    Boxes and titles of loops and branches are added to `boxes` and `titles`, outer ones first.
    """
    found: list[Box] = []
    for inner in (o for region in op.regions for block in region.blocks for o in block.operations):
        if inner in titles:
            lines = titles[inner]
            width = max(map(len, lines)) * _CHARACTER + 2 * PAD
            boxes[inner] = Box(inner, width, len(lines) * LINE + PAD)
            found.append(boxes[inner])
        elif inner.regions:
            inside: dict[Operation, Box] = {}
            held = _tree(inner, titles, inside)
            if held:
                titles[inner] = [_frame_title(inner)]
                width = len(titles[inner][0]) * _CHARACTER + 2 * PAD
                boxes[inner] = Box(inner, width, 0, held)
                boxes.update(inside)
                found.append(boxes[inner])
    return found


def _frame_title(op: Operation) -> str:
    if op.name == "if" or op.spec is None:
        return op.name
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
    indices = [f"[{', '.join(fact.indices)}]"] if fact.indices else []
    extras = [
        f"padding {fact.padding}" if fact.padding else "",
        "masked" if fact.masked else "",
    ]
    hints = [
        f"latency {fact.latency}" if fact.latency is not None else "",
        "no TMA" if fact.allow_tma is False else "",
    ]
    for more in (indices, extras, hints):
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


def _cut(text: str, width: int = _LONGEST) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}\u2026"


# -- drawing ----------------------------------------------------------------------------------------


def _rectangle(box: Box, radius: int, kind: str | None = None) -> Html:
    return tag(
        "rect",
        x=round(box.x),
        y=round(box.y),
        width=round(box.width),
        height=round(box.height),
        rx=radius,
        class_=kind,
    )


def _frame(
    op: Operation,
    box: Box,
    titles: dict[Operation, list[str]],
    about: Callable[[Operation], Stage],
) -> Html:
    known = about(op)
    title = tag(
        "text",
        titles[op][0],
        class_="frame-title",
        x=round(box.x + PAD),
        y=round(box.y + LINE),
    )
    href = f"#{known.anchor}" if known.anchor else None
    link = tag("a", title, href=href, aria_label=titles[op][0])
    return tag("g", _rectangle(box, 8, f"frame {known.kind}".rstrip()), link)


def _stage(
    op: Operation,
    box: Box,
    titles: dict[Operation, list[str]],
    about: Callable[[Operation], Stage],
) -> Html:
    known = about(op)
    lines = [
        tag(
            "text",
            line,
            x=round(box.middle),
            y=round(box.y + PAD / 2 + LINE * (k + 0.75)),
            class_="first" if k == 0 else None,
        )
        for k, line in enumerate(titles[op])
    ]
    href = f"#{known.anchor}" if known.anchor else None
    kind = f"stage {_kind(op)} {known.kind}".rstrip()
    return tag(
        "a", _rectangle(box, 5), *lines, href=href, class_=kind, aria_label=", ".join(titles[op])
    )


def _kind(op: Operation) -> str:
    if op.spec is None:
        return "unknown"
    if not is_memory_op(op):
        return "reduction" if op.name in ("reduce", "scan") else "product"
    return "load" if "loads" in op.spec.traits else "store"


def _arrow(arrow: Arrow) -> Html:
    """A line through the points of an arrow that leaves and enters upright, with a tip."""
    (x, y), *rest = arrow.points
    path = f"M{x:.0f} {y:.0f}"
    for number, (to_x, to_y) in enumerate(rest, 1):
        end = to_y - 5 if number == len(rest) else to_y
        half = (y + end) / 2
        path += f"C{x:.0f} {half:.0f} {to_x:.0f} {half:.0f} {to_x:.0f} {end:.0f}"
        x, y = to_x, to_y
    return tag("g", tag("path", d=path, class_="edge"), _tip(x, y))


def _tip(x: float, y: float) -> Html:
    return tag("path", d=f"M{x - 4:.0f} {y - 7:.0f}h8l-4 7z", class_="tip")


def _back(source: Box, target: Box) -> Html:
    """What a loop carries back: a broken line along the left of both boxes."""
    x1, y1, x2, y2 = source.x, source.y + source.height / 2, target.x, target.y + target.height / 2
    left = min(x1, x2) - 24
    path = f"M{x1:.0f} {y1:.0f}C{left:.0f} {y1:.0f} {left:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"
    return tag("path", d=path, class_="edge carried")


def _label(arrow: Arrow, width: float) -> Html:
    """The steps, where the last stretch of the arrow has the height of its label."""
    (x1, y1), (x2, y2) = arrow.points[-2:]
    t = min(1.0, max(0.0, (arrow.label_at - y1) / (y2 - y1))) if y2 != y1 else 0.5
    x = x1 + (x2 - x1) * t * t * (3 - 2 * t)
    half = len(arrow.label) * _CHARACTER / 2
    x = max(half, min(x, width - half))
    return tag("text", arrow.label, class_="label", x=round(x), y=round(arrow.label_at))
