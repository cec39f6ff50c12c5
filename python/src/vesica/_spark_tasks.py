"""What runs on Spark's executors: functions from Arrow batches to Arrow batches, for ``mapInArrow``.

A task never raises for a reason that a repetition would not mend: Spark would repeat it. It returns a row that says why.

Spark's costs are by the row, so keys do not travel one by one: a *packed row* has up to 128 of them side by side, all of one
part or of one group. Batches have thousands of rows, so packed rows are not larger.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from . import _internal, errors, parts

__all__ = [
    "COUNTED",
    "FOUND",
    "HALVES",
    "ITEMS",
    "MARKS",
    "PLACED",
    "PROBED",
    "KeyColumns",
    "arrow",
    "count",
    "frame",
    "half_names",
    "halves",
    "halves_of_rows",
    "lookup",
    "marks",
    "place",
    "play",
    "play_here",
    "probe",
    "raised",
    "split",
    "with_halves",
]

Batches = Iterable[pa.RecordBatch]

PROBED = "host string, version string, failed string"
MARKS = "slot int, marks binary, note string"
COUNTED = "items long, sum long, note string"
ITEMS = "part int, items binary, fingerprints binary"
PLACED = f"slot int, {ITEMS}"
FOUND = "part int, receipt binary, item binary, matches long, distinct long, sum long, attempts long, failed string"
"""``vesica.parts.OUTPUT_SCHEMA``, as Spark writes it; but ``item`` has several items side by side."""
HALVES = "matched_first long, matched_second long"

_ROWS_AT_ONCE = (1 << 17, 1 << 19)
"""A task packs the keys of at least, and at most, so many rows at once."""


class KeyColumns(NamedTuple):
    """The columns of a DataFrame that make up its keys, and how digests are made from them."""

    names: list[str]
    """The columns' names in the caller's DataFrame."""
    places: list[int]
    """Their places in it."""
    rules: list[str]
    """The names of the keys that a row has (``vesica.parts.rules``)."""
    options: dict[str, Any]
    """What ``vesica.parts.digests`` takes: ``key`` or ``match``, and the rest."""

    def digests(self, batch: pa.RecordBatch) -> Any:
        """The digests of a batch of these columns alone, all of a row one after the other."""
        return parts.digests(batch.rename_columns(self.names), **self.options)


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


def _digests(batches: Batches, key: KeyColumns, groups: int) -> Iterator[parts.Digests]:
    """The digests of many batches at once, so that their packed rows are full, or nearly."""
    least, most = _ROWS_AT_ONCE
    enough = min(max(least, groups * 256), most)
    held: list[parts.Digests] = []

    def together() -> parts.Digests:
        digests = pa.concat_arrays([one.digests for one in held])
        return parts.Digests(digests, sum(one.nulls for one in held), sum(one.invalid for one in held))

    rows = 0
    for batch in batches:
        held.append(key.digests(batch))
        rows += batch.num_rows
        if rows >= enough:
            yield together()
            held.clear()
            rows = 0
    if held:
        yield together()


def marks(batches: Batches, key: KeyColumns, application_key: bytes, slots: pa.Array) -> Iterator[pa.RecordBatch]:
    """Marks of the keys in packed rows, which go to as many groups as there are slots; at the end a row with a note: how many
    rows, keys, nulls, invalid keys."""
    types = (pa.int32(), pa.binary(), pa.string())
    seen: dict[str, Any] = {"rows": 0, "keys": 0, "nulls": 0, "invalid": 0, "failed": None}
    try:
        for found in _digests(batches, key, len(slots)):
            seen["rows"] += len(found.digests) // len(key.rules)
            seen["keys"] += len(found.digests) - found.digests.null_count
            seen["nulls"] += found.nulls
            seen["invalid"] += found.invalid
            group, packed = _internal.marks(found.digests, application_key, len(slots))
            yield _batch({"slot": slots.take(group), "marks": packed, "note": [None] * len(group)}, types)
    except errors.VesicaError as error:
        seen["failed"] = told(error)
    yield _batch({"slot": [None], "marks": [None], "note": [json.dumps(seen)]}, types)


def count(batches: Batches) -> Iterator[pa.RecordBatch]:
    """How many different marks there are among all of some groups, and the sum of their fingerprints. Notes are passed on."""
    types = (pa.int64(), pa.int64(), pa.string())
    distinct = _internal.Distinct()
    for batch in batches:
        distinct.add(batch.column("marks"))
        notes = batch.column("note").drop_null()
        yield _batch({"items": [0] * len(notes), "sum": [0] * len(notes), "note": notes}, types)
    items, whole = distinct.count()
    yield _batch({"items": [items], "sum": [whole], "note": [None]}, types)


def split(
    batches: Batches, key: KeyColumns, application_key: bytes, items_key: bytes, count: int
) -> Iterator[pa.RecordBatch]:
    """Items with their fingerprints, packed by their part. Repeats that are not far apart are dropped."""
    types = (pa.int32(), pa.binary(), pa.binary())
    for found in _digests(batches, key, count):
        part, items, fingerprints = _internal.pack_items(found.digests, items_key, application_key, count)
        yield _batch({"part": part, "items": items, "fingerprints": fingerprints}, types)


def lookup(count: int, slots: dict[int, int]) -> pa.Array:
    """The slot of each part, null where the part is not wanted."""
    return pa.array([slots.get(part) for part in range(count)], pa.int32())


def place(batches: Batches, slots: pa.Array) -> Iterator[pa.RecordBatch]:
    """Items with the slot of their part. Items of parts without one are dropped."""
    for batch in batches:
        slot = slots.take(batch.column("part"))
        placed = pa.RecordBatch.from_arrays([slot, *batch.columns], names=["slot", *batch.schema.names])
        yield placed.filter(slot.is_valid())


def _unpacked(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Rows of :data:`vesica.parts.INPUT_SCHEMA`."""
    for batch in batches:
        held = batch.filter(batch.column("items").is_valid())
        columns = _internal.unpack_items(*(held.column(name) for name in ("part", "items", "fingerprints")))
        yield pa.RecordBatch.from_arrays(list(columns), schema=parts.INPUT_SCHEMA)


