"""What an expression is, where the source alone says it.

Place in the flow: files -> **values** -> facts of an operation; imports `values`, `scopes`, `names`,
`carried_out`. Nothing of the source is run: only what `carried_out` has is, on values that the source states,
within limits of time and size. Everything else is `Undecided`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .carried_out import CONSTANTS, FUNCTIONS, MAX_BITS, OPERATORS, ORDERINGS, text_of
from .names import dotted, dtype_of
from .scopes import Context, Function, Param, Scope, bind
from .values import (
    MAX_ITEMS,
    Conditional,
    Dtype,
    Either,
    Namespace,
    NotDecided,
    Undecided,
    bare,
    conditional,
    contradict,
    elements,
    is_sequence,
    join,
)

# A name that a condition reads is written as what it stands for up to this many characters.
_SHORT = 60
# Entries of a table that is asked by a key that is not known.
_MAX_CASES = 32


def evaluate(node: ast.expr, scope: Scope) -> object:
    """The value of an expression, or `Undecided`."""
    try:
        return decided(node, scope)
    except NotDecided as error:
        return error.undecided


def decided(node: ast.expr, scope: Scope) -> Any:
    """The value of an expression. Raises NotDecided."""
    context = scope.context
    context.steps -= 1
    if context.steps < 0:
        raise NotDecided(Undecided("...", getattr(node, "lineno", 1), "it takes too many steps"))
    read = _READERS.get(type(node))
    if read is None:
        raise _undecided(node, scope, f"{type(node).__name__} is not carried out")
    try:
        return read(node, scope)
    except RecursionError:
        raise _undecided(node, scope, "nested too deeply") from None
    except (ArithmeticError, TypeError, ValueError, LookupError, AttributeError) as error:
        raise _undecided(node, scope, f"{type(error).__name__}: {error}") from None


def condition_text(node: ast.expr, scope: Scope) -> str:
    """A condition's text, with names that stand for something short replaced by it."""
    replaced: dict[str, str] = {}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            found, value = scope.find(inner.id)
            if found and (short := _short(value)):
                replaced[inner.id] = short
            elif found and isinstance(value, Namespace):
                fields = {f"{inner.id}.{name}": _short(item) for name, item in value.items()}
                replaced |= {name: short for name, short in fields.items() if short}
    if not replaced:
        return scope.context.text(node)
    copy = ast.parse(scope.context.text(node), mode="eval")
    return ast.unparse(_Replacing(replaced).visit(copy))


class _Replacing(ast.NodeTransformer):
    def __init__(self, texts: Mapping[str, str]):
        self.texts = texts

    def visit_Name(self, node: ast.Name) -> ast.AST:
        text = self.texts.get(node.id)
        return ast.parse(text, mode="eval").body if text else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        name = f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else ""
        text = self.texts.get(name)
        return ast.parse(text, mode="eval").body if text else self.generic_visit(node)


def _short(value: object) -> str | None:
    if isinstance(value, Undecided):
        text = value.text
        # A parameter is undecided and called what it is called.
        return text if len(text) <= _SHORT and "\n" not in text and "..." not in text else None
    if isinstance(value, Dtype):
        return f"torch.{value}"
    if value is None or isinstance(value, (bool, int, float, str)):
        text = repr(value)
        return text if len(text) <= _SHORT and "inf" not in text and "nan" not in text else None
    return None


def negated(condition: str) -> str:
    return f"not ({condition})"


def _undecided(node: ast.AST, scope: Scope, why: str) -> NotDecided:
    return NotDecided(Undecided(scope.context.text(node), getattr(node, "lineno", 1), why))


def _operand(node: ast.expr, scope: Scope) -> Any:
    """A value that an operation can work on."""
    value = decided(node, scope)
    if isinstance(value, (Either, Conditional)):
        raise _undecided(node, scope, "it depends on a condition")
    if isinstance(value, Undecided):
        raise NotDecided(value)
    return value


def _constant(node: ast.Constant, scope: Scope) -> object:
    if node.value is Ellipsis or isinstance(node.value, (bytes, complex)):
        raise _undecided(node, scope, "a constant of another kind")
    return node.value


