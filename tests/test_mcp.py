"""`tileir mcp`: what a client sees of it, over a real connection."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from samples import FIXTURES as KERNELS
from test_agent_a import needs_cutile, needs_torch
from test_cli import tool
from test_toolchain import needs_tools

pytest.importorskip("mcp", reason="needs mcp (the extra `mcp`)")
import anyio
from agent_f_faults import CASES, build
from mcp import ClientSession, MCPError
from mcp_client import CALL, HELLO, SCHEMAS, Answer, ask, call_of, refusal, send, started, talk

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
MATMUL = KERNELS / "matmul__128x128x64-float16__sm_100__bc13.4.mlir"
OTHER = KERNELS / "matmul__128x128x64-bfloat16__sm_100__bc13.3.mlir"
PAIR = {
    "reference": "examples/ir/matmul_reference.mlir",
    "generated": "examples/ir/matmul_generated.mlir",
}
READERS = {
    "show", "diff", "equal", "verify", "variants", "explain", "what_if", "rules",
    "source", "wrapper", "perf", "validate", "document",
}  # fmt: skip


# -- what there is ----------------------------------------------------------------------------------


def test_tools_say_what_they_take_give_and_do() -> None:
    async def talking(client: ClientSession) -> Any:
        return (await client.list_tools()).tools

    tools = {one.name: one for one in talk(["--root", ROOT], talking)}
    assert set(tools) == READERS | {"agent_a", "agent_f"}
    for name, one in tools.items():
        assert one.description
        assert one.annotations is not None
        assert one.annotations.read_only_hint is (name in READERS)
        assert one.output_schema is not None
        assert set(one.output_schema["required"]) >= {"exit_code", "document", "left_out"}
        own = set(one.input_schema["properties"]) - {"part", "offset", "max_chars"}
        assert own, name
    assert tools["diff"].input_schema["required"] == ["reference", "generated"]
    level = tools["equal"].input_schema["properties"]["level"]
    assert level["enum"] == ["exact", "names", "hints", "dtype", "sizes", "structure"]


def test_each_reader_answers_as_its_command_does() -> None:
    folder = FIXTURES / "agent_a" / "row_scale"
    project = FIXTURES / "project"
    asked: dict[str, tuple[dict[str, object], list[object], int]] = {
        "show": ({"file": str(MATMUL), "arch": "sm_100"}, [MATMUL, "--arch", "sm_100"], 0),
        "diff": (dict(PAIR), [ROOT / path for path in PAIR.values()], 1),
        "equal": (
            {"reference": str(MATMUL), "generated": str(OTHER), "level": "dtype"},
            [MATMUL, OTHER, "--level", "dtype"],
            0,
        ),
        "verify": ({"file": str(MATMUL)}, [MATMUL], 0),
        "variants": ({"inputs": ["tests/fixtures/variants"]}, [FIXTURES / "variants"], 0),
        "rules": ({"code": "hnt004"}, ["hnt004"], 0),
        "source": (
            {"project": "tests/fixtures/project", "names": ["gemm"], "arch": "sm_100"},
            ["gemm", "--project", project, "--arch", "sm_100"],
            0,
        ),
        "wrapper": (
            {"name": "gemm", "project": "tests/fixtures/project"},
            ["gemm", "--project", project],
            0,
        ),
        "perf": (
            {"files": ["tests/fixtures/perf/cupti.log"], "by": "dtype"},
            [FIXTURES / "perf" / "cupti.log", "--by", "dtype"],
            0,
        ),
        "validate": (
            {"contract": "ir", "file": str(folder / "reference/reference.mlir"), "kernel": "row_scale"},
            ["ir", folder / "reference/reference.mlir", "row_scale"],
            0,
        ),
    }  # fmt: skip

    async def talking(client: ClientSession) -> dict[str, Answer]:
        return {
            name: await ask(client, name, max_chars=200_000, **arguments)
            for name, (arguments, _, _) in asked.items()
        }

    answers = talk(["--root", ROOT], talking)
    for name, (_, words, code) in asked.items():
        answer = answers[name]
        done = tool("tileir", name, *words, "--format", "json", cwd=Path("/"))
        assert (answer["exit_code"], done.returncode) == (code, code), name
        assert not answer["truncated"], name
        assert answer["document"] == json.loads(done.stdout), name
    assert answers["diff"]["meaning"] == "FAIL_FIXABLE: a CRITICAL finding"
    codes = [f["code"] for f in answers["diff"]["document"]["entries"][0]["findings"]]
    assert codes == ["MEM007", "CVT003", "HNT004", "EQV001"]
    assert answers["equal"]["meaning"] == "equal"
    assert answers["show"]["document"]["modules"][0]["entries"][0]["memory"]


def test_contracts_about_a_kernels_folder() -> None:
    async def talking(client: ClientSession) -> list[Answer]:
        given = {"kernel": "row_scale", "out": "agent_a"}
        log = "agent_a/row_scale/baseline_perf_cutile.txt"
        return [
            await ask(client, "validate", contract="analysis", **given),
            await ask(client, "validate", contract="diff-report", **given),
            await ask(client, "validate", contract="entry-pattern", **given),
            await ask(client, "validate", contract="perf-investigation", **given),
            await ask(client, "validate", contract="perf-log", file=log, label="times"),
            await ask(client, "document", file="agent_a/row_scale/reference/analysis.json"),
        ]

    *found, document = talk(["--root", FIXTURES], talking)
    meanings = [(one["document"]["validator"], one["meaning"]) for one in found]
    assert meanings == [
        ("analysis", "pass"),
        ("diff_report", "fail"),
        ("entry_pattern", "fail"),
        ("perf_investigation", "fail"),
        ("perf_log", "pass"),
    ]
    assert found[4]["document"]["lines"][0]["text"].startswith("times")
    assert document["document"]["kernel_name"] == "row_scale"


@needs_tools
def test_compiling_tools() -> None:
    async def talking(client: ClientSession) -> list[Answer]:
        given = {**PAIR, "arch": "sm_90"}
        return [
            await ask(client, "explain", **given),
            await ask(client, "what_if", **given),
            await ask(client, "show", file=PAIR["reference"], arch="sm_90", evidence=True),
        ]

    explained, tried, shown = talk(["--root", ROOT], talking)
    done = tool(
        "tileir", "explain", *(ROOT / path for path in PAIR.values()),
        "--arch", "sm_90", "--format", "json", cwd=Path("/"),
    )  # fmt: skip
    assert explained["document"] == json.loads(done.stdout)
    assert explained["exit_code"] == done.returncode
    assert tried["document"]["arch"] == "sm_90"
    assert shown["document"]["evidence"]


def test_rules_are_resources() -> None:
    async def talking(client: ClientSession) -> list[str]:
        texts = []
        for uri in ("tileir://rules", "tileir://rules/hnt004"):
            [content] = (await client.read_resource(uri)).contents
            texts.append(content.text)  # type: ignore[union-attr]
        with pytest.raises(MCPError, match="no rule 'XYZ'"):
            await client.read_resource("tileir://rules/XYZ")
        return texts

    listed, one = talk(["--root", ROOT], talking)
    assert "HNT004  CRITICAL  latency differs inside a loop" in listed.splitlines()
    assert one.startswith("HNT004 (CRITICAL, kernel): latency differs inside a loop\n")


# -- how much of it ---------------------------------------------------------------------------------


def test_what_is_left_out_can_be_asked_for() -> None:
    async def talking(client: ClientSession) -> tuple[Answer, list[Answer], Answer]:
        first = await ask(client, "rules", max_chars=2000)
        pages = [first]
        while pages[-1]["truncated"]:
            [cut] = pages[-1]["left_out"]
            behind = cut["offset"] + cut["shown"]
            if behind == cut["total"]:
                break
            page = {"part": cut["part"], "offset": behind, "max_chars": 5000}
            pages.append(await ask(client, "rules", **page))
        return first, pages, await ask(client, "rules", max_chars=200_000)

    first, pages, whole = talk(["--root", ROOT], talking)
    assert first["truncated"]
    assert [cut["part"] for cut in first["left_out"]] == ["/rules"]
    assert len(json.dumps(first["document"])) <= 2000
    assert all(len(json.dumps(page["document"])) <= 5000 for page in pages)
    collected = first["document"]["rules"] + [rule for p in pages[1:] for rule in p["document"]]
    assert collected == whole["document"]["rules"]
    assert not whole["truncated"]


def test_a_part_that_is_not_there() -> None:
    async def talking(client: ClientSession) -> list[str]:
        return [
            await refusal(client, "rules", part="/nothing"),
            await refusal(client, "rules", part="/rules/9999"),
            await refusal(client, "rules", part="/rules", offset=9999),
            await refusal(client, "rules", max_chars=10),
        ]

    missing, behind, offset, little = talk(["--root", ROOT], talking)
    assert missing == "part '/nothing': there is no 'nothing'; there is schema, rules"
    assert behind.startswith("part '/rules/9999': there is no '9999'; there are ")
    assert offset.startswith("part '/rules' has ")
    assert "greater than or equal to 1000" in little


# -- where it reads ---------------------------------------------------------------------------------


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Path, Path]:
    """A folder that may be read, and one beside it that may not, which holds the same kernel."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root, outside):
        folder.mkdir()
        shutil.copy(MATMUL, folder / "kernel.mlir")
    (outside / "secret.txt").write_text("SECRET\n")
    (root / "link.mlir").symlink_to(outside / "kernel.mlir")
    (root / "folder").symlink_to(outside)
    (root / "inner.mlir").symlink_to(root / "kernel.mlir")
    return root, outside


