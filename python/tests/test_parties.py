"""Two processes end with the plain join's rows: Python with every kind of table, and Python with the command line."""

from __future__ import annotations

import base64
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from scene import KINDS, Meeting, Together, command_line, joined, people, python, table, write_csv

import vesica

MINE, THEIRS = people("receiver", 3000, 411), people("sender", 2000, 411)


@pytest.mark.parametrize("kind", KINDS)
def test_two_processes(kind: str, tmp_path: Path, keys: dict[str, str]) -> None:
    sender = python(
        tmp_path, "sender", kind, THEIRS, identity="sender.pem", peer=keys["receiver"], listen="127.0.0.1:0"
    )
    address = sender.address()
    receiver = python(
        tmp_path, "receiver", kind, MINE, identity="receiver.pem", peer=keys["sender"], connect=address,
        report=str(tmp_path / "evidence.json"),
    )  # fmt: skip
    (code, found), (sent, report) = receiver.end(), sender.end()
    assert (code, sent) == (0, 0), receiver.screen + sender.screen
    assert json.loads(found) == joined(MINE, THEIRS)
    mine, theirs = vesica.Report((tmp_path / "evidence.json").read_text()), vesica.Report(report)
    assert (mine.role, theirs.role) == ("receiver", "sender")
    assert mine.keys == (keys["receiver"], keys["sender"]) and theirs.keys == (keys["sender"], keys["receiver"])
    assert mine.session == theirs.session is not None
    assert mine.transcript is not None and theirs.transcript is not None
    assert tuple(mine.transcript) == tuple(reversed(theirs.transcript))
    assert (mine.terms, mine.version) == (theirs.terms, theirs.version)
    assert mine.started <= mine.ended and mine.input is None


def test_both_sides_sign_the_same_receipt_which_anybody_can_check(tmp_path: Path, keys: dict[str, str]) -> None:
    places = {side: tmp_path / f"{side}-receipt.json" for side in ("sender", "receiver")}
    sender = python(
        tmp_path, "sender", "polars", THEIRS, identity="sender.pem", peer=keys["receiver"], listen="127.0.0.1:0",
        receipt=str(places["sender"]),
    )  # fmt: skip
    receiver = python(
        tmp_path, "receiver", "pandas", MINE, identity="receiver.pem", peer=keys["sender"], connect=sender.address(),
        receipt=str(places["receiver"]), report=str(tmp_path / "report.json"),
    )  # fmt: skip
    (code, _), (sent, _) = receiver.end(), sender.end()
    assert (code, sent) == (0, 0), receiver.screen + sender.screen
    assert places["sender"].read_bytes() == places["receiver"].read_bytes()
    report = vesica.Report((tmp_path / "report.json").read_text())
    both = list(keys[side] for side in places)
    receipt = vesica.verify(places["sender"], peer=both, report=tmp_path / "report.json")
    assert report.receipt is not None and receipt.statement == report.receipt["statement"]
    assert receipt.statement["receiver"]["key"] == keys["receiver"]
    assert "It does not prove" in str(receipt)
    # Without Vesica: the canonical form of RFC 8785 of what has only ASCII and small numbers, and Ed25519.
    canonical = json.dumps(receipt.statement, sort_keys=True, separators=(",", ":"))
    message = b"vesica receipt v1\n" + canonical.encode()
    for side in places:
        key = base64.urlsafe_b64decode(keys[side].removeprefix("vesica-pub1-") + "=")
        signature = base64.urlsafe_b64decode(receipt.signatures[side] + "==")
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    with pytest.raises(vesica.RefusedError, match="none of the expected ones"):
        vesica.verify(places["sender"], peer=vesica.Identity.generate().public_key)
    places["sender"].write_text(places["sender"].read_text().replace('"rows"', '"count"', 1))
    with pytest.raises(vesica.ProtocolError, match="did not sign"):
        vesica.verify(places["sender"])
    with pytest.raises(vesica.InputError, match="no receipt"):
        vesica.verify(tmp_path / "sender.pem")


def test_a_receipt_needs_two_sides_with_keys(tmp_path: Path) -> None:
    with pytest.raises(vesica.UsageError, match=r"receipt.? needs two sides"):
        vesica.receive(
            table("pandas", MINE), key="email:email", connect="127.0.0.1:1", insecure_plaintext=True,
            receipt=tmp_path / "receipt.json",
        )  # fmt: skip
    with pytest.raises(TypeError, match="unknown option receipt"):
        vesica.local(table("pandas", MINE), table("pandas", THEIRS), key="email:email", receipt="x")  # type: ignore[call-overload]


