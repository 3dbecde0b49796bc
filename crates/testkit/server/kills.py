"""Repeatedly kills a server with SIGKILL under 64 clients that retry: kills.py TENURE [SECONDS].

60 HTTP clients and four commands add tasks. Each request has its own id, which every retry carries. At the end every
acknowledged task exists exactly once."""

import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter

tenure, seconds = os.path.abspath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 10
base = tempfile.mkdtemp(prefix="tenure-kills.")
env = {"PATH": os.environ["PATH"], "HOME": base, "USER": "ann", "TENURE_PROJECT": "kills"}
acknowledged, retries, kills = [], 0, 0
lock = threading.Lock()


def run(*words):
    return subprocess.run([tenure, *words], cwd=base, env=env, capture_output=True, text=True)


def start(listen):
    command = [tenure, "up", "--listen", listen, "--json"]
    process = subprocess.Popen(command, cwd=base, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return process, json.loads(process.stdout.readline())["data"]["url"].removeprefix("http://")


def over_http(name, address, secret, until):
    global retries
    connection, count = None, 0
    while time.time() < until:
        title, count = f"h{name}-{count}", count + 1
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json", "Idempotency-Key": title}
        while True:
            try:
                connection = connection or http.client.HTTPConnection(address, timeout=30)
                connection.request("POST", "/api/v1/ops/add?project=kills", json.dumps({"title": title}), headers)
                answer = connection.getresponse()
                body = answer.read()
                if answer.status == 200:
                    with lock:
                        acknowledged.append(title)
                    break
                assert answer.status in (429, 503), (answer.status, body)
            except (OSError, http.client.HTTPException):
                connection = None
            with lock:
                retries += 1
            time.sleep(random.random() * 0.1)


def by_command(name, until):
    count = 0
    while time.time() < until:
        title, count = f"c{name}-{count}", count + 1
        while (ran := run("add", title, "--request-id", title)).returncode == 3:
            pass
        assert ran.returncode == 0, ran
        with lock:
            acknowledged.append(title)


assert run("add", "zero").returncode == 0
server, address = start("127.0.0.1:0")
secret = json.loads(run("token", "add", "--for", "person:ann", "--json").stdout)["data"]["secret"]
until = time.time() + seconds
threads = [threading.Thread(target=over_http, args=(n, address, secret, until)) for n in range(60)]
threads += [threading.Thread(target=by_command, args=(n, until)) for n in range(4)]
for thread in threads:
    thread.start()
while time.time() < until - 1:
    time.sleep(0.5 + random.random())
    server.kill()
    server.wait()
    kills += 1
    server, _ = start(address)
for thread in threads:
    thread.join()
titles, cursor = [], []
while True:
    page = json.loads(run("list", "--limit", "1000", "--json", *cursor).stdout)["data"]
    titles += [task["title"] for task in page["items"]]
    if not page["next"]:
        break
    cursor = ["--cursor", page["next"]]
server.terminate()
assert server.wait() == 0
there = Counter(titles)
lost = [title for title in acknowledged if title not in there]
twice = [title for title, count in there.items() if count > 1]
print(f"{kills} kills, {len(acknowledged)} acknowledged, {retries} retries, {len(lost)} lost, {len(twice)} twice")
assert not lost and not twice and len(there) == len(acknowledged) + 1
