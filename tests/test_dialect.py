"""The op table: complete, consistent, and what the public encoder of cuda-tile says."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tileir_tools.dialect import HINT_KEYS, KEYWORDS, OPS, VERSIONS
from tileir_tools.dialect.forms import Part, parse_form


def _names(parts: tuple[Part, ...]) -> list[str]:
    found = []
    for part in parts:
        found += [part.anchor if part.kind == "flag" else part.name]
        found += _names(part.parts)
    return found


def test_every_version_is_known() -> None:
    for spec in OPS.values():
        assert spec.since in VERSIONS
        assert all(o.since in VERSIONS for o in spec.operands)
        assert all(a.since in VERSIONS for a in spec.attributes.values())


def test_forms_name_what_rows_declare() -> None:
    for spec in OPS.values():
        known = {
            *(o.name for o in spec.operands),
            *spec.attributes,
            *(r.name for r in spec.results),
        }
        parts = parse_form(spec)
        named = [n for n in _names(parts) if re.fullmatch(r"\w+", n.strip())]
        literals = {"dim", "token", "alignment", "num_elem", "inbounds", "optimization_hints"}
        assert [n for n in named if n.strip() not in known | literals] == [], spec.mnemonic
        if spec.form:
            missing = {o.name for o in spec.operands} - set(_names(parts))
            assert missing == set(), spec.mnemonic


def test_groups_of_one_type_name_operands_and_results() -> None:
    for spec in OPS.values():
        known = {*(o.name for o in spec.operands), *(r.name for r in spec.results)}
        assert all(set(group) <= known for group in spec.same), spec.mnemonic


def test_hints_belong_to_ops_that_take_them() -> None:
    for name in HINT_KEYS:
        assert OPS[name].attributes["optimization_hints"].kind == "hints"


@pytest.mark.skipif(
    find_spec("cuda.tile") is None if find_spec("cuda") else True, reason="needs cuda-tile"
)
def test_table_agrees_with_the_encoder_of_cuda_tile() -> None:
    spec = find_spec("cuda.tile")
    assert spec is not None
    assert spec.origin is not None
    source = (Path(spec.origin).parent / "_bytecode" / "encodings.py").read_text()
    encoders = re.findall(r"^def encode_(\w+)Op\((.*?)\) ->", source, re.DOTALL | re.MULTILINE)
    known = {name.replace("_", "").lower(): row for name, row in OPS.items()}
    assert len(encoders) > 100
    for name, arguments in encoders:
        if name.startswith("Preview"):
            continue
        row = known[_mnemonic(name)]
        parameters = re.findall(r"(\w+): (Optional\[Value\]|Sequence\[Value\]|Value)", arguments)
        arity = {"Value": "", "Optional[Value]": "?", "Sequence[Value]": "*"}
        theirs = sorted((p.rstrip("_"), arity[t]) for p, t in parameters)
        assert theirs == sorted((o.name, o.arity) for o in row.operands) or name == "Return", name


def _mnemonic(encoder: str) -> str:
    """`LoadViewTko` -> `loadviewtko`; the encoder's names of three ops differ from the text's."""
    renamed = {"mulhii": "mulhii", "mmafscaled": "mmafscaled", "mulhi": "mulhii"}
    name = encoder.lower()
    return renamed.get(name, name)


def test_keywords_are_unique() -> None:
    for words in KEYWORDS.values():
        assert len(set(words)) == len(words)
