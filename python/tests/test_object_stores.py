"""Tables and results in an object store: a real server of the S3 protocol, also one that fails in every way, and one that
answers as Google's does."""

from __future__ import annotations

import io
import json
import os
import random
import re
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from s3_server import BUCKET, KEYS, Answer, Google, Request, Server, disturbed
from scene import Party

import vesica

PROGRAM = os.environ["VESICA_PROGRAM"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def environment(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("AWS_", "GOOGLE_", "STORAGE_EMULATOR_HOST")):
            monkeypatch.delenv(name)
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": server.url}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def at(key: str) -> str:
    return f"s3://{BUCKET}/{key}"


def text(rows: range) -> bytes:
    return ("id,note\n" + "".join(f"u{i},row {i}\n" for i in rows)).encode()


def vesica_local(receiver: str, sender: str, output: str, *more: str, **environment: str) -> tuple[int, str]:
    """The program's exit code and screen."""
    command = [PROGRAM, "local", "--receiver", receiver, "--sender", sender, "--key", "id", "--output", output, *more]
    run = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=100)
    return run.returncode, run.stderr + run.stdout


def test_two_parties_with_folders_and_objects(server: Server, tmp_path: Path, keys: dict[str, str]) -> None:
    """64 parts in, one object out; the other side's table is a pattern."""
    for part in range(64):
        rows = pyarrow.table({"id": [f"u{part * 100 + i}" for i in range(100)], "n": range(100)})
        out = io.BytesIO()
        pyarrow.parquet.write_table(rows, out)
        server.put(f"parts/part-{part:05}.parquet", out.getvalue())
    server.put("parts/_SUCCESS", b"")
    for part in range(3):
        server.put(f"theirs/{part}.csv", text(range(part * 1000, part * 1000 + 10)))
    server.put("theirs/notes.txt", b"none of these")

    def party(role: str, *arguments: str) -> Party:
        other = {"receiver": "sender", "sender": "receiver"}[role]
        meet = ["--identity", str(tmp_path / f"{role}.pem"), "--peer", keys[other], "--timeout", "60s"]
        command = {"receiver": "receive", "sender": "send"}[role]
        return Party([PROGRAM, command, "--key", "id", *meet, *arguments], tmp_path)

    sender = party("sender", "--input", at("theirs/*.csv"), "--listen", "127.0.0.1:0")
    receiver = party(
        "receiver",
        *("--input", at("parts/"), "--output", at("found/rows.parquet"), "--report", at("found/run.json")),
        *("--memory", "512M", "--connect", sender.address()),
    )
    assert (receiver.end()[0], sender.end()[0]) == (0, 0)
    found = pyarrow.parquet.read_table(io.BytesIO(server.get("found/rows.parquet") or b""))
    common = [f"u{part * 1000 + i}" for part in range(3) for i in range(10)]
    assert found.to_pydict() == {"id": common, "n": list(range(10)) * 3}
    report = json.loads(server.get("found/run.json") or b"")
    assert report["outcome"] == "done"
    assert server.unfinished() == []


def test_python_takes_addresses_and_file_objects(server: Server, tmp_path: Path) -> None:
    server.put("mine.csv", text(range(100)))
    (tmp_path / "theirs.csv").write_bytes(text(range(50, 60)))
    there = vesica.local(at("mine.csv"), "theirs.csv", key="id", output=at("from-python.csv"))
    assert there == at("from-python.csv")
    assert server.get("from-python.csv") == text(range(50, 60))
    with open("theirs.csv", "rb") as theirs:
        mine = io.BytesIO(server.get("mine.csv") or b"")
        assert vesica.local(mine, theirs, key="id", output="out.csv") == Path("out.csv")
    assert Path("out.csv").read_bytes() == text(range(50, 60))
    with open("theirs.csv", "rb") as itself, pytest.raises(vesica.OutputError, match="same file as an input"):
        vesica.local(itself, "theirs.csv", key="id", output="theirs.csv")
    signed = io.BytesIO(b"id\n1\n")
    signed.path = "https://host/a.csv?X-Amz-Signature=secret"  # type: ignore[attr-defined]
    with pytest.raises(vesica.InputError, match=r"host/a\.csv") as caught:
        vesica.local(signed, "theirs.csv", key="none", row_numbers=True)
    assert "secret" not in str(caught.value)
    told = r"theirs.csv: cannot be read: its read\(\) gives no bytes; open it with mode rb"
    with open("theirs.csv") as as_text, pytest.raises(vesica.InputError, match=told):
        vesica.local("theirs.csv", as_text, key="id", row_numbers=True)
    with pytest.raises(vesica.UsageError, match="two slashes"):
        vesica.local(Path(at("mine.csv")), "theirs.csv", key="id", row_numbers=True)


