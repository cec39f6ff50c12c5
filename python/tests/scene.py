"""Tables with a known overlap, of every kind; two parties, each a process of its own."""

from __future__ import annotations

import csv
import io
import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import duckdb
import pandas
import polars
import pyarrow

import vesica

Columns = dict[str, list[Any]]
KINDS = ("pandas", "polars", "pyarrow", "duckdb")
HERE = Path(__file__).parent
TIMEOUT = 100
"""Seconds after which a wait is a hang."""


def people(owner: str, rows: int, common: int) -> Columns:
    """``common`` of the addresses are in the tables of all owners, here and there, in another case; some rows have none, and
    the first address stands twice."""
    mails: list[str | None] = [f"{owner}-person{i}@example.org" for i in range(rows)]
    for i in range(common):
        mail = f"shared-person{i}@example.org"
        mails[(i * 7 + len(owner)) % rows if rows % 7 else i] = mail.upper() if i % 3 == len(owner) % 3 else mail
    mails += [None, mails[0]]
    return {"id": list(range(len(mails))), "email": mails, "note": [f"{owner}, {i}" for i in range(len(mails))]}


def joined(mine: Columns, theirs: Columns) -> Columns:
    """The plain join: my rows whose address, in lower case, the other table has."""
    there = {mail.lower() for mail in theirs["email"] if mail is not None}
    rows = [i for i, mail in enumerate(mine["email"]) if mail is not None and mail.lower() in there]
    return {name: [values[i] for i in rows] for name, values in mine.items()}


def table(kind: str, columns: Columns) -> Any:
    """The table as an object of that kind."""
    arrow = pyarrow.table(columns)
    if kind == "pandas":
        return pandas.DataFrame(columns)
    if kind == "polars":
        return polars.DataFrame(columns)
    if kind == "duckdb":
        return duckdb.from_arrow(arrow)
    return arrow


def columns_of(given: Any) -> Columns:
    """What stands in a table of any kind."""
    if isinstance(given, pandas.DataFrame):
        plain = given.astype(object).where(given.notna(), None)
        return {str(name): list(plain[name]) for name in plain}
    if isinstance(given, polars.DataFrame):
        return given.to_dict(as_series=False)
    if isinstance(given, duckdb.DuckDBPyRelation):
        rows = given.fetchall()
        return {name: [row[i] for row in rows] for i, name in enumerate(given.columns)}
    return pyarrow.table(given).to_pydict()


def write_csv(path: Path, columns: Columns) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(["" if value is None else value for value in row] for row in zip(*columns.values()))
    path.write_text(text.getvalue())


class Party:
    """A process that plays one party: Python (``party.py``), or the command line."""

    def __init__(self, command: list[str], folder: Path) -> None:
        environment = {**os.environ, "HOME": str(folder)}
        environment.pop("XDG_CONFIG_HOME", None)
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.screen = ""
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.put(line)
        self._lines.put(None)

    def wait_for(self, start: str) -> str:
        while (line := self._lines.get(timeout=TIMEOUT)) is not None:
            self.screen += line
            if line.startswith(start):
                return line
        raise AssertionError(f"no line {start!r}:\n{self.screen}")

    def address(self) -> str:
        return self.wait_for("listening on ").removeprefix("listening on ").split(";")[0].strip()

    def end(self) -> tuple[int, str]:
        """Exit code and standard output."""
        assert self.process.stdout is not None
        stdout = self.process.stdout.read()
        code = self.process.wait(TIMEOUT)
        while (line := self._lines.get(timeout=TIMEOUT)) is not None:
            self.screen += line
        return code, stdout


def python(folder: Path, role: str, kind: str, columns: Columns, **arguments: Any) -> Party:
    """A Python process with a table of that kind."""
    job = folder / f"{role}.json"
    job.write_text(json.dumps({"role": role, "kind": kind, "columns": columns, "arguments": arguments}))
    return Party([sys.executable, str(HERE / "party.py"), str(job)], folder)


def command_line(folder: Path, *arguments: str) -> Party:
    program = os.environ.get("VESICA_PROGRAM")
    assert program, "VESICA_PROGRAM names the program; `make python-test` sets it"
    return Party([program, *arguments], folder)


class Together:
    """Two calls in two threads of this process; a result is what was returned or raised."""

    def __init__(self, *calls: Any) -> None:
        self.results: list[Any] = [None] * len(calls)
        threads = [threading.Thread(target=self._play, args=(i, call)) for i, call in enumerate(calls)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(TIMEOUT)
            assert not thread.is_alive(), "a call hangs"

    def _play(self, i: int, call: Any) -> None:
        try:
            self.results[i] = call()
        except BaseException as error:
            self.results[i] = error


class Meeting:
    """How two parties in this process meet: fresh keys, and an address that the listener tells."""

    def __init__(self) -> None:
        self.receiver, self.sender = vesica.Identity.generate(), vesica.Identity.generate()
        self._address: queue.Queue[str] = queue.Queue()

    def listen(self, identity: vesica.Identity, peer: vesica.Identity) -> dict[str, Any]:
        return {
            "listen": "127.0.0.1:0",
            "identity": identity,
            "peer": peer.public_key,
            "timeout": "30s",
            "events": self._hear,
        }

    def connect(self, identity: vesica.Identity, peer: vesica.Identity) -> dict[str, Any]:
        address = self._address.get(timeout=TIMEOUT)
        return {"connect": address, "identity": identity, "peer": peer.public_key, "timeout": "30s"}

    def _hear(self, event: vesica.Event) -> None:
        if event["event"] == "listening":
            self._address.put(event["address"])

    def run(self, mine: Any, theirs: Any, key: Any = "email:email", **both: Any) -> list[Any]:
        """Receiver's and sender's result."""
        return Together(
            lambda: vesica.receive(mine, key=key, **self.connect(self.receiver, self.sender), **both),
            lambda: vesica.send(theirs, key=key, **self.listen(self.sender, self.receiver), **both),
        ).results
