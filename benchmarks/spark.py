"""Times a receiver on Spark against one on the program: `python benchmarks/spark.py VESICA --log-keys 20 --parts 16`

The sender is the program, on this machine, over loopback with TLS. Both tables are Parquet files of 2^N keys each, half
of them in common, which Spark writes beforehand. Spark has two executors of one core each (`local-cluster[2,1,1024]`);
the program has two threads a side. Printed is the time from the receiver's call to its matching rows in a file, with a
sender that has read its table and listens. Spark's start is not in it. Rows are counted after the clock has stopped.

PySpark, pyarrow and the package are needed: `target/spark/4.0.5/bin/python`, which `make test-spark` leaves behind, has
them.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from pyspark.sql import SparkSession

import vesica
import vesica.spark


def session(folder):
    settings = {
        "spark.driver.memory": "2g", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "16",
        "spark.sql.files.maxPartitionBytes": "32m", "spark.hadoop.parquet.block.size": str(32 << 20),
        "spark.executor.memory": "1g", "spark.local.dir": str(folder / "local"),
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def table(spark, folder, role, keys):
    """Half of the keys are those of the other table. One file, which the program can read, too."""
    key = f"concat(case when id % 2 = 1 then 'both' else '{role}' end, id) as id"
    spark.range(0, keys, 1, 2).selectExpr(key).coalesce(1).write.parquet(str(folder / "written"))
    (file,) = (folder / "written").glob("*.parquet")
    file.rename(folder / f"{role}.parquet")
    shutil.rmtree(folder / "written")


def party(program, folder, role, arguments):
    mine, other = ("receiver", "sender") if role == "receive" else ("sender", "receiver")
    peer = (folder / f"{other}.pub").read_text().strip()
    given = ["--input", f"{mine}.parquet", "--key", "id:text", "--identity", f"{mine}.pem", "--peer", peer]
    command = [program, role, *given, "--threads", "2", *arguments]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)


def sender(program, folder, arguments):
    """A sender that listens, and its address."""
    process = party(program, folder, "send", ["--listen", "127.0.0.1:0", *arguments])
    return process, next(found[1] for line in process.stderr if (found := re.match(r"listening on ([^;\s]+)", line)))


def ended(process):
    screen = process.communicate()[1]
    if process.returncode != 0:
        raise SystemExit(screen)


def on_the_program(program, folder, parts):
    sending, address = sender(program, folder, ["--parts", str(parts)])
    begun = time.monotonic()
    given = ["--connect", address, "--output", "program.parquet", "--parts", str(parts)]
    ended(party(program, folder, "receive", given))
    seconds = time.monotonic() - begun
    ended(sending)
    return seconds


def on_spark(spark, program, folder, parts):
    sending, address = sender(program, folder, ["--parts", str(parts)])
    for left in ("work", "spark.parquet"):
        shutil.rmtree(folder / left, ignore_errors=True)
    begun = time.monotonic()
    vesica.spark.receive(
        spark.read.parquet(str(folder / "receiver.parquet")), key="id:text", connect=address, parts=parts,
        identity=folder / "receiver.pem", peer=(folder / "sender.pub").read_text().strip(),
        workdir=str(folder / "work"), output=str(folder / "spark.parquet"),
    )
    seconds = time.monotonic() - begun
    ended(sending)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--log-keys", type=int, default=20)
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--folder", help="for tables and Spark's files; by default that of temporary files")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        folder = Path(folder)
        for side in ("receiver", "sender"):
            (folder / f"{side}.pub").write_text(vesica.keygen(folder / f"{side}.pem"))
        spark = session(folder)
        for side in ("receiver", "sender"):
            table(spark, folder, side, 2**arguments.log_keys)
        runs = {
            "the program": lambda: on_the_program(arguments.program, folder, arguments.parts),
            "Spark": lambda: on_spark(spark, arguments.program, folder, arguments.parts),
        }
        medians = []
        for name, run in runs.items():
            times = [run() for _ in range(arguments.runs)]
            medians.append(statistics.median(times))
            file = folder / ("program.parquet" if name == "the program" else "spark.parquet")
            rows = spark.read.parquet(str(file)).count()
            if rows != 2 ** (arguments.log_keys - 1):
                sys.exit(f"{name} as the receiver found {rows} rows")
            print(f"2^{arguments.log_keys} keys, {arguments.parts} parts, {name} as the receiver: "
                  f"median {medians[-1]:.2f} s of {[round(time, 2) for time in times]}, {rows} rows", flush=True)
        print(f"Spark takes {medians[1] / medians[0]:.1f} times as long")
        spark.stop()


if __name__ == "__main__":
    main()