def test_python_receives_from_the_command_line(tmp_path: Path, keys: dict[str, str]) -> None:
    write_csv(tmp_path / "sender.csv", THEIRS)
    sender = command_line(
        tmp_path, "send", "--input", "sender.csv", "--key", "email:email", "--listen", "127.0.0.1:0",
        "--identity", "sender.pem", "--peer", keys["receiver"],
    )  # fmt: skip
    receiver = python(
        tmp_path, "receiver", "pandas", MINE, identity="receiver.pem", peer=keys["sender"], connect=sender.address()
    )
    (code, found), (sent, _) = receiver.end(), sender.end()
    assert (code, sent) == (0, 0), receiver.screen + sender.screen
    assert json.loads(found) == joined(MINE, THEIRS)


def test_python_sends_to_the_command_line(tmp_path: Path, keys: dict[str, str]) -> None:
    write_csv(tmp_path / "receiver.csv", MINE)
    write_csv(tmp_path / "expected.csv", joined(MINE, THEIRS))
    sender = python(
        tmp_path, "sender", "polars", THEIRS, identity="sender.pem", peer=keys["receiver"], listen="127.0.0.1:0"
    )
    receiver = command_line(
        tmp_path, "receive", "--input", "receiver.csv", "--key", "email:email", "--output", "out.csv",
        "--connect", sender.address(), "--identity", "receiver.pem", "--peer", keys["sender"],
    )  # fmt: skip
    (code, _), (sent, _) = receiver.end(), sender.end()
    assert (code, sent) == (0, 0), receiver.screen + sender.screen
    assert (tmp_path / "out.csv").read_text() == (tmp_path / "expected.csv").read_text()


def test_two_parties_that_cannot_listen_meet_at_a_relay(tmp_path: Path, keys: dict[str, str]) -> None:
    relay_key = vesica.keygen(tmp_path / "relay.pem")
    relay = command_line(
        tmp_path, "relay", "--listen", "127.0.0.1:0", "--identity", "relay.pem",
        "--allow", keys["sender"], "--allow", keys["receiver"],
    )  # fmt: skip
    meeting = {"via": relay.address(), "via_key": relay_key, "run": "monday"}
    receiver = python(tmp_path, "receiver", "pandas", MINE, identity="receiver.pem", peer=keys["sender"], **meeting)
    sender = python(tmp_path, "sender", "polars", THEIRS, identity="sender.pem", peer=keys["receiver"], **meeting)
    (code, found), (sent, _) = receiver.end(), sender.end()
    assert (code, sent) == (0, 0), receiver.screen + sender.screen
    assert json.loads(found) == joined(MINE, THEIRS)
    relay.process.terminate()
    assert relay.end()[0] == 0
    with pytest.raises(vesica.UsageError, match="belong together"):
        vesica.send(table("pandas", THEIRS), key="email:email", via="a:1", peer=keys["receiver"])


def test_python_takes_the_run_file_of_the_command_line(tmp_path: Path, keys: dict[str, str]) -> None:
    write_csv(tmp_path / "sender.csv", THEIRS)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    sender = command_line(
        tmp_path, "send", "--input", "sender.csv", "--key", "email:email", "--listen", f"127.0.0.1:{port}",
        "--security", "semi-honest", "--profile", "fast", "--write-run-file", "run.json",
        "--identity", "sender.pem", "--peer", keys["receiver"],
    )  # fmt: skip
    sender.address()
    with pytest.raises(vesica.UsageError, match="profile is given"):
        vesica.receive(table("pandas", MINE), key="email", run_file=tmp_path / "run.json", profile="lean")
    with pytest.raises(vesica.UsageError, match="is for the public key"):
        vesica.receive(
            table("pandas", MINE), key="email", run_file=tmp_path / "run.json", identity=tmp_path / "sender.pem"
        )
    receiver = python(tmp_path, "receiver", "pandas", MINE, identity="receiver.pem", run_file="run.json", key="email")
    (code, found), (sent, _) = receiver.end(), sender.end()
    assert (code, sent) == (0, 0), receiver.screen + sender.screen
    assert json.loads(found) == joined(MINE, THEIRS)


