"""Protocols by name, on sets of byte strings."""

from __future__ import annotations

import queue
from pathlib import Path
from typing import Any

import pytest
from scene import Together, table
from test_errors import goes_on

import vesica

MINE, THEIRS = [b"ada", b"bob", b"\xff\x00", b"eve", b"eve"], [b"zoe", b"eve", b"\xff\x00"]
NUMBERS, THEIR_NUMBERS = [7, 1, 4, 5, 5], [6, 5, 4]


def test_the_registry() -> None:
    every = vesica.protocols()
    assert next(iter(every)) == "vole" and every["dh"].paper.startswith("Mea86")
    assert every["vole"].security == ("semi-honest", "malicious")
    assert every["dh"].standing == "standard" and every["dh"].about["messages"]
    assert "naive-hash" not in every


@pytest.mark.parametrize("name", list(vesica.protocols()))
def test_every_protocol_in_memory(name: str) -> None:
    protocol = vesica.protocols()[name]
    here, there = vesica.channel_pair()
    if protocol.about["helper"]:
        (mine, to_me), (theirs, to_them) = vesica.channel_pair(), vesica.channel_pair()
        found, report, helped = Together(
            lambda: protocol.receive(MINE, here, helper=mine),
            lambda: protocol.send(THEIRS, there, helper=theirs),
            lambda: protocol.assist(to_them, to_me),
        ).results
        assert helped.role == "helper" and helped.parties["common_items"] == 2
    elif protocol.about["native_only"]:
        found, report = Together(
            lambda: protocol.receive(NUMBERS, here, sigma=3),
            lambda: protocol.send(THEIR_NUMBERS, there, sigma=3),
        ).results
    else:
        found, report = Together(
            lambda: protocol.receive(MINE, here),
            lambda: protocol.send(THEIRS, there),
        ).results
    assert list(found) == [2, 3, 4]
    assert (report.protocol, report.matches, report.result) == (name, None, None)


def test_over_tcp_and_against_a_table() -> None:
    dh, identities = vesica.protocols()["dh"], [vesica.Identity.generate() for _ in range(2)]
    address: queue.Queue[str] = queue.Queue()
    mine, theirs = identities

    def heard(event: vesica.Event) -> None:
        if event["event"] == "listening":
            address.put(event["address"])

    def listen() -> Any:
        channel = vesica.open_channel(listen="127.0.0.1:0", identity=theirs, peer=mine.public_key, events=heard)
        return dh.send(THEIRS, channel, learns="both")

    def connect() -> Any:
        partner: Any = {"connect": address.get(timeout=60), "identity": mine, "peer": theirs.public_key}
        partner["security"] = "semi-honest"
        return vesica.receive(table("polars", {"key": ["ada", "eve"]}), key="key", learns="both", **partner)

    report, found = Together(listen, connect).results
    assert found["key"].to_list() == ["eve"]
    assert list(report.result) == [1]


def test_integers() -> None:
    protocol = vesica.protocols()["ot-phasing"]
    here, there = vesica.channel_pair()
    found, _ = Together(
        lambda: protocol.receive([5, 7, 11], here, sigma=32),
        lambda: protocol.send([7, 11, 13], there, sigma=32),
    ).results
    assert list(found) == [1, 2]


def test_misuse() -> None:
    dh = vesica.protocols()["dh"]
    here, there = vesica.channel_pair()
    with pytest.raises(vesica.UsageError, match="byte strings"):
        dh.receive(["text"], here)  # type: ignore[arg-type]
    with pytest.raises(vesica.UsageError, match="does not offer"):
        dh.receive([1], here, sigma=32)
    with pytest.raises(vesica.UsageError, match="has been used"):
        dh.receive([b"a"], here)
    there.close()
    left, right = vesica.channel_pair()
    left.close()
    with pytest.raises((vesica.PartnerError, vesica.Cancelled)):
        dh.send([b"a"], right)
    goes_on()


def test_identities(tmp_path: Path) -> None:
    identity = vesica.Identity.generate()
    identity.save(tmp_path / "mine.pem")
    assert vesica.Identity.load(tmp_path / "mine.pem").public_key == identity.public_key
    assert identity.public_key in repr(identity)
    with pytest.raises(vesica.UsageError, match="not overwritten"):
        identity.save(tmp_path / "mine.pem")