def _name(node: ast.Name, scope: Scope) -> object:
    found, value = scope.find(node.id)
    if found:
        if isinstance(value, Undecided):
            raise NotDecided(value)
        return value
    known = dtype_of(scope.context.imports.get(node.id))
    if known is not None:
        return known
    constant = CONSTANTS.get(scope.context.imports.get(node.id, ""))
    if constant is not None:
        return constant
    raise _undecided(node, scope, "the name is not bound to a constant in this file")


def _attribute(node: ast.Attribute, scope: Scope) -> object:
    name = dotted(node, scope.context.imports)
    known = dtype_of(name)
    if known is not None:
        return known
    if name in CONSTANTS:
        return CONSTANTS[name]
    if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
        found, value = scope.attribute(node.attr)
        if found and not isinstance(value, Undecided):
            return value
        raise _undecided(node, scope, "no constant of the class")
    if name is not None and not scope.find(name.split(".")[0])[0]:
        raise _undecided(node, scope, "it is defined elsewhere")
    value = _operand(node.value, scope)
    if isinstance(value, Namespace) and node.attr in value:
        return value[node.attr]
    raise _undecided(node, scope, "the attribute is not known")


def _tuple(node: ast.Tuple | ast.List, scope: Scope) -> object:
    items: list[object] = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            items += [conditional(v, when) for v, when in elements(decided(item.value, scope))]
        else:
            items.append(evaluate(item, scope))
    _weigh(node, items, scope)
    # A tuple with an element that may be absent has no fixed places: it is a list then.
    if isinstance(node, ast.Tuple) and not any(isinstance(v, Conditional) for v in items):
        return tuple(items)
    return items


def _dict(node: ast.Dict, scope: Scope) -> object:
    made: dict[Any, object] = {}
    for key, item in zip(node.keys, node.values):
        if key is None:
            inner = _operand(item, scope)
            if not isinstance(inner, dict):
                raise _undecided(item, scope, "no dict")
            made.update(inner)
        else:
            made[_operand(key, scope)] = evaluate(item, scope)
    return made


def _set(node: ast.Set, scope: Scope) -> object:
    return {_operand(item, scope) for item in node.elts}


def _binary(node: ast.BinOp, scope: Scope) -> object:
    done = OPERATORS.get(type(node.op))
    if done is None:
        raise _undecided(node, scope, "the operator is not carried out")
    if isinstance(node.op, ast.Add):
        left, right = decided(node.left, scope), decided(node.right, scope)
        if is_sequence(left) and is_sequence(right):
            return _concatenated(node, left, right, scope)
    left, right = _operand(node.left, scope), _operand(node.right, scope)
    _check_size(node, left, right, scope)
    value = done(left, right)
    if is_sequence(value):
        _weigh(node, value, scope)
    if isinstance(value, complex):
        raise _undecided(node, scope, "a complex number")
    return value


def _concatenated(node: ast.AST, left: Any, right: Any, scope: Scope) -> object:
    if type(left) is not type(right) and not any(
        isinstance(v, Conditional) for v in (*left, *right)
    ):
        raise _undecided(node, scope, "a list and a tuple are not added")
    if len(left) + len(right) > MAX_ITEMS:
        raise _undecided(node, scope, f"more than {MAX_ITEMS} elements")
    found = left + right if type(left) is type(right) else [*left, *right]
    _weigh(node, found, scope)
    return found


def _weigh(node: ast.AST, items: Sequence[object], scope: Scope) -> None:
    """Count what is in a list, at all depths, as steps: lists of lists of lists grow without many words."""
    waiting: list[Any] = [items]
    while waiting:
        inner = waiting.pop()
        scope.context.steps -= len(inner)
        if scope.context.steps < 0:
            raise _undecided(node, scope, "it takes too many steps")
        waiting += [bare(v)[0] for v in inner if is_sequence(bare(v)[0])]


