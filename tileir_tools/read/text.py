"""Whole texts to modules: wrappers, several modules, logs around them.

Place in the flow: bytes -> Module for text; imports `state`, `regions`, `structured`, `generic`,
`opaque`, `model`, `errors`.

A text is cut into stretches (at `// -----` lines, and at the framing lines of logs); each stretch is
read on its own, with aliases and names of its own, and gives one module per `cuda_tile.module`. Entries
without a wrapper around them make up one module without a name.
"""

from __future__ import annotations

import re
from contextlib import suppress

from ..dialect import OPS
from ..errors import Diagnostic, ForeignFormatError, ParseError
from ..model import FRAGMENT, Attribute, Block, Global, Module, Operation, Region, StringAttr
from ..source import Source, Span
from . import opaque
from .attributes import read_dict, symbol
from .forms import compile_form
from .generic import generic_name, read_generic
from .lexer import END, LETTERS
from .literals import unescape
from .regions import read_operation, recover
from .state import MAX_ERRORS, Failure, State, Stop
from .structured import read_entry, read_module_attributes, set_module_attributes

# `==== TILEIR ====` (cuda-tile 1.7), `==== TILEIR MLIR module ====` (before), `=== CUTILE DUMP: ir (m)
# ===` (cutile-rs) open a stretch of IR in a log; any other such line, or `=== END ir ===`, closes it.
_FRAME = re.compile(r"^[ \t]*===[^\n]*===[ \t]*\r?$", re.MULTILINE)
_OPENING = re.compile(r"TILEIR\b|CUTILE DUMP: *(?:ir|tileir|mlir)\b", re.IGNORECASE)
_SEPARATOR = re.compile(r"^[ \t]*// -----.*$", re.MULTILINE)

# How a line starts with which Tile IR can begin.
_BEGINNING = re.compile(
    r'^[ \t]*(?:(?:cuda_tile\.)?(?:entry|global|testing\$func)\b[^=\n]*[@"<]'
    r"|(?:cuda_tile\.|builtin\.)?module\b[ \t]*(?:@|\{|attributes|//|$)"
    r'|"(?:cuda_tile|builtin)\.[\w$]+"[ \t]*\(|[#!][\w$.]+[ \t]*=)',
    re.MULTILINE,
)

# How a line starts that holds an operation outside of an entry.
_LOOSE = re.compile(r'^[ \t]*(?:%[^="\n]*=[ \t]*)?cuda_tile\.(?!module|entry|global)', re.MULTILINE)

# How a line starts that looks like an entry or a module with a name misspelt.
_LIKE_AN_ITEM = re.compile(r"^[ \t]*[\w.$]+[ \t]+@", re.MULTILINE)

# From this size on the beginning of a text is read first, this much of it (in characters).
_LARGE = 8_000_000
_BEGINNING_SIZE = 500_000

_PREFIXED = frozenset(f"cuda_tile.{name}" for name in OPS)

_MODULES = frozenset({"module", "builtin.module", "cuda_tile.module"})
_ITEMS = frozenset({"entry", "testing$func", "global"})


def read_text(source: Source, fragments: bool = False) -> list[Module]:
    """All modules of a text; with `fragments` also operations outside of an entry.

    Raises:
        ParseError: the text is not valid Tile IR.
        ForeignFormatError: there is no Tile IR in it.
    """
    stretches, notes = _stretches(source, fragments)
    errors: list[Diagnostic] = []
    modules: list[Module] = []
    for start, end in stretches:
        if len(errors) >= MAX_ERRORS:
            break
        broken = _broken_beginning(source, start, end)
        if broken:
            errors += broken
            continue
        state = State(source, start, end)
        state.fragments = fragments
        found = _read_stretch(state)
        errors += state.errors
        if found:
            found[0].warnings += notes
            found[-1].warnings += state.warnings
            notes = []
        modules += found
    if errors:
        raise ParseError(errors)
    if not modules:
        raise ForeignFormatError(f"{source.name}: error: no Tile IR in this text", "text")
    return modules