def test_paths_out_of_the_roots_are_refused(roots: tuple[Path, Path]) -> None:
    root, outside = roots
    wrong = [
        str(outside / "kernel.mlir"), "../outside/kernel.mlir", "link.mlir", "folder/kernel.mlir",
        "folder", "/etc/passwd", "/proc/self/environ", f"{root}/../outside/kernel.mlir",
        f"{root}2/kernel.mlir", "../outside/not_there.mlir",
    ]  # fmt: skip

    async def talking(client: ClientSession) -> list[str]:
        found = [await refusal(client, "show", file=path) for path in wrong]
        found.append(await refusal(client, "diff", reference="kernel.mlir", generated="link.mlir"))
        found.append(await refusal(client, "diff", reference="../outside/*", generated="*.mlir"))
        found.append(await refusal(client, "variants", inputs=["kernel.mlir", "folder"]))
        found.append(await refusal(client, "source", project="..", names=["gemm"]))
        given = {"contract": "analysis", "kernel": "matmul", "out": "folder"}
        found.append(await refusal(client, "validate", **given))
        found.append(await refusal(client, "document", file="folder/secret.txt"))
        allowed = await ask(client, "show", file="inner.mlir")
        assert allowed["document"]["source"] == str(root / "kernel.mlir")
        return found

    for said in talk(["--root", root], talking):
        assert said.endswith(f": outside of {root}"), said