def _check_size(node: ast.BinOp, left: Any, right: Any, scope: Scope) -> None:
    """Refuse operations whose results are huge."""
    if isinstance(node.op, ast.Mult):
        for one, other in ((left, right), (right, left)):
            repeated = isinstance(one, (str, list, tuple)) and isinstance(other, int)
            if repeated and len(one) * max(other, 0) > MAX_ITEMS:
                raise _undecided(node, scope, f"more than {MAX_ITEMS} elements")
    if isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length()
        if isinstance(node.op, ast.Pow):
            bits *= abs(right)
        elif isinstance(node.op, ast.LShift):
            bits += max(right, 0)
        else:
            bits += right.bit_length()
        if bits > MAX_BITS:
            raise _undecided(node, scope, f"more than {MAX_BITS} bits")
    if isinstance(node.op, ast.Mod) and isinstance(left, str):
        raise _undecided(node, scope, "formatting is not carried out")


def _unary(node: ast.UnaryOp, scope: Scope) -> object:
    value = _operand(node.operand, scope)
    if isinstance(node.op, ast.Not):
        return not value
    if isinstance(node.op, ast.USub):
        return -value
    return +value if isinstance(node.op, ast.UAdd) else ~value


def _boolean(node: ast.BoolOp, scope: Scope) -> object:
    """`and` and `or`; a side that decides alone decides, whatever the others are."""
    deciding = isinstance(node.op, ast.Or)
    open_part: NotDecided | None = None
    value: object = None
    for part in node.values:
        try:
            value = _operand(part, scope)
        except NotDecided as error:
            open_part = open_part or error
            continue
        if bool(value) is deciding and (open_part is None or isinstance(value, bool)):
            return value
    if open_part is not None:
        raise _undecided(node, scope, open_part.undecided.why)
    return value


def _compare(node: ast.Compare, scope: Scope) -> object:
    left = _operand(node.left, scope)
    for op, item in zip(node.ops, node.comparators):
        right = _operand(item, scope)
        if not _compared(op, left, right, node, scope):
            return False
        left = right
    return True


def _compared(op: ast.cmpop, left: Any, right: Any, node: ast.AST, scope: Scope) -> bool:
    if isinstance(op, (ast.Eq, ast.NotEq)):
        return _equal(left, right, node, scope) is isinstance(op, ast.Eq)
    if isinstance(op, (ast.Is, ast.IsNot)):
        if left is not None and right is not None and not isinstance(left, bool):
            raise _undecided(node, scope, "identity of objects")
        return (left is right) is isinstance(op, ast.Is)
    if isinstance(op, (ast.In, ast.NotIn)):
        return _contains(left, right, node, scope) is isinstance(op, ast.In)
    return bool(ORDERINGS[type(op)](left, right))


def _equal(left: Any, right: Any, node: ast.AST, scope: Scope) -> bool:
    if _holds_undecided(left) or _holds_undecided(right):
        raise _undecided(node, scope, "an element is undecided")
    if isinstance(left, str) and isinstance(right, str):
        return isinstance(left, Dtype) is isinstance(right, Dtype) and left == right
    return bool(left == right)


def _contains(left: Any, right: Any, node: ast.AST, scope: Scope) -> bool:
    if isinstance(right, str):
        return left in right
    if any(isinstance(item, (Conditional, Undecided)) for item in right):
        raise _undecided(node, scope, "an element is undecided")
    return any(_equal(left, item, node, scope) for item in right)


def _holds_undecided(value: object) -> bool:
    if isinstance(value, (Undecided, Conditional, Either)):
        return True
    return is_sequence(value) and any(map(_holds_undecided, value))  # type: ignore[call-overload]


def _choice(node: ast.IfExp, scope: Scope) -> object:
    try:
        test = _operand(node.test, scope)
    except NotDecided:
        condition = condition_text(node.test, scope)
        then, otherwise = decided(node.body, scope), decided(node.orelse, scope)
        return join(condition, negated(condition), then, otherwise)
    return decided(node.body if test else node.orelse, scope)


