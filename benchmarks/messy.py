#!/usr/bin/env python3
"""Scores how messy text tables are read: `messy.py VESICA FOLDER`.

FOLDER has the layout of Pollock's survey (Vitagliano et al., "Pollock: A Data Loading Benchmark", PVLDB 2023): `csv/X` is a
file as it was found, `parameters/X_parameters.json` says how it is written, and `clean/X` is the same table as plain CSV.
Each file is read twice by `vesica inspect`: with the stated options, and with the stated header lines but
`--delimiter auto`. A file is right if it has as many columns and rows as the clean one, refused if there is an error, and
else wrong.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path


def lines(stated: dict) -> list[str]:
    """The options for lines above the header, of which only the last one is the header."""
    header = int(stated["header_lines"])
    above = int(stated["preamble_lines"]) + max(header - 1, 0)
    options = [f"--skip-lines={above}", "--ragged=pad"]
    return options if header else [*options, "--no-header"]


def options(stated: dict) -> list[str]:
    """The options for what a file is said to be."""
    delimiter = {"\t": "tab"}.get(stated["delimiter"], stated["delimiter"]) or ","
    given = [f"--delimiter={delimiter}", f"--encoding={stated['encoding']}", "--stray-quotes=text"]
    given += [f"--quote={stated['quotechar']}"] if stated["quotechar"] else []
    given += [f"--escape={stated['escapechar']}"] if stated["escapechar"] not in ("", stated["quotechar"]) else []
    return given + lines(stated)


def shape(path: Path, header: bool) -> tuple[int, int]:
    """Columns and rows of a clean file."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    return len(rows[0]), len(rows) - header


def score(vesica: str, path: Path, given: list[str], expected: tuple[int, int]) -> str:
    """What becomes of a file with these options."""
    found = subprocess.run([vesica, "inspect", "--json", "--input", path, *given], capture_output=True, text=True)
    if found.returncode:
        return "refused"
    table = json.loads(found.stdout)
    return "right" if (len(table["columns"]), table["rows"]) == expected else "wrong"


def main(vesica: str, folder: str) -> None:
    scores: dict[str, Counter[str]] = {"stated": Counter(), "auto": Counter()}
    for parameters in sorted(Path(folder, "parameters").glob("*_parameters.json")):
        name = parameters.name.removesuffix("_parameters.json")
        stated = json.loads(parameters.read_text(encoding="utf-8"))
        found, clean = Path(folder, "csv", name), Path(folder, "clean", name)
        if not (found.exists() and clean.exists()):
            print(f"{name}: not there")
            continue
        expected = shape(clean, int(stated["header_lines"]) > 0)
        auto = ["--delimiter=auto", f"--encoding={stated['encoding']}", *lines(stated)]
        result = [score(vesica, found, given, expected) for given in (options(stated), auto)]
        for how, what in zip(scores, result, strict=True):
            scores[how][what] += 1
        print(f"{name}: {', '.join(result)}")
    for how, counts in scores.items():
        print(f"{how}: {dict(counts)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
