"""What keeps the cycle collector waiting lets it go on."""

from __future__ import annotations

import gc

import pytest

import tileir_tools as tt
from tileir_tools.collector import without_collecting

KERNEL = "entry @k() {\n  return\n}\n"


@without_collecting
def enabled(fail: bool = False) -> bool:
    if fail:
        raise ValueError
    return gc.isenabled()


def test_the_collector_waits_and_goes_on() -> None:
    assert gc.isenabled()
    assert not enabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match=r"^$"):
        enabled(fail=True)
    assert gc.isenabled()


def test_a_collector_that_the_caller_stopped_stays_stopped() -> None:
    gc.disable()
    try:
        module = tt.parse(KERNEL)
        tt.verify(module)
        tt.diff(module, tt.parse(module.to_bytecode()))
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_library_leaves_the_collector_on() -> None:
    module = tt.parse(KERNEL)
    with pytest.raises(tt.ParseError):
        tt.parse("entry @k(")
    tt.verify(module)
    tt.analyze(module)
    tt.fingerprints(module)
    tt.equal(module, module)
    tt.diff(module, module)
    module.to_text()
    module.to_bytecode()
    assert gc.isenabled()
