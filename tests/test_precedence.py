"""What comes before what, by any threading of tokens: beside the sets that closing the order by hand gives."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileir_tools import diff, equal, fingerprints, parse
from tileir_tools.analyze.dataflow import NodeTable, build_flow
from tileir_tools.analyze.precedence import Precedence

HEAD = """entry @k(%p: tile<ptr<f32>>, %x: tile<f32>, %n: tile<i32>) {
%zero = constant <i32: 0> : tile<i32>
%one = constant <i32: 1> : tile<i32>
%t0 = make_token : token
"""

# For each store the stores whose tokens it takes, by how far back they are.
Graph = list[set[int]]
graphs = st.lists(st.sets(st.integers(1, 12), max_size=4), min_size=1, max_size=25)


def stores(graph: Graph) -> tuple[str, list[set[int]]]:
    """The text of stores that are ordered so, and what comes directly before each."""
    lines, direct = [], []
    for number, back in enumerate(graph):
        before = sorted({number - b for b in back if b <= number})
        token = "%t0"
        if before:
            token = f"%j{number}"
            tokens = ", ".join(f"%t{b + 1}" for b in before)
            lines.append(f"{token} = join_tokens {tokens} : token")
        direct.append(set(before))
        lines.append(
            f"%t{number + 1} = store_ptr_tko weak %p, %x token = {token} "
            ": tile<ptr<f32>>, tile<f32> -> token"
        )
    return "\n".join(lines) + "\n", direct


def closed(direct: list[set[int]]) -> list[set[int]]:
    found: list[set[int]] = []
    for before in direct:
        found.append(before.union(*(found[b] for b in before)))
    return found


def sums(text: str) -> tuple[list[int], list[int]]:
    """For each store the bits of those before it, in its iteration and in earlier ones."""
    module = parse(f"{HEAD}{text}return\n}}\n")
    flow = build_flow(module.entries[0], module, NodeTable())
    order = Precedence(flow)
    ops = list(module.find("store_ptr_tko"))
    # Digests whose sum says which they are: each has a bit of its own.
    digests = {op: f"{1 << number:x}" for number, op in enumerate(ops)}
    known: dict = {}  # type: ignore[type-arg]
    before = [order.before(op, known, digests) for op in ops]
    again = {digest: once for digest, once, _ in order.again(digests)}
    return before, [again.get(digests[op], 0) for op in ops]


def bits(places: set[int]) -> int:
    return sum(1 << place for place in places)


@given(graphs)
@settings(max_examples=300, deadline=None)
def test_everything_before_a_store_is_counted_once(graph: Graph) -> None:
    text, direct = stores(graph)
    assert sums(text) == ([bits(b) for b in closed(direct)], [0] * len(graph))


@given(graphs)
@settings(max_examples=100, deadline=None)
def test_a_loop_puts_the_last_store_and_what_is_before_it_before_all(graph: Graph) -> None:
    text, direct = stores(graph)
    last = len(graph)
    loop = (
        "%r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%t0_in = %t0) -> (token) {\n"
        + text.replace("= %t0 ", "= %t0_in ")
        + f"continue %t{last} : token\n}}\n"
    )
    before, again = sums(loop)
    inside = closed(direct)
    assert before == [bits(b) for b in inside]
    carried = inside[-1] | {last - 1}
    # What takes the loop's token, and what comes after that.
    after = [not d or any(not direct[b] for b in inside[k]) for k, d in enumerate(direct)]
    assert again == [bits(carried) if a else 0 for a in after]


def test_a_long_chain_is_counted_to_its_beginning() -> None:
    text, _ = stores([{1} for _ in range(3000)])
    before, again = sums(text)
    assert before[-1] == (1 << 2999) - 1
    assert not any(again)


# -- how many iterations a token takes -----------------------------------------------------------------


def loop(initial: int, body: str) -> str:
    """A loop that carries so many tokens, all from the beginning."""
    names = [f"%c{k}" for k in range(initial)]
    values = ", ".join(f"{name} = %t0" for name in names)
    types = ", ".join(["token"] * initial)
    return (
        f"{HEAD}%r:{initial} = for %i in (%zero to %n, step %one) : tile<i32> "
        f"iter_values({values}) -> ({types}) {{\n{body} : {types}\n}}\nreturn\n}}\n"
    )


ADD = """%v, %l = load_ptr_tko weak %p token = %c0 : tile<ptr<f32>> -> tile<f32>, token
%w = addf %v, %x : tile<f32>
%s = store_ptr_tko weak %p, %w token = %l : tile<ptr<f32>>, tile<f32> -> token
"""
TWO = """%a = store_ptr_tko weak %p, %x token = %c0 : tile<ptr<f32>>, tile<f32> -> token
%b = store_ptr_tko weak %p, %x token = %c1 : tile<ptr<f32>>, tile<f32> -> token
"""
DISTANCES = {
    "the next iteration, or the one after that": (
        loop(2, f"{ADD}continue %s, %s"),
        loop(2, f"{ADD}continue %c1, %s"),
    ),
    "each its own, or the other's": (
        loop(2, f"{TWO}continue %a, %b"),
        loop(2, f"{TWO}continue %b, %a"),
    ),
}


@pytest.mark.parametrize("name", DISTANCES)
def test_a_token_that_comes_an_iteration_later_orders_less(name: str) -> None:
    reference, generated = map(parse, DISTANCES[name])
    answer = diff(reference, generated)
    assert answer.verdict == "FAIL_FIXABLE"
    assert {finding.code for finding in answer.findings} == {"MEM013"}
    assert not equal(reference, generated)
    assert fingerprints(reference).names != fingerprints(generated).names


def test_a_token_that_comes_an_iteration_earlier_orders_more() -> None:
    reference, generated = map(parse, DISTANCES["the next iteration, or the one after that"])
    assert diff(generated, reference).verdict == "PASS"


def test_a_token_that_is_carried_twice_beside_is_no_difference() -> None:
    one = parse(loop(1, f"{ADD}continue %s"))
    two = parse(loop(2, f"{ADD}continue %s, %c0"))
    assert diff(one, two).verdict != "FAIL_FIXABLE"
    assert fingerprints(one).structure == fingerprints(two).structure
