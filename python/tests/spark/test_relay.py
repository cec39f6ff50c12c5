"""Two clusters meet at a relay: neither listens, and both have parts only as many as they can play at once."""

from __future__ import annotations

import json
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from party_on_spark import COMMON, ROWS, expected, ids, party, table, text
from scene import Party, command_line

import vesica
import vesica.spark


class Relay:
    """A relay that can be killed and started again at the same address."""

    def __init__(self, folder: Path, keys: dict[str, str]) -> None:
        self.folder, self.key = folder, vesica.keygen(folder / "relay.pem")
        self._allowed = [word for role in ("sender", "receiver") for word in ("--allow", keys[role])]
        self.party = self._started("127.0.0.1:0")
        self.address = self.party.address()

    def _started(self, address: str) -> Party:
        return command_line(self.folder, "relay", "--listen", address, "--identity", "relay.pem", *self._allowed)

    def killed_and_back(self) -> None:
        self.party.process.kill()
        self.party.end()
        time.sleep(2)
        self.party = self._started(self.address)
        self.party.address()

    def options(self, role: str, keys: dict[str, str]) -> dict[str, Any]:
        other = "sender" if role == "receiver" else "receiver"
        return {
            "key": "e.mail:email", "via": self.address, "via_key": self.key, "run": "monday", "parts": 6, "timeout": "280s",
            "identity": str(self.folder / f"{role}.pem"), "peer": keys[other], "workdir": str(self.folder / f"work-{role}"),
        }  # fmt: skip


@pytest.fixture
def relay(tmp_path: Path, keys: dict[str, str]) -> Any:
    made = Relay(tmp_path, keys)
    yield made
    made.party.process.kill()


@contextmanager
def after_a_part(misfortunes: Path, action: Callable[[], None]) -> Iterator[None]:
    """Does it as soon as a part has been played here."""
    over = threading.Event()

    def wait() -> None:
        while not over.wait(0.05):
            if list(misfortunes.glob("played.*")):
                action()
                return

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def received(spark: Any, **options: Any) -> list[int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ids(vesica.spark.receive(table(spark, "receiver", ROWS, COMMON), **options))


def test_two_clusters(spark: Any, relay: Relay, tmp_path: Path, keys: dict[str, str]) -> None:
    """Two slots against one: rounds of two parts."""
    sender = party(tmp_path, None, "sender", ROWS, {**relay.options("sender", keys), "slots": 1})
    assert received(spark, slots=2, **relay.options("receiver", keys)) == expected(ROWS, COMMON)
    code, found = sender.end()
    assert code == 0, sender.screen
    assert json.loads(found.splitlines()[-1])["report"]["outcome"] == "done"
    rounds = {int(path.name.removeprefix("round=")) for path in (tmp_path / "work-receiver").glob("round=*")}
    assert rounds == {0, 1, 2} and (tmp_path / "work-receiver" / "items").exists()


def test_a_relay_that_is_killed_and_comes_back(
    spark: Any, relay: Relay, tmp_path: Path, keys: dict[str, str], misfortunes: Path
) -> None:
    sender = party(tmp_path, None, "sender", ROWS, {**relay.options("sender", keys), "slots": 1})
    with after_a_part(misfortunes, relay.killed_and_back):
        assert received(spark, slots=2, **relay.options("receiver", keys)) == expected(ROWS, COMMON)
    assert sender.end()[0] == 0, sender.screen


def test_a_relay_that_is_killed_for_good(
    spark: Any, relay: Relay, tmp_path: Path, keys: dict[str, str], misfortunes: Path
) -> None:
    """The other side is the program."""
    options = {**relay.options("receiver", keys), "timeout": "40s"}
    (tmp_path / "sender.csv").write_text(text("sender", ROWS, COMMON))
    sender = command_line(
        tmp_path, "send", "--input", "sender.csv", "--key", "mail:email", "--via", relay.address, "--via-key", relay.key,
        "--run", "monday", "--identity", "sender.pem", "--peer", keys["receiver"], "--timeout", "40s",
    )  # fmt: skip
    (misfortunes / "slow").write_text("5")
    killed: list[float] = []

    def kill() -> None:
        relay.party.process.kill()
        killed.append(time.monotonic())

    with after_a_part(misfortunes, kill), pytest.raises(vesica.PartnerError) as failed:
        received(spark, slots=2, **options)
    assert failed.value.exit_code == 69
    # Jobs have to be cancelled, and workdir emptied.
    assert time.monotonic() - killed[0] < 40 + 40
    assert sender.end()[0] == 69, sender.screen
    assert time.monotonic() - killed[0] < 40 + 40
