"""Bytecode: read as tileirdisasm reads it, written so that it reads it, refused where it is broken."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest
from fuzz.broken import read_anyhow
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import nvidia_tool
from shape import shape

from tileir_tools import BytecodeError, ConversionError, load, parse, parse_all
from tileir_tools.dialect import OPS
from tileir_tools.dialect.bytecode import OPCODES
from tileir_tools.errors import TileIRError
from tileir_tools.model import Module
from tileir_tools.read import file_info

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = sorted((ROOT / "tests" / "fixtures" / "kernels").glob("*.tileirbc"))
SHARED = ROOT.parent / "shared"
DISASSEMBLER = nvidia_tool("tileirdisasm")

SMALLEST = sorted(FIXTURES, key=lambda p: (p.stat().st_size, p.name))[:3]
MATMUL = next(p for p in FIXTURES if p.name.startswith("matmul__") and "bc13.4" in p.name)


def official_text(bytecode: Path, *, debug: bool = False) -> str | None:
    """What tileirdisasm printed for a file, kept beside it."""
    path = bytecode.with_suffix(".g.mlir" if debug else ".mlir")
    return path.read_text(encoding="utf-8") if path.exists() else None


# -- reading ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_fixture_prints_what_the_disassembler_prints(path: Path) -> None:
    module = load(path)
    assert module.to_text() == official_text(path)
    with_locations = official_text(path, debug=True)
    if with_locations is not None:
        assert module.to_text(debug_info=True) == with_locations


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_text_and_bytecode_give_equal_modules(path: Path) -> None:
    module = load(path)
    plain = official_text(path)
    assert plain is not None
    assert shape(parse(plain)) == shape(module)
    with_locations = official_text(path, debug=True)
    if with_locations is not None:
        assert shape(parse(with_locations), locations=True) == shape(module, locations=True)


def test_every_version_is_among_the_fixtures() -> None:
    versions = {load(path).bytecode_version for path in FIXTURES}
    assert versions == {"13.1", "13.2", "13.3", "13.4"}


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/corpus")
def test_corpus_prints_what_the_disassembler_prints() -> None:
    files = sorted((SHARED / "corpus").rglob("*.tileirbc"))
    compared = 0
    for path in files:
        module = load(path)
        for debug in (False, True):
            wanted = official_text(path, debug=debug)
            if wanted is not None:
                assert module.to_text(debug_info=debug) == wanted, path
                compared += 1
    assert compared > 350


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/conformance")
def test_the_dialects_own_bytecode_tests() -> None:
    folder = SHARED / "conformance" / "bytecode"
    # What the official disassembler says of each: refused where its output names an error.
    said: dict[str, list[str]] = {}
    for line in (folder / "tileirdisasm.txt").read_text().splitlines():
        if line.startswith("== "):
            lines = said.setdefault(line[3:], [])
        else:
            lines.append(line)
    assert len(said) == 9
    for name, lines in said.items():
        refused = any(line.startswith("error:") for line in lines)
        if refused:
            with pytest.raises(TileIRError) as error:
                load(folder / name)
            assert name in str(error.value)
        else:
            assert load(folder / name).to_text().endswith("\n".join(lines) + "\n")


def test_bytecode_is_known_by_its_content_and_may_be_gzipped(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "kernel.txt"
    path.write_bytes(gzip.compress(MATMUL.read_bytes()))
    assert load(path).to_text() == official_text(MATMUL)


def test_the_table_of_contents_decodes_no_body(monkeypatch: pytest.MonkeyPatch) -> None:
    import tileir_tools.read.bytecode as reader

    def decoded(*args: object) -> None:
        raise AssertionError("a body was decoded")

    monkeypatch.setattr(reader, "read_function", decoded)
    info = file_info(MATMUL, bodies=False)
    assert [entry.operations for entry in info.entries] == [None]
    assert info.operations == {}
    assert info.version == "13.4"


# -- broken input -----------------------------------------------------------------------------------


def test_an_error_names_offset_section_and_version() -> None:
    data = MATMUL.read_bytes()
    with pytest.raises(BytecodeError) as caught:
        parse_all(data[: len(data) // 2], "half.tileirbc")
    error = caught.value
    assert error.version == "13.4"
    assert 0 < error.offset <= len(data) // 2
    assert str(error).startswith("half.tileirbc: error: ")
    assert f"(byte {error.offset}, section {error.section}, version 13.4)" in str(error)


def test_a_file_newer_than_we_know_names_both_versions() -> None:
    data = bytearray(MATMUL.read_bytes())
    data[9] = 9
    with pytest.raises(BytecodeError, match=r"13\.9.*13\.5"):
        parse_all(bytes(data))


@pytest.mark.parametrize("path", SMALLEST, ids=lambda p: p.name)
def test_every_truncation_is_an_error(path: Path) -> None:
    data = path.read_bytes()
    for size in range(len(data)):
        assert isinstance(read_anyhow(data[:size]), TileIRError), size


@pytest.mark.parametrize("path", SMALLEST, ids=lambda p: p.name)
def test_every_bit_flip_is_an_error_or_a_module(path: Path) -> None:
    data = path.read_bytes()
    for at in range(len(data)):
        for bit in range(8):
            changed = data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]
            assert isinstance(read_anyhow(changed), (Module, TileIRError))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_bytecode_is_an_error_or_a_module(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from(FIXTURES)).read_bytes()
    changed = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(8, len(changed) - 1))
        length = data.draw(st.integers(0, 4))
        changed[at : at + length] = data.draw(st.binary(max_size=6))
    assert isinstance(read_anyhow(bytes(changed)), (Module, TileIRError))


@given(st.binary(max_size=200))
def test_any_bytes_behind_the_header_are_an_error_or_a_module(rest: bytes) -> None:
    outcome = read_anyhow(MATMUL.read_bytes()[:12] + rest)
    assert isinstance(outcome, (Module, TileIRError))


@pytest.mark.parametrize("section", [1, 2, 3, 4, 5, 6, 7])
def test_a_small_file_cannot_ask_for_gigabytes(section: int) -> None:
    import tracemalloc

    # A section whose first number says that 2^62 items follow.
    huge = b"\xff" * 8 + b"\x3f"
    body = huge + bytes(50)
    data = MATMUL.read_bytes()[:12] + bytes([section, len(body)]) + body + b"\0"
    tracemalloc.start()
    assert isinstance(read_anyhow(data), TileIRError)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_a_negative_size_is_refused() -> None:
    data = MATMUL.read_bytes()
    sizes = struct.pack("<2q", 128, 64)
    assert sizes in data
    with pytest.raises(BytecodeError, match="a size or stride of -64 in a type"):
        parse_all(data.replace(sizes, struct.pack("<2q", 128, -64)))


def test_a_token_where_a_tile_belongs_is_refused() -> None:
    module = parse(
        "entry @k() {\n  %0 = make_token : token\n  %1 = constant <i32: 3> : tile<i32>\n"
        "  %2 = addi %1, %1 : tile<i32>\n  return\n}\n"
    )
    first, _, addition, _ = module.entries[0].body.operations
    addition.set_operand(0, first.result)
    with pytest.raises(BytecodeError, match="operand 'lhs' of addi must be a tile, found token"):
        parse_all(module.to_bytecode("13.4"))


_VIEW = """entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %v = make_tensor_view %p, shape = [%n, %n], strides = [%n, 1]
      : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
  return
}
"""


def test_a_tensor_view_with_too_few_sizes_is_refused() -> None:
    module = parse(_VIEW)
    view = module.entries[0].body.operations[0]
    base, size, _, stride = view.operands
    view.set_operands([base, size, stride], (1, 1, 1))
    message = "the shape of tensor_view<.*> takes 2 values, make_tensor_view has 1"
    with pytest.raises(BytecodeError, match=message):
        parse_all(module.to_bytecode("13.4"))


# -- writing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_what_is_written_reads_back_equal(path: Path) -> None:
    module = load(path)
    written = module.to_bytecode()
    again = parse_all(written)[0]
    assert again.bytecode_version == module.bytecode_version
    assert shape(again, locations=True) == shape(module, locations=True)
    # Deterministic, and writing what was written changes nothing.
    assert module.to_bytecode() == written
    assert again.to_bytecode() == written


@pytest.mark.skipif(DISASSEMBLER is None, reason="needs tileirdisasm (nvidia-cuda-tileiras)")
@pytest.mark.parametrize("path", FIXTURES[::4], ids=lambda p: p.name)
def test_the_disassembler_reads_what_is_written(path: Path, tmp_path: Path) -> None:
    text = official_text(path)
    assert text is not None
    module = load(path)
    for name, data in (
        ("from-bytecode", module.to_bytecode()),
        ("from-text", parse(text).to_bytecode(module.bytecode_version)),
    ):
        out = tmp_path / f"{name}.tileirbc"
        out.write_bytes(data)
        done = subprocess.run([str(DISASSEMBLER), out], capture_output=True, check=True)
        assert done.stdout.decode() == text, name


def test_text_is_written_at_the_oldest_version_that_says_it_all() -> None:
    for version in ("13.1", "13.2", "13.3", "13.4"):
        path = next(p for p in FIXTURES if f"bc{version}" in p.name)
        text = official_text(path)
        assert text is not None
        data = parse(text).to_bytecode()
        assert (data[8], data[9]) <= tuple(int(x) for x in version.split("."))


def test_going_back_to_an_older_version_refuses_by_name() -> None:
    text = (
        "entry @k(%a: tile<4xf32>) {\n  %0 = tanh %a rounding<approx> : tile<4xf32>\n  return\n}\n"
    )
    module = parse(text)
    with pytest.raises(ConversionError) as caught:
        module.to_bytecode("13.1")
    assert "rounding_mode" in str(caught.value)
    assert "tanh" in str(caught.value)


def test_opcodes_are_one_for_one_op() -> None:
    assert len(set(OPCODES.values())) == len(OPCODES)
    assert set(OPCODES) <= set(OPS)


def test_keywords_and_pointer_attributes_of_later_versions_are_refused_by_name() -> None:
    away = parse(
        "entry @k(%f: tile<f32>) {\n%0 = ftof %f rounding<nearest_away> : tile<f32> -> tile<tf32>\nreturn }"
    )
    with pytest.raises(ConversionError, match="rounding_mode nearest_away of ftof"):
        away.to_bytecode("13.3")
    assert parse(away.to_bytecode()).bytecode_version == "13.4"
    multicast = parse("entry @k(%p: tile<ptr<f32, <multicast>>>) { return }")
    with pytest.raises(ConversionError, match=r"needs 13\.5"):
        multicast.to_bytecode("13.4")
    assert parse(multicast.to_bytecode()).bytecode_version == "13.5"
    assert (
        parse("entry @k(%p: tile<ptr<f32, <none>>>) { return }").to_bytecode()[8:10] == b"\x0d\x04"
    )


def test_operations_of_other_dialects_are_refused_by_name() -> None:
    module = parse('cuda_tile.module @m {\n  "some.op"() : () -> ()\n}')
    assert [op.name for op in module.operations] == ["some.op"]
    assert '"some.op"() : () -> ()' in module.to_text()
    with pytest.raises(ConversionError, match=r"operation some\.op, which is not known"):
        module.to_bytecode()


def test_a_token_that_a_version_lacks_is_refused_by_name() -> None:
    """13.1 has no token of a `print_tko`: a module that reads one is refused, however it goes on."""
    text = (
        "entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {\n"
        '  %t = print_tko "%i\\n", %n : tile<i32> -> token\n'
        "  %u = store_ptr_tko weak %p, %n token=%t : tile<ptr<i32>>, tile<i32> -> token\n"
        "}\n"
    )
    [module] = parse_all(text)
    with pytest.raises(ConversionError, match=r"the result of print_tko \(needs 13.2\)"):
        module.to_bytecode("13.1")
    assert parse_all(module.to_bytecode("13.2"))[0].to_text() == module.to_text()


def test_values_whose_numbers_take_three_bytes() -> None:
    # The numbers of values are varints: those from 128 and from 16384 on take a byte more.
    count = 17_000
    lines = [f"%{k + 1} = addi %{k}, %{k // 2} : tile<i32>\n" for k in range(count)]
    module = parse("entry @k(%0: tile<i32>) {\n" + "".join(lines) + "return\n}\n")
    data = module.to_bytecode()
    assert parse(data).to_text() == module.to_text()
    # The last operand of all but the return, 16999, as a number that nothing has defined.
    place = data.rindex(bytes([16_999 & 0x7F | 0x80, 16_999 >> 7 & 0x7F | 0x80, 1]))
    broken = data[:place] + bytes([0xFF, 0xFF, 0x7F]) + data[place + 3 :]
    with pytest.raises(BytecodeError, match="value 2097151, but only 17000 are defined here"):
        parse(broken)
