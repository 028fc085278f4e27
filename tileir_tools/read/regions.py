"""Reading blocks and regions, and the loop that reads one operation after the other.

Place in the flow: part of bytes -> Module for text; imports `state`, `forms` and the other op readers.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..dialect import ALIASES, OPS, OpSpec
from ..dialect.kinds import misfit
from ..model import Block, Location, OpaqueType, Operation, Region, Type
from . import opaque
from .forms import OpReader, compile_form
from .lexer import END, LETTERS
from .state import Failure, State, counted

# Longer operations are not searched for more errors of a kind.
_SHORT = 10_000

# Mnemonic as written (with or without the dialect's prefix) -> its reader and its row.
_readers: dict[str, tuple[OpReader, OpSpec]] = {}


def reader_of(token: str) -> tuple[OpReader, OpSpec] | None:
    """How to read the op that a token names; None where the table has no such op."""
    found = _readers.get(token)
    if found is None:
        mnemonic = token.removeprefix("cuda_tile.")
        spec = OPS.get(ALIASES.get(mnemonic, mnemonic))
        if spec is None or spec.mnemonic in ("module", "entry", "global", "testing$func"):
            return None
        # Imported here: structured ops have regions, so their readers import this module.
        from .structured import STRUCTURED

        read = STRUCTURED.get(spec.mnemonic) or compile_form(spec)
        found = _readers[token] = (read, spec)
    return found


def read_operations(state: State, block: Block, index: int) -> int:
    """Operations up to a `}`, a block label or the end of the text; the index behind them."""
    tokens = state.tokens
    while True:
        token = tokens[index]
        if token == "}" or token == END or token[0] == "^":
            return index
        first = index
        try:
            index = read_operation(state, block, index)
        except Failure as failure:
            index = recover(state, first, failure)


def read_operation(state: State, block: Block, first: int) -> int:
    """One operation with its results and location. Raises Failure."""
    tokens = state.tokens
    token = tokens[first]
    index = first
    names: list[str] = []
    if token[0] == "%":
        if tokens[first + 1] == "=" and "#" not in token:
            names, index = [token], first + 2
        else:
            names, index = _result_names(state, first)
        token = tokens[index]
    start = index
    found = _readers.get(token) or reader_of(token)
    if found is None:
        op, index = _other_operation(state, index, len(names))
    else:
        read, spec = found
        try:
            op, index = read(state, index + 1, spec)
        except Failure:
            if not opaque.is_lossy(state, index):
                raise
            op, index = opaque.read_opaque(state, index, len(names))
    # A third of all operations are `assume`, which takes anything.
    wrong = None if op.spec is None or op.spec.takes_anything else misfit(op)
    if wrong is not None:
        op, index = _misfitting(state, op, start, len(names), wrong)
    # As `place` does, without a call.
    op._tokens, op._first, op._last = state.lex, first, index - 1
    if tokens[index][:3] == "loc":
        index = state.location(op, index)
    if len(names) == 1 == len(op.results) and names[0] not in state.values:
        # Nearly all operations: no call, no loop.
        value = op.results[0]
        value.name = names[0]
        state.values[names[0]] = value
        state.defined.append(names[0])
    elif names:
        define_results(state, names, op, first)
    op.parent = block
    block.operations.append(op)
    return index


def _misfitting(
    state: State, op: Operation, start: int, results: int, wrong: str
) -> tuple[Operation, int]:
    """What becomes of an op whose values are not of the kinds it takes: `wrong` says which. Raises Failure.

    With a type that is not known it is not understood, and kept as it is.
    """
    types = {value.type for value in (*op.operands, *op.results)}
    if not any(isinstance(type, OpaqueType) for type in types):
        raise Failure(start, wrong)
    op.set_operands((), None)
    return opaque.read_opaque(state, start, results)


def _other_operation(state: State, index: int, results: int) -> tuple[Operation, int]:
    token = state.tokens[index]
    if token[:1] == '"':
        from .generic import read_generic

        return read_generic(state, index)
    if token[:1] not in LETTERS:
        raise state.expected(index, "an operation")
    if token.removeprefix("cuda_tile.") in ("entry", "global", "module", "testing$func"):
        message = f"'{token}' cannot stand inside an entry: a '}}' is missing before it"
        raise Failure(index, message, fatal=True)
    return opaque.read_opaque(state, index, results)


def _result_names(state: State, index: int) -> tuple[list[str], int]:
    """`%a, %b:2 =`: one name for each result (`%b#0`, `%b#1`), and the index behind the `=`."""
    tokens = state.tokens
    names: list[str] = []
    while True:
        token = tokens[index]
        if token[:1] != "%" or "#" in token:
            raise state.expected(index, "a result name such as %0")
        index += 1
        if tokens[index] == ":":
            count, index = state.integer(index + 1)
            if not 1 <= count <= 100_000:
                raise Failure(index - 1, f"{count} is not a number of results")
            names += [f"{token}#{k}" for k in range(count)] if count > 1 else [token]
        else:
            names.append(token)
        if tokens[index] != ",":
            return names, state.expect(index, "=")
        index += 1


def define_results(state: State, names: list[str], op: Operation, first: int) -> None:
    """Bring the results of an operation into scope. Raises Failure."""
    results = op.results
    if len(names) != len(results):
        given = counted(len(names), "name")
        raise Failure(first, f"{op.name} has {counted(len(results), 'result')}, found {given}")
    known, defined = state.values, state.defined
    for k, (name, value) in enumerate(zip(names, results, strict=True)):
        if name in known:
            base = name.partition("#")[0]
            raise Failure(_name_at(state, first, k), f"{base} is already defined")
        value.name = name
        known[name] = value
        defined.append(name)
        if name[-2:] == "#0":
            # `%1` stands for `%1#0`.
            state.define(name[:-2], value, first)
            value.name = name


def _name_at(state: State, first: int, result: int) -> int:
    """The token that names a result, by its number, in the statement that starts at `first`."""
    tokens = state.tokens
    index, named = first, 0
    while True:
        counted_names = tokens[index + 1] == ":"
        named += int(tokens[index + 2]) if counted_names else 1
        if result < named:
            return index
        index += 4 if counted_names else 2


def recover(state: State, first: int, failure: Failure) -> int:
    """Note an error and go on at the next operation. Raises Stop."""
    state.error(failure)
    tokens = state.tokens
    index = first
    while tokens[index][:1] == "%" or tokens[index] in (",", ":", "="):
        if tokens[index][:1] == "%":
            state.poison(tokens[index])
        index += 1
        if tokens[index - 1] == "=":
            break
        if tokens[index - 1] == ":" and tokens[index].isdigit():
            index += 1
    end = opaque.next_statement(state, index, failure)
    if failure.undefined:
        _other_undefined(state, index, failure.index + 1, end)
    return end


def _other_undefined(state: State, first: int, index: int, end: int) -> None:
    """Note what else an operation reads that nothing defines. Raises Stop."""
    tokens = state.tokens
    # Operations with regions define names of their own.
    if end - first > _SHORT or "{" in tokens[first:end]:
        return
    for i in range(index, end):
        if tokens[i][:1] == "%":
            try:
                state.operand(i)
            except Failure as failure:
                state.error(failure)


def read_region(
    state: State, index: int, arguments: Sequence[int] = (), types: Sequence[Type] = ()
) -> tuple[Region, int]:
    """`{ .. }` with one block, or with labelled blocks. Raises Failure.

    Args:
        arguments: the tokens that name the arguments, which stand before the region.
        types: the types of the arguments.
    """
    opening = index
    index = state.enter(index)
    mark = len(state.defined)
    try:
        blocks: list[Block] = []
        if arguments or state.tokens[index][:1] != "^":
            block = Block(types)
            for at, value in zip(arguments, block.arguments):
                state.define(state.tokens[at], value, at)
            index = read_operations(state, block, index)
            blocks.append(block)
        while state.tokens[index][:1] == "^" and not arguments:
            label = state.tokens[index]
            if any(block.label == label for block in blocks):
                raise Failure(index, f"block {label} is already defined")
            block, index = _labelled_block(state, index)
            blocks.append(block)
        index = state.close(index, opening)
    finally:
        state.depth -= 1
        state.leave(mark)
    return Region(blocks), index


def _labelled_block(state: State, index: int) -> tuple[Block, int]:
    """`^bb0(%a: type, ..):` and its operations."""
    label = state.tokens[index]
    names: list[int] = []
    types: list[Type] = []
    index += 1
    if state.tokens[index] == "(":
        names, types, index = read_arguments(state, index)
    index = state.expect(index, ":")
    block = Block(types)
    block.label = label
    for at, value in zip(names, block.arguments):
        state.define(state.tokens[at], value, at)
    return block, read_operations(state, block, index)


def read_arguments(state: State, index: int) -> tuple[list[int], list[Type], int]:
    """`(%a: type, %b: type)`: the tokens that name the arguments, and their types."""
    index = state.expect(index, "(")
    names: list[int] = []
    types: list[Type] = []
    while state.tokens[index] != ")":
        if names:
            index = state.comma(index, ")")
        names.append(argument_name(state, index))
        type, index = state.type(state.expect(index + 1, ":"))
        types.append(type)
        index = state.skip_location(index)
    return names, types, index + 1


def argument_name(state: State, index: int) -> int:
    """The index of a token that names an argument. Raises Failure where it does not."""
    token = state.tokens[index]
    if token[:1] != "%" or "#" in token or len(token) < 2:
        raise state.expected(index, "a name such as %arg0")
    return index


def ensure_terminator(region: Region, mnemonic: str, location: Location) -> None:
    """Add the terminator that a text may leave out, as MLIR does."""
    for block in region.blocks:
        if block.terminator is None:
            op = Operation(mnemonic, OPS[mnemonic], segments=(0,), location=location)
            block.add(op)
