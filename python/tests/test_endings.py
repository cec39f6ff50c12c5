"""Runs that end early: cancelled, interrupted, left by the partner, stopped by the caller's own function."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scene import Meeting, Together, columns_of, joined, people, python, table
from test_errors import check, goes_on

import vesica

MINE, THEIRS = people("receiver", 100, 40), people("sender", 80, 40)


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """A shell that runs the tests in the background leaves SIGINT ignored, and Python then has no handler of its own."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def waiting(**more: Any) -> Any:
    """A run whose partner never comes."""
    identity, peer = vesica.Identity.generate(), vesica.Identity.generate()
    return vesica.receive(
        table("pandas", MINE), key="email:email", listen="127.0.0.1:0", identity=identity, peer=peer.public_key, **more
    )


def test_a_token_ends_a_run_from_another_thread() -> None:
    cancel, begun = vesica.CancelToken(), threading.Event()

    def heard(event: vesica.Event) -> None:
        if event["event"] == "listening":
            begun.set()

    def throw() -> None:
        assert begun.wait(60)
        cancel.cancel()

    error, _ = Together(lambda: waiting(cancel=cancel, events=heard), throw).results
    assert isinstance(error, vesica.Cancelled)
    check(error, "the run was interrupted", "phase connect")
    assert cancel.cancelled and "cancelled" in repr(cancel)
    with pytest.raises(vesica.Cancelled):
        vesica.local(table("pandas", MINE), table("pandas", THEIRS), key="email:email", cancel=cancel)
    goes_on()


def test_ctrl_c_ends_a_run_and_not_the_process() -> None:
    def interrupt() -> None:
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        waiting()
    thread.join()
    goes_on()


def test_ctrl_c_in_the_middle_of_a_protocol() -> None:
    rows = {"n": list(range(1 << 17))}

    def heard(event: vesica.Event) -> None:
        if event["event"] == "phase" and event["name"] == "blind":
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        vesica.local(
            table("pyarrow", rows), table("pyarrow", rows), key="n", protocol="dh", security="semi-honest", events=heard
        )
    goes_on()


def test_what_the_callers_function_raises_ends_the_run() -> None:
    class Enough(Exception):
        pass

    def heard(event: vesica.Event) -> None:
        if event["event"] == "listening":
            raise Enough

    with pytest.raises(Enough):
        waiting(events=heard)
    goes_on()


class Raises(io.BytesIO):
    """A file object whose second read fails."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(b"id,note\n" + b"1,x\n" * (1 << 19))
        self.error = error

    def read(self, size: int | None = -1) -> bytes:
        if self.tell():
            raise self.error
        return super().read(size)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_a_file_object_raises_that_is_no_error_comes_as_it_is(tmp_path: Path, kind: type[BaseException]) -> None:
    (tmp_path / "other.csv").write_text("id\n1\n")
    other, raised = str(tmp_path / "other.csv"), kind("as it is")
    meeting = Meeting()
    for run in [
        lambda: vesica.local(Raises(raised), other, key="id", row_numbers=True),
        lambda: vesica.local(other, Raises(raised), key="id", row_numbers=True),
        lambda: vesica.send(Raises(raised), key="id", **meeting.listen(meeting.sender, meeting.receiver)),
    ]:
        with pytest.raises(kind) as caught:
            run()
        assert caught.value is raised
    with pytest.raises(vesica.InputError, match=r"its read\(\) raised ValueError") as told:
        vesica.local(Raises(ValueError("secret")), other, key="id", row_numbers=True)
    assert "secret" not in str(told.value)
    goes_on()


def test_a_partner_that_dies(tmp_path: Path, keys: dict[str, str]) -> None:
    sender = python(
        tmp_path, "sender", "pandas", {"email": [f"p{i}" for i in range(1 << 16)]}, key="email",
        identity="sender.pem", peer=keys["receiver"], listen="127.0.0.1:0", protocol="dh", security="semi-honest",
    )  # fmt: skip
    address = sender.address()

    def heard(event: vesica.Event) -> None:
        if event["event"] == "phase" and event["name"] == "blind":
            sender.process.kill()

    mine = table("pandas", {"email": [f"p{i}" for i in range(1 << 16)]})
    with pytest.raises(vesica.PartnerError) as raised:
        vesica.receive(
            mine,
            key="email",
            connect=address,
            identity=tmp_path / "receiver.pem",
            peer=keys["sender"],
            events=heard,
            security="semi-honest",
        )
    check(raised.value, "on the partner's side", "nothing was written here")
    sender.end()
    goes_on()


def test_nobody_is_there() -> None:
    identity, peer = vesica.Identity.generate(), vesica.Identity.generate()
    with pytest.raises(vesica.PartnerError) as raised:
        vesica.send(
            table("pandas", MINE), key="email:email", connect="127.0.0.1:9", identity=identity, peer=peer.public_key,
            timeout=1,
        )  # fmt: skip
    check(raised.value, "nobody listens there", "phase connect")
    with pytest.raises(vesica.PartnerError, match="did not connect"):
        waiting(timeout="1s")
    goes_on()


def test_the_lock_is_free_while_a_run_goes_on() -> None:
    """Two runs that wait for each other, and a third thread that counts meanwhile."""
    meeting, counted = Meeting(), []

    def count() -> None:
        for _ in range(20):
            counted.append(time.monotonic())
            time.sleep(0.01)

    mine, theirs = table("pandas", MINE), table("pandas", THEIRS)
    found, report, _ = Together(
        lambda: vesica.receive(mine, key="email:email", **meeting.connect(meeting.receiver, meeting.sender)),
        lambda: vesica.send(theirs, key="email:email", **meeting.listen(meeting.sender, meeting.receiver)),
        count,
    ).results
    assert columns_of(found) == joined(MINE, THEIRS)
    assert report.outcome == "done" and len(counted) == 20


def test_events_and_the_bar(capsys: pytest.CaptureFixture[str]) -> None:
    events: list[vesica.Event] = []
    thread = threading.get_ident()

    def heard(event: vesica.Event) -> None:
        assert threading.get_ident() == thread
        events.append(event)

    vesica.local(table("pandas", MINE), table("pandas", THEIRS), key="email:email", events=heard, progress=True)
    kinds = [event["event"] for event in events]
    assert (kinds[0], kinds[-1]) == ("started", "done")
    assert events[-1]["report"]["outcome"] == "done"
    out, err = capsys.readouterr()
    assert not out and "step " in err and "comparing masks" in err
    vesica.local(table("pandas", MINE), table("pandas", THEIRS), key="email:email")
    assert capsys.readouterr() == ("", "")