def test_several_roots(roots: tuple[Path, Path]) -> None:
    root, outside = roots

    async def talking(client: ClientSession) -> Answer:
        return await ask(client, "document", file="secret.json")

    (outside / "secret.json").write_text('{"a": 1}')
    answer = talk(["--root", root, "--root", outside], talking)
    assert (answer["document"], answer["document_schema"]) == ({"a": 1}, None)


def test_links_below_a_folder_are_not_followed_out(roots: tuple[Path, Path]) -> None:
    root, outside = roots
    (root / "dumps").mkdir()
    shutil.copy(MATMUL, root / "dumps" / "a.mlir")
    (root / "dumps" / "b.mlir").symlink_to(outside / "kernel.mlir")

    async def talking(client: ClientSession) -> tuple[Answer, Answer]:
        sides = {"reference": "dumps", "generated": "dumps"}
        return await ask(client, "variants", inputs=["dumps"]), await ask(client, "diff", **sides)

    grouped, compared = talk(["--root", root], talking)
    assert grouped["exit_code"] == 1
    [variant] = grouped["document"]["variants"]
    assert variant["representative"]["file"] == str(root / "dumps" / "a.mlir")
    assert variant["others"] == []
    assert compared["exit_code"] == 3
    for answer in (grouped, compared):
        said = "".join(answer["messages"])
        assert f"{root}/dumps/b.mlir" in said
        assert "outside of what may be read" in said


