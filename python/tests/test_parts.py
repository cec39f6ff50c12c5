"""An engine in plain Python, whose workers are processes, and the command line end with the plain join's rows."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from engine import Split, Tap, Worker, end, play
from scene import Together, command_line, joined, people, write_csv

import vesica
from vesica import parts

MINE, THEIRS = people("receiver", 3000, 411), people("sender", 2000, 411)


def opened(role: Any, split: Split, address: str, tmp_path: Path, keys: dict[str, str], **options: Any) -> parts.Job:
    partner = "sender" if role == "receiver" else "receiver"
    return parts.Job.open(
        role, split.items, key="email:email", slots=2, rows=len(split.columns["id"]), nulls=split.digests.nulls,
        connect=address, identity=tmp_path / f"{role}.pem", peer=keys[partner], parts=3, threads=1,
        **{"timeout": 30, **options},
    )  # fmt: skip


def sending(tmp_path: Path, keys: dict[str, str], *options: str) -> Any:
    write_csv(tmp_path / "sender.csv", THEIRS)
    return command_line(
        tmp_path, "send", "--input", "sender.csv", "--key", "email:email", "--listen", "127.0.0.1:0",
        "--identity", "sender.pem", "--peer", keys["receiver"], "--timeout", "30", "--report", "report.json", *options,
    )  # fmt: skip


def test_an_engine_receives_from_the_command_line(tmp_path: Path, keys: dict[str, str]) -> None:
    sender, split = sending(tmp_path, keys), Split.of(MINE, "email:email")
    told: list[vesica.Event] = []
    with opened("receiver", split, sender.address(), tmp_path, keys, events=told.append) as job:
        assert (job.count, job.digest_bytes, job.learns, job.partner_slots >= 1) == (3, 32, True, True)
        ticket = job.round()
        assert (
            ticket is not None
            and ticket.parts == [0, 1, 2]
            and "ticket" not in repr(ticket).lower().replace("roundticket", "")
        )
        rows = play(split, job, pickle.loads(pickle.dumps(ticket)))
        job.check()
        chosen = end(job, rows)
        first = [row for row in rows.to_pylist() if row["item"] is None]
        assert sum(row["distinct"] for row in first) == split.items
        every = dict(zip(split.digests.digests.to_pylist(), split.fingerprints.to_pylist()))
        every.pop(None)
        assert (sum(row["sum"] for row in first) - sum(every.values())) % 2**64 == 0
        assert job.round() is None
        report = job.finish()
    assert split.matching(job, rows, chosen) == joined(MINE, THEIRS)
    assert sender.end()[0] == 0, sender.screen
    assert report.role == "receiver" and report.confirmed
    assert told[0]["event"] == "started" and told[-1]["event"] == "done"


@contextmanager
def checked(job: parts.Job) -> Iterator[None]:
    """Another thread asks all the time whether the run is well."""
    over, wrong = Event(), []

    def check() -> None:
        while not over.is_set():
            try:
                job.check()
            except Exception as error:
                wrong.append(error)

    thread = Thread(target=check)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert not wrong, wrong


def test_an_engine_sends_to_the_command_line(tmp_path: Path, keys: dict[str, str]) -> None:
    write_csv(tmp_path / "receiver.csv", MINE)
    write_csv(tmp_path / "expected.csv", joined(MINE, THEIRS))
    receiver = command_line(
        tmp_path, "receive", "--input", "receiver.csv", "--key", "email:email", "--output", "out.csv",
        "--listen", "127.0.0.1:0", "--identity", "receiver.pem", "--peer", keys["sender"], "--timeout", "30",
    )  # fmt: skip
    split = Split.of(THEIRS, "email:email")
    with opened("sender", split, receiver.address(), tmp_path, keys) as job, checked(job):
        assert not job.learns
        while (ticket := job.round()) is not None:
            rows = play(split, job, ticket)
            assert rows.column("item").null_count == len(rows), "a sender learns no item"
            end(job, rows)
        job.finish()
    assert receiver.end()[0] == 0, receiver.screen
    assert (tmp_path / "out.csv").read_text() == (tmp_path / "expected.csv").read_text()


def test_the_part_of_a_killed_worker_alone_is_played_again(tmp_path: Path, keys: dict[str, str]) -> None:
    sender, split = sending(tmp_path, keys), Split.of(MINE, "email:email")
    tap = Tap(sender.address())
    with opened("receiver", split, tap.address, tmp_path, keys) as job:
        ticket = job.round()
        assert ticket is not None
        tap.stop_next = 20_000
        worker = Worker(split, job, ticket.of(1))
        assert tap.stopped.wait(30), "the worker is in the middle of its part"
        worker.process.kill()
        worker.process.join()
        rows = play(split, job, ticket)
        chosen = end(job, rows)
        assert job.round() is None
        job.finish()
    assert split.matching(job, rows, chosen) == joined(MINE, THEIRS)
    assert sender.end()[0] == 0, sender.screen
    played = vesica.Report((tmp_path / "report.json").read_text()).to_dict()["parts"]
    assert (played["count"], played["attempts"], played["spent"]) == (3, 4, 1)


def test_a_part_without_a_receipt_comes_again_in_the_next_round(tmp_path: Path, keys: dict[str, str]) -> None:
    sender, split = sending(tmp_path, keys), Split.of(MINE, "email:email")
    with opened("receiver", split, sender.address(), tmp_path, keys) as job:
        ticket = job.round()
        assert ticket is not None
        rows = play(split, job, ticket)
        chosen = end(job, rows.filter(pc.not_equal(rows["part"], 2)))
        assert [part for part, _ in chosen] == [0, 1]
        again = job.round()
        assert again is not None and (again.round, again.parts) == (1, [2])
        with pytest.raises(vesica.UsageError, match="parts of the run are missing"):
            job.finish()
        late = play(split, job, again)
        chosen = end(job, late)
        assert job.round() is None
        job.finish()
    assert split.matching(job, pa.concat_tables([rows, late]), chosen) == joined(MINE, THEIRS)
    assert sender.end()[0] == 0, sender.screen


def test_two_engines_meet_at_a_relay(tmp_path: Path, keys: dict[str, str]) -> None:
    relay_key = vesica.keygen(tmp_path / "relay.pem")
    relay = command_line(
        tmp_path, "relay", "--listen", "127.0.0.1:0", "--identity", "relay.pem",
        "--allow", keys["sender"], "--allow", keys["receiver"],
    )  # fmt: skip
    address = relay.address()

    def engine(role: Any, columns: Any, slots: int, order: int) -> tuple[Any, list[int]]:
        """One side, whose tasks are threads: so many at once, in this order."""
        split, rows, sizes = Split.of(columns, "email:email"), [], []
        partner = "sender" if role == "receiver" else "receiver"
        with parts.Job.open(
            role, split.items, key="email:email", slots=slots, via=address, via_key=relay_key, timeout=30, threads=1,
            identity=tmp_path / f"{role}.pem", peer=keys[partner], parts=5,
        ) as job:  # fmt: skip
            assert job.partner_slots == 3 - slots
            while (ticket := job.round()) is not None:
                sizes.append(len(ticket.parts))
                with ThreadPoolExecutor(slots) as pool:
                    tasks = [
                        pool.submit(lambda part: list(parts.play(split.of_part(job, part), ticket.of(part))), part)
                        for part in ticket.parts[::order]
                    ]
                rows += [batch for task in tasks for batch in task.result()]
                last = [batch for task in tasks for batch in task.result()]
                chosen = end(job, pa.Table.from_batches(last))
            job.finish()
            return split.matching(job, pa.Table.from_batches(rows), chosen), sizes

    # The two take the parts of a round in opposite orders.
    both = Together(lambda: engine("receiver", MINE, 1, 1), lambda: engine("sender", THEIRS, 2, -1))
    (found, sizes), (nothing, _) = both.results
    assert found == joined(MINE, THEIRS) and sizes == [2, 2, 1]
    assert not any(nothing.values())
    relay.process.terminate()
    assert relay.end()[0] == 0


def test_a_partner_that_is_gone_is_told(tmp_path: Path, keys: dict[str, str]) -> None:
    sender, split = sending(tmp_path, keys), Split.of(MINE, "email:email")
    with opened("receiver", split, sender.address(), tmp_path, keys, timeout=2) as job:
        assert job.round() is not None
        sender.process.kill()
        sender.process.wait()
        # It may come back within the timeout.
        with pytest.raises(vesica.PartnerError):
            while True:
                job.check()
                sleep(0.05)


def test_an_engine_that_closes_ends_the_partners_run(tmp_path: Path, keys: dict[str, str]) -> None:
    sender, split = sending(tmp_path, keys), Split.of(MINE, "email:email")
    with opened("receiver", split, sender.address(), tmp_path, keys) as job:
        assert job.round() is not None
    # The partner hears of it, and does not wait for another connection.
    closed = monotonic()
    assert sender.end()[0] == 69, sender.screen
    assert monotonic() - closed < 10


def test_what_a_task_must_not_get_is_refused(tmp_path: Path, keys: dict[str, str]) -> None:
    sender, split = sending(tmp_path, keys), Split.of(MINE, "email:email")
    with opened("receiver", split, sender.address(), tmp_path, keys) as job:
        ticket = job.round()
        assert ticket is not None
        with pytest.raises(vesica.InternalError, match="another part"):
            list(parts.play(split.of_part(job, 1), ticket.of(0)))
        with pytest.raises(vesica.UsageError, match="does not decode"):
            list(parts.play([], parts.PartTicket(b"ticket", 0)))
        with pytest.raises(vesica.InternalError, match="no part 3"):
            list(parts.play([], ticket.of(3)))
        secret = ticket._ticket[40:90]
        assert not any(repr(thing).encode().count(secret) for thing in (ticket, ticket.of(0), job))
    assert sender.end()[0] == 69


def test_a_part_that_does_not_come_through_is_a_row(tmp_path: Path, keys: dict[str, str]) -> None:
    sender, split = sending(tmp_path, keys), Split.of(MINE, "email:email")
    with opened("receiver", split, sender.address(), tmp_path, keys) as job:
        ticket = job.round()
        assert ticket is not None
        cancel = vesica.CancelToken()
        cancel.cancel()
        (row,) = pa.Table.from_batches(parts.play([], ticket.of(0), cancel=cancel)).to_pylist()
    assert row["receipt"] is None and (row["distinct"], row["attempts"]) == (0, 0)
    assert isinstance(parts.failure(row["failed"]), vesica.Cancelled)
    assert sender.end()[0] == 69


def test_options_that_an_engine_cannot_have() -> None:
    usual: dict[str, Any] = {"key": "a", "slots": 1, "insecure_plaintext": True}
    with pytest.raises(vesica.UsageError, match="does not listen"):
        parts.Job.open("sender", 5, listen="127.0.0.1:0", **usual)
    with pytest.raises(vesica.UsageError, match="slots=0"):
        parts.Job.open("sender", 5, connect="127.0.0.1:1", **{**usual, "slots": 0})
    with pytest.raises(TypeError, match="unknown option"):
        parts.Job.open("sender", 5, connect="127.0.0.1:1", wrong=1, **usual)
    with pytest.raises(TypeError, match="did you mean protocol"):
        parts.Job.open("sender", 5, connect="127.0.0.1:1", protocl="vole", **usual)


def test_digests_items_and_fingerprints() -> None:
    batch = pa.RecordBatch.from_pydict({"mail": ["A@example.org", None, "a@example.org ", "b@example.org"]})
    found = parts.digests(batch, "mail:email", security="semi-honest", on_invalid="skip", connect="a:1")
    first, nothing, same, other = found.digests.to_pylist()
    assert (len(first), nothing, first == same, first == other) == (16, None, True, False)
    assert (found.nulls, found.invalid) == (1, 0)
    assert len(parts.digests(batch, "mail:email").digests[0].as_py()) == 32
    numbers, items = parts.keyed(found.digests, bytes(32), 7)
    assert (numbers.type, items.type) == (pa.int32(), pa.binary())
    assert numbers[1].as_py() is None and items[1].as_py() is None
    prefixes = [int.from_bytes(item[:8], "big") for item in items.to_pylist() if item]
    assert [prefix * 7 >> 64 for prefix in prefixes] == [part for part in numbers.to_pylist() if part is not None]
    # Spark has digests as binary of any length.
    assert parts.keyed(found.digests.cast(pa.binary()), bytes(32), 7)[1].equals(items)
    marks = parts.fingerprints(bytes(32), found.digests)
    assert marks.type == pa.int64() and marks[0] == marks[2] != marks[3] and marks[1].as_py() is None
    assert parts.fingerprints(bytes(32), pa.nulls(2, pa.binary())).null_count == 2
    with pytest.raises(vesica.InputError):
        parts.digests(pa.RecordBatch.from_pydict({"mail": ["none"]}), "mail:email")
    with pytest.raises(ValueError, match="16 bytes, or all 32"):
        parts.keyed(pa.array([b"short"]), bytes(32), 7)
