"""The calls of each client: every tool at least once with success and once with an error."""

import json

import jsonschema

# (tool, arguments, error code or None, values to keep from the answer). `$name` is a kept value.
CALLS = [
    ("list", {}, None, {}),
    ("add", {"title": "first", "priority": 0, "labels": ["x", "y"]}, None, {"first": ["id"]}),
    ("add", {"title": "second", "after": ["$first"]}, None, {"second": ["id"]}),
    ("add", {"title": "third", "acceptance": "it works"}, None, {"third": ["id"]}),
    ("add", {"title": "never", "priority": 9}, "bad_priority", {}),
    ("note", {"text": "nothing in focus"}, "no_focus", {}),
    ("resume", {}, None, {}),
    ("note", {"text": "half done"}, None, {}),
    ("list", {"mine": True}, None, {}),
    ("list", {"id": "$first"}, None, {}),
    ("list", {"id": "t-zzzzz"}, "not_found", {}),
    ("memory", {"action": "remember", "text": "mind the gap", "scope": "project"}, None, {"memory": ["items", 0, "id"]}),
    ("memory", {"action": "recall", "text": "gap"}, None, {}),
    ("memory", {"action": "list"}, None, {}),
    ("memory", {"action": "forget", "id": "$memory"}, None, {}),
    ("memory", {"action": "forget", "id": "$memory"}, "not_found", {}),
    ("mail", {"action": "read"}, None, {}),
    ("mail", {"action": "send", "text": "to nobody"}, "no_recipient", {}),
    ("reserve", {"paths": ["src/lib.rs", "docs/", "glob:*.toml"], "reason": "new index"}, None, {"hold": ["holds", 1, "id"]}),
    ("reserve", {"paths": ["../outside"]}, "path_outside", {}),
    ("release", {"hold": "$hold"}, None, {}),
    ("release", {"paths": ["src/lib.rs"]}, None, {}),
    ("release", {"paths": ["src/lib.rs"]}, "not_held", {}),
    ("done", {}, None, {}),
    ("done", {}, "no_focus", {}),
    ("resume", {"task": "$third"}, None, {}),
    ("resume", {"task": "t-zzzzz"}, "not_found", {}),
    ("release", {"reason": "not mine"}, None, {}),
    ("release", {}, "no_focus", {}),
    ("block", {"task": "$third", "reason": "waits", "on": "$second"}, None, {}),
    ("block", {"task": "$third", "reason": "again"}, "illegal_transition", {}),
]

FIELDS = {"code", "kind", "message", "hint", "retryable", "details"}


def filled(value, kept):
    """Replaces `$name` in the arguments by the kept values."""
    if isinstance(value, dict):
        return {key: filled(inner, kept) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, kept) for inner in value]
    if isinstance(value, str) and value.startswith("$"):
        return kept[value[1:]]
    return value


def check(tools, call, result, kept):
    """Checks a protocol result against the tool's schema and the expected outcome."""
    tool, _, code, keep = call
    structured = result["structuredContent"]
    jsonschema.validate(structured, tools[tool]["outputSchema"], jsonschema.Draft202012Validator)
    assert bool(result.get("isError")) == (code is not None), (call, result)
    text = result["content"][0]["text"]
    if code is None:
        assert text and "code" not in structured, (call, structured)
    else:
        assert set(structured) - {"actions"} == FIELDS and structured["code"] == code, (call, structured)
        assert json.loads(text) == structured, (call, text)
    for name, path in keep.items():
        found = structured
        for key in path:
            found = found[key]
        kept[name] = found


def check_list(tools):
    """Checks that every tool is called with success and with an error, and has all fields that clients use."""
    tried = {(tool, code is None) for tool, _, code, _ in CALLS}
    assert tried == {(tool, way) for tool in tools for way in (True, False)}, (tried, list(tools))
    for tool in tools.values():
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object", tool["name"]
        assert len(tool["annotations"]) == 4, tool["annotations"]
    for tool, arguments, code, _ in CALLS:
        if code is None:
            jsonschema.validate(arguments, tools[tool]["inputSchema"], jsonschema.Draft202012Validator)