def _subscript(node: ast.Subscript, scope: Scope) -> object:
    value = _operand(node.value, scope)
    if isinstance(node.slice, ast.Slice):
        parts = (node.slice.lower, node.slice.upper, node.slice.step)
        place: Any = slice(*(None if p is None else _operand(p, scope) for p in parts))
    else:
        place = _operand(node.slice, scope)
    if is_sequence(value) and any(isinstance(item, Conditional) for item in value):
        raise _undecided(node, scope, "elements before it depend on a condition")
    if not (is_sequence(value) or isinstance(value, (str, dict))):
        raise _undecided(node, scope, "no place of a constant")
    found = value[place]
    if isinstance(found, Undecided):
        raise NotDecided(found)
    return found


def _comprehension(node: ast.ListComp | ast.GeneratorExp | ast.SetComp, scope: Scope) -> object:
    made: list[object] = []
    for inner, when in _rounds(node.generators, scope):
        made.append(conditional(evaluate(node.elt, inner), when))
        if len(made) > MAX_ITEMS:
            raise _undecided(node, scope, f"more than {MAX_ITEMS} elements")
    _weigh(node, made, scope)
    if not isinstance(node, ast.SetComp):
        return made
    if any(map(_holds_undecided, made)):
        raise _undecided(node, scope, "an element is undecided")
    return set(made)


def _dict_comprehension(node: ast.DictComp, scope: Scope) -> object:
    made: dict[Any, object] = {}
    for inner, when in _rounds(node.generators, scope):
        if when:
            raise _undecided(node, scope, "an element depends on a condition")
        made[_operand(node.key, inner)] = evaluate(node.value, inner)
    return made


def _rounds(
    generators: list[ast.comprehension], scope: Scope
) -> Iterator[tuple[Scope, tuple[str, ...]]]:
    """Scopes of all rounds of a comprehension, each with the conditions that it happens under."""
    if not generators:
        yield scope, ()
        return
    first, *rest = generators
    for item, when in elements(decided(first.iter, scope)):
        inner = Scope(scope.context, scope)
        bind(first.target, item, inner)
        kept, conditions = _filtered(first.ifs, inner)
        if not kept:
            continue
        for scope_of_round, more in _rounds(rest, inner):
            here = (*when, *conditions)
            if not contradict(here, more):
                yield scope_of_round, (*here, *(c for c in more if c not in here))


def _filtered(tests: list[ast.expr], scope: Scope) -> tuple[bool, tuple[str, ...]]:
    conditions: list[str] = []
    for test in tests:
        try:
            if not _operand(test, scope):
                return False, ()
        except NotDecided:
            conditions.append(condition_text(test, scope))
    return True, tuple(conditions)


def _joined_string(node: ast.JoinedStr, scope: Scope) -> object:
    parts: list[str] = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            if part.format_spec is not None or part.conversion not in (-1, ord("s")):
                raise _undecided(node, scope, "formatting is not carried out")
            parts.append(text_of(_operand(part.value, scope)))
        else:
            parts.append(str(_operand(part, scope)))
    return "".join(parts)


def _lambda(node: ast.Lambda, scope: Scope) -> object:
    return Function(node, scope)


def _called(node: ast.Call, scope: Scope) -> object:
    name = dotted(node.func, scope.context.imports)
    if name == "torch.cuda.get_device_capability" and scope.context.capability is not None:
        return scope.context.capability
    if isinstance(node.func, ast.Name) and scope.find(node.func.id)[0]:
        return _called_value(node, decided(node.func, scope), scope)
    if name == "pytest.param":
        return _param(node, scope)
    carried = FUNCTIONS.get(name) or context_function(name, scope.context)
    if carried is not None:
        args, kwargs = arguments(node, scope)
        if name in ("types.SimpleNamespace", "dict"):
            return carried(*args, **kwargs)
        _refuse_undecided(node, (*args, *kwargs.values()), scope, name)
        return carried(*args, **kwargs)
    if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
        return _method(node, node.func, scope)
    raise _undecided(node, scope, "a call of something that is not in this file")