@pytest.mark.parametrize(
    ("receiver", "output", "code", "told"),
    [
        (at("absent.csv"), "-", 65, "no such object"),
        ("s3://absent-bucket/a.csv", "-", 65, "bucket does not exist"),
        (at("nothing/"), "-", 65, "no file of a table"),
        (at("partitions/"), "-", 65, "has the folder `day=1`"),
        (at("one.csv"), "s3://absent-bucket/out.csv", 74, "no such object, folder or bucket"),
        (at("one.csv"), at("one.csv"), 64, "named as an output and as a file that this run reads"),
        (at("folder/"), at("folder/out.csv"), 64, "would become one of the files"),
        (at("one.csv"), at("folder/"), 64, "give it a name"),
        (at("one.csv"), at("out.parquet"), 64, "belongs to another format"),
        (at("one.csv"), "https://127.0.0.1/out.csv?sig=secret", 74, "write to s3://"),
        ("ftp://host/a.csv", "-", 64, "give one that begins with s3://"),
    ],
)
def test_what_cannot_be_is_refused_before_the_partner(
    server: Server, tmp_path: Path, receiver: str, output: str, code: int, told: str
) -> None:
    server.put("one.csv", text(range(3)))
    server.put("folder/a.csv", text(range(3)))
    server.put("partitions/day=1/a.csv", text(range(3)))
    (tmp_path / "mine.csv").write_bytes(text(range(3)))
    # Nobody listens there, so a run that comes so far ends with 69.
    meet = ["--connect", "127.0.0.1:1", "--insecure-plaintext", "--timeout", "1s"]
    command = [PROGRAM, "receive", "--input", receiver, "--key", "id", "--output", output, *meet]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == code and re.search(told, run.stderr), run.stderr
    assert "secret" not in run.stderr
    assert server.unfinished() == []


def test_a_signature_is_told_nobody(server: Server, tmp_path: Path) -> None:
    server.put("signed.csv", text(range(10)))
    signed = server.s3.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": "signed.csv"})
    (tmp_path / "theirs.csv").write_bytes(text(range(2, 5)))
    arguments = ["--report", "run.json", "--events", "events.json"]
    code, screen = vesica_local(signed, "theirs.csv", "out.csv", *arguments)
    assert code == 0, screen
    assert Path("out.csv").read_bytes() == text(range(2, 5))
    for told in (screen, Path("run.json").read_text(), Path("events.json").read_text()):
        assert "Signature" not in told and "Credential" not in told
    assert "signed.csv" in Path("run.json").read_text()


