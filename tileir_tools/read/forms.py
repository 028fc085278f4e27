"""Reading ops whose pretty form is a row of the op table.

Place in the flow: part of bytes -> Module for text; imports `dialect`, `model`, `attributes` and `state`.

The form of an op is compiled once into a list of steps, small functions that take the tokens at an index
and give the index behind what they read. What they read goes into a `Draft`, from which the operation is
made at the end. A call costs more than what a step does, so parts that always stand together (`%a, %b`;
`: type -> type`) are one step.
"""

from __future__ import annotations

from collections.abc import Callable

from ..dialect import HEADED_KINDS, OpSpec
from ..dialect.forms import Part, parse_form
from ..model import (
    I1,
    TOKEN,
    UNIT,
    Attribute,
    Operation,
    TileType,
    Type,
    Value,
)
from .attributes import BARE, HEADED, is_default, read_attribute, read_dict, read_keyword
from .lexer import LETTERS
from .state import Failure, State, known_types


class Draft:
    """What has been read of an operation so far.

    `operands` are those of ops whose operand groups all have one; `groups`, which only the others have,
    those of the other ops.
    """

    __slots__ = ("attributes", "groups", "operands", "types")

    groups: dict[str, list[Value]]

    def __init__(self, results: int) -> None:
        self.operands: list[Value] = []
        self.attributes: dict[str, Attribute] = {}
        # The types of the results; that of tokens until one is read, since printers may leave those out.
        self.types: list[Type] = [TOKEN] * results


Step = Callable[[State, "list[str]", int, Draft], int]
# Whether an optional part stands at an index.
Present = Callable[["list[str]", int, Draft], bool]
# Completes the type of a result that is not in the text.
TypeRule = Callable[[Draft], None]
# Reads an operation whose mnemonic has just been passed.
OpReader = Callable[[State, int, OpSpec], "tuple[Operation, int]"]


# -- steps ------------------------------------------------------------------------------------------


def _literal_step(text: str) -> Step:
    words = text.replace("[", " [ ").replace("]", " ] ").replace(",", " , ").replace("=", " = ")
    wanted = words.split()

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        for word in wanted:
            if tokens[index] != word:
                raise state.expected(index, f"'{word}'")
            index += 1
        return index

    return step


def _arrow_step() -> Step:
    """`->`, and the type of a token before it, which only the cutile-rs printer writes."""

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        if tokens[index] == "," and tokens[index + 1] == "token" and draft.groups.get("token"):
            index += 2
        return state.expect(index, "->")

    return step


def _values_step(count: int) -> Step:
    """`%a, %b`: operands of an op whose groups all have one."""

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        known = state.values
        operands = draft.operands
        last = index + 2 * count - 2
        while True:
            value = known.get(tokens[index])
            operands.append(state.operand(index) if value is None else value)
            if index == last:
                return index + 1
            if tokens[index + 1] != ",":
                raise state.expected(index + 1, "','")
            index += 2

    return step


def _group_step(name: str) -> Step:
    """`%a`: an operand group with one value."""

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        value = state.values.get(tokens[index])
        draft.groups[name] = [state.operand(index) if value is None else value]
        return index + 1

    return step


def _list_step(name: str) -> Step:
    """`%a, %b` or nothing: an operand group with any number of values."""

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        if tokens[index][:1] == "%":
            draft.groups[name], index = state.operands(index)
        return index

    return step


def _attribute_step(spec: OpSpec, name: str) -> Step:
    kind = spec.attributes[name].kind
    if kind in HEADED_KINDS:
        return _headed_step(spec, name, kind)
    if kind in BARE:
        return _keyword_step(spec, name, kind)
    if kind == "predicate":
        return _predicate_step(name)
    if kind == "dense":
        return _dense_step(name)

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        found, index = read_attribute(state, index, kind)
        if not is_default(spec, name, found):
            draft.attributes[name] = found
        return index

    return step


def _predicate_step(name: str) -> Step:
    """`div_by<16>`: a third of all operations are `assume`, and they say few different things."""
    known: dict[str, Attribute] = {}

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        token = tokens[index]
        found = known.get(token)
        if found is not None and tokens[index + 1] == ",":
            draft.attributes[name] = found
            return index + 1
        found, behind = read_attribute(state, index, "predicate")
        # Not an alias, which means something else in another text.
        if behind == index + 1 and token[0] != "#" and len(known) < 10_000:
            known[token] = found
        draft.attributes[name] = found
        return behind

    return step


