"""The options of a run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from difflib import get_close_matches
from typing import Any, Literal, TypedDict

from . import _internal
from ._progress import Event
from ._report import Report
from .errors import usage

__all__ = [
    "PARTNER",
    "READ",
    "LocalOptions",
    "LookupCall",
    "LookupOptions",
    "Options",
    "PartyOptions",
    "PublishCall",
    "PublishOptions",
    "ResultOptions",
    "RunOptions",
    "ServeOptions",
    "filled",
    "time",
]


# Made from the list of options.
class Options(TypedDict, total=False):
    """Options of every run, as keyword arguments: those of ``vesica receive --help``.

    Both sides give the same ``protocol``, ``security``, ``learns``, ``match_id``, ``sigma``, ``level``, ``variant``,
    ``profile``, ``base_ots``, ``audit_max``, ``paper_parameters``. One side may leave ``protocol`` to ``"auto"``.
    """

    threads: int | None
    """Threads to keep busy; 0 is all cores [default: all cores]."""
    device: str
    """Where products of a group are computed: on the cores (cpu), or on a card of NVIDIA (cuda:0 is the first), in a
    build with cards; auto takes a card where the set is large enough [default: auto]."""
    memory: int | str | None
    """Memory that this program may use, such as 512M or 4G, or half of the free memory (auto): what does not fit goes
    to disk, and a run that may take more is refused [default: 90 % of the free memory, and nothing goes to disk]; a
    number is bytes."""
    timeout: str | float | timedelta
    """How long to wait for the partner (a helper: for each party), and how long it may be silent: 90s, 5m, 2h; a number
    is seconds [default: 5m]."""
    deadline: str | float | timedelta | None
    """End the run if it is not done after this time, whatever it waits for: 90s, 5m, 2h [default: no end]; a number is
    seconds."""
    min_peer_rows: int
    """Refuse a partner (a helper: a party) with fewer keys, padding included: a number, or 2^N [default: 0]."""
    max_peer_rows: int
    """Refuse a partner (a helper: a party) with more keys, padding included: a number, or 2^N [default: 2^30]."""
    max_counts: int | None
    """With ledger: refuse a run by which the partner would learn more than N counts, sums or thresholds about nearly
    the same set of mine, all runs together [default: 4]."""
    max_questions: int | None
    """With ledger: refuse a run in which the partner would learn of more than N of its keys, padding included, whether
    they are in nearly the same set of mine, all runs together [default: no limit]."""
    max_epsilon: float | str | None
    """With ledger and noise: refuse a run with which the privacy loss about nearly the same set of mine would be more
    than EPSILON, 0.001 to 20, all runs with the partner together [default: no limit]."""
    on_duplicates: Literal["all", "first", "error"]
    """My rows with the same key: all of them match, only the first matches, or they are an error [default: all]."""
    on_null: Literal["skip", "error"]
    """My rows whose key is empty [default: skip]."""
    on_invalid: Literal["skip", "error"]
    """My rows whose key breaks its rule [default: error]."""
    pad_to: int | Literal["pow2"] | None
    """Hide my exact size: pad to the next power of two (pow2), or to N keys: a number, or 2^N."""
    parts: int
    """Split the run into at least N parts, several played at once; the larger number of both sides is taken (a long run
    takes one for each core of both sides by itself) [default: 1]."""
    max_parts: int | None
    """Refuse a run that needs more than N parts, and take no more for the cores; 1 is a run on one connection [default:
    what suits the sizes: 64, or one for each 65,536 keys if that is more, with little padding]."""
    allow_insecure: bool
    """Allow protocols that `vesica protocols` marks insecure or broken."""
    protocol: str
    """Protocol by name (see `vesica protocols`), or auto [default: auto]."""
    security: Literal["malicious", "semi-honest"]
    """Protect against a partner that cheats (malicious), or only against a curious one (semi-honest) [default:
    malicious]."""
    learns: Literal["receiver", "both"]
    """Who learns the result [default: receiver]."""
    match_id: bool
    """Add a column match_id to the matching rows: the same number on both sides for the same key; with
    learns="both"."""
    sigma: int | None
    """Use keys as they are: integers of at most so many bits; one key column of rule int or ip, where the protocol
    offers it."""
    level: int
    """Security level in bits, where the protocol offers it: 80, 112, 128, 192 or 256 [default: 128]."""
    variant: str | None
    """A variant of the named protocol, for comparison (see `vesica protocols`)."""
    profile: Literal["conservative", "fast", "lean"]
    """What the protocol's parameters rest on: published bounds, our own arguments (fast), or estimates (lean) [default:
    conservative]."""
    base_ots: Literal["diffie-hellman", "ml-kem"]
    """What base OTs are made from, in the protocols that make them: ml-kem is ML-KEM-768, which no quantum computer is
    known to break, and takes 577 kB for each 128 of them (docs/post-quantum.md) [default: diffie-hellman]."""
    audit_max: int | None
    """Reveal the result only if at most N keys match; otherwise both sides learn only that more do."""
    paper_parameters: bool
    """The paper's own parameters, for comparison with its tables; a run on real tables needs allow_insecure=True."""


