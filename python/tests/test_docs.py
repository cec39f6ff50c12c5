"""Every block of docs/python.md runs, in order and in one session; two blocks after `together` at the same time."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scene import Together

import vesica

ROOT = Path(__file__).parents[2]


@pytest.fixture
def postgresql() -> Iterator[str]:
    """A PostgreSQL server of its own: as another user if we are root, on a free port, in a temporary folder."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin")) or [
        Path(found).parent for found in [shutil.which("initdb")] if found
    ]
    if not programs:
        reason = os.environ.get("VESICA_NO_POSTGRESQL")
        if reason:
            pytest.skip(f"PostgreSQL WAS NOT TESTED: {reason}")
        pytest.fail(
            "PostgreSQL is not installed; `make python-test` installs it, or VESICA_NO_POSTGRESQL tells why not"
        )
    # Below /tmp: the other user must get there.
    folder = Path(subprocess.check_output(["mktemp", "-d", "/tmp/vesica-postgresql-XXXXXX"], text=True).strip())
    as_user: list[str] = []
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def run(program: str, *arguments: str) -> None:
        command = [*as_user, str(programs[-1] / program), *arguments]
        ended = subprocess.run(
            command, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60
        )
        assert ended.returncode == 0, ended.stdout

    data, log = str(folder / "data"), str(folder / "log")
    try:
        run("initdb", "-D", data, "-A", "trust", "-U", "shop", "-E", "UTF8", "--locale=C", "--no-sync")
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        run("pg_ctl", "-D", data, "-l", log, "-o", options, "-w", "start")
        try:
            yield f"postgresql://shop@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)


def subscribers(uri: str) -> None:
    """The table that the page speaks of."""
    import adbc_driver_postgresql.dbapi
    import pyarrow.csv

    table = pyarrow.csv.read_csv("newsletter.csv").rename_columns({"subscriber": "id"})
    with adbc_driver_postgresql.dbapi.connect(uri) as connection:
        with connection.cursor() as cursor:
            cursor.adbc_ingest("subscribers", table, mode="create")
        connection.commit()


def blocks(page: str) -> list[list[str]]:
    """The blocks of code, one by one or two together."""
    found = re.findall(r"(<!-- together -->\n)?```python\n(.*?)```", page, re.DOTALL)
    groups: list[list[str]] = []
    waiting = False
    for together, code in found:
        if waiting:
            groups[-1].append(code)
        else:
            groups.append([code])
        waiting = bool(together)
    return groups


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgresql: str) -> None:
    for name in ("customers.csv", "newsletter.csv"):
        shutil.copy(ROOT / "examples" / "quickstart" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    subscribers(postgresql)
    mine, theirs = vesica.Identity.generate(), vesica.Identity.generate()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    session: dict[str, Any] = {"postgresql": postgresql}

    class Side:
        """`vesica` with the addresses and keys that the page leaves to the reader."""

        def __getattr__(self, name: str) -> Any:
            return getattr(vesica, name)

        def receive(self, table: Any, **options: Any) -> Any:
            partner = {"listen": f":{port}", "identity": mine, "peer": theirs.public_key}
            return vesica.receive(table, **{**options, **partner})

        def send(self, table: Any, **options: Any) -> Any:
            partner = {"connect": f"127.0.0.1:{port}", "identity": theirs, "peer": mine.public_key}
            return vesica.send(table, **{**options, **partner})

    def run(code: str) -> None:
        exec(compile(code, "docs/python.md", "exec"), session)

    groups = blocks((ROOT / "docs" / "python.md").read_text())
    assert [len(group) for group in groups].count(2) == 1 and len(groups) > 8
    for group in groups:
        if len(group) == 2:
            session["vesica"] = Side()
            for failed in Together(*(lambda code=code: run(code) for code in group)).results:
                assert failed is None, failed
        else:
            run(group[0])


def test_every_kind_of_failure_is_in_the_page() -> None:
    page = (ROOT / "docs" / "python.md").read_text()
    for error in vesica.VesicaError.__subclasses__():
        assert f"| `{error.__name__}` | {error.exit_code} |" in page
