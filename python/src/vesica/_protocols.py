"""Protocols by name, between two sets of byte strings over a channel: for research."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from . import _internal
from ._internal import CancelToken, Identity
from ._options import PARTNER, Options, filled, time
from ._progress import Event, listener
from ._report import Report
from ._run import StrPath
from ._tables import row_numbers
from .errors import usage

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Channel", "Protocol", "channel_pair", "open_channel", "protocols"]

Channel = _internal.Channel
SetKeys = Sequence[bytes] | Sequence[int]


def channel_pair(cancel: CancelToken | None = None) -> tuple[Channel, Channel]:
    """The two ends of a channel in this process. Each end is for one run, in a thread of its own."""
    return Channel.pair(cancel)


def open_channel(
    *,
    listen: str | None = None,
    connect: str | None = None,
    identity: StrPath | Identity | None = None,
    peer: str | None = None,
    insecure_plaintext: bool = False,
    timeout: str | float | timedelta = "5m",
    cancel: CancelToken | None = None,
    events: Callable[[Event], object] | None = None,
) -> Channel:
    """Meet the partner over the network, for one run. Arguments are those of :func:`vesica.receive`."""
    # A channel is for one run, so it keeps no base OTs; and it is a connection to one partner.
    given = {"listen": listen, "connect": connect, "identity": identity, "peer": peer}
    partner = {**PARTNER, **given, "insecure_plaintext": insecure_plaintext}
    with listener(events, False) as on_event:
        return Channel.open(partner, time(timeout), cancel, on_event)


@dataclass(frozen=True)
class Protocol:
    """A protocol of the registry: its entry in ``vesica protocols --json``, and its two roles."""

    name: str
    """Its name on the command line."""
    title: str
    """What it is, in a few words."""
    family: str
    """What it builds on."""
    paper: str
    """Paper and section."""
    security: tuple[str, ...]
    """The security models that it offers."""
    standing: str
    """``standard``, ``insecure`` or ``broken``."""
    learns: str
    """Who learns what."""
    learns_both: bool
    """Whether the sender can learn the result too."""
    leakage: str
    """What a run reveals besides the result."""
    flights: dict[str, int]
    """One-way messages by security; two make a round trip."""
    memory: str
    """Its peak memory besides the items, as a formula in bytes."""
    about: dict[str, Any] = field(repr=False, compare=False)
    """The whole entry, with messages, variants and levels."""

    def receive(
        self,
        keys: SetKeys,
        channel: Channel,
        *,
        helper: Channel | None = None,
        report: Callable[[Report], object] | None = None,
        events: Callable[[Event], object] | None = None,
        **options: Unpack[Options],
    ) -> array[int]:
        """Play the receiver: find those of my keys that the sender has too.

        Args:
            keys: Byte strings, or integers with ``sigma``. (They are the keys of a table with one column of the rule
                ``raw``, or ``int``, so the partner may hold a table.)
            channel: From :func:`vesica.channel_pair` or :func:`vesica.open_channel`; it serves one run.
            helper: A channel to the helper, for a protocol that has one; see :meth:`assist`.
            report: A function that takes the report.
            events: A function that is called with each event.
            **options: See :class:`vesica.Options`; ``protocol`` is this one, and ``security`` the strongest it offers.

        Returns:
            The indices of the common keys in ``keys``, ascending.
        """
        return self._play("receiver", keys, (channel, helper), report, events, options)[0]

    def send(
        self,
        keys: SetKeys,
        channel: Channel,
        *,
        helper: Channel | None = None,
        report: Callable[[Report], object] | None = None,
        events: Callable[[Event], object] | None = None,
        **options: Unpack[Options],
    ) -> Report:
        """Play the sender. Arguments are those of :meth:`receive`; with ``learns="both"`` the report's ``result`` holds the
        indices of the common keys."""
        return self._play("sender", keys, (channel, helper), report, events, options)[1]

    def assist(
        self,
        channel: Channel,
        other: Channel,
        *,
        events: Callable[[Event], object] | None = None,
        **options: Unpack[Options],
    ) -> Report:
        """Play the helper, for a protocol that has one (``about["helper"]``).

        Args:
            channel: A channel to one party: the other end of the one that this party gives as ``helper``.
            other: A channel to the other party.
            events: A function that is called with each event.
            **options: See :class:`vesica.Options`.
        """
        with listener(events, False) as on_event:
            outcome = channel.assist(other, filled({**options}, rows_only=True), on_event)
        return Report(outcome.report)

    def _play(
        self,
        role: str,
        keys: SetKeys,
        channels: tuple[Channel, Channel | None],
        report: Callable[[Report], object] | None,
        events: Callable[[Event], object] | None,
        options: Options,
    ) -> tuple[array[int], Report]:
        strongest = "malicious" if "malicious" in self.security else "semi-honest"
        every = filled({"protocol": self.name, "security": strongest, **options}, rows_only=True)
        integers = every["sigma"] is not None
        if not all(isinstance(key, int if integers else (bytes, bytearray)) for key in keys):
            raise usage("keys are byte strings, or integers with sigma", "encode them, or give a sigma")
        with listener(events, False) as on_event:
            outcome = channels[0].run(role, keys, every, on_event, channels[1])
        rows = row_numbers(outcome)
        learns = role == "receiver" or every["learns"] == "both"
        full_report = Report(outcome.report, rows if learns else None)
        if report is not None:
            report(full_report)
        return rows, full_report


def protocols() -> dict[str, Protocol]:
    """Every protocol by its name, in the order of the tables."""
    entries = json.loads(_internal.protocols())["protocols"]
    names = [name for name in Protocol.__dataclass_fields__ if name != "about"]

    def protocol(entry: dict[str, Any]) -> Protocol:
        fields = {name: entry[name] for name in names}
        return Protocol(**{**fields, "security": tuple(entry["security"])}, about=entry)

    return {entry["name"]: protocol(entry) for entry in entries}