@pytest.mark.parametrize(
    ("contract", "expected"),
    [
        ("analysis", "secret.txt' is absolute"),
        ("entry-pattern", "kernel.rs: outside of what may be read"),
        ("diff-report", "diff_report.md: outside of what may be read"),
        ("perf-investigation", "first line must be VERDICT: FIXABLE|ALIGNED|BLOCKED, got: "),
    ],
)
def test_documents_do_not_lead_out(contract: str, expected: str, roots: tuple[Path, Path]) -> None:
    root, outside = roots
    kernel = root / "row_scale"
    shutil.copytree(FIXTURES / "agent_a" / "row_scale", kernel)
    secret = outside / "secret.txt"
    analysis = kernel / "reference" / "analysis.json"
    content = json.loads(analysis.read_text())
    content["kernel_variants"][0]["reference_ir"] = str(secret)
    content["source_file"] = "/etc/passwd"
    analysis.write_text(json.dumps(content))
    (kernel / "kernel.rs").symlink_to(secret)
    (kernel / "generated").mkdir()
    (kernel / "generated" / "diff_report.md").symlink_to(secret)
    (kernel / "reports" / "perf_investigation_a.md").symlink_to(secret)

    async def talking(client: ClientSession) -> Answer:
        return await ask(client, "validate", contract=contract, kernel="row_scale")

    answer = talk(["--root", root], talking)
    assert expected in [line["text"][-len(expected) :] for line in answer["document"]["lines"]]
    assert "SECRET" not in json.dumps(answer)


