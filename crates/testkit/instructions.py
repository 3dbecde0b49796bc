#!/usr/bin/env python3
"""Counts the instructions of commands and hooks of two builds and prints the ratios.

Usage: instructions.py BEFORE AFTER [--tool perf|callgrind] [--rounds N] [--fail-above RATIO]

BEFORE and AFTER are `tenure` binaries, or directories that have one. Each build plays the same script in a home of its own,
and every step is one process. Instructions do not depend on what else the machine does, so this runs on a busy one and in
CI, unlike compare.py. What waits for the disk does not show here.

Counted are instructions of the program alone (not of the kernel), by `perf stat -e instructions:u` where the machine has
such a counter, else by valgrind's callgrind, which counts exactly and is some fifty times slower. With --fail-above the exit
code is 1 if any step's ratio is above that.
"""

import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

SESSION = "instructions-1"
TEXT = "let value = parse(input).map_err(|error| error.at(line))?;\n" * 30


def hook(event, **more):
    return ("hook", event, more)


def edit(path):
    return {"tool_name": "Edit", "tool_input": {"file_path": path, "old_string": TEXT, "new_string": TEXT}}


def shell(line):
    return {"tool_name": "Bash", "tool_input": {"command": line}}


# The counted steps, in order: a name and the arguments of a call; {task} is the task of the script.
STEPS = [
    ("--version", ["--version"]),
    ("list, no store yet", ["list"]),
    ("add, the first", ["add", "the first task"]),
    ("add", ["add", "a second task", "--label", "backend", "--priority", "1"]),
    ("list", ["list"]),
    ("list --json", ["list", "--json"]),
    ("next", ["next"]),
    ("show", ["show", "{task}"]),
    ("status", ["status"]),
    ("SessionStart", hook("SessionStart", source="startup")),
    ("UserPromptSubmit, the first", hook("UserPromptSubmit", prompt=TEXT)),
    ("UserPromptSubmit", hook("UserPromptSubmit", prompt=TEXT)),
    ("PreToolUse of an edit, the first", hook("PreToolUse", **edit("src/a.rs"))),
    ("PreToolUse of an edit, held", hook("PreToolUse", **edit("src/a.rs"))),
    ("PostToolUse of an edit", hook("PostToolUse", tool_response={"success": True}, **edit("src/a.rs"))),
    ("PreToolUse of a shell", hook("PreToolUse", **shell("cd src && cargo test | tail -5; git status"))),
    ("PreToolUse of a shell at risk", hook("PreToolUse", **shell("git reset --hard"))),
    ("whoami", ["whoami"]),
    ("claim", ["claim", "{task}", "--agent", "worker"]),
    ("claim, one's own", ["claim", "{task}", "--agent", "worker"]),
    ("note", ["note", "half of it is done", "--agent", "worker"]),
    ("reserve", ["reserve", "src/b.rs", "src/c/", "--agent", "worker"]),
    ("check", ["check", "src/b.rs", "--agent", "other"]),
    ("holds", ["holds"]),
    ("release", ["release", "src/b.rs", "--agent", "worker"]),
    ("lock", ["lock", "deploy", "--agent", "worker"]),
    ("remember", ["remember", "the build needs four minutes", "--agent", "worker"]),
    ("recall", ["recall", "build minutes", "--agent", "worker"]),
    ("send", ["send", "worker", "please look at src/c", "--agent", "worker"]),
    ("inbox", ["inbox", "--agent", "worker"]),
    ("done", ["done", "{task}", "--agent", "worker"]),
    ("log", ["log", "--limit", "20"]),
    ("why", ["why", "{task}"]),
    ("SessionEnd", hook("SessionEnd", reason="prompt_input_exit")),
]


