"""Misfortunes of Spark's Python workers, which the tests order by files in the folder VESICA_MISFORTUNES.

Python imports this at its start where its folder is on the path. A misfortune's file is named `KIND` and holds the part's
number (`-1`: any part); whoever can rename it meets it, once.
"""

import os
import signal
import sys
import time
from pathlib import Path

FOLDER = os.environ.get("VESICA_MISFORTUNES")


def meets(kind, part):
    order = Path(FOLDER) / kind
    try:
        if int(order.read_text()) not in (-1, part):
            return False
        order.rename(f"{order}.met.{os.getpid()}")
    except (FileNotFoundError, ValueError):
        return False
    return True


def end_of_executor():
    """The executor is Java, the parent of the daemon that is our parent."""
    process = os.getppid()
    while b"CoarseGrainedExecutorBackend" not in Path(f"/proc/{process}/cmdline").read_bytes():
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(process, signal.SIGKILL)
    time.sleep(60)


def install():
    from vesica import parts

    real = parts.play

    def play(batches, ticket, **options):
        part = ticket.part
        if meets("slow", part):
            time.sleep(12)
        found = list(real(batches, ticket, **options))
        (Path(FOLDER) / f"played.{part}.{time.time_ns()}").touch()
        if meets("die-before-commit", part):
            end_of_executor()
        if meets("lose", part):
            # The result is gone, and the task says so.
            import json

            import pyarrow

            told = {"kind": "partner", "side": "partner", "phase": "parts", "message": "lost", "remedy": "again"}
            row = {"part": part, "attempts": 1, "failed": json.dumps(told)}
            found = [pyarrow.RecordBatch.from_pylist([row], parts.OUTPUT_SCHEMA)]
        yield from found

    parts.play = play


class Patch:
    """Waits for `vesica.parts`, and changes it once it is there."""

    def find_spec(self, name, _path=None, _target=None):
        if name == "vesica._spark_tasks":
            sys.meta_path.remove(self)
            install()


if FOLDER:
    sys.meta_path.insert(0, Patch())
