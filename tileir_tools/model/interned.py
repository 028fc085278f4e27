"""Interning: equal types, attributes and locations are the same object.

Place in the flow: part of the model; imports nothing of the package. Comparing interned objects is
comparing identities, which is what makes comparing whole kernels cheap.
"""

from __future__ import annotations

from typing import Any, TypeVar

_T = TypeVar("_T", bound="Interned")

_TABLE: dict[tuple[Any, ...], Any] = {}


class Interned:
    """Base of immutable objects of which there is one per class and field values."""

    __slots__ = ("_fields",)
    _fields: tuple[Any, ...]

    @classmethod
    def _of(cls: type[_T], *fields: Any) -> _T:
        """The one instance with these field values, in the order of the class's `__slots__`."""
        key = (cls, *fields)
        found = _TABLE.get(key)
        if found is None:
            found = object.__new__(cls)
            object.__setattr__(found, "_fields", fields)
            for name, value in zip(cls.__slots__, fields):
                object.__setattr__(found, name, value)
            # setdefault: two threads that make the same object must both get the one that stays.
            found = _TABLE.setdefault(key, found)
        return found  # type: ignore[no-any-return]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._fields

    def __copy__(self: _T) -> _T:
        return self

    def __deepcopy__(self: _T, memo: object) -> _T:
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._fields))})"
