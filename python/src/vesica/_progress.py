"""The events of a run: for the caller, as a bar, and in the log."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from .errors import usage

__all__ = ["Event", "listener"]

Event = dict[str, Any]
"""An event, as ``docs/report.md`` lists them: ``event`` and ``t``, and the fields of that event."""

_log = logging.getLogger("vesica")


class _Bar:
    """A bar of tqdm: the step, the share of the run, the time left."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise usage("progress needs tqdm", "pip install tqdm, or leave out progress") from None
        self._bar: Any = tqdm(total=1.0, leave=False, bar_format="{desc} {bar} {percentage:3.0f}%{postfix}")

    def show(self, event: Event) -> None:
        kind = event["event"]
        if kind == "phase":
            of = "" if event["steps"] is None else f" of {event['steps']}"
            self._bar.set_description_str(f"step {event['step']}{of}, {event['words']}")
        elif kind == "progress":
            # Before the run is agreed, the share is that of the table.
            share = event["share"] if event["share"] is not None else event["done"] / max(event["total"], 1)
            self._bar.total = 1.0
            self._bar.update(min(share, 1.0) - self._bar.n)
            if event["left_s"] is not None:
                minutes, seconds = divmod(int(event["left_s"]), 60)
                self._bar.set_postfix_str(f"{minutes}:{seconds:02} left")

    def close(self) -> None:
        self._bar.close()


class Listener:
    """Receives events as lines of JSON. As a context it closes the bar at the end."""

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
    """What receives the events."""
    if events is not None and not callable(events):
        raise usage("events is not a function", "give a function that takes an event")
    return Listener(events, progress)
