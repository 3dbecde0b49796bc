#!/usr/bin/env python3
"""Compares two builds by their own benchmarks, in one run.

Usage: compare.py BEFORE AFTER [--rounds N] [-- ARGUMENTS OF tenure-bench]

BEFORE and AFTER are directories with release builds of `tenure`, `tenure-bench` and `tenure-floor`. The two take turns, so
that a slow moment of the machine meets both. For every cell of every table the medians over the rounds are compared; the
ratio is after / before. Timings above 1 are slower; rates above 1 are faster.

Sections that start programs (floor, hooks, many) are measured by the `tenure-bench` of AFTER for both builds, so that both
are asked to do the same work. The others measure the library that a `tenure-bench` was built with, so each has its own.
"""

import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

PROGRAMS = ("floor", "hooks", "many")
LIBRARY = ("library", "growth", "paths", "race", "server", "trips")
NUMBER = re.compile(r"^(-?[0-9][0-9.,]*)\s*(ms|s|µs|MB|%)?$")


def tables(text):
    """(table, row, column) -> number, from the Markdown tables of one run."""
    title, header, cells = "", None, {}
    for line in text.splitlines():
        if line.startswith("|"):
            parts = [part.strip() for part in line.strip().strip("|").split("|")]
            if header is None:
                header = parts
            elif not set(line) <= set("|-: "):
                for column, part in list(zip(header, parts))[1:]:
                    found = NUMBER.match(part)
                    if found:
                        cells[title, parts[0], column] = float(found.group(1).replace(",", ""))
        else:
            header = None
            if line.strip():
                title = line.strip("# *")
    return cells


def benches(builds, arguments, scratch):
    """The programs to run for each build, in order: (tenure-bench, its arguments)."""
    named = [word for word in arguments if word in PROGRAMS + LIBRARY] or list(PROGRAMS + LIBRARY)
    options = [word for word in arguments if word not in PROGRAMS + LIBRARY]
    runs = []
    for number, build in enumerate(builds):
        # tenure-bench looks for the programs beside itself, so it is copied beside those of this build.
        place = scratch / str(number)
        place.mkdir()
        shutil.copy2(builds[1] / "tenure-bench", place)
        for name in ("tenure", "tenure-floor"):
            shutil.copy2(build / name, place)
        groups = [(place, [word for word in named if word in PROGRAMS]), (build, [word for word in named if word in LIBRARY])]
        runs.append([(where / "tenure-bench", [*words, *options]) for where, words in groups if words])
    return runs


def main():
    words = sys.argv[1:]
    arguments = []
    if "--" in words:
        at = words.index("--")
        words, arguments = words[:at], words[at + 1 :]
    rounds = 3
    if "--rounds" in words:
        at = words.index("--rounds")
        rounds = int(words[at + 1])
        del words[at : at + 2]
    if len(words) != 2:
        sys.exit(__doc__)
    builds = [pathlib.Path(word).resolve() for word in words]
    seen = ({}, {})
    with tempfile.TemporaryDirectory(prefix="tn-compare-") as scratch:
        runs = benches(builds, arguments, pathlib.Path(scratch))
        for number in range(rounds):
            # The order alternates too, because the second of a pair finds warmer caches.
            for which in (0, 1) if number % 2 == 0 else (1, 0):
                print(f"round {number + 1} of {rounds}: {('before', 'after')[which]}", file=sys.stderr, flush=True)
                for bench, given in runs[which]:
                    run = subprocess.run([bench, "--markdown", *given], stdout=subprocess.PIPE, text=True, check=True)
                    for cell, number_seen in tables(run.stdout).items():
                        seen[which].setdefault(cell, []).append(number_seen)
    print("| table | row | column | before | after | after / before |")
    print("|---|---|---|---|---|---|")
    for cell, numbers in seen[0].items():
        if cell not in seen[1]:
            continue
        before, after = statistics.median(numbers), statistics.median(seen[1][cell])
        ratio = f"{after / before:.2f}" if before else "–"
        print("|", " | ".join([*cell, f"{before:g}", f"{after:g}", ratio]), "|")
    for cell in seen[0].keys() ^ seen[1].keys():
        print("only in one build:", *cell, file=sys.stderr)


main()
