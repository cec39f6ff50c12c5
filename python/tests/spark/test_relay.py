"""Two clusters meet at a relay: neither listens, and both have parts only as many as they can play at once."""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from party_on_spark import COMMON, ROWS, expected, ids, party, table
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
    import threading

    def kill() -> None:
        while not list(misfortunes.glob("played.*")):
            time.sleep(0.05)
        relay.killed_and_back()

    threading.Thread(target=kill, daemon=True).start()
    sender = party(tmp_path, None, "sender", ROWS, {**relay.options("sender", keys), "slots": 1})
    assert received(spark, slots=2, **relay.options("receiver", keys)) == expected(ROWS, COMMON)
    assert sender.end()[0] == 0, sender.screen
