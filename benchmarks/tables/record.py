"""Records: a line of CSV for each run, a description of the machine, and the building blocks that criterion measured."""

import csv
import datetime
import json
import os
import platform
import re
from pathlib import Path

from .program import BenchError, key

FIGURES, CELLS, BLOCKS = "figures.csv", "cells.csv", "blocks.csv"

# Those revisions of a record's commands that the repository does not have, a line each.
ABSENT = "absent-revisions.txt"

# One run of one cell. What a sender sent includes what a helper sent.
COLUMNS = (
    "row", "column", "run", "wall_s", "sender_wall_s", "cpu_receiver_s", "cpu_sender_s", "peak_receiver", "peak_sender",
    "sent_receiver", "sent_sender", "phases", "sender_phases", "cell",
)
TEXTS = ("row", "column", "phases", "sender_phases", "cell")
BLOCK = ("group", "name", "elements", "median_ns", "least_ns", "most_ns")


def line_of(row, column, run, cell, pair):
    """The line of a run that succeeded."""
    receiver, sender, helper = pair["receiver"], pair["sender"], pair["helper"] or {"sent": 0}

    def phases(measured):
        """Phases without time are left out."""
        return " ".join(f"{name}={seconds:.4f}" for name, seconds in measured["phases"] if seconds >= 5e-5)

    values = (
        row, column, run, round(receiver["wall_s"], 6), round(sender["wall_s"], 6), round(receiver["cpu_s"], 6),
        round(sender["cpu_s"], 6), receiver["peak_bytes"], sender["peak_bytes"], receiver["sent"],
        sender["sent"] + helper["sent"], phases(receiver), phases(sender), key(cell),
    )
    return dict(zip(COLUMNS, values))


def phase_seconds(phases, name):
    """The seconds of a phase in a line's list of phases, if it is there; a phase that ran twice counts twice."""
    found = [float(seconds) for phase, _, seconds in (one.partition("=") for one in phases.split(" ")) if phase == name]
    return sum(found) if found else None


class Folder:
    """The folder of one machine's records of one day."""

    def __init__(self, path):
        self.path = Path(path)
        if not self.path.is_dir():
            raise BenchError(f"{path}: there is no such folder")

    @classmethod
    def open(cls, path, version):
        """Makes the folder if it is not there, and describes the machine in it."""
        Path(path).mkdir(parents=True, exist_ok=True)
        machine = Path(path) / "machine.txt"
        if not machine.exists():
            machine.write_text(describe_machine(version), encoding="utf-8")
        return cls(path)

    @property
    def name(self):
        """`<date>-<machine>`."""
        return self.path.resolve().name

    @property
    def machine_name(self):
        """The name without the date."""
        return re.sub(r"^\d{4}-\d\d-\d\d-", "", self.name)

    def text(self, name):
        """What a file of it says; nothing if it is not there."""
        path = self.path / name
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def read_all(self):
        """All lines of all definitions: a cell that several of them have is run once."""
        paths = [path for path in sorted(self.path.glob("*.csv")) if path.name not in (FIGURES, CELLS, BLOCKS)]
        return [line for path in paths for line in read_lines(path)]

    def note_command(self, command):
        """Adds a command to the list of those that made the record."""
        with open(self.path / "commands.txt", "a", encoding="utf-8") as file:
            file.write(f"{command}\n")

    def append(self, definition, line):
        """Adds a line. Each run is stored as soon as it is over, so that an interrupted benchmark can continue."""
        path = self.path / f"{definition.replace('/', '-')}.csv"
        new = not path.exists()
        with open(path, "a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(line)

    def blocks(self):
        """The building blocks of the record; none if they were never measured."""
        return list(csv.DictReader(self.text(BLOCKS).splitlines()))

    def keep_blocks(self, blocks):
        """Replaces the record's building blocks by these."""
        with open(self.path / BLOCKS, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, BLOCK, lineterminator="\n")
            writer.writeheader()
            writer.writerows(blocks)


def read_lines(path):
    """The lines of a file of runs."""
    with open(path, encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        try:
            for name in COLUMNS:
                line[name] = line.get(name, "") if name in TEXTS else float(line[name])
        except (KeyError, TypeError, ValueError) as error:
            raise BenchError(f"{path}: it is no record of runs: {error!r}") from error
    return lines


def by_cell(lines):
    """The lines of each cell."""
    cells = {}
    for line in lines:
        cells.setdefault(line["cell"], []).append(line)
    return cells


def collect_blocks(criterion):
    """What criterion measured in the last run of each benchmark below its folder, in nanoseconds an element."""
    blocks = []
    for folder in Path(criterion).rglob("new"):
        try:
            about = json.loads((folder / "benchmark.json").read_text(encoding="utf-8"))
            median = json.loads((folder / "estimates.json").read_text(encoding="utf-8"))["median"]
            elements = max((about.get("throughput") or {}).get("Elements", 1), 1)
            interval = median["confidence_interval"]
            times = (median["point_estimate"], interval["lower_bound"], interval["upper_bound"])
            names = (about["group_id"], about.get("function_id") or "")
        except (OSError, ValueError, KeyError) as error:
            raise BenchError(f"{folder}: it is no result of criterion: {error!r}") from error
        blocks.append(dict(zip(BLOCK, (*names, elements, *(time / elements for time in times)))))
    return sorted(blocks, key=lambda block: (block["group"], block["name"]))


def revisions(commands):
    """The revisions that a list of commands names."""
    return re.findall(r"(?m)^[^:]*\brevision ([0-9a-f]+):", commands)


def today():
    """Today, as 2026-11-21."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def processor():
    """What the system says of the first processor."""
    path = Path("/proc/cpuinfo")
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    pairs = [line.partition(":") for line in text.split("\n\n")[0].splitlines()]
    return {name.strip(): value.strip() for name, _, value in pairs}


def default_name():
    """The folder name of a new record: `<date>-<machine>`."""
    words = re.findall("[a-z0-9]+", processor().get("model name", "unknown").lower())
    words = [word for word in words if word not in ("r", "tm", "cpu", "processor")]
    return f"{today()}-{'-'.join(words[:4])}"


def describe_machine(version):
    """Processor, cores, memory, system and version, a line each."""
    cpu, flags = processor(), processor().get("flags", "").split()
    wanted = ("aes", "avx2", "avx512f", "avx512ifma", "gfni", "vaes", "vpclmulqdq")
    name, family, model = (cpu.get(field, "unknown") for field in ("model name", "cpu family", "model"))
    meminfo = Path("/proc/meminfo")
    memory = meminfo.read_text(encoding="utf-8").split()[1] if meminfo.exists() else "unknown"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"processor: {name} (family {family}, model {model})\n"
        f"instructions: {' '.join(flag for flag in wanted if flag in flags)}\n"
        f"cores: {cores}\nmemory: {memory} KiB\nsystem: {platform.release()}\nvesica: {version}\n"
    )
