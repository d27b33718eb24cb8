"""Lists every tool of a server and calls each of them, by the client of the protocol's makers."""

import asyncio
import json
import sys

import mcp.client.streamable_http as streamable
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

ARGUMENTS = {
    "search": {"pattern": "FACTOR"},
    "view": {"target": "calc/numbers.py"},
    "relate": {"relation": "callers", "of": "calc.numbers.double"},
    "edit": {"action": "create", "text": "x = 1"},
}


async def talk(read, write):
    async with ClientSession(read, write) as session:
        await session.initialize()
        names = [tool.name for tool in (await session.list_tools()).tools]
        # What writes over the gist comes last.
        for name in sorted(names, key=lambda name: name == "edit"):
            result = await session.call_tool(name, ARGUMENTS.get(name, {}))
            failed = getattr(result, "is_error", getattr(result, "isError", None))
            print(json.dumps([name, bool(failed), result.content[0].text]), flush=True)


async def main():
    if sys.argv[1].startswith("http"):
        client = getattr(streamable, "streamable_http_client", None)
        client = client or streamable.streamablehttp_client
        async with client(sys.argv[1]) as streams:
            await talk(streams[0], streams[1])
    else:
        server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
        async with stdio_client(server) as (read, write):
            await talk(read, write)


asyncio.run(main())