def test_an_agent_does_not_follow_documents_out(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    build(CASES[0], root)
    outside.mkdir()
    folder = root / "out" / "matmul"
    for name in ("reference/reference.mlir", "baseline_perf_cutile.txt"):
        shutil.move(folder / name, outside / Path(name).name)
        (folder / name).symlink_to(outside / Path(name).name)

    async def talking(client: ClientSession) -> Answer:
        return await ask(client, "agent_f", kernel="matmul", out="out", evidence=False)

    answer = talk(["--root", root, "--allow-run", "--allow-write"], talking)
    assert answer["document"]["verdict"] == "BLOCKED"
    assert any("outside of what may be read" in one for one in answer["document"]["missing"])


def test_settings_of_the_root_count_and_none_above(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.tileir\n")
    root = tmp_path / "root"
    shutil.copytree(ROOT / "examples" / "ir", root)
    sides = {side: Path(path).name for side, path in PAIR.items()}

    async def talking(client: ClientSession) -> str:
        return str((await ask(client, "diff", **sides))["document"]["verdict"])

    assert talk(["--root", root], talking) == "FAIL_FIXABLE"
    levels = "".join(f'{code} = "INFO"\n' for code in ("MEM007", "CVT003", "HNT004"))
    (root / "tileir.toml").write_text(f"[severity]\n{levels}")
    assert talk(["--root", root], talking) == "PASS_WITH_NOTES"


# -- what it may do ---------------------------------------------------------------------------------


def test_agents_are_refused_where_the_user_did_not_allow_them(tmp_path: Path) -> None:
    async def talking(client: ClientSession) -> list[str]:
        given = {"kernel": "gemm", "project": "."}
        return [await refusal(client, name, **given) for name in ("agent_a", "agent_f")]

    for options, missing in (
        ([], "--allow-run and --allow-write"),
        (["--allow-run"], "--allow-write"),
        (["--allow-write"], "--allow-run"),
    ):
        said = talk(["--root", tmp_path, *options], talking)
        assert said == [
            f"{name} needs {missing}, which this server was started without"
            for name in ("agent_a", "agent_f")
        ]
    assert list(tmp_path.iterdir()) == []


def test_programs_are_refused_where_the_user_did_not_allow_them() -> None:
    async def talking(client: ClientSession) -> list[str]:
        given = {**PAIR, "arch": "sm_90"}
        return [
            await refusal(client, "explain", **given),
            await refusal(client, "what_if", **given),
            await refusal(client, "show", file=PAIR["reference"], arch="sm_90", evidence=True),
        ]

    said = talk(["--root", ROOT, "--no-compile"], talking)
    assert said == ["this server was started with --no-compile: nothing is compiled"] * 3

    async def launching(client: ClientSession) -> str:
        return await refusal(client, "what_if", **PAIR, arch="sm_90", run="tests")

    assert talk(["--root", ROOT], launching) == (
        "run needs --allow-run, which this server was started without"
    )


def test_agent_f_with_progress(tmp_path: Path) -> None:
    build(CASES[0], tmp_path)
    (tmp_path / "out" / "outside").symlink_to("/etc")
    steps: list[str] = []

    async def talking(client: ClientSession) -> tuple[Any, Answer, list[str]]:
        async def progress(done: float, total: float | None, message: str | None) -> None:
            steps.append(str(message).split()[0])

        given: dict[str, Any] = {"kernel": "matmul", "out": "out", "evidence": False}
        first = await client.call_tool("agent_f", given, progress_callback=progress)
        page = {"file": "out/matmul/reports/agent_f.json", "part": "/causes"}
        wrong = [
            await refusal(client, "agent_f", kernel="outside", out="out"),
            await refusal(client, "agent_f", kernel="../out", out="out"),
            await refusal(client, "agent_f", kernel="nothing", out="out"),
        ]
        return first.structured_content, await ask(client, "document", **page), wrong

    options = ["--root", tmp_path, "--allow-run", "--allow-write"]
    answer, causes, wrong = talk(options, talking)
    assert (answer["exit_code"], answer["meaning"]) == (0, "a diagnosis")
    assert answer["text"].endswith("VERDICT: FIXABLE\n")
    assert answer["document_schema"] == "tileir-agent-f/1"
    assert answer["document"]["verdict"] == "FIXABLE"
    assert causes["document"] == answer["document"]["causes"]
    assert {"measure", "verdict", "gate"} <= set(steps)
    assert wrong[0] == f"{tmp_path}/out/outside: a link"
    assert wrong[1] == "'../out' is no name of a kernel: letters, digits and _ only"
    assert "nothing: error: no such folder" in wrong[2]


def test_agent_a_stops_after_a_step(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "project", tmp_path / "project")

    async def talking(client: ClientSession) -> list[Answer]:
        given = {"kernel": "gemm", "project": "project", "out": "out", "arch": "sm_100"}
        return [
            await ask(client, "agent_a", until="read", **given),
            await ask(client, "agent_a", until="read", **given, evidence=False),
        ]

    (tmp_path / "out").mkdir()
    answers = talk(["--root", tmp_path, "--allow-run", "--allow-write"], talking)
    for answer in answers:
        assert (answer["exit_code"], answer["meaning"]) == (0, "done up to read")
        assert answer["document"] is None
        assert answer["messages"][0].startswith("read")
    assert (tmp_path / "out" / "gemm").is_dir()


@needs_cutile
@needs_torch
def test_agent_a_from_nothing_to_pass(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "project", tmp_path / "project")
    (tmp_path / "out").mkdir()
    given = {
        "kernel": "row_scale",
        "project": "project",
        "out": "out",
        "arch": "sm_100",
        "evidence": False,
        "perf_logs": {b: f"project/logs/row_scale_{b}.xml" for b in ("cutile", "pytorch")},
    }

    async def talking(client: ClientSession) -> list[Answer]:
        steps = ("variants", "analysis", "gate")
        return [await ask(client, "agent_a", until=step, **given) for step in steps]

    variants, analysis, gate = talk(["--root", tmp_path, "--allow-run", "--allow-write"], talking)
    assert variants["document"] is None
    assert analysis["document"]["kernel_name"] == "row_scale"
    assert "dump      taken from an earlier run: reference/dumps" in analysis["messages"]
    assert (gate["exit_code"], gate["meaning"]) == (0, "PASS")
    assert gate["text"].endswith("VERDICT: PASS\n")
    assert gate["document"] == analysis["document"]


# -- bad input, cancelling, several at a time -------------------------------------------------------


def test_bad_input_is_told_at_its_place_and_the_server_lives(tmp_path: Path) -> None:
    shutil.copy(MATMUL, tmp_path / "kernel.mlir")
    (tmp_path / "broken.mlir").write_text("entry @k() {\n  %0 = addi %1\n}\n")
    (tmp_path / "ttir.mlir").write_text("module { tt.func @k() { tt.return } }\n")
    (tmp_path / "bytes.mlir").write_bytes(bytes(range(256)))
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "no.json").write_text("nothing")

    async def talking(client: ClientSession) -> tuple[list[str], Answer]:
        said = [
            await refusal(client, "show", file="broken.mlir"),
            await refusal(client, "show", file="ttir.mlir"),
            await refusal(client, "show", file="not_there.mlir"),
            await refusal(client, "show", file="bytes.mlir"),
            await refusal(client, "show", file="."),
            await refusal(client, "show", file=""),
            await refusal(client, "show", file="a\0b"),
            await refusal(client, "show", file=7),
            await refusal(client, "show"),
            await refusal(client, "show", file="kernel.mlir", arch="--help"),
            await refusal(client, "rules", code="--help"),
            await refusal(client, "document", file="deep.json"),
            await refusal(client, "document", file="no.json"),
            await refusal(client, "validate", contract="ir", file="broken.mlir"),
            await refusal(client, "validate", contract="nothing"),
            await refusal(client, "validate", contract="analysis", kernel="../x"),
            await refusal(client, "no_such_tool"),
        ]
        return said, await ask(client, "verify", file="broken.mlir")

    said, verified = talk(["--root", tmp_path], talking)
    assert said[0].startswith(f"{tmp_path}/broken.mlir:2:13: error: ")
    assert "Triton" in said[1]
    assert said[2] == f"{tmp_path}/not_there.mlir: error: no such file"
    assert said[3].startswith(f"{tmp_path}/bytes.mlir")
    assert said[4] == f"{tmp_path}: error: this is a directory"
    assert said[5] == "'' is no name of a file"
    assert said[6] == "'a\\x00b' is no name of a file"
    assert "Input should be a valid string" in said[7]
    assert "Field required" in said[8]
    assert "--help" in said[9]
    assert said[10] == "error: no rule '--help'; `tileir rules` lists them"
    assert said[11:13] == [
        f"{tmp_path}/{name}: error: no JSON" for name in ("deep.json", "no.json")
    ]
    assert said[13] == "ir needs kernel"
    assert "Input should be 'ir', 'analysis'" in said[14]
    assert said[15] == "'../x' is no name of a kernel: letters, digits and _ only"
    assert "no_such_tool" in said[16]
    assert verified["meaning"] == "breaks rules"
    assert verified["document"]["diagnostics"][0]["line"] == 2


def test_what_json_or_the_protocol_cannot_say(tmp_path: Path) -> None:
    """Half of a surrogate pair in an answer, for one, would end the connection."""
    (tmp_path / "half.json").write_text('{"a": "x\\ud800y", "\\udfff": 1, "n": NaN, "i": -1e999}')
    (tmp_path / "cut.json").write_text(json.dumps({"schema": "\ud800", "\udfff": [0] * 900}))
    (tmp_path / "deep.json").write_text('{"a": ' + "[" * 300 + "]" * 300 + "}")
    (tmp_path / "error.json").write_text('{"error": "\\ud800"}')
    (tmp_path / "bytes.json").write_bytes(b'{"a": "\xff"}')

    async def talking(client: ClientSession) -> tuple[list[Any], list[str]]:
        answers = [
            await ask(client, "document", file="half.json"),
            await ask(client, "document", file="deep.json", part="/a" + "/0" * 250),
            await ask(client, "document", file="error.json"),
            await ask(client, "document", file="cut.json", part="/schema"),
        ]
        cut = await client.call_tool("document", {"file": "cut.json", "max_chars": 1000})
        assert cut.structured_content is not None
        assert cut.structured_content["document_schema"] == "\\ud800"
        assert [one["part"] for one in cut.structured_content["left_out"]] == ["/\\udfff"]
        said = [
            await refusal(client, "document", file="deep.json"),
            await refusal(client, "document", file="half.json", part="/b"),
            await refusal(client, "document", file="bytes.json"),
        ]
        return [answer["document"] for answer in answers], said

    (half, deep, error, schema), said = talk(["--root", tmp_path], talking)
    assert half == {"a": "x\\ud800y", "\\udfff": 1, "n": "nan", "i": "-inf"}
    assert json.dumps(deep) == "[" * 50 + "]" * 50
    assert error == {"error": "\\ud800"}
    assert schema == "\\ud800"
    assert said[0] == "part '' is nested too deeply; ask for a part of it"
    assert said[1] == "part '/b': there is no 'b'; there is a, \\udfff, n, i"
    assert said[2].startswith(f"{tmp_path}/bytes.json:1: error: this is no UTF-8 text")


def _hung_up(pipe: Path, opened: threading.Event, ended: threading.Event) -> None:
    """Waits until somebody reads from a pipe, then until nobody does."""
    with open(pipe, "wb") as file:
        opened.set()
        waiting = select.poll()
        # The writing end of a pipe is in error where nobody reads any more.
        waiting.register(file, 0)
        if waiting.poll(60_000):
            ended.set()


def test_calls_run_beside_each_other_and_can_be_cancelled(tmp_path: Path) -> None:
    shutil.copy(MATMUL, tmp_path / "kernel.mlir")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    async def talking(client: ClientSession) -> list[Answer]:
        opened, ended = threading.Event(), threading.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, _hung_up, pipe, opened, ended)
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as calls:
                    # It reads for as long as somebody has the pipe open for writing.
                    calls.start_soon(client.call_tool, "show", {"file": "pipe"})
                    await anyio.to_thread.run_sync(opened.wait, 60)
                    beside = [await ask(client, "show", file="kernel.mlir")]
                    scope.cancel()
            assert await anyio.to_thread.run_sync(ended.wait, 60), "the process still reads"
        return [*beside, await ask(client, "show", file="kernel.mlir")]

    beside, behind = talk(["--root", tmp_path], talking)
    assert beside == behind
    assert beside["document"]["modules"][0]["entries"]


