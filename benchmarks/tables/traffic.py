"""Traffic measured alone: what each party of a cell sends, without any time.

Bytes are the same on every machine, over every network and with any number of threads. So they can be measured anywhere
and at any time, and one record holds them for all machines. A cell is run again once the registry's formula says that
today's program sends something else.
"""

import csv
import json
import time
from pathlib import Path

from .program import BenchError, RunFailed, key
from .schedule import Largest

NAME = "traffic.csv"
COLUMNS = ("revision", "sent_receiver", "sent_sender", "cell")

# What bytes do not depend on.
APART = ("network", "threads", "tls")

# How far measured bytes may be from the formula: coins decide the length of a few messages.
TOLERANCE = 0.005


def agree(sent, about):
    """Whether a run sent what today's formula says, or no more where the formula is an upper bound."""
    return sent <= about["bytes"] * (1 + TOLERANCE) and (about["at_most"] or sent >= about["bytes"] * (1 - TOLERANCE))


def of_line(line):
    """The bytes that all parties of a run sent."""
    return line["sent_receiver"] + line["sent_sender"]


def bare(cell):
    """The key of a cell without what its bytes do not depend on."""
    return key({name: value for name, value in cell.items() if name not in APART})


class Traffic:
    """The record of traffic, by cells; empty where the file is not there."""

    def __init__(self, path=None):
        self.path, self.lines = Path(path) if path else None, {}
        if self.path and self.path.exists():
            with open(self.path, encoding="utf-8", newline="") as file:
                for line in csv.DictReader(file):
                    try:
                        line |= {name: int(line[name]) for name in ("sent_receiver", "sent_sender")}
                        self.lines[bare(json.loads(line["cell"]))] = line
                    except (KeyError, TypeError, ValueError) as error:
                        raise BenchError(f"{self.path}: it is no record of traffic: {error!r}") from error

    def sent(self, cell):
        """The bytes that all parties send; none if the record does not hold the cell."""
        line = self.lines.get(bare(cell))
        return line and of_line(line)

    def keep(self, cell, pair, revision):
        """Adds what a run sent, in place of what an older run sent. What a sender sent includes what a helper sent."""
        sender, helper = pair["sender"]["sent"], (pair["helper"] or {"sent": 0})["sent"]
        values = (revision, pair["receiver"]["sent"], sender + helper, bare(cell))
        self.lines[bare(cell)] = dict(zip(COLUMNS, values))
        with open(self.path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.lines[cell] for cell in sorted(self.lines))


def outdated(definitions, runs, traffic, unmeasured=False):
    """The cells of tables of traffic of which a record has other bytes than today's, the least traffic first.

    With `unmeasured` those, too, of which no record has any. `runs` are the lines of all machines' records. Cells whose
    traffic was measured alone, and is today's, are left out.
    """
    known, found = {}, {}
    for line in runs:
        known.setdefault(bare(json.loads(line["cell"])), []).append(of_line(line))
    for entry in (entry for definition in definitions for row in definition.rows for entry in row.entries
                  if definition.measure == "traffic" and entry.cell is not None):
        cell = bare(entry.cell)
        alone, sent = traffic.sent(entry.cell), known.get(cell, [])
        if alone is not None and agree(alone, entry.about):
            continue
        # A protocol that cannot take sets of these sizes has no bytes.
        missing = unmeasured and not sent and entry.about["bytes"]
        if missing or alone is not None or not all(agree(one, entry.about) for one in sent):
            found[cell] = entry
    return sorted(found.values(), key=lambda entry: entry.about["bytes"])


def measure(entries, limits, program, traffic, revision, say):
    """Runs these cells for their bytes alone. The numbers of those that were recorded, left out, and that failed.

    If a run was stopped or failed, larger ones of its kind are left out.
    """
    started, failed_kinds, counts = time.monotonic(), set(), {"recorded": 0, "left out": 0, "failed": 0}
    for entry in entries:
        cell = json.loads(bare(entry.cell))
        if why := refusal(entry.about["memory"], limits, time.monotonic() - started, Largest.kind(cell) in failed_kinds):
            counts["left out"] += 1
            say(f"{bare(cell)}: left out, {why}")
            continue
        try:
            traffic.keep(cell, program.run(cell, limits.run_budget_s), revision)
        except RunFailed as error:
            failed_kinds.add(Largest.kind(cell))
            counts["failed"] += 1
            say(f"{bare(cell)}: {error}")
        else:
            counts["recorded"] += 1
            say(f"{bare(cell)}: {traffic.sent(cell)} bytes")
    return counts


def refusal(memory, limits, elapsed_s, smaller_failed):
    """Why a cell is not run."""
    if memory > limits.memory:
        return f"it may take {memory / 1e9:.1f} GB of {limits.memory / 1e9:.1f} GB"
    if smaller_failed:
        return "a smaller one of its kind did not end"
    return "the budget is used up" if elapsed_s > limits.budget_s else None