class ResultOptions(TypedDict, total=False):
    """What limits a result, and what goes with it; both sides give the same. See ``docs/results.md``."""

    value: str | Sequence[str]
    """With result="sum": a column of the sender's table to sum over the matching keys, whole numbers from 0 on; several
    give several sums."""
    at_least: int | None
    """With result="count": show both sides only whether at least N keys match."""
    payload: str | Sequence[str]
    """With result="rows": a column of the sender's table that the receiver's matching rows get, as text; or several."""
    payload_bytes: int | None
    """Bytes of a row's payload at most, 1 to 65536; the sender pads to it, so that no length is seen [default: 64]."""
    min_matches: int | None
    """With result="count" or sum: if fewer keys match (with noise: by the count with noise), show both sides only
    that."""
    noise: float | str | None
    """With result="count": add noise of that privacy loss (epsilon), 0.001 to 20, from each side; smaller is
    noisier."""


class PublishOptions(TypedDict, total=False):
    """Options of :func:`vesica.publish`."""

    threads: int | None
    """Threads to keep busy; 0 is all cores [default: all cores]."""
    device: str
    """Where products of a group are computed: on the cores (cpu), or on a card of NVIDIA (cuda:0 is the first), in a
    build with cards; auto takes a card where the set is large enough [default: auto]."""
    memory: int | str | None
    """Memory that this program may use, such as 512M or 4G, or half of the free memory (auto): what does not fit goes
    to disk, and a run that may take more is refused [default: 90 % of the free memory, and nothing goes to disk]; a
    number is bytes."""
    deadline: str | float | timedelta | None
    """End the run if it is not done after this time, whatever it waits for: 90s, 5m, 2h [default: no end]; a number is
    seconds."""
    on_duplicates: Literal["all", "first", "error"]
    """My rows with the same key: all of them match, only the first matches, or they are an error [default: all]."""
    on_null: Literal["skip", "error"]
    """My rows whose key is empty [default: skip]."""
    on_invalid: Literal["skip", "error"]
    """My rows whose key breaks its rule [default: error]."""
    pad_to: int | Literal["pow2"] | None
    """Hide my exact size: pad to the next power of two (pow2), or to N keys: a number, or 2^N."""
    payload: str | Sequence[str]
    """With result="rows": a column of the sender's table that the receiver's matching rows get, as text; or several."""
    payload_bytes: int | None
    """Bytes of a row's payload at most, 1 to 65536; the sender pads to it, so that no length is seen [default: 64]."""


class LookupOptions(TypedDict, total=False):
    """Options of :func:`vesica.lookup`."""

    threads: int | None
    """Threads to keep busy; 0 is all cores [default: all cores]."""
    timeout: str | float | timedelta
    """How long to wait for the partner (a helper: for each party), and how long it may be silent: 90s, 5m, 2h; a number
    is seconds [default: 5m]."""
    deadline: str | float | timedelta | None
    """End the run if it is not done after this time, whatever it waits for: 90s, 5m, 2h [default: no end]; a number is
    seconds."""
    max_peer_rows: int
    """Refuse a partner (a helper: a party) with more keys, padding included: a number, or 2^N [default: 2^30]."""
    on_duplicates: Literal["all", "first", "error"]
    """My rows with the same key: all of them match, only the first matches, or they are an error [default: all]."""
    on_null: Literal["skip", "error"]
    """My rows whose key is empty [default: skip]."""
    on_invalid: Literal["skip", "error"]
    """My rows whose key breaks its rule [default: error]."""
    pad_to: int | Literal["pow2"] | None
    """Hide my exact size: pad to the next power of two (pow2), or to N keys: a number, or 2^N."""


