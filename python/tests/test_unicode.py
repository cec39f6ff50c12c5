"""The rule ``text`` against Python's own tables of Unicode, for all characters that both know, alone and composed."""

from __future__ import annotations

import sys
import unicodedata

import pyarrow as pa

from vesica import parts

WHITE = "".join(
    map(chr, [*range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F])
)
WHITE += "\u3000"
MARKS = "\u0300\u0301\u0308\u0323\u0327\u0345\u0653\u3099"
"""Marks of several combining classes."""


def expected(text: str) -> str:
    """docs/key-rule-definitions.md, by another implementation."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).strip(WHITE).casefold())


def test_text_is_what_pythons_unicode_says() -> None:
    # What a later version of Unicode has assigned is not in Python's tables.
    known = [chr(c) for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
    given = [f"a{c}b" for c in known]
    given += [unicodedata.normalize("NFD", c) for c in known if unicodedata.decomposition(c)]
    # Every base that composes with a mark, with marks in the wrong order.
    bases = sorted(
        {unicodedata.normalize("NFD", c)[0] for c in known if unicodedata.decomposition(c)[:1] not in ("", "<")}
    )
    given += [base + one + other for base in bases for one in MARKS for other in MARKS]
    given += [f"{space}x{c}{space}" for space in WHITE for c in "Åß\u0130"]
    wanted = [expected(text) for text in given]
    batch = pa.RecordBatch.from_pydict({"given": given, "wanted": wanted})
    digests = [parts.digests(batch, key, on_null="skip").digests for key in ("given:text", "wanted:raw")]
    wrong = [text for text, one, other in zip(given, *digests) if one != other]
    assert len(given) > 150_000 and not wrong, [ascii(text) for text in wrong[:20]]