def _dense_step(name: str) -> Step:
    """`<i32: 1> : tile<i32>`."""

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        draft.attributes[name], index = state.dense(index)
        return index

    return step


def _keyword_step(spec: OpSpec, name: str, kind: str) -> Step:
    """`signed`: a keyword that must stand there."""
    keywords = BARE[kind]
    default = spec.attributes[name].default

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        found: Attribute | None = keywords.get(tokens[index])
        if found is None:
            found, index = read_keyword(state, index, kind)
        else:
            index += 1
        if found is not default:
            draft.attributes[name] = found
        return index

    return step


def _headed_step(spec: OpSpec, name: str, kind: str) -> Step:
    """`rounding<approx>`: read where it stands, left out where it does not."""
    headed = HEADED[kind]
    default = spec.attributes[name].default

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        token = tokens[index]
        if token == ":":
            return index
        found: Attribute | None = headed.get(token)
        if found is not None:
            index += 1
        elif token.removeprefix("#cuda_tile.").startswith(kind):
            found, index = read_keyword(state, index, kind)
        if found is not None and found is not default:
            draft.attributes[name] = found
        return index

    return step


def _flags_step(flags: tuple[str, ...]) -> Step:
    """Flags that stand side by side may come in any order."""

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        while tokens[index] in flags:
            if tokens[index] in draft.attributes:
                raise Failure(index, f"'{tokens[index]}' is given twice")
            draft.attributes[tokens[index]] = UNIT
            index += 1
        return index

    return step


def _result_type_step(result: int) -> Step:
    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        draft.types[result], index = state.type(index)
        return index

    return step


def _operand_type_step(spec: OpSpec, name: str) -> Step:
    position = spec.operand_index(name)
    single = spec.single_operands

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        found, behind = state.type(index)
        value = draft.operands[position] if single else draft.groups[name][0]
        if value.type is not found:
            raise state.clash(index, value, found)
        return behind

    return step


def _group_types_step(name: str) -> Step:
    """The types of an operand group, one for each value."""

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        return state.types_of(index, draft.groups.get(name, []))[1]

    return step


def _index_types_step(name: str) -> Step:
    """One type that stands for all indices, or one for each."""

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        first = index
        found, index = state.type(index)
        types = [found]
        while tokens[index] == "," and tokens[index + 1] != "token":
            found, index = state.type(index + 1)
            types.append(found)
        values = draft.groups[name]
        if len(types) not in (1, len(values)):
            raise Failure(first, f"expected 1 or {len(values)} index types, found {len(types)}")
        # A single type is checked against the first index only: the cutile-rs printer writes that one.
        for k, (value, type) in enumerate(zip(values, types)):
            if value.type is not type:
                raise state.clash(state.behind_types(first, k), value, type)
        return index

    return step


def _dict_step(spec: OpSpec, keyword: bool) -> Step:
    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        if tokens[index] == "{":
            return read_dict(state, index, spec, draft.attributes)
        if keyword and tokens[index] == "attributes":
            return read_dict(state, index + 1, spec, draft.attributes)
        return index

    return step


def _end_step(spec: OpSpec, result: int) -> Step:
    """`{..} : result type`, with or without the braces."""

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        if tokens[index] != ":":
            index = _dict_before_colon(state, index, spec, draft)
        found = known_types.get(tokens[index + 1])
        if found is None:
            found, index = state.type(index + 1)
        else:
            index += 2
        draft.types[result] = found
        return index

    return step


def _cast_step(spec: OpSpec, source: str, result: int | None) -> Step:
    """`{..} : operand type` and, where there is a result, `-> result type`."""
    position = spec.operand_index(source)

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        if tokens[index] != ":":
            index = _dict_before_colon(state, index, spec, draft)
        index += 1
        value = draft.operands[position]
        found = known_types.get(tokens[index])
        if found is not value.type:
            found, behind = state.type(index)
            if found is not value.type:
                raise state.clash(index, value, found)
            index = behind
        else:
            index += 1
        if result is None:
            return index
        if tokens[index] != "->":
            raise state.expected(index, "'->'")
        found = known_types.get(tokens[index + 1])
        if found is None:
            draft.types[result], index = state.type(index + 1)
            return index
        draft.types[result] = found
        return index + 2

    return step


def _dict_before_colon(state: State, index: int, spec: OpSpec, draft: Draft) -> int:
    """The index of the `:` behind `{..}`."""
    if state.tokens[index] == "{":
        index = read_dict(state, index, spec, draft.attributes)
    state.expect(index, ":")
    return index


