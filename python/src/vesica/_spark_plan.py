"""What a run on Spark needs of a cluster, before it is started."""

from __future__ import annotations

import re
from math import isqrt
from typing import NamedTuple

__all__ = ["Requirements", "bound", "requirements", "worker_misses"]

_ITEMS_OF_A_PART = 1 << 20
_PART_BYTES = 294_000_000
"""Memory of a part of 2^20 items in Rust: `vole`, against malicious parties."""
_WORKER_BYTES = 200_000_000
"""Memory of a Python worker with Arrow."""
_SHUFFLE_BYTES = 72
"""Of a row on Spark's local disks: 16 of the mark by which it is counted, 40 of its item and fingerprint, 16 of what it is
joined by. (Its columns come on top.)"""
_SHUFFLE_PARTITIONS = 200
"""What Spark has by default."""
_ITEM_BYTES = 48
"""Of a matched item in ``workdir``."""


def bound(items: int, parts: int) -> int:
    """M: the items of one part at most, except with probability 2^-40 in a whole run (``docs/scale.md``)."""
    if parts == 1:
        return items
    a = -(-(41 + (parts - 1).bit_length()) * 45427 // 65536)
    mean, third = -(-items // parts), -(-a // 3)
    root = 2 * a * mean + third * third
    return min(items, mean + third + isqrt(root - 1) + 1 if root else mean + third)


class Requirements(NamedTuple):
    """What a cluster needs for a run. Printed, it is a list of settings."""

    parts: int
    """Parts of the run."""
    part_items: int
    """Keys of a part, padding included."""
    slots: int
    """Parts that an executor plays at once."""
    memory_overhead: int
    """Bytes that an executor needs beside Java's heap."""
    shuffle_partitions: int
    """Tasks behind a shuffle of Spark's own: of the count, and of the join of the rows."""
    shuffle_bytes: int
    """On the local disks of all executors together."""
    workdir_bytes: int
    """At most, in ``workdir``."""

    def __str__(self) -> str:
        mebibytes = -(-self.memory_overhead >> 20)
        return "\n".join(
            [
                f"{self.parts} parts of {self.part_items:,} keys, padding included; {self.slots} at once in an executor",
                f"spark.executor.memoryOverhead      {mebibytes}m",
                "spark.network.crypto.enabled       true",
                "spark.io.encryption.enabled        true",
                "spark.speculation                  false",
                f"spark.sql.shuffle.partitions       {self.shuffle_partitions}",
                f"local disks, all executors         {_gigabytes(self.shuffle_bytes)}",
                f"workdir, at most                   {_gigabytes(self.workdir_bytes)}",
            ]
        )


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB"


def requirements(
    receiver_rows: int, sender_rows: int, *, cores: int = 1, task_cpus: int = 1, parts: int | None = None
) -> Requirements:
    """What executors need for a run of these sizes, by formulas and not by measurement.

    Args:
        receiver_rows: Rows of the receiver's table.
        sender_rows: Rows of the sender's table.
        cores: Cores of an executor (``spark.executor.cores``).
        task_cpus: Cores of a task (``spark.task.cpus``).
        parts: At least so many parts; by default 2^20 keys a part.
    """
    larger, smaller = max(receiver_rows, sender_rows), min(receiver_rows, sender_rows)
    count = max(2, parts or 0, -(-larger // _ITEMS_OF_A_PART))
    slots = max(cores // task_cpus, 1)
    items = bound(larger, count)
    part_bytes = _PART_BYTES * items // _ITEMS_OF_A_PART
    overhead = slots * (part_bytes * 6 // 5 + _WORKER_BYTES)
    partitions, shuffled = max(_SHUFFLE_PARTITIONS, count), larger * _SHUFFLE_BYTES
    return Requirements(count, items, slots, overhead, partitions, shuffled, smaller * _ITEM_BYTES)


def worker_misses(error: BaseException | None) -> str | None:
    """What the Python of Spark's workers lacks, if that is why a job failed: a package, or the driver's version."""
    while error is not None:
        text = str(error)
        found = re.search(r"^(?:\w+\.)*(?:ModuleNotFound|Import|PySparkImport)Error: (.+)$", text, re.MULTILINE)
        if found is not None:
            return found[1][:200]
        if isinstance(error, ImportError):
            return text[:200]
        found = re.search(r"Python in worker has different version[^\n]*", text)
        if found is not None:
            return found[0][:200]
        error = error.__cause__ or error.__context__
    return None
