"""A party whose table is a DataFrame: sessions and tables for the tests, and, as a program, a party in a process of its own.

    party_on_spark.py JOB.json

prints the ids of the matching rows and the report as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROWS, COMMON = 2**16, 20_000
"""What most tests have on either side."""


def session(master: str, folder: Path, misfortunes: Path | None = None, **settings: str) -> Any:
    """A session. Its executors have the tests' hooks if there is a folder for misfortunes."""
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.remote(master) if settings.pop("connect", "") else SparkSession.builder.master(master)
    )
    given = {
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(folder / "local"),
        **settings,
    }
    if misfortunes is not None:
        given["spark.executorEnv.VESICA_MISFORTUNES"] = str(misfortunes)
        given["spark.executorEnv.PYTHONPATH"] = str(HERE / "hooks")
    for name, value in given.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    if hasattr(made, "_jsparkSession"):
        made.sparkContext.setLogLevel("OFF")
    return made


def table(spark: Any, owner: str, rows: int, common: int) -> Any:
    """``common`` addresses are in the tables of all owners, in upper case with the first owner; every 1000th row has none, and
    every 500th has the address of row 0. Two columns have one name."""
    shared = "case when '{0}' = 'receiver' then upper(concat('shared', id, '@example.org')) else concat('shared', id, '@example.org') end"
    address = f"""case when id % 1000 = 999 then null when id % 500 = 499 then 'SHARED0@example.org'
        when id < {common} then {shared.format(owner)} else concat('{owner}', id, '@example.org') end"""
    return spark.range(0, rows, 1, 3).selectExpr(
        "id", f"{address} as `e.mail`", "id * 0.5 as note", "cast(id as string) as note"
    )


def expected(rows: int, common: int) -> list[int]:
    """The ids of the matching rows of such a table, if the partner's has as many rows or more."""
    return [i for i in range(rows) if i % 1000 != 999 and (i < common or i % 500 == 499)]


def text(owner: str, rows: int, common: int) -> str:
    """The table of a party as CSV, for the program."""
    lines = ["id,mail"]
    for i in range(rows):
        mail = f"{owner}{i}@example.org"
        if i < common:
            mail = f"SHARED{i}@EXAMPLE.ORG" if owner == "receiver" else f"shared{i}@example.org"
        if i % 500 == 499:
            mail = "SHARED0@example.org"
        lines.append(f"{i},{'' if i % 1000 == 999 else mail}")
    return "\n".join(lines) + "\n"


def ids(frame: Any) -> list[int]:
    return sorted(row[0] for row in frame.select("id").collect())


def party(
    folder: Path,
    misfortunes: Path | None,
    role: str,
    rows: int,
    arguments: dict[str, Any],
    later: Path | None = None,
    **settings: str,
) -> Any:
    """A party on a cluster of its own, in a process of its own. Once its session is there, it waits for the file ``later``
    with more arguments, if it is given: so a partner with a short time-out need not wait for Spark's start."""
    from scene import Party

    master = settings.pop("master", "local-cluster[1,1,1024]")
    job = {
        "role": role,
        "rows": rows,
        "common": COMMON,
        "master": master,
        "misfortunes": misfortunes and str(misfortunes),
        "later": later and str(later),
    }
    path = folder / f"{role}-on-spark.json"
    path.write_text(json.dumps({**job, "arguments": arguments, "settings": settings}, default=str))
    return Party([sys.executable, str(HERE / "party_on_spark.py"), str(path)], folder)


def main() -> None:
    import vesica.spark

    job = json.loads(Path(sys.argv[1]).read_text())
    spark = session(
        job["master"],
        Path(sys.argv[1]).parent / job["role"],
        job["misfortunes"] and Path(job["misfortunes"]),
        **job["settings"],
    )
    df = table(spark, job["role"], job["rows"], job["common"])
    if job["later"]:
        print(f"{df.count()} rows are there", file=sys.stderr, flush=True)
        while not Path(job["later"]).exists():
            time.sleep(0.1)
        job["arguments"].update(json.loads(Path(job["later"]).read_text()))
    reports: list[Any] = []
    arguments = {"key": "e.mail:email", "timeout": "280s", "report": reports.append, **job["arguments"]}
    if job["role"] == "receiver":
        print(json.dumps({"ids": ids(vesica.spark.receive(df, **arguments)), "report": reports[0].to_dict()}))
    else:
        print(json.dumps({"report": vesica.spark.send(df, **arguments).to_dict()}))
    spark.stop()


if __name__ == "__main__":
    main()
