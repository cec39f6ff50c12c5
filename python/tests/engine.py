"""An engine in plain Python: the driver splits a table's rows, and processes play the parts."""

from __future__ import annotations

import contextlib
import socket
import threading
from multiprocessing import get_context
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from scene import Columns

from vesica import parts

APPLICATION_KEY = bytes(range(32))
WORKERS = get_context("spawn")


class Split(NamedTuple):
    """The rows of a table as the engine has them."""

    columns: Columns
    digests: parts.Digests
    fingerprints: Any

    @classmethod
    def of(cls, columns: Columns, key: str) -> Split:
        """Digests and fingerprints of the table's keys."""
        found = parts.digests(pa.RecordBatch.from_pydict(columns), key)
        return cls(columns, found, parts.fingerprints(APPLICATION_KEY, found.digests))

    @property
    def items(self) -> int:
        """Different keys."""
        return len(self.digests.digests.drop_null().unique())

    def of_part(self, job: parts.Job, part: int) -> list[pa.RecordBatch]:
        """The rows of a part, in two batches."""
        numbers, items = parts.keyed(self.digests.digests, job.items_key, job.count)
        batch = pa.RecordBatch.from_arrays([numbers, items, self.fingerprints], schema=parts.INPUT_SCHEMA)
        batch = batch.filter(pc.equal(numbers, part))
        return [batch.slice(0, 10), batch.slice(10)]

    def matching(self, job: parts.Job, rows: pa.Table, chosen: list[tuple[int, bytes]]) -> Columns:
        """The rows whose items are among those of the chosen receipts."""
        wanted = dict(chosen)
        found = {row["item"] for row in rows.to_pylist() if row["item"] and wanted[row["part"]] == row["receipt"]}
        _, items = parts.keyed(self.digests.digests, job.items_key, job.count)
        kept = [at for at, item in enumerate(items.to_pylist()) if item in found]
        return {name: [values[at] for at in kept] for name, values in self.columns.items()}


def task(batches: list[pa.RecordBatch], ticket: parts.PartTicket, reply: Any) -> None:
    """What a worker's process does."""
    reply.send(pa.Table.from_batches(parts.play(batches, ticket), parts.OUTPUT_SCHEMA))


class Worker:
    """A process that plays one part."""

    def __init__(self, split: Split, job: parts.Job, ticket: parts.PartTicket) -> None:
        self._reply, reply = WORKERS.Pipe(duplex=False)
        self.process = WORKERS.Process(target=task, args=(split.of_part(job, ticket.part), ticket, reply), daemon=True)
        self.process.start()
        reply.close()

    def result(self) -> pa.Table:
        """What the task gave back."""
        try:
            return self._reply.recv()
        finally:
            self.process.join()


def play(split: Split, job: parts.Job, ticket: parts.RoundTicket) -> pa.Table:
    """Plays the parts of a round, all at once."""
    workers = [Worker(split, job, ticket.of(part)) for part in ticket.parts]
    return pa.concat_tables([worker.result() for worker in workers])


def end(job: parts.Job, rows: pa.Table) -> list[tuple[int, bytes]]:
    """Ends a round with what its tasks gave back."""
    first = [row for row in rows.to_pylist() if row["item"] is None]
    receipts = [(row["part"], row["receipt"], row["matches"]) for row in first if row["receipt"]]
    attempts = [(row["part"], row["attempts"]) for row in first]
    return job.ended(receipts, attempts, [row["failed"] for row in first if row["failed"]])


class Tap:
    """Passes connections on, and stops the one that is marked when so many bytes have come back on it."""

    def __init__(self, to: str) -> None:
        host, port = to.rsplit(":", 1)
        self._to = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.stop_next: int | None = None
        self.stopped = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            client, _ = self._listener.accept()
            server = socket.create_connection(self._to)
            limit, self.stop_next = self.stop_next, None
            for source, sink, most in ((client, server, None), (server, client, limit)):
                threading.Thread(target=self._copy, args=(source, sink, most), daemon=True).start()

    def _copy(self, source: socket.socket, sink: socket.socket, most: int | None) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                passed += len(data)
                if most is not None and passed > most:
                    self.stopped.set()
                    continue
                sink.sendall(data)
            # Only this direction has ended: the other one may still have its DONE under way.
            sink.shutdown(socket.SHUT_WR)
            return
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
