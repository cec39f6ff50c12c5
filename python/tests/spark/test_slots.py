"""Partition i holds exactly part i, and is played though it is empty, as long as another one is not; Spark's hash as we compute it."""

from __future__ import annotations

from typing import Any

import pytest

from vesica._spark_plan import bound, requirements
from vesica._spark_slots import murmur3, slots


def test_the_hash_is_that_of_spark(spark: Any) -> None:
    values = [0, 1, 7, -1, -5, 123456789, 2**31 - 1, -(2**31), *slots(64)]
    row = spark.sql("select " + ", ".join(f"hash(cast({value} as int))" for value in values)).collect()[0]
    assert list(row) == [murmur3(value) for value in values]


@pytest.mark.parametrize("count", [1, 2, 3, 8, 1000])
def test_each_partition_has_a_slot(count: int) -> None:
    assert [murmur3(slot) % count for slot in slots(count)] == list(range(count))


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_partition_i_holds_part_i(spark: Any, adaptive: str) -> None:
    import pyarrow
    from pyspark.sql import functions as F

    def seen(batches: Any) -> Any:
        from pyspark import TaskContext

        parts = sorted({part for batch in batches for part in batch.column("part").to_pylist()})
        here = pyarrow.array([TaskContext.get().partitionId()], pyarrow.int32())
        yield pyarrow.RecordBatch.from_arrays(
            [here, pyarrow.array([parts], pyarrow.list_(pyarrow.int32()))], ["here", "parts"]
        )

    before = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        for wanted in (list(range(9)), [2, 5]):
            frame = (
                spark.range(900)
                .select((F.col("id") % 9).cast("int").alias("part"))
                .where(F.col("part").isin([*wanted, -1]))
            )
            placed = [
                frame.withColumn("slot", F.element_at(F.array(*map(F.lit, slots(9))), F.col("part") + 1)).repartition(
                    9, "slot"
                )
            ]
            if hasattr(frame, "repartitionById"):
                placed.append(frame.repartitionById(9, F.col("part")))
            for one in placed:
                rows = one.mapInArrow(seen, "here int, parts array<int>").collect()
                assert sorted((row.here, row.parts) for row in rows) == [
                    (i, [i] if i in wanted else []) for i in range(9)
                ]
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", before)


@pytest.mark.parametrize(
    ("items", "parts", "most"),
    [
        (2**20, 4, 266_120),
        (2**24, 16, 1_056_780),
        (2**28, 1024, 266_501),
        (2**30, 1024, 1_057_277),
        (2**32, 4096, 1_057_398),
    ],
)
def test_the_bound_is_that_of_the_program(items: int, parts: int, most: int) -> None:
    assert bound(items, parts) == most


def test_requirements() -> None:
    needed = requirements(2**30, 2**28, cores=4)
    assert (needed.parts, needed.part_items, needed.slots) == (1024, 1_057_277, 4)
    assert (needed.shuffle_partitions, requirements(10, 10).shuffle_partitions) == (1024, 200)
    assert requirements(10, 10).parts == 2 and requirements(10, 10, parts=64).parts == 64
    assert requirements(2**30, 2**30, cores=4, task_cpus=2).memory_overhead * 2 == needed.memory_overhead
    assert "spark.executor.memoryOverhead      2120m" in str(needed)
