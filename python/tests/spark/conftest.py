"""One Spark session for all tests: two executors, each a process of its own with one core."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
# `make python-test` has no Spark; `make test-spark` has.
collect_ignore_glob = [] if importlib.util.find_spec("pyspark") else ["test_*.py"]


@pytest.fixture(scope="session")
def misfortunes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where tests order what happens to tasks (hooks/sitecustomize.py)."""
    return tmp_path_factory.mktemp("misfortunes")


@pytest.fixture(scope="session")
def spark(misfortunes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from party_on_spark import session

    made = session("local-cluster[2,1,1024]", tmp_path_factory.mktemp("spark"), misfortunes)
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def fortune(misfortunes: Path) -> Iterator[None]:
    """No test's misfortunes reach another one."""
    yield
    for file in misfortunes.iterdir():
        file.unlink()


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    """Two identities in files; each role's public key."""
    import vesica

    return {role: vesica.keygen(tmp_path / f"{role}.pem") for role in ("receiver", "sender")}


os.environ["PYSPARK_PYTHON"] = sys.executable