def test_many_calls_at_once() -> None:
    files = [path.name for path in sorted(KERNELS.glob("*13.4.mlir"))[:8]]

    async def talking(client: ClientSession) -> dict[str, Answer]:
        found: dict[str, Answer] = {}

        async def one(file: str) -> None:
            found[file] = await ask(client, "show", file=file)

        async with anyio.create_task_group() as group:
            for file in files:
                group.start_soon(one, file)
        return found

    found = talk(["--root", KERNELS], talking)
    assert {Path(a["document"]["source"]).name: f for f, a in found.items()} == {
        f: f for f in files
    }


def test_a_call_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    async def talking(client: ClientSession) -> str:
        return await refusal(client, "show", file="pipe")

    said = talk(["--root", tmp_path, "--timeout", "1"], talking)
    assert said == "stopped: it took longer than 1 s (--timeout)"


@pytest.mark.parametrize(("how", "code"), [("hangs up", 0), ("SIGTERM", 143), ("SIGINT", 130)])
def test_a_server_that_ends_takes_its_calls_with_it(how: str, code: int, tmp_path: Path) -> None:
    pipe, temporary = tmp_path / "pipe", tmp_path / "temporary"
    os.mkfifo(pipe)
    temporary.mkdir()
    opened, ended = threading.Event(), threading.Event()
    threading.Thread(target=_hung_up, args=(pipe, opened, ended), daemon=True).start()
    with started(["--root", tmp_path], {"TMPDIR": str(temporary)}) as server:
        assert server.stdin is not None
        send(server, *HELLO, call_of("show", file="pipe"))
        assert opened.wait(60)
        assert [path.name[:11] for path in temporary.iterdir()] == ["tileir-mcp-"]
        if how == "hangs up":
            server.stdin.close()
        else:
            server.send_signal(signal.Signals[how])
        assert ended.wait(60), "the process of the call still reads"
        assert server.wait(60) == code
    assert list(temporary.iterdir()) == []


