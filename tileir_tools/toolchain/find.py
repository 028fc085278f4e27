"""Finding tools and their versions.

Place in the flow: below everything that runs tools; imports `tools`, `run`, `errors`. A tool is looked for
where cuda-tile looks: what an environment variable names, then the PyPI packages of this Python, then PATH,
then CUDA_HOME.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ..errors import ToolError
from .run import run_tool
from .tools import BY_NAME, TOOLS, ToolSpec

# The exact version stands behind the release that it belongs to.
_VERSIONS = (
    re.compile(r"\bV(\d+\.\d+\.\d+)\b"),
    re.compile(r"\b(?:release|version)\s+(\d+\.\d+(?:\.\d+)?)"),
)
_ASKING = 30.0


class Tool(NamedTuple):
    """One tool as it was found.

    Attributes:
        name: of the tool.
        path: the program or package; None where there is none.
        origin: where it was found, in words; "" where it was not.
        version: what it says; None where it says nothing or was not asked.
        problem: what is wrong with it; None where nothing is.
    """

    name: str
    path: str | None
    origin: str
    version: str | None
    problem: str | None


def find_tool(name: str, environment: Mapping[str, str] | None = None) -> Tool:
    """Where a tool is, without asking for its version.

    Args:
        name: a name in `tools.TOOLS`.
        environment: variables to go by; None: ours.

    Raises:
        KeyError: no such tool is known.
    """
    spec = BY_NAME[name]
    env = os.environ if environment is None else environment
    if spec.module is not None:
        return _package(spec)
    named = env.get(spec.variable)
    if named:
        problem = None if _runs(named) else f"{spec.variable}={named} names no program"
        return Tool(name, named, f"variable {spec.variable}", None, problem)
    for origin, folder in _folders(env):
        path = os.path.join(folder, name)
        if _runs(path):
            return Tool(name, path, origin, None, None)
    return Tool(name, None, "", None, "not found")


def need_tool(name: str) -> str:
    """The path of a tool.

    Raises:
        ToolError: it is not there (kind "missing"); the message says how to get it.
    """
    found = find_tool(name)
    if found.path is None or found.problem is not None:
        raise ToolError(f"{name}: {found.problem}. {advice(BY_NAME[name])}", name, "missing")
    return found.path


def tool_version(name: str) -> str | None:
    """What a tool says its version is; None where it is not there or does not say."""
    return _asked(find_tool(name)).version


def all_tools() -> list[Tool]:
    """Every known tool, asked for its version."""
    tools = [_asked(find_tool(spec.name)) for spec in TOOLS]
    return [_judged(tool, tools) for tool in tools]


def advice(spec: ToolSpec) -> str:
    """How to get a tool."""
    if spec.package is not None:
        return f"To get it: {sys.executable} -m pip install {spec.package}"
    if spec.name == "cuda-tile-opt":
        return "It is built from https://github.com/NVIDIA/cuda-tile; `tileir opt` gives its passes"
    return "It is a separate build of Triton"


def tool_environment(path: str) -> dict[str, str]:
    """The environment to run a tool in: its own folder first on PATH, no foreign CUDA_HOME.

    tileiras takes ptxas from CUDA_HOME before its own folder, and fails with an older one.
    """
    env = dict(os.environ)
    folder = os.path.dirname(path)
    env["PATH"] = f"{folder}{os.pathsep}{env.get('PATH', os.defpath)}"
    home = env.get("CUDA_HOME")
    if home and not Path(path).is_relative_to(home):
        del env["CUDA_HOME"]
    return env


# -- looking ----------------------------------------------------------------------------------------


def _folders(env: Mapping[str, str]) -> list[tuple[str, str]]:
    """(where, folder), in the order in which tools are looked for."""
    found = [("PyPI package", str(folder)) for folder in package_folders()]
    path = env.get("PATH", os.defpath)
    found += [(f"PATH ({folder})", folder) for folder in path.split(os.pathsep) if folder]
    home = env.get("CUDA_HOME") or env.get("CUDA_PATH")
    if home:
        found.append((f"CUDA_HOME ({home})", os.path.join(home, "bin")))
    return found


def package_folders() -> list[Path]:
    """The folders into which NVIDIA's PyPI packages put programs."""
    places = [Path(entry) for entry in sys.path if entry.endswith("site-packages")]
    return [f for place in places for f in sorted(place.glob("nvidia/cu*/bin")) if f.is_dir()]


def _runs(path: str) -> bool:
    return shutil.which(path) is not None


def _package(spec: ToolSpec) -> Tool:
    """A Python package, without importing it (cuda.tile loads the driver)."""
    import importlib.metadata
    import importlib.util

    assert spec.module is not None
    try:
        found = importlib.util.find_spec(spec.module)
    except (ImportError, ValueError):
        found = None
    if found is None:
        return Tool(spec.name, None, "", None, "not installed")
    try:
        version = importlib.metadata.version(spec.package or spec.module.partition(".")[0])
    except importlib.metadata.PackageNotFoundError:
        version = None
    origin = found.origin or next(iter(found.submodule_search_locations or [""]))
    return Tool(spec.name, os.path.dirname(origin), "PyPI package", version, None)


def _asked(tool: Tool) -> Tool:
    """The tool with its version."""
    spec = BY_NAME[tool.name]
    if tool.path is None or tool.problem is not None or spec.module is not None:
        return tool
    try:
        done = run_tool(
            [tool.path, *spec.arguments], timeout=_ASKING, env=tool_environment(tool.path)
        )
    except ToolError as error:
        return tool._replace(problem=str(error))
    text = (done.stdout + done.stderr).decode("utf-8", "replace")
    found = [match[1] for match in (pattern.search(text) for pattern in _VERSIONS) if match]
    if done.code != 0 or not found:
        return tool._replace(problem="does not say its version")
    return tool._replace(version=found[0])


def _judged(tool: Tool, tools: list[Tool]) -> Tool:
    """The tool with what is wrong with it beside the others."""
    if tool.name != "ptxas" or tool.version is None:
        return tool
    tileiras = next(t for t in tools if t.name == "tileiras")
    if tileiras.version is not None and _release(tool.version) < _release(tileiras.version):
        problem = (
            f"older than tileiras {tileiras.version}, which then says 'failed to compile Tile IR "
            "program'"
        )
        return tool._replace(problem=problem)
    return tool


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
