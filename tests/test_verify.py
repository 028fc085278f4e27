"""Rules that hold for every op: one broken module for each rule, and valid ones."""

from __future__ import annotations

import pytest

from tileir_tools import parse, parse_all, verify
from tileir_tools.errors import ConversionError, ParseError
from tileir_tools.model import Operation


def messages(text: str, **options: bool) -> list[str]:
    return [f"{d.span.line if d.span else 0}: {d.message}" for d in verify(parse(text), **options)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "%r = select %b, %f, %g : tile<i1>, tile<f32>",
            "select: val_if_true is tile<f32> and val_if_false is tile<f64>; they must have one type",
        ),
        ("%r = get_global @nope : tile<ptr<f32>>", "@nope is no global of this module"),
        (
            "%r = if %b -> (tile<f32>) {\nyield %f : tile<f32>\n}",
            "an if with results needs an else",
        ),
        (
            "%r = if %b -> (tile<f32>) {\nyield %g : tile<f64>\n} else {\nyield %f : tile<f32>\n}",
            "yield gives tile<f64> for value 0, if wants tile<f32>",
        ),
        (
            "loop iter_values(%x = %f) : tile<f32> {\ncontinue\n}",
            "continue gives 0 values, loop wants 1",
        ),
        ("loop {\nbreak %f : tile<f32>\n}", "break gives 1 values, loop wants 0"),
        ("if %b {\nreturn\nyield\n}", "return must be the last operation of its block"),
        (
            "for %k in (%i to %i, step %i) : tile<i32> {\nyield\n}",
            "yield stands in for, it belongs in",
        ),
        (
            "%r = reduce %v dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32>\n"
            "(%x: tile<f32>, %y: tile<f32>) {\n%z = negf %x : tile<f32>\n}",
            "a region of reduce does not end in a terminator",
        ),
        (
            "%r = reduce %v dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32>\n"
            "(%x: tile<f32>) {\nyield %x : tile<f32>\n}",
            "the body of reduce must take two scalars for each operand",
        ),
    ],
)
def test_each_rule(body: str, message: str) -> None:
    text = (
        "entry @k(%b: tile<i1>, %f: tile<f32>, %g: tile<f64>, %i: tile<i32>, %v: tile<4xf32>) {\n"
        f"{body}\nreturn\n}}"
    )
    found = messages(text)
    assert any(message in line for line in found), found


def test_dominance_is_checked_on_edited_modules() -> None:
    module = parse(
        "entry @k(%a: tile<i32>) {\n%b = negi %a : tile<i32>\n%c = negi %b : tile<i32>\nreturn\n}"
    )
    first, second = list(module.find("negi"))
    block = module.entries[0].body
    block.operations.remove(second)
    block.insert_before(first, second)
    assert [d.message for d in verify(module)] == ["negi reads %b, which is not defined here"]


def test_a_value_of_another_entry_is_out_of_reach() -> None:
    module = parse("entry @a(%x: tile<i32>) { return }\nentry @b(%y: tile<i32>) { return }")
    one, other = module.entries
    op = Operation("negi", one.body.operations[0].spec, [one.arguments[0]], [])
    op.spec = (
        parse("entry @k(%a: tile<i32>) {%b = negi %a : tile<i32> return}")
        .entries[0]
        .body.operations[0]
        .spec
    )
    other.body.insert_before(other.body.operations[0], op)
    assert any("not defined here" in d.message for d in verify(module))


def test_hints() -> None:
    text = (
        "entry @k() optimization_hints=<sm_100a = {occupancy = 1}, sm_90 = {latency = 3, "
        "num_cta_in_cga = 3}> { return }"
    )
    assert [d.severity for d in verify(parse(text))] == ["warning"] * 3
    strict = verify(parse(text), strict_hints=True)
    assert [d.severity for d in strict] == ["error"] * 3
    assert "hints name 'sm_100a', which is no target" in strict[0].message


def test_hints_of_an_operation_that_takes_none() -> None:
    module = parse("entry @k(%a: tile<i32>) {\n%0 = negi %a : tile<i32>\nreturn }")
    hinted = parse("entry @k() optimization_hints=<sm_90 = {latency = 3}> { return }")
    negi = next(module.find("negi"))
    negi.attributes["optimization_hints"] = hinted.entries[0].attributes["optimization_hints"]
    assert [d.message for d in verify(module, strict_hints=True)] == [
        "negi takes no hint 'latency'; known: none"
    ]


