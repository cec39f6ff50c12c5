"""What runs on Spark's executors: functions from Arrow batches to Arrow batches, for ``mapInArrow``.

A task never raises for a reason that a repetition would not mend: Spark would repeat it. It returns a row that says why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from . import errors, parts

__all__ = [
    "COUNTED",
    "FOUND",
    "ITEMS",
    "PLACED",
    "PROBED",
    "KeyColumns",
    "arrow",
    "count",
    "frame",
    "items_of_rows",
    "lookup",
    "place",
    "play",
    "play_here",
    "probe",
    "raised",
    "split",
    "with_item",
]

Batches = Iterable[pa.RecordBatch]

PROBED = "host string, version string, failed string"
COUNTED = "item binary, fingerprint long, note string"
ITEMS = "part int, item binary, fingerprint long"
PLACED = f"slot int, {ITEMS}"
FOUND = "part int, receipt binary, item binary, matches long, distinct long, sum long, attempts long, failed string"
"""``vesica.parts.OUTPUT_SCHEMA``, as Spark writes it."""


class KeyColumns(NamedTuple):
    """The columns of a DataFrame that make up its key, and how digests are made from them."""

    names: list[str]
    """The columns' names in the caller's DataFrame."""
    places: list[int]
    """Their places in it."""
    specs: list[str]
    """``COLUMN[:RULE]``, as the caller gave them."""
    options: dict[str, Any]
    """What else ``vesica.parts.digests`` takes."""

    def digests(self, batch: pa.RecordBatch) -> Any:
        """The digests of a batch of these columns alone."""
        return parts.digests(batch.rename_columns(self.names), self.specs, **self.options)


def _batch(columns: dict[str, pa.Array | list[Any]], types: Sequence[pa.DataType]) -> pa.RecordBatch:
    arrays = [
        column.cast(kind) if isinstance(column, pa.Array) else pa.array(column, kind)
        for column, kind in zip(columns.values(), types)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def told(error: errors.VesicaError) -> str:
    """An error as text that a row can hold."""
    fields = {name: getattr(error, name) for name in ("kind", "side", "phase", "message", "remedy")}
    return json.dumps({**fields, "text": str(error)})


def raised(text: str) -> errors.VesicaError:
    """The error of that text."""
    fields = json.loads(text)
    kinds = {kind.kind: kind for kind in errors.VesicaError.__subclasses__()}
    return kinds.get(fields.pop("kind"), errors.InternalError)(fields.pop("text"), **fields)


def probe(addresses: Sequence[str], seconds: float) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """A task that says which Vesica the executor has, and whether the addresses can be reached from there.

    The function goes to the executor as a value, so it runs where Vesica is absent.
    """

    def probed(batches: Batches) -> Iterator[pa.RecordBatch]:
        import socket

        import pyarrow

        rows = sum(batch.num_rows for batch in batches)
        version, failed = None, None
        try:
            import vesica

            version = vesica.__version__
        except Exception as error:
            failed = f"{type(error).__name__}: {error}"
        for address in addresses if failed is None else []:
            host, _, port = address.rpartition(":")
            try:
                socket.create_connection((host.strip("[]"), int(port)), seconds).close()
            except ConnectionRefusedError:
                pass  # the host is there; the partner may start later
            except OSError as error:
                failed = f"{address}: {error}"
        host_name = socket.gethostname()
        columns = [[host_name] * rows, [version] * rows, [failed] * rows]
        text = pyarrow.string()
        arrays = [pyarrow.array(column, text) for column in columns]
        yield pyarrow.RecordBatch.from_arrays(arrays, names=["host", "version", "failed"])

    return probed


def _items(digests: pa.Array, run_key: bytes, items_key: bytes, count: int) -> list[pa.Array]:
    part, item = parts.keyed(digests, items_key, count)
    return [part, item, parts.fingerprints(run_key, digests)]


def count(batches: Batches, key: KeyColumns, application_key: bytes) -> Iterator[pa.RecordBatch]:
    """Rows with a keyed digest and its fingerprint; at the end one with a note: how many rows, nulls, invalid keys."""
    types = (pa.binary(), pa.int64(), pa.string())
    from pyspark import TaskContext

    context = TaskContext.get()
    seen = {"task": context.partitionId() if context else 0, "rows": 0, "nulls": 0, "invalid": 0, "failed": None}
    try:
        for batch in batches:
            digests = key.digests(batch)
            seen["rows"] += batch.num_rows
            seen["nulls"] += digests.nulls
            seen["invalid"] += digests.invalid
            distinct = pc.unique(digests.digests.drop_null())
            _, item, fingerprint = _items(distinct, application_key, application_key, 1)
            yield _batch({"item": item, "fingerprint": fingerprint, "note": [None] * len(item)}, types)
    except errors.VesicaError as error:
        seen["failed"] = told(error)
    yield _batch({"item": [None], "fingerprint": [None], "note": [json.dumps(seen)]}, types)


def split(
    batches: Batches, key: KeyColumns, application_key: bytes, items_key: bytes, count: int
) -> Iterator[pa.RecordBatch]:
    """Each row's part, item and fingerprint. Repeats within a batch are dropped."""
    for batch in batches:
        distinct = pc.unique(key.digests(batch).digests.drop_null())
        part, item, fingerprint = _items(distinct, application_key, items_key, count)
        yield _batch({"part": part, "item": item, "fingerprint": fingerprint}, (pa.int32(), pa.binary(), pa.int64()))


