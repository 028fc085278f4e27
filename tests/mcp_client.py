"""A client of the Model Context Protocol that talks to `tileir mcp` over its standard streams, for tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import anyio
import jsonschema
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.types import CallToolResult, TextContent

Answer = dict[str, Any]
_Result = TypeVar("_Result")

# Commands run there: in the root of the repository its folders stand before the installed package.
SCHEMAS = Path(__file__).resolve().parent.parent / "docs" / "schemas"
# Number of the call that `call_of` makes.
CALL = 2
HELLO: tuple[Answer, ...] = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)
_MAIN = "from tileir_tools.cli.tileir import main; main()"


def talk(
    arguments: list[object], talking: Callable[[ClientSession], Awaitable[_Result]]
) -> _Result:
    """What `talking` gives, with a session to a server that is started with these arguments."""
    command = ["-c", _MAIN, "mcp", *map(str, arguments)]
    server = StdioServerParameters(command=sys.executable, args=command, cwd=SCHEMAS)

    async def session() -> _Result:
        async with stdio_client(server) as streams, ClientSession(*streams) as client:
            await client.initialize()
            return await talking(client)

    return anyio.run(session)


def started(
    arguments: list[object], environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """A server to which the test writes messages itself."""
    return subprocess.Popen(
        [sys.executable, "-c", _MAIN, "mcp", *map(str, arguments)],
        cwd=SCHEMAS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
    )


def send(server: subprocess.Popen[bytes], *messages: Answer) -> None:
    assert server.stdin is not None
    server.stdin.write("".join(json.dumps(message) + "\n" for message in messages).encode())
    server.stdin.flush()


def call_of(tool: str, **arguments: object) -> Answer:
    """The message that calls a tool."""
    call = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": CALL, "method": "tools/call", "params": call}


async def ask(client: ClientSession, tool: str, **arguments: object) -> Answer:
    """The structured answer of a tool, valid by the schemas of the tool, of answers and of its document."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    answer = result.structured_content
    assert isinstance(answer, dict)
    tools = {one.name: one for one in (await client.list_tools()).tools}
    schema = tools[tool].output_schema
    assert schema is not None
    jsonschema.Draft202012Validator(schema).validate(answer)
    _check(answer["schema"], answer)
    if answer["part"] == "" and answer["document_schema"] is not None:
        _check(answer["document_schema"], answer["document"])
    # Clients without structured content read the same.
    assert json.loads(text_of(result)) == answer
    return answer


async def refusal(client: ClientSession, tool: str, **arguments: object) -> str:
    """What a tool that is asked for something wrong says, in one text without a traceback."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    text = text_of(result)
    assert "Traceback" not in text
    return text.removeprefix(f"Error executing tool {tool}: ")


def text_of(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


def _check(name: str, document: object) -> None:
    schema = json.loads((SCHEMAS / f"{name.replace('/', '-')}.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)