def test_base_ots_are_kept_for_later_runs(tmp_path: Path, keys: dict[str, str]) -> None:
    options = {"protocol": "kkrt", "security": "semi-honest"}
    for base_ots in ("new", "kept"):
        sender = python(
            tmp_path, "sender", "pyarrow", THEIRS, identity="sender.pem", peer=keys["receiver"],
            listen="127.0.0.1:0", keep_base_ots="sender.ots", **options,
        )  # fmt: skip
        receiver = python(
            tmp_path, "receiver", "polars", MINE, identity="receiver.pem", peer=keys["sender"],
            connect=sender.address(), keep_base_ots="receiver.ots", **options,
        )  # fmt: skip
        (code, found), (sent, report) = receiver.end(), sender.end()
        assert (code, sent) == (0, 0), receiver.screen + sender.screen
        assert json.loads(found) == joined(MINE, THEIRS)
        assert json.loads(report)["base_ots"] == base_ots


def test_three_processes(tmp_path: Path, keys: dict[str, str]) -> None:
    helper_key = vesica.keygen(tmp_path / "helper.pem")
    helper = python(
        tmp_path, "helper", "", {}, identity="helper.pem", listen="127.0.0.1:0",
        peers=[keys["receiver"], keys["sender"]],
    )  # fmt: skip
    helped: Any = {
        "protocol": "server-aided", "security": "semi-honest", "helper": helper.address(), "helper_key": helper_key
    }  # fmt: skip
    sender = python(
        tmp_path, "sender", "polars", THEIRS, identity="sender.pem", peer=keys["receiver"], listen="127.0.0.1:0",
        **helped,
    )  # fmt: skip
    receiver = python(
        tmp_path, "receiver", "pandas", MINE, identity="receiver.pem", peer=keys["sender"],
        connect=sender.address(), **helped,
    )  # fmt: skip
    (code, found), (sent, _), (third, report) = receiver.end(), sender.end(), helper.end()
    assert (code, sent, third) == (0, 0, 0), receiver.screen + sender.screen + helper.screen
    assert json.loads(found) == joined(MINE, THEIRS)
    mine, theirs = ({mail.lower() for mail in columns["email"] if mail} for columns in (MINE, THEIRS))
    assert json.loads(report)["parties"]["common_items"] == len(mine & theirs)


def test_a_ledger_refuses_counts_beyond_its_budget(tmp_path: Path) -> None:
    meeting, ledger = Meeting(), tmp_path / "runs"
    mine, theirs = table("pandas", MINE), table("polars", THEIRS)
    both: dict[str, Any] = {"key": "email:email", "result": "count", "security": "semi-honest"}

    def results() -> list[Any]:
        return Together(
            lambda: vesica.receive(mine, **both, **meeting.connect(meeting.receiver, meeting.sender)),
            lambda: vesica.send(
                theirs, **both, ledger=ledger, max_counts=1, **meeting.listen(meeting.sender, meeting.receiver)
            ),
        ).results

    assert results()[0] == 411
    received, sent = results()
    assert isinstance(received, vesica.PartnerError) and isinstance(sent, vesica.RefusedError)
    assert "`max_counts=1` is the limit" in sent.message
    runs = vesica.ledger(ledger)
    assert (runs["lines"], runs["torn"], runs["partners"][0]["partner"]) == (5, [], meeting.receiver.public_key)
    assert runs["partners"][0]["sets"][0]["counts"] == {"spent": 1, "most": 1, "left": 0}
    assert vesica.ledger(ledger, expect=runs["last"]) == runs
    text = ledger.read_text()
    ledger.write_text(text[: text[:-1].rindex("\n") + 1])
    with pytest.raises(vesica.InputError, match="no line of the ledger has the digest"):
        vesica.ledger(ledger, expect=runs["last"])
    ledger.write_text(text.replace('"count"', '"rows"', 1))
    with pytest.raises(vesica.InputError, match="was changed"):
        vesica.ledger(ledger)
    with pytest.raises(vesica.UsageError, match="needs a partner whose key is known"):
        vesica.send(
            table("pandas", THEIRS), key="email:email", connect="127.0.0.1:9", insecure_plaintext=True, ledger=ledger
        )
    with pytest.raises(vesica.UsageError, match="`max_counts` is a budget over the runs of a ledger"):
        vesica.local(table("pandas", MINE), table("pandas", THEIRS), key="email:email", max_counts=3)
