"""Step 4 of agent A: everything that an operation's tests launch, dumped.

Place in the flow: tests of a project -> **dumps** -> variants; imports `toolchain.calls`,
`toolchain.dump_folder`, `bench.node_ids`. The dumps stay in the kernel's folder, with the manifest last: a
manifest that is there is that of complete dumps, and a second run takes them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...bench.node_ids import split_node_id
from ...errors import ToolError
from ...toolchain.calls import Capture, capture_calls
from ...toolchain.devices import DEFAULT_ARCH
from ...toolchain.dump_folder import MANIFEST, write_dumps, write_manifest
from ...toolchain.find import find_tool
from ..workspace import Workspace
from .kept import digests_of, project_digest, sound_manifest
from .request import Request

DUMPS = "reference/dumps"

# pytest writes nothing into the project, and imports the package that lies there.
_QUIET = ("-q", "-p", "no:cacheprovider", "--no-header")
_LAST_LINES = 5
_ABSENT = re.compile(r"No module named '?([\w.]+)'?")
# The last line of a run that came to its end.
_SUMMARY = re.compile(
    r"\b(?:passed|failed|skipped|errors?|deselected|xfailed|xpassed)\b.* in [\d.]+s"
)
# What the tests printed, which says why some of them failed; without a GPU most do, once they compare.
OUTPUT = "reports/agent_logs/tests_output.txt"
_MOST_OUTPUT = 1 << 20


class Launch(NamedTuple):
    """One launch that a test made.

    Attributes:
        test: node id.
        function: name of the test function.
        label: parameters of the test as pytest joins them, without the backend.
        row: of the manifest, the kernel that was launched.
        order: number of the launch in the run.
        config: of the search that tried the kernel; None for a launch outside of a search.
    """

    test: str
    function: str
    label: str
    row: Mapping[str, Any]
    order: int
    config: object


class Dumps(NamedTuple):
    """What was dumped: the folder, relative to the workspace, rows of its manifest, the manifest itself."""

    folder: str
    rows: tuple[Mapping[str, Any], ...]
    manifest: Mapping[str, Any]

    @property
    def launches(self) -> list[Launch]:
        """Every launch in the order in which they were made."""
        found = []
        for row in self.rows:
            for call in row.get("calls", ()):
                test = call["test"] or ""
                node = split_node_id(test)
                tuning = call["tuning"]
                found.append(
                    Launch(
                        test,
                        node.test.rpartition("::")[2],
                        "-".join(node.params) or node.test.rpartition("::")[2],
                        row,
                        call["order"],
                        None if tuning is None else tuning["config"],
                    )
                )
        return sorted(found, key=lambda launch: launch.order)


def dump_tests(
    request: Request,
    targets: Sequence[str],
    *,
    select: str = "",
    folder: str = DUMPS,
    names: Mapping[str, str] | None = None,
) -> Dumps:
    """Run tests of the project, and dump every kernel that they launch.

    Without a GPU of the target the launches are caught, and what a test compares fails, as there is no data.

    Args:
        request: the kernel, the project, the target.
        targets: files or node ids of tests.
        select: expression of `-k`.
        folder: where dumps go, below the workspace.
        names: function -> what entries call it, for aliases.

    Raises:
        ToolError: cuda-tile, PyTorch or pytest is missing; the tests cannot run, or launch nothing.
        InputError: a file cannot be written.
    """
    made_for = _key(request, targets, select, names or {})
    workspace = request.workspace
    before = sound_manifest(workspace, folder)
    if before is not None and before.get("made_for") == made_for and not request.fresh:
        request.say("dump", f"taken from an earlier run: {folder}")
        return Dumps(folder, tuple(before["kernels"]), before)
    selection = [*targets, *(["-k", select] if select else [])]
    capture = _captured(request, targets, selection, names)
    workspace.write(OUTPUT, "".join(capture.output)[-_MOST_OUTPUT:])
    if not capture.dumps:
        raise ToolError(_nothing(capture, targets), "pytest", "failed")
    if not _SUMMARY.search(capture.output[0]):
        where = f"{targets[0]}: pytest ended before its last test; see {OUTPUT}"
        raise ToolError(where, "pytest", "crashed")
    _clear(workspace, folder, before)
    more = {
        "script": {"file": "pytest", "arguments": selection},
        "launched": capture.launched,
        "failures": capture.failures,
        "measured": capture.measured,
        "made_for": made_for,
    }
    path = str(workspace.path(folder))
    rows = write_dumps(capture.dumps, path, more=more)
    # Once more, now that it is known what the files hold.
    write_manifest(path, rows, {**more, "digests": digests_of(workspace, folder, rows)})
    after = sound_manifest(workspace, folder)
    assert after is not None
    request.say("dump", f"{len(after['kernels'])} kernels dumped for {after['kernels'][0]['arch']}")
    return Dumps(folder, tuple(after["kernels"]), after)


def _captured(
    request: Request,
    targets: Sequence[str],
    selection: Sequence[str],
    names: Mapping[str, str] | None,
) -> Capture:
    request.say("dump", f"running {', '.join(targets[:3])}{' ..' if len(targets) > 3 else ''}")

    def run(arch: str | None) -> Capture:
        return capture_calls(
            "pytest",
            [*selection, *_QUIET],
            module=True,
            keep_going=True,
            arch=arch,
            names=names,
            folder=request.project.root,
            variables=test_variables(request),
            timeout=request.timeout,
        )

    if request.arch is not None or has_gpu():
        return run(request.arch)
    return run(DEFAULT_ARCH)


def has_gpu() -> bool:
    """Whether there is a GPU, as far as the device files of its driver tell."""
    return os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg")


def test_variables(request: Request) -> dict[str, str]:
    """What the project's tests find in their environment."""
    before = os.environ.get("PYTHONPATH")
    source = os.path.join(request.project.root, "src")
    return {
        "PYTHONPATH": f"{source}{os.pathsep}{before}" if before else source,
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _key(
    request: Request, targets: Sequence[str], select: str, names: Mapping[str, str]
) -> dict[str, object]:
    """What the dumps depend on, as far as somebody will change it between two runs."""
    return {
        "sources": project_digest(request.project),
        "cuda_tile": find_tool("cuda-tile").version,
        "arch": request.arch,
        "gpu": has_gpu(),
        "targets": list(targets),
        "select": select,
        "names": dict(names),
    }


def _clear(workspace: Workspace, folder: str, before: Mapping[str, Any] | None) -> None:
    """Take away what an earlier run wrote, its manifest first: without one, there are no dumps."""
    workspace.remove(f"{folder}/{MANIFEST}")
    for row in before["kernels"] if before else ():
        for form in ("bytecode", "text", "canonical"):
            workspace.remove(f"{folder}/{row[form]}")


def _nothing(capture: Capture, targets: Sequence[str]) -> str:
    """Why a run of tests gave no dump, in its own last words."""
    message = f"{', '.join(targets)}: no cuTile kernel was launched"
    if capture.failures:
        message += f"; cuda-tile refused: {capture.failures[0]['error']}"
    said = [line for text in capture.output for line in text.splitlines() if line.strip()]
    if absent := _ABSENT.search("\n".join(said)):
        message += f": {absent[1]} is not installed"
        message += " (a CPU build is enough)" if absent[1] == "torch" else ""
    return "\n".join([message, *said[-_LAST_LINES:]])