class Home:
    """A home with one repository for one build."""

    def __init__(self, binary, tool):
        self.binary, self.tool, self.task = binary, tool, ""
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="tn-instructions-"))
        self.repository = self.dir / "repository"
        (self.repository / "src").mkdir(parents=True)
        (self.repository / "src/a.rs").write_text("\n")
        self.env = {"HOME": str(self.dir), "USER": "bench", "PATH": "/usr/bin:/bin", "CLAUDE_CODE_SESSION_ID": SESSION}
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
            named = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
            subprocess.run(["git", *named, *words], cwd=self.repository, env=self.env, check=True)

    def play(self):
        """The instructions of each step, by name."""
        counts = {}
        for name, call in STEPS:
            given = ""
            if isinstance(call, tuple):
                _, event, more = call
                given = json.dumps(
                    {"session_id": SESSION, "cwd": str(self.repository), "hook_event_name": event, **more}
                )
                words = ["hook", "claude", event]
            else:
                words = [word.replace("{task}", self.task) for word in call]
            counts[name] = self.count(words, given)
            if not self.task and name == "add, the first":
                listed = subprocess.run(
                    [self.binary, "list", "--json"], cwd=self.repository, env=self.env, capture_output=True, check=True
                )
                self.task = json.loads(listed.stdout)["data"]["items"][0]["id"]
        return counts

    def count(self, words, given):
        report = self.dir / "count"
        if self.tool == "perf":
            before = ["perf", "stat", "-x,", "-e", "instructions:u", "-o", report]
        else:
            # Without --trace-children: processes that the program starts are not counted.
            before = ["valgrind", "--tool=callgrind", f"--log-file={report}", "--callgrind-out-file=/dev/null"]
        run = subprocess.run(
            [*before, self.binary, *words],
            cwd=self.repository,
            # valgrind needs a longer PATH than the program.
            env={**self.env, "PATH": os.environ["PATH"]},
            input=given,
            capture_output=True,
            text=True,
        )
        said = report.read_text()
        found = re.search(r"^(\d+),.*instructions" if self.tool == "perf" else r"Collected : (\d+)", said, re.M)
        if run.returncode not in (0, 1) or not found:
            sys.exit(f"tenure {' '.join(words)}: exit {run.returncode}\n{run.stderr}\n{said}")
        return int(found.group(1))

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)


def counter():
    """The cheapest counter that works on this machine."""
    if shutil.which("perf"):
        tried = subprocess.run(["perf", "stat", "-x,", "-e", "instructions:u", "true"], capture_output=True, text=True)
        if re.search(r"^\d+,", tried.stderr, re.M):
            return "perf"
    if shutil.which("valgrind"):
        return "callgrind"
    sys.exit("neither perf with a counter of instructions nor valgrind is here")


def option(words, name, default):
    if name not in words:
        return default
    at = words.index(name)
    value = words[at + 1]
    del words[at : at + 2]
    return value


def main():
    words = sys.argv[1:]
    tool = option(words, "--tool", None) or counter()
    rounds = int(option(words, "--rounds", "1" if tool == "callgrind" else "5"))
    limit = float(option(words, "--fail-above", "inf"))
    if len(words) != 2:
        sys.exit(__doc__)
    builds = [pathlib.Path(word).resolve() for word in words]
    builds = [build / "tenure" if build.is_dir() else build for build in builds]
    seen = ({}, {})
    for number in range(rounds):
        for which in (0, 1):
            print(f"round {number + 1} of {rounds}: {('before', 'after')[which]} ({tool})", file=sys.stderr, flush=True)
            home = Home(builds[which], tool)
            try:
                for name, count in home.play().items():
                    seen[which].setdefault(name, []).append(count)
            finally:
                home.remove()
    print("| call | before | after | after / before |")
    print("|---|---|---|---|")
    ratios = []
    for name, _ in STEPS:
        before, after = (statistics.median(counts[name]) for counts in seen)
        ratios.append(after / before)
        print(f"| {name} | {before / 1e6:.2f} M | {after / 1e6:.2f} M | {after / before:.3f} |")
    print(f"| all, the geometric mean | | | {statistics.geometric_mean(ratios):.3f} |")
    sys.exit(1 if max(ratios) > limit else 0)


main()
