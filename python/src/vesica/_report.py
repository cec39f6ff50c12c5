"""The report of a run."""

from __future__ import annotations

import html
import json
from datetime import datetime
from typing import Any, NamedTuple

__all__ = ["Bytes", "Input", "Kept", "Keys", "Matches", "Phase", "Report", "RuleCounts", "Sizes", "Transcript"]


class Sizes(NamedTuple):
    """Counts of my table, and what each side saw of the other."""

    rows: int
    """Rows of my table."""
    items: int
    """Different keys among them."""
    nulls: int
    """Rows without a key, left out."""
    invalid: int
    """Rows whose key breaks its rule, left out."""
    duplicates: int
    """Rows with the key of an earlier row."""
    shown_items: int | None
    """The size of my set that the partner saw."""
    peer_items: int | None
    """The size of the partner's set that I saw."""
    shown: bool
    """Whether the size of my set has left this side, so that the partner can have seen it."""


class Matches(NamedTuple):
    """The result's counts."""

    items: int
    """Different keys in the intersection."""
    rows: int
    """Rows of my table that have one of them."""


class RuleCounts(NamedTuple):
    """What one of several rules to match by made of my rows."""

    rule: str
    """The rule, with my columns."""
    keys: int
    """Rows with a key of this rule."""
    nulls: int
    """Rows without one."""
    invalid: int
    """Rows in which it is invalid."""
    matching_rows: int | None
    """Rows that match by this rule and by none before it, for a party that learns them."""


class Bytes(NamedTuple):
    """Bytes over the connection."""

    sent: int
    """From me to the partner."""
    received: int
    """From the partner to me."""


class Keys(NamedTuple):
    """The public keys of the two sides, as ``keygen`` returns them."""

    mine: str
    """This side's."""
    partner: str
    """The partner's, which has proven to hold the private key."""


class Transcript(NamedTuple):
    """BLAKE3 digests of the payload in each direction, in hexadecimal digits."""

    sent: str
    """Of what this side sent: the partner's ``received``."""
    received: str
    """Of what it received: the partner's ``sent``."""


class Input(NamedTuple):
    """The bytes that a table was read from."""

    name: str | None
    """The file's name without its folder; None for a stream."""
    bytes: int
    """How many they are."""
    blake3: str
    """Their BLAKE3 digest in hexadecimal digits, as ``b3sum`` prints it."""


class Kept(NamedTuple):
    """The epoch of a kept set that was published, or in which keys were looked up."""

    epoch: int
    """Its number."""
    key_number: int
    """The number of the OPRF's key; a rotation makes the next one."""
    digest: str
    """The digest of the epoch's file in hexadecimal digits: the same at the sender and at every receiver."""
    keys: int
    """Keys in the set, padding included."""
    added: int
    """Values that came with the epoch, padding included."""
    removed: int
    """Values that went."""
    asked: int | None
    """Keys that were asked for, padding included; None for a publication."""


class Phase(NamedTuple):
    """One phase of a run."""

    name: str
    """Its name."""
    words: str
    """What happens in it."""
    wall_s: float
    """Wall time in seconds."""
    cpu_s: float
    """CPU time of the whole process in seconds."""
    sent: int
    """Payload bytes sent meanwhile."""
    received: int
    """Payload bytes received meanwhile."""


