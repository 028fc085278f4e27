"""Reading ops whose pretty form is a row of the op table.

Place in the flow: part of bytes -> Module for text; imports `dialect`, `model` and `state`.

The form of an op is compiled once into a list of steps, small functions that take the tokens at an index
and give the index behind what they read. What they read goes into a `Draft`, from which the operation is
made at the end.
"""

from __future__ import annotations

from collections.abc import Callable

from ..dialect import (
    HEADED_KINDS,
    KEYWORD_ALIASES,
    KEYWORDS,
    OpSpec,
    enum_attribute,
    enum_attribute_by_number,
)
from ..dialect.forms import Part, parse_form
from ..model import (
    I1,
    I32,
    I64,
    TOKEN,
    UNIT,
    ArrayAttr,
    Attribute,
    BoolAttr,
    DenseArrayAttr,
    DenseElementsAttr,
    EnumAttr,
    IntegerAttr,
    Operation,
    StringAttr,
    SymbolRefAttr,
    TileType,
    Type,
    TypeAttr,
    Value,
)
from .literals import symbol_name, unescape
from .state import Failure, State


class Draft:
    """What has been read of an operation so far."""

    __slots__ = ("attributes", "operands", "types")

    def __init__(self) -> None:
        self.operands: dict[str, list[Value]] = {}
        self.attributes: dict[str, Attribute] = {}
        self.types: dict[str, Type] = {}


Step = Callable[[State, "list[str]", int, Draft], int]
# Whether an optional part stands at an index.
Present = Callable[["list[str]", int, Draft], bool]
# Reads an operation whose mnemonic has just been passed.
OpReader = Callable[[State, int, OpSpec], "tuple[Operation, int]"]


# -- the values of attributes -----------------------------------------------------------------------

_BARE: dict[str, dict[str, EnumAttr]] = {
    kind: {
        keyword: found
        for keyword in (*keywords, *KEYWORD_ALIASES)
        if (found := enum_attribute(kind, keyword)) is not None
    }
    for kind, keywords in KEYWORDS.items()
}
_HEADED: dict[str, dict[str, EnumAttr]] = {
    kind: {f"{kind}<{keyword}>": found for keyword, found in _BARE[kind].items()}
    for kind in HEADED_KINDS
}


def read_attribute(state: State, index: int, kind: str) -> tuple[Attribute, int]:
    """An attribute of a known kind, in the spelling that pretty forms use. Raises Failure."""
    token = state.tokens[index]
    if kind in KEYWORDS:
        return _read_keyword(state, index, kind)
    if kind in ("i32", "i64"):
        value, index = state.integer(index)
        return IntegerAttr(value, I32 if kind == "i32" else I64), index
    if kind == "string":
        if token[:1] != '"' or len(token) < 2:
            raise state.expected(index, "a string")
        return StringAttr(unescape(token[1:-1])), index + 1
    if kind == "symbol":
        return SymbolRefAttr(symbol(state, index)), index + 1
    if kind == "symbol_name":
        return StringAttr(symbol(state, index)), index + 1
    if kind == "dense":
        return state.dense(index)
    if kind == "hints":
        return state.hints(index)
    found, behind = state.attribute(index)
    return conform(found, kind) or _wrong_kind(state, index, kind), behind


def symbol(state: State, index: int) -> str:
    """The name in a symbol token. Raises Failure."""
    token = state.tokens[index]
    if token[:1] != "@" or len(token) < 2:
        raise state.expected(index, "a symbol such as @name")
    return symbol_name(token)


def _wrong_kind(state: State, index: int, kind: str) -> Attribute:
    raise state.expected(index, f"an attribute of kind {kind}")


def _read_keyword(state: State, index: int, kind: str) -> tuple[Attribute, int]:
    token = state.tokens[index]
    found = _BARE[kind].get(token)
    if found is not None:
        return found, index + 1
    if kind in HEADED_KINDS and token.removeprefix("#cuda_tile.") == kind:
        # `rounding negative_inf`, as the cutile-rs printer writes it, or brackets apart.
        bare = _BARE[kind].get(state.tokens[index + 1])
        if bare is not None:
            return bare, index + 2
    if token[:1] in ("#", "-") or token[:1].isdigit() or token.startswith(kind):
        attribute, behind = state.attribute(index)
        conformed = conform(attribute, kind)
        if conformed is not None:
            return conformed, behind
    raise state.expected(index, f"one of {', '.join(KEYWORDS[kind])}")