# -- the command ------------------------------------------------------------------------------------


def test_the_standard_output_is_the_protocol_alone(tmp_path: Path) -> None:
    """Every line is a message, also with a call in which commands print, and after what is no JSON."""
    build(CASES[0], tmp_path)
    with started(["--root", tmp_path, "--allow-run", "--allow-write"]) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b"no JSON\n")
        send(server, *HELLO, call_of("agent_f", kernel="matmul", out="out", evidence=False))
        seen = [json.loads(server.stdout.readline())]
        while seen[-1].get("id") != CALL:
            seen.append(json.loads(server.stdout.readline()))
        server.stdin.close()
        assert server.stdout.read() == b""
        assert server.wait(60) == 0
    assert all(message["jsonrpc"] == "2.0" for message in seen)
    assert seen[-1]["result"]["structuredContent"]["meaning"] == "a diagnosis"


def test_the_schema_is_that_of_answers() -> None:
    from tileir_tools.server.answers import Answer as Model

    schema = json.loads((ROOT / "docs" / "schemas" / "tileir-mcp-1.json").read_text())
    own = Model.model_json_schema(by_alias=True, mode="serialization")
    assert {**schema, "title": own["title"]} == {
        "$schema": schema["$schema"],
        "$id": "tileir-tools/tileir-mcp/1",
        **own,
    }