def _refuse_undecided(
    node: ast.Call, values: Sequence[object], scope: Scope, name: str | None
) -> None:
    """Raises NotDecided for arguments that are; what iterates takes one of several too."""
    for value in values:
        if isinstance(value, Undecided):
            raise NotDecided(value)
        if isinstance(value, Either) and name not in ("list", "tuple", "iter"):
            raise _undecided(node, scope, "an argument depends on a condition")


def context_function(name: str | None, context: Context) -> Callable[..., Any] | None:
    """The function of another file that a name stands for, where it is carried out."""
    if name is None:
        return None
    return context.functions.get(name) or context.functions.get(name.rpartition(".")[2])


def _param(node: ast.Call, scope: Scope) -> Param:
    marks = tuple(k.value for k in node.keywords if k.arg == "marks")
    return Param(tuple(arguments(node, scope)[0]) if node.args else (), marks, scope)


def arguments(node: ast.Call, scope: Scope) -> tuple[list[object], dict[str, object]]:
    """Positional and keyword arguments of a call, each a value or `Undecided`. Raises NotDecided."""
    args: list[object] = []
    for item in node.args:
        if isinstance(item, ast.Starred):
            args += [conditional(v, when) for v, when in elements(decided(item.value, scope))]
        else:
            args.append(evaluate(item, scope))
    kwargs: dict[str, object] = {}
    for keyword in node.keywords:
        if keyword.arg is not None:
            kwargs[keyword.arg] = evaluate(keyword.value, scope)
            continue
        inner = _operand(keyword.value, scope)
        if not isinstance(inner, dict):
            raise _undecided(keyword.value, scope, "no dict of arguments")
        kwargs.update(inner)
    return args, kwargs


def _called_value(node: ast.Call, function: object, scope: Scope) -> object:
    """A call of a function of the source, or of one of several."""
    if isinstance(function, Either):
        found: list[object] = []
        for alternative in function.alternatives:
            for item, when in elements(_called_value(node, alternative.value, scope)):
                found.append(conditional(item, (*alternative.when, *when)))
        return found
    if not isinstance(function, Function) or scope.context.call is None:
        raise _undecided(node, scope, "a call of something that is no function of this file")
    args, kwargs = arguments(node, scope)
    return scope.context.call(function, args, kwargs)


def _method(node: ast.Call, function: ast.Attribute, scope: Scope) -> object:
    value = _operand(function.value, scope)
    if not isinstance(value, (str, int, dict, list, tuple)) or isinstance(value, Namespace):
        raise _undecided(node, scope, "a method of something that is no constant")
    args, kwargs = arguments(node, scope)
    if isinstance(value, dict) and function.attr == "get" and args:
        default = args[1] if len(args) > 1 else None
        if isinstance(args[0], Either):
            found = [Conditional(value.get(a.value, default), a.when) for a in args[0].alternatives]
            return Either(tuple(found))
        if isinstance(args[0], Undecided) and len(value) <= _MAX_CASES:
            return _cases(value, args[0], default)
    if kwargs or any(isinstance(v, (Either, Undecided)) for v in args):
        raise _undecided(node, scope, "an argument is undecided")
    found = getattr(value, function.attr)(*args)
    return list(found) if isinstance(value, dict) and function.attr != "get" else found


def _cases(table: dict[Any, object], key: Undecided, default: object) -> Either:
    """What a table gives for a key that is not known: each of its values under a condition."""
    equal = [f"{key.text} == {_short(item) or repr(item)}" for item in table]
    found = [Conditional(value, (text,)) for value, text in zip(table.values(), equal)]
    return Either((*found, Conditional(default, tuple(map(negated, equal)))))


_METHODS = {"get", "items", "keys", "values", "bit_length", "lower", "upper", "index"}
_READERS: dict[type[ast.expr], Callable[[Any, Scope], object]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.Dict: _dict,
    ast.Set: _set,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.IfExp: _choice,
    ast.Subscript: _subscript,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.JoinedStr: _joined_string,
    ast.Lambda: _lambda,
    ast.Call: _called,
}
