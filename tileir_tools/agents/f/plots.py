"""Ratios and launches as SVG pictures that stand alone.

Place in the flow: diagnosis -> **pictures** beside the reports; imports `diagnosis`, `report.markup`.
Horizontal bars on one scale; colours follow the reader's light or dark scheme.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...report.markup import Html, tag
from .diagnosis import ConfigRatio, LaunchRow

# Pixels: where bars begin, how long the longest is, heights, and what stands to the right of them.
LEFT, LENGTH, ROW, TOP, RIGHT = 260, 440, 24, 44, 190
BAR = 14
# More bars are no picture any more.
MOST_BARS = 80
_LONGEST_LABEL = 34

_STYLE = Html(
    "text{font:12px sans-serif;fill:#24292f}.label{text-anchor:end}.head{font-weight:bold}"
    ".fast,.own{fill:#4078c0}.slow,.other{fill:#d9822b}"
    ".noise,.one{stroke:#24292f}.one{stroke-dasharray:4 3}.quiet{fill:#6e7781}"
    ".segment{stroke:#ffffff}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.noise,.one{stroke:#e6edf3}"
    ".quiet{fill:#9198a1}.segment{stroke:#0d1117}}"
)


def ratio_plot(ratios: Sequence[ConfigRatio], title: str) -> str:
    """The ratio of each configuration as a bar from 0, its noise across the end, and a line at 1.

    Args:
        ratios: in the order of the bars; those beyond MOST_BARS are counted, not drawn.
        title: what the picture shows, also for those who do not see it.
    """
    shown = ratios[:MOST_BARS]
    ends = [r.ratio * (1 + (r.noise or 0.0)) for r in shown if _is_drawn(r) and r.ratio]
    scale = _scale([1.0, *ends])
    rows = [part for number, row in enumerate(shown) for part in _ratio(row, number, scale)]
    height = ROW * len(shown)
    one = tag("line", class_="one", x1=scale(1), x2=scale(1), y1=TOP - 6, y2=TOP + height)
    head = tag("text", "1.0", x=scale(1), y=TOP - 10, text_anchor="middle")
    return _picture(title, len(shown), len(ratios), [*rows, one, head])


def launch_plot(launches: Sequence[LaunchRow], title: str) -> str:
    """Time of one call on each side as a bar, a segment for each kernel. Arguments as of `ratio_plot`."""
    bars: dict[tuple[str, str], list[LaunchRow]] = {}
    for row in launches:
        bars.setdefault((row.config, row.backend), []).append(row)
    shown = list(bars.items())[:MOST_BARS]
    scale = _scale([sum(row.total_us for row in rows) for _, rows in shown])
    parts = []
    for number, ((config, backend), rows) in enumerate(shown):
        parts += _launches(f"{config} {backend}".strip(), rows, number, scale)
    return _picture(title, len(shown), len(bars), parts)


# -- bars -------------------------------------------------------------------------------------------


def _scale(ends: Sequence[float]) -> Callable[[float], str]:
    """Value -> x, so that the largest of some ends the longest bar."""
    most = max((e for e in ends if math.isfinite(e)), default=0.0) or 1.0
    return lambda value: f"{LEFT + LENGTH * min(max(value / most, 0.0), 1.0):.1f}"


def _is_drawn(row: ConfigRatio) -> bool:
    return row.valid and row.ratio is not None and math.isfinite(row.ratio)


def _ratio(row: ConfigRatio, number: int, scale: Callable[[float], str]) -> list[Html]:
    middle = TOP + ROW * number + ROW // 2
    label = _label(row.label, middle)
    if row.ratio is None or not _is_drawn(row):
        why = _cut(f"no ratio: {row.why}" if row.why else "no ratio")
        return [label, tag("text", why, class_="quiet", x=LEFT + 6, y=middle + 4)]
    bar = _bar(scale(0), scale(row.ratio), middle, "slow" if row.slow else "fast")
    parts = [label, bar]
    noise = row.noise if row.noise is not None and math.isfinite(row.noise) else None
    said = f"{row.ratio:.2f}"
    if noise is not None:
        ends = scale(row.ratio * (1 - noise)), scale(row.ratio * (1 + noise))
        parts.append(tag("line", class_="noise", x1=ends[0], x2=ends[1], y1=middle, y2=middle))
        said += f" ± {row.ratio * noise:.2f}"
    return [*parts, tag("text", said, x=LEFT + LENGTH + 8, y=middle + 4)]


def _launches(
    label: str, rows: Sequence[LaunchRow], number: int, scale: Callable[[float], str]
) -> list[Html]:
    middle = TOP + ROW * number + ROW // 2
    parts, start = [_label(label, middle)], 0.0
    for at, row in enumerate(rows):
        kind = "segment own" if at == 0 else "segment other"
        said = f"{row.kernel}: {row.launches} x {row.per_launch_us:.2f} us = {row.total_us:.2f} us"
        end = start + row.total_us
        parts.append(_bar(scale(start), scale(end), middle, kind, said))
        start = end
    launches = sum(row.launches for row in rows)
    counted = f"{launches} launch{'' if launches == 1 else 'es'}, {start:.2f} us"
    return [*parts, tag("text", counted, x=LEFT + LENGTH + 8, y=middle + 4)]


def _bar(start: str, end: str, middle: int, kind: str, title: str = "") -> Html:
    return tag(
        "rect",
        *([tag("title", title)] if title else []),
        class_=kind,
        x=start,
        y=middle - BAR // 2,
        width=f"{max(float(end) - float(start), 0.0):.1f}",
        height=BAR,
    )


def _label(text: str, middle: int) -> Html:
    shown = tag("title", text) if len(text) > _LONGEST_LABEL else ""
    return tag("text", _cut(text), shown, class_="label", x=LEFT - 8, y=middle + 4)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…"


def _picture(title: str, shown: int, all_bars: int, parts: Sequence[str]) -> str:
    width = LEFT + LENGTH + RIGHT
    height = TOP + ROW * shown + ROW
    left_out = ""
    if all_bars > shown:
        text = f"and {all_bars - shown} more"
        left_out = tag("text", text, class_="label quiet", x=LEFT - 8, y=height - 8)
    picture = tag(
        "svg",
        tag("title", title),
        tag("style", _STYLE),
        tag("text", title, class_="head", x=8, y=18),
        *parts,
        left_out,
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=title,
    )
    return f"{picture}\n"
