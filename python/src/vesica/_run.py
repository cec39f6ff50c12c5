"""The calls: one party's run against a partner, and both parties in one process."""

from __future__ import annotations

import os
import warnings
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from . import _internal
from ._options import PARTNER, READ, LocalOptions, PartyOptions, RunOptions, filled
from ._progress import listener
from ._report import Report
from ._run_file import Specs, specs_of, taken
from ._tables import adapt, is_file
from .errors import usage

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["assist", "keep_freed_memory", "keygen", "local", "public_key", "receive", "send"]

T = TypeVar("T")
StrPath = str | os.PathLike[str]
Keys = str | Sequence[str]
PairKeys = str | tuple[str, str] | list[str | tuple[str, str]]


def path_of(path: StrPath | None) -> str | None:
    """A path as text, if there is one."""
    return None if path is None else os.fspath(path)


def _pair_specs(key: PairKeys | None, match: Keys | None) -> Specs:
    """``MINE=THEIRS[:RULE]`` for each key column; a tuple is one pair of columns."""
    if key is None:
        return specs_of(None, match)
    keys = key if isinstance(key, list) else [key]
    return specs_of([one if isinstance(one, str) else "=".join(one) for one in keys], match)


class Call:
    """A call's options, sorted by what they are for."""

    def __init__(self, options: Any, partner: bool, only: Any = None, signs: bool | None = None) -> None:
        rest = dict(options)
        # Two sides that know each other's key sign a receipt.
        self._receipt = rest.pop("receipt", None) if (partner if signs is None else signs) else None
        self.read = {name: rest.pop(name, value) for name, value in READ.items()}
        self._report = rest.pop("report", None)
        self._events, self._progress = rest.pop("events", None), rest.pop("progress", False)
        self._cancel = rest.pop("cancel", None)
        self.partner = {name: rest.pop(name, value) for name, value in PARTNER.items()} if partner else {}
        self._one_value = isinstance(rest.get("value"), str)
        self.options = filled(rest, only=only)

    def play(self, play: Callable[[dict[str, Any]], _internal.Outcome]) -> tuple[_internal.Outcome, Report]:
        """Run, pass the report on, and return the outcome and the report."""
        report_to_function = callable(self._report)
        report = None if self._report is None or report_to_function else os.fspath(self._report)
        with listener(self._events, self._progress) as on_event:
            how = {"options": self.options, "report": report, "receipt": path_of(self._receipt)}
            outcome = play({**how, "cancel": self._cancel, "on_event": on_event})
        ended = Report(outcome.report)
        if report_to_function:
            self._report(ended)
        for hint in ended.hints:
            warnings.warn(hint, stacklevel=3)
        return outcome, ended

    def numbered(self, row_numbers: bool, columns: Sequence[str] = ("match_id", "payload")) -> None:
        """Refuse columns of the matching rows without rows that could hold them."""
        for name in columns:
            if row_numbers and self.options[name]:
                raise usage(f"row numbers have no columns, as {name} needs them", f"leave out row_numbers, or {name}")

    def answer(self, row_numbers: bool) -> Callable[[_internal.Outcome], Any] | None:
        """What a call returns whose result is not rows; None if it is rows."""
        if self.options["result"] in (None, "rows"):
            return None
        if row_numbers:
            raise usage('row_numbers is for result="rows"', "leave out row_numbers, or result")

        def taken(outcome: _internal.Outcome) -> Any:
            if not isinstance(outcome.answer, list):
                return outcome.answer
            sums = dict(outcome.answer)
            return next(iter(sums.values())) if self._one_value else sums

        return taken

    def carried(self) -> list[str]:
        """The columns of the sender's table that go with its keys."""
        return [*(self.options["value"] or []), *(self.options["payload"] or [])]

    def read_path(self, table: Any) -> dict[str, Any]:
        """How this table is read. Options for text need a path."""
        if self.read != READ and not is_file(table):
            names = ", ".join(name for name, value in self.read.items() if value != READ[name])
            raise usage(f"options for text are for a path: {names}", "leave them out for a table in memory")
        return self.read

    def read_pair(self, receiver: Any, sender: Any) -> list[dict[str, Any]]:
        """How two tables are read: one value for both, or a tuple."""
        sides = []
        for side in range(2):
            read = {name: value[side] if isinstance(value, tuple) else value for name, value in self.read.items()}
            sides.append(read)
        if not any(is_file(table) for table in (receiver, sender)):
            self.read_path(receiver)
        return sides


