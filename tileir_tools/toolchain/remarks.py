"""What tileiras says about a kernel: its optimization remarks.

Place in the flow: toolchain -> facts; imports `errors`. The file is YAML, one document a remark; tileiras 13.5
writes documents twice and file names as absolute paths.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..errors import ToolError, UsageError


class Remark(NamedTuple):
    """One remark.

    Attributes:
        kind: "Passed", "Missed", "Failed" or "Analysis".
        category: what it is about ("Memory", "Tensor-core"..).
        name: its name in the compiler (`RemarkMemoryLoadInstructionSelected`).
        message: what it says.
        details: what else it says ("Instruction", "Shape", "Reason"..), in order.
        function: symbol of the entry.
        place: line that the bytecode's debug information gives; 0 where it gives none.
    """

    kind: str
    category: str
    name: str
    message: str
    details: tuple[tuple[str, str], ...]
    function: str
    place: int

    @property
    def instruction(self) -> str | None:
        """The instruction that was chosen, where the remark is about that."""
        return dict(self.details).get("Instruction")


def parse_remarks(text: str) -> tuple[Remark, ...]:
    """The remarks in a file, each once, by function and place (tileiras writes them in any order).

    Raises:
        ToolError: the text is no file of remarks (kind "garbage").
        UsageError: PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError:
        message = "remarks are YAML: pip install 'tileir-tools[evidence]'"
        raise UsageError(message) from None

    class Loader(yaml.SafeLoader):
        """YAML whose documents have the kind of the remark as tag."""

    def tagged(loader: Any, kind: str, node: Any) -> dict[str, object]:
        return {"Kind": kind, **loader.construct_mapping(node, deep=True)}

    Loader.add_multi_constructor("!", tagged)
    try:
        documents = list(yaml.load_all(text, Loader=Loader))
        found = [_remark(document) for document in documents if document is not None]
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
        message = f"tileiras: its remarks cannot be read: {error}"
        raise ToolError(message, "tileiras", "garbage") from None
    return tuple(sorted(set(found), key=_order))


def _order(remark: Remark) -> tuple[object, ...]:
    place = (remark.function, remark.place)
    return (*place, remark.category, remark.name, remark.details, remark.kind)


def _remark(document: dict[str, Any]) -> Remark:
    place = document.get("DebugLoc") or {}
    arguments: list[tuple[str, str]] = []
    message = ""
    for item in document.get("Args") or []:
        for key, value in item.items():
            if key == "Remark":
                message = str(value)
            # A number of its own, which differs between the copies of a remark.
            elif key != "RemarkId" and (key, str(value)) not in arguments:
                arguments.append((key, str(value)))
    return Remark(
        str(document["Kind"]),
        str(document["Pass"]),
        str(document["Name"]),
        message,
        tuple(arguments),
        str(document["Function"]),
        int(place.get("Line", 0)),
    )