def conform(found: Attribute, kind: str) -> Attribute | None:
    """The attribute as the op table wants it, from any of its spellings; None where it is not one.

    The generic form and older printers write keywords as numbers, arrays as `array<..>`.
    """
    if kind in KEYWORDS:
        if isinstance(found, IntegerAttr):
            return enum_attribute_by_number(kind, found.value)
        if isinstance(found, StringAttr):
            return enum_attribute(kind, found.value)
        return found if isinstance(found, EnumAttr) and found.kind == kind else None
    if kind in ("i32", "i64") and isinstance(found, IntegerAttr):
        return IntegerAttr(found.value, I32 if kind == "i32" else I64)
    if kind in ("i32_array", "bool_array"):
        return _array(found, kind)
    if kind == "symbol" and isinstance(found, StringAttr):
        return SymbolRefAttr(found.value)
    wanted = _CLASSES.get(kind)
    return found if wanted is None or isinstance(found, wanted) else None


_CLASSES: dict[str, type[Attribute]] = {
    "i32": IntegerAttr,
    "i64": IntegerAttr,
    "bool": BoolAttr,
    "string": StringAttr,
    "symbol_name": StringAttr,
    "symbol": SymbolRefAttr,
    "dense": DenseElementsAttr,
    "identities": ArrayAttr,
    "dicts": ArrayAttr,
    "type": TypeAttr,
}


def _array(found: Attribute, kind: str) -> Attribute | None:
    element = "i32" if kind == "i32_array" else "i1"
    if isinstance(found, DenseArrayAttr):
        return DenseArrayAttr(element, found.values)
    if not isinstance(found, ArrayAttr):
        return None
    values: list[int] = []
    for item in found.items:
        if not isinstance(item, (IntegerAttr, BoolAttr)):
            return None
        values.append(int(item.value))
    return DenseArrayAttr(element, tuple(values))


def is_default(spec: OpSpec, name: str, value: Attribute) -> bool:
    """Whether an attribute says what its absence says: it is not stored then."""
    row = spec.attributes.get(name)
    if row is None:
        return False
    if row.kind == "bool_array":
        return isinstance(value, DenseArrayAttr) and not any(value.values)
    if row.kind == "unit":
        return isinstance(value, BoolAttr) and not value.value
    if row.kind == "dicts":
        return isinstance(value, ArrayAttr) and all(
            getattr(item, "items", None) == () for item in value.items
        )
    return row.default is value


def read_dict(state: State, index: int, spec: OpSpec, into: dict[str, Attribute]) -> int:
    """`{name = value, flag}` behind an operation."""
    tokens = state.tokens
    index = state.expect(index, "{")
    first = True
    while tokens[index] != "}":
        if not first:
            index = state.expect(index, ",")
        first = False
        token = tokens[index]
        if token[:1] != '"' and not (token[:1].isalpha() or token[:1] == "_"):
            raise state.expected(index, "an attribute name")
        name = unescape(token[1:-1]) if token[0] == '"' else token
        if name in into:
            raise Failure(index, f"attribute '{name}' is given twice")
        at = index
        index += 1
        value: Attribute = UNIT
        if tokens[index] == "=":
            value, index = _dict_value(state, index + 1, spec, name)
        add_attribute(state, spec, name, value, into, at)
    return index + 1


def _dict_value(state: State, index: int, spec: OpSpec, name: str) -> tuple[Attribute, int]:
    row = spec.attributes.get(name)
    if row is not None and row.kind == "hints":
        return state.hints(index)
    if row is not None and row.kind in KEYWORDS:
        return _read_keyword(state, index, row.kind)
    return state.attribute(index)


def add_attribute(
    state: State, spec: OpSpec, name: str, value: Attribute, into: dict[str, Attribute], at: int
) -> None:
    """Store an attribute as the table wants it, unless it is at its default. Raises Failure."""
    row = spec.attributes.get(name)
    if row is not None and not is_default(spec, name, value):
        conformed = value if row.kind == "unit" else conform(value, row.kind)
        if conformed is None:
            raise Failure(at, f"attribute '{name}' of {spec.mnemonic} is not of kind {row.kind}")
        value = UNIT if row.kind == "unit" else conformed
    if not is_default(spec, name, value):
        into[name] = value


# -- steps ------------------------------------------------------------------------------------------


