"""Records as plain data, for JSON.

Place in the flow: findings and facts -> **report**; imports nothing of the package.
"""

from __future__ import annotations

import json


def plain(value: object) -> object:
    """Named tuples as dicts, other tuples as lists, all the way down."""
    fields = getattr(value, "_fields", None)
    if fields is not None:
        return {name: plain(getattr(value, name)) for name in fields}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if (isinstance(value, float) and value != value) or value in (float("inf"), float("-inf")):
        # JSON has no numbers for these.
        return str(value)
    return value


def document(schema: str, content: dict[str, object]) -> str:
    """A JSON document that names its schema (`name/version`; described in docs/schemas)."""
    return json.dumps({"schema": schema, **content}, indent=2, ensure_ascii=False)
