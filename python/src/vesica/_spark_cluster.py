"""What a run asks of the cluster besides DataFrames: a directory, and jobs that end when the run does."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable
from typing import Any

import pyspark

from .errors import OutputError

__all__ = ["Store", "failed", "first_line", "log", "output_exists", "watched"]

log = logging.getLogger("vesica")

_POLL = 0.2
_CANCEL_SECONDS = 10.0


def failed(kind: type[Any], message: str, remedy: str, phase: str = "prepare") -> Any:
    """An error of this side, in the form of all errors."""
    text = f"{message}\n  where: on this side, phase {phase}\n  what to do: {remedy}"
    return kind(text, message=message, remedy=remedy, phase=phase)


def first_line(error: BaseException) -> str:
    """Spark's errors are pages long."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]


class Store:
    """A run's directory. There are only DataFrames to work with, so files cannot be listed or deleted."""

    def __init__(self, spark: Any, folder: str) -> None:
        self._spark = spark
        self.folder = folder.rstrip("/")
        self._written: dict[str, None] = {}

    def path(self, name: str, *below: str) -> str:
        """A path in the directory; from now on it is known as one of this run."""
        self._written[name] = None
        return "/".join([self.folder, name, *below])

    def write(self, frame: Any, path: str, *by: str) -> None:
        """Write a DataFrame, in folders by these columns."""
        frame.write.mode("overwrite").parquet(path, partitionBy=list(by) or None)

    def read(self, paths: str | list[str], schema: str) -> Any:
        """What is stored there."""
        return self._spark.read.schema(schema).parquet(*([paths] if isinstance(paths, str) else paths))

    def rows(self, path: str, schema: str) -> list[Any]:
        """The rows that are stored there; none if nothing is there."""
        try:
            return list(self.read(path, schema).collect())
        except Exception as error:
            if "PATH_NOT_FOUND" in str(error) or "does not exist" in str(error):
                return []
            raise failed(OutputError, f"{path}: {first_line(error)}", "give another workdir") from error

    def empty(self) -> None:
        """Replace all that this run has written with nothing."""
        for name in self._written:
            try:
                self.write(self._spark.createDataFrame([], "nothing string"), f"{self.folder}/{name}")
            except Exception as error:
                log.warning("%s/%s: could not be emptied: %s", self.folder, name, first_line(error))
        self._written.clear()


def output_exists(spark: Any, output: str) -> bool:
    """Whether there is a table of that name already, or something at that path."""
    if "/" not in output:
        return bool(spark.catalog.tableExists(output))
    try:
        spark.read.parquet(output).schema  # noqa: B018 (under Connect, the schema is what asks)
    except Exception as error:
        return "PATH_NOT_FOUND" not in str(error)
    return True


def watched(spark: Any, check: Callable[[], None], action: Callable[[], Any]) -> Any:
    """What ``action`` returns. Its jobs are cancelled as soon as ``check`` raises, or with Ctrl-C."""
    tag, ended = f"vesica-{uuid.uuid4()}", threading.Event()
    outcome: list[Any] = []

    def tagged() -> None:
        try:
            _add_tag(spark, tag)
            outcome.append(action())
        except BaseException as error:
            outcome.append(error)
        finally:
            ended.set()

    thread = threading.Thread(target=_inheriting(spark, tagged), name="vesica-spark", daemon=True)
    thread.start()
    try:
        while not ended.wait(_POLL):
            check()
    except BaseException:
        _interrupt(spark, tag)
        thread.join(_CANCEL_SECONDS)
        raise
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def _inheriting(spark: Any, target: Callable[[], None]) -> Any:
    """A thread's target with the caller's local properties, such as its pool. (Before Spark 4 it takes no session.)"""
    if pyspark.__version__.startswith("3.") and hasattr(spark, "_jsparkSession"):
        return pyspark.inheritable_thread_target(target)
    return pyspark.inheritable_thread_target(spark)(target)


def _add_tag(spark: Any, tag: str) -> None:
    """Mark the jobs that this thread starts. (A tag of a classic session is known to the thread that has added it alone; one
    of its context is known to all.)"""
    spark.sparkContext.addJobTag(tag) if hasattr(spark, "_jsparkSession") else spark.addTag(tag)


def _interrupt(spark: Any, tag: str) -> None:
    """End the jobs with that mark."""
    if hasattr(spark, "_jsparkSession"):
        spark.sparkContext.cancelJobsWithTag(tag)
    else:
        spark.interruptTag(tag)
