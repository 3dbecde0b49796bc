"""Repeatedly stops a server with SIGSTOP under clients with a timeout: stops.py TENURE [SECONDS].

32 socket clients and eight commands claim tasks, take locks and reserve paths, most of them contested. Each request has
its own agent and request id. A client without an answer closes the socket and accesses the store directly, by a command
with the same id. If that is refused as `busy`, the client gives up for good. So the log of an agent shows the fate of
its request: an acknowledged one is applied once; a refused or abandoned one is not applied, now or after the server
continues. A request refused as `undecided` may have been applied, and the client finds out by a retry with the same id."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter

tenure, seconds = os.path.abspath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 60
seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
random.seed(seed)
base = tempfile.mkdtemp(prefix="tenure-stops.")
env = {"PATH": os.environ["PATH"], "HOME": base, "USER": "ann", "TENURE_PROJECT": "stops", "TENURE_FORMAT": "json"}
GRANTS = ("task.claimed", "lock.taken", "path.reserved")
acknowledged, refused, given_up, undecided = {}, {}, {}, {}
counts, lock = Counter(), threading.Lock()


def run(*words, agent=None):
    around = {**env, "TENURE_AGENT": agent} if agent else env
    ran = subprocess.run([tenure, *words], cwd=base, env=around, capture_output=True, text=True)
    return json.loads(ran.stdout)


def up():
    command = [tenure, "up", "--no-http", "--json"]
    process = subprocess.Popen(command, cwd=base, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return process, json.loads(process.stdout.readline())["data"]["socket"]


def wish(name, count):
    """An op, its request and the arguments of the equivalent command."""
    sort = random.choice(["claim", "lock", "reserve"])
    if sort == "claim":
        task = random.choice(tasks)
        return sort, {"task": task, "ttl_s": 1}, ["claim", task, "--ttl", "1s"]
    # Half of them are uncontested and always granted.
    thing = f"{name}-{count}" if random.random() < 0.5 else f"shared-{random.randrange(8)}"
    if sort == "lock":
        return sort, {"name": thing, "ttl_s": 1}, ["lock", thing, "--ttl", "1s"]
    return sort, {"paths": [f"./{thing}"], "all_checkouts": True, "ttl_s": 1}, ["reserve", thing, "--all-checkouts", "--ttl", "1s"]


def note(agent, answer, words):
    with lock:
        if answer["ok"]:
            acknowledged[agent] = answer
        elif answer["error"]["code"] == "undecided":
            undecided[agent] = words
        elif answer["error"]["kind"] == "busy":
            given_up[agent] = answer
        else:
            assert answer["error"]["kind"] == "conflict", answer
            refused[agent] = answer


def direct(agent, words):
    answer = run(*words, "--request-id", agent, agent=agent)
    with lock:
        counts["direct"] += 1
    note(agent, answer, words)


class Client:
    def __init__(self):
        self.stream = self.lines = None

    def ask(self, agent, op, request, patience):
        """Returns the answer, or None after closing the connection."""
        try:
            if not self.stream:
                self.stream = socket.socket(socket.AF_UNIX)
                self.stream.settimeout(patience)
                self.stream.connect(path)
                self.lines = self.stream.makefile("rb")
                assert json.loads(self.lines.readline())["tenure"]
            self.stream.settimeout(patience)
            caller = {"project": {"key": "name:stops", "label": "stops"}, "actor": {"name": agent}}
            caller |= {"request_id": {"value": agent, "given": True}, "deadline_ms": int(patience * 1000)}
            document = json.dumps({"call": caller, "op": op, "request": request})
            self.stream.sendall(document.encode() + b"\n")
            answer = json.loads(self.lines.readline())
            if answer["ok"] or answer["error"]["code"] != "not_run":
                return answer
        except (OSError, ValueError):
            pass
        if self.lines:
            self.lines.close()
        self.stream.close()
        self.stream = self.lines = None
        return None


def over_socket(name):
    client, count = Client(), 0
    while time.time() < until:
        agent, (op, request, words) = f"{name}-{count}", wish(name, count)
        count += 1
        answer = client.ask(agent, op, request, random.choice([0.2, 0.5, 1, 3]))
        if answer is None:
            direct(agent, words)
        else:
            with lock:
                counts["by the server"] += 1
            note(agent, answer, words)


def by_command(name):
    count = 0
    while time.time() < until:
        agent, (_, _, words) = f"{name}-{count}", wish(name, count)
        count += 1
        direct(agent, words)


def log():
    events, cursor = [], ["--since", "0"]
    while cursor:
        page = run("log", *cursor, "--limit", "1000")["data"]
        events += page["items"]
        cursor = ["--cursor", page["next"]] if page["next"] else None
    return events


tasks = [run("add", f"task {n}")["data"]["id"] for n in range(8)]
server, path = up()
until = time.time() + seconds
threads = [threading.Thread(target=over_socket, args=(f"s{n}",)) for n in range(32)]
threads += [threading.Thread(target=by_command, args=(f"c{n}",)) for n in range(8)]
for thread in threads:
    thread.start()
stops = 0
while time.time() < until:
    time.sleep(random.random())
    server.send_signal(signal.SIGSTOP)
    stops += 1
    # Sometimes long enough for direct access to be refused.
    time.sleep(random.choice([0.3, 1, 2, 15]))
    server.send_signal(signal.SIGCONT)
for thread in threads:
    thread.join()
# Undecided requests are retried to learn their outcome.
found_out = Counter()
for agent, words in list(undecided.items()):
    answer = run(*words, "--request-id", agent, agent=agent)
    assert answer["ok"] or answer["error"]["kind"] == "conflict", answer
    found_out[agent] = int(answer["ok"])
server.terminate()
assert server.wait() == 0
grants = Counter(event["actor"] for event in log() if event["kind"] in GRANTS)
ghosts = [agent for agent in grants if agent not in acknowledged and agent not in found_out]
lost = [agent for agent in acknowledged if agent not in grants]
lost += [agent for agent in found_out if grants[agent] != found_out[agent]]
twice = [agent for agent, count in grants.items() if count > 1]
print(f"seed {seed}: {stops} stops, {len(acknowledged)} granted, {len(refused)} refused, {len(given_up)} given up,"
      f" {len(undecided)} undecided; {dict(counts)}; {len(ghosts)} granted to nobody, {len(lost)} lost, {len(twice)} twice")
for agent in (ghosts + lost + twice)[:5]:
    print(agent, given_up.get(agent), refused.get(agent), [event for event in log() if event["actor"] == agent])
assert not ghosts and not lost and not twice
