"""Receipts, checked without a partner and without a network."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _internal
from ._run import StrPath, path_of

__all__ = ["Receipt", "verify"]


@dataclass(frozen=True)
class Receipt:
    """A receipt that both sides have signed. ``str(receipt)`` says what it proves, and what not."""

    statement: dict[str, Any]
    """What both have signed, as ``docs/receipts.md`` describes it."""
    signatures: dict[str, str]
    """The signatures of ``receiver`` and ``sender``."""
    words: str = field(repr=False, compare=False)
    """The same in words."""

    def __str__(self) -> str:
        return self.words


def verify(path: StrPath, *, peer: str | Sequence[str] = (), report: StrPath | None = None) -> Receipt:
    """Check a receipt, as ``vesica verify`` does.

    Args:
        path: The file that ``receipt`` wrote, or a report that has a receipt, as JSON or as a page.
        peer: The public key of one side, ``"vesica-pub1-…"``, or ``"@FILE"``; or those of both. Somebody else's receipt is
            refused.
        report: The report of the same run, which the receipt has to fit.

    Returns:
        The receipt, whose signatures hold.

    Raises:
        InputError: If the file is no receipt.
        ProtocolError: If a signature does not hold, or the report is of another run.
        RefusedError: If somebody else than ``peer`` took part.
    """
    peers = [peer] if isinstance(peer, str) else list(peer)
    text, words = _internal.verified(os.fspath(path), peers, path_of(report))
    receipt = json.loads(text)
    return Receipt(receipt["statement"], receipt["signatures"], words)