class ServeOptions(TypedDict, total=False):
    """Options of :func:`vesica.serve`."""

    threads: int | None
    """Threads to keep busy; 0 is all cores [default: all cores]."""
    timeout: str | float | timedelta
    """How long to wait for the partner (a helper: for each party), and how long it may be silent: 90s, 5m, 2h; a number
    is seconds [default: 5m]."""


# End of what is made.


class CallOptions(TypedDict, total=False):
    """How a call is followed and ended."""

    report: str | os.PathLike[str] | Callable[[Report], object] | None
    """A new file for the report, also of a run that fails: a page for a person if its name ends in ``.html``, otherwise JSON;
    or a folder in which it gets a name of its own; or a function that takes the :class:`vesica.Report`."""
    events: Callable[[Event], object] | None
    """A function that is called with each event, in the calling thread. An exception in it ends the run."""
    progress: bool
    """Show a bar (needs tqdm)."""
    cancel: _internal.CancelToken | None
    """Ends the run from another thread. Ctrl-C ends it too."""


class RunOptions(Options, ResultOptions, CallOptions, total=False):
    """What every call that runs a protocol takes besides a table and its key."""


class ReadOptions(TypedDict, total=False):
    """How a text file is read. (Parquet and Arrow files need none of this.)"""

    delimiter: str | None
    """What separates fields: one character such as ``";"``, or ``"tab"``, or ``"auto"``: the one that the first lines show; a
    comma by default, or what a first line ``sep=`` names."""
    encoding: str | None
    """The encoding of text without a byte-order mark, such as ``"windows-1252"`` or ``"utf-16"``; UTF-8 by default."""
    header: bool
    """Whether the first line names the columns; if not, they are named by number: ``"1"``, ``"2"``, …"""
    skip_lines: int | None
    """Lines above the header, which are skipped and copied into the output."""
    comment: str | None
    """Lines that begin with this character are no rows."""
    quote: str | None
    """What fields are quoted with: one character, or ``"none"``; the double quote by default."""
    escape: str | None
    """What takes the next character literally, in quotes or not."""
    stray_quotes: Literal["error", "text"] | None
    """What a quote is in a field that does not begin with one; an error by default."""
    ragged: Literal["error", "pad", "skip"] | None
    """What becomes of rows with more or fewer fields than the header; an error by default."""
    null: str | Sequence[str] | None
    """Fields with exactly one of these texts are null, as empty ones are."""


class PairReadOptions(TypedDict, total=False):
    """How two tables are read: one value for both, or a tuple of two."""

    delimiter: str | tuple[str | None, str | None] | None
    """What separates fields."""
    encoding: str | tuple[str | None, str | None] | None
    """The encoding of text without a byte-order mark."""
    header: bool | tuple[bool, bool]
    """Whether the first line names the columns."""
    skip_lines: int | tuple[int | None, int | None] | None
    """Lines above the header."""
    comment: str | tuple[str | None, str | None] | None
    """Lines that begin with this character are no rows."""
    quote: str | tuple[str | None, str | None] | None
    """What fields are quoted with."""
    escape: str | tuple[str | None, str | None] | None
    """What takes the next character literally."""
    stray_quotes: str | tuple[str | None, str | None] | None
    """What a quote is in a field that does not begin with one."""
    ragged: str | tuple[str | None, str | None] | None
    """What becomes of rows with more or fewer fields than the header."""
    null: str | list[str] | tuple[str | list[str] | None, str | list[str] | None] | None
    """Texts that are null: one, a list, or a tuple of two of these."""


