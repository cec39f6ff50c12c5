"""Runs in parts for engines: what Spark, and whatever else keeps a table on many machines, needs of Vesica.

The *driver* holds the run's connection (:class:`Job`). The *tasks* play the parts (:func:`play`), each a part of its own, in any
process on any machine that reaches the partner. In between, the engine splits its rows: :func:`digests` makes digests of keys,
and :func:`keyed` makes items of digests and tells their parts, once the job is open::

    job = Job.open("receiver", items=n, key="email:email", slots=8, connect="shop.example.com:7400", peer="vesica-pub1-…")
    # rows of (part, item, fingerprint), by keyed(digests, job.items_key, job.count), all rows of a part together
    while (ticket := job.round()) is not None:
        # for each part of ticket.parts, anywhere: play(batches_of_the_part, ticket.of(part))
        job.ended(receipts, attempts, failed)  # of the first rows of all tasks
    report = job.finish()

The rows of the tasks whose receipt is the chosen one of their part are the result. Nothing of it may be used before
:meth:`Job.finish` has returned. This module needs pyarrow. ``docs/engines.md`` says more.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa

from . import _internal, errors
from ._options import PARTNER, READ, PartyOptions, filled
from ._progress import listener
from ._report import Report
from ._run import path_of
from ._run_file import specs_of
from .errors import VesicaError, usage

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "INPUT_SCHEMA",
    "OUTPUT_SCHEMA",
    "Digests",
    "Job",
    "PartTicket",
    "RoundTicket",
    "digests",
    "failure",
    "fingerprints",
    "keyed",
    "play",
    "rules",
]

Keys = str | Sequence[str]

INPUT_SCHEMA: Any = pa.schema([("part", pa.int32()), ("item", pa.binary()), ("fingerprint", pa.int64())])
"""What :func:`play` takes."""

OUTPUT_SCHEMA: Any = pa.schema(
    [
        ("part", pa.int32()),
        ("receipt", pa.binary()),
        ("item", pa.binary()),
        ("matches", pa.int64()),
        ("distinct", pa.int64()),
        ("sum", pa.int64()),
        ("attempts", pa.int64()),
        ("failed", pa.string()),
    ]
)
"""What :func:`play` gives back."""


class PartTicket:
    """What the task of one part needs. It can be pickled; it holds a key that is secret until the run has ended."""

    def __init__(self, ticket: bytes, part: int) -> None:
        self._ticket = ticket
        self.part = part

    def __repr__(self) -> str:
        return f"PartTicket(part={self.part})"


class RoundTicket:
    """What the tasks of a round need. It can be pickled; it holds a key that is secret until the run has ended."""

    def __init__(self, number: int, parts: list[int], ticket: bytes) -> None:
        self.round = number
        """The number of the round, from 0 on."""
        self.parts = parts
        """The parts to be played, ascending."""
        self._ticket = ticket

    def of(self, part: int) -> PartTicket:
        """The ticket of one of the parts."""
        return PartTicket(self._ticket, part)

    def __repr__(self) -> str:
        return f"RoundTicket(round={self.round}, {len(self.parts)} parts)"


class Digests(NamedTuple):
    """The digests of a batch's keys."""

    digests: Any
    """An array of fixed-size binary, 16 or 32 bytes; null for a row that was left out. Of several keys (``match``), those of
    each row one after the other, in the order of :func:`rules`, and null where the row has none."""
    nulls: int
    """Rows left out because they have no key."""
    invalid: int
    """Rows left out because their key breaks its rule."""


