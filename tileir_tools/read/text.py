"""Whole texts to modules: wrappers, several modules, logs around them.

Place in the flow: bytes -> Module for text; imports `state`, `regions`, `structured`, `generic`,
`opaque`, `model`, `errors`.

A text is cut into stretches (at `// -----` lines, and at the framing lines of logs); each stretch is
read on its own, with aliases and names of its own, and gives one module per `cuda_tile.module`. Entries
without a wrapper around them make up one module without a name.
"""

from __future__ import annotations

import re

from ..dialect import OPS
from ..errors import Diagnostic, ForeignFormatError, ParseError
from ..model import Attribute, Global, Module, Operation, StringAttr
from ..source import Source, Span
from . import opaque
from .forms import compile_form, read_dict, symbol
from .generic import generic_name, read_generic
from .lexer import END
from .literals import unescape
from .regions import TooManyErrors
from .state import MAX_ERRORS, Failure, State
from .structured import read_entry, read_module_attributes, set_module_attributes

# `==== TILEIR ====` (cuda-tile 1.7), `==== TILEIR MLIR module ====` (before), `=== CUTILE DUMP: ir (m)
# ===` (cutile-rs) open a stretch of IR in a log; any other such line, or `=== END ir ===`, closes it.
_FRAME = re.compile(r"^[ \t]*===+ *(?P<title>[^=\n]*?) *===+[ \t]*\r?$", re.MULTILINE)
_OPENING = re.compile(r"TILEIR\b|CUTILE DUMP: *(?:ir|tileir|mlir)\b", re.IGNORECASE)
_SEPARATOR = re.compile(r"^[ \t]*// -----.*$", re.MULTILINE)

# How a line starts with which Tile IR can begin.
_BEGINNING = re.compile(
    r'^[ \t]*(?:(?:cuda_tile\.)?(?:entry|global|testing\$func)\b[^=\n]*[@"<]'
    r"|(?:cuda_tile\.|builtin\.)?module\b[ \t]*(?:@|\{|attributes|//|$)"
    r'|"(?:cuda_tile|builtin)\.[\w$]+"[ \t]*\(|[#!][\w$.]+[ \t]*=)',
    re.MULTILINE,
)


def read_text(source: Source) -> list[Module]:
    """All modules of a text.

    Raises:
        ParseError: the text is not valid Tile IR.
        ForeignFormatError: there is no Tile IR in it.
    """
    stretches, notes = _stretches(source)
    errors: list[Diagnostic] = []
    modules: list[Module] = []
    for start, end in stretches:
        state = State(source, start, end)
        found = _read_stretch(state)
        errors += state.errors
        for module in found:
            module.warnings += notes
            notes = []
        if found:
            found[-1].warnings += state.warnings
        modules += found
        if len(errors) >= MAX_ERRORS:
            break
    if errors:
        raise ParseError(errors)
    if not modules:
        raise ForeignFormatError(f"{source.name}: error: no Tile IR in this text", "text")
    return modules


def _stretches(source: Source) -> tuple[list[tuple[int, int]], list[Diagnostic]]:
    """The (start, end) offsets of the IR in a text, and what to say about the rest."""
    text = source.text
    pieces, notes = _framed(text), []
    if not pieces:
        first = _BEGINNING.search(text)
        start = 0
        if first is not None and _has_other_text(text[: first.start()]):
            start = first.start()
            message = "the text before the first entry is no Tile IR and was passed over"
            notes.append(Diagnostic("warning", message, Span(source, 0, 1)))
        pieces = [(start, len(text))]
    stretches: list[tuple[int, int]] = []
    for start, end in pieces:
        for separator in _SEPARATOR.finditer(text, start, end):
            stretches.append((start, separator.start()))
            start = separator.end()
        stretches.append((start, end))
    return [(s, e) for s, e in stretches if _has_other_text(text[s:e])], notes