def _time(text: str) -> datetime:
    """A time of UTC; ``fromisoformat`` takes no Z before Python 3.11."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _fields(kind: Any, data: dict[str, Any]) -> Any:
    """A tuple of that kind; fields that a later version adds are left to ``to_dict``."""
    return kind(*(data.get(name) for name in kind._fields))


class Report:
    """The report of a run: the same as ``vesica receive --report`` writes. It holds no key of either table."""

    def __init__(self, text: str, result: Any = None) -> None:
        """The report in this JSON text."""
        self._data: dict[str, Any] = json.loads(text)
        self.result: Any = result
        """The result of a sender that learns it too, as :func:`vesica.receive` would return it; else None."""

    @property
    def outcome(self) -> str:
        """``done`` or ``failed``."""
        return str(self._data["outcome"])

    @property
    def role(self) -> str:
        """``receiver`` or ``sender``; ``helper`` in a helper's report."""
        return str(self._data["role"])

    @property
    def protocol(self) -> str | None:
        """The protocol that ran, once it was agreed."""
        return self._data["protocol"]  # type: ignore[no-any-return]

    @property
    def reason(self) -> str | None:
        """Why that protocol, if it was not named."""
        return self._data["reason"]  # type: ignore[no-any-return]

    @property
    def security(self) -> str:
        """The security of the run; ``none`` for a protocol that is marked insecure or broken."""
        return str(self._data["security"])

    @property
    def learns(self) -> str:
        """``receiver`` or ``both``."""
        return str(self._data["learns"])

    @property
    def started(self) -> datetime:
        """When the run began, by this machine's clock."""
        return _time(self._data["started"])

    @property
    def ended(self) -> datetime:
        """When it ended."""
        return _time(self._data["ended"])

    @property
    def keys(self) -> Keys | None:
        """The public keys of both sides; None without a partner, or without TLS."""
        keys = self._data["keys"]
        return None if keys is None else _fields(Keys, keys)

    @property
    def session(self) -> str | None:
        """The name of the run: the same on both sides, and different for every run. Known once the terms were agreed."""
        return self._data["session"]  # type: ignore[no-any-return]

    @property
    def transcript(self) -> Transcript | None:
        """Digests of all that session and protocol sent and received."""
        transcript = self._data["transcript"]
        return None if transcript is None else _fields(Transcript, transcript)

    @property
    def ledger(self) -> dict[str, Any] | None:
        """Where the run ends in my ledger: ``run``, ``line`` and its ``digest``; None without one."""
        return self._data.get("ledger")

    @property
    def receipt(self) -> dict[str, Any] | None:
        """What both sides have signed, as ``docs/receipts.md`` describes it; None if none was asked for."""
        return self._data.get("receipt")

    @property
    def relay(self) -> str | None:
        """The address of the relay through which the partner was met; None without one."""
        return self._data["relay"]  # type: ignore[no-any-return]

    @property
    def helper(self) -> dict[str, Any] | None:
        """The helper as this party saw it, ``key`` and ``transcript``; None in a protocol without one."""
        return self._data["helper"]  # type: ignore[no-any-return]

    @property
    def parties(self) -> dict[str, Any] | None:
        """In a helper's report: ``receiver`` and ``sender``, each with ``key``, ``items`` and ``transcript``, and
        ``common_items``."""
        return self._data["parties"]  # type: ignore[no-any-return]

    @property
    def input(self) -> Input | None:
        """The file that was read; None for a table in memory."""
        input = self._data["input"]
        return None if input is None else _fields(Input, input)

    @property
    def terms(self) -> dict[str, str]:
        """The terms that were equal on both sides, once they were compared."""
        return dict(self._data["terms"])

    @property
    def version(self) -> str:
        """The version of Vesica."""
        return str(self._data["versions"]["vesica"])

    @property
    def sizes(self) -> Sizes:
        """Counts of my table and the size of the partner's."""
        return _fields(Sizes, self._data["sizes"])  # type: ignore[no-any-return]

    @property
    def confirmed(self) -> bool:
        """Whether both sides confirmed the exchange. If a run failed after that, only its output here is missing."""
        return bool(self._data["confirmed"])

    @property
    def matches(self) -> Matches | None:
        """The result's counts, for a party that learns it."""
        matches = self._data["matches"]
        return None if matches is None else _fields(Matches, matches)

    @property
    def kind(self) -> str | None:
        """What the result is: ``rows``, ``payload``, ``count``, ``at-least`` or ``sum``. Known once the terms were agreed."""
        result = self._data.get("result")
        return None if result is None else str(result["kind"])

    @property
    def revealed(self) -> dict[str, list[str]] | None:
        """What the run reveals to the ``receiver`` and to the ``sender``, in words. Known once the terms were agreed."""
        result = self._data.get("result")
        return None if result is None else {role: list(result[f"{role}_learns"]) for role in ("receiver", "sender")}

    @property
    def match_rules(self) -> list[RuleCounts]:
        """What each rule made of my rows, if there were several (``match``)."""
        return [_fields(RuleCounts, counts) for counts in self._data.get("match_rules", [])]

    @property
    def hints(self) -> list[str]:
        """Hints, if every row was left out or nothing matches."""
        return list(self._data.get("hints", []))

    @property
    def payload(self) -> Bytes:
        """Bytes that the session and the protocol sent and received."""
        return _fields(Bytes, self._data["bytes"]["payload"])  # type: ignore[no-any-return]

    @property
    def wire(self) -> Bytes:
        """Bytes that went over the wire: payload, frames, heartbeats and TLS."""
        return _fields(Bytes, self._data["bytes"]["wire"])  # type: ignore[no-any-return]

    @property
    def phases(self) -> list[Phase]:
        """Where the time went."""
        return [_fields(Phase, phase) for phase in self._data["phases"]]

    @property
    def peak_rss(self) -> int | None:
        """Peak resident memory of the process in bytes, where the system tells."""
        return self._data["peak_rss"]  # type: ignore[no-any-return]

    @property
    def kept(self) -> Kept | None:
        """The epoch that :func:`vesica.publish` made, or in which :func:`vesica.lookup` looked; None in other runs."""
        kept = self._data.get("kept")
        return None if kept is None else _fields(Kept, kept)

    @property
    def base_ots(self) -> str | None:
        """Where base OTs came from, with ``keep_base_ots``: ``kept``, ``new``, ``not kept``, or ``none`` were needed."""
        return self._data["base_ots"]  # type: ignore[no-any-return]

    @property
    def memory_bound(self) -> int | None:
        """The upper bound of the memory for the table and the protocol, in bytes."""
        return self._data["memory_bound"]  # type: ignore[no-any-return]

    def to_dict(self) -> dict[str, Any]:
        """The whole report, as ``docs/report.md`` describes it."""
        return json.loads(json.dumps(self._data))  # type: ignore[no-any-return]

    def learned(self) -> dict[str, str]:
        """Everything that this side learned about the other's table, in words."""
        sizes, matches = self.sizes, self.matches
        learned = {}
        if sizes.peer_items is not None:
            learned["size of the partner's set"] = f"{sizes.peer_items} keys, padding included"
        elif self.kept is not None and self.kept.asked is not None:
            learned["size of the partner's set"] = f"{self.kept.keys} keys, padding included"
        result = self._data.get("result") or {}
        noisy = self.terms.get("noise", "none") != "none"
        if matches is not None:
            learned["keys in common"] = f"{matches.items}: {matches.rows} of {sizes.rows} rows"
        elif result.get("count") is not None:
            learned["keys in common"] = str(result["count"]) + (", with noise" if noisy else "")
        elif result.get("at_least") is not None:
            least = self.terms["at-least"]
            answer = f"at least {least}" if result["at_least"] else f"fewer than {least}"
            learned["keys in common"] = answer + (", by a count with noise" if noisy else "")
        elif result.get("sums") is not None:
            sums = ", ".join(f"{one['column']} {one['sum']}" for one in result["sums"])
            learned["sums over the keys in common"] = sums
        elif self.confirmed and self.role in self._who_learns() and result.get("kind", "rows") in ("rows", "payload"):
            # An engine has the rows, and nobody has counted them here.
            learned["keys in common"] = "which of my keys they are"
        else:
            learned["keys in common"] = "nothing"
        return learned

    def _who_learns(self) -> tuple[str, ...]:
        return ("receiver", "sender") if self.learns == "both" else ("receiver",)

    def __repr__(self) -> str:
        matches = self.matches
        found = "" if matches is None else f", {matches.rows} of {self.sizes.rows} rows match"
        return f"<Report: {self.role}, {self.outcome}, protocol {self.protocol}{found}>"

    def _repr_html_(self) -> str:
        rows = {
            "role": self.role,
            "when": f"{self.started:%Y-%m-%d %H:%M:%S} UTC",
            "protocol": f"{self.protocol}, {self.security}",
            "my table": f"{self.sizes.rows} rows, {self.sizes.items} keys",
            "shown to the partner": f"{self.sizes.shown_items} keys",
            **{f"learned: {what}": value for what, value in self.learned().items()},
            "sent, received": f"{self.payload.sent:,} bytes, {self.payload.received:,} bytes",
        }
        cells = "".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(v)}</td></tr>" for k, v in rows.items())
        return f"<table>{cells}</table>"
