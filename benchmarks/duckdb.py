#!/usr/bin/env python3
"""CPU time of a private join against DuckDB's plain join of the same two CSV files.

Vesica: two processes, `vesica receive` and `vesica send`, run with TLS on loopback and defaults, from the files to the
matching rows on disk. The CPU time is that of both processes together, from their start to their end.
DuckDB: one process reads both files, joins them and writes the receiver's matching rows. The CPU time is that of the
query alone, with all its threads, without the start of the interpreter.
Runs alternate. The script prints medians, and checks that both outputs hold the same rows.

    make bench-duckdb
    target/duckdb-venv/bin/python benchmarks/duckdb.py --rows 20 --runs 5 -- --profile fast

Arguments after `--` go to both Vesica processes.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

JOIN = """
import json, sys, time, duckdb
receiver, sender, output = sys.argv[1:]
connection = duckdb.connect()
cpu, wall = time.process_time(), time.perf_counter()
connection.execute(
    f"COPY (SELECT r.* FROM read_csv('{receiver}') r SEMI JOIN read_csv('{sender}') s ON r.email = s.email) "
    f"TO '{output}' (HEADER)"
)
print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall, duckdb.__version__]))
"""


def write_table(path, keys, rng):
    rng.shuffle(keys)
    with open(path, "w", encoding="ascii") as table:
        table.write("number,email,amount\n")
        for number, key in enumerate(keys):
            table.write(f"{number},person{key:08d}@example.org,{rng.randrange(100000) / 100:.2f}\n")


def make_tables(folder, log_rows):
    """Two tables of 2^log_rows rows, half of whose keys both have."""
    rows, rng = 1 << log_rows, random.Random(1)
    receiver, sender = folder / "receiver.csv", folder / "sender.csv"
    write_table(receiver, list(range(rows)), rng)
    write_table(sender, list(range(rows // 2, rows // 2 + rows)), rng)
    return receiver, sender


def plain_join(tables, output):
    found = subprocess.run(
        [sys.executable, "-c", JOIN, *map(str, tables), str(output)], check=True, capture_output=True, text=True
    )
    return json.loads(found.stdout)


def finish(process, role):
    """Waits for a process: its CPU seconds."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{role} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def private_join(program, folder, tables, output, port, options):
    def party(role, other, table, place):
        return [program, role, "--input", table, "--key", "email", "--identity", folder / f"{role}.pem", "--peer",
                f"@{folder / f'{other}.pub'}", "--quiet", "--report", folder / f"{role}.json", *place, *options]

    for old in [output, folder / "receive.json", folder / "send.json"]:
        old.unlink(missing_ok=True)
    started = time.perf_counter()
    receiver = subprocess.Popen(
        party("receive", "send", tables[0], ["--listen", f"127.0.0.1:{port}", "--output", output]))
    sender = subprocess.Popen(party("send", "receive", tables[1], ["--connect", f"127.0.0.1:{port}"]))
    cpu = finish(receiver, "receiver") + finish(sender, "sender")
    return cpu, time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="target/release/vesica")
    parser.add_argument("--rows", type=int, default=20, help="log2 of the rows of each table")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--port", type=int, default=47113)
    parser.add_argument("options", nargs="*", help="for both Vesica processes")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tables = make_tables(folder, args.rows)
        for role in ["receive", "send"]:
            public = subprocess.run(
                [args.program, "keygen", "--output", folder / f"{role}.pem"], check=True, capture_output=True
            ).stdout
            (folder / f"{role}.pub").write_bytes(public)
        plain, private = [], []
        for run in range(args.runs + 1):
            theirs = plain_join(tables, folder / "plain.csv")
            ours = private_join(
                args.program, folder, tables, folder / "private.csv", args.port + run, args.options)
            # The first run warms the caches of the files.
            if run > 0:
                plain.append(theirs)
                private.append(ours)
        if rows(folder / "plain.csv") != rows(folder / "private.csv"):
            sys.exit("the two joins found different rows")
        protocol = json.loads((folder / "receive.json").read_text()).get("protocol")
        print(f"2^{args.rows} rows a table, {len(rows(folder / 'plain.csv'))} matching, protocol {protocol}, "
              f"options {args.options}")
        report("DuckDB " + plain[0][2], plain)
        report("Vesica, both parties", private)
        ratios = [ours[0] / theirs[0] for ours, theirs in zip(private, plain)]
        print(f"ratio of CPU times: {statistics.median(ratios):.2f} (median of {len(ratios)} pairs of runs, "
              f"{min(ratios):.2f} to {max(ratios):.2f})")


def rows(path):
    """The rows of a table in a canonical order; numbers as DuckDB may have written them."""
    with open(path, encoding="ascii") as table:
        next(table)
        return sorted((number, key, float(amount)) for number, key, amount in (line.split(",") for line in table))


def report(name, runs):
    cpu, wall = ([run[i] for run in runs] for i in (0, 1))
    print(f"{name}: CPU {statistics.median(cpu):.3f} s ({min(cpu):.3f} to {max(cpu):.3f}), "
          f"wall {statistics.median(wall):.3f} s ({min(wall):.3f} to {max(wall):.3f})")


if __name__ == "__main__":
    main()
