"""Drives `tenure mcp` with the Python SDK: sdk.py TENURE REPOSITORY."""

import asyncio
import sys

from calls import CALLS, check, check_list, filled
from mcp import Client, MCPError, StdioServerParameters


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def drive(command, repository, mode):
    server = StdioServerParameters(command=command, args=["mcp"], cwd=repository)
    async with Client(server, mode=mode) as client:
        tools = {tool.name: plain(tool) for tool in (await client.list_tools()).tools}
        check_list(tools)
        kept = {}
        for call in CALLS:
            result = await client.call_tool(call[0], filled(call[1], kept))
            answer = plain(result)
            # Null fields belong to the answer, but the dump omits them.
            answer["structuredContent"] = result.structured_content
            check(tools, call, answer, kept)
        wrong = await client.call_tool("add", {"titel": "x"})
        assert wrong.is_error and wrong.structured_content["details"]["entity"] == "titel", wrong
        try:
            await client.call_tool("nope", {})
            raise AssertionError("an unknown tool was called")
        except MCPError as error:
            assert error.error.code == -32602, error
        resources = (await client.list_resources()).resources
        assert [str(resource.uri) for resource in resources] == ["tenure://brief"], resources
        brief = (await client.read_resource("tenure://brief")).contents[0]
        assert brief.mime_type == "text/markdown" and "t-" in brief.text, brief
    print(f"Python SDK ({mode}): {len(tools)} tools, {len(CALLS)} calls")


for mode in ("legacy", "auto"):
    asyncio.run(drive(sys.argv[1], sys.argv[2], mode))
