"""Jobs of a run end when the run does."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from vesica._spark_cluster import watched


def test_jobs_are_cancelled_with_their_tasks(spark: Any, tmp_path: Path) -> None:
    def slow(batches: Any) -> Any:
        import time

        for batch in batches:
            time.sleep(200)
            yield batch

    began = time.monotonic()

    def check() -> None:
        if time.monotonic() > began + 15:
            raise KeyError("the partner is gone")

    frame = spark.range(0, 2, 1, 2).mapInArrow(slow, "id long")
    with pytest.raises(KeyError):
        watched(spark, check, lambda: frame.write.parquet(str(tmp_path / "slow")))
    # All executors are free again.
    assert spark.range(0, 4, 1, 4).count() == 4
    assert time.monotonic() < began + 120
