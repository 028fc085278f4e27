"""Small kernels out of scalar integers, and what they print when they run.

`programs()` is a hypothesis strategy for texts; `run` interprets a module. Passes must not change what a
kernel prints: that is asked of kernels nobody thought of, with every mixture of branches that yield and
branches that leave.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from tileir_tools.model import Block, DenseElementsAttr, Module, Operation, StringAttr, Value

_MOST_STEPS = 3_000


class TooLong(Exception):
    """A kernel that runs for more steps than a test has patience for."""


# -- running ----------------------------------------------------------------------------------------


def run(module: Module, arguments: list[int]) -> list[tuple[str, int]]:
    """What the only entry of a module prints: (string, number) in order. Raises TooLong."""
    body = module.entries[0].body
    machine = _Machine(dict(zip(body.arguments, arguments)))
    machine.block(body)
    return machine.printed


def _wrap(number: int, width: int) -> int:
    number &= (1 << width) - 1
    return number - (1 << width) if width > 1 and number >> (width - 1) else number


def _width(value: Value) -> int:
    return int(value.type.element.width)  # type: ignore[attr-defined]


def _unsigned(number: int) -> int:
    return number & 0xFFFFFFFF


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less_than": lambda a, b: a < b,
    "less_than_or_equal": lambda a, b: a <= b,
    "greater_than": lambda a, b: a > b,
    "greater_than_or_equal": lambda a, b: a >= b,
}

_BINARY: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "xori": lambda a, b: a ^ b,
    "mini": min,
    "maxi": max,
    # Only loop splitting makes it, with rounding to positive infinity and a positive step.
    "divi": lambda a, b: -(-a // b),
}


class _Machine:
    def __init__(self, values: dict[Value, int]):
        self.values = values
        self.printed: list[tuple[str, int]] = []
        self.steps = 0

    def block(self, block: Block) -> tuple[str, list[int]]:
        """Run to the end: the terminator that was reached and what it gives."""
        for op in block.operations:
            self.steps += 1
            if self.steps > _MOST_STEPS:
                raise TooLong
            if op.terminator:
                return op.name, [self.values.get(v, 0) for v in op.operands]
            left = self.operation(op)
            if left is not None:
                return left
        raise AssertionError("a block without an end")

    def operation(self, op: Operation) -> tuple[str, list[int]] | None:
        """Run one operation; what leaves the block where it does."""
        given = [self.values.get(v, 0) for v in op.operands]
        if op.name == "if":
            return self.branch(op, given[0])
        if op.name == "for":
            return self.counted(op, given)
        if op.name == "loop":
            return self.endless(op, given)
        if op.name == "print_tko":
            text = op.attributes["str"]
            assert isinstance(text, StringAttr)
            self.printed.append((text.value, given[0]))
        elif op.results:
            found = _wrap(_value_of(op, given), _width(op.results[0]))
            self.values[op.results[0]] = found
        return None

    def branch(self, op: Operation, condition: int) -> tuple[str, list[int]] | None:
        region = op.regions[0 if condition else 1]
        if region.empty:
            return None
        end, values = self.block(region.block)
        if end != "yield":
            return end, values
        self.values.update(zip(op.results, values))
        return None

    def counted(self, op: Operation, given: list[int]) -> tuple[str, list[int]] | None:
        (index, upper, step), carried = given[:3], given[3:]
        if step <= 0:
            raise TooLong
        body = op.regions[0].block
        while index < upper:
            self.values.update(zip(body.arguments, [index, *carried]))
            end, carried = self.block(body)
            if end == "return":
                return end, carried
            index += step
        self.values.update(zip(op.results, carried))
        return None

    def endless(self, op: Operation, carried: list[int]) -> tuple[str, list[int]] | None:
        body = op.regions[0].block
        while True:
            self.values.update(zip(body.arguments, carried))
            end, carried = self.block(body)
            if end == "return":
                return end, carried
            if end == "break":
                self.values.update(zip(op.results, carried))
                return None


def _value_of(op: Operation, given: list[int]) -> int:
    if op.name == "constant":
        value = op.attributes["value"]
        assert isinstance(value, DenseElementsAttr)
        return value.raw[0]
    if op.name == "cmpi":
        a, b = given
        if op.keyword("signedness") == "unsigned":
            a, b = _unsigned(a), _unsigned(b)
        return int(_COMPARE[str(op.keyword("comparison_predicate"))](a, b))
    if op.name == "select":
        return given[1] if given[0] else given[2]
    if op.name in ("exti", "assume"):
        return given[0]
    return _BINARY[op.name](*given)


# -- writing ----------------------------------------------------------------------------------------

_I32, _I1 = "tile<i32>", "tile<i1>"

# (name, type) of the values that an operation may read.
_Scope = list[tuple[str, str]]


class _Writer:
    """Draws operations; what a block may read is a list of (name, type)."""

    def __init__(self, draw: st.DrawFn):
        self.draw = draw
        self.lines: list[str] = []
        self.count = 0
        self.budget = 24

    def pick(self, *choices: str) -> str:
        return str(self.draw(st.sampled_from(choices)))

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def value(self, scope: _Scope, type: str) -> str:
        names = [name for name, t in scope if t == type]
        # Newer values are read more often: that is what makes chains.
        return str(self.draw(st.sampled_from([*names, *names[-3:]])))

    def define(self, scope: _Scope, text: str, type: str) -> str:
        name = self.name()
        self.lines.append(f"{name} = {text}")
        scope.append((name, type))
        return name

    def simple(self, scope: _Scope) -> None:
        kind = self.pick(
            "const", "flag", "math", "not", "and", "compare", "select", "choose", "print"
        )
        if kind == "const":
            number = self.draw(st.integers(-1, 3))
            self.define(scope, f"constant <i32: {number}> : {_I32}", _I32)
        elif kind == "flag":
            self.define(scope, f"constant <i1: {self.pick('true', 'false')}> : {_I1}", _I1)
        elif kind == "math":
            a, b = self.value(scope, _I32), self.value(scope, _I32)
            self.define(scope, f"{self.pick('addi', 'subi', 'muli')} {a}, {b} : {_I32}", _I32)
        elif kind == "not":
            self.define(scope, f"xori {self.value(scope, _I1)}, %true : {_I1}", _I1)
        elif kind == "and":
            a, b = self.value(scope, _I1), self.value(scope, _I1)
            self.define(scope, f"andi {a}, {b} : {_I1}", _I1)
        elif kind == "compare":
            a, b = self.value(scope, _I32), self.value(scope, _I32)
            text = f"cmpi {self.pick(*_COMPARE)} {a}, {b}, signed : {_I32} -> {_I1}"
            self.define(scope, text, _I1)
        elif kind == "print":
            value = self.value(scope, _I32)
            self.lines.append(
                f'{self.name()} = print_tko "p{self.count} %d", {value} : {_I32} -> token'
            )
        else:
            type = _I32 if kind == "select" else _I1
            condition = self.value(scope, _I1)
            a, b = self.value(scope, type), self.value(scope, type)
            self.define(scope, f"select {condition}, {a}, {b} : {_I1}, {type}", type)

    def body(self, outer: _Scope, depth: int, leave: dict[str, list[str]]) -> _Scope:
        """Some operations; `leave` holds the terminators by which a branch in here may leave."""
        scope = list(outer)
        for _ in range(self.draw(st.integers(1, 5))):
            self.budget -= 1
            if self.budget < 0:
                break
            kind = self.pick("simple", "simple", "simple", "if", "if", "for", "loop")
            if kind == "simple" or depth == 3:
                self.simple(scope)
            elif kind == "if":
                self.branch(scope, depth, leave)
            elif kind == "for":
                self.counted(scope, depth, leave)
            else:
                self.endless(scope, depth, leave)
        return scope

    def types(self) -> list[str]:
        return [self.pick(_I32, _I32, _I1) for _ in range(self.draw(st.integers(0, 2)))]

    def given(self, scope: _Scope, types: list[str]) -> str:
        """The operands of a terminator."""
        if not types:
            return ""
        return f" {', '.join(self.value(scope, t) for t in types)} : {', '.join(types)}"

    def results(self, scope: _Scope, types: list[str]) -> str:
        """The left side of an operation with regions; its results are in scope behind it."""
        if not types:
            return ""
        name = self.name()
        if len(types) == 1:
            scope.append((name, types[0]))
            return f"{name} = "
        scope += [(f"{name}#{k}", t) for k, t in enumerate(types)]
        return f"{name}:{len(types)} = "

    def branch(self, scope: _Scope, depth: int, leave: dict[str, list[str]]) -> None:
        types = self.types()
        condition = self.value(scope, _I1)
        at = len(self.lines)
        self.arm(scope, depth, leave, types)
        if types or self.draw(st.booleans()):
            self.lines.append("} else {")
            self.arm(scope, depth, leave, types)
        self.lines.append("}")
        arrow = f" -> ({', '.join(types)})" if types else ""
        self.lines.insert(at, f"{self.results(scope, types)}if {condition}{arrow} {{")

    def arm(self, scope: _Scope, depth: int, leave: dict[str, list[str]], types: list[str]) -> None:
        inner = self.body(scope, depth + 1, leave)
        end = self.pick("yield", "yield", "yield", *leave)
        self.lines.append(end + self.given(inner, leave.get(end, []) if end != "yield" else types))

    def counted(self, scope: _Scope, depth: int, leave: dict[str, list[str]]) -> None:
        types = self.types()
        low, high, step = (
            self.define(scope, f"constant <i32: {self.draw(st.integers(*r))}> : {_I32}", _I32)
            for r in ((-1, 2), (0, 5), (1, 2))
        )
        index, inner, carried = self.carried(scope, types)
        at = len(self.lines)
        last = self.body([*inner, (index, _I32)], depth + 1, {"continue": types})
        self.lines += ["continue" + self.given(last, types), "}"]
        values = f" iter_values({carried}) -> ({', '.join(types)})" if types else ""
        head = f"for {index} in ({low} to {high}, step {step}) : {_I32}{values} {{"
        self.lines.insert(at, self.results(scope, types) + head)

    def carried(self, scope: _Scope, types: list[str]) -> tuple[str, _Scope, str]:
        """Index, scope inside and `iter_values` of a loop that carries values of these types."""
        names = [self.name() for _ in types]
        pairs = [f"{name} = {self.value(scope, t)}" for name, t in zip(names, types)]
        return self.name(), [*scope, *zip(names, types)], ", ".join(pairs)

    def endless(self, scope: _Scope, depth: int, leave: dict[str, list[str]]) -> None:
        carries, gives = self.types(), self.types()
        _, inner, carried = self.carried(scope, carries)
        at = len(self.lines)
        ends = {"continue": carries, "break": gives}
        # A `for` cannot be left by `return`, nor can what is in it.
        if "return" in leave:
            ends["return"] = []
        last = self.body(inner, depth + 1, ends)
        self.lines.append(f"if {self.value(last, _I1)} {{")
        self.lines += ["continue" + self.given(last, carries), "}"]
        self.lines += ["break" + self.given(last, gives), "}"]
        values = f" iter_values({carried})" if carries else ""
        shown = " -> ".join(", ".join(types) for types in (carries, gives) if types)
        types = f" : {shown}" if shown else ""
        head = f"{self.results(scope, gives)}loop{values}{types} {{"
        self.lines.insert(at, head)


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Texts of kernels with two numbers and a condition as arguments."""
    writer = _Writer(draw)
    scope = [("%a", _I32), ("%b", _I32), ("%c", _I1)]
    writer.define(scope, f"constant <i1: true> : {_I1}", _I1)
    writer.lines[0] = f"%true = constant <i1: true> : {_I1}"
    scope[-1] = ("%true", _I1)
    last = writer.body(scope, 0, {"return": []})
    writer.lines.append(f'%end = print_tko "end %d", {writer.value(last, _I32)} : {_I32} -> token')
    head = f"entry @k(%a: {_I32}, %b: {_I32}, %c: {_I1}) {{"
    return "\n".join([head, *writer.lines, "return", "}", ""])
