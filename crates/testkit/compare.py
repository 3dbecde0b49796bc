#!/usr/bin/env python3
"""Compares two builds by their own benchmarks, in one run.

Usage: compare.py BEFORE AFTER [--rounds N] [-- ARGUMENTS OF tenure-bench]

BEFORE and AFTER are directories with release builds of `tenure`, `tenure-bench` and `tenure-floor`. The two take turns, so
that a slow moment of the machine meets both. For every cell of every table the medians over the rounds are compared; the
ratio is after / before. Timings above 1 are slower; rates above 1 are faster.
"""

import pathlib
import re
import statistics
import subprocess
import sys

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
    builds = [pathlib.Path(word) for word in words]
    seen = ({}, {})
    for number in range(rounds):
        # The order alternates too: the second of a pair finds warmer caches.
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            print(f"round {number + 1} of {rounds}: {('before', 'after')[which]}", file=sys.stderr, flush=True)
            run = subprocess.run(
                [builds[which] / "tenure-bench", "--markdown", *arguments], stdout=subprocess.PIPE, text=True, check=True
            )
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
