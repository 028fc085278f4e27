"""The answer of a comparison as one HTML page that needs nothing else: no network, no other file.

Place in the flow: findings -> **report**; imports `diff` records and correspondence, `html_code`,
`html_picture`, `html_hints`, `markup`. Style and script are files of the package (`page/`); a content security
policy allows these two and nothing else. All content is in the elements: the script gets no data of its
own, and without it the page can still be read and its links followed.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import partial
from importlib.resources import files

from .. import __version__
from ..analyze.stages import stages_behind
from ..diff import CRITICAL, INFO, RULES, WARN, Diff, EntryDiff, Finding, Place
from ..diff.correspond import Correspondence, correspondences
from ..model import Entry, Module, Operation
from .diff_report import entry_name
from .html_code import GENERATED, REFERENCE, Located, Side, code_table
from .html_hints import hint_table
from .html_picture import Stage, picture
from .markup import Html, joined, tag

_SEVERITIES = (CRITICAL, WARN, INFO)


def diff_html(
    diff: Diff,
    reference: Sequence[Module],
    generated: Sequence[Module],
    names: tuple[str, str],
    entry: str | None = None,
) -> str:
    """The page.

    Args:
        diff: the answer.
        reference, generated: the modules that were compared. Those from bytecode have lines only where
            `place_in_text` gave them some before they were compared.
        names: what the inputs are called.
        entry: the name that entries were selected by.
    """
    found = correspondences(reference, generated, entry)
    pairs = [
        _Pair(f"p{k}", one, both, (reference, generated), diff.arches)
        for k, (one, both) in enumerate(zip(diff.entries, found, strict=True))
    ]
    style, script = _resource("style.css"), _resource("script.js")
    head = tag(
        "head",
        Html('<meta charset="utf-8">\n'),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        Html('\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'),
        tag("title", f"{diff.verdict}: {names[0]} and {names[1]}"),
        Html(f"\n<style>{style}</style>\n"),
    )
    body = tag(
        "body",
        _header(diff, names),
        tag("div", _sidebar(diff, pairs), _main(pairs), class_="columns"),
        tag("div", id="said", class_="said", role="status", aria_live="polite"),
        _help(),
        Html(f"\n<script>{script}</script>\n"),
    )
    return f'<!DOCTYPE html>\n<html lang="en">{head}\n{body}</html>\n'


def _resource(name: str) -> str:
    return (files("tileir_tools.report") / "page" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    raw = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(raw).decode('ascii')}"


# -- header -----------------------------------------------------------------------------------------


def _header(diff: Diff, names: tuple[str, str]) -> Html:
    inputs = tag(
        "dl",
        *(tag("div", tag("dt", side), tag("dd", name)) for side, name in zip(_SIDES, names)),
        tag("div", tag("dt", "hints for"), tag("dd", ", ".join(diff.arches) or "any target")),
    )
    notes = [tag("p", note, class_="note") for note in diff.notes]
    buttons = [
        tag("button", "Theme", type="button", id="theme", title="Light or dark (t)"),
        tag("button", "Keys", type="button", id="keys", title="Keyboard (?)"),
    ]
    return tag(
        "header",
        tag("h1", diff.verdict, class_=f"verdict {diff.verdict.lower()}"),
        _counts(diff.findings),
        inputs,
        *notes,
        tag("div", *buttons, class_="buttons"),
    )


_SIDES = ("reference", "generated")


def _counts(findings: Iterable[Finding]) -> Html:
    """How many findings of each severity there are; the buttons leave them out or let them in."""
    kinds = [_kind(f) for f in findings]
    buttons = [
        tag(
            "button",
            tag("b", str(kinds.count(kind))),
            f" {label}",
            type="button",
            class_=f"filter {kind}",
            data_kind=kind,
            aria_pressed="true",
            title=f"Show or hide {label}",
        )
        for kind, label in zip(_KINDS, (*_SEVERITIES, "ignored"))
        if kind in kinds or kind == "critical"
    ]
    return tag("div", *buttons, class_="counts", role="group", aria_label="Severities to show")


_KINDS = ("critical", "warn", "info", "ignored")


def _kind(finding: Finding) -> str:
    """The class of a finding: its severity, or that it is ignored."""
    return "ignored" if finding.ignored is not None else finding.severity.lower()


# -- findings ---------------------------------------------------------------------------------------


class _Pair:
    """Two entries with everything that is shown about them."""

    def __init__(
        self,
        id: str,
        answer: EntryDiff,
        both: Correspondence,
        modules: tuple[Sequence[Module], Sequence[Module]],
        arches: tuple[str, ...],
    ):
        self.id = id
        self.answer = answer
        self.both = both
        self.arches: tuple[str | None, ...] = arches or (None,)
        entries = both.reference, both.generated
        self.sides = (
            Side(id, REFERENCE, entries[0], _module_of(entries[0], modules[0])),
            Side(id, GENERATED, entries[1], _module_of(entries[1], modules[1])),
        )
        self.findings = [
            Located(
                f"{id}f{k}",
                finding,
                self.sides[0].op_at(finding.reference),
                self.sides[1].op_at(finding.generated),
            )
            for k, finding in enumerate(answer.findings)
        ]
        self._shown = self._worst(0), self._worst(1)

    def anchor(self, side: int, op: Operation | None) -> str | None:
        return self.sides[side].anchor(op)

    def stage(self, side: int, op: Operation) -> Stage:
        """What the picture shows about an operation: its line and its worst finding."""
        return Stage(self.anchor(side, op), self._shown[side].get(op, ""))

    def _worst(self, side: int) -> dict[Operation, str]:
        """Stage -> the kind of the worst finding that is about it, or about what it reads."""
        found: dict[Operation, str] = {}
        # The worst comes last, and stays.
        for item in sorted(self.findings, key=lambda f: -_KINDS.index(_kind(f.finding))):
            op = (item.reference, item.generated)[side]
            if op is not None and op.parent_op is not None:
                found.update(dict.fromkeys(stages_behind(op), _kind(item.finding)))
        return found


def _module_of(entry: Entry | None, modules: Sequence[Module]) -> Module | None:
    return next((m for m in modules if any(e is entry for e in m.entries)), None)


def _sidebar(diff: Diff, pairs: Sequence[_Pair]) -> Html:
    search = tag(
        "input",
        type="search",
        id="search",
        placeholder="Search findings and their lines  ( / )",
        aria_label="Search findings: code, message, text of the lines",
    )
    lists = [part for pair in pairs for part in _findings(pair, len(pairs) > 1)]
    if not diff.findings:
        lists.append(tag("p", "No difference.", class_="note"))
    none = tag("p", "Nothing matches.", id="none", class_="note", hidden=True)
    return tag("nav", search, tag("div", *lists, none, class_="list"), aria_label="Findings")


def _findings(pair: _Pair, several: bool) -> list[Html]:
    parts = []
    if several:
        link = tag("a", entry_name(pair.answer), href=f"#{pair.id}")
        parts.append(tag("h2", link, " ", tag("span", pair.answer.verdict, class_="small")))
    if pair.findings:
        parts.append(
            tag("ol", *(_finding(pair, item) for item in pair.findings), class_="findings")
        )
    return parts


def _finding(pair: _Pair, item: Located) -> Html:
    finding = item.finding
    anchors = pair.anchor(0, item.reference), pair.anchor(1, item.generated)
    target = anchors[1] or anchors[0] or pair.id
    head = tag(
        "a",
        tag("span", "ignored" if finding.ignored is not None else finding.severity, class_="badge"),
        " ",
        tag("b", finding.code),
        " ",
        tag("span", finding.status, class_="small"),
        tag("span", finding.message, class_="message"),
        href=f"#{target}",
        class_="jump",
    )
    ignored = tag("p", f"ignored: {finding.ignored}", class_="reason") if finding.ignored else ""
    return tag(
        "li",
        head,
        ignored,
        tag("p", _place("reference", finding.reference), class_="place"),
        tag("p", _place("generated", finding.generated), class_="place"),
        _details(finding),
        id=item.id,
        class_=f"finding {_kind(finding)}",
        data_a=anchors[0],
        data_b=anchors[1],
        data_pair=pair.id,
    )


def _place(side: str, place: Place | None) -> str:
    if place is None:
        return f"{side}: nothing"
    text = f"{side}: line {place.line}" if place.line else side
    return f"{text}, from {place.origin[0]}:{place.origin[1]}" if place.origin else text


def _details(finding: Finding) -> Html:
    """What the rule means, what to do, who does it, and the way to an effect."""
    rule = RULES[finding.code]
    rows = [
        tag("dt", "rule"),
        tag("dd", f"{rule.title}: {rule.meaning}"),
        tag("dt", "action"),
        tag("dd", finding.action),
        tag("dt", "owner"),
        tag("dd", finding.owner),
    ]
    if finding.path:
        rows.append(tag("dt", "path"))
        rows.append(tag("dd", tag("ol", *(tag("li", step) for step in finding.path))))
    return tag("details", tag("summary", "What to do, why it matters"), tag("dl", *rows))


# -- kernels ----------------------------------------------------------------------------------------


def _main(pairs: Sequence[_Pair]) -> Html:
    tabs = Html("")
    if len(pairs) > 1:
        links = [
            tag("a", f"{entry_name(p.answer)}", href=f"#{p.id}", class_="tab", data_pair=p.id)
            for p in pairs
        ]
        tabs = tag("div", *links, class_="tabs pairs", role="group", aria_label="Kernels")
    detail = tag("div", id="detail", class_="detail", hidden=True)
    return tag("main", tabs, detail, *map(_section, pairs))


_VIEWS = (("code", "Code"), ("flow", "Dataflow"), ("hints", "Hints"))


def _section(pair: _Pair) -> Html:
    views = tag(
        "div",
        *(
            tag("a", label, href=f"#{pair.id}-{view}", class_="tab", data_view=view)
            for view, label in _VIEWS
        ),
        class_="tabs views",
        role="group",
        aria_label="Views",
    )
    return tag(
        "section",
        tag("h2", entry_name(pair.answer), class_="symbols"),
        views,
        _view(pair, "code", code_table(pair.sides, pair.both, pair.findings)),
        _view(pair, "flow", *_pictures(pair)),
        _view(pair, "hints", hint_table(pair.both, pair.arches, pair.anchor)),
        id=pair.id,
        class_="pair",
        aria_label=entry_name(pair.answer),
    )


def _view(pair: _Pair, name: str, *content: Html) -> Html:
    return tag("div", *content, id=f"{pair.id}-{name}", class_=f"view {name}-view", data_view=name)


def _pictures(pair: _Pair) -> list[Html]:
    found = []
    for side, entry in enumerate((pair.both.reference, pair.both.generated)):
        arch = pair.arches[0]
        title = f"Dataflow of the {_SIDES[side]} kernel"
        caption = f"{_SIDES[side]}, hints for {arch}" if arch else _SIDES[side]
        drawn = tag("p", "No kernel on this side.")
        if entry is not None:
            drawn = picture(entry, arch, partial(pair.stage, side), title)
        found.append(tag("figure", tag("figcaption", caption), drawn))
    return found


_KEYS = (
    ("j, n", "next finding"),
    ("k, p", "previous finding"),
    ("/", "search"),
    ("v", "next value in the marked lines"),
    ("1, 2, 3", "code, dataflow, hints"),
    ("t", "light or dark"),
    ("Esc", "clear marks, search and this list"),
    ("?", "this list"),
)


def _help() -> Html:
    rows = [
        tag("div", tag("dt", joined(tag("kbd", key) for key in keys.split(", "))), tag("dd", what))
        for keys, what in _KEYS
    ]
    return tag(
        "dialog",
        tag("h2", "Keys", id="help-title"),
        tag("dl", *rows),
        tag(
            "p",
            "Click a value: its definition and uses light up, and the value that corresponds to it in the "
            "other kernel. Line numbers are those of the input; for bytecode, of what tileir print shows.",
        ),
        tag("p", f"tileir-tools {__version__}", class_="small"),
        tag("button", "Close", type="button", id="close"),
        id="help",
        aria_labelledby="help-title",
    )
