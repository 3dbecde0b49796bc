"""Drives `tenure up` with the Python SDK over HTTP, then with Schemathesis: server.py TENURE REPOSITORY SCHEMATHESIS."""

import asyncio
import json
import os
import re
import subprocess
import sys

import httpx2
from calls import CALLS, check, check_list, filled
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


class Server:
    def __init__(self, tenure, repository):
        self.tenure, self.repository = tenure, repository
        self.env = {**os.environ, "USER": "ann", "TENURE_PROJECT": "clients"}
        assert json.loads(self.run("add", "first"))["ok"]
        self.start("127.0.0.1:0")
        self.secret = json.loads(self.run("token", "add", "--for", "person:ann"))["data"]["secret"]

    def start(self, address):
        command = [self.tenure, "up", "--listen", address, "--quiet", "--json"]
        self.process = subprocess.Popen(command, cwd=self.repository, env=self.env, stdout=subprocess.PIPE, text=True)
        self.url = json.loads(self.process.stdout.readline())["data"]["url"]

    def kill(self):
        """Kills the server and starts another at the same address."""
        self.process.kill()
        self.process.wait()
        self.start(self.url.removeprefix("http://"))

    def run(self, *words):
        command = [self.tenure, *words, "--json"]
        return subprocess.run(command, cwd=self.repository, env=self.env, capture_output=True, text=True).stdout

    def client(self, mode, secret=None):
        headers = {"Authorization": f"Bearer {secret or self.secret}", "Tenure-Checkout": f"here:{self.repository}"}
        http = httpx2.AsyncClient(headers=headers, timeout=60)
        return Client(streamable_http_client(f"{self.url}/mcp?project=clients", http_client=http), mode=mode)


async def drive(server, mode):
    async with server.client(mode) as client:
        tools = {tool.name: plain(tool) for tool in (await client.list_tools()).tools}
        check_list(tools)
        kept = {}
        for call in CALLS:
            result = await client.call_tool(call[0], filled(call[1], kept))
            answer = plain(result)
            answer["structuredContent"] = result.structured_content
            check(tools, call, answer, kept)
        brief = (await client.read_resource("tenure://brief")).contents[0]
        assert brief.mime_type == "text/markdown", brief
    print(f"Python SDK over HTTP ({mode}): {len(tools)} tools, {len(CALLS)} calls")


async def resumed(client):
    """Resumes or claims a task, and returns the agent named in the brief."""
    brief = (await client.call_tool("resume", {})).structured_content["brief"]["text"]
    return re.search(r"You are (\S+) and hold it", brief)[1]


async def taken(client, title):
    """Adds a task, claims one, and returns the agent."""
    await client.call_tool("add", {"title": title})
    return await resumed(client)


async def two(server, whose, secret):
    """Two concurrent clients are two agents; a reconnected client is a third."""
    async with server.client("legacy", secret) as one, server.client("legacy", secret) as other:
        seen = {await taken(one, "for one of two"), await taken(other, "for the other")}
    async with server.client("legacy", secret) as again:
        seen.add(await taken(again, "for one that comes again"))
    assert len(seen) == 3 and all(name.startswith("mcp-") for name in seen), seen
    print(f"two clients of {whose} at once are two agents, and the next one is a third")


async def killed(server):
    """A client continues its session as the same agent after the server was killed."""
    async with server.client("legacy") as client:
        agent = await taken(client, "for one whose server is killed")
        for _ in range(2):
            server.kill()
            noted = await client.call_tool("note", {"text": "still here"})
            assert not noted.is_error, noted
        assert await resumed(client) == agent, agent
        holds = json.loads(server.run("holds"))["data"]["items"]
        assert {hold["holder"] for hold in holds} == {agent}, holds
    assert json.loads(server.run("holds"))["data"]["items"] == [], "a client that leaves frees what it held"
    print("a client goes on with its session when the server was killed, and leaves nothing behind")


def described(server, schemathesis):
    config = os.path.join(server.repository, "schemathesis.toml")
    with open(config, "w") as file:
        file.write('[parameters]\nproject = "clients"\n')
    # The event stream never ends, so the tests of the binary cover it.
    command = [schemathesis, "--config-file", config, "run", f"{server.url}/api/v1/openapi.json", "--no-color"]
    command += ["-H", f"Authorization: Bearer {server.secret}", "--checks", CHECKS, "--exclude-path", "/api/v1/events"]
    command += ["--max-examples", "10", "--phases", "coverage,fuzzing", "--seed", "7"]
    ran = subprocess.run(command, cwd=server.repository, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-1000:]
    told = [line.strip() for line in ran.stdout.splitlines() if " generated, " in line]
    print(f"Schemathesis: {told[0] if told else 'passed'}")


server = Server(sys.argv[1], sys.argv[2])
try:
    asyncio.run(two(server, "a person", server.secret))
    server.run("member", "set", "service:ci", "--role", "worker", "--in", "clients")
    asyncio.run(two(server, "a service", json.loads(server.run("token", "add", "--for", "service:ci"))["data"]["secret"]))
    asyncio.run(killed(server))
    for mode in ("legacy", "auto"):
        asyncio.run(drive(server, mode))
    described(server, sys.argv[3])
finally:
    server.process.terminate()
    assert server.process.wait() == 0