class Job:
    """The run's connection, held by an engine's driver. The identity's key never leaves this process.

    As a context it is closed at the end. Its methods are for one thread, but for :meth:`check` and :meth:`close`.
    """

    count: int
    """B: how many parts there are, at least 2."""
    bounds: tuple[int, int]
    """The most items of a part, of the receiver and of the sender."""
    items_key: bytes
    """k: the key under which digests become items, for :func:`keyed`."""
    digest_bytes: int
    """Bytes of a digest and of an item: 16 or 32."""
    learns: bool
    """Whether this side learns the result."""
    partner_slots: int
    """Parts that the partner plays at once."""

    def __init__(self, run: _internal.PartsRun, stack: ExitStack, report: Callable[[Report], object] | None) -> None:
        self._run = run
        self._stack = stack
        self._report = report
        self._done = False
        self.count = 0
        self._begin(self._next("begun"))

    def _begin(self, begun: Sequence[Any]) -> None:
        self.count, receiver, sender, self.items_key, self.digest_bytes, self.learns, self.partner_slots = begun
        self.bounds = (receiver, sender)

    @classmethod
    def open(
        cls,
        role: Literal["receiver", "sender"],
        items: int,
        *,
        key: Keys | None = None,
        slots: int,
        rows: int | None = None,
        nulls: int = 0,
        invalid: int = 0,
        **options: Unpack[PartyOptions],
    ) -> Job:
        """Meet the partner, and agree on terms, sizes, parts and coins.

        Args:
            role: The part that this side plays.
            items: How many different keys the table has. The partner sees this number (see ``pad_to``).
            key: As for :func:`vesica.receive`, where ``match`` may be in its place; only the rules matter here.
            slots: Parts that the engine plays at once.
            rows: For the report: rows of the table.
            nulls: For the report: rows without a key.
            invalid: For the report: rows whose key breaks its rule.
            **options: As for :func:`vesica.receive`. An engine does not listen: give ``connect`` or ``via``. ``memory`` is
                what one task may use, and ``threads`` are those of one task.

        Raises:
            VesicaError: One class for each kind of failure.
        """
        if not 1 <= slots < 1 << 16:
            raise usage(f"slots={slots} is not possible", "give the number of parts that are played at once, from 1 on")
        rest: dict[str, Any] = dict(options)
        specs = specs_of(key, rest.pop("match", None))
        partner = {name: rest.pop(name, value) for name, value in PARTNER.items()}
        report, cancel = rest.pop("report", None), rest.pop("cancel", None)
        receipt = path_of(rest.pop("receipt", None))
        told = report if callable(report) else None
        path = None if report is None or told is not None else os.fspath(report)
        for name in READ:
            rest.pop(name, None)
        with ExitStack() as stack:
            on_event = stack.enter_context(listener(rest.pop("events", None), rest.pop("progress", False)))
            how = {"options": filled(rest), "report": path, "receipt": receipt, "cancel": cancel, "on_event": on_event}
            counts = (items + nulls + invalid if rows is None else rows, items, nulls, invalid)
            run = _internal.PartsRun(role, counts, specs, slots, partner, how)
            stack.callback(run.close)
            job = cls(run, stack, told)
            job._stack = stack.pop_all()
        return job

    def round(self) -> RoundTicket | None:
        """Agree with the partner on the parts of the next round; None if every part is done.

        A round's parts are to be played as often as they have to be, until :meth:`ended`.
        """
        if self._done:
            return None
        number, parts, ticket = self._next("round")
        return RoundTicket(number, parts, ticket)

    def ended(
        self,
        receipts: Iterable[tuple[int, bytes, int]],
        attempts: Iterable[tuple[int, int]],
        failed: Iterable[str],
    ) -> list[tuple[int, bytes]]:
        """End the round with what its tasks came back with, and compare it with the partner.

        Args:
            receipts: ``part``, ``receipt`` and ``matches`` of every row with a receipt and without an item.
            attempts: ``part`` and ``attempts`` of every row that has ``attempts``. Attempts of one part are added up. What is
                not listed counts by its receipts.
            failed: ``failed`` of every row that has it. A failure that is not of the network, such as a failed check, ends
                the run. An engine should :meth:`close` the job as soon as a task tells of one.

        Returns:
            The receipts that count so far, with their parts. Rows of other attempts are to be left aside.
        """
        for told in failed:
            error = failure(told)
            if not isinstance(error, errors.PartnerError):
                self.close()
                raise error
        tried: dict[int, int] = {}
        for part, number in attempts:
            tried[part] = tried.get(part, 0) + number
        self._run.ended([(part, bytes(receipt), matches) for part, receipt, matches in receipts], list(tried.items()))
        chosen, self._done = self._next("chosen")
        return [(part, receipt) for part, receipt in chosen]

    def finish(self) -> Report:
        """Confirm the run with the partner, once every part is done. The result counts from then on.

        Raises:
            VesicaError: If a part is missing, or the two sides did not see the same.
        """
        if not self._done:
            raise usage("parts of the run are missing", "play rounds until round() returns None, then call finish()")
        self._run.confirm()
        (outcome,) = self._next("ended")
        self._stack.close()
        ended = Report(outcome.report)
        if self._report is not None:
            self._report(ended)
        for hint in ended.hints:
            warnings.warn(hint, stacklevel=2)
        return ended

    def check(self) -> None:
        """Raise if the run has ended with an error, as it does if the partner is gone. To be called now and then while tasks
        are at work."""
        self._run.check()

    def close(self) -> None:
        """End the run, if it has not ended. The partner then gets an error."""
        self._stack.close()

    def __enter__(self) -> Job:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Job(count={self.count})"

    def _next(self, awaited: str) -> Sequence[Any]:
        name, *values = self._run.next()
        if name != awaited:
            self.close()
            raise usage(
                f"the run is not where it should be: {name}, not {awaited}",
                "call round(), ended() and finish() in turn",
            )
        return values


