"""Drives `tenure mcp` with the inspector, one process per call: inspector.py TENURE REPOSITORY INSPECTOR."""

import json
import subprocess
import sys

from calls import CALLS, check, check_list, filled

TENURE, REPOSITORY, INSPECTOR = sys.argv[1:]


def inspect(*words):
    # The agent is named, because each call is a separate connection.
    line = [INSPECTOR, "--cli", "-e", "TENURE_AGENT=inspector", TENURE, "mcp", *words]
    return subprocess.run(line, cwd=REPOSITORY, capture_output=True, text=True, timeout=120)


def answer(*words):
    run = inspect(*words)
    assert run.returncode == 0, (words, run.stdout, run.stderr)
    return json.loads(run.stdout)


def word(key, value):
    return f"{key}={value if isinstance(value, str) else json.dumps(value)}"


tools = {tool["name"]: tool for tool in answer("--method", "tools/list")["tools"]}
check_list(tools)
kept = {}
for call in CALLS:
    arguments = [word(key, value) for key, value in filled(call[1], kept).items()]
    given = ["--tool-arg", *arguments] if arguments else []
    check(tools, call, answer("--method", "tools/call", "--tool-name", call[0], *given), kept)
unknown = inspect("--method", "tools/call", "--tool-name", "nope")
assert unknown.returncode != 0 and "-32602" in unknown.stdout + unknown.stderr, unknown
resources = answer("--method", "resources/list")["resources"]
assert [resource["uri"] for resource in resources] == ["tenure://brief"], resources
print(f"inspector: {len(tools)} tools, {len(CALLS)} calls")
