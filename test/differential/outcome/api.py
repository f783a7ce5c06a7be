"""Runs a real Roampal's own HTTP app and MCP server over one new data folder. Reads the steps as JSON from stdin and writes an answer for each to
stdout. A tool's requests go to the app in this process, not through a port."""
import asyncio
import json
import os
import re
import sys

asked = json.load(sys.stdin)
os.environ["HOME"] = asked["dir"]
os.environ["ROAMPAL_DATA_PATH"] = os.path.join(asked["dir"], "data")

from stand_in import answer

import httpx
import mcp.server
from mcp import types

made = []


class Kept(mcp.server.Server):
    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        made.append(self)


mcp.server.Server = Kept

from roampal.mcp import server as tools
from roampal.server import main as api

PLACE = re.compile(r"@(\d+)(?::(\w+))?@")
GIVEN = re.compile(r"\(ID: (\w+)\)")
# Roampal would ask for a newer version, and would behave differently in a container.
api._get_update_injection = lambda: None
real_exists = os.path.exists
os.path.exists = lambda path: path != "/.dockerenv" and real_exists(path)


async def unsaved(_service):
    """Replaces the save of 0.3.6.1, which would write its graphs after five seconds."""


try:
    from roampal.backend.modules.memory.knowledge_graph_service import KnowledgeGraphService

    KnowledgeGraphService._debounced_save_kg = unsaved
except ImportError:
    pass


class NoLoop:
    @staticmethod
    def run(main):
        main.close()


def mcp_server(client):
    """Makes Roampal's MCP server, without starting the HTTP server (which runs already) and without serving stdio."""

    async def call(method, path, payload=None, timeout=15.0):
        response = await client.request(method, path, json=payload or {})
        getattr(tools, "raise_for_status", httpx.Response.raise_for_status)(response)
        return response.json()

    tools._api_call = call
    tools._start_fastapi_server = lambda: None
    tools._ensure_server_running = lambda timeout=0: True
    tools.asyncio = NoLoop
    tools.run_mcp_server()
    tools.asyncio = asyncio
    return made[-1]


def id_in(told):
    if "text" in told:
        found = GIVEN.search(told["text"])
        return found.group(1) if found else None
    body = told["body"] if isinstance(told.get("body"), dict) else {}
    return body.get("doc_id") or (body.get("doc_ids") or [None])[0]


def filled(step, told):
    """Returns the step with the ids that this server gave out; `@3:history@` is step 3's memory after it has moved."""

    def given(match):
        id = id_in(told[int(match.group(1))]) or "working_00000000"
        return id if match.group(2) is None else f"{match.group(2)}_{id.rsplit('_', 1)[1]}"

    return json.loads(PLACE.sub(given, json.dumps(step)))


async def http(client, step):
    method, path, body = step["method"], step["path"], step.get("body")
    response = await client.request(method, path, **({"json": body} if method == "POST" else {}))
    return {"status": response.status_code, "body": response.json()}


async def tool(server, step):
    if step["via"] == "list":
        listed = await server.request_handlers[types.ListToolsRequest](types.ListToolsRequest(method="tools/list"))
        return {"tools": [one.model_dump(exclude_none=True) for one in listed.root.tools]}
    params = types.CallToolRequestParams(name=step["name"], arguments=step["arguments"])
    done = await server.request_handlers[types.CallToolRequest](types.CallToolRequest(method="tools/call", params=params))
    return {"text": done.root.content[0].text, "isError": bool(done.root.isError)}


async def main():
    app = api.create_app()
    told = []
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            server = mcp_server(client)
            known = asyncio.all_tasks()
            for step in asked["steps"]:
                step = filled(step, told)
                told.append(await (http(client, step) if step["via"] == "http" else tool(server, step)))
                # Waits for work after the answer: a memory may move.
                if after := asyncio.all_tasks() - known:
                    _, waiting = await asyncio.wait(after, timeout=5)
                    known |= waiting
        answer(told)


asyncio.run(main())