def _framed(text: str) -> list[tuple[int, int]]:
    """The stretches between the framing lines of a log."""
    if "===" not in text:
        return []
    frames = list(_FRAME.finditer(text))
    pieces = []
    for k, frame in enumerate(frames):
        if _OPENING.match(frame["title"]):
            end = frames[k + 1].start() if k + 1 < len(frames) else len(text)
            pieces.append(_trim_log(text, frame.end(), end))
    return pieces


def _trim_log(text: str, start: int, end: int) -> tuple[int, int]:
    """Leave out log lines that stand around the IR inside one frame."""
    first = _BEGINNING.search(text, start, end)
    if first is None:
        return start, end
    # The IR ends with the last closing brace, or alias, that starts a line.
    last = end
    for match in re.finditer(r"^(?:[}]|[#!][\w$.]+ *=).*$", text[first.start() : end], re.MULTILINE):
        last = first.start() + match.end()
    return first.start(), last


def _has_other_text(text: str) -> bool:
    """Whether anything but comments and white space is in a text."""
    return bool(re.sub(r"//[^\n]*", "", text).strip()) if "//" in text else bool(text.strip())


def _read_stretch(state: State) -> list[Module]:
    loose = Module(None, state.source)
    modules: list[Module] = []
    try:
        index = _read_items(state, 0, loose, modules)
        if state.tokens[index] != END:
            raise state.expected(index, "an entry, a global or a module")
    except Failure as failure:
        state.error(failure)
    except TooManyErrors:
        pass
    state.settle_locations()
    if loose.body.operations:
        modules.insert(0, loose)
    return modules


def _read_items(state: State, index: int, module: Module, modules: list[Module]) -> int:
    """What stands at the top of a file or in a module, up to a `}` or the end."""
    tokens = state.tokens
    while tokens[index] not in ("}", END):
        first = index
        try:
            index = _read_item(state, index, module, modules)
        except Failure as failure:
            if failure.message:
                state.error(failure)
            if len(state.errors) >= MAX_ERRORS:
                raise TooManyErrors from None
            index = opaque.statement_end(state, first, at_least=max(first, failure.index))
            state.leave(0)
    return index


def _read_item(state: State, index: int, module: Module, modules: list[Module]) -> int:
    token = state.tokens[index]
    following = state.tokens[index + 1]
    mnemonic = token.removeprefix("cuda_tile.")
    if mnemonic in ("entry", "testing$func"):
        entry, behind = read_entry(state, index + 1)
        return _add(state, module, entry, index, behind)
    if mnemonic == "global":
        found, behind = _read_global(state, index + 1)
        return _add(state, module, found, index, behind)
    if token == "cuda_tile.module":
        return _read_module(state, index + 1, modules)
    if token in ("module", "builtin.module"):
        return _read_builtin_module(state, index + 1, module, modules)
    if token[:1] in ("#", "!") and following == "=":
        return _read_alias(state, index)
    if token[:1] == '"' and following == "(":
        return _read_generic_item(state, index, module, modules)
    if token == "{-#":
        return _skip_resources(state, index)
    if "." in token and token[:1].isalpha() or token[:1] == "%":
        return _skip_foreign(state, index)
    raise state.expected(index, "an entry, a global or a module")


def _add(state: State, module: Module, op: Operation, first: int, behind: int) -> int:
    """Put an entry or global into its module; check that its symbol is free."""
    op._span = (state.lex, first, behind - 1)
    behind = state.location(op, behind)
    name = op.attributes.get("sym_name")
    for other in module.operations:
        if other.attributes.get("sym_name") is name:
            state.error(Failure(first, f"symbol @{name.value} is already defined"))  # type: ignore[union-attr]
            return behind
    op.parent = module.body
    module.body.operations.append(op)
    return behind


def _read_global(state: State, index: int) -> tuple[Global, int]:
    spec = OPS["global"]
    op, index = compile_form(spec)(state, index, spec)
    return Global("global", spec, (), (), op.attributes), index


def _read_module(state: State, index: int, modules: list[Module]) -> int:
    """`cuda_tile.module @name [attributes {..}] {..}`."""
    module = Module(symbol(state, index), state.source)
    index = read_module_attributes(state, index + 1, module)
    index = _read_items(state, state.expect(index, "{"), module, modules)
    modules.append(module)
    return _close(state, index)


