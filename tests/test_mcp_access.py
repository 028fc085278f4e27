"""What the server for agents takes as the name of a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tileir_tools.errors import UsageError
from tileir_tools.server.access import Access


def test_endless_names_are_refused(tmp_path: Path) -> None:
    access = Access((os.path.realpath(tmp_path),))
    with pytest.raises(UsageError, match="is no name of a file"):
        access.path("x" * 5000)
    (tmp_path / "a.mlir").write_text("")
    assert access.path("a.mlir") == os.path.join(os.path.realpath(tmp_path), "a.mlir")
