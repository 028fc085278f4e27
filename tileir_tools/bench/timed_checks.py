"""A pytest plugin that times what correctness tests compare: `pytest -p tileir_tools.bench.timed_checks`.

Place in the flow: tests of a project -> records. Some operations of TileGym have no `test_perf`. Their
`test_op` hands the operation and its reference to `assertCorrectness`; once that has passed, both are timed by
the project's own `benchmark_framework`, as `test_perf` does it, and recorded in the same property.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Generator
from typing import Any

import pytest

from .node_ids import split_node_id

REFERENCE = "pytorch"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Stand between a test and its `assertCorrectness`."""
    instance: Any = getattr(item, "instance", None)
    check = getattr(instance, "assertCorrectness", None)
    measure = getattr(_harness(check), "benchmark_framework", None)
    if callable(check) and callable(measure):
        instance.assertCorrectness = _timed(item, check, measure)
    return (yield)


def _harness(check: object) -> object:
    """The module that a check is defined in."""
    return sys.modules.get(getattr(check, "__module__", ""))


def _timed(
    item: pytest.Item, check: Callable[..., Any], measure: Callable[..., dict[str, Any]]
) -> Callable[..., Any]:
    backend = split_node_id(item.nodeid).backend or "cutile"

    def checked_and_timed(*args: Any, **kwargs: Any) -> Any:
        result = check(*args, **kwargs)
        if not any(name == "benchmark" for name, _ in item.user_properties):
            given = inspect.signature(check).bind(*args, **kwargs).arguments
            # An argument with a tolerance of its own is wrapped.
            inputs = {k: getattr(v, "tensor", v) for k, v in given["kwargs"].items()}
            record: dict[str, Any] = {}
            for name, function, extra in (
                (backend, given["test_fn"], given.get("extra_test_kwargs")),
                (REFERENCE, given["ref_fn"], given.get("extra_ref_kwargs")),
            ):
                record |= measure(name, lambda f=function, e=extra: f(**inputs, **(e or {})))
            item.user_properties.append(("benchmark", record))
        return result

    return checked_and_timed
