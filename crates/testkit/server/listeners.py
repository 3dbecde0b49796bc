"""Connects a thousand listeners, fifty of which never read: listeners.py TENURE [LISTENERS].

The others get every event once, in order, within a second, and the server's memory stays bounded."""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

tenure, count, stalled, events = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000, 50, 20
base = tempfile.mkdtemp(prefix="tenure-listeners.")
env = {"PATH": os.environ["PATH"], "HOME": base, "USER": "ann", "TENURE_PROJECT": "listeners"}
resource.setrlimit(resource.RLIMIT_NOFILE, (count + 1000, max(count + 1000, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))


def run(*words):
    ran = subprocess.run([tenure, *words, "--json"], cwd=base, env=env, capture_output=True, text=True)
    return json.loads(ran.stdout)["data"]


run("add", "zero")
server = subprocess.Popen([tenure, "up", "--listen", "127.0.0.1:0", "--json"], cwd=base, env=env, stdout=subprocess.PIPE, text=True)
host, port = json.loads(server.stdout.readline())["data"]["url"].removeprefix("http://").split(":")
secret = run("token", "add", "--for", "person:ann")["secret"]
sent, seen, waited, ready = {}, {}, [], 0


def resident():
    with open(f"/proc/{server.pid}/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS"))


async def listen(name):
    global ready
    reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 16)
    head = f"GET /api/v1/events?project=listeners HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {secret}\r\n\r\n"
    writer.write(head.encode())
    while not (await reader.readline()).startswith(b": tenure"):
        pass
    ready += 1
    if name < stalled:
        await asyncio.sleep(3600)
    seen[name] = []
    while line := await reader.readline():
        if line.startswith(b"data: "):
            event = json.loads(line[6:])
            seen[name].append(event["number"])
            if event["data"].get("title") in sent:
                waited.append(time.time() - sent[event["data"]["title"]])


async def main():
    before = resident()
    listeners = [asyncio.create_task(listen(name)) for name in range(count)]
    while ready < count:
        await asyncio.sleep(0.1)
    for number in range(events):
        title = f"event {number}"
        sent[title] = time.time()
        await asyncio.to_thread(run, "add", title)
    while any(len(numbers) < events for numbers in seen.values()):
        await asyncio.sleep(0.1)
        assert time.time() - sent[title] < 60, "an event did not arrive"
    for listener in listeners:
        listener.cancel()
    orderly = all(numbers == list(range(numbers[0], numbers[0] + events)) for numbers in seen.values())
    waited.sort()
    print(f"{count} listeners, {stalled} of them stalled: {events} events each, in order and once: {orderly}; "
          f"p50 {waited[len(waited) // 2]:.3f} s, longest {waited[-1]:.3f} s; resident {before} -> {resident()} MB")
    assert orderly and waited[-1] < 1


try:
    asyncio.run(main())
finally:
    server.terminate()
    server.wait()