def test_the_page_names_every_tool() -> None:
    page = (ROOT / "docs" / "mcp.md").read_text("utf-8")
    named = re.findall(r"^\| `(\w+)` \|.*\| (?:`([\w/-]+)`|its own) \|$", page, re.MULTILINE)
    assert {name for name, _ in named} == READERS | {"agent_a", "agent_f"}
    for _, schema in named:
        assert (
            not schema or (ROOT / "docs" / "schemas" / f"{schema.replace('/', '-')}.json").is_file()
        )


def test_nothing_else_imports_it() -> None:
    code = (
        "import sys, tileir_tools, tileir_tools.cli.diff, tileir_tools.cli.tileir, tileir_tools.cli.mcp\n"
        "heavy = ('mcp', 'anyio', 'pydantic')\n"
        "print([m for m in sys.modules if 'server' in m or m.partition('.')[0] in heavy])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=SCHEMAS
    )
    assert done.stdout == "[]\n"


def test_wrong_usage(tmp_path: Path) -> None:
    done = tool("tileir", "mcp", "--root", tmp_path / "nothing")
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.decode() == f"error: --root {tmp_path}/nothing: no such folder\n"
    assert b"Missing option '--root'" in tool("tileir", "mcp").stderr


def test_without_the_extra_it_is_named() -> None:
    code = (
        "import sys; sys.modules['mcp'] = None; sys.argv = ['tileir', 'mcp', '--root', '/']; "
        "from tileir_tools.cli.tileir import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, cwd=SCHEMAS
    )
    assert done.returncode == 3
    assert done.stderr.decode() == (
        "error: tileir mcp needs mcp: pip install 'tileir-tools[mcp]'\n"
    )
