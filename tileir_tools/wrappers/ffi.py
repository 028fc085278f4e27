"""`kernel.rs` and `ffi.rs` of a wrapper: entries, what is exported, what that launches and with what.

Place in the flow: files -> **facts of a wrapper**; imports `rust`, and `Condition` and `Undecided` of
`sources`. What is not understood is `Undecided`, with its line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..sources import Condition, Undecided
from .rust import NAME, Part, RustFile, RustFunction

# What `CompileOptions` can be told; `compile_options!` of the shared code takes them in this order.
HINTS = ("occupancy", "num_cta_in_cga")
# The codes of number formats that tensors carry over the boundary, as the shared `dtype_str` has them.
DTYPE_CODES = {
    0: "f32",
    1: "f16",
    2: "bf16",
    3: "i32",
    4: "i64",
    5: "f8e5m2",
    6: "f4e2m1fnx2",
    7: "f8e4m3fn",
}
# Functions of `ffi.rs` that call each other, from an exported one on.
_MAX_DEPTH = 4
_FORMATS = {*DTYPE_CODES.values(), *map(str, DTYPE_CODES)}


class RustEntry(NamedTuple):
    """A kernel: `#[cutile::entry(..)]`.

    Attributes:
        name, line, path: of it.
        generics: names, types of data first.
        parameters: names.
        hints: target -> hint -> text of its value, of `optimization_hints`.
    """

    name: str
    line: int
    path: str
    generics: tuple[str, ...]
    parameters: tuple[str, ...]
    hints: dict[str, dict[str, str]]


class RustLaunch(NamedTuple):
    """A launch of an entry by an exported function.

    Attributes:
        entry, line: which, and where it is called.
        conditions: under which, the outermost first.
        generics: texts of what is handed on, without `.to_string()`; None where it is not understood.
        grid: parameters of the exported function that the grid is computed from; None as above.
        grid_text: as it is written.
        hints: hint -> text of its value, of the `CompileOptions` that are handed on; None without options.
        options_line: where they are made.
    """

    entry: str
    line: int
    conditions: tuple[Condition, ...]
    generics: tuple[str, ...] | None
    grid: tuple[str, ...] | None
    grid_text: str
    hints: dict[str, str] | None
    options_line: int


class DtypeArm(NamedTuple):
    """A number format and the type that it is dispatched to."""

    dtype: str
    type: str
    line: int


class Export(NamedTuple):
    """`extern "C"` function.

    Attributes:
        name, line, path: of it.
        parameters: name -> text of its type, in order.
        launches: of entries, in order.
        dtypes: that it dispatches.
        undecided: what was not understood.
    """

    name: str
    line: int
    path: str
    parameters: dict[str, str]
    launches: tuple[RustLaunch, ...]
    dtypes: tuple[DtypeArm, ...]
    undecided: tuple[Undecided, ...]


def entries_of(file: RustFile) -> tuple[RustEntry, ...]:
    """The kernels of a file, in order."""
    return tuple(_entry(function, file) for function in file.functions if _attribute(function))


def _attribute(function: RustFunction) -> str | None:
    found = (
        text for text in function.attributes if text.replace(" ", "").startswith("cutile::entry")
    )
    return next(found, None)


def _entry(function: RustFunction, file: RustFile) -> RustEntry:
    attribute = RustFile(_attribute(function) or "", file.path)
    return RustEntry(
        function.name,
        function.line,
        file.path,
        tuple(name for name in function.generics if not name.startswith("'")),
        tuple(function.parameters),
        _entry_hints(attribute),
    )


def _entry_hints(attribute: RustFile) -> dict[str, dict[str, str]]:
    """`optimization_hints = (sm_100 = (occupancy = 2,),)` as a table."""
    found: dict[str, dict[str, str]] = {}
    for place, token in enumerate(attribute.tokens):
        if token.text == "optimization_hints" and attribute.is_at(place + 1, "=", "("):
            for target, values in _settings(attribute, place + 2):
                if attribute.is_at(values.start, "("):
                    inner = _settings(attribute, values.start)
                    found[target] = {name: attribute.slice(value) for name, value in inner}
    return found


def _settings(file: RustFile, place: int) -> Iterator[tuple[str, Part]]:
    """`name = value` between the brackets that open at a place."""
    for part in file.split(file.inside(place)):
        if file.is_at(part.start + 1, "="):
            yield file.tokens[part.start].text, Part(part.start + 2, part.end)


def option_order(shared: RustFile | None) -> tuple[str, ...]:
    """The order in which `compile_options!` takes hints; `HINTS` where no file of shared code defines it."""
    for place, token in enumerate(shared.tokens if shared is not None else ()):
        if token.text == "compile_options" and shared is not None:
            if not shared.is_at(place - 2, "macro_rules", "!"):
                continue
            body = shared.inside(place + 1)
            names = [
                shared.tokens[part.start + 1].text
                for part in shared.split(shared.inside(body.start))
                if shared.is_at(part.start, "$")
            ]
            return tuple(names) or HINTS
    return HINTS


def exports_of(
    file: RustFile, entries: Sequence[RustEntry], options: Sequence[str]
) -> tuple[Export, ...]:
    """What a file exports; `options` is the order of `compile_options!`."""
    known = {entry.name for entry in entries}
    return tuple(
        _Reading(function, file, known, options).export()
        for function in file.functions
        if function.abi == "C" and function.body.start < function.body.end
    )


class _Reading:
    """Reads the body of an exported function."""

    def __init__(
        self, function: RustFunction, file: RustFile, entries: set[str], options: Sequence[str]
    ):
        self.function = function
        self.file = file
        self.entries = entries
        self.options = options
        self.launches: list[RustLaunch] = []
        self.arms: list[DtypeArm] = []
        self.undecided: list[Undecided] = []
        # Name -> places where it is bound, and what to.
        self.lets: dict[str, list[Part]] = {}
        self.inlined: frozenset[str] = frozenset()

    def export(self) -> Export:
        function, body = self.function, self.function.body
        for place in range(body.start, body.end):
            if self.file.tokens[place].text == "let":
                self._let(place, body)
        self._walk(body, ())
        if not self.launches:
            why = "it launches no entry of kernel.rs that is seen"
            self.undecided.append(Undecided(function.name, function.line, why))
        return Export(
            function.name,
            function.line,
            self.file.path,
            function.parameters,
            tuple(self.launches),
            tuple(self.arms),
            tuple(self.undecided),
        )

    def _let(self, place: int, body: Part) -> None:
        """Note what names a `let` binds, and to what."""
        file = self.file
        end = file.find(Part(place, body.end), ";") or body.end
        equals = file.find(Part(place, end), "=")
        if equals is None:
            return
        pattern = Part(place + 1, file.find(Part(place, equals), ":") or equals)
        for token in file.tokens[pattern.start : pattern.end]:
            if token.kind == NAME and token.text not in ("mut", "ref"):
                self.lets.setdefault(token.text, []).append(Part(equals + 1, end))

    def _bound(self, name: str, before: int) -> Part | None:
        """What a name is bound to, by the last `let` before a place."""
        found = [part for part in self.lets.get(name, ()) if part.end <= before]
        return found[-1] if found else None

    def _walk(self, part: Part, conditions: tuple[Condition, ...]) -> None:
        place = part.start
        while place < part.end:
            text = self.file.tokens[place].text
            if text == "if":
                place = self._if(place, conditions)
            elif text == "match":
                place = self._match(place, conditions)
            elif text == "fn":
                # What a function inside does, it does where it is called.
                bodies = (f.body for f in self.file.functions if f.body.start > place)
                place = next((body.end + 1 for body in bodies), place + 1)
            elif text == "dispatch_by_dtype" and self.file.is_at(place + 1, "!", "("):
                self._dispatch(place + 2)
                place += 1
            else:
                self._call(place, conditions)
                place += 1

    def _call(self, place: int, conditions: tuple[Condition, ...]) -> None:
        text = self.file.tokens[place].text
        if text in self.entries and self.file.is_at(place + 1, "("):
            self._launch(place, conditions)
        elif self.file.is_at(place + 1, "!", "("):
            inner = self.file.slice(self.file.inside(place + 2))
            self._arm(inner.split(",")[0], place, conditions)
        elif (helper := self.file.helpers.get(text)) is not None:
            self._inline(helper, place, conditions)

    def _arm(self, type_: str, place: int, conditions: tuple[Condition, ...]) -> None:
        """A type that is chosen in an arm of a `match` on a number format, or its code."""
        if not conditions or not conditions[-1].holds:
            return
        code = conditions[-1].text.partition(" == ")[2].strip('"')
        dtype = DTYPE_CODES.get(int(code), code) if code.isdigit() else code
        if dtype in DTYPE_CODES.values():
            self.arms.append(DtypeArm(dtype, type_, self.file.line(place)))

    def _helper(self, name: str) -> RustFunction | None:
        """A function of the file that is not exported."""
        found = (f for f in self.file.functions if f.name == name and f.abi is None)
        return next(
            (f for f in found if f is not self.function and f.body.start < f.body.end), None
        )

    def _inline(self, helper: RustFunction, place: int, conditions: tuple[Condition, ...]) -> None:
        """Launches of a function that is called, `NAME::<TYPE>(..)`, in terms of this one's names."""
        file, at = self.file, place + 1
        if file.is_at(at, "::", "<") and file.is_at(at + 3, ">"):
            self._arm(file.tokens[at + 2].text, place, conditions)
            at += 4
        if not file.is_at(at, "(") or helper.name in self.inlined or len(self.inlined) > _MAX_DEPTH:
            return
        given = [file.slice(part).partition(" as ")[0] for part in file.split(file.inside(at))]
        names = dict(zip(helper.parameters, given))
        inner = _Reading(helper, file, self.entries, self.options)
        inner.inlined = self.inlined | {helper.name}
        for launch in inner.export().launches:
            renamed = _renamed(launch, names, conditions)
            if all(renamed[:1] + renamed[2:] != other[:1] + other[2:] for other in self.launches):
                # Called for each number format, it is one launch.
                self.launches.append(renamed)

    def _if(self, place: int, conditions: tuple[Condition, ...]) -> int:
        """Walk an `if` with all its branches; the place after it."""
        file, line = self.file, self.file.line(place)
        opening = file.find(Part(place, self.function.body.end), "{")
        if opening is None:
            return place + 1
        text = file.slice(Part(place + 1, opening))
        self._walk(file.inside(opening), (*conditions, Condition(text, True, line)))
        after = file.step(opening)
        if not file.is_at(after, "else"):
            return after
        otherwise = (*conditions, Condition(text, False, line))
        if file.is_at(after + 1, "if"):
            return self._if(after + 1, otherwise)
        self._walk(file.inside(after + 1), otherwise)
        return file.step(after + 1)

    def _match(self, place: int, conditions: tuple[Condition, ...]) -> int:
        """Walk the arms of a `match`; the place after it."""
        file, line = self.file, self.file.line(place)
        opening = file.find(Part(place, self.function.body.end), "{")
        if opening is None:
            return place + 1
        head = Part(place + 1, opening)
        self._walk(head, conditions)
        at, end = opening + 1, file.closes[opening]
        before: tuple[Condition, ...] = ()
        while at < end:
            arrow = file.find(Part(at, end), "=>")
            if arrow is None:
                break
            pattern = file.slice(Part(at, arrow))
            last = file.step(arrow + 1) if file.is_at(arrow + 1, "{") else None
            last = last or file.find(Part(arrow + 1, end), ",") or end
            condition = Condition(f"{file.slice(head)} == {pattern}", True, line)
            here = before if pattern == "_" else (condition,)
            self._walk(Part(arrow + 1, last), (*conditions, *here))
            before = (*before, condition._replace(holds=False))
            at = last + 1 if file.is_at(last, ",") else last
        return end + 1

    def _dispatch(self, opening: int) -> None:
        """`dispatch_by_dtype!(name, macro, f32, f16)`: every format to the type of its name."""
        for part in self.file.split(self.file.inside(opening))[2:]:
            name = self.file.slice(part)
            self.arms.append(DtypeArm(name, name, self.file.line(part.start)))

    def _launch(self, place: int, conditions: tuple[Condition, ...]) -> None:
        entry, line = self.file.tokens[place].text, self.file.line(place)
        chain = self._chain(place)
        generics = self._generics(chain.get("generics"))
        grid = chain.get("grid")
        options = chain.get("compile_options")
        for what, found in (("generics", generics), ("grid", grid)):
            if found is None:
                why = f"the {what} of this launch are not understood"
                self.undecided.append(Undecided(entry, line, why))
        self.launches.append(
            RustLaunch(
                entry,
                line,
                conditions,
                generics,
                None if grid is None else tuple(self._sources(grid)),
                "" if grid is None else self.file.slice(grid),
                None if options is None else self._hints(options),
                line if options is None else self._options_line(options),
            )
        )

    def _chain(self, place: int) -> dict[str, Part]:
        """Methods that are called on a launch, and their arguments; on the name that it is bound to, too."""
        file = self.file
        at = file.step(place + 1)
        while at < self.function.body.end and file.tokens[at].text in ("}", ")", "?"):
            at += 1
        found = dict(self._methods(at))
        bound = [
            n for n, parts in self.lets.items() if any(p.start <= place < p.end for p in parts)
        ]
        for later in range(at, self.function.body.end if bound and "generics" not in found else at):
            if file.tokens[later].text in bound and file.is_at(later + 1, "."):
                found = {**dict(self._methods(later + 1)), **found}
        return found

    def _methods(self, at: int) -> Iterator[tuple[str, Part]]:
        file = self.file
        while file.is_at(at, ".") and file.is_at(at + 2, "("):
            yield file.tokens[at + 1].text, file.inside(at + 2)
            at = file.step(at + 2)

    def _resolved(self, part: Part) -> Part:
        """An expression, or what the name that it is was bound to."""
        if part.end - part.start == 1 and self.file.tokens[part.start].kind == NAME:
            return self._bound(self.file.tokens[part.start].text, part.start) or part
        return part

    def _generics(self, part: Part | None) -> tuple[str, ...] | None:
        """Texts of the elements of `vec![..]`."""
        if part is None:
            return None
        made = self._resolved(part)
        if not self.file.is_at(made.start, "vec", "!", "["):
            return None
        items = self.file.split(self.file.inside(made.start + 2))
        return tuple(_plain(self.file.slice(item)) for item in items)

    def _sources(self, part: Part) -> Iterator[str]:
        """Parameters of the function that an expression is computed from, in the order of finding."""
        found: dict[str, None] = {}
        seen: set[Part] = set()
        waiting = [part]
        while waiting:
            one = waiting.pop(0)
            if one in seen:
                continue
            seen.add(one)
            names = [t.text for t in self.file.tokens[one.start : one.end] if t.kind == NAME]
            for name in dict.fromkeys(names):
                bound = self._bound(name, one.start)
                if bound is not None:
                    waiting.append(bound)
                elif name in self.function.parameters:
                    found.setdefault(name)
        yield from found

    def _options_line(self, part: Part) -> int:
        return self.file.line(self._resolved(part).start)

    def _hints(self, part: Part) -> dict[str, str]:
        """What options are told: by `compile_options!`, or by methods of the same name as the hints."""
        file, made = self.file, self._resolved(part)
        found: dict[str, str] = {}
        for place in range(made.start, made.end):
            if file.is_at(place, "compile_options", "!", "("):
                given = file.split(file.inside(place + 2))
                found |= {n: file.slice(p) for n, p in zip(self.options, given)}
        name = file.slice(part)
        for place in range(made.start, part.start):
            told = file.tokens[place].text
            at_name = file.tokens[place - 2].text in (name, ")") and file.is_at(place - 1, ".")
            if told in HINTS and at_name and file.is_at(place + 1, "("):
                found[told] = file.slice(file.inside(place + 1))
        return found