def test_a_region_takes_one_block() -> None:
    module = parse(
        '"cuda_tile.module"() <{sym_name = "m"}> ({\n'
        '  "cuda_tile.entry"() <{sym_name = "k", function_type = () -> ()}> ({\n'
        '    "cuda_tile.return"() : () -> ()\n'
        "  ^bb1:\n"
        '    "cuda_tile.return"() : () -> ()\n'
        "  }) : () -> ()\n"
        "}) : () -> ()\n"
    )
    messages = [d.message for d in verify(module)]
    assert messages == ["a region of entry has 2 blocks, it takes one"]


def test_a_symbol_is_defined_once() -> None:
    module = parse("entry @a() { return }\nentry @b() { return }")
    module.entries[1].attributes["sym_name"] = module.entries[0].attributes["sym_name"]
    (found,) = verify(module)
    assert found.message == "symbol @a is already defined"
    assert found.span is not None
    assert found.span.line == 2


def test_a_global_that_is_not_known_is_passed_over() -> None:
    text = (
        "global @x alignment = 8 : tile<8xf32>\n"
        "entry @k() {\n%0 = get_global @x : tile<ptr<f32>>\nreturn\n}"
    )
    assert messages(text) == []


def test_an_operation_has_its_regions() -> None:
    module = parse("entry @k(%b: tile<i1>) {\nif %b {\nyield\n}\nreturn\n}")
    branch = next(module.find("if"))
    branch.regions[0].blocks.clear()
    assert [d.message for d in verify(module)] == ["if has nothing in its region 'thenRegion'"]
    branch.regions = ()
    assert [d.message for d in verify(module)] == ["if has 0 regions, it takes 2"]


# -- operations outside of an entry -----------------------------------------------------------------

FRAGMENT = (
    "%0 = cuda_tile.constant <i32: 1> : tile<i32>\n"
    "%1 = cuda_tile.addi %0, %0 : tile<i32>\n"
    "entry @k(%0: tile<i32>) {\n  %1 = negi %0 : tile<i32>\n  return\n}\n"
    "%2 = cuda_tile.exti %1 signed : tile<i32> -> tile<i16>\n"
    "cuda_tile.continue\n"
)


def test_operations_outside_of_an_entry_are_errors_unless_they_are_asked_for() -> None:
    with pytest.raises(ParseError) as caught:
        parse_all(FRAGMENT)
    assert caught.value.diagnostics[0].message == (
        "expected an entry, a global or a module, found 'cuda_tile.exti'"
    )


def test_operations_outside_of_an_entry_are_checked() -> None:
    (module,) = parse_all(FRAGMENT, fragments=True)
    assert [(d.severity, d.message) for d in module.warnings] == [
        ("warning", "operations outside of an entry: bytecode cannot hold them")
    ]
    assert [(d.span.line if d.span else 0, d.message) for d in module.verify()] == [
        (7, "exti: cannot extend i32 to i16, which is no wider"),
        (8, "continue has nothing around it to leave"),
    ]
    with pytest.raises(ConversionError, match="operation fragment, which is not known"):
        module.to_bytecode()


def test_errors_in_operations_outside_of_an_entry_are_all_reported() -> None:
    text = (
        "%0 = cuda_tile.negi %a : tile<i32>\n"
        "%1 = cuda_tile.constant <i32: 1> : tile<i32>\n"
        "%2 = cuda_tile.addi %1, %b : tile<i32>\n"
        "addi %1, %1 : tile<i32>\n"
    )
    with pytest.raises(ParseError) as caught:
        parse_all(text, fragments=True)
    assert [d.render().split("\n")[0] for d in caught.value.diagnostics] == [
        "<string>:1:21: error: %a is not defined here",
        "<string>:3:25: error: %b is not defined here",
        "<string>:4:1: error: expected an entry, a global or a module, found 'addi'",
    ]


def test_an_entry_does_not_see_what_stands_outside() -> None:
    text = "%0 = cuda_tile.constant <i32: 1> : tile<i32>\nentry @k() {\n%1 = negi %0 : tile<i32>\nreturn }"
    with pytest.raises(ParseError, match="%0 is not defined here"):
        parse_all(text, fragments=True)
