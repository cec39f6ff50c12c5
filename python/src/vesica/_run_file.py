"""Run files: the agreed half of a run, which the partner has written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import _internal
from .errors import usage

Specs = tuple[bool, list[str]]
"""Whether there are rules to match by (``match``) and not the columns of one key (``key``), and their texts."""

_WHERE = ("listen", "connect", "via", "via_key", "run")
_LISTS = ("value", "payload", "via", "via_key")


def specs_of(key: str | Sequence[str] | None, match: str | Sequence[str] | None) -> Specs:
    """What makes the keys: one of the two."""
    if key is None and match is None:
        raise usage("a table needs a key", "give key, or match for several keys in order")
    if key is not None and match is not None:
        raise usage("key and match both say what makes the keys", "give one of the two")
    specs = match if key is None else key
    return key is None, [specs] if isinstance(specs, str) else list(specs or [])


def taken(command: str, options: Any, specs: Specs) -> tuple[dict[str, Any], Specs]:
    """The options and keys of a call, with those of the run file that it names."""
    given = dict(options)
    path = given.pop("run_file", None)
    if path is None:
        return given, specs
    keys, agreed, meeting, mine = _internal.run_file(os.fspath(path), command, specs)
    # The calls always pass the result.
    if given.get("result") == "rows":
        del given["result"]
    for option, _ in agreed:
        name = option.replace("-", "_")
        if name in options and name in given:
            raise usage(f"{name} is given, and the run file has it too", "leave it out, or make a new run file")
    for option, value in agreed:
        _add(given, option.replace("-", "_"), True if value is None else value)
    own = any(given.get(name) is not None for name in ("listen", "connect", "via"))
    for option, value in meeting:
        name = option.replace("-", "_")
        if (own and name in _WHERE) or (name not in _LISTS and given.get(name) is not None):
            continue
        if name == "connect" and value.startswith("HOST:"):
            port = value.removeprefix("HOST")
            raise usage(
                "the run file does not know by which name the partner's machine is reached",
                f'give connect="NAME{port}" with its name or address',
            )
        _add(given, name, value)
    if mine is not None and not given.get("insecure_plaintext"):
        identity = given.get("identity")
        key = (identity if isinstance(identity, _internal.Identity) else _internal.Identity.load(identity)).public_key
        if key != mine:
            raise usage(
                f"the run file is for the public key {mine}, and this identity has {key}",
                "name the other identity with identity, or ask the partner for a file for this one",
            )
    given.setdefault("result", "rows")
    return given, (specs[0], keys)


def _add(given: dict[str, Any], name: str, value: Any) -> None:
    if name in _LISTS:
        given.setdefault(name, []).append(value)
    else:
        given[name] = value
