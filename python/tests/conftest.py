"""What the tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

import vesica


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    """Two identities in files; each role's public key."""
    return {role: vesica.keygen(tmp_path / f"{role}.pem") for role in ("receiver", "sender")}