def _read_builtin_module(
    state: State, index: int, module: Module, modules: list[Module]
) -> int:
    """`module [@name] [attributes {..}] {..}`: only a frame around what matters."""
    if state.tokens[index][:1] == "@":
        index += 1
    if state.tokens[index] == "attributes":
        index = state.bracketed(index + 1)
    index = _read_items(state, state.expect(index, "{"), module, modules)
    return _close(state, index)


def _close(state: State, index: int) -> int:
    return state.skip_location(state.expect(index, "}"))


def _read_alias(state: State, index: int) -> int:
    """`#loc3 = loc(..)`, `#di_file = #cuda_tile.di_file<..>`, `!t = !cuda_tile.tile<..>`."""
    tokens = state.tokens
    name = tokens[index]
    first = index + 2
    behind = first + 1
    if tokens[first][:4] == "loc(":
        pass
    elif tokens[first] == "loc":
        behind = state.bracketed(first + 1)
    elif tokens[first] in ("[", "{", "("):
        behind = state.bracketed(first)
    while tokens[behind] in ("<", "->", ":") or tokens[behind - 1] in ("->", ":"):
        behind = state.bracketed(behind) if tokens[behind] in ("<", "(") else behind + 1
        if tokens[behind] == END:
            break
    if name in state.aliases.texts:
        raise Failure(index, f"alias {name} is already defined")
    state.aliases.texts[name] = " ".join(tokens[first:behind])
    return behind


def _read_generic_item(
    state: State, index: int, module: Module, modules: list[Module]
) -> int:
    """`"cuda_tile.module"() <{..}> ({..}) : () -> ()`, and the entries in it."""
    name = generic_name(state, index)
    if name in ("module", "builtin.module"):
        return _read_generic_module(state, index, module, modules, wrapper=name == "module")
    if name in ("entry", "global", "testing$func"):
        op, behind = read_generic(state, index)
        return _add(state, module, op, index, behind)
    return _skip_foreign(state, index)


def _read_generic_module(
    state: State, index: int, module: Module, modules: list[Module], wrapper: bool
) -> int:
    tokens = state.tokens
    at = index
    index = state.expect(state.expect(index + 1, "("), ")")
    attributes: dict[str, Attribute] = {}


    if tokens[index] == "<" and tokens[index + 1] == "{":
        index = state.expect(read_dict(state, index + 1, OPS["module"], attributes), ">")
    inner = Module(None, state.source) if wrapper else module
    index = state.expect(state.expect(index, "("), "{")
    if tokens[index][:1] == "^":
        index = state.expect(index + 1, ":")
    index = _read_items(state, index, inner, modules)
    index = state.expect(state.expect(index, "}"), ")")
    if tokens[index] == "{":
        index = read_dict(state, index, OPS["module"], attributes)
    index = state.expect(index, ":")
    _, index = state.type(index)
    if wrapper:
        name = attributes.pop("sym_name", None)
        if not isinstance(name, StringAttr):
            raise Failure(at, "cuda_tile.module needs an attribute 'sym_name'")
        inner.name = name.value
        set_module_attributes(inner, attributes)
        modules.append(inner)
    return state.skip_location(index)


def _skip_resources(state: State, index: int) -> int:
    """`{-# dialect_resources: .. #-}`."""
    while state.tokens[index] != "#-}":
        if state.tokens[index] == END:
            raise state.expected(index, "'#-}'")
        index += 1
    return index + 1


def _skip_foreign(state: State, index: int) -> int:
    """An operation of another dialect beside a `cuda_tile.module`."""
    token = state.tokens[index]
    name = unescape(token.strip('"'))
    if name.startswith("cuda_tile."):
        raise state.expected(index, "an entry, a global or a module")
    behind = opaque.statement_end(state, index, at_least=index)
    state.warn(index, index, f"'{name}' is no Tile IR and was passed over")
    return behind



