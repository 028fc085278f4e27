"""What several test modules read from."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tileir_tools.model import Module
from tileir_tools.read import load, load_all

TEXTS = Path(__file__).parent / "fixtures" / "text"
KERNELS = Path(__file__).parent / "fixtures" / "kernels"
# Tests of the project that `test_sources` reads, for PyTorch; they are not ours to run.
collect_ignore = ["fixtures"]
SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is compiled in tests is kept apart from what users compiled."""
    os.environ["TILEIR_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def text_module() -> Callable[[str], Module]:
    """Reads `fixtures/text/NAME.mlir`, which holds one module."""
    return lambda name: load(TEXTS / f"{name}.mlir")


@pytest.fixture(scope="session")
def text_modules() -> Callable[[str], list[Module]]:
    """Reads `fixtures/text/NAME.mlir`, which holds several modules."""
    return lambda name: load_all(TEXTS / f"{name}.mlir")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real kernels beside the repository; the test is skipped where it is absent."""
    if not (SHARED / "corpus").is_dir():
        pytest.skip("needs ../shared/corpus beside the repository")
    return SHARED
