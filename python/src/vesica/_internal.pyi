"""The part in Rust. `vesica` wraps all of it; nothing else should call it."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, final

__all__ = [
    "Batches",
    "CancelToken",
    "Channel",
    "Distinct",
    "Identity",
    "Outcome",
    "PartTask",
    "PartsRun",
    "Server",
    "__version__",
    "assist",
    "digests",
    "fingerprints",
    "halves",
    "keep_freed_memory",
    "key_columns",
    "keyed",
    "keygen",
    "kinds",
    "local",
    "lookup",
    "marks",
    "pack_items",
    "pair_columns",
    "protocols",
    "publish",
    "rules",
    "run",
    "run_file",
    "side_by_side",
    "unpack_items",
    "verified",
]

__version__: str

def protocols() -> str: ...
def keep_freed_memory() -> None: ...
def kinds() -> list[tuple[str, int, str]]: ...
def key_columns(specs: tuple[bool, Sequence[str]]) -> list[str]: ...
def pair_columns(specs: tuple[bool, Sequence[str]]) -> list[tuple[str, str]]: ...
def verified(
    path: str | PathLike[str], peers: Sequence[str], report: str | PathLike[str] | None
) -> tuple[str, str]: ...
def keygen(output: str | PathLike[str] | None = None) -> tuple[Any, str]: ...
def run(
    role: str,
    table: dict[str, Any],
    specs: tuple[bool, Sequence[str]],
    partner: dict[str, Any],
    how: dict[str, Any],
) -> Outcome: ...
def run_file(
    path: str | PathLike[str], command: str, specs: tuple[bool, Sequence[str]]
) -> tuple[list[str], list[tuple[str, str | None]], list[tuple[str, str]], str | None]: ...
def assist(listen: str, identity: Any, peers: tuple[str, str], how: dict[str, Any]) -> Outcome: ...
def publish(
    changes: dict[str, Any], specs: tuple[bool, Sequence[str]], publication: dict[str, Any], how: dict[str, Any]
) -> Outcome: ...
def lookup(
    table: dict[str, Any],
    specs: tuple[bool, Sequence[str]],
    set: dict[str, Any],
    partner: dict[str, Any],
    how: dict[str, Any],
) -> Outcome: ...
def rules(specs: tuple[bool, Sequence[str]], role: str) -> list[str]: ...
def digests(
    batch: Any, specs: tuple[bool, Sequence[str]], role: str | None, options: dict[str, Any]
) -> tuple[Any, int, int]: ...
def fingerprints(key: bytes, digests: Any) -> Any: ...
def keyed(digests: Any, items_key: bytes, count: int) -> tuple[Any, Any]: ...
def marks(digests: Any, key: bytes, groups: int) -> tuple[Any, Any]: ...
def pack_items(digests: Any, items_key: bytes, key: bytes, count: int) -> tuple[Any, Any, Any]: ...
def unpack_items(parts: Any, items: Any, fingerprints: Any) -> tuple[Any, Any, Any]: ...
def side_by_side(items: Any) -> Any: ...
def halves(items: Any, width: int) -> tuple[Any, Any]: ...
def local(
    receiver: dict[str, Any], sender: dict[str, Any], specs: tuple[bool, Sequence[str]], how: dict[str, Any]
) -> Outcome: ...

@final
class CancelToken:
    """Ends runs from another thread: give it as ``cancel``, and call :meth:`cancel`."""

    def __new__(cls) -> CancelToken: ...
    def cancel(self) -> None:
        """End every run that was given this token. They raise :class:`vesica.Cancelled`."""
    @property
    def cancelled(self) -> bool:
        """Whether :meth:`cancel` was called."""

@final
class Identity:
    """A key pair. Only its public half can be seen."""

    @staticmethod
    def generate() -> Identity:
        """A new key pair, in memory."""
    @staticmethod
    def load(path: str | PathLike[str] | None = None) -> Identity:
        """The key pair in that file, or in the default one."""
    def save(self, path: str | PathLike[str]) -> None:
        """Write the key pair to a new file that only its owner can read."""
    @property
    def public_key(self) -> str:
        """The line to give to the partner."""

@final
class Batches:
    """Rows as Arrow record batches, for libraries with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...

@final
class Outcome:
    @property
    def report(self) -> str: ...
    @property
    def rows(self) -> bytes | None: ...
    @property
    def answer(self) -> int | bool | list[tuple[str, int]] | None: ...
    @property
    def payload(self) -> list[tuple[str, list[str | None]]] | None: ...
    @property
    def matched_by(self) -> list[str] | None: ...
    @property
    def numbers(self) -> bytes | None: ...
    @property
    def batches(self) -> Batches | None: ...

@final
class Channel:
    """A connection to the partner, for one run of a :class:`vesica.Protocol`."""

    @staticmethod
    def pair(cancel: CancelToken | None = None) -> tuple[Channel, Channel]: ...
    @staticmethod
    def open(
        partner: dict[str, Any],
        timeout: str,
        cancel: CancelToken | None,
        on_event: Callable[[str], object] | None,
    ) -> Channel: ...
    def run(
        self,
        role: str,
        keys: Sequence[bytes] | Sequence[int],
        options: dict[str, Any],
        on_event: Callable[[str], object] | None,
        helper: Channel | None = None,
    ) -> Outcome: ...
    def assist(
        self,
        other: Channel,
        options: dict[str, Any],
        on_event: Callable[[str], object] | None,
    ) -> Outcome: ...
    def close(self) -> None:
        """Close the channel; a run that is using it ends."""

@final
class Server:
    """A server of a kept set, in a thread of its own."""

    @staticmethod
    def start(service: dict[str, Any], on_event: Callable[[str], object] | None) -> Server: ...
    @property
    def address(self) -> str | None: ...
    def wait(self, seconds: float | None = None) -> bool: ...
    def stop(self) -> None: ...

@final
class PartsRun:
    """The driver's side of a run in parts."""

    def __new__(
        cls,
        role: str,
        counts: tuple[int, int, int, int],
        specs: tuple[bool, Sequence[str]],
        slots: int,
        partner: dict[str, Any],
        how: dict[str, Any],
    ) -> PartsRun: ...
    def next(self) -> tuple[Any, ...]: ...
    def check(self) -> None: ...
    def ended(self, receipts: Sequence[tuple[int, bytes, int]], attempts: Sequence[tuple[int, int]]) -> None: ...
    def confirm(self) -> None: ...
    def close(self) -> None: ...

@final
class PartTask:
    """The task of a part."""

    def __new__(cls, ticket: bytes, part: int) -> PartTask: ...
    def add(self, batch: Any) -> None: ...
    def play(self, cancel: CancelToken | None = None) -> list[Any]: ...

@final
class Distinct:
    """Counts different marks."""

    def __new__(cls) -> Distinct: ...
    def add(self, marks: Any) -> None: ...
    def count(self) -> tuple[int, int]: ...