def _packed(batches: Batches) -> Iterator[pa.RecordBatch]:
    """What a part has found, with many matching items in a row."""
    for batch in batches:
        if batch.column("item").null_count == 0:
            packed = _internal.side_by_side(batch.column("item"))
            batch = batch.slice(0, len(packed)).set_column(parts.OUTPUT_SCHEMA.get_field_index("item"), "item", packed)
        yield batch


def play(batches: Batches, ticket: Any, played: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """Play the part that belongs to this task's partition, with all items that are in it."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    part = played[context.partitionId()]
    yield from _packed(parts.play(_unpacked(batches), ticket.of(part)))


def play_here(items: pa.Table, ticket: Any, cancel: Any) -> pa.Table:
    """Play a part in this process."""
    found = parts.play(_unpacked(items.to_batches()), ticket, cancel=cancel)
    return pa.Table.from_batches(_packed(found), parts.OUTPUT_SCHEMA)


def halves(batches: Batches, width: int) -> Iterator[pa.RecordBatch]:
    """The two halves of 16 bytes of every matching item."""
    for batch in batches:
        columns = _internal.halves(batch.column("item"), width)
        yield pa.RecordBatch.from_arrays(list(columns), names=["matched_first", "matched_second"])


def halves_of_rows(batches: Batches, key: KeyColumns, items_key: bytes, width: int) -> Iterator[pa.RecordBatch]:
    """Whole rows with the two halves of each of their keys' items as last columns, null where a row has no such key. Rows
    without any key are dropped."""
    count = len(key.rules)
    for batch in batches:
        digests = key.digests(batch.select(key.places)).digests
        halves = []
        has_key = None
        for rule in range(count):
            of_rule = digests.take(pa.array(range(rule, len(digests), count), pa.int64()))
            there = of_rule.is_valid()
            has_key = there if has_key is None else pc.or_(has_key, there)
            _, items = parts.keyed(of_rule.drop_null(), items_key, 1)
            # The items of the rows that have one, back in their rows.
            number = pc.subtract(pc.cumulative_sum(there.cast(pa.int64())), 1)
            number = pc.if_else(there, number, pa.scalar(None, pa.int64()))
            halves += [half.take(number) for half in _internal.halves(items, width)]
        for name, half in zip(half_names(count), halves):
            batch = batch.append_column(name, half)
        yield batch.filter(has_key)


def half_names(rules: int) -> list[str]:
    """The columns for the two halves of each key's item."""
    return [f"{half}{rule}" for rule in range(rules) for half in ("first", "second")]


def with_halves(schema: Any, rules: int) -> Any:
    """The schema of whole rows, with last columns for the halves of their keys' items."""
    from pyspark.sql.types import LongType, StructField, StructType

    return StructType([*schema.fields, *(StructField(name, LongType()) for name in half_names(rules))])


def arrow(frame: Any) -> pa.Table:
    """Packed items in a DataFrame, here."""
    schema = pa.schema([("part", pa.int32()), ("items", pa.binary()), ("fingerprints", pa.binary())])
    if hasattr(frame, "toArrow"):
        return frame.toArrow().cast(schema)
    return pa.Table.from_pylist([row.asDict() for row in frame.collect()], schema)


def frame(spark: Any, table: pa.Table) -> Any:
    """What a part has found, as a DataFrame."""
    rows = [tuple(row[name] for name in table.schema.names) for row in table.to_pylist()]
    return spark.createDataFrame(rows, FOUND)
