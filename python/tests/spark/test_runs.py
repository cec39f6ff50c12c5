"""Spark and the program, in both roles, through what happens to clusters."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from middle import Middle, run_with
from party_on_spark import COMMON, ROWS, expected, ids, party, table, text
from scene import Party, command_line

import vesica
import vesica.parts
import vesica.spark
from vesica import _spark_tasks


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Program:
    """The program as the partner: it listens."""

    def __init__(
        self,
        folder: Path,
        keys: dict[str, str],
        role: str,
        rows: int = ROWS,
        common: int = COMMON,
        *more: str,
        timeout: str = "280s",
    ) -> None:
        (folder / f"{role}.csv").write_text(text(role, rows, common))
        self.folder, self.role = folder, role
        self.other = "sender" if role == "receiver" else "receiver"
        where = ["--output", "out.csv"] if role == "receiver" else []
        self.party: Party = command_line(
            folder, "receive" if role == "receiver" else "send", "--input", f"{role}.csv", "--key", "mail:email",
            "--listen", "127.0.0.1:0", "--identity", f"{role}.pem", "--peer", keys[self.other], "--timeout", timeout, *where, *more,
        )  # fmt: skip
        self.address = self.party.address()
        self.options: dict[str, Any] = {
            "key": "e.mail:email", "identity": folder / f"{self.other}.pem", "peer": keys[role], "connect": self.address,
            "workdir": str(folder / "work"), "parts": 8, "timeout": timeout,
        }  # fmt: skip

    def matched(self) -> list[int]:
        lines = (self.folder / "out.csv").read_text().splitlines()[1:]
        return sorted(int(line.split(",")[0]) for line in lines)


@contextmanager
def running(action: Any, program: Program, middle: Middle) -> Iterator[list[Any]]:
    """While it runs; at the end, or if the test fails, nothing of it goes on. Yields what will hold its result."""
    thread, outcome = run_with(action)
    failed = True
    try:
        yield outcome
        failed = False
    finally:
        middle.release.set()
        if failed:
            program.party.process.kill()
            middle.close()
        thread.join(300)
        middle.close()


def found_in(folder: Path) -> list[Path]:
    """Files below workdir that hold rows: an empty one is small."""
    return [file for file in (folder / "work").rglob("*.parquet") if file.stat().st_size > 1000]


def test_the_schema_is_that_of_parts(spark: Any) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    frame = spark.createDataFrame([], _spark_tasks.FOUND)
    assert to_arrow_schema(frame.schema).equals(vesica.parts.OUTPUT_SCHEMA)


def test_spark_receives(spark: Any, tmp_path: Path, keys: dict[str, str]) -> None:
    program = Program(tmp_path, keys, "sender")
    df, reports = table(spark, "receiver", ROWS, COMMON), []
    matched = vesica.spark.receive(df, report=reports.append, **program.options)
    assert program.party.end()[0] == 0, program.party.screen
    assert matched.columns == df.columns and matched.schema == df.schema
    # The matched items are few, so Spark sends them to all executors; many of them it would sort.
    threshold = "spark.sql.autoBroadcastJoinThreshold"
    before = spark.conf.get(threshold)
    for most in (before, "-1"):
        spark.conf.set(threshold, most)
        assert ids(matched) == expected(ROWS, COMMON)
    spark.conf.set(threshold, before)
    sizes = reports[0].sizes
    assert (sizes.rows, sizes.nulls) == (ROWS, len(range(999, ROWS, 1000)))
    assert sizes.items == len(
        {line.split(",")[1].lower() for line in text("receiver", ROWS, COMMON).splitlines()[1:]} - {""}
    )
    with pytest.raises(vesica.UsageError, match="holds a run already"):
        vesica.spark.receive(df, **program.options)


def test_rows_match_by_the_first_of_several_keys(spark: Any, tmp_path: Path, keys: dict[str, str]) -> None:
    """Against the program as the sender, with a rule that makes three keys of a row, and in the other roles."""
    mine = [
        (0, "Ada@e.org", "1815-12-10", "x"),
        (1, None, "1912-06-23", "y"),
        (2, "kurt@e.org", "1906-04-28", "z"),
        (3, "none@e.org", None, "x"),
        (4, None, "1912-06-22", None),
        (5, None, None, None),
    ]
    theirs = "mail,born\nada@e.org,1900-01-01\n,1912-06-23\nzoe@e.org,1906-04-27\n"
    (tmp_path / "theirs.csv").write_text(theirs)
    df = spark.createDataFrame(mine, "id long, mail string, born string, matched_by string")
    rules = ["mail:email", "born:date~1"]
    meet = ["--listen", "127.0.0.1:0", "--timeout", "280s", "--input", "theirs.csv"]
    rules_there = ["--match", rules[0], "--match", rules[1]]
    whom = {"timeout": "280s", "parts": 2, "match": rules}

    sender = command_line(tmp_path, "send", *meet, *rules_there, "--identity", "sender.pem", "--peer", keys["receiver"])
    found = vesica.spark.receive(
        df, connect=sender.address(), identity=tmp_path / "receiver.pem", peer=keys["sender"],
        workdir=str(tmp_path / "receives"), **whom,
    )  # fmt: skip
    assert sender.end()[0] == 0, sender.screen
    assert found.columns == [*df.columns, "matched_by_2"]
    assert sorted((row.id, row.matched_by_2) for row in found.collect()) == [
        (0, "mail:email"), (1, "born:date"), (2, "born:date~-1"), (4, "born:date~+1"),
    ]  # fmt: skip
    assert [row.matched_by for row in found.orderBy("id").collect()] == ["x", "y", "z", None]

    receiver = command_line(
        tmp_path,
        "receive",
        *meet,
        *rules_there,
        "--output",
        "out.csv",
        "--identity",
        "receiver.pem",
        "--peer",
        keys["sender"],
    )
    vesica.spark.send(
        df, connect=receiver.address(), identity=tmp_path / "sender.pem", peer=keys["receiver"],
        workdir=str(tmp_path / "sends"), **whom,
    )  # fmt: skip
    assert receiver.end()[0] == 0, receiver.screen
    assert (tmp_path / "out.csv").read_text().splitlines() == [
        "mail,born,matched_by",
        "ada@e.org,1900-01-01,mail:email",
        ",1912-06-23,born:date",
        "zoe@e.org,1906-04-27,born:date~+1",
    ]


def test_spark_sends(spark: Any, tmp_path: Path, keys: dict[str, str]) -> None:
    """The larger run: 2^20 rows at the partner."""
    program = Program(tmp_path, keys, "receiver", 2**20, COMMON)
    report = vesica.spark.send(table(spark, "sender", ROWS, COMMON), **program.options)
    assert program.party.end()[0] == 0, program.party.screen
    assert report.role == "sender" and report.result is None
    last = max(i for i in expected(ROWS, COMMON))
    assert [i for i in program.matched() if i <= last] == [i for i in expected(2**20, COMMON) if i <= last]
    assert program.matched() == expected(2**20, COMMON)
    assert not found_in(tmp_path)


def test_both_learn_and_rows_go_to_a_path(spark: Any, tmp_path: Path, keys: dict[str, str]) -> None:
    program = Program(tmp_path, keys, "receiver", ROWS, COMMON, "--learns", "both")
    df = table(spark, "sender", ROWS, COMMON).drop("note")
    report = vesica.spark.send(df, output=str(tmp_path / "rows"), learns="both", **program.options)
    assert program.party.end()[0] == 0, program.party.screen
    assert (
        ids(spark.read.parquet(str(tmp_path / "rows")))
        == ids(report.result)
        == expected(ROWS, COMMON)
        == program.matched()
    )


def test_an_empty_table(spark: Any, tmp_path: Path, keys: dict[str, str]) -> None:
    program = Program(tmp_path, keys, "sender", 3000, 100)
    df = table(spark, "receiver", 10, 5).where("id < 0")
    assert ids(vesica.spark.receive(df, **program.options)) == []
    assert program.party.end()[0] == 0, program.party.screen


def test_the_driver_plays(spark: Any, tmp_path: Path, keys: dict[str, str]) -> None:
    program = Program(tmp_path, keys, "sender")
    df = table(spark, "receiver", ROWS, COMMON)
    matched = vesica.spark.receive(df, play="driver", **program.options)
    assert program.party.end()[0] == 0, program.party.screen
    assert ids(matched) == expected(ROWS, COMMON)


def test_an_executor_killed_in_the_middle_of_a_part(spark: Any, tmp_path: Path, keys: dict[str, str]) -> None:
    program = Program(tmp_path, keys, "sender")
    middle = Middle(program.address, hold=3)
    df = table(spark, "receiver", ROWS, COMMON)
    options = {**program.options, "connect": middle.address}
    with running(lambda: vesica.spark.receive(df, **options), program, middle) as outcome:
        assert middle.held.wait(240), outcome
        middle.kill_executor_of(3)
        middle.release.set()
        assert program.party.end()[0] == 0, program.party.screen
    assert ids(outcome[0]) == expected(ROWS, COMMON)
    # The run, eight parts, and one of them again.
    assert len(middle.clients) == 1 + 8 + 1


def test_an_executor_killed_before_its_result_is_stored(
    spark: Any, tmp_path: Path, keys: dict[str, str], misfortunes: Path
) -> None:
    program = Program(tmp_path, keys, "sender")
    (misfortunes / "die-before-commit").write_text("5")
    matched = vesica.spark.receive(table(spark, "receiver", ROWS, COMMON), **program.options)
    assert program.party.end()[0] == 0, program.party.screen
    assert ids(matched) == expected(ROWS, COMMON)
    played = [file.name.split(".")[1] for file in misfortunes.glob("played.*")]
    assert sorted(played) == sorted([*map(str, range(8)), "5"])


def test_a_result_that_is_lost_means_a_second_round(
    spark: Any, tmp_path: Path, keys: dict[str, str], misfortunes: Path
) -> None:
    program = Program(tmp_path, keys, "receiver")
    (misfortunes / "lose").write_text("2")
    vesica.spark.send(table(spark, "sender", ROWS, COMMON), **program.options)
    assert program.party.end()[0] == 0, program.party.screen
    assert program.matched() == expected(ROWS, COMMON)
    played = [file.name.split(".")[1] for file in misfortunes.glob("played.*")]
    assert sorted(played) == sorted([*map(str, range(8)), "2"])


def test_the_partner_is_killed(spark: Any, tmp_path: Path, keys: dict[str, str]) -> None:
    program = Program(tmp_path, keys, "sender")
    middle = Middle(program.address, hold=2)
    df, options = (
        table(spark, "receiver", ROWS, COMMON),
        {**program.options, "connect": middle.address, "timeout": "20s"},
    )
    with running(lambda: vesica.spark.receive(df, **options), program, middle) as outcome:
        assert middle.held.wait(240), outcome
        program.party.process.kill()
        started = time.monotonic()
    assert isinstance(outcome[0], vesica.PartnerError) and outcome[0].exit_code == 69, outcome
    # Jobs have to be cancelled, and workdir emptied.
    assert time.monotonic() - started < 20 + 40
    assert not found_in(tmp_path)


def test_the_driver_is_killed(tmp_path: Path, keys: dict[str, str]) -> None:
    later = tmp_path / "later.json"
    spark = party(tmp_path, None, "sender", ROWS, {}, later=later, master="local[2]")
    spark.wait_for(f"{ROWS} rows")
    program = Program(tmp_path, keys, "receiver", timeout="40s")
    middle = Middle(program.address, hold=2)
    try:
        ready = tmp_path / "ready.json"
        ready.write_text(json.dumps({**program.options, "connect": middle.address}, default=str))
        ready.rename(later)
        assert middle.held.wait(240), program.party.process.poll()
        spark.process.kill()
        middle.release.set()
        started = time.monotonic()
        assert program.party.end()[0] == 69, program.party.screen
        assert time.monotonic() - started < 40 + 20
        assert not (tmp_path / "out.csv").exists()
    finally:
        spark.process.kill()
        program.party.process.kill()
        middle.close()


def test_a_table_that_changes(spark: Any, tmp_path: Path, keys: dict[str, str]) -> None:
    from pyspark.sql import functions as F

    program = Program(tmp_path, keys, "sender")
    # As many keys each time, and four of them are others.
    now = F.udf(lambda number: number if number > 3 else number + time.time_ns(), "long").asNondeterministic()
    df = table(spark, "receiver", ROWS, COMMON).withColumn("id", now("id"))
    df = df.withColumn("e.mail", F.concat(F.col("id").cast("string"), F.lit("@example.org")))
    with pytest.raises(vesica.InputError, match="has changed") as failed:
        vesica.spark.receive(df, **program.options)
    assert failed.value.exit_code == 65
    assert program.party.end()[0] == 69, program.party.screen


def test_what_is_refused_before_anything_long(spark: Any, tmp_path: Path, keys: dict[str, str]) -> None:
    df = table(spark, "receiver", 10, 5)
    usual: dict[str, Any] = {
        "key": "e.mail", "workdir": str(tmp_path / "work"), "identity": tmp_path / "receiver.pem", "peer": keys["sender"],
        "connect": "127.0.0.1:9",
    }  # fmt: skip
    wrong: list[tuple[type[vesica.VesicaError], str, dict[str, Any]]] = [
        (vesica.UsageError, "listen", {"listen": ":7400"}),
        (vesica.UsageError, "no order", {"on_duplicates": "first"}),
        (vesica.UsageError, "play=", {"play": "here"}),
        (vesica.InputError, "more than one column", {"key": "note"}),
        (vesica.InputError, "has no column", {"key": "e.mails"}),
        (vesica.InputError, "key is empty", {"on_null": "error", "key": "empty"}),
        (vesica.InputError, "same key", {"on_duplicates": "error", "key": "same"}),
        (vesica.InputError, "", {"key": "same:email"}),
        (vesica.OutputError, "cannot be written", {"workdir": "/proc/no"}),
        (vesica.PartnerError, "cannot reach", {"connect": "no.such.host.invalid:7400"}),
    ]
    df = df.selectExpr("*", "cast(null as string) as empty", "'one' as same")
    for kind, words, options in wrong:
        with pytest.raises(kind, match=words):
            vesica.spark.receive(df, **{**usual, **options})


def test_speculation(tmp_path: Path, keys: dict[str, str], misfortunes: Path) -> None:
    program = Program(tmp_path, keys, "sender")
    (misfortunes / "slow").write_text("-1")
    settings = {
        "spark.speculation": "true", "spark.speculation.quantile": "0.1", "spark.speculation.multiplier": "1.1",
        "spark.speculation.minTaskRuntime": "500ms", "master": "local-cluster[2,1,1024]",
    }  # fmt: skip
    spark = party(tmp_path, misfortunes, "receiver", ROWS, program.options, **settings)
    code, found = spark.end()
    assert code == 0, spark.screen
    assert "spark.speculation is on" in spark.screen
    assert program.party.end()[0] == 0, program.party.screen
    assert json.loads(found.splitlines()[-1])["ids"] == expected(ROWS, COMMON)


def test_spark_connect(tmp_path: Path, keys: dict[str, str]) -> None:
    program = Program(tmp_path, keys, "sender")
    spark = party(tmp_path, None, "receiver", ROWS, {**program.options, "slots": 2}, master="local[2]", connect="yes")
    code, found = spark.end()
    assert code == 0, spark.screen
    assert program.party.end()[0] == 0, program.party.screen
    assert json.loads(found.splitlines()[-1])["ids"] == expected(ROWS, COMMON)