@overload
def receive(
    table: StrPath,
    *,
    key: Keys | None = ...,
    output: StrPath,
    row_numbers: Literal[False] = ...,
    result: Literal["rows"] = ...,
    **options: Unpack[PartyOptions],
) -> Path: ...
@overload
def receive(
    table: Any,
    *,
    key: Keys | None = ...,
    output: None = ...,
    row_numbers: Literal[True],
    result: Literal["rows"] = ...,
    **options: Unpack[PartyOptions],
) -> array[int]: ...
@overload
def receive(
    table: T,
    *,
    key: Keys | None = ...,
    output: None = ...,
    row_numbers: Literal[False] = ...,
    result: Literal["rows"] = ...,
    **options: Unpack[PartyOptions],
) -> T: ...
@overload
def receive(
    table: Any,
    *,
    key: Keys | None = ...,
    output: StrPath,
    row_numbers: Literal[False] = ...,
    result: Literal["rows"] = ...,
    **options: Unpack[PartyOptions],
) -> Path: ...
@overload
def receive(
    table: Any,
    *,
    key: Keys | None = ...,
    output: StrPath | None = ...,
    row_numbers: Literal[False] = ...,
    result: Literal["count"],
    **options: Unpack[PartyOptions],
) -> int: ...
@overload
def receive(
    table: Any,
    *,
    key: Keys | None = ...,
    output: StrPath | None = ...,
    row_numbers: Literal[False] = ...,
    result: Literal["sum"],
    **options: Unpack[PartyOptions],
) -> int | dict[str, int]: ...
def receive(
    table: Any,
    *,
    key: Keys | None = None,
    output: StrPath | None = None,
    row_numbers: bool = False,
    result: Literal["rows", "count", "sum"] = "rows",
    **options: Unpack[PartyOptions],
) -> Any:
    """Find the rows of my table whose keys are in the partner's table.

    The partner calls :func:`send`, or runs ``vesica send``. Either side may start first, and either may listen.

    Args:
        table: Anything with the Arrow PyCapsule interface (pyarrow, pandas, Polars, DuckDB relations), or a path to
            CSV, Parquet or Arrow IPC, an address such as ``"s3://bucket/table.parquet"``, or a file opened with mode ``"rb"``.
        key: ``"COLUMN"`` or ``"COLUMN:RULE"``; a list of them for a composite key. Rules are ``raw``, ``text``,
            ``email``, ``email-uid2``, ``email-meta``, ``email-google``, ``phone``, ``phone:CC``, ``name``, ``postcode``,
            ``ip``, ``date``, ``date:DMY``, ``int``, ``uuid``, ``sha256``.
        match: Instead of ``key`` several keys, in their order: rules such as ``"Email:email"`` or ``"Last:text + Born:date"``.
            A row matches by the first rule that hits, and column ``matched_by`` says which.
        output: A file, or the address of an object, for the rows, in the table's format; needed if the table is a file.
        row_numbers: Return the numbers of the rows, counted from 0, instead of the rows.
        result: ``"rows"``, or ``"count"`` for how many keys match, or ``"sum"`` for sums of the sender's columns ``value``
            over them; both sides give the same. ``"count"`` and ``"sum"`` need ``security="semi-honest"``.
        listen: Wait for the partner at ``"HOST:PORT"``, or at ``":PORT"`` of every IPv4 address here.
        connect: Connect to the partner at ``"HOST:PORT"``.
        via: Meet the partner at the relay at ``"HOST:PORT"``, where somebody runs ``vesica relay``; both sides give it.
            Several share out the parts of a run.
        via_key: The relay's public key, in the forms of ``peer``; of several relays in their order.
        run: A name for the run, the same on both sides, where several with this partner are at the relay at the same time.
        identity: My identity, or its file; by default the file that :func:`keygen` makes.
        peer: The partner's public key, ``"vesica-pub1-…"``, or ``"@FILE"`` with a file that holds it.
        insecure_plaintext: No TLS and no keys, so the partner may be anybody; on loopback addresses only.
        keep_base_ots: A file, one for each partner and role, that keeps base OTs for later runs, which then start
            faster; with ``security="semi-honest"``, for ``kkrt`` and other protocols with base OTs.
        helper: Where a helper listens, ``"HOST:PORT"``, for ``protocol="server-aided"``; see :func:`assist`.
        helper_key: The helper's public key, in the forms of ``peer``.
        delimiter: For a path: what separates fields, such as ``";"`` or ``"tab"``.
        encoding: For a path: the encoding of text, such as ``"windows-1252"``.
        header: For a path: whether the first line names the columns; ``False`` names them ``"1"``, ``"2"``, …
        skip_lines: For a path: lines above the header.
        comment: For a path: lines that begin with this character are no rows.
        quote: For a path: what fields are quoted with, or ``"none"``.
        escape: For a path: what takes the next character literally.
        stray_quotes: For a path: ``"text"`` takes a quote in a field that does not begin with one as a character.
        ragged: For a path: ``"pad"`` fills up rows with too few fields, ``"skip"`` leaves out those of another length.
        null: For a path: texts that are null, as empty fields are.
        report: A new file for the report, also of a run that fails: a page for a person if its name ends in ``.html``,
            otherwise JSON; or a folder in which it gets a name of its own; or a function that takes the :class:`Report`.
        receipt: A new file, or a folder, for the receipt that both sides sign at the end; :func:`verify` checks it.
        events: A function that is called with each event, in the calling thread. An exception in it ends the run.
        progress: Show a bar (needs tqdm).
        cancel: Ends the run from another thread. Ctrl-C ends it too.
        **options: Those above from ``listen`` on, and all of :class:`Options` and :class:`ResultOptions`.

    Returns:
        The matching rows, in the table's order, as the kind of table that was given (a pyarrow table if the kind is not
        known), with the sender's columns ``payload`` if these were agreed; or the path of the output, if there is one; or
        an array of row numbers. With ``result="count"`` a number, or with ``at_least`` whether so many keys match. With
        ``result="sum"`` a number if ``value`` is one name, and otherwise a dict of numbers. A number is also written to the
        output, if there is one.

    Raises:
        VesicaError: One class for each kind of failure.
    """
    match = options.pop("match", None)
    given, specs = taken("receive", {**options, "result": result}, specs_of(key, match))
    call = Call(given, True)
    call.numbered(row_numbers)
    answer = call.answer(row_numbers)
    columns = _internal.key_columns(specs)
    adapter = adapt(table, columns, output, row_numbers, True, call.read_path(table), answer)
    outcome, _ = call.play(lambda how: _internal.run("receiver", adapter.given, specs, call.partner, how))
    return adapter.taken(outcome)


