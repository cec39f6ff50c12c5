"""Which partition Spark puts a row into.

Partition i of the parts job must hold exactly part i. Spark 4.1 and later take the number of the partition itself. Earlier
versions put a row into the partition ``pmod(hash(slot), count)``, where ``hash`` is Murmur3 for 32 bits with seed 42. So
each partition gets a slot, a number whose hash leads there.
"""

from __future__ import annotations

__all__ = ["murmur3", "slots"]

_WORD = 0xFFFFFFFF
_SEED = 42
"""The seed of Spark's ``HashPartitioning``."""


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _WORD


def murmur3(value: int) -> int:
    """Spark's ``hash`` of one column of 32 bits: MurmurHash3 (x86, 32 bits) of its four bytes, as a signed integer."""
    word = _rotated((value & _WORD) * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD
    mixed = (_rotated(_SEED ^ word, 13) * 5 + 0xE6546B64) & _WORD
    mixed ^= 4  # the length in bytes
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & _WORD
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & _WORD
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


def slots(count: int) -> list[int]:
    """For each of ``count`` partitions, the smallest number whose hash leads there."""
    found: dict[int, int] = {}
    value = 0
    while len(found) < count:
        found.setdefault(murmur3(value) % count, value)
        value += 1
    return [found[partition] for partition in range(count)]