def _optional_step(present: Present, steps: list[Step]) -> Step:
    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        if present(tokens, index, draft):
            for inner in steps:
                index = inner(state, tokens, index, draft)
        return index

    return step


def _worded_step(word: str, steps: list[Step]) -> Step:
    """An optional part that is there where a word is."""

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        if tokens[index] == word:
            for inner in steps:
                index = inner(state, tokens, index, draft)
        return index

    return step


# -- compiling a form -------------------------------------------------------------------------------


def _compile_optional(spec: OpSpec, part: Part) -> Step:
    """The step for an optional, lenient or repeated part."""
    steps = _compile_parts(spec, part.parts)
    if part.kind == "repeated":
        # `, type` twice over: the type of an operand that has the type of the next one.
        return _optional_step(
            lambda tokens, index, draft: (
                tokens[index] == tokens[index + 2] == "," and tokens[index + 1] == tokens[index + 3]
            ),
            steps,
        )
    parts = [p for p in part.parts if p.kind != "literal" or p.name.strip()]
    first, kinds = parts[0], {p.kind for p in parts}
    types_only = not kinds & {"operand", "operands", "attribute"}
    if part.kind == "optional" and types_only and first.kind == "literal":
        anchor = part.anchor
        return _optional_step(lambda tokens, index, draft: bool(draft.groups.get(anchor)), steps)
    if first.kind == "literal":
        word = first.name.split()[0].rstrip("=")
        if part.kind == "lenient" and parts[1].kind == "attribute":
            return _optional_step(
                lambda tokens, index, draft: (
                    # A word that is none of the keywords is one misspelt: the step says so.
                    tokens[index] == word and tokens[index + 1][:1] in LETTERS
                ),
                steps,
            )
        return _worded_step(word, steps)
    if first.kind == "attribute":
        kind = spec.attributes[first.name].kind
        if kind in HEADED_KINDS:
            # The step for the attribute reads it only where it stands.
            return steps[0]
        if kind == "memory_scope":
            # No other word can stand there: one that is no keyword is one misspelt.
            return _optional_step(lambda tokens, index, draft: tokens[index][:1] in LETTERS, steps)
        keywords = BARE[kind]
        return _optional_step(lambda tokens, index, draft: tokens[index] in keywords, steps)
    return _optional_step(
        lambda tokens, index, draft: tokens[index][:1] == "%" and tokens[index + 1] != "=", steps
    )


def _compile_parts(spec: OpSpec, parts: tuple[Part, ...]) -> list[Step]:
    parts = tuple(p for p in parts if p.kind != "literal" or p.name.strip())
    steps: list[Step] = []
    position = 0
    while position < len(parts):
        step, length = _compile_next(spec, parts[position:])
        steps.append(step)
        position += length
    return steps


def _compile_next(spec: OpSpec, parts: tuple[Part, ...]) -> tuple[Step, int]:
    """The step for what stands first, and how many parts it covers."""
    part = parts[0]
    if part.kind == "flag":
        flags = [part.anchor]
        while len(flags) < len(parts) and parts[len(flags)].kind == "flag":
            flags.append(parts[len(flags)].anchor)
        return _flags_step(tuple(flags)), len(flags)
    if part.kind == "operand" and spec.single_operands:
        count = 1
        while [(p.kind, p.name) for p in parts[2 * count - 1 : 2 * count]] == [
            ("literal", ", ")
        ] and (parts[2 * count].kind == "operand"):
            count += 1
        return _values_step(count), 2 * count - 1
    if part.kind == "dict":
        ending = _compile_ending(spec, parts)
        if ending is not None:
            return ending
    return _compile_part(spec, part), 1


def _compile_ending(spec: OpSpec, parts: tuple[Part, ...]) -> tuple[Step, int] | None:
    """`{} : <result>`, `{} : <operand>` and `{} : <operand> -> <result>` are one step each."""
    shape = [p.name.strip() if p.kind == "literal" else p.kind for p in parts]
    results = {r.name for r in spec.results}
    if shape[1:3] != [":", "type"]:
        return None
    name = parts[2].name
    if name in results:
        return _end_step(spec, spec.result_index(name)), 3
    if not spec.single_operands:
        return None
    if shape[3:5] == ["->", "type"] and parts[4].name in results:
        return _cast_step(spec, name, spec.result_index(parts[4].name)), 5
    return _cast_step(spec, name, None), 3


