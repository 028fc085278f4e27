"""What a tool answers: the document of a command, as much of it as fits.

Place in the flow: output of a command -> **answer** -> client; imports `fit`, `calls`, pydantic, mcp.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, ConfigDict, Field

from ..errors import UsageError
from .calls import Ended
from .fit import fitted, part_of

# Characters of a document in an answer: by default, at least, at most.
DEFAULT, LEAST, MOST = 20_000, 1_000, 200_000
COULD_NOT_RUN = 3
# Characters of what a command says beside its document, and of one line of that.
_MOST_TEXT, MOST_LINE = 4_000, 1_000
# Levels of lists and objects that the protocol's library can send.
_DEEPEST = 100

# What every tool takes: which part of its document is wanted, and how much of it.
Part = Annotated[
    str, Field(description="JSON pointer into the document, such as /findings; empty: all of it")
]
Offset = Annotated[
    int, Field(ge=0, description="first item (or character) of the list (or text) that part names")
]
MaxChars = Annotated[
    int, Field(ge=LEAST, le=MOST, description="most characters of the document in the answer")
]


class Page(NamedTuple):
    """Which part of a document is wanted, and how much of it."""

    part: str = ""
    offset: int = 0
    max_chars: int = DEFAULT


class LeftOut(BaseModel):
    """A list or text that is not whole: ask again with this `part`, and `offset` = offset + shown."""

    part: str
    offset: Annotated[int, Field(description="of the first item or character that is here")]
    shown: Annotated[int, Field(description="items or characters that are here")]
    total: Annotated[int, Field(description="items or characters that there are")]


class Answer(BaseModel):
    """The answer of a tool."""

    model_config = ConfigDict(populate_by_name=True)

    schema_: Annotated[Literal["tileir-mcp/1"], Field(alias="schema")]
    exit_code: Annotated[int, Field(description="of the same command in a shell")]
    meaning: Annotated[str, Field(description="of the exit code")]
    document_schema: Annotated[
        str | None, Field(description="name/version of the whole document; docs/schemas holds it")
    ]
    part: Annotated[str, Field(description="JSON pointer to what `document` is a part of")]
    document: Annotated[Any, Field(description="the document, or the part that was asked for")]
    truncated: Annotated[bool, Field(description="whether something was left out")]
    left_out: Annotated[list[LeftOut], Field(description="what was left out, and where to go on")]
    text: Annotated[str, Field(description="what an agent prints as its final response")]
    messages: Annotated[list[str], Field(description="warnings and progress")]


# What tools give to the client: an Answer, which their output schema describes.
Reply = Annotated[CallToolResult, Answer]


def answer_of(
    ended: Ended, document: Any, page: Page, meanings: Mapping[int, str], text: str = ""
) -> Reply:
    """The answer that a command gives which ran to its end.

    Args:
        ended: the command.
        document: of JSON, what is asked about.
        page: what of it is wanted.
        meanings: of exit codes.
        text: what it printed for people.

    Raises:
        UsageError: the document has no such part, or it is nested too deeply to be sent.
    """
    try:
        value, cuts = fitted(part_of(document, page.part), page.max_chars, page.part, page.offset)
    except RecursionError:
        raise UsageError(f"part '{page.part}' is nested too deeply") from None
    schema = document.get("schema") if isinstance(document, dict) else None
    answer = Answer(
        schema_="tileir-mcp/1",
        exit_code=ended.code,
        meaning=meanings.get(ended.code, ""),
        document_schema=sendable_text(schema) if isinstance(schema, str) else None,
        part=page.part,
        document=_sendable(value, page.part),
        truncated=bool(cuts),
        left_out=[LeftOut(**cut._replace(part=sendable_text(cut.part))._asdict()) for cut in cuts],
        text=text[-_MOST_TEXT:],
        messages=_messages(ended),
    )
    content = answer.model_dump(mode="json", by_alias=True)
    # For clients that read no structured content; without the white space that would cost half as much again.
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(content=[TextContent(text=text)], structured_content=content)


def sendable_text(text: str) -> str:
    """Text that can be sent: half of a surrogate pair, out of somebody's file, would end the connection."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _sendable(value: Any, part: str, depth: int = 0) -> Any:
    """A value of JSON that every client can read. Raises UsageError: it is nested too deeply."""
    if depth > _DEEPEST:
        raise UsageError(f"part '{part}' is nested too deeply; ask for a part of it")
    if isinstance(value, str):
        return sendable_text(value)
    if isinstance(value, list):
        return [_sendable(item, part, depth + 1) for item in value]
    if isinstance(value, dict):
        return {sendable_text(key): _sendable(item, part, depth + 1) for key, item in value.items()}
    # Python reads numbers that JSON does not have.
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


def printed(ended: Ended) -> Any:
    """The document that a command printed.

    Raises:
        ToolError: it could not run, and says why.
    """
    try:
        document = json.loads(ended.output)
    except (ValueError, RecursionError):
        raise failed(ended) from None
    if isinstance(document, dict) and ended.code == COULD_NOT_RUN and "error" in document:
        raise ToolError(sendable_text(str(document["error"])))
    return document


def failed(ended: Ended) -> ToolError:
    """Why a command has no answer, in its own words."""
    said = "\n".join(_messages(ended)) or ended.output.strip()[:_MOST_TEXT]
    return ToolError(said or f"the command ended with exit code {ended.code} and said nothing")


def _messages(ended: Ended) -> list[str]:
    """What a command said last, as much as fits."""
    kept: list[str] = []
    left = _MOST_TEXT
    for line in reversed(ended.said):
        shown = line[:MOST_LINE]
        left -= len(shown)
        if left < 0:
            kept.append(f"{len(ended.said) - len(kept)} lines before that")
            break
        kept.append(shown)
    return kept[::-1]
