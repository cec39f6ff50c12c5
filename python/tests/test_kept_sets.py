"""Kept sets: every kind of table, labels, nights, budgets, and servers that end with their context."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars
import pyarrow
import pytest
from scene import KINDS, TIMEOUT, columns_of, command_line, joined, people, table, write_csv

import vesica

MINE, THEIRS = people("receiver", 100, 40), people("sender", 80, 40)
JOINED = joined(MINE, THEIRS)


class Kept:
    """A sender with a set in a folder of its own, and a receiver."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.set = folder, folder / "set"
        self.set.mkdir()
        self.receiver, self.sender = vesica.Identity.generate(), vesica.Identity.generate()
        self.events: list[vesica.Event] = []

    def publish(self, table: Any = None, epoch: int = 1, key: Any = "email:email", **options: Any) -> vesica.Report:
        usual = {"secret": self.folder / "set.pem", "output": self.set / f"{epoch}.vset", "identity": self.sender}
        return vesica.publish(table, key=key, **{**usual, **options})

    def serve(self, **options: Any) -> vesica.Server:
        return vesica.serve(
            **{
                "secret": self.folder / "set.pem",
                "set": self.set,
                "ledger": self.folder / "ledger",
                "allow": self.receiver.public_key,
                "listen": "127.0.0.1:0",
                "identity": self.sender,
                "on_event": self.events.append,
                **options,
            }
        )

    def lookup(self, table: Any, server: vesica.Server, key: Any = "email:email", **options: Any) -> Any:
        usual = {"set": self.set, "connect": server.address, "identity": self.receiver, "peer": self.sender.public_key}
        return vesica.lookup(table, key=key, **{**usual, **options})

    def told(self, kind: str) -> vesica.Event:
        """The first event of that kind, which may be on its way."""
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            for event in self.events:
                if event["event"] == kind:
                    return event
            time.sleep(0.01)
        raise AssertionError(f"no event {kind}: {self.events}")


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """A shell that runs the tests in the background leaves SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_every_kind(kind: str, kept: Kept) -> None:
    report = kept.publish(table(kind, THEIRS))
    assert report.kept is not None and report.role == "sender"
    assert (report.kept.epoch, report.kept.key_number, report.kept.keys, report.kept.asked) == (1, 1, 80, None)
    reports: list[vesica.Report] = []
    with kept.serve() as server:
        mine = table(kind, MINE)
        found = kept.lookup(mine, server, report=reports.append)
        assert type(found) is type(mine) and columns_of(found) == JOINED
        rows = kept.lookup(table(kind, MINE), server, row_numbers=True)
        assert list(rows) == JOINED["id"]
    asked = reports[0].kept
    assert asked is not None and asked == report.kept._replace(asked=100)
    assert reports[0].learned() == {
        "size of the partner's set": "80 keys, padding included",
        "keys in common": f"40: {len(JOINED['id'])} of 102 rows",
    }
    assert kept.told("answered")["keys"] == 100 and kept.told("listening")["key"] == kept.sender.public_key
    assert kept.events[-1]["event"] == "stopping"


def test_paths_and_the_command_line(kept: Kept) -> None:
    write_csv(kept.folder / "theirs.csv", THEIRS)
    write_csv(kept.folder / "mine.csv", MINE)
    write_csv(kept.folder / "expected.csv", JOINED)
    kept.sender.save(kept.folder / "sender.pem")
    kept.receiver.save(kept.folder / "receiver.pem")
    kept.publish(kept.folder / "theirs.csv")
    with kept.serve() as server:
        written = kept.lookup(kept.folder / "mine.csv", server, output=kept.folder / "out.csv")
        assert written == kept.folder / "out.csv"
        assert written.read_text() == (kept.folder / "expected.csv").read_text()
        asking = command_line(
            kept.folder, "lookup", "--input", "mine.csv", "--key", "email:email", "--output", "program.csv",
            "--set", "set", "--connect", server.address, "--identity", "receiver.pem",
            "--peer", kept.sender.public_key,
        )  # fmt: skip
        assert asking.end()[0] == 0, asking.screen
    assert (kept.folder / "program.csv").read_text() == written.read_text()
    serving = command_line(
        kept.folder, "serve", "--secret", "set.pem", "--set", "set", "--ledger", "other", "--listen", "127.0.0.1:0",
        "--allow", kept.receiver.public_key, "--identity", "sender.pem",
    )  # fmt: skip
    found = kept.lookup(table("pandas", MINE), serving, connect=serving.address())  # type: ignore[arg-type]
    assert columns_of(found) == JOINED
    serving.process.terminate()
    assert serving.end()[0] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_labels(kind: str, kept: Kept) -> None:
    # The first address stands twice in each table, with two notes.
    theirs = {name: values[:-1] for name, values in THEIRS.items()}
    kept.publish(table("polars", theirs), payload=["note", "id"], payload_bytes=48)
    with kept.serve() as server:
        found = columns_of(kept.lookup(table(kind, MINE), server))
    notes = {mail.lower(): note for mail, note in zip(theirs["email"], theirs["note"]) if mail}
    assert found["note_partner"] == [notes[mail.lower()] for mail in JOINED["email"]]
    assert {name: found[name] for name in MINE} == JOINED and len(found["id_partner"]) == len(JOINED["id"])
    with pytest.raises(vesica.UsageError, match="labels are sealed for their epoch"):
        kept.publish(None, 2, None, previous=kept.set, compact=True)


def test_nights(kept: Kept) -> None:
    """Whole tables and lists, receivers that follow, one that comes late, one file of many, and a new key."""
    first = {"n": list(range(100))}
    kept.publish(table("pyarrow", first), key="n:int")
    late = kept.folder / "late"
    with kept.serve() as server:
        mine = polars.DataFrame({"n": [1, 50, 100, 150, 200]})

        def found(set: Path = kept.set, **options: Any) -> list[int]:
            return list(kept.lookup(mine, server, key="n:int", set=set, **options)["n"])

        assert found() == [1, 50] == found(late, fetch=True)
        report = kept.publish(polars.DataFrame({"n": range(10, 110)}), 2, "n:int", previous=kept.set)
        assert report.kept is not None and (report.kept.added, report.kept.removed) == (10, 10)
        report = kept.publish(
            None, 3, "n:int", previous=[kept.set / "1.vset", kept.set / "2.vset"],
            added=polars.DataFrame({"n": [150, 151]}), removed=pyarrow.table({"n": [50]}),
        )  # fmt: skip
        assert report.kept is not None and (report.kept.epoch, report.kept.keys) == (3, 101)
        assert found() == [100, 150]
        # It looks into the folder once a second.
        time.sleep(1.1)
        assert found(late) == [1, 50] and found(late, fetch=True) == [100, 150]
    whole = kept.folder / "whole.vset"
    report = kept.publish(None, 0, None, previous=kept.set, compact=True, output=whole)
    assert report.kept is not None and (report.kept.epoch, report.kept.keys) == (3, 101)
    with kept.serve(set=whole) as server:
        assert found(whole) == [100, 150]
    rotated = kept.folder / "rotated.vset"
    report = kept.publish(
        table("pandas", first), key="n:int", previous=whole, rotate=True, output=rotated, secret=kept.folder / "2.pem"
    )
    assert report.kept is not None and (report.kept.epoch, report.kept.key_number) == (4, 2)
    with kept.serve(set=rotated, secret=kept.folder / "2.pem") as server:
        assert found(rotated) == [1, 50]
        with pytest.raises(vesica.RefusedError, match="answers under key 2") as raised:
            found(whole)
        assert "fetch=True" in raised.value.remedy


def test_several_keys_and_payload_of_removed_rows(kept: Kept) -> None:
    theirs = polars.DataFrame({"mail": ["a@x.org", "b@x.org"], "tel": ["1", "2"], "city": ["Bern", "Chur"]})
    rules = ["mail:email", "tel:int"]
    kept.publish(theirs[:1], key=None, match=rules, payload="city")
    # What goes has no city.
    kept.publish(
        None, 2, None, match=rules, payload="city", previous=kept.set, added=theirs[1:], removed=theirs[:1].drop("city")
    )
    mine = polars.DataFrame({"mail": ["A@x.org", None, "B@x.org"], "tel": [None, "0002", "7"]})
    with kept.serve() as server:
        found = kept.lookup(mine, server, key=None, match=rules)
    assert found["city"].to_list() == ["Chur", "Chur"] and found["matched_by"].to_list() == ["tel:int", "mail:email"]


def test_a_budget(kept: Kept) -> None:
    kept.publish(table("pandas", THEIRS), max_keys="2^10")
    with kept.serve(max_keys_per_day=150) as server:
        assert columns_of(kept.lookup(table("pandas", MINE), server)) == JOINED
        with pytest.raises(vesica.RefusedError) as raised:
            kept.lookup(table("pandas", MINE), server)
        assert raised.value.exit_code == 77 and raised.value.side == "partner"
        assert "50 keys are left until" in raised.value.message and "run again after" in raised.value.remedy
        assert kept.told("refused")["why"] == "it is over its budget"
        with pytest.raises(vesica.UsageError, match="the set takes 1024"):
            kept.lookup(polars.DataFrame({"email": [f"p{i}@x.org" for i in range(1025)]}), server)
    # The ledger is kept.
    with kept.serve(max_keys_per_day="150") as server, pytest.raises(vesica.RefusedError, match="50 keys are left"):
        kept.lookup(table("pandas", MINE), server)


def test_by_post(kept: Kept) -> None:
    """Two sides that are never there together."""
    kept.publish(table("pandas", THEIRS))
    box = kept.folder / "box"
    box.mkdir()

    def asked() -> Any:
        return vesica.lookup(
            table("polars", MINE), key="email:email", set=kept.set, post=box, identity=kept.receiver,
            peer=kept.sender.public_key, output=kept.folder / "out.arrow",
        )  # fmt: skip

    for _ in range(2):
        with pytest.raises(vesica.Waiting) as raised:
            asked()
        assert raised.value.exit_code == 75
    with kept.serve(listen=None, post=box) as server:
        assert server.wait(TIMEOUT) and server.address == str(box)
    assert kept.told("answered")["keys"] == 100
    assert columns_of(pyarrow.ipc.open_stream(asked().read_bytes()).read_all()) == JOINED
    with pytest.raises(vesica.UsageError, match="beside the output"):
        vesica.lookup(
            table("polars", MINE), key="email:email", set=kept.set, post=box, identity=kept.receiver,
            peer=kept.sender.public_key,
        )  # fmt: skip


def test_strangers_get_nothing(kept: Kept) -> None:
    kept.publish(table("pandas", THEIRS))
    other = vesica.Identity.generate()
    with kept.serve() as server:
        with pytest.raises(vesica.VesicaError) as raised:
            kept.lookup(table("pandas", MINE), server, identity=other, timeout="10s")
        assert isinstance(raised.value, (vesica.RefusedError, vesica.PartnerError))
        kept.told("turned_away")
        # Files of another sender are refused before anybody is asked.
        with pytest.raises(vesica.RefusedError, match="sign"):
            kept.lookup(table("pandas", MINE), server, peer=other.public_key)
        impostor = kept.folder / "impostor"
        impostor.mkdir()
        with pytest.raises(vesica.VesicaError):
            kept.lookup(table("pandas", MINE), server, set=impostor, fetch=True, peer=other.public_key, timeout="10s")
        assert columns_of(kept.lookup(table("pandas", MINE), server)) == JOINED


def test_the_port_is_free_after_the_block(kept: Kept) -> None:
    kept.publish(table("pandas", THEIRS))
    with kept.serve() as server:
        address = server.address
        host, port = address.rsplit(":", 1)
        with pytest.raises(vesica.UsageError, match=port):
            kept.serve(listen=address, ledger=kept.folder / "another").__enter__()
        with pytest.raises(vesica.UsageError, match="ledger"):
            kept.serve().__enter__()
        assert not server.wait(0.1)
    with socket.create_server((host, int(port))):
        pass
    # Neither is the ledger held any longer, and what ends the block comes out of it.
    with pytest.raises(ZeroDivisionError), kept.serve(listen=address):
        raise ZeroDivisionError
    with kept.serve(listen=address) as server:
        assert server.address == address
        assert columns_of(kept.lookup(table("pandas", MINE), server)) == JOINED
    assert server.wait()


def test_what_the_function_raises_ends_the_server(kept: Kept) -> None:
    class Enough(Exception):
        pass

    def heard(event: vesica.Event) -> None:
        if event["event"] == "answered":
            raise Enough

    kept.publish(table("pandas", THEIRS))
    with pytest.raises(Enough), kept.serve(on_event=heard) as server:
        kept.lookup(table("pandas", MINE), server)
        server.wait(TIMEOUT)
        raise AssertionError("the server goes on")


def test_ctrl_c_and_tokens(kept: Kept) -> None:
    kept.publish(table("pandas", THEIRS))

    def interrupt() -> None:
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt), kept.serve() as server:
        server.wait(TIMEOUT)
    thread.join()
    # A port at which somebody listens and says nothing.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            kept.lookup(table("pandas", MINE), server, connect=address)
        thread.join()
        cancel = vesica.CancelToken()
        timer = threading.Timer(0.3, cancel.cancel)
        timer.start()
        with pytest.raises(vesica.Cancelled):
            kept.lookup(table("pandas", MINE), server, connect=address, cancel=cancel)
        timer.join()
    with pytest.raises(vesica.Cancelled):
        kept.publish(table("pandas", THEIRS), 2, previous=kept.set, cancel=cancel)
    assert sorted(path.name for path in kept.set.iterdir()) == ["1.vset"]


def test_what_a_failed_publication_leaves(kept: Kept) -> None:
    """Nothing, so that the same call works once its reason is gone."""
    with pytest.raises(vesica.InputError, match="no column `mail`"):
        kept.publish(table("pandas", THEIRS), key="mail:email")
    assert [path.name for path in kept.folder.iterdir()] == ["set"] and not any(kept.set.iterdir())
    kept.publish(table("pandas", THEIRS))
    with pytest.raises(vesica.UsageError, match="exists already"):
        kept.publish(table("pandas", THEIRS))
    again = {"previous": kept.set, "rotate": True, "secret": kept.folder / "2.pem"}
    with pytest.raises(vesica.InputError):
        kept.publish(table("pandas", THEIRS), 2, "mail:email", **again)
    kept.publish(table("pandas", THEIRS), 2, **again)


def test_wrong_calls(kept: Kept) -> None:
    frame = table("pandas", THEIRS)
    for wrong, said in [
        ({}, "nothing says what the set is to have"),
        ({"table": frame, "compact": True}, "table and compact are given"),
        ({"table": frame, "removed": frame}, "table and added or removed are given"),
        ({"added": frame}, "no set yet"),
        ({"compact": True}, "no set yet"),
        ({"table": frame, "rotate": True}, "no set yet"),
        ({"table": frame, "max_keys": 0}, r"`max_keys`: write 1 to 2\^30"),
        ({"table": frame, "key": None}, "needs a key"),
        ({"table": frame, "delimiter": ";"}, "options for text are for a path"),
    ]:
        with pytest.raises(vesica.UsageError, match=said):
            kept.publish(**wrong)
    assert not any(kept.set.iterdir()) and not (kept.folder / "set.pem").exists()
    with pytest.raises(TypeError, match="unknown option protocol"):
        kept.publish(frame, protocol="dh")
    kept.publish(frame)
    for wrong, said in [
        ({"listen": None}, "no address"),
        ({"post": kept.folder}, "listen and post are given"),
        ({"allow": []}, "nobody is allowed"),
        ({"max_keys_per_day": "many"}, "`max_keys_per_day`"),
        ({"secret": kept.folder / "none.pem"}, r"none\.pem"),
        ({"on_event": 1}, "not a function"),
    ]:
        with pytest.raises(vesica.UsageError, match=said):
            kept.serve(**wrong).__enter__()
    with pytest.raises(TypeError, match="unknown option memory"):
        kept.serve(memory="1G")
    server = kept.serve()
    with pytest.raises(vesica.UsageError, match="has not been started"):
        _ = server.address
    with server:
        with pytest.raises(vesica.UsageError, match="has been started"):
            server.__enter__()
        with pytest.raises(vesica.UsageError, match="set's keys are by email"):
            kept.lookup(table("pandas", MINE), server, key="email:text")
