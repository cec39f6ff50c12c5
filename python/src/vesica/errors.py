"""Exceptions: one class for each kind of failure, with the exit code of the command line.

The words are the command line's, with options as Python writes them: what happened, on which side and in which phase, and what
to do. No exception holds a value of either table.
"""

from __future__ import annotations

from typing import ClassVar

from ._report import Report

__all__ = [
    "Cancelled",
    "InputError",
    "InternalError",
    "OutputError",
    "PartnerError",
    "ProtocolError",
    "RefusedError",
    "ResourceError",
    "UsageError",
    "VesicaError",
    "Waiting",
]


class VesicaError(Exception):
    """A run that did not end with a result."""

    kind: ClassVar[str] = ""
    """The kind's name, as reports have it."""
    exit_code: ClassVar[int] = 70
    """What the command line exits with."""
    side: str
    """Who can do something about it: ``ours``, ``partner`` or ``both``."""
    phase: str
    """When it happened, as reports name the phases of a run."""
    message: str
    """What happened."""
    remedy: str
    """What to do."""
    report: Report | None
    """The report of the run, if it had begun."""

    def __init__(
        self,
        text: str,
        *,
        side: str = "ours",
        phase: str = "prepare",
        message: str | None = None,
        remedy: str = "",
        report: str | None = None,
    ) -> None:
        super().__init__(text)
        self.side = side
        self.phase = phase
        self.message = text if message is None else message
        self.remedy = remedy
        self.report = None if report is None else Report(report)


class UsageError(VesicaError):
    """Wrong options, a bad identity, an address that cannot be bound."""

    kind = "usage"
    exit_code = 64


class InputError(VesicaError):
    """A table, column or value that is absent, unreadable or invalid."""

    kind = "input"
    exit_code = 65


class PartnerError(VesicaError):
    """The partner cannot be reached, fell silent, closed, or failed for a reason of its own."""

    kind = "partner"
    exit_code = 69


class InternalError(VesicaError):
    """An error of Vesica itself."""

    kind = "internal"
    exit_code = 70


class ResourceError(VesicaError):
    """The system gave no memory, thread or descriptor."""

    kind = "resources"
    exit_code = 71


class OutputError(VesicaError):
    """The result could not be written."""

    kind = "output"
    exit_code = 74


class Waiting(VesicaError):
    """Nothing went wrong: the partner's part is still to come, and the same call goes on from here."""

    kind = "waiting"
    exit_code = 75


class ProtocolError(VesicaError):
    """The partner sent something that does not decode, or that fails a check."""

    kind = "protocol"
    exit_code = 76


class RefusedError(VesicaError):
    """The partner is not who we expect, or the two sides asked for different things."""

    kind = "refused"
    exit_code = 77


class Cancelled(VesicaError):
    """The run was cancelled by its token."""

    kind = "interrupted"
    exit_code = 130


def usage(message: str, remedy: str) -> UsageError:
    """Wrong arguments, found before Rust sees them; in the same form."""
    text = f"{message}\n  where: on this side, phase prepare\n  what to do: {remedy}"
    return UsageError(text, message=message, remedy=remedy)
