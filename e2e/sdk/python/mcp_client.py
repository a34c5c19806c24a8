"""Finds the slowest session of a day with the official client of the Model Context Protocol, and says why it was slow.

    mcp_client.py stdio|http auto|legacy DAY

It prints what it asks and what it is told. Its variables say where the server is: SPANGROVE_URL, SPANGROVE_API_KEY and
SPANGROVE_BINARY.
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

URL, KEY = os.environ["SPANGROVE_URL"], os.environ["SPANGROVE_API_KEY"]


async def use(client, tool, **arguments):
    print(f"> {tool} {json.dumps(arguments)}")
    result = await client.call_tool(tool, arguments)
    text = result.content[0].text
    print(text + "\n")
    if result.is_error:
        raise SystemExit(f"{tool} failed")
    return result.structured_content["data"]


async def diagnose(client, day):
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert "search_sessions" in tools and not any("delete" in name for name in tools), sorted(tools)
    assert tools["session_tree"].annotations.read_only_hint and not tools["create_dataset"].annotations.read_only_hint
    prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
    assert prompts == ["diagnose"], prompts

    found = await use(client, "search_sessions", since=day, until=day, sort="duration", limit=3)
    session = found["sessions"][0]
    tree = await use(client, "session_tree", session_id=session["session_id"])
    slow = tree["slowest"][0]
    event = await use(client, "get_event", event_id=slow["event_id"], parts=["inputs"])
    print(f"The slowest session of {day} is {session['name']}: it took {session['duration_ms'] / 1000:g} s. "
          f"{slow['share']:.0%} of that, {slow['own_ms'] / 1000:g} s, is the {slow['type']} {slow['name']} with {event['values']['inputs']}.")

    dataset = await use(client, "create_dataset", name=f"slow {sys.argv[1]} {sys.argv[2]}")
    added = await use(client, "add_datapoints", dataset_id=dataset["dataset_id"], event_ids=[slow["event_id"]])
    rows = await use(client, "dataset_rows", dataset_id=dataset["dataset_id"])
    assert added["added"] == 1 and rows["total"] == 1, (added, rows)
    scored = await use(client, "test_metric", type="EXPRESSION", criteria="event.inputs.query == 'refund'", return_type="boolean",
                       event_ids=[slow["event_id"]])
    assert scored["results"][0]["score"] is True, scored


async def main(transport, mode, day):
    if transport == "stdio":
        server = StdioServerParameters(command=os.environ["SPANGROVE_BINARY"], args=["mcp"],
                                       env={"SPANGROVE_SERVER": URL, "SPANGROVE_API_KEY": KEY})
        async with Client(server, mode=mode) as client:
            await diagnose(client, day)
        return
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}) as http:
        async with Client(streamable_http_client(f"{URL}/mcp", http_client=http), mode=mode) as client:
            await diagnose(client, day)


asyncio.run(main(*sys.argv[1:]))
