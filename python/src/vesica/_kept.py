"""Kept sets: one side prepares its set once, others ask often."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from . import _internal
from ._options import PARTNER, LookupCall, LookupOptions, PublishCall, PublishOptions, ServeOptions, filled
from ._progress import Event
from ._report import Report
from ._run import Call, Keys, StrPath, path_of
from ._run_file import Specs, specs_of
from ._tables import adapt
from .errors import usage

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Unpack

__all__ = ["Server", "lookup", "publish", "serve"]

T = TypeVar("T")
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Identity = str | os.PathLike[str] | _internal.Identity | None


def _paths(paths: Paths) -> list[str]:
    """One path, or several."""
    several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return [os.fspath(path) for path in several]


def _one_place(places: dict[str, Any]) -> None:
    """Refuse no place to meet, and several."""
    given = [name for name, place in places.items() if place is not None]
    if len(given) != 1:
        what = "no address" if not given else f"{' and '.join(given)} are given"
        raise usage(what, f"give one of {', '.join(places)}")


def _number(number: int | str | None) -> str | None:
    """A number as the command line writes it."""
    return None if number is None else str(number)


def _specs(key: Keys | None, match: Keys | None, compact: bool) -> Specs:
    """What makes the keys; nothing does where no table is read."""
    return (False, []) if compact and key is None and match is None else specs_of(key, match)


def publish(
    table: Any = None,
    *,
    key: Keys | None = None,
    match: Keys | None = None,
    output: StrPath,
    secret: StrPath,
    previous: Paths = (),
    added: Any = None,
    removed: Any = None,
    compact: bool = False,
    rotate: bool = False,
    max_keys: int | str | None = None,
    identity: Identity = None,
    temp_dir: StrPath | None = None,
    **options: Unpack[PublishCall],
) -> Report:
    """Make a file of a kept set, which receivers look keys up in with :func:`lookup`, as ``vesica publish`` does.

    The first call makes the set's secret key and a whole file; later ones, with ``previous``, a file with what has changed.

    Args:
        table: The whole table, in any form that :func:`receive` takes.
        key: As for :func:`receive`; receivers give the same rules.
        match: As for :func:`receive`.
        output: The new set file. A file that is there is never replaced.
        secret: The file of the set's secret key, which the first call makes, and ``rotate``.
        previous: The set's files so far, or the folder that holds them; needed for all arguments below.
        added: Instead of ``table``: the rows that came since, or whose payload changed.
        removed: Instead of ``table``: rows with the keys that went since.
        compact: Make one file of those in ``previous``, without a table.
        rotate: Make a new secret key, so that outputs that receivers hold tell them nothing of this set and later ones.
        max_keys: The most keys that one look-up may ask for: a number, or ``"2^N"``; 2^20 by default, or that of the set.
        identity: My identity, which signs the file, or its file; by default the file that :func:`keygen` makes.
        temp_dir: Where encrypted temporary files lie if my keys do not fit into ``memory``.
        **options: All of :class:`PublishOptions`, and those of :func:`receive` from ``delimiter`` on.

    Returns:
        The report, whose ``kept`` tells the epoch.

    Raises:
        VesicaError: One class for each kind of failure.
    """
    given_ways = {
        "table": table is not None,
        "added or removed": added is not None or removed is not None,
        "compact": compact,
    }
    ways = [way for way, is_given in given_ways.items() if is_given]
    if len(ways) != 1:
        what = "nothing says what the set is to have" if not ways else f"{' and '.join(ways)} are given"
        raise usage(what, "give a table, or added and removed, or compact=True")
    call, specs = Call(options, False, PublishOptions), _specs(key, match, compact)
    keys = _internal.key_columns(specs)
    columns = [*keys, *(call.options["payload"] or [])]

    def given(rows: Any, columns: Sequence[str]) -> dict[str, Any] | None:
        return None if rows is None else adapt(rows, columns, None, True, False, call.read_path(rows)).given

    # What goes needs no payload.
    changes = {"table": given(table, columns), "added": given(added, columns), "removed": given(removed, keys)}
    publication = {
        "output": os.fspath(output),
        "secret": os.fspath(secret),
        "previous": _paths(previous),
        "rotate": rotate,
        "max_keys": _number(max_keys),
        "identity": identity,
        "temp_dir": path_of(temp_dir),
    }
    return call.play(lambda how: _internal.publish(changes, specs, publication, how))[1]


@overload
def lookup(
    table: StrPath,
    *,
    key: Keys | None = ...,
    match: Keys | None = ...,
    set: Paths,
    peer: str,
    fetch: bool = ...,
    connect: str | None = ...,
    via: str | None = ...,
    via_key: str | None = ...,
    post: StrPath | None = ...,
    identity: Identity = ...,
    output: StrPath,
    row_numbers: Literal[False] = ...,
    **options: Unpack[LookupCall],
) -> Path: ...
@overload
def lookup(
    table: Any,
    *,
    key: Keys | None = ...,
    match: Keys | None = ...,
    set: Paths,
    peer: str,
    fetch: bool = ...,
    connect: str | None = ...,
    via: str | None = ...,
    via_key: str | None = ...,
    post: StrPath | None = ...,
    identity: Identity = ...,
    output: None = ...,
    row_numbers: Literal[True],
    **options: Unpack[LookupCall],
) -> array[int]: ...
@overload
def lookup(
    table: T,
    *,
    key: Keys | None = ...,
    match: Keys | None = ...,
    set: Paths,
    peer: str,
    fetch: bool = ...,
    connect: str | None = ...,
    via: str | None = ...,
    via_key: str | None = ...,
    post: StrPath | None = ...,
    identity: Identity = ...,
    output: None = ...,
    row_numbers: Literal[False] = ...,
    **options: Unpack[LookupCall],
) -> T: ...
@overload
def lookup(
    table: Any,
    *,
    key: Keys | None = ...,
    match: Keys | None = ...,
    set: Paths,
    peer: str,
    fetch: bool = ...,
    connect: str | None = ...,
    via: str | None = ...,
    via_key: str | None = ...,
    post: StrPath | None = ...,
    identity: Identity = ...,
    output: StrPath,
    row_numbers: Literal[False] = ...,
    **options: Unpack[LookupCall],
) -> Path: ...
def lookup(
    table: Any,
    *,
    key: Keys | None = None,
    match: Keys | None = None,
    set: Paths,
    peer: str,
    fetch: bool = False,
    connect: str | None = None,
    via: str | None = None,
    via_key: str | None = None,
    post: StrPath | None = None,
    identity: Identity = None,
    output: StrPath | None = None,
    row_numbers: bool = False,
    **options: Unpack[LookupCall],
) -> Any:
    """Find the rows of my table whose keys are in a sender's kept set, as ``vesica lookup`` does.

    The sender has called :func:`publish`, and runs :func:`serve` or ``vesica serve``.

    Args:
        table: My table, in any form that :func:`receive` takes.
        key: As for :func:`receive`, with the set's rules.
        match: As for :func:`receive`.
        set: The files of the sender's set, or the folder that holds them.
        peer: The sender's public key, ``"vesica-pub1-…"``, or ``"@FILE"``: its answers and the set's files are signed with it.
        fetch: First fetch the files that are new, from the sender into the folder ``set``.
        connect: Ask the sender at ``"HOST:PORT"``.
        via: Meet the sender at the relay at ``"HOST:PORT"``.
        via_key: The relay's public key, in the forms of ``peer``.
        post: Leave the query in this folder, which both sides read and write; needs ``output``, a file. :class:`Waiting` is
            raised until the answer is there; the same call then ends as others do.
        identity: My identity, or its file; by default the file that :func:`keygen` makes.
        output: As for :func:`receive`.
        row_numbers: As for :func:`receive`.
        **options: All of :class:`LookupOptions`, and those of :func:`receive` from ``delimiter`` on.

    Returns:
        The matching rows, as :func:`receive` returns them, with the columns of the set's payload if it has some.

    Raises:
        VesicaError: One class for each kind of failure. :class:`RefusedError` if the sender's budget for this side is used up.
    """
    call, specs = Call(options, False, LookupOptions, signs=True), specs_of(key, match)
    adapter = adapt(table, _internal.key_columns(specs), output, row_numbers, True, call.read_path(table))
    _one_place({"connect": connect, "via": via, "post": post})
    partner = {**PARTNER, "connect": connect, "via": via, "via_key": via_key, "identity": identity, "peer": peer}
    kept = {"set": _paths(set), "fetch": fetch, "post": path_of(post), "identity": identity, "peer": peer}
    outcome, _ = call.play(lambda how: _internal.lookup(adapter.given, specs, kept, partner, how))
    return adapter.taken(outcome)


class Server:
    """A server of a kept set, which :func:`serve` makes. It runs in a thread of its own for as long as its context lasts."""

    def __init__(self, service: dict[str, Any], on_event: Callable[[Event], object] | None) -> None:
        self._service = service
        self._on_event = on_event
        self._server: _internal.Server | None = None

    def __enter__(self) -> Server:
        if self._server is not None:
            raise usage("the server has been started", "call serve for each")
        on_event = self._on_event
        hear = None if on_event is None else lambda line: on_event(json.loads(line))
        self._server = _internal.Server.start(self._service, hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._started().stop()
        except Exception:
            # What ended the block is not to be hidden.
            if error is None:
                raise

    def _started(self) -> _internal.Server:
        if self._server is None:
            raise usage("the server has not been started", "use it in a with statement")
        return self._server

    @property
    def address(self) -> str:
        """Where it listens, with the port that was bound; the address of the relay, or the post-box."""
        address = self._started().address
        return str(address or self._service["via"] or self._service["post"])

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the server ends by itself, or for so many seconds. Ctrl-C ends the wait.

        Returns:
            Whether it has ended.

        Raises:
            VesicaError: What ended it, such as a ledger that cannot be written.
        """
        return self._started().wait(seconds)


