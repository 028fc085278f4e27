"""What the id of a test says: file, names, parameters, and the backend among them.

Place in the flow: below `records`; imports nothing of the package.
`tests/test_bmm.py::Test::test_perf[cutile-8-torch.float16]` is what a log has; JUnit XML has the same in
two attributes, with dots.
"""

from __future__ import annotations

from typing import NamedTuple

# Backends that TileGym's tests take as a parameter, as they are spelled here: pytest ids of TileGym
# have underscores where the name has dashes.
BACKENDS = frozenset(
    "cutile cutile_rs cutile_py triton triton_tileir tileir pytorch torch tilecpp cutedsl cublas "
    "cudnn flashinfer liger".split()
)

_DTYPES: dict[str, str] = {
    "float16": "f16",
    "half": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float": "f32",
    "float64": "f64",
    "double": "f64",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
    "int8": "i8",
    "uint8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "tf32": "tf32",
    "fp16": "f16",
    "bf16": "bf16",
    "fp32": "f32",
    "f16": "f16",
    "f32": "f32",
}


class NodeId(NamedTuple):
    """A test: `file.py::Class::function`, its parameters without the backend, the backend."""

    test: str
    params: tuple[str, ...]
    backend: str | None


def dtype_of(param: str) -> str | None:
    """The number format that a parameter names, as Tile IR spells it; None where it names none."""
    return _DTYPES.get(param.removeprefix("torch.").removeprefix("ct."))


def backend_name(text: str) -> str:
    """A backend's name in one spelling: `cutile-rs` and `cutile_rs` are one."""
    return text.strip().lower().replace("-", "_")


def split_node_id(text: str) -> NodeId:
    """Take a node id apart.

    Parameters are joined by `-` in the id, so one that holds a dash comes out as several. The folder of
    the file is left out: two runs may have started in different ones.
    """
    test, bracket, rest = text.partition("[")
    path, colons, names = test.partition("::")
    test = path.replace("\\", "/").rpartition("/")[2] + colons + names
    params = rest.removesuffix("]").replace("cutile-rs", "cutile_rs").split("-") if bracket else []
    backend = next((p for p in params if backend_name(p) in BACKENDS), None)
    if backend is None:
        return NodeId(test, tuple(params), None)
    params.remove(backend)
    return NodeId(test, tuple(params), backend_name(backend))


def junit_node_id(classname: str, name: str, file: str | None) -> str:
    """The node id of a JUnit test case; `classname` is `folder.module.Class`, `file` is there in xunit1."""
    parts = classname.split(".") if classname else []
    if file:
        module = file.replace("\\", "/").removesuffix(".py").split("/")
        classes = parts[len(module) :]
        return "::".join(["/".join(module) + ".py", *classes, name])
    at = next(
        (k for k in range(len(parts) - 1, -1, -1) if _is_module(parts[k])),
        next((k - 1 for k in range(1, len(parts)) if parts[k][:1].isupper()), len(parts) - 1),
    )
    if at < 0:
        return name
    return "::".join(["/".join(parts[: at + 1]) + ".py", *parts[at + 1 :], name])


def _is_module(part: str) -> bool:
    """Whether pytest collects a file of that name (its default patterns)."""
    return part.startswith("test_") or part.endswith("_test")
