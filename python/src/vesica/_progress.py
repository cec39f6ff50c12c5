"""What happens during a run: told to the caller, shown as a bar, logged."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from .errors import usage

__all__ = ["Event", "listener"]

Event = dict[str, Any]
"""What happens, as ``docs/report.md`` lists it: ``event`` and ``t``, and what comes with that event."""

_log = logging.getLogger("vesica")


class _Bar:
    """A bar of tqdm, one phase after the other."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise usage("progress needs tqdm", "pip install tqdm, or leave out progress") from None
        self._bar: Any = tqdm(total=0, leave=False, bar_format="{desc:10}{bar} {percentage:3.0f}% {elapsed}")

    def show(self, event: Event) -> None:
        kind = event["event"]
        if kind == "phase":
            self._bar.reset(event["total"] or None)
            self._bar.set_description(event["name"])
        elif kind == "progress":
            self._bar.total = event["total"] or None
            self._bar.update(event["done"] - self._bar.n)

    def close(self) -> None:
        self._bar.close()


class Listener:
    """Takes events as lines of JSON; a context that closes the bar."""

    def __init__(self, events: Callable[[Event], object] | None, progress: bool) -> None:
        self._events = events
        self._bar = _Bar() if progress else None

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, line: str) -> None:
        event = json.loads(line)
        if event["event"] == "notice":
            level = logging.WARNING if event["message"].startswith("WARNING") else logging.INFO
            _log.log(level, "%s", event["message"])
        if self._bar is not None:
            self._bar.show(event)
        if self._events is not None:
            self._events(event)


def listener(events: Callable[[Event], object] | None, progress: bool) -> Listener:
    """Whoever is to be told."""
    if events is not None and not callable(events):
        raise usage("events is no function", "give a function that takes an event")
    return Listener(events, progress)