def lookup(count: int, slots: dict[int, int]) -> pa.Array:
    """The slot of each part, null where the part is not wanted."""
    return pa.array([slots.get(part) for part in range(count)], pa.int32())


def place(batches: Batches, slots: pa.Array) -> Iterator[pa.RecordBatch]:
    """Items with the slot of their part. Items of parts without one are dropped."""
    for batch in batches:
        slot = slots.take(batch.column("part"))
        placed = pa.RecordBatch.from_arrays([slot, *batch.columns], names=["slot", *batch.schema.names])
        yield placed.filter(slot.is_valid())


def play(batches: Batches, ticket: Any, played: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """Play the part that belongs to this task's partition, with all items that are in it."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    part = played[context.partitionId()]
    items = (batch.select(["part", "item", "fingerprint"]).filter(batch.column("item").is_valid()) for batch in batches)
    yield from parts.play(items, ticket.of(part))


def play_here(items: pa.Table, ticket: Any, cancel: Any) -> pa.Table:
    """Play a part in this process."""
    return pa.Table.from_batches(parts.play(items.to_batches(), ticket, cancel=cancel), parts.OUTPUT_SCHEMA)


def items_of_rows(batches: Batches, key: KeyColumns, items_key: bytes, count: int) -> Iterator[pa.RecordBatch]:
    """Whole rows with the item of their key as a last column."""
    for batch in batches:
        digests = key.digests(batch.select(key.places)).digests
        _, item = parts.keyed(digests, items_key, count)
        yield batch.append_column("item", item.cast(pa.binary()))


def with_item(schema: Any) -> Any:
    """The schema of whole rows, with a last column for the item of their key."""
    from pyspark.sql.types import BinaryType, StructType

    return StructType([*schema.fields]).add("item", BinaryType())


def arrow(frame: Any) -> pa.Table:
    """The items in a DataFrame, here."""
    schema = pa.schema([("part", pa.int32()), ("item", pa.binary()), ("fingerprint", pa.int64())])
    if hasattr(frame, "toArrow"):
        return frame.toArrow().cast(schema)
    return pa.Table.from_pylist([row.asDict() for row in frame.collect()], schema)


def frame(spark: Any, table: pa.Table) -> Any:
    """What a part has found, as a DataFrame."""
    rows = [tuple(row[name] for name in table.schema.names) for row in table.to_pylist()]
    return spark.createDataFrame(rows, FOUND)