def _broken_beginning(source: Source, start: int, end: int) -> list[Diagnostic]:
    """The errors in the beginning of a large text.

    A text that is none, or a broken one, shows it soon: it need not be cut into tokens as a whole, which
    takes seconds and gigabytes for a hundred megabytes.
    """
    if end - start < _LARGE:
        return []
    cut = source.text.rfind("\n", start + _BEGINNING_SIZE // 2, start + _BEGINNING_SIZE)
    if cut < 0:
        cut = start + _BEGINNING_SIZE
    state = State(source, start, cut, partial=True)
    _read_stretch(state)
    return state.errors


def _stretches(source: Source, fragments: bool) -> tuple[list[tuple[int, int]], list[Diagnostic]]:
    """The (start, end) offsets of the IR in a text, and what to say about the rest."""
    text = source.text
    pieces, notes = _framed(text), []
    if not pieces:
        first = _BEGINNING.search(text)
        loose = _LOOSE.search(text, 0, first.start() if first else len(text)) if fragments else None
        first = loose or first
        start = 0
        before = text[: first.start()] if first is not None else ""
        if first is not None and _has_other_text(before) and not _LIKE_AN_ITEM.search(before):
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
        if _OPENING.match(frame[0].strip("= \t\r")):
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
    for match in re.finditer(
        r"^(?:[}]|[#!][\w$.]+ *=).*$", text[first.start() : end], re.MULTILINE
    ):
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
        while state.tokens[index] != END:
            # A `}` too many; after another error it is most likely a part of that one.
            if not state.errors:
                state.error(state.expected(index, "an entry, a global or a module"))
            index = _read_items(state, index + 1, loose, modules)
        if not state.partial:
            state.settle_locations()
    except Failure as failure:
        # Only fatal ones come here: `_read_items` goes on after the others.
        _last_error(state, failure)
    except RecursionError:
        message = "regions are nested too deeply for the stack that is left"
        _last_error(state, Failure(state.region_at, message))
    except Stop:
        pass
    if loose.body.operations:
        modules.insert(0, loose)
    return modules


def _last_error(state: State, failure: Failure) -> None:
    with suppress(Stop):
        state.error(failure)


def _read_items(state: State, index: int, module: Module, modules: list[Module]) -> int:
    """What stands at the top of a file or in a module, up to a `}` or the end. Raises Stop."""
    tokens = state.tokens
    while tokens[index] not in ("}", END):
        first = index
        depth = state.depth
        try:
            index = _read_item(state, index, module, modules)
        except Failure as failure:
            state.error(failure)
            state.depth = depth
            index = opaque.next_statement(state, first, failure)
            # What stands between here and the next item belongs to the broken one.
            while tokens[index] not in ("}", END) and not _begins_item(state, index):
                index = opaque.statement_end(state, index, at_least=index)
        state.leave(state.outside)
        if not state.outside:
            state.poisoned.clear()
    return index


def _begins_item(state: State, index: int) -> bool:
    token, following = state.tokens[index : index + 2]
    if token in _MODULES or token.removeprefix("cuda_tile.") in _ITEMS:
        return following[:1] in ("@", "{", "a", "c", "p")
    return (token[:1] in ("#", "!") and following == "=") or (token[:1] == '"' and following == "(")


def _read_item(state: State, index: int, module: Module, modules: list[Module]) -> int:
    token = state.tokens[index]
    following = state.tokens[index + 1]
    mnemonic = token.removeprefix("cuda_tile.")
    if mnemonic in ("entry", "testing$func"):
        with state.isolated():
            entry, behind = read_entry(state, index + 1)
        return _add(state, module, entry, index, behind)
    if mnemonic == "global":
        found, behind = _read_global(state, index + 1)
        return _add(state, module, found, index, behind)
    if token == "cuda_tile.module":
        if module.name is not None:
            raise Failure(index, "a cuda_tile.module cannot stand inside another")
        return _read_module(state, index + 1, modules)
    if token in _MODULES:
        return _read_builtin_module(state, index + 1, module, modules)
    if token[:1] in ("#", "!") and following == "=":
        return _read_alias(state, index)
    if token[:1] == '"' and following == "(":
        return _read_generic_item(state, index, module, modules)
    if token == "{-#":
        return _skip_resources(state, index)
    if state.fragments and (token[:1] == "%" or token in _PREFIXED):
        return _read_loose(state, index, module)
    if ("." in token and token[:1] in LETTERS) or token[:1] == "%":
        return _skip_foreign(state, index)
    raise state.expected(index, "an entry, a global or a module")


def _read_loose(state: State, index: int, module: Module) -> int:
    """An operation outside of an entry, into the fragment of its module. Raises Stop."""
    fragment = next((op for op in module.operations if op.name == FRAGMENT), None)
    if fragment is None:
        fragment = Operation(FRAGMENT, None, regions=[Region([Block()])])
        fragment.place(state.lex, index, index)
        module.body.add(fragment)
        state.warn(index, index, "operations outside of an entry: bytecode cannot hold them")
    try:
        index = read_operation(state, fragment.regions[0].block, index)
    except Failure as failure:
        index = recover(state, index, failure)
    state.outside = len(state.defined)
    return index


def _add(state: State, module: Module, op: Operation, first: int, behind: int) -> int:
    """Put an entry or global into its module; check that its symbol is free."""
    op.place(state.lex, first, behind - 1)
    behind = state.location(op, behind)
    name = op.attributes["sym_name"]
    assert isinstance(name, StringAttr)
    if (id(module), name.value) in state.symbols:
        at = next(i for i in range(first, behind) if state.tokens[i][:1] in ("@", '"'))
        state.error(Failure(at, f"symbol @{name.value} is already defined"))
        return behind
    state.symbols.add((id(module), name.value))
    op.parent = module.body
    module.body.operations.append(op)
    return behind


def _read_global(state: State, index: int) -> tuple[Operation, int]:
    spec = OPS["global"]
    try:
        op, index = compile_form(spec)(state, index, spec)
    except Failure as failure:
        if state.tokens[failure.index] != ":":
            raise
        # `global @x alignment = 8 : tile<8xf32>`: the cutile-rs printer leaves the value out.
        op, behind = opaque.read_opaque(state, index - 1, 0)
        op.attributes["sym_name"] = StringAttr(symbol(state, index))
        return op, behind
    return Global("global", spec, (), (), op.attributes), index


def _read_module(state: State, index: int, modules: list[Module]) -> int:
    """`cuda_tile.module @name [attributes {..}] {..}`."""
    module = Module(symbol(state, index), state.source)
    index = read_module_attributes(state, index + 1, module)
    index = _read_body(state, index, module, modules)
    modules.append(module)
    return state.location(module, index)


def _read_builtin_module(state: State, index: int, module: Module, modules: list[Module]) -> int:
    """`module [@name] [attributes {..}] {..}`: only a frame around what matters."""
    if state.tokens[index][:1] == "@":
        index += 1
    if state.tokens[index] == "attributes":
        index = state.bracketed(index + 1)
    return state.skip_location(_read_body(state, index, module, modules))


def _read_body(state: State, index: int, module: Module, modules: list[Module]) -> int:
    """`{..}` of a module; the index behind it."""
    opening = index
    index = state.enter(index)
    if state.tokens[index][:1] == "^":
        index = state.expect(index + 1, ":")
    index = state.close(_read_items(state, index, module, modules), opening)
    state.depth -= 1
    return index


def _read_alias(state: State, index: int) -> int:
    """`#loc3 = loc(..)`, `#di_file = #cuda_tile.di_file<..>`, `!t = !cuda_tile.tile<..>`."""
    tokens = state.tokens
    name = tokens[index]
    if "<" in name:
        raise state.expected(index, "the name of an alias such as #loc1")
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
    if tokens[first][:6] == "affine" or (
        "." in tokens[first] and "cuda_tile." not in tokens[first]
    ):
        # Of another dialect, in a syntax of its own: up to the end of the line.
        while tokens[behind] != END and not state.lex.starts_line(behind):
            behind += 1
    if name in state.aliases.texts:
        raise Failure(index, f"alias {name} is already defined")
    state.aliases.texts[name] = state.literal(first, behind)
    state.aliases.places[name] = (first, behind)
    return behind


def _read_generic_item(state: State, index: int, module: Module, modules: list[Module]) -> int:
    """`"cuda_tile.module"() <{..}> ({..}) : () -> ()`, and the entries in it."""
    name = generic_name(state, index)
    if name in ("module", "builtin.module"):
        return _read_generic_module(state, index, module, modules, wrapper=name == "module")
    if name in ("entry", "global", "testing$func"):
        op, behind = read_generic(state, index)
        return _add(state, module, op, index, behind)
    if module.name is not None:
        # It is in the way of what a cuda_tile.module may hold: nobody can tell what it means there.
        op, behind = read_generic(state, index)
        op.place(state.lex, index, behind - 1)
        module.body.add(op)
        return state.location(op, behind)
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
    index = _read_body(state, state.expect(index, "("), inner, modules)
    index = state.expect(index, ")")
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
        return state.location(inner, index)
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
    tokens = state.tokens
    at = index
    while tokens[at] != END and (tokens[at][:1] in ("%", ",", ":", "=") or tokens[at].isdigit()):
        at += 1
    name = unescape(tokens[at].strip('"'))
    if name.startswith("cuda_tile.") or name in OPS or "." not in name:
        raise state.expected(at, "an entry, a global or a module")
    behind = opaque.statement_end(state, index, at_least=at)
    state.warn(at, at, f"'{name}' is no Tile IR and was passed over")
    return behind
