"""Reading blocks and regions, and the loop that reads one operation after the other.

Place in the flow: part of bytes -> Module for text; imports `state`, `forms` and the other op readers.
"""

from __future__ import annotations

from ..dialect import ALIASES, OPS, OpSpec
from ..model import Block, Location, Operation, Region, Type
from . import opaque
from .forms import OpReader, compile_form
from .lexer import END
from .state import MAX_ERRORS, MAX_REGION_DEPTH, Failure, State

# Mnemonic as written (with or without the dialect's prefix) -> its reader and its row.
_readers: dict[str, tuple[OpReader, OpSpec]] = {}


class TooManyErrors(Exception):
    """Enough errors were found; reading stops."""


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
    index = first
    names: list[str] = []
    if tokens[index][0] == "%":
        names, index = _result_names(state, index)
    token = tokens[index]
    found = _readers.get(token) or reader_of(token)
    if found is None or tokens[index + 1] == "<structural-op>":
        op, index = _other_operation(state, index, len(names))
    else:
        read, spec = found
        try:
            op, index = read(state, index + 1, spec)
        except Failure:
            if not opaque.is_lossy(state, index):
                raise
            op, index = opaque.read_opaque(state, index, len(names))
    last = index - 1
    if tokens[index][:3] == "loc":
        index = state.location(op, index)
    op._span = (state.lex, first, last)
    if names or op.results:
        define_results(state, names, op, first)
    op.parent = block
    block.operations.append(op)
    return index


def _other_operation(state: State, index: int, results: int) -> tuple[Operation, int]:
    token = state.tokens[index]
    if token[:1] == '"':
        from .generic import read_generic

        return read_generic(state, index)
    if not (token[:1].isalpha() or token[:1] == "_"):
        raise state.expected(index, "an operation")
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
    if len(names) != len(op.results):
        if not names:
            # MLIR lets the names of results that nobody reads be left out.
            return
        raise Failure(
            first, f"{op.name} has {len(op.results)} results, {len(names)} names are given"
        )
    for name, value in zip(names, op.results):
        state.define(name, value, first)
        if name.endswith("#0"):
            # `%1` stands for `%1#0`.
            state.define(name[:-2], value, first)
            value.name = name


def recover(state: State, first: int, failure: Failure) -> int:
    """Note an error and go on at the next operation. Raises TooManyErrors."""
    if failure.message:
        state.error(failure)
        if len(state.errors) >= MAX_ERRORS:
            raise TooManyErrors
    index = first
    while state.tokens[index][:1] == "%" or state.tokens[index] in (",", ":", "="):
        if state.tokens[index][:1] == "%":
            state.poisoned.add(state.tokens[index])
        index += 1
        if state.tokens[index - 1] == "=":
            break
    return opaque.statement_end(state, max(index, first), at_least=failure.index)


def read_region(
    state: State,
    index: int,
    argument_names: list[str],
    argument_types: list[Type],
) -> tuple[Region, int]:
    """`{ .. }` with one block whose arguments are named outside, or with labelled blocks."""
    index = state.expect(index, "{")
    if state.depth >= MAX_REGION_DEPTH:
        raise Failure(index - 1, f"regions are nested deeper than {MAX_REGION_DEPTH} levels")
    state.depth += 1
    mark = len(state.defined)
    try:
        blocks: list[Block] = []
        if state.tokens[index][:1] != "^":
            block = Block(argument_types)
            for name, value in zip(argument_names, block.arguments):
                state.define(name, value, index)
            index = read_operations(state, block, index)
            blocks.append(block)
        while state.tokens[index][:1] == "^":
            block, index = _labelled_block(state, index)
            blocks.append(block)
        index = state.expect(index, "}")
    finally:
        state.depth -= 1
        state.leave(mark)
    return Region(blocks), index


def _labelled_block(state: State, index: int) -> tuple[Block, int]:
    """`^bb0(%a: type, ..):` and its operations."""
    label = state.tokens[index]
    names: list[str] = []
    types: list[Type] = []
    first = index
    index += 1
    if state.tokens[index] == "(":
        names, types, index = read_arguments(state, index)
    index = state.expect(index, ":")
    block = Block(types)
    block.label = label
    for name, value in zip(names, block.arguments):
        state.define(name, value, first)
    return block, read_operations(state, block, index)


def read_arguments(state: State, index: int) -> tuple[list[str], list[Type], int]:
    """`(%a: type, %b: type)`."""
    index = state.expect(index, "(")
    names: list[str] = []
    types: list[Type] = []
    while state.tokens[index] != ")":
        if names:
            index = state.expect(index, ",")
        token = state.tokens[index]
        if token[:1] != "%":
            raise state.expected(index, "an argument such as %arg0")
        if token in names:
            raise Failure(index, f"{token} is already defined")
        names.append(token)
        index = state.expect(index + 1, ":")
        type, index = state.type(index)
        types.append(type)
        index = state.skip_location(index)
    return names, types, index + 1


def ensure_terminator(region: Region, mnemonic: str, location: Location) -> None:
    """Add the terminator that a text may leave out, as MLIR does."""
    for block in region.blocks:
        if block.terminator is None:
            op = Operation(mnemonic, OPS[mnemonic], segments=(0,), location=location)
            block.add(op)