def rules(role: Literal["receiver", "sender"], key: Keys | None = None, match: Keys | None = None) -> list[str]:
    """The names of the keys that a row of this side has, in their order: one for ``key``, one for each rule of ``match``, and
    for the receiver one for each variant of a rule (``~``)."""
    return _internal.rules(specs_of(key, match), role)


def digests(
    batch: Any, key: Keys | None = None, *, role: Literal["receiver", "sender"] | None = None, **options: Any
) -> Digests:
    """The digests of the keys of a record batch, as a run with these options has them.

    Args:
        batch: A record batch with the key columns.
        key: As for :func:`vesica.receive`, where ``match`` may be in its place.
        role: The part that this side plays; needed where a rule has variants (``~``), which the receiver alone makes.
        **options: Those of the run. What matters here are ``security``, ``level``, ``on_null`` and ``on_invalid``.
    """
    known = {name: value for name, value in options.items() if name not in PARTNER and name not in READ}
    for name in ("report", "events", "progress", "cancel"):
        known.pop(name, None)
    specs = specs_of(key, known.pop("match", None))
    return Digests(*_internal.digests(batch, specs, role, filled(known)))


def fingerprints(key: bytes, digests: Any) -> Any:
    """A fingerprint of each digest, an int64: the first 8 bytes of BLAKE3 keyed with ``key``, little-endian.

    ``key`` are 32 bytes that only this application has. Counts and sums of fingerprints show whether a table that is read
    twice is the same both times.
    """
    return _internal.fingerprints(key, digests)


def keyed(digests: Any, items_key: bytes, count: int) -> tuple[Any, Any]:
    """The part (int32) and the item (binary) of each digest, for :attr:`Job.items_key` and :attr:`Job.count`; null for null."""
    return _internal.keyed(digests, items_key, count)


def play(batches: Iterable[Any], ticket: PartTicket, *, cancel: _internal.CancelToken | None = None) -> Iterator[Any]:
    """Play a part: the task of an engine.

    It takes in all rows first, of :data:`INPUT_SCHEMA`, and all of the ticket's part; then it comes to the partner, and waits
    while the partner plays other parts. Repeated items count once.

    Args:
        batches: The part's rows, as record batches.
        ticket: The part's ticket.
        cancel: Ends it from another thread.

    Yields:
        Record batches of :data:`OUTPUT_SCHEMA`. The first row is that of the receipt: ``distinct`` items, the ``sum`` of their
        fingerprints modulo 2^64, ``matches`` where both sides learn them, and ``attempts`` in which the partner may have
        learnt something. If the part did not come through, it says why in ``failed`` (see :func:`failure`), and has no
        receipt. Then comes a row for each matching ``item``, if this side learns them.

    Raises:
        InternalError: If a row is of another part. No failure of the partner or of the network raises.
    """
    task = _internal.PartTask(ticket._ticket, ticket.part)
    for batch in batches:
        task.add(batch)
    yield from task.play(cancel)


def failure(failed: str) -> VesicaError:
    """The error that ``failed`` of a row tells."""
    told = json.loads(failed)
    kinds = {kind: getattr(errors, exception) for kind, _, exception in _internal.kinds()}
    side, phase, message, remedy = (told[name] for name in ("side", "phase", "message", "remedy"))
    where = f"where: the task of a part, phase {phase}"
    error: VesicaError = kinds[told["kind"]](
        f"{message}\n  {where}\n  what to do: {remedy}", side=side, phase=phase, message=message, remedy=remedy
    )
    return error
