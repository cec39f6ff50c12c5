"""What tasks on Spark do with batches of keys, without Spark: packed rows hold what unpacked ones would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from vesica import UsageError, _internal, parts
from vesica import _spark_tasks as tasks
from vesica._spark_plan import requirements, worker_misses

OWN, ITEMS_KEY = bytes(range(32)), bytes(reversed(range(32)))
ROWS = 5000


def key(rule: str = "mail:email", **options: Any) -> tasks.KeyColumns:
    return tasks.KeyColumns(["mail"], [1], [rule], {"key": rule, **options})


def addresses() -> list[str | None]:
    """Every tenth row has no address, and the first half comes again."""
    each = [None if i % 10 == 9 else f"person{i}@example.org" for i in range(ROWS)]
    return each + each[: ROWS // 2]


def batches(size: int = 700) -> Iterator[pa.RecordBatch]:
    given = addresses()
    for start in range(0, len(given), size):
        yield pa.RecordBatch.from_pydict({"mail": given[start : start + size]})


def fingerprints() -> dict[bytes, int]:
    """Of each different item in one part."""
    batch = pa.RecordBatch.from_pydict({"mail": addresses()})
    digests = parts.digests(batch, "mail:email").digests.drop_null()
    return dict(zip(parts.keyed(digests, ITEMS_KEY, 1)[1].to_pylist(), parts.fingerprints(OWN, digests).to_pylist()))


def of(found: list[pa.RecordBatch]) -> list[dict[str, Any]]:
    return pa.Table.from_batches(found).to_pylist()


@pytest.mark.parametrize("groups", [1, 5])
def test_keys_are_counted_by_their_marks(groups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_ROWS_AT_ONCE", (1000, 1000))
    slots = pa.array([10 * group for group in range(groups)], pa.int32())
    rows = of(list(tasks.marks(batches(), key(), OWN, slots)))
    note = json.loads(rows[-1]["note"])
    assert note == {
        "rows": ROWS * 3 // 2,
        "keys": ROWS * 27 // 20,
        "nulls": ROWS * 3 // 20,
        "invalid": 0,
        "failed": None,
    }
    assert {row["slot"] for row in rows[:-1]} == set(slots.to_pylist())
    assert all(len(row["marks"]) <= 128 * 16 for row in rows[:-1])
    counted = []
    for slot in [*slots.to_pylist(), None]:
        mine = pa.Table.from_pylist([row for row in rows if row["slot"] == slot], pa.Table.from_pylist(rows).schema)
        counted += of(list(tasks.count(mine.to_batches(max_chunksize=7))))
    assert [row["note"] for row in counted if row["note"]] == [rows[-1]["note"]]
    expected = fingerprints()
    assert sum(row["items"] for row in counted) == len(expected)
    assert (sum(row["sum"] for row in counted) - sum(expected.values())) % 2**64 == 0


def test_what_is_wrong_with_a_key_is_in_the_note() -> None:
    batch = pa.RecordBatch.from_pydict({"mail": ["none"]})
    (row,) = of(list(tasks.marks([batch], key(), OWN, pa.array([0], pa.int32()))))
    assert "none" not in row["note"] and "email" in str(tasks.raised(json.loads(row["note"])["failed"]))


def test_an_empty_table_has_no_keys() -> None:
    empty = pa.RecordBatch.from_pydict({"mail": pa.array([], pa.string())})
    assert json.loads(of(list(tasks.marks([], key(), OWN, pa.array([0], pa.int32()))))[0]["note"])["rows"] == 0
    assert of(list(tasks.split([empty], key(), OWN, ITEMS_KEY, 3))) == []
    assert of(list(tasks.count([]))) == [{"items": 0, "sum": 0, "note": None}]


@pytest.mark.parametrize("security", ["malicious", "semi-honest"])
@pytest.mark.parametrize("count", [1, 4, 2000])
def test_items_are_packed_by_part(count: int, security: str) -> None:
    packed = list(tasks.split(batches(), key(security=security), OWN, ITEMS_KEY, count))
    assert all(len(row["fingerprints"]) <= 128 * 8 for row in of(packed))
    (wanted,) = tasks.split(batches(ROWS * 2), key(security=security), OWN, ITEMS_KEY, count)
    assert of(packed) == of([wanted])
    unpacked = list(tasks._unpacked(packed))
    assert all(batch.schema == parts.INPUT_SCHEMA for batch in unpacked)
    digests = parts.digests(pa.RecordBatch.from_pydict({"mail": addresses()}), "mail:email", security=security).digests
    columns = [*parts.keyed(digests, ITEMS_KEY, count), parts.fingerprints(OWN, digests)]
    expected = set(zip(*(column.drop_null().to_pylist() for column in columns)))
    assert {tuple(row.values()) for row in of(unpacked)} == expected


def test_rows_that_are_not_packed_are_refused() -> None:
    part = pa.array([1], pa.int32())
    for items, marks in [(b"a" * 32, b"b" * 7), (b"a" * 33, b"b" * 16), (b"", b""), (b"", b"b" * 8), (b"a" * 32, None)]:
        with pytest.raises(ValueError, match="no packed rows"):
            _internal.unpack_items(part, pa.array([items], pa.binary()), pa.array([marks], pa.binary()))
    with pytest.raises(TypeError, match="binary"):
        _internal.unpack_items(part, part, part)
    with pytest.raises(ValueError, match="16 bytes, or 32"):
        _internal.halves(pa.array([b"a"], pa.binary()), 24)
    with pytest.raises(ValueError, match="no packed rows"):
        _internal.unpack_items(pa.array([None], pa.int32()), pa.array([b"a" * 32]), pa.array([b"b" * 8]))
    with pytest.raises(ValueError, match="whole records"):
        _internal.halves(pa.array([b"a" * 33], pa.binary()), 32)
    with pytest.raises(ValueError, match="whole records"):
        _internal.Distinct().add(pa.array([b"a" * 17], pa.binary()))


def test_what_a_part_has_found_is_packed() -> None:
    first = pa.RecordBatch.from_pylist([{"part": 3, "receipt": b"r", "distinct": 9}], parts.OUTPUT_SCHEMA)
    items = [bytes([i]) * 32 for i in range(200)]
    found = [{"part": 3, "receipt": b"r", "item": item} for item in items]
    batch = pa.RecordBatch.from_pylist(found, parts.OUTPUT_SCHEMA)
    packed = list(tasks._packed([first, batch, batch.slice(190)]))
    assert packed[0].equals(first)
    assert [len(row["item"]) // 32 for row in of(packed[1:])] == [128, 72, 10]
    assert all(row["part"] == 3 and row["receipt"] == b"r" for row in of(packed))
    assert b"".join(row["item"] for row in of(packed[1:])) == b"".join([*items, *items[190:]])


@pytest.mark.parametrize("security", ["malicious", "semi-honest"])
def test_rows_have_the_halves_of_their_items(security: str) -> None:
    given = {"id": list(range(20)), "mail": [None if i % 5 == 4 else f"p{i % 10}@example.org" for i in range(20)]}
    batch = pa.RecordBatch.from_pydict(given)
    rows = of(list(tasks.halves_of_rows([batch], key(security=security), ITEMS_KEY, width := _width(security))))
    assert [row["id"] for row in rows] == [i for i in range(20) if i % 5 != 4]
    digests = parts.digests(batch.select(["mail"]), "mail:email", security=security).digests
    items = parts.keyed(digests, ITEMS_KEY, 1)[1].drop_null()
    matched = pa.RecordBatch.from_arrays([_internal.side_by_side(items)], names=["item"])
    halves = of(list(tasks.halves([matched], width)))
    assert [(row["first0"], row["second0"]) for row in rows] == [tuple(row.values()) for row in halves]
    assert len({tuple(row.values()) for row in halves}) == 8


def test_rows_with_several_keys_have_the_halves_of_each() -> None:
    given = {
        "id": [0, 1, 2, 3],
        "mail": ["a@e.org", None, None, "b@e.org"],
        "born": ["2024-02-29", "2024-03-01", None, None],
    }
    batch = pa.RecordBatch.from_pydict(given)
    match = ["mail:email", "born:date~1"]
    names = parts.rules("receiver", match=match)
    assert names == ["mail:email", "born:date", "born:date~-1", "born:date~+1"]
    assert parts.rules("sender", match=match) == match
    both = tasks.KeyColumns(["mail", "born"], [1, 2], names, {"match": match, "role": "receiver"})
    rows = of(list(tasks.halves_of_rows([batch], both, ITEMS_KEY, 32)))
    assert [row["id"] for row in rows] == [0, 1, 3]
    has = [[row[f"first{rule}"] is not None for rule in range(4)] for row in rows]
    assert has == [[True, True, True, True], [False, True, True, True], [True, False, False, False]]
    # Row 0 a day later is row 1, and row 1 a day earlier is row 0.
    halves = [[(row[f"first{rule}"], row[f"second{rule}"]) for rule in range(4)] for row in rows]
    assert halves[0][3] == halves[1][1] and halves[1][2] == halves[0][1]
    slots = pa.array([0], pa.int32())
    note = json.loads(of(list(tasks.marks([batch.select([1, 2])], both, OWN, slots)))[-1]["note"])
    assert note == {"rows": 4, "keys": 8, "nulls": 1, "invalid": 0, "failed": None}
    with pytest.raises(UsageError, match="give role"):
        parts.digests(batch, match=match)


def _width(security: str) -> int:
    return 32 if security == "malicious" else 16


def test_what_workers_lack_is_found_in_a_chain_of_errors() -> None:
    worker = """An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/usr/lib/spark/worker.py", line 1, in main
ModuleNotFoundError: No module named 'pyarrow'
"""
    outer = RuntimeError("Job aborted due to stage failure")
    outer.__cause__ = RuntimeError(worker)
    assert worker_misses(outer) == "No module named 'pyarrow'"
    installed = "pyspark.errors.exceptions.base.PySparkImportError: [PACKAGE_NOT_INSTALLED] PyArrow must be installed."
    assert "PyArrow must be installed" in str(worker_misses(RuntimeError(f"Traceback:\n{installed}\n")))
    versions = "Python in worker has different version: 3.9 than that in driver: 3.11, PySpark cannot run"
    assert str(worker_misses(RuntimeError(f"[PYTHON_VERSION_MISMATCH] {versions}"))).startswith(versions)
    assert worker_misses(ImportError("PyArrow >= 4.0.0 must be installed")) is not None
    assert worker_misses(RuntimeError("Mkdirs failed to create file:/proc/no (No such file or directory)")) is None


def test_requirements_ask_for_encrypted_disks() -> None:
    assert "spark.io.encryption.enabled        true" in str(requirements(10, 10))