def test_keys_of_a_profile(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server.put("profile.csv", text(range(3)))
    seen: list[str] = []

    def listen(request: Request, pass_on: Callable[[], Answer]) -> Answer:
        seen.append(request.headers["Authorization"])
        return pass_on()

    with disturbed(server, listen) as url:
        (tmp_path / "credentials").write_text("[shop]\naws_access_key_id = shopkey\naws_secret_access_key = s\n")
        (tmp_path / "config").write_text(f"[profile shop]\nregion = eu-west-1\nendpoint_url = {url}\n")
        for name in [*KEYS, "AWS_ENDPOINT_URL"]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
        monkeypatch.setenv("AWS_PROFILE", "shop")
        assert vesica_local(at("profile.csv"), at("profile.csv"), "-")[0] == 0
        assert seen and all(re.search("Credential=shopkey/.*/eu-west-1/s3/", one) for one in seen)
        monkeypatch.setenv("AWS_PROFILE", "other")
        code, screen = vesica_local(at("profile.csv"), at("profile.csv"), "-")
        assert code == 65 and "the profile other of AWS_PROFILE" in screen


def is_get(request: Request, key: str) -> bool:
    return request.command == "GET" and request.path.split("?")[0].endswith(key)


def test_what_a_network_does_to_a_fetch(server: Server) -> None:
    """Answers that are cut, and errors of a busy server, cost time and change nothing."""
    whole = text(range(20_000))
    server.put("busy.csv", whole)
    faults = iter(["busy", "cut", "busy", "cut"])

    def disturb(request: Request, pass_on: Callable[[], Answer]) -> Answer:
        fault = next(faults, None) if is_get(request, "busy.csv") else None
        if fault == "busy":
            return 503, [], b"<Error><Code>SlowDown</Code></Error>"
        status, headers, body = pass_on()
        return status, headers, body[: len(body) // 2] if fault == "cut" else body

    with disturbed(server, disturb) as url:
        code, screen = vesica_local(at("busy.csv"), at("busy.csv"), "out.csv", AWS_ENDPOINT_URL=url)
    assert code == 0, screen
    assert Path("out.csv").read_bytes() == whole
    assert next(faults, None) is None


def test_an_object_that_changes_while_it_is_fetched(server: Server) -> None:
    server.put("changes.csv", text(range(1000)))

    def disturb(request: Request, pass_on: Callable[[], Answer]) -> Answer:
        if is_get(request, "changes.csv"):
            server.put("changes.csv", text(range(1, 1001)))
        return pass_on()

    with disturbed(server, disturb) as url:
        code, screen = vesica_local(at("changes.csv"), at("changes.csv"), "out.csv", AWS_ENDPOINT_URL=url)
    assert code == 65 and "changed while it was fetched" in screen, screen
    assert not Path("out.csv").exists()


def wide(rows: int) -> bytes:
    """Rows of more bytes than one request takes."""
    note = "x" * 200
    return ("id,note\n" + "".join(f"u{i},{note}\n" for i in range(rows))).encode()


def test_a_store_that_no_longer_takes_the_rows(server: Server) -> None:
    """The exchange is done, so the rows are kept where the program runs."""
    rows = wide(60_000)
    Path("mine.csv").write_bytes(rows)
    puts: list[str] = []

    def disturb(request: Request, pass_on: Callable[[], Answer]) -> Answer:
        if request.command == "PUT":
            puts.append(request.path)
            if len(puts) > 2:
                return 403, [], b"<Error><Code>AccessDenied</Code><Message>No longer</Message></Error>"
        return pass_on()

    with disturbed(server, disturb) as url:
        code, screen = vesica_local("mine.csv", "mine.csv", at("kept/rows.csv"), AWS_ENDPOINT_URL=url)
    assert code == 74 and "AccessDenied: No longer" in screen and "./rows.csv" in screen, screen
    assert Path("rows.csv").read_bytes() == rows
    assert stat.S_IMODE(Path("rows.csv").stat().st_mode) == 0o600
    assert server.get("kept/rows.csv") is None and server.unfinished() == []


def test_rows_are_kept_if_the_user_or_the_deadline_stops_a_silent_store(server: Server) -> None:
    rows = wide(60_000)
    Path("mine.csv").write_bytes(rows)
    sent: list[str] = []
    free = threading.Event()

    def disturb(request: Request, pass_on: Callable[[], Answer]) -> Answer:
        if request.command == "PUT":
            sent.append(request.path)
            if len(sent) > 1:
                free.wait(60)
        return pass_on()

    arguments = ["--receiver", "mine.csv", "--sender", "mine.csv", "--key", "id", "--output", at("silent/rows.csv")]
    for more, code, name in [([], 130, "rows.csv"), (["--deadline", "3s"], 74, "2-rows.csv")]:
        free.clear()
        sent.clear()
        with disturbed(server, disturb) as url:
            environment = {**os.environ, "AWS_ENDPOINT_URL": url}
            process = subprocess.Popen(
                [PROGRAM, "local", *arguments, *more], env=environment, stderr=subprocess.PIPE, text=True
            )
            while len(sent) < 2 and process.poll() is None:
                time.sleep(0.05)
            if not more:
                process.send_signal(signal.SIGINT)
            screen = process.communicate(timeout=60)[1]
            free.set()
        assert process.returncode == code and f"./{name}" in screen and "was complete" in screen, screen
        assert Path(name).read_bytes() == rows
        assert server.get("silent/rows.csv") is None


def test_a_report_replaces_none_and_few_rights_are_enough(server: Server) -> None:
    Path("mine.csv").write_bytes(text(range(9)))
    server.put("reports/old.json", b"of before")

    def disturb(request: Request, pass_on: Callable[[], Answer]) -> Answer:
        # Who may only put.
        forbidden = request.command in ("HEAD", "DELETE")
        return (403, [], b"") if forbidden else pass_on()

    with disturbed(server, disturb) as url:
        run = [*("mine.csv", "mine.csv"), at("rights/rows.csv")]
        code, screen = vesica_local(*run, "--report", at("reports/old.json"), AWS_ENDPOINT_URL=url)
        assert code == 74 and "there is one already" in screen, screen
        code, screen = vesica_local(*run, "--report", at("reports/new.json"), AWS_ENDPOINT_URL=url)
        assert code == 0, screen
    assert server.get("reports/old.json") == b"of before"
    assert json.loads(server.get("reports/new.json") or b"")["outcome"] == "done"
    assert server.get("rights/rows.csv") == text(range(9))
    code, screen = vesica_local(*run, "--report", at("reports/new.json"))
    assert code == 64 and "is there already" in screen
    code, screen = vesica_local(*run, "--report", at("reports/"))
    assert code == 64 and "give it a name" in screen
    for upload in server.unfinished():
        server.s3.abort_multipart_upload(Bucket=BUCKET, Key=upload["Key"], UploadId=upload["UploadId"])


@pytest.mark.parametrize("endpoint", ["localhost:7171", "http://", "http://127.0.0.1:99999", "foo bar", "ftp://host"])
def test_an_address_of_a_store_that_is_none(endpoint: str) -> None:
    code, screen = vesica_local(at("a.csv"), at("a.csv"), "-", AWS_ENDPOINT_URL=endpoint)
    assert code == 65 and "is not https://HOST or http://HOST" in screen, screen


def test_whoever_is_killed_leaves_the_whole_object_or_none(server: Server) -> None:
    rows = wide(120_000)
    Path("mine.csv").write_bytes(rows)
    server.put("killed.csv", b"id\nof before\n")
    command = [
        PROGRAM,
        "local",
        "--receiver",
        "mine.csv",
        "--sender",
        "mine.csv",
        "--key",
        "id",
        "--output",
        at("killed.csv"),
    ]
    began = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    took = time.monotonic() - began
    assert server.get("killed.csv") == rows
    chance = random.Random(1)
    ends: list[bool] = []
    for _ in range(12):
        server.put("killed.csv", b"id\nof before\n")
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(took * chance.uniform(0.3, 1.1))
        process.send_signal(signal.SIGKILL)
        process.wait()
        there = server.get("killed.csv")
        assert there in (rows, b"id\nof before\n")
        ends.append(there == rows)
    assert not all(ends)
    assert list(Path().iterdir()) == [Path("mine.csv")]


def test_rows_of_an_export_are_those_of_the_files(server: Server, tmp_path: Path) -> None:
    """A folder in the store and the same folder on the disk give the same rows, in the same order."""
    folder = tmp_path / "export"
    folder.mkdir()
    for part in range(5):
        content = text(range(part * 10, part * 10 + 10))
        (folder / f"{part}.csv").write_bytes(content)
        server.put(f"export/{part}.csv", content)
    (tmp_path / "theirs.csv").write_bytes(text(range(5, 45, 3)))
    for place, output in [("export", "disk.csv"), (at("export"), "store.csv"), (at("exp*/?.csv"), "pattern.csv")]:
        assert vesica_local(place, "theirs.csv", output)[0] == 0
    found = Path("disk.csv").read_text().splitlines()[1:]
    assert [row.split(",")[0] for row in found] == [f"u{i}" for i in range(5, 45, 3)]
    assert Path("disk.csv").read_bytes() == Path("store.csv").read_bytes() == Path("pattern.csv").read_bytes()


def test_objects_that_stand_for_folders_are_no_part_of_a_table(server: Server, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_bytes(text(range(30)))
    for part in range(2):
        server.put(f"marked/day-{part}/rows.csv", text(range(part * 10, part * 10 + 10)))
        server.put(f"marked/day-{part}/", b"")
    server.put("marked/", b"")
    for place, count in [("marked/**", 20), ("marked/*/*.csv", 20), ("marked/day-1/", 10), ("marked/day-1", 10)]:
        code, screen = vesica_local("mine.csv", at(place), "out.csv")
        assert code == 0, screen
        assert Path("out.csv").read_bytes().count(b"\n") == count + 1
    # A file without bytes is told, as on a disk.
    server.put("marked/day-1/empty.csv", b"")
    code, screen = vesica_local("mine.csv", at("marked/**"), "out.csv")
    assert code == 65 and "day-1/empty.csv: is empty" in screen, screen


@pytest.mark.parametrize(("rows", "parts"), [(20_000, 0), (60_000, 2)], ids=["one-request", "in-parts"])
def test_two_parties_with_the_store_of_google(
    server: Server, tmp_path: Path, keys: dict[str, str], monkeypatch: pytest.MonkeyPatch, rows: int, parts: int
) -> None:
    """One finds it as an emulator is found, the other by an address and a token; the rows are those of the plain join."""
    mine = wide(rows).splitlines(keepends=True)
    server.put("google/mine.csv", b"".join(mine))
    for part in range(3):
        server.put(f"google/theirs/{part}.csv", b"".join(mine[:1] + mine[part + 1 :: 4]))
    expected = mine[:1] + [row for number, row in enumerate(mine[1:]) if number % 4 != 3]
    key = f"google/{rows} rows.csv"
    meet = ["--key", "id", "--timeout", "60s"]
    store = Google(server)
    with disturbed(server, store.answer) as url:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", url.removeprefix("http://"))
        sender = Party(
            [
                *(PROGRAM, "send", *meet, "--input", f"gs://{BUCKET}/google/theirs/", "--listen", "127.0.0.1:0"),
                *("--identity", str(tmp_path / "sender.pem"), "--peer", keys["receiver"]),
            ],
            tmp_path,
        )
        address = sender.address()
        monkeypatch.delenv("STORAGE_EMULATOR_HOST")
        monkeypatch.setenv("GOOGLE_BASE_URL", url)
        monkeypatch.setenv("GOOGLE_BEARER_TOKEN", "not-a-secret")
        receiver = Party(
            [
                *(PROGRAM, "receive", *meet, "--input", f"gs://{BUCKET}/google/mine.csv", "--connect", address),
                *("--output", f"gs://{BUCKET}/{key}", "--report", f"gs://{BUCKET}/google/{rows}.json"),
                *("--identity", str(tmp_path / "receiver.pem"), "--peer", keys["sender"]),
            ],
            tmp_path,
        )
        assert (receiver.end()[0], sender.end()[0]) == (0, 0), receiver.screen + sender.screen
    assert server.get(key) == b"".join(expected)
    assert json.loads(server.get(f"google/{rows}.json") or b"")["outcome"] == "done"
    assert store.authorizations == {"Bearer not-a-secret", None}
    check = [("POST", key, "uploads"), ("PUT", key, "partNumber&uploadId"), ("DELETE", key, "uploadId")]
    put = [("PUT", key, "")]
    if parts:
        put = [("POST", key, "uploads"), *[("PUT", key, "partNumber&uploadId")] * parts, ("POST", key, "uploadId")]
    assert [written for written in store.written if written[1] == key] == check + put
    assert not [upload for upload in server.unfinished() if upload["Key"] == key]


def test_a_report_replaces_none_in_the_store_of_google(server: Server) -> None:
    Path("mine.csv").write_bytes(text(range(9)))
    store = Google(server)
    run = ["mine.csv", "mine.csv", f"gs://{BUCKET}/google-rows.csv"]

    def blind(request: Request, pass_on: Callable[[], Answer]) -> Answer:
        # Who may not look: only the condition of the put tells.
        return (403, [], b"") if request.command == "HEAD" else store.answer(request, pass_on)

    with disturbed(server, blind) as url:
        for code in (0, 74):
            more = ["--report", f"gs://{BUCKET}/google-report.json"]
            ended, screen = vesica_local(*run, *more, STORAGE_EMULATOR_HOST=url)
            assert ended == code, screen
    assert "there is one already" in screen
    assert server.get("google-rows.csv") == text(range(9))
    for url in ["localhost:99999", "ftp://host"]:
        code, screen = vesica_local(*run, STORAGE_EMULATOR_HOST=url)
        assert code == 74 and "is not https://HOST or http://HOST" in screen, screen


def inspect(*arguments: str) -> Any:
    run = subprocess.run([PROGRAM, "inspect", "--json", *arguments], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_inspect_takes_an_address(server: Server) -> None:
    server.put("look.csv", text(range(7)))
    assert inspect("--input", at("look.csv"))["rows"] == 7
