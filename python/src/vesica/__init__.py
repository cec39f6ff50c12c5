"""Private set intersection: find the rows that two tables share, and show neither side anything else.

Two organisations each hold a table. One calls :func:`receive`, the other :func:`send`. The first one gets those of its own
rows whose keys the second one has too. Besides that, the two only learn the sizes of each other's sets::

    matched = vesica.receive(customers, key="email:email", listen=":7400", peer="vesica-pub1-…")
    report = vesica.send(newsletter, key="mail:email", connect="shop.example.com:7400", peer="vesica-pub1-…")

:func:`local` plays both parties in one process. :func:`publish`, :func:`serve` and :func:`lookup` are for a table that is
prepared once and asked often. :func:`protocols` lists the protocols, each of which also runs on its own
between two sets of byte strings, over a :class:`Channel`.
"""

from __future__ import annotations

from . import errors
from ._internal import Batches, CancelToken, Identity, __version__
from ._kept import Server, lookup, publish, serve
from ._options import LookupOptions, Options, PublishOptions, ResultOptions, ServeOptions
from ._progress import Event
from ._protocols import Channel, Protocol, channel_pair, open_channel, protocols
from ._report import Report
from ._run import assist, keep_freed_memory, keygen, local, public_key, receive, send
from ._verify import Receipt, verify
from .errors import (
    Cancelled,
    InputError,
    InternalError,
    OutputError,
    PartnerError,
    ProtocolError,
    RefusedError,
    ResourceError,
    UsageError,
    VesicaError,
    Waiting,
)

__all__ = [
    "Batches",
    "CancelToken",
    "Cancelled",
    "Channel",
    "Event",
    "Identity",
    "InputError",
    "InternalError",
    "LookupOptions",
    "Options",
    "OutputError",
    "PartnerError",
    "Protocol",
    "ProtocolError",
    "PublishOptions",
    "Receipt",
    "RefusedError",
    "Report",
    "ResourceError",
    "ResultOptions",
    "ServeOptions",
    "Server",
    "UsageError",
    "VesicaError",
    "Waiting",
    "__version__",
    "assist",
    "channel_pair",
    "errors",
    "keep_freed_memory",
    "keygen",
    "local",
    "lookup",
    "open_channel",
    "protocols",
    "public_key",
    "publish",
    "receive",
    "send",
    "serve",
    "verify",
]
