"""What pyproject.toml cannot say: with TILEIR_TOOLS_COMPILE=1 the readers are compiled by mypyc.

They are the same sources: the wheel that is built by default has none of it compiled and runs everywhere, and
pip takes it where there is no compiled one for a platform. Compiling needs a C compiler; without mypyc a plain
wheel is built. What it gives stands in docs/design.md.
"""

from __future__ import annotations

import os

from setuptools import Extension, setup

# What reading spends its time in. Not the model, though it would make reading a sixth faster still: what users
# hold keeps its docstrings, its pickles and its subclasses.
COMPILED = (
    "tileir_tools/dialect/kinds.py",
    "tileir_tools/read/attributes.py",
    "tileir_tools/read/binary.py",
    "tileir_tools/read/bytecode.py",
    "tileir_tools/read/container.py",
    "tileir_tools/read/forms.py",
    "tileir_tools/read/literals.py",
    "tileir_tools/read/locations.py",
    "tileir_tools/read/regions.py",
    "tileir_tools/read/state.py",
    "tileir_tools/read/structured.py",
    "tileir_tools/read/tagged.py",
    "tileir_tools/read/text.py",
    "tileir_tools/read/types.py",
)

# pip asks for what a build needs before it is there, and builds once it is.
REQUIREMENT = "mypy[mypyc]>=1.13"


def compiled() -> list[Extension]:
    try:
        from mypyc.build import mypycify
    except ImportError:
        return []
    # Other projects' types are not installed where this is built: what mypy says of the rest without them is
    # not asked for. `.ci/run` asks, where they are.
    options = ["--ignore-missing-imports", "--follow-imports=silent", "--no-warn-return-any"]
    return list(mypycify([*options, "--no-warn-unused-ignores", *COMPILED]))


if os.environ.get("TILEIR_TOOLS_COMPILE") == "1":
    setup(ext_modules=compiled(), setup_requires=[REQUIREMENT])
else:
    setup()