def _renamed(
    launch: RustLaunch, names: Mapping[str, str], conditions: tuple[Condition, ...]
) -> RustLaunch:
    """A launch of a function in the names of one that calls it, under the conditions of the call.

    Of those, the ones on number formats are left out: they choose a type, not a launch.
    """
    kept = tuple(c for c in conditions if c.text.partition(" == ")[2].strip('"') not in _FORMATS)
    inner = tuple(c._replace(text=_replaced(c.text, names)) for c in launch.conditions)
    return launch._replace(
        conditions=(*kept, *inner),
        generics=launch.generics and tuple(names.get(text, text) for text in launch.generics),
        grid=launch.grid and tuple(names.get(text, text) for text in launch.grid),
        hints=launch.hints and {hint: names.get(t, t) for hint, t in launch.hints.items()},
    )


def _replaced(text: str, names: Mapping[str, str]) -> str:
    return " ".join(names.get(word, word) for word in text.split(" "))


def _plain(text: str) -> str:
    """`bm` for `bm.to_string()`."""
    for end in (".to_string()", ".into()", ".to_owned()"):
        text = text.removesuffix(end)
    return (
        text.removeprefix("String::from(").removesuffix(")")
        if text.startswith("String::")
        else text
    )


def known_types(export: Export) -> Mapping[str, str]:
    """Number format -> the type that it is dispatched to."""
    return {arm.dtype: arm.type for arm in export.dtypes}
