"""Questions to the tables of a scan, those with a name included; the schema; facts as Arrow and pandas."""

from __future__ import annotations

import csv
import io
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from samples import ROOT
from scanned import BROKEN, MATMUL, SOFTMAX, table
from test_cli import check, tool

import tileir_tools as tt
from tileir_tools.errors import InputError, UsageError

pytest.importorskip("pyarrow", reason="needs the extra scan")
pytest.importorskip("duckdb", reason="needs the extra scan")

from tileir_tools.bridges import to_arrow, to_pandas
from tileir_tools.bridges.arrow import arrow_schema
from tileir_tools.bridges.tables import TABLES
from tileir_tools.report.scan_report import answer_text
from tileir_tools.scan import Answer, query, scan
from tileir_tools.scan.named import NAMED
from tileir_tools.scan.querying import query_named

NO_TMA = "optimization_hints = <sm_100 = {allow_tma = false}>"


def without_tma(text: str, count: int) -> str:
    """A kernel whose first loads may not use TMA on sm_100."""
    return re.sub(r"(load_view_tko .*? token = %0) ", rf"\1 {NO_TMA} ", text, count=count)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two toolchains: the newer one lost TMA in a load of matmul, and cannot be read in places."""
    base = tmp_path_factory.mktemp("query")
    for side in ("old", "new"):
        (base / side).mkdir()
        for path in (MATMUL, SOFTMAX):
            shutil.copy(path, base / side)
    (base / "new" / MATMUL.name).write_text(without_tma(MATMUL.read_text(), 1))
    (base / "new" / "copy.mlir").write_bytes(SOFTMAX.read_bytes())
    for name in ("parse.mlir", "invalid.mlir"):
        (base / "new" / name).write_bytes(BROKEN[name])
    scan([base / "new"], base / "out", arch="sm_100", reference=[base / "old"])
    return base / "out"


def named(out: Path, name: str) -> list[tuple[Any, ...]]:
    return query_named(out, name).rows


# -- questions with a name --------------------------------------------------------------------------


def test_lost_tma(out: Path) -> None:
    (row,) = named(out, "lost-tma")
    new, old = out.parent / "new" / MATMUL.name, out.parent / "old" / MATMUL.name
    assert row == ("matmul(f16[2], f16[2], f16[2]; 128, 128, 64)", str(new), None, str(old), 3, 2)


def test_other_configurations_lost_nothing(tmp_path: Path) -> None:
    """One name with other constants is another kernel; one with another mangling may be the same."""
    text = without_tma(MATMUL.read_text(), 2)
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a.mlir").write_text(text.replace("_I128_I128_I64", "_I128_I128_I65"))
    scan([tmp_path / "new"], tmp_path / "out", arch="sm_100", reference=[MATMUL])
    assert [row["matched_by"] for row in table(tmp_path / "out", "comparisons")] == ["function"]
    assert named(tmp_path / "out", "lost-tma") == []
    symbol = re.search(r"@(\w+)", text)
    assert symbol is not None
    (tmp_path / "new" / "a.mlir").write_text(text.replace(symbol[1], "matmul"))
    scan([tmp_path / "new"], tmp_path / "out", arch="sm_100", reference=[MATMUL])
    assert [row[-2:] for row in named(tmp_path / "out", "lost-tma")] == [(3, 1)]


def test_hints_by_arch(out: Path) -> None:
    softmax = [h for e in tt.analyze(tt.load(SOFTMAX)).entries for h in e.written_hints]
    found = named(out, "hints-by-arch")
    assert ("sm_100", "allow_tma", "false", 1, 1) in found
    assert sum(row[3] for row in found) == 1 + len(softmax)


def test_variants(out: Path) -> None:
    found = {row[0]: row[1:] for row in named(out, "variants")}
    # The two of matmul differ in hints alone.
    assert found == {"matmul": (2, 1, 1, 1, 1, 2), "softmax": (1,) * 6, "k": (1,) * 6}


def test_errors(out: Path) -> None:
    found = {Path(row[0]).name: row[1:-1] for row in named(out, "errors")}
    assert found == {
        "parse.mlir": (None, "parse", 2, 13, None),
        "invalid.mlir": (None, "verify", 2, None, None),
    }


def test_verdicts(out: Path) -> None:
    codes = [
        f.code for f in tt.diff(tt.load(MATMUL), tt.load(out.parent / "new" / MATMUL.name)).findings
    ]
    assert named(out, "verdicts") == [
        ("FAIL_FIXABLE", " ".join(codes), 1),
        ("PASS", "", 1),
        ("no reference", "", 1),
    ]


def test_duplicates(out: Path) -> None:
    ((_, files, first),) = named(out, "duplicates")
    assert (files, Path(first)) == (3, out.parent / "new" / "copy.mlir")


def test_every_name_is_in_the_help(out: Path) -> None:
    said = tool("tileir", "query", "--help").stdout.decode()
    assert f"Names: {', '.join(sorted(NAMED))}." in said
    page = (ROOT / "docs" / "scan.md").read_text()
    for name, question in NAMED.items():
        assert f"| `{name}` | {question.about} |" in page
    done = tool("tileir", "query", "--named", "lost", out)
    assert done.returncode == 3
    assert f"no question is called 'lost'; there are: {', '.join(NAMED)}" in done.stderr.decode()


# -- the command ------------------------------------------------------------------------------------


SQL = (
    "select function, count(*) as memory_operations from entries join memory using (content) "
    "group by 1 order by 1"
)


def test_forms(out: Path) -> None:
    assert tool("tileir", "query", SQL, out).stdout.decode() == (
        "function  memory_operations\n"
        "--------  -----------------\n"
        "matmul                    6\n"
        "softmax                   3\n"
        "(2 rows)\n"
    )
    found = tool("tileir", "query", SQL, out, "--format", "csv").stdout.decode()
    assert list(csv.reader(io.StringIO(found)))[1:] == [["matmul", "6"], ["softmax", "3"]]
    document: Any = check(tool("tileir", "query", SQL, out, "--format", "json").stdout)
    assert document["rows"] == [["matmul", 6], ["softmax", 3]]
    sql = "select date '2020-01-01', 1.5::decimal(4, 2), 'nan'::double, [1, null], {'a': 'b'}, null"
    document = check(tool("tileir", "query", sql, out, "--format", "json").stdout)
    assert document["rows"] == [["2020-01-01", "1.50", "nan", [1, None], {"a": "b"}, None]]


def test_a_text_shows_nothing_that_a_terminal_obeys() -> None:
    answer = Answer(("name", "number"), [("a\x1b[2J\n", 1), ("x" * 90, None)])
    assert answer_text(answer).splitlines()[2:] == [
        "a\\x1b[2J\\n" + " " * 70 + "       1",
        "x" * 77 + "...",
        "(2 rows)",
    ]
    assert answer_text(Answer(("name",), [])).splitlines() == ["name", "----", "(0 rows)"]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("selec 1", "syntax error"),
        ("select nothing from entries", '"nothing" not found'),
        ("select * from '/etc/passwd'", "does not exist"),
        ("select * from read_text('/etc/passwd')", "configuration"),
        ("copy files to 'written.csv'", "configuration"),
        ("attach 'written.db'", "configuration"),
        ("set enable_external_access = true", "has been locked"),
        ("", "SQL"),
    ],
)
def test_wrong_or_forbidden_sql(out: Path, tmp_path: Path, sql: str, said: str) -> None:
    done = tool("tileir", "query", sql, out, cwd=tmp_path)
    assert done.returncode == 3
    assert done.stderr.decode().startswith("error: SQL: ")
    assert said in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_names_of_python_are_no_tables(out: Path) -> None:
    secret = table(out, "files")
    assert secret != []
    with pytest.raises(UsageError, match="secret does not exist"):
        query(out, "select * from secret")


def test_what_is_no_scan(out: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder of a scan"):
        query(tmp_path, "select 1")
    shutil.copy(out / "scan.json", tmp_path)
    with pytest.raises(InputError, match=r"files\.parquet: error: cannot be read"):
        query(tmp_path, "select 1")
    (tmp_path / "scan.json").write_text("[]")
    with pytest.raises(InputError, match="expected schema tileir-scan/1"):
        query(tmp_path, "select 1")
    assert tool("tileir", "query", "select 1").returncode == 3


# -- one schema -------------------------------------------------------------------------------------


def shown(form: Any) -> str:
    """A form as the page writes it."""
    if isinstance(form, list):
        return f"list of {shown(form[0])}"
    if isinstance(form, dict):
        return f"record of {', '.join(f'{name} ({shown(inner)})' for name, inner in form.items())}"
    return {"counts": "map of text to integer", "texts": "map of text to text"}.get(form, form)


def test_the_page_shows_the_schema() -> None:
    page = (ROOT / "docs" / "scan.md").read_text()
    for name, columns in TABLES.items():
        found = re.search(rf"^### `{name}`\n\n[^|]*\n\n((?:\|.*\n)+)", page, re.MULTILINE)
        assert found is not None, name
        rows = [f"| `{c.name}` | {shown(c.form)} | {c.about} |" for c in columns]
        assert found[1].splitlines()[2:] == rows


def test_what_is_written_has_the_schema(out: Path) -> None:
    from pyarrow import parquet

    for name, columns in TABLES.items():
        schema = parquet.read_schema(out / f"{name}.parquet")
        assert schema.equals(arrow_schema(name))
        about = {field.name: field.metadata[b"about"].decode() for field in schema}
        assert about == {column.name: column.about for column in columns}


def test_to_arrow_gives_the_rows_of_a_scan(out: Path) -> None:
    found = to_arrow(tt.load(MATMUL), arch="sm_100")
    (content,) = (
        row["content"]
        for row in table(out, "files")
        if row["path"] == str(out.parent / "old" / MATMUL.name)
    )
    assert list(found) == ["entries", "memory", "hints"]
    for name, rows in found.items():
        assert rows.schema.equals(arrow_schema(name))
        expected = [{**r, "content": None} for r in table(out, name) if r["content"] == content]
        assert rows.to_pylist() == expected
    facts = tt.analyze(tt.load(MATMUL), "sm_100", with_fingerprints=True)
    assert to_arrow(facts) == found
    both = to_arrow([facts, tt.load(SOFTMAX)])
    assert both["entries"].column("module").to_pylist() == [0, 1]
    assert both["entries"].column("arch").to_pylist() == ["sm_100", None]


def test_values_of_rows() -> None:
    text = without_tma(MATMUL.read_text(), 1).replace(
        "allow_tma = false", "allow_tma = false, latency = 3"
    )
    rows = to_arrow(tt.parse(text), "sm_100")
    columns = (
        "op",
        "line",
        "base",
        "tile",
        "shape",
        "padding",
        "latency",
        "allow_tma",
        "may_use_tma",
    )
    found = [tuple(row[c] for c in columns) for row in rows["memory"].to_pylist()]
    assert found[:2] == [
        ("load_view_tko", 43, "%arg0", [128, 64], [None, None], "zero", 3, False, False),
        ("load_view_tko", 44, "%arg5", [64, 128], [None, None], "zero", None, True, True),
    ]
    hints = [
        (r["op"], r["line"], r["arch"], r["key"], r["value"]) for r in rows["hints"].to_pylist()
    ]
    assert hints == [
        ("load_view_tko", 43, "sm_100", "allow_tma", "false"),
        ("load_view_tko", 43, "sm_100", "latency", "3"),
    ]
    (entry,) = rows["entries"].to_pylist()
    assert dict(entry["operations"])["mmaf"] == 1
    assert entry["mma"][0]["accumulator"] == "tile<128x128xf32>"
    assert (entry["mma"][0]["line"], entry["loops"][0]["step"]) == (45, "1")
    other = to_arrow(tt.parse(text), "sm_90")["memory"].to_pylist()
    assert (other[0]["latency"], other[0]["allow_tma"]) == (None, True)


def test_halves_of_characters_are_escaped() -> None:
    facts = tt.analyze(tt.load(SOFTMAX))
    entry = facts.entries[0]._replace(symbol="a\udc80b")
    rows = to_arrow(facts._replace(entries=(entry,)))
    assert rows["entries"].column("symbol").to_pylist() == ["a\\udc80b"]


def test_to_pandas() -> None:
    pytest.importorskip("pandas")
    frames = to_pandas(tt.load(MATMUL), "sm_100")
    memory = frames["memory"]
    assert memory.groupby("access")["bytes"].sum().to_dict() == {"load": 32768, "store": 32768}
    assert (str(memory.dtypes["latency"]), str(memory.dtypes["allow_tma"])) == ("Int64", "boolean")
    assert memory["latency"].isna().all()


def test_what_compares_needs_a_reference(tmp_path: Path) -> None:
    scan([MATMUL], tmp_path / "out")
    with pytest.raises(UsageError, match="asks what a scan with --reference compared"):
        query_named(tmp_path / "out", "lost-tma")


def test_breaks_and_controls_in_cells_and_heads(tmp_path: Path) -> None:
    scan([MATMUL], tmp_path / "out")
    sql = "select E'a\\rb' as x, 'c' as \"y\x1b[31m\""
    done = tool("tileir", "query", sql, tmp_path / "out", "--format", "csv").stdout.decode()
    assert list(csv.reader(io.StringIO(done, newline="")))[1:] == [["a\rb", "c"]]
    assert "\x1b" not in tool("tileir", "query", sql, tmp_path / "out").stdout.decode()
