"""Which cells are run, in which order, and which are left out.

A cell that several tables have is run once. Small sets come first, and every cell has one run before any has two. When
the budget is used up, further runs are left out, and the largest cells. What is recorded already is not run again.
"""

import json
import time
from collections import Counter
from dataclasses import dataclass

from .program import RunFailed, key
from .record import line_of

# Larger cells have no warm-up: what it would warm is nothing to them.
WARM_UP_BELOW = 1 << 18

# What a run takes for set-up: it does not grow with the sets.
SETUP_S = 0.1

# A run is stopped after this many times its budget, and a minute.
PATIENCE = 3.0

# The longest limit that the program takes.
WEEK_S = 7 * 86400


@dataclass
class Limits:
    """What limits a benchmark."""

    quick: bool  # only the columns that a definition marks quick
    runs: int  # runs of each cell whose figures are kept
    warm_up: bool  # whether small cells have a run before those, not kept
    run_budget_s: float  # seconds that one run of a cell may take
    budget_s: float  # seconds for everything
    memory: int  # bytes of memory that both parties together may take


@dataclass
class Task:
    """A cell with the first table that asks for it."""

    definition: str
    row: str
    column: str
    cell: dict
    about: dict
    runs_done: int = 0  # runs that the record holds
    excluded: bool = False  # skipped, or failed


def items(cell):
    """Items of both sets."""
    return cell["receiver"] + cell["sender"]


def tasks(definitions, quick, known):
    """Distinct cells of all tables, the smallest sets first."""
    runs, seen = Counter(line["cell"] for line in known), {}
    for definition in definitions:
        for row in definition.rows:
            for entry, column in zip(row.entries, definition.columns):
                if entry.cell is not None and (entry.quick or not quick) and key(entry.cell) not in seen:
                    task = Task(definition.name, row.name, column.name, entry.cell, entry.about)
                    task.runs_done = runs[key(entry.cell)]
                    seen[key(entry.cell)] = task
    return sorted(seen.values(), key=lambda task: items(task.cell))


class Largest:
    """The largest run so far of each kind of cell: its items and seconds. A kind is everything but the sizes."""

    def __init__(self, networks, lines):
        self.networks, self.runs = networks, {}
        for line in lines:
            self.record(json.loads(line["cell"]), line["wall_s"])

    @staticmethod
    def kind(cell):
        return key(cell | {"receiver": 0, "sender": 0})

    def record(self, cell, wall_s):
        if items(cell) >= self.runs.get(self.kind(cell), (0, 0))[0]:
            self.runs[self.kind(cell)] = items(cell), wall_s

    def expected_s(self, task):
        """Seconds that a run can be expected to take.

        In proportion to the largest one of its kind, and no less than the network takes to carry its bytes. Without a run
        of the kind only the network counts.
        """
        network, wire_s, compute_s = self.networks.get(task.cell.get("network")), 0.0, 0.0
        if network:
            # Both directions may be busy at once.
            wire_s = task.about["bytes"] / 2 * 8e-6 / network.megabits_per_s
        if run := self.runs.get(self.kind(task.cell)):
            compute_s = SETUP_S + max(run[1] - SETUP_S, 0.0) * items(task.cell) / max(run[0], 1)
        return max(compute_s, wire_s)


def refusal(task, limits, expected_s, elapsed_s):
    """Why a cell is not run now; a run is expected to take so long."""
    memory = task.about["memory"]
    if memory > limits.memory:
        return f"it may take {memory / 1e9:.1f} GB of {limits.memory / 1e9:.1f} GB"
    if expected_s > limits.run_budget_s:
        return f"a run may take {expected_s:.0f} s, more than {limits.run_budget_s:.0f} s"
    left = limits.budget_s - elapsed_s
    return f"only {max(left, 0.0):.0f} s of the budget are left" if expected_s >= left else None


def needs_warm_up(task, limits):
    """Whether a run that is not kept goes before this one. (Memory is claimed before each run by the program itself.)"""
    return limits.warm_up and task.runs_done == 0 and items(task.cell) < WARM_UP_BELOW


def remaining(definitions, limits, networks, known):
    """What `fill` would run, by definition: cells, runs of them, and cells beyond memory or the time of one run."""
    largest, left = Largest(networks, known), {}
    for task in tasks(definitions, limits.quick, known):
        of_definition = left.setdefault(task.definition, {"cells": 0, "runs": 0, "skipped": 0})
        runs = max(limits.runs - task.runs_done, 0)
        if refusal(task, limits, largest.expected_s(task), 0.0):
            of_definition["skipped"] += task.runs_done == 0
        elif runs:
            of_definition["cells"] += 1
            of_definition["runs"] += runs
    return left


def fill(definitions, limits, networks, program, folder, say):
    """Runs what the definitions ask for and the record does not hold yet.

    A run that fails is told and the rest goes on; a wrong result ends the benchmark. The numbers of runs that were
    recorded, of cells that were skipped, and of runs that failed are returned.
    """
    known = folder.read_all()
    largest = Largest(networks, known)
    todo = [task for task in tasks(definitions, limits.quick, known) if task.runs_done < limits.runs]
    rows = [row for definition in definitions for row in definition.rows]
    not_run = sum(row.cannot is not None for row in rows)
    say(f"{len(todo)} cells to run, of {len(rows)} rows in {len(definitions)} tables; {not_run} rows are not run, "
        "and the report says why")
    time_limit_s = min(60 + PATIENCE * limits.run_budget_s, WEEK_S)
    started, runs, skipped, failed = time.monotonic(), 0, 0, 0
    for turn in range(limits.runs):
        for task in todo:
            if task.excluded or task.runs_done > turn:
                continue
            place = f"{task.definition}: {task.row}, {task.column}"
            if why := refusal(task, limits, largest.expected_s(task), time.monotonic() - started):
                # A cell that had a run in an earlier turn is in the tables.
                if task.runs_done == 0:
                    skipped += 1
                    say(f"{place}: skipped, {why}")
                task.excluded = True
                continue
            try:
                if needs_warm_up(task, limits):
                    program.run(task.cell, time_limit_s)
                pair = program.run(task.cell, time_limit_s)
            except RunFailed as error:
                failed += 1
                task.excluded = True
                say(f"{place}: FAILED: {error}")
                continue
            wall_s = pair["receiver"]["wall_s"]
            task.runs_done += 1
            runs += 1
            largest.record(task.cell, wall_s)
            folder.append(task.definition, line_of(task.row, task.column, task.runs_done, task.cell, pair))
            say(f"{place}: {wall_s:.3f} s (run {task.runs_done} of {limits.runs})")
    return runs, skipped, failed