def serve(
    *,
    secret: StrPath,
    set: Paths,
    ledger: StrPath,
    allow: str | Sequence[str],
    listen: str | None = None,
    via: str | None = None,
    via_key: str | None = None,
    post: StrPath | None = None,
    max_keys_per_day: int | str | None = None,
    identity: Identity = None,
    on_event: Callable[[Event], object] | None = None,
    **options: Unpack[ServeOptions],
) -> Server:
    """Answer look-ups in a kept set, as ``vesica serve`` does, for as long as a ``with`` statement lasts::

        with vesica.serve(secret="set.pem", set="set", ledger="ledger", allow=keys, listen=":7402") as server:
            server.wait()

    Args:
        secret: The file of the set's secret key, which :func:`publish` made.
        set: The set's files, or the folder that holds them, which is looked at again.
        ledger: The file in which it is written down who asked for how many keys; it is made if it is not there.
        allow: The receivers' public keys, ``"vesica-pub1-…"``, or ``"@FILE"`` with one a line.
        listen: Wait for receivers at ``"HOST:PORT"``, or at ``":PORT"`` of every IPv4 address here.
        via: Meet receivers at the relay at ``"HOST:PORT"``.
        via_key: The relay's public key.
        post: Answer the queries that lie in this folder, and end: :meth:`Server.wait` waits for that.
        max_keys_per_day: The most keys that each receiver may ask for in a day (UTC); any number by default.
        identity: My identity, which signed the set, or its file; by default the file that :func:`keygen` makes.
        on_event: A function that is called with each event of the server, in a thread of its own. An exception in it ends
            the server, and is raised at the end of the ``with`` statement.
        **options: All of :class:`ServeOptions`.

    Returns:
        The server, which starts when its context is entered and stops in order at the end of it.

    Raises:
        VesicaError: At the begin of the context if it cannot listen, or a key or a file cannot be used; at the end of it
            if the server has ended before.
    """
    if on_event is not None and not callable(on_event):
        raise usage("on_event is not a function", "give a function that takes an event")
    _one_place({"listen": listen, "via": via, "post": post})
    service = {
        "secret": os.fspath(secret),
        "set": _paths(set),
        "ledger": os.fspath(ledger),
        "allow": [allow] if isinstance(allow, str) else list(allow),
        "listen": listen,
        "via": via,
        "via_key": via_key,
        "post": path_of(post),
        "max_keys_per_day": _number(max_keys_per_day),
        "identity": identity,
        "options": filled({**options}, only=ServeOptions),
    }
    return Server(service, on_event)