def _compile_part(spec: OpSpec, part: Part) -> Step:
    if part.kind == "literal":
        if part.name.strip() == "->" and not spec.single_operands:
            return _arrow_step()
        return _literal_step(part.name)
    if part.kind == "operand":
        return _group_step(part.name)
    if part.kind == "operands":
        return _list_step(part.name)
    if part.kind == "attribute":
        return _attribute_step(spec, part.name)
    if part.kind == "type":
        if any(r.name == part.name for r in spec.results):
            return _result_type_step(spec.result_index(part.name))
        return _operand_type_step(spec, part.name)
    if part.kind == "types":
        return _group_types_step(part.name)
    if part.kind == "index_types":
        return _index_types_step(part.name)
    if part.kind in ("dict", "keyword_dict"):
        return _dict_step(spec, part.kind == "keyword_dict")
    return _compile_optional(spec, part)


def compile_form(spec: OpSpec) -> OpReader:
    """The reader of an op that has a form."""
    parts = parse_form(spec)
    steps = _compile_parts(spec, parts)
    fix = _FIXES.get(spec.mnemonic)
    rules = [rule for row in spec.results if (rule := _type_rule(spec, parts, row.name))]
    results = len(spec.results)
    required = _required_attributes(spec, parts)
    single, mnemonic = spec.single_operands, spec.mnemonic

    def read(state: State, index: int, spec: OpSpec) -> tuple[Operation, int]:
        draft = Draft(results)
        if not single:
            draft.groups = {}
        tokens = state.tokens
        at = index - 1
        for step in steps:
            index = step(state, tokens, index, draft)
        for name in required:
            if name not in draft.attributes:
                raise Failure(at, f"{mnemonic} needs an attribute '{name}'")
        if fix is not None:
            fix(draft)
        for rule in rules:
            rule(draft)
        types, attributes = draft.types, draft.attributes
        if single:
            return Operation(mnemonic, spec, draft.operands, types, attributes), index
        operands, segments = _flatten(spec, draft)
        return Operation(mnemonic, spec, operands, types, attributes, (), segments), index

    return read


def _flatten(spec: OpSpec, draft: Draft) -> tuple[list[Value], tuple[int, ...]]:
    """The operand groups one behind the other, and their sizes."""
    operands: list[Value] = []
    sizes: list[int] = []
    for row in spec.operands:
        group = draft.groups.get(row.name, [])
        operands += group
        sizes.append(len(group))
    return operands, tuple(sizes)


def _required_attributes(spec: OpSpec, parts: tuple[Part, ...]) -> tuple[str, ...]:
    """The attributes that an op must have and that its form does not always read."""
    always = {p.name for p in parts if p.kind == "attribute"}
    return tuple(
        name
        for name, row in spec.attributes.items()
        if row.default is None and not row.optional and name not in always
    )


def _type_rule(spec: OpSpec, parts: tuple[Part, ...], name: str) -> TypeRule | None:
    """What completes the type of a result; None where the text has it, or leaves out that of a token."""
    if name.endswith("token") or any(p.kind == "type" and p.name == name for p in parts):
        return None
    result, type_of = spec.result_index(name), _type_source(spec, name)

    def complete(draft: Draft) -> None:
        draft.types[result] = type_of(draft)

    return complete


def _type_source(spec: OpSpec, name: str) -> Callable[[Draft], Type]:
    """Where the type of a result comes from: an attribute, or what has the same type."""
    if spec.mnemonic == "constant":
        return lambda draft: draft.attributes["value"].type  # type: ignore[attr-defined]
    same = next(other for group in spec.same if name in group for other in group)
    if not any(row.name == same for row in spec.operands):
        written = spec.result_index(same)
        return lambda draft: draft.types[written]
    if not spec.single_operands:
        return lambda draft: draft.groups[same][0].type
    position = spec.operand_index(same)
    return lambda draft: draft.operands[position].type


def _mask_or_padding(draft: Draft) -> None:
    """A lone second operand of load_ptr_tko is a mask only if it is a tile of i1.

    tileirdisasm prints a padding value without mask in the mask's place.
    """
    mask = draft.groups.get("mask")
    if mask and "paddingValue" not in draft.groups:
        type = mask[0].type
        if not (isinstance(type, TileType) and type.element is I1):
            draft.groups["paddingValue"] = draft.groups.pop("mask")


def _token_among_arguments(draft: Draft) -> None:
    """The cutile-rs printer writes the token of print_tko behind the other operands."""
    arguments = draft.groups.get("args")
    if arguments and arguments[-1].type is TOKEN and "token" not in draft.groups:
        draft.groups["token"] = [arguments.pop()]


_FIXES: dict[str, Callable[[Draft], None]] = {
    "load_ptr_tko": _mask_or_padding,
    "print_tko": _token_among_arguments,
}
