"""Places for boxes with arrows between them: a layered layout with frames.

Place in the flow: facts -> **report**, part of `html_picture`; imports nothing of the package. A box stands
below everything that leads to it. A frame is laid out by itself and is one box of what is around it. An
arrow that passes a layer gets a lane there, so that it crosses no box; all arrows of one source share their
lanes. The space between two layers has a line for each label in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

# Sizes in pixels.
PAD = 10
LINE = 15
_GAP = 20
_LANE = 8
_LAYER_GAP = 30
_LABEL = 13
# Boxes of one layer beyond this go to a further one.
_WIDEST = 4

Point = tuple[float, float]


class Box:
    """A box of a given size, or a frame around boxes, whose size follows from them.

    `x` and `y` are its upper left corner once `lay_out` is done. `of` is what the box stands for; None for
    a lane.
    """

    def __init__(self, of: object, width: float, height: float, inner: Sequence[Box] = ()):
        self.of = of
        self.width = width
        self.height = height
        self.inner = list(inner)
        self.frame: Box | None = None
        for box in inner:
            box.frame = self
        self.x = self.y = 0.0
        # In a frame: the lanes of each arrow, from above.
        self.lanes: dict[Arrow, list[Box]] = {}

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height

    def frames(self) -> list[Box]:
        """The frames around it, innermost first."""
        found = []
        frame = self.frame
        while frame is not None:
            found.append(frame)
            frame = frame.frame
        return found


class Arrow:
    """From one box to another; `label` takes part in the layout where it is not empty.

    `points` are places that it goes through, `label_at` the height of its label, both once `lay_out` is done.
    """

    def __init__(self, source: Box, target: Box, label: str = ""):
        self.source = source
        self.target = target
        self.label = label
        self.points: list[Point] = []
        self.label_at = 0.0


def lay_out(root: Box, arrows: Sequence[Arrow]) -> None:
    """Give everything in a frame its place. Sources stand before their targets in `inner`."""
    labels: list[tuple[Arrow, Box, float]] = []
    _Frame(root, arrows, labels).lay_out()
    _shift(root, 0, 0)
    for arrow, frame, height in labels:
        arrow.label_at = frame.y + height
    _route(arrows)


def _shift(box: Box, x: float, y: float) -> None:
    """Make places absolute."""
    box.x += x
    box.y += y
    lanes = dict.fromkeys(lane for lanes in box.lanes.values() for lane in lanes)
    for inner in (*box.inner, *lanes):
        _shift(inner, box.x, box.y)


class _Frame:
    """Lays out one frame."""

    def __init__(self, frame: Box, arrows: Sequence[Arrow], labels: list[tuple[Arrow, Box, float]]):
        self.frame = frame
        self.arrows = arrows
        self.labels = labels
        self.owner = _owners(frame)
        # What leads from where to where among the boxes directly inside; None: outside.
        self.ends = {
            a: (self.owner.get(a.source), self.owner.get(a.target))
            for a in arrows
            if a.source in self.owner or a.target in self.owner
        }

    def lay_out(self) -> None:
        for box in self.frame.inner:
            if box.inner:
                _Frame(box, self.arrows, self.labels).lay_out()
        layers = self._layers()
        self._add_lanes(layers)
        self._order(layers)
        self._place(layers)

    def _edges(self) -> set[tuple[Box, Box]]:
        pairs = ((a, b) for a, b in self.ends.values() if a is not None and b is not None)
        return {(a, b) for a, b in pairs if a is not b}

    def _layers(self) -> list[list[Box]]:
        """Each box in the layer behind its last source, as near to its first reader as that allows."""
        edges = self._edges()
        depth: dict[Box, int] = {}
        for box in self.frame.inner:
            before = [depth[a] for a, b in edges if b is box and a in depth]
            depth[box] = max(before, default=-1) + 1
        for box in reversed(self.frame.inner):
            behind = [depth[b] for a, b in edges if a is box and depth[b] > depth[box]]
            if behind and not any(b is box for _, b in edges):
                depth[box] = min(behind) - 1
        layers: list[list[Box]] = []
        for level in sorted(set(depth.values())):
            layer = [b for b in self.frame.inner if depth[b] == level]
            layers += [layer[k : k + _WIDEST] for k in range(0, len(layer), _WIDEST)]
        return layers

    def _add_lanes(self, layers: list[list[Box]]) -> None:
        """A lane in every layer that an arrow passes; arrows from one box share theirs."""
        level = {box: k for k, layer in enumerate(layers) for box in layer}
        shared: dict[tuple[int, Box], Box] = {}
        for arrow, (one, other) in self.ends.items():
            start = level[one] if one is not None else -1
            end = level[other] if other is not None else len(layers)
            lanes = []
            for k in range(start + 1, end):
                lane = shared.get((k, arrow.source))
                if lane is None:
                    lane = shared[k, arrow.source] = Box(None, _LANE, 0)
                    layers[k].append(lane)
                lanes.append(lane)
            if lanes:
                self.frame.lanes[arrow] = lanes

    def _order(self, layers: list[list[Box]]) -> None:
        """Within a layer, boxes stand below the middle of what leads to them."""
        above: dict[Box, list[Box]] = {}
        for arrow, (one, other) in self.ends.items():
            chain = [one, *self.frame.lanes.get(arrow, ()), other]
            for a, b in pairwise(chain):
                if a is not None and b is not None and a is not b:
                    above.setdefault(b, []).append(a)
        place: dict[Box, float] = {}
        for layer in layers:
            wanted = {}
            for k, box in enumerate(layer):
                sources = [place[a] for a in above.get(box, ()) if a in place]
                # A lane from outside keeps to the left.
                alone = (k + 0.5) / len(layer) if box.of is not None else 0.0
                wanted[box] = sum(sources) / len(sources) if sources else alone
            layer.sort(key=lambda b: wanted[b])
            for k, box in enumerate(layer):
                place[box] = (k + 0.5) / len(layer)

    def _place(self, layers: list[list[Box]]) -> None:
        frame = self.frame
        titled = frame.frame is not None
        margin = PAD if titled else 0
        widths = [sum(b.width for b in layer) + _GAP * (len(layer) - 1) for layer in layers]
        frame.width = max([*widths, frame.width - 2 * margin]) + 2 * margin
        y = LINE + 4.0 + margin if titled else 0.0
        for number, (layer, width) in enumerate(zip(layers, widths)):
            y += self._gap(layer, y) if number else 0
            x = (frame.width - width) / 2
            tallest = max(b.height for b in layer)
            for box in layer:
                box.height = tallest if box.of is None else box.height
                box.x, box.y = x, y + (tallest - box.height) / 2
                x += box.width + _GAP
            y += tallest
        frame.height = y + margin

    def _gap(self, layer: Sequence[Box], y: float) -> float:
        """The space above a layer; labels of the arrows that end in it have a line each."""
        here = [
            arrow
            for arrow, (one, other) in self.ends.items()
            if arrow.label and one is not None and other in layer and one is not other
        ]
        for k, arrow in enumerate(here):
            self.labels.append((arrow, self.frame, y + _LAYER_GAP / 2 + _LABEL * (k + 0.5)))
        return _LAYER_GAP + _LABEL * len(here)


def _owners(frame: Box) -> dict[Box, Box]:
    """Every box in a frame, however far inside -> the one directly inside that holds it."""
    owner: dict[Box, Box] = {}
    for box in frame.inner:
        pending = [box]
        while pending:
            one = pending.pop()
            owner[one] = box
            pending += one.inner
    return owner


# -- arrows -----------------------------------------------------------------------------------------


def _route(arrows: Sequence[Arrow]) -> None:
    """The points of every arrow: out of its source, through its lanes, into its target."""
    lanes = {arrow: _lanes(arrow) for arrow in arrows}
    leaving = _ports([(a, a.source, (lanes[a][0] if lanes[a] else a.target)) for a in arrows])
    arriving = _ports([(a, a.target, (lanes[a][-1] if lanes[a] else a.source)) for a in arrows])
    for arrow in arrows:
        points: list[Point] = [(leaving[arrow], arrow.source.bottom)]
        for lane in lanes[arrow]:
            points += [(lane.middle, lane.y), (lane.middle, lane.bottom)]
        arrow.points = [*points, (arriving[arrow], arrow.target.y)]


def _lanes(arrow: Arrow) -> list[Box]:
    outwards, inwards = arrow.source.frames(), arrow.target.frames()[::-1]
    frames = [*outwards, *(f for f in inwards if f not in outwards)]
    return [lane for frame in frames for lane in frame.lanes.get(arrow, ())]


def _ports(ends: Sequence[tuple[Arrow, Box, Box]]) -> dict[Arrow, float]:
    """Where arrows touch a box: side by side, in the order of what is at their other ends."""
    at: dict[Box, list[tuple[Arrow, Box]]] = {}
    for arrow, here, there in ends:
        at.setdefault(here, []).append((arrow, there))
    found: dict[Arrow, float] = {}
    for box, touching in at.items():
        touching.sort(key=lambda item: item[1].middle)
        for k, (arrow, _) in enumerate(touching):
            found[arrow] = box.x + box.width * (k + 1) / (len(touching) + 1)
    return found