def send(
    table: Any,
    *,
    key: Keys | None = None,
    output: StrPath | None = None,
    row_numbers: bool = False,
    result: Literal["rows", "count", "sum"] = "rows",
    **options: Unpack[PartyOptions],
) -> Report:
    """Let the partner find the rows of its table whose keys are in mine.

    Arguments are those of :func:`receive`; ``output`` and ``row_numbers`` are for ``learns="both"``. ``value`` and ``payload``
    name columns of my table.

    Returns:
        The report of the run. With ``learns="both"`` its ``result`` holds my matching rows or another result, as
        :func:`receive` returns it; with ``at_least`` always.

    Raises:
        VesicaError: One class for each kind of failure.
    """
    match = options.pop("match", None)
    given, specs = taken("send", {**options, "result": result}, specs_of(key, match))
    call = Call(given, True)
    learns = call.options["learns"] == "both" or call.options["at_least"] is not None
    answer = call.answer(row_numbers)
    # A file needs no output if only the report is wanted.
    numbers = row_numbers or (is_file(table) and output is None)
    call.numbered(row_numbers, ["match_id"])
    columns = [*_internal.key_columns(specs), *call.carried()]
    adapter = adapt(table, columns, output, numbers, learns, call.read_path(table), answer)
    outcome, report = call.play(lambda how: _internal.run("sender", adapter.given, specs, call.partner, how))
    report.result = adapter.taken(outcome) if learns else None
    return report


def assist(
    *,
    listen: str,
    peers: tuple[str, str],
    identity: StrPath | _internal.Identity | None = None,
    **options: Unpack[RunOptions],
) -> Report:
    """Help two parties once, as the third one of ``protocol="server-aided"``, or as ``vesica assist`` does.

    Args:
        listen: Wait for the parties at ``"HOST:PORT"``, or at ``":PORT"`` of every IPv4 address here.
        peers: The two parties' public keys, ``"vesica-pub1-…"``, or ``"@FILE"`` with a file that holds one.
        identity: The helper's identity, or its file; by default the file that :func:`keygen` makes.
        **options: Of :class:`Options` and of those of :func:`receive` the ones that a helper has: times, memory, threads,
            ``min_peer_rows``, ``max_peer_rows``, ``report``, ``events``, ``progress``, ``cancel``.

    Returns:
        The report, whose ``parties`` tell the sizes and how many keys are in both sets.
    """
    call = Call(options, False)
    one, other = peers
    return call.play(lambda how: _internal.assist(listen, identity, (one, other), how))[1]