class PartyOptions(RunOptions, ReadOptions, total=False):
    """Options of one of two parties, and how it meets the other."""

    match: str | Sequence[str] | None
    """Several keys in their order, instead of ``key``."""

    listen: str | None
    """Wait for the partner at ``"HOST:PORT"``, or at ``":PORT"`` of every IPv4 address here."""
    connect: str | None
    """Connect to the partner at ``"HOST:PORT"``."""
    via: str | Sequence[str] | None
    """Meet the partner at the relay at ``"HOST:PORT"``, where somebody runs ``vesica relay``; both sides give the same.
    Several share out the parts of a run."""
    via_key: str | Sequence[str] | None
    """The relay's public key, in the forms of ``peer``; of several relays in their order."""
    run: str | None
    """A name for the run, the same on both sides, where several with this partner meet at the relay at the same time."""
    identity: str | os.PathLike[str] | _internal.Identity | None
    """My identity, or its file; by default the file that :func:`vesica.keygen` makes."""
    peer: str | None
    """The partner's public key, ``"vesica-pub1-…"``, or ``"@FILE"`` with a file that holds it."""
    insecure_plaintext: bool
    """No TLS and no keys, so the partner may be anybody; on loopback addresses only."""
    run_file: str | os.PathLike[str] | None
    """A file that the partner wrote with ``--write-run-file``: the agreed options, the address and the keys. ``key`` needs
    only the columns, in the order of its rules."""
    keep_base_ots: str | os.PathLike[str] | None
    """A file, one for each partner and role, that keeps base OTs for later runs; with ``security="semi-honest"``."""
    ledger: str | os.PathLike[str] | None
    """A ledger of my runs, in which this one is written down before anything of my table leaves; see
    :func:`vesica.ledger`."""
    helper: str | None
    """Where a helper listens, ``"HOST:PORT"``, for ``protocol="server-aided"``."""
    helper_key: str | None
    """The helper's public key, in the forms of ``peer``."""
    receipt: str | os.PathLike[str] | None
    """A new file for the receipt that both sides sign at the end of the run, or a folder in which it gets a name of its own;
    :func:`vesica.verify` checks it."""


class LocalOptions(RunOptions, PairReadOptions, total=False):
    """What :func:`vesica.local` takes besides tables and their key."""

    match: str | Sequence[str] | None
    """Several keys in their order, instead of ``key``."""


class PublishCall(PublishOptions, CallOptions, ReadOptions, total=False):
    """What :func:`vesica.publish` takes besides the set's files and its tables."""


class LookupCall(LookupOptions, CallOptions, ReadOptions, total=False):
    """What :func:`vesica.lookup` takes besides its table, the set's files and the sender."""

    receipt: str | os.PathLike[str] | None
    """A new file for the receipt that both sides sign at the end, or a folder in which it gets a name of its own."""


READ: dict[str, Any] = {
    "delimiter": None,
    "encoding": None,
    "header": True,
    "skip_lines": None,
    "comment": None,
    "quote": None,
    "escape": None,
    "stray_quotes": None,
    "ragged": None,
    "null": None,
}
"""How a text file is read, with the defaults."""

PARTNER = {
    "listen": None,
    "connect": None,
    "via": None,
    "via_key": None,
    "run": None,
    "identity": None,
    "peer": None,
    "insecure_plaintext": False,
    "keep_base_ots": None,
    "ledger": None,
    "helper": None,
    "helper_key": None,
}
"""How a partner is met, with the defaults."""


def time(value: str | float | timedelta) -> str:
    """A time as the command line writes it."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    return value if isinstance(value, str) else str(int(value))


def _known_protocol(name: str | None) -> None:
    """Refuse a name that there is not where another one was probably meant."""
    names = ["auto", *(entry["name"] for entry in json.loads(_internal.protocols())["protocols"])]
    if name is None or name in names:
        return
    # What is like no other name, the run refuses: it knows what this build leaves out, and why.
    for meant in get_close_matches(name, names, 1):
        hint = f'did you mean "{meant}"? `vesica.protocols()` lists them all'
        raise usage(f'there is no protocol named "{name}"', hint)


def filled(options: dict[str, Any], rows_only: bool = False, only: Any = None) -> dict[str, Any]:
    """All options, as Rust takes them: None is the command line's default.

    ``rows_only``: no result but rows is offered. ``only``: no options are offered but those of this class.
    """
    names = list(Options.__annotations__)
    results = ["result", *ResultOptions.__annotations__]
    known = names if rows_only else [*names, *results]
    if only is not None:
        known = list(only.__annotations__)
    unknown = options.keys() - set(known)
    if unknown:
        meant = sorted({name for option in unknown for name in get_close_matches(option, known, 1)})
        hint = f"; did you mean {', '.join(meant)}?" if meant else ""
        raise TypeError(f"unknown option {', '.join(sorted(unknown))}{hint}; the options are {', '.join(known)}")
    _known_protocol(options.get("protocol"))
    every = {**dict.fromkeys([*names, *results]), **options}
    for name in ("timeout", "deadline"):
        if every[name] is not None:
            every[name] = time(every[name])
    for name in ("value", "payload"):
        if every[name] is not None:
            every[name] = [every[name]] if isinstance(every[name], str) else list(every[name])
    return every