def _literal_step(text: str) -> Step:
    words = text.replace("[", " [ ").replace("]", " ] ").replace(",", " , ").replace("=", " = ")
    wanted = words.split()
    if len(wanted) == 1:
        word = wanted[0]

        def one(state: State, tokens: list[str], index: int, draft: Draft) -> int:
            if tokens[index] != word:
                raise state.expected(index, f"'{word}'")
            return index + 1

        return one

    def several(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        for word in wanted:
            if tokens[index] != word:
                raise state.expected(index, f"'{word}'")
            index += 1
        return index

    return several


def _operand_step(name: str) -> Step:
    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        value = state.values.get(tokens[index])
        draft.operands[name] = [state.operand(index) if value is None else value]
        return index + 1

    return step


def _operands_step(name: str) -> Step:
    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        if tokens[index][:1] == "%":
            draft.operands[name], index = state.operands(index)
        return index

    return step


def _attribute_step(spec: OpSpec, name: str) -> Step:
    kind = spec.attributes[name].kind
    if kind in HEADED_KINDS:
        return _headed_step(spec, name, kind)
    keywords = _BARE.get(kind, {})

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        found: Attribute | None = keywords.get(tokens[index])
        if found is None:
            found, index = read_attribute(state, index, kind)
        else:
            index += 1
        if not is_default(spec, name, found):
            draft.attributes[name] = found
        return index

    return step


def _headed_step(spec: OpSpec, name: str, kind: str) -> Step:
    """`rounding<approx>`: read where it stands, left out where it does not."""
    headed = _HEADED[kind]
    default = spec.attributes[name].default

    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        token = tokens[index]
        found: Attribute | None = headed.get(token)
        if found is not None:
            index += 1
        elif token.removeprefix("#cuda_tile.").startswith(kind):
            found, index = _read_keyword(state, index, kind)
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


def _result_type_step(name: str) -> Step:
    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        draft.types[name], index = state.type(index)
        return index

    return step


def _operand_type_step(name: str) -> Step:
    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        found, behind = state.type(index)
        value = draft.operands[name][0]
        if value.type is not found:
            raise _type_clash(index, value, found)
        return behind

    return step


def _type_clash(index: int, value: Value, found: Type) -> Failure:
    return Failure(index, f"{value.name} is {value.type}, the operation says {found}")


def _operand_types_step(name: str) -> Step:
    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        first = index
        types, index = state.types(index)
        values = draft.operands.get(name, [])
        if len(types) != len(values):
            raise Failure(first, f"expected {len(values)} types, one for each operand")
        for value, found in zip(values, types):
            if value.type is not found:
                raise _type_clash(first, value, found)
        return index

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
        values = draft.operands[name]
        if len(types) not in (1, len(values)):
            raise Failure(first, f"expected 1 or {len(values)} index types, found {len(types)}")
        # A single type is checked against the first index only: the cutile-rs printer writes that one.
        for value, type in zip(values, types):
            if value.type is not type:
                raise _type_clash(first, value, type)
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


def _optional_step(present: Present, steps: list[Step]) -> Step:
    def step(state: State, tokens: list[str], index: int, draft: Draft) -> int:
        if present(tokens, index, draft):
            for inner in steps:
                index = inner(state, tokens, index, draft)
        return index

    return step


# -- compiling a form -------------------------------------------------------------------------------


def _present(spec: OpSpec, part: Part) -> Present:
    """How to see that an optional or lenient part stands at an index."""
    if part.kind == "repeated":
        # `, type` twice over: the type of an operand that has the type of the next one.
        return lambda tokens, index, draft: (
            tokens[index] == tokens[index + 2] == "," and tokens[index + 1] == tokens[index + 3]
        )
    parts = [p for p in part.parts if p.kind != "literal" or p.name.strip()]
    first = parts[0]
    kinds = {p.kind for p in parts}
    if part.kind == "optional" and kinds & {"type", "types", "index_types"} and first.kind == "literal":
        anchor = part.anchor
        if not kinds & {"operand", "operands", "attribute"}:
            return lambda tokens, index, draft: bool(draft.operands.get(anchor))
    if first.kind == "literal":
        word = first.name.split()[0].rstrip("=")
        if part.kind == "lenient" and parts[1].kind == "attribute":
            keywords = _BARE[spec.attributes[parts[1].name].kind]
            return lambda tokens, index, draft: (
                tokens[index] == word and tokens[index + 1] in keywords
            )
        return lambda tokens, index, draft: tokens[index] == word
    if first.kind == "attribute":
        kind = spec.attributes[first.name].kind
        if kind in HEADED_KINDS:
            return lambda tokens, index, draft: (
                tokens[index].removeprefix("#cuda_tile.").startswith(kind)
            )
        keywords = _BARE[kind]
        return lambda tokens, index, draft: tokens[index] in keywords
    return lambda tokens, index, draft: tokens[index][:1] == "%" and tokens[index + 1] != "="


def _compile_parts(spec: OpSpec, parts: tuple[Part, ...]) -> list[Step]:
    results = {r.name for r in spec.results}
    steps: list[Step] = []
    flags: list[str] = []
    for part in parts:
        if part.kind == "flag":
            flags.append(part.anchor)
            continue
        if flags:
            steps.append(_flags_step(tuple(flags)))
            flags = []
        if part.kind == "literal":
            if part.name.strip():
                steps.append(_literal_step(part.name))
        elif part.kind == "operand":
            steps.append(_operand_step(part.name))
        elif part.kind == "operands":
            steps.append(_operands_step(part.name))
        elif part.kind == "attribute":
            steps.append(_attribute_step(spec, part.name))
        elif part.kind == "type":
            make = _result_type_step if part.name in results else _operand_type_step
            steps.append(make(part.name))
        elif part.kind == "types":
            steps.append(_operand_types_step(part.name))
        elif part.kind == "index_types":
            steps.append(_index_types_step(part.name))
        elif part.kind in ("dict", "keyword_dict"):
            steps.append(_dict_step(spec, part.kind == "keyword_dict"))
        else:
            steps.append(_optional_step(_present(spec, part), _compile_parts(spec, part.parts)))
    if flags:
        steps.append(_flags_step(tuple(flags)))
    return steps


def compile_form(spec: OpSpec) -> OpReader:
    """The reader of an op that has a form."""
    steps = _compile_parts(spec, parse_form(spec))
    fix = _FIXES.get(spec.mnemonic)

    def read(state: State, index: int, spec: OpSpec) -> tuple[Operation, int]:
        draft = Draft()
        tokens = state.tokens
        first = index
        for step in steps:
            index = step(state, tokens, index, draft)
        if fix is not None:
            fix(draft)
        return build(state, spec, draft, first - 1), index

    return read


def build(state: State, spec: OpSpec, draft: Draft, at: int) -> Operation:
    """The operation that a draft describes. Raises Failure at token `at` where something is missing."""
    groups = draft.operands
    try:
        if spec.single_operands:
            operands = [groups[row.name][0] for row in spec.operands]
            segments = None
        else:
            operands, sizes = [], []
            for row in spec.operands:
                group = groups.get(row.name)
                if group is None:
                    if not row.arity:
                        raise KeyError(row.name)
                    group = []
                operands += group
                sizes.append(len(group))
            segments = tuple(sizes)
        types = [draft.types[row.name] for row in spec.results]
    except KeyError as missing:
        if missing.args[0] in {row.name for row in spec.operands}:
            raise Failure(at, f"{spec.mnemonic} needs an operand '{missing.args[0]}'") from None
        types = _result_types(state, spec, draft, at)
    for name, row in spec.attributes.items():
        if row.default is None and not row.optional and name not in draft.attributes:
            raise Failure(at, f"{spec.mnemonic} needs an attribute '{name}'")
    return Operation(spec.mnemonic, spec, operands, types, draft.attributes, (), segments)


def _result_types(state: State, spec: OpSpec, draft: Draft, at: int) -> list[Type]:
    """The result types, those that the form does not print included."""
    types: list[Type] = []
    for row in spec.results:
        found = draft.types.get(row.name)
        if found is None and spec.mnemonic == "constant":
            found = draft.attributes["value"].type  # type: ignore[attr-defined]
        if found is None:
            found = _same_type(spec, draft, row.name)
        if found is None:
            found = _lenient_type(spec, row.name)
        if found is None:
            raise Failure(at, f"the type of result '{row.name}' of {spec.mnemonic} is not given")
        types.append(found)
    return types


def _same_type(spec: OpSpec, draft: Draft, name: str) -> Type | None:
    """The type of a result that the table says is that of an operand or of another result."""
    for group in spec.same:
        if name not in group:
            continue
        for other in group:
            if other in draft.types:
                return draft.types[other]
            if draft.operands.get(other):
                return draft.operands[other][0].type
    return None


def _lenient_type(spec: OpSpec, name: str) -> Type | None:
    """Token results that a printer left out."""
    return TOKEN if name.endswith("token") else None


def _mask_or_padding(draft: Draft) -> None:
    """A lone second operand of load_ptr_tko is a mask only if it is a tile of i1.

    tileirdisasm prints a padding value without mask in the mask's place.
    """
    mask = draft.operands.get("mask")
    if mask and "paddingValue" not in draft.operands:
        type = mask[0].type
        if not (isinstance(type, TileType) and type.element is I1):
            draft.operands["paddingValue"] = draft.operands.pop("mask")


_FIXES: dict[str, Callable[[Draft], None]] = {"load_ptr_tko": _mask_or_padding}