@overload
def local(
    receiver: StrPath,
    sender: Any,
    *,
    key: PairKeys | None = ...,
    output: StrPath,
    row_numbers: Literal[False] = ...,
    result: Literal["rows"] = ...,
    **options: Unpack[LocalOptions],
) -> Path: ...
@overload
def local(
    receiver: Any,
    sender: Any,
    *,
    key: PairKeys | None = ...,
    output: None = ...,
    row_numbers: Literal[True],
    result: Literal["rows"] = ...,
    **options: Unpack[LocalOptions],
) -> array[int]: ...
@overload
def local(
    receiver: T,
    sender: Any,
    *,
    key: PairKeys | None = ...,
    output: None = ...,
    row_numbers: Literal[False] = ...,
    result: Literal["rows"] = ...,
    **options: Unpack[LocalOptions],
) -> T: ...
@overload
def local(
    receiver: Any,
    sender: Any,
    *,
    key: PairKeys | None = ...,
    output: StrPath,
    row_numbers: Literal[False] = ...,
    result: Literal["rows"] = ...,
    **options: Unpack[LocalOptions],
) -> Path: ...
@overload
def local(
    receiver: Any,
    sender: Any,
    *,
    key: PairKeys | None = ...,
    output: StrPath | None = ...,
    row_numbers: Literal[False] = ...,
    result: Literal["count"],
    **options: Unpack[LocalOptions],
) -> int: ...
@overload
def local(
    receiver: Any,
    sender: Any,
    *,
    key: PairKeys | None = ...,
    output: StrPath | None = ...,
    row_numbers: Literal[False] = ...,
    result: Literal["sum"],
    **options: Unpack[LocalOptions],
) -> int | dict[str, int]: ...
def local(
    receiver: Any,
    sender: Any,
    *,
    key: PairKeys | None = None,
    output: StrPath | None = None,
    row_numbers: bool = False,
    result: Literal["rows", "count", "sum"] = "rows",
    **options: Unpack[LocalOptions],
) -> Any:
    """Run the real protocol between two tables in this process.

    Args:
        receiver: The table whose matching rows come out.
        sender: The other table.
        key: ``"COLUMN"`` or ``"COLUMN:RULE"``, or a tuple ``("MINE", "THEIRS")`` or ``("MINE", "THEIRS:RULE")`` where
            the names differ; a list of these for a composite key.
        match: As for :func:`receive`, with ``"MINE=THEIRS:RULE"`` where the names differ.
        output: As for :func:`receive`.
        row_numbers: As for :func:`receive`.
        result: As for :func:`receive`.
        **options: As for :func:`receive`, except those about the partner. Those of
            :class:`ReadOptions` are for both paths, or a tuple of the receiver's and the sender's.

    Returns:
        The matching rows of ``receiver``, or another result, as :func:`receive` returns it.

    Raises:
        VesicaError: One class for each kind of failure.
    """
    match = options.pop("match", None)
    call, specs = Call({**options, "result": result}, False), _pair_specs(key, match)
    columns = _internal.pair_columns(specs)
    call.numbered(row_numbers)
    taken = call.answer(row_numbers)
    my_read, their_read = call.read_pair(receiver, sender)
    mine = adapt(receiver, [column for column, _ in columns], output, row_numbers, True, my_read, taken)
    their_columns = [*(column for _, column in columns), *call.carried()]
    theirs = adapt(sender, their_columns, None, True, False, their_read)
    if mine.given["stream"]:
        # A DuckDB connection gives one stream at a time.
        theirs.given["stream"] = False
    outcome, report = call.play(lambda how: _internal.local(mine.given, theirs.given, specs, how))
    if isinstance(key, tuple) and report.matches is not None and report.matches.items == 0:
        text = f"key={key!r} is one column of each table; for a key of both columns give a list, key={list(key)!r}"
        warnings.warn(text, stacklevel=2)
    return mine.taken(outcome)


def keep_freed_memory() -> None:
    """Let the allocator of this process keep the memory of large blocks that are freed, for the next ones.

    The command line does so at its start; runs of a million rows and more get faster. Call it before the first run of a
    process that does little else. It is a setting of the whole process, which then keeps up to a gigabyte, so the package
    never calls it by itself. It only affects the GNU allocator; with others nothing happens.
    """
    _internal.keep_freed_memory()


def keygen(output: StrPath | None = None) -> str:
    """Make a new identity in a file. An existing file is never overwritten.

    Args:
        output: The file; by default ``vesica/identity.pem`` in the configuration folder.

    Returns:
        The public key: the line to give to the partner. :func:`public_key` returns it again.
    """
    return _internal.keygen(None if output is None else os.fspath(output))[1]


def public_key(identity: StrPath | None = None) -> str:
    """Return the public key of an identity: the line to give to the partner.

    Args:
        identity: The identity's file; by default the one that :func:`keygen` makes.
    """
    return _internal.Identity.load(identity).public_key
