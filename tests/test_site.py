"""The site: it is built without a warning and without a network, and its pages of the API leave nothing out."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import tileir_tools
from tileir_tools import bench, bridges, scan
from tileir_tools.agents import a, f

ROOT = Path(__file__).resolve().parent.parent
API = ROOT / "docs" / "api"
SITE = ("mkdocs", "material", "mkdocstrings", "mkdocs_click")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built."""
    if missing := [name for name in SITE if find_spec(name) is None]:
        pytest.skip(f"needs the extra docs: no {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("site")
    # The script, not `python -m`: the folder here, where `cli` is no part of the package, must not come first.
    mkdocs = Path(sys.executable).with_name("mkdocs")
    done = subprocess.run(
        [str(mkdocs), "build", "--strict", "-f", str(ROOT / "mkdocs.yml"), "-d", str(folder)],
        cwd=folder,
        # A proxy that nobody is behind: whatever asks the network fails.
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "https_proxy": "http://127.0.0.1:9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_in_the_site(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        made = page.relative_to(ROOT / "docs").with_suffix(".html")
        made = made.with_name("index.html") if made.stem == "README" else made
        assert (site / made).is_file(), made


def test_site_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(
        r'<(?:script|img|iframe)[^>]* src="?(?:https?:)?//|<link[^>]* href="?(?:https?:)?//'
    )
    pages = list(site.rglob("*.html"))
    assert len(pages) > 100
    assert [p.name for p in pages if loaded.search(p.read_text(encoding="utf-8"))] == []
    assert not [
        p for p in site.rglob("*.css") if re.search(r"url\(['\"]?https?:", p.read_text("utf-8"))
    ]


def test_site_shows_docstrings_and_commands(site: Path) -> None:
    page = (site / "api" / "index.html").read_text(encoding="utf-8")
    for name in ("diff", "load", "verify", "Finding", "ParseError"):
        assert f'id="tileir_tools.{name}"' in page
    assert 'id="tileir-what-if"' in (site / "commands.html").read_text(encoding="utf-8")


def _described() -> dict[str, object]:
    """Name in an API page -> what it is."""
    found = {}
    for page in API.glob("*.md"):
        for name in re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE):
            module, _, last = name.rpartition(".")
            found[name] = getattr(import_module(module), last)
    return found


def test_all_public_names_are_described() -> None:
    described = list(_described().values())
    for package in (tileir_tools, bridges, bench, scan, a, f):
        for name in package.__all__:
            value = getattr(package, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                assert any(value is known for known in described), f"{package.__name__}.{name}"


def test_what_is_described_has_a_docstring() -> None:
    for name, value in _described().items():
        assert value.__doc__, name
        # What namedtuple writes by itself.
        assert not re.match(r"\w+\(\w+(, \w+)*\)$", value.__doc__), name
