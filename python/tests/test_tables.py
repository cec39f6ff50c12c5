"""Tables in, rows out: every kind, whole rows in their order, whatever else is in the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import adbc_driver_sqlite.dbapi
import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from scene import KINDS, columns_of, joined, people, table, write_csv

import vesica

MINE, THEIRS = people("receiver", 100, 40), people("sender", 80, 40)
JOINED = joined(MINE, THEIRS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_local(kind: str, other: str) -> None:
    mine = table(kind, MINE)
    found = vesica.local(mine, table(other, THEIRS), key="email:email")
    assert type(found) is type(mine)
    assert columns_of(found) == JOINED


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows_and_no_matches(kind: str) -> None:
    none = {name: [] for name in MINE}
    empty = table(kind, MINE).limit(0) if kind == "duckdb" else table(kind, MINE)[:0]
    for mine, theirs in [(empty, table(kind, THEIRS)), (table(kind, MINE), empty)]:
        found = vesica.local(mine, theirs, key="email:email")
        assert type(found) is type(mine)
        assert columns_of(found) == none


def test_the_index_and_every_type_of_pandas_stay() -> None:
    frame = pandas.DataFrame(MINE, index=[f"row {i}" for i in range(len(MINE["id"]))])
    frame["mixed"] = [object() if i % 2 else i for i in range(len(frame))]
    frame["when"] = pandas.Timestamp("2026-01-01", tz="Europe/Zurich")
    frame["group"] = pandas.Categorical(frame["note"])
    frame[7] = 1.5
    found = vesica.local(frame, table("polars", THEIRS), key="email:email")
    pandas.testing.assert_frame_equal(found, frame.iloc[JOINED["id"]])


def test_lazy_frames_slices_chunks_and_readers() -> None:
    theirs = table("pyarrow", THEIRS)
    lazy = vesica.local(table("polars", MINE).lazy(), theirs, key="email:email")
    assert isinstance(lazy, polars.LazyFrame)
    assert columns_of(lazy.collect()) == JOINED
    arrow = table("pyarrow", MINE)
    pieces = pyarrow.concat_tables([arrow[:10], arrow[10:10], arrow[10:]])
    assert columns_of(vesica.local(pieces, theirs, key="email:email")) == JOINED
    batch = vesica.local(arrow.to_batches()[0], theirs, key="email:email")
    assert isinstance(batch, pyarrow.RecordBatch)
    assert columns_of(batch) == JOINED
    reader = vesica.local(pieces.to_reader(), theirs, key="email:email")
    assert isinstance(reader, pyarrow.RecordBatchReader)
    assert columns_of(reader.read_all()) == JOINED


def test_schema_and_notes_of_an_arrow_table_stay() -> None:
    arrow = table("pyarrow", MINE).append_column("tag", pyarrow.array(MINE["note"]).dictionary_encode())
    arrow = arrow.replace_schema_metadata({"from": "the tests"})
    found = vesica.local(arrow, table("pandas", THEIRS), key="email:email")
    assert found.schema.equals(arrow.schema, check_metadata=True)
    assert found.column("tag").to_pylist() == JOINED["note"]


def test_labels_of_pandas_that_are_not_text_are_named_by_their_text() -> None:
    frame = pandas.DataFrame([[1, "ada@x.org"], [2, "bob@x.org"]])
    found = vesica.local(frame, frame[1:], key="1:email")
    pandas.testing.assert_frame_equal(found, frame[1:])
    frame.columns = pandas.MultiIndex.from_tuples([("a", "b"), ("c", "d")])
    found = vesica.local(frame, frame[:1], key="('c', 'd'):email")
    pandas.testing.assert_frame_equal(found, frame[:1])
    # Never a table without rows in its place.
    frame.columns = pandas.Index([1, "1"], dtype=object)
    with pytest.raises(vesica.VesicaError, match="more than one column `1`"):
        vesica.local(frame, frame, key="1:email")
    with pytest.raises(vesica.VesicaError, match="no column `2`"):
        vesica.local(frame, frame, key="2:email")


class Foreign:
    """A table that nobody knows."""

    def __init__(self, arrow: Any) -> None:
        self._arrow = arrow

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._arrow.__arrow_c_stream__(requested_schema)


def test_an_unknown_kind_comes_back_as_pyarrow() -> None:
    found = vesica.local(Foreign(table("pyarrow", MINE)), Foreign(table("polars", THEIRS)), key="email:email")
    assert isinstance(found, pyarrow.Table)
    assert columns_of(found) == JOINED


def test_a_relation_of_any_connection() -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "create table people as select range as id, 'p' || range || '@example.org' as email from range(99)"
        )
        relation = connection.sql("select * from people where id % 2 = 0 order by id desc")
        theirs = pandas.DataFrame({"mail": ["P4@example.org", "p5@example.org", "p90@example.org"]})
        found = vesica.local(relation, theirs, key=("email", "mail:email"))
        assert found.fetchall() == [(90, "p90@example.org"), (4, "p4@example.org")]


@pytest.mark.parametrize("fetch", ["fetch_arrow", "fetch_record_batch", "fetch_arrow_table"])
def test_a_query_by_adbc(fetch: str) -> None:
    with adbc_driver_sqlite.dbapi.connect() as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("people", table("pyarrow", MINE), mode="create")
        cursor.execute("select * from people order by id")
        found = vesica.local(getattr(cursor, fetch)(), table("pandas", THEIRS), key="email:email")
    rows = found.read_all() if isinstance(found, pyarrow.RecordBatchReader) else found
    assert isinstance(rows, pyarrow.Table)
    assert columns_of(rows) == JOINED


def test_paths_numbers_and_outputs(tmp_path: Path) -> None:
    write_csv(tmp_path / "mine.csv", MINE)
    write_csv(tmp_path / "expected.csv", JOINED)
    pyarrow.parquet.write_table(table("pyarrow", THEIRS), tmp_path / "theirs.parquet")
    out = vesica.local(
        tmp_path / "mine.csv", str(tmp_path / "theirs.parquet"), key="email:email", output=tmp_path / "out.csv"
    )
    assert out == tmp_path / "out.csv"
    assert out.read_text() == (tmp_path / "expected.csv").read_text()
    for mine in (tmp_path / "mine.csv", *(table(kind, MINE) for kind in KINDS)):
        numbers = vesica.local(mine, table("pandas", THEIRS), key="email:email", row_numbers=True)
        assert list(numbers) == JOINED["id"]
    written = vesica.local(
        table("polars", MINE), table("pandas", THEIRS), key="email:email", output=tmp_path / "out.arrow"
    )
    assert columns_of(pyarrow.ipc.open_stream(written.read_bytes()).read_all()) == JOINED
    with pytest.raises(vesica.UsageError, match="name one with output"):
        vesica.local(tmp_path / "mine.csv", table("pandas", THEIRS), key="email:email")
    with pytest.raises(vesica.OutputError, match="same file as an input"):
        vesica.local(tmp_path / "mine.csv", table("pandas", THEIRS), key="email:email", output=tmp_path / "mine.csv")


def test_folders_and_patterns(tmp_path: Path) -> None:
    write_csv(tmp_path / "expected.csv", JOINED)
    for folder in ("mine", "theirs"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "_SUCCESS").touch()
    for number in range(4):
        part = {name: values[26 * number : 26 * (number + 1)] for name, values in MINE.items()}
        write_csv(tmp_path / "mine" / f"part-{number}.csv", part)
    for number in range(2):
        rows = table("pyarrow", THEIRS).slice(41 * number, 41)
        pyarrow.parquet.write_table(rows, tmp_path / "theirs" / f"part-{number}.parquet")
    for mine in (tmp_path / "mine", f"{tmp_path}/mine/", tmp_path / "mine" / "part-*.csv"):
        out = vesica.local(mine, tmp_path / "theirs", key="email:email", output=tmp_path / "out.csv")
        assert out.read_text() == (tmp_path / "expected.csv").read_text()
        numbers = vesica.local(mine, tmp_path / "theirs", key="email:email", row_numbers=True)
        assert list(numbers) == JOINED["id"]
    with pytest.raises(vesica.UsageError, match="would become one of the files"):
        vesica.local(
            tmp_path / "mine", table("pandas", THEIRS), key="email:email", output=tmp_path / "mine" / "out.csv"
        )
    write_csv(tmp_path / "mine" / "part-4.csv", {"id": [1], "mail": ["a@example.org"]})
    with pytest.raises(vesica.InputError, match=r"part-4\.csv: cannot be in one table with .*part-0\.csv: column 2"):
        vesica.local(tmp_path / "mine", table("pandas", THEIRS), key="email:email", row_numbers=True)


def test_composite_keys_and_columns_of_other_names() -> None:
    mine = pandas.DataFrame({"name": ["Ada", "Bob", "Eve"], "born": [1, 2, 3], "E:mail": ["a@x", "b@x", "e@x"]})
    theirs = polars.DataFrame({"nom": [" ADA", "bob"], "born": [1, 3], "mail": ["A@x", "e@x"]})
    found = vesica.local(mine, theirs, key=[("name", "nom:text"), "born:int"])
    assert list(found["name"]) == ["Ada"]
    found = vesica.local(mine, theirs, key=('"E:mail"', "mail:email"))
    assert list(found["name"]) == ["Ada", "Eve"]


def test_options_do_what_the_command_line_does() -> None:
    mine, theirs = table("pandas", MINE), table("pandas", THEIRS)
    reports: list[vesica.Report] = []
    found = vesica.local(
        mine, theirs, key="email:email", protocol="dh", security="semi-honest", pad_to="pow2", threads=1, timeout=60, on_duplicates="first",
        report=reports.append,
    )  # fmt: skip
    assert list(found["id"]) == [row for row in JOINED["id"] if row != 101]
    report = reports[0]
    assert (report.protocol, report.sizes.shown_items, report.sizes.nulls, report.sizes.duplicates) == ("dh", 128, 1, 1)
    assert report.matches is not None and report.matches.rows == len(found)
    assert "128" in report.to_dict()["terms"]["level"] and report.phases[1].name == "read"
    numbers = pandas.DataFrame({"n": [3, 5, 7]})
    found = vesica.local(numbers, numbers[1:], key="n:int", protocol="ot-phasing", security="semi-honest", sigma=32)
    assert list(found["n"]) == [5, 7]
    assert report.keys is None and report.session is not None and report.started <= report.ended
    with pytest.raises(TypeError, match="protocoll"):
        vesica.local(mine, theirs, key="email:email", protocoll="dh")  # type: ignore[call-arg]
