"""A model of runs that no machine here can do: 10^9 rows and more, in parts, on clusters. `python benchmarks/scale-model.py`

It takes what one part was measured to take from a record of benchmarks, and computes from it what many parts would take on
many cores over a network. **Every figure that it prints is a model's.** Nothing of it was measured but the part itself.

    parts    = waves · (time of a part + flights · round trip / 2) · losses       waves = ⌈B / cores⌉
    network  = bytes of all parts / the cards of the relays
    the rest = start, shuffles and the last join: STARTING_S + rows / (cores · ROWS_A_CORE_S)

`losses` is a simulation with a fixed seed: tasks that take unequally long, some of which are lost and played again in a
round of their own.
"""

import argparse
import csv
import heapq
import json
import math
import random
import statistics
from dataclasses import dataclass
from pathlib import Path

RECORD = Path(__file__).parent / "record" / "2026-11-22-zen4"

# What the model takes for granted. The flights are those of `vesica plan`.
ITEMS_A_PART = 2**20
FLIGHTS = 13
ROUND_TRIP_S = 0.010
STARTING_S = 20
ROWS_A_CORE_S = 170_000
LOST = 0.02
SPREAD = 0.1
CORE_HOUR = 0.05
LEAVING_A_CLOUD_GB = 0.09
SEED = 20261123


@dataclass(frozen=True)
class Part:
    """What a part of so many items a side takes, as measured: seconds on a core, and bytes of each direction."""

    seconds: float
    from_receiver: float
    from_sender: float

    @property
    def bytes(self):
        return self.from_receiver + self.from_sender


@dataclass(frozen=True)
class Cluster:
    """Rows of each side, cores of each side, relays and the rate of each one's card."""

    rows: int
    cores: int
    gbit_s: float
    relays: int = 1


CLUSTERS = [
    Cluster(10**9, 64, 10),
    Cluster(2**30, 64, 10),
    Cluster(2**32, 256, 25),
    Cluster(2**32, 1000, 25, relays=4),
]


def bound(items, parts):
    """Items that each of so many parts is padded to (the formula of crates/encode/src/items/parts.rs)."""
    if parts == 1:
        return items
    a = -(-(41 + (parts - 1).bit_length()) * 45427 // 65536)
    mean, third = -(-items // parts), -(-a // 3)
    square = 2 * a * mean + third * third
    root = math.isqrt(square)
    return min(items, mean + third + root + (root * root < square))


def measured(record):
    """The medians of `vole` in malicious runs over loopback with a thread a side, by the number of items of each side."""
    runs = {}
    for path in sorted(Path(record).glob("*.csv")):
        with open(path, newline="", encoding="utf-8") as file:
            for line in csv.DictReader(file):
                if "cell" not in line or not line.get("wall_s"):
                    continue
                cell = json.loads(line["cell"])
                plain = {"protocol", "receiver", "sender", "security"}
                if cell["protocol"] != "vole" or cell.get("security") != "malicious" or set(cell) - plain:
                    continue
                if cell["receiver"] == cell["sender"]:
                    figures = [float(line[name]) for name in ("wall_s", "sent_receiver", "sent_sender")]
                    runs.setdefault(cell["receiver"], []).append(figures)
    return {items: Part(*map(statistics.median, zip(*figures))) for items, figures in sorted(runs.items())}


def part_of(points, items):
    """A part of so many items: on the line through the two measured sizes around it, or through the two nearest ones."""
    sizes = list(points)
    if len(sizes) < 2:
        raise SystemExit("the record has fewer than two sizes of `vole` in malicious runs")
    above = min(max(next((i for i, size in enumerate(sizes) if size >= items), len(sizes) - 1), 1), len(sizes) - 1)
    (low, lower), (high, upper) = [(size, points[size]) for size in (sizes[above - 1], sizes[above])]
    share = (items - low) / (high - low)
    between = [a + share * (b - a) for a, b in zip(vars(lower).values(), vars(upper).values())]
    return Part(*between)


def losses(parts, slots, rng):
    """How much longer unequal tasks, some of which are lost, take than as many equal ones in full waves."""
    missing, now = parts, 0.0
    while missing:
        free, lost = [now] * min(slots, missing), 0
        for _ in range(missing):
            length = rng.uniform(1 - SPREAD, 1 + SPREAD)
            if rng.random() < LOST:
                length, lost = length * rng.random(), lost + 1
            heapq.heappush(free, heapq.heappop(free) + length)
        # A round ends with its last part.
        missing, now = lost, max(free)
    return now / math.ceil(parts / slots)


def model(cluster, points):
    """All figures of a line of the table."""
    parts = math.ceil(cluster.rows / ITEMS_A_PART)
    part = part_of(points, bound(cluster.rows, parts))
    waves = math.ceil(parts / cluster.cores)
    factor = statistics.mean(losses(parts, cluster.cores, random.Random(SEED + run)) for run in range(20))
    parts_s = waves * (part.seconds + FLIGHTS * ROUND_TRIP_S / 2) * factor
    traffic = parts * part.bytes
    network_s = traffic * 8 / (cluster.relays * cluster.gbit_s * 1e9)
    rest_s = STARTING_S + cluster.rows / (cluster.cores * ROWS_A_CORE_S)
    total_s = parts_s + network_s + rest_s
    return {
        "parts": parts,
        "traffic_gb": traffic / 1e9,
        "losses": factor,
        "parts_s": parts_s,
        "network_s": network_s,
        "total_s": total_s,
        "compute": cluster.cores * total_s / 3600 * CORE_HOUR,
        "internet": parts * max(part.from_receiver, part.from_sender) / 1e9 * LEAVING_A_CLOUD_GB,
    }


def rows(count):
    """2^30, or 10^9, or the number itself."""
    for base in (2, 10):
        power = round(math.log(count, base))
        if base**power == count:
            return f"{base}^{power}"
    return str(count)


def line(cluster, figures):
    """A line of the table; all of it is a model's."""
    rate = f"{cluster.gbit_s:g} Gbit/s"
    network = rate if cluster.relays == 1 else f"{cluster.relays} relays of {rate}"
    times = f"{figures['parts_s']:.0f} s / {figures['network_s']:.0f} s / {figures['total_s'] / 60:.1f} min"
    cost = f"{figures['compute']:.2f} + {figures['internet']:.1f}"
    cells = [rows(cluster.rows), cluster.cores, network, figures["parts"], f"{figures['traffic_gb']:.0f} GB", times, cost]
    return f"| {' | '.join(map(str, cells))} |"


def table(points):
    """The table in Markdown."""
    head = ["rows a side", "cores a side", "network", "parts", "traffic", "parts / network / in all", "$ a side, cores + internet"]
    rule = "| " + " | ".join("---" for _ in head) + " |"
    return "\n".join([f"| {' | '.join(head)} |", rule, *(line(cluster, model(cluster, points)) for cluster in CLUSTERS)])


def main():
    parser = argparse.ArgumentParser(description="A model of runs on clusters. None of its figures was measured.")
    parser.add_argument("record", nargs="?", type=Path, default=RECORD, help="the folder of the record of a part")
    points = measured(parser.parse_args().record)
    part = part_of(points, ITEMS_A_PART)
    print(f"Measured: a part of 2^20 items takes {part.seconds:.2f} s on one core and {part.bytes / 1e6:.1f} MB.")
    print("**All figures of the table are a model's, and none was measured.**\n")
    print(table(points))


if __name__ == "__main__":
    main()
