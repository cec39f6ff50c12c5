"""The main job through Python against the command line: the same rows, the same protocol, one after the other on this machine.

    python python/benchmarks/main_job.py --program target/release/vesica [--log2 20] [--runs 5]

Both parties of a run are processes that meet over TLS on loopback. Each Python party holds its table as Arrow; a command line
party reads the same table from an Arrow file. What is timed is the receiver's run, from its start with the table at hand (Python)
or in its file (command line) to the matching rows, by its own report; and the whole process too. The two take turns, so that a
machine that grows slower is as slow for both. The result is compared with the plain join after the clock has stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.ipc

import vesica


def make(folder: Path, rows: int) -> None:
    """Two tables that share a tenth of their keys."""
    for role, start in (("receiver", 0), ("sender", rows - rows // 10)):
        ids = range(start, start + rows)
        table = pyarrow.table({"id": ids, "mail": [f"person{i}@example.org" for i in ids]})
        with pyarrow.ipc.new_file(folder / f"{role}.arrow", table.schema) as writer:
            writer.write_table(table)


def load(path: str) -> Any:
    """The table in memory: a data frame is not a file."""
    with pyarrow.OSFile(path) as source:
        return pyarrow.ipc.open_file(source).read_all()


def party(role: str, options: dict[str, Any]) -> None:
    """One Python party; says when its table is ready, and at the end what the run took."""
    # As the command line does.
    vesica.keep_freed_memory()
    table = load(f"{role}.arrow")
    memory = resident()
    print("ready", flush=True)
    address = sys.stdin.readline().strip()
    reports: list[vesica.Report] = []
    common = {"key": "mail:email", "identity": f"{role}.pem", "report": reports.append, **options}
    started = time.perf_counter()
    if role == "sender":

        def heard(event: vesica.Event) -> None:
            if event["event"] == "listening":
                print(event["address"], flush=True)

        vesica.send(table, listen="127.0.0.1:0", events=heard, **common)
        rows = -1
    else:
        found = vesica.receive(table, connect=address, **common)
        rows = found.num_rows
    took = time.perf_counter() - started
    print(json.dumps({"took": took, "rows": rows, "before": memory, "peak": peak(), "report": reports[0].to_dict()}))


def resident() -> int:
    """Resident memory of this process now, in bytes (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak() -> int:
    """Peak resident memory of this process in bytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def python_run(folder: Path, keys: dict[str, str], options: dict[str, Any]) -> dict[str, Any]:
    def start(role: str, peer: str) -> subprocess.Popen[str]:
        arguments = [
            sys.executable,
            os.path.abspath(__file__),
            "--party",
            role,
            json.dumps({**options, "peer": keys[peer]}),
        ]
        return subprocess.Popen(arguments, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    sender, receiver = start("sender", "receiver"), start("receiver", "sender")
    assert sender.stdin and sender.stdout and receiver.stdin and receiver.stdout
    assert sender.stdout.readline() == "ready\n" and receiver.stdout.readline() == "ready\n"
    sender.stdin.write("\n")
    sender.stdin.flush()
    receiver.stdin.write(sender.stdout.readline())
    receiver.stdin.flush()
    ended = json.loads(receiver.stdout.read())
    assert receiver.wait() == 0 and sender.wait() == 0
    return ended


def command_line_run(program: str, folder: Path, keys: dict[str, str], options: dict[str, Any]) -> dict[str, Any]:
    def start(role: str, peer: str, *arguments: str) -> subprocess.Popen[str]:
        command = [program, *arguments, "--input", f"{role}.arrow", "--key", "mail:email", "--identity", f"{role}.pem"]
        command += ["--peer", keys[peer]]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)

    sender = start("sender", "receiver", "send", "--listen", "127.0.0.1:0")
    assert sender.stderr
    line = sender.stderr.readline()
    while not line.startswith("listening on "):
        line = sender.stderr.readline()
    address = line.removeprefix("listening on ").split(";")[0]
    started = time.perf_counter()
    receiver = start(
        "receiver", "sender", "receive", "--connect", address, "--output", "out.arrow", "--report", "report.json"
    )
    assert receiver.stderr
    receiver.stderr.read()
    took = time.perf_counter() - started
    assert receiver.wait() == 0
    sender.stderr.read()
    assert sender.wait() == 0
    report = json.loads((folder / "report.json").read_text())
    (folder / "report.json").unlink()
    return {"took": took, "rows": report["matches"]["rows"], "peak": report["peak_rss"], "report": report}


def measure(arguments: argparse.Namespace) -> None:
    rows = 1 << arguments.log2
    options = {"protocol": arguments.protocol, "threads": arguments.threads}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, rows)
        keys = {role: vesica.keygen(folder / f"{role}.pem") for role in ("receiver", "sender")}
        runs: dict[str, list[dict[str, Any]]] = {"command line": [], "Python": []}
        for _ in range(arguments.runs):
            runs["command line"].append(command_line_run(os.path.abspath(arguments.program), folder, keys, options))
            runs["Python"].append(python_run(folder, keys, options))
        size = (folder / "receiver.arrow").stat().st_size
    print(
        f"2^{arguments.log2} rows on each side, {size:,} bytes of Arrow; {arguments.protocol}, {arguments.threads} threads each"
    )
    middle = {}
    for who, ended in runs.items():
        assert all(run["rows"] == rows // 10 for run in ended), "not the plain join"
        took = sorted(run["took"] for run in ended)
        middle[who] = statistics.median(took)
        memory = max(run["peak"] for run in ended)
        more = (
            f", {max(run['peak'] - run['before'] for run in ended):,} more than before the run"
            if who == "Python"
            else ""
        )
        print(f"{who:13} median {middle[who]:.2f} s, least {took[0]:.2f} s; peak memory {memory:,} bytes{more}")
    print(f"ratio of the medians {middle['Python'] / middle['command line']:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--party", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--program", default="target/release/vesica", help="the command line to compare with")
    parser.add_argument("--log2", type=int, default=20, help="the logarithm of the number of rows")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--protocol", default="vole")
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    arguments = parser.parse_args()
    if arguments.party:
        party(arguments.party[0], json.loads(arguments.party[1]))
    else:
        measure(arguments)


if __name__ == "__main__":
    main()
