"""A party whose table is a Spark DataFrame: each part of the run is a task of the cluster.

    import vesica.spark

    matched = vesica.spark.receive(df, key="Email:email", via="relay.example.com:7401", via_key="vesica-pub1-…",
                                   peer="vesica-pub1-…", workdir="s3a://bucket/vesica/run-1")

The partner is a cluster, too, or the program, or plain Python. ``docs/spark.md`` is the guide. What a run does:

1. Probe: a small job finds out whether executors have this version of Vesica and reach the partner.
2. Count: a job makes digests of the keys, and counts the different ones.
3. The driver meets the partner. Identity and connection stay with it; tasks get keys that end with the run.
4. Parts: partition i of a job holds the items of part i, and its task plays that part with the partner. What it found goes
   to ``workdir`` before anything reads it.
5. Rounds: the driver compares receipts with the partner; parts that are missing are played again.
6. Rows: after both sides have confirmed the run, the DataFrame is joined with the items that matched.
"""

from __future__ import annotations

import json
import secrets
import sys
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import __version__, _internal
from ._options import READ
from ._report import Report
from ._run_file import specs_of
from .errors import InputError, InternalError, OutputError, PartnerError, usage

try:
    from pyspark.sql import functions as F
except ImportError as missing:
    raise ImportError(
        "vesica.spark needs PySpark 3.5 or later, which `pip install vesica` does not install: `pip install pyspark`, or "
        "call it where Spark runs"
    ) from missing

from . import _spark_tasks as tasks
from ._spark_cluster import Store, failed, first_line, output_exists, watched
from ._spark_plan import Requirements, requirements, worker_misses
from ._spark_slots import slots as slots_of
from .parts import Job

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import PartyOptions

__all__ = ["Requirements", "receive", "requirements", "send"]

Keys = str | Sequence[str]
Play = Literal["executors", "driver"]

_PROBE_SECONDS = 10.0
_PROBES = 8
"""At most so many tasks probe: an executor or two show what all have, and the partner reports each as a stranger."""
_PYTHON = (
    f"set PYSPARK_PYTHON or `spark.pyspark.python` to a Python that has pyarrow and Vesica, for workers on this machine the "
    f"driver's, `{sys.executable}` (docs/spark.md says how for a cluster)"
)
_GROUPS = 200
"""Groups of keys to be counted, where ``spark.sql.shuffle.partitions`` is no number."""
_MOST_GROUPS = 1 << 16
_ABSENT = {
    "listen": "give `via`, or `connect` and let the partner listen: executors only connect out",
    "output": "give it to `receive`",
    "row_numbers": "rows of a DataFrame have no numbers; leave it out",
    "threads": "a part has `spark.task.cpus` threads; set that",
    **dict.fromkeys(READ, "Spark reads the table; leave it out"),
}


def receive(
    df: Any,
    *,
    key: Keys | None = None,
    workdir: str,
    play: Play = "executors",
    slots: int | None = None,
    output: str | None = None,
    **options: Unpack[PartyOptions],
) -> Any:
    """Find the rows of a DataFrame whose keys are in the partner's table.

    Args:
        df: The DataFrame. It is read three times, twice of these its key columns alone, so it should be a stored table, or
            persisted. If its keys differ between the first two times, the run fails; the third time, when the matching rows
            are read, is not compared with them.
        key: ``"COLUMN"`` or ``"COLUMN:RULE"``; a list of them for a composite key. Or ``match`` in its place, for several keys
            in order: a row matches by the first rule that hits, and column ``matched_by`` says which.
        workdir: A directory that the driver and all executors reach, one for each run.
        play: Where parts are played. ``"driver"`` is for clusters whose executors must not connect out.
        slots: Parts that run at once; by default the default parallelism divided by ``spark.task.cpus``. Spark Connect does
            not tell it, so it must be given there.
        output: A table, or a path (with a ``/``) for Parquet. The rows are written there, and ``workdir`` is emptied.
        **options: Those of :func:`vesica.receive` about the partner, the terms and the limits.

    Returns:
        A DataFrame of the matching rows, with all columns. It is lazy and reads ``workdir``, which has to stay until the
        rows have been used; not so with ``output``.

    Raises:
        VesicaError: One class for each kind of failure. An exception of Spark itself is passed on.
    """
    run = _Run("receiver", df, key, workdir, play, slots, output, dict(options))
    return run.play()[1]


def send(
    df: Any,
    *,
    key: Keys | None = None,
    workdir: str,
    play: Play = "executors",
    slots: int | None = None,
    output: str | None = None,
    **options: Unpack[PartyOptions],
) -> Report:
    """Let the partner find the rows of its table whose keys are in a DataFrame.

    Arguments are those of :func:`receive`; ``output`` is for ``learns="both"``.

    Returns:
        The report of the run. With ``learns="both"`` its ``result`` is a DataFrame of my matching rows.

    Raises:
        VesicaError: One class for each kind of failure. An exception of Spark itself is passed on.
    """
    if output is not None and options.get("learns") != "both":
        raise usage("the sender learns no rows", 'leave out output, or agree on learns="both"')
    report, rows = _Run("sender", df, key, workdir, play, slots, output, dict(options)).play()
    report.result = rows
    return report


class _Counted(NamedTuple):
    """What the count job found in the table."""

    rows: int
    keys: int
    """All of them, the same ones too."""
    nulls: int
    invalid: int
    items: int
    """Different keys."""
    sum: int
    """The sum of their fingerprints, modulo 2^64."""


class _Found(NamedTuple):
    """What the parts job found: where matched items are, and which receipts count."""

    paths: list[str]
    receipts: list[bytes]
    items_key: bytes
    item_bytes: int


class _Run:
    """One run of one side."""

    def __init__(
        self,
        role: Literal["receiver", "sender"],
        df: Any,
        key: Keys | None,
        workdir: str,
        play: Play,
        slots: int | None,
        output: str | None,
        options: dict[str, Any],
    ) -> None:
        _checked(options, play)
        self.role, self.df, self.spark = role, df, df.sparkSession
        self.keys = {"key": key, "match": options.pop("match", None)}
        self.store, self.on_driver, self.options = Store(df.sparkSession, workdir), play == "driver", options
        self.output = output
        self.task_cpus = int(self.spark.conf.get("spark.task.cpus", "1"))
        self.slots = self._slots(slots)
        self.application_key = secrets.token_bytes(32)
        # Names may repeat, or have dots, so columns go by number.
        self.plain = df.toDF(*(f"c{place}" for place in range(len(df.columns))))
        self.key = self._key_columns()
        self._warn()

    # Before the partner is met.

    def _conf(self, name: str, otherwise: str = "false") -> str:
        return str(self.spark.conf.get(name, otherwise))

    def _slots(self, given: int | None) -> int:
        if given is not None:
            return max(given, 1)
        if self._connected():
            raise usage("Spark Connect does not tell how many tasks run at once", "give slots")
        return max(int(self.spark.sparkContext.defaultParallelism) // self.task_cpus, 1)

    def _connected(self) -> bool:
        """Whether the session is one of Spark Connect."""
        return type(self.spark).__module__.startswith("pyspark.sql.connect")

    def _key_columns(self) -> tasks.KeyColumns:
        specs, columns = specs_of(**self.keys), list(self.df.columns)
        # A column may be in several keys.
        names = list(dict.fromkeys(_internal.key_columns(specs)))
        for name in names:
            if columns.count(name) != 1:
                how = "has no column" if name not in columns else "has more than one column"
                raise _input(f"the DataFrame {how} {name!r}", f"its columns are {', '.join(map(str, columns))}", "read")
        given = ("security", "level", "on_null", "on_invalid")
        options = {name: self.options[name] for name in given if self.options.get(name) is not None}
        places, rules = [columns.index(name) for name in names], _internal.rules(specs, self.role)
        if self.options.get("on_duplicates") == "error" and len(rules) > len(_internal.rules(specs, "sender")):
            # As the library refuses it: a row may have another one's key by a variant alone.
            raise usage("rows may have the same key by a variant (`~`) alone", "leave out on_duplicates, or the `~`")
        return tasks.KeyColumns(names, places, rules, {**self.keys, "role": self.role, **options})

    def _warn(self) -> None:
        local = self._conf("spark.master", "").startswith("local[")
        private = ("spark.network.crypto.enabled", "spark.ssl.rpc.enabled")
        if not local and not any(self._conf(name) == "true" for name in private):
            warnings.warn(
                "Spark's connections are not encrypted (spark.network.crypto.enabled): whoever reads the cluster's network "
                "reads the shuffles of this table, and the keys of this run",
                stacklevel=5,
            )
        if not local and self._conf("spark.io.encryption.enabled") != "true":
            warnings.warn(
                "what Spark writes to its executors' disks is not encrypted (spark.io.encryption.enabled): whoever reads "
                "spark.local.dir, or a disk that is thrown away, reads keyed digests of this table's keys, and the partner "
                "can test guesses with them",
                stacklevel=5,
            )
        if self._conf("spark.speculation") == "true":
            warnings.warn(
                "spark.speculation is on: a second copy of a task may play a part once more, of which a run allows few",
                stacklevel=5,
            )

    def probe(self) -> None:
        """Versions, addresses, ``workdir`` and ``output``, before anything long."""
        if self.output is not None and output_exists(self.spark, self.output):
            raise usage(f"{self.output}: there is something already", "name another output, or remove it")
        if self.store.rows(f"{self.store.folder}/probe", tasks.PROBED):
            remedy = "give a directory of its own for each run, or empty it"
            raise usage(f"{self.store.folder}: holds a run already", remedy)
        given = self.options.get("via") or self.options.get("connect") or []
        addresses = [] if self.on_driver else [given] if isinstance(given, str) else list(given)
        count = min(self.slots, _PROBES)
        probing = self.spark.range(0, count, 1, count).mapInArrow(tasks.probe(addresses, _PROBE_SECONDS), tasks.PROBED)
        try:
            path = self.store.path("probe")
            self.store.write(probing, path)
            found = self.store.rows(path, tasks.PROBED)
        except Exception as error:
            if (missing := worker_misses(error)) is not None:
                raise usage(
                    f"the Python of Spark's workers{self._workers_python()} cannot be used: {missing}", _PYTHON
                ) from error
            message = f"{self.store.folder}: cannot be written: {first_line(error)}"
            raise failed(OutputError, message, "give a workdir that all executors can write") from error
        if len(found) != count:
            message = f"{self.store.folder}: what executors write is not there for the driver"
            raise failed(OutputError, message, "give a workdir that the driver and all executors reach")
        for row in found:
            if row.version != __version__:
                have = f"Vesica {row.version}" if row.version else "no Vesica that can be imported"
                message = f"the executor on {row.host} has {have} ({row.failed}); the driver has {__version__}"
                raise usage(message, "install the same version on the cluster (docs/spark.md says how)")
            if row.failed:
                remedy = 'open the way for executors, use a relay, or give play="driver"'
                raise failed(PartnerError, f"the executor on {row.host} cannot reach {row.failed}", remedy)

    def _workers_python(self) -> str:
        """The interpreter of the workers, where the driver knows it."""
        name = None if self._connected() else getattr(self.spark.sparkContext, "pythonExec", None)
        return f" (`{name}`)" if name else ""

    def _groups(self) -> int:
        """Into how many groups keys are counted: one for each task behind a shuffle."""
        # Spark refuses a default that is no number.
        given = self._conf("spark.sql.shuffle.partitions", str(_GROUPS))
        return min(max(int(given), 1), _MOST_GROUPS) if given.isdigit() else _GROUPS

    def count(self) -> _Counted:
        """Rows, nulls and invalid keys; the number of different keys and the sum of their fingerprints."""
        key, application_key, groups = self.key, self.application_key, self._groups()
        slots = tasks.lookup(groups, dict(enumerate(slots_of(groups))))
        marked = self._keys().mapInArrow(lambda batches: tasks.marks(batches, key, application_key, slots), tasks.MARKS)
        # Without a number of its own, Spark may put several groups into one task.
        counting = marked.repartition("slot").mapInArrow(tasks.count, tasks.COUNTED)
        found = watched(self.spark, lambda: None, counting.collect)
        notes = [json.loads(row.note) for row in found if row.note]
        for note in notes:
            if note["failed"]:
                raise tasks.raised(note["failed"])
        names = ("rows", "keys", "nulls", "invalid")
        rows, keys, nulls, invalid = (sum(note[name] for note in notes) for name in names)
        items, whole = sum(row["items"] for row in found), sum(row["sum"] for row in found)
        counted = _Counted(rows, keys, nulls, invalid, items, whole % 2**64)
        if self.options.get("on_duplicates") == "error" and keys > counted.items:
            raise _input("rows have the same key", 'on_duplicates="all" lets all of them match', "read")
        return counted

    # With the partner.

    def play(self) -> tuple[Report, Any]:
        """The whole run: its report, and the matching rows if this side learns them."""
        job = None
        try:
            self.probe()
            counted = self.count()
            job = Job.open(
                self.role, counted.items, **self.keys, slots=self.slots, threads=self.task_cpus,
                rows=counted.rows, nulls=counted.nulls, invalid=counted.invalid, **self.options,
            )  # fmt: skip
            found = self._rounds(job, counted)
            report = job.finish()
        except BaseException:
            if job is not None:
                job.close()
            self.store.empty()
            raise
        if job.learns:
            return report, self._delivered(found)
        self.store.empty()
        return report, None

    def _rounds(self, job: Job, counted: _Counted) -> _Found:
        items = None
        held: dict[tuple[int, bytes], tuple[int, int]] = {}
        paths: list[str] = []
        chosen: list[tuple[int, bytes]] = []
        while (ticket := job.round()) is not None:
            # A round of a few parts only: both sides are clusters, and there are many rounds.
            if items is None and (self.on_driver or (not paths and len(ticket.parts) < job.count)):
                items = self._stored_items(job)
            play = self._play_here if self.on_driver else self._play_there
            played = play(job, ticket, items)
            rows = self._receipts(played)
            paths += played
            held.update({(row.part, bytes(row.receipt or b"")): (row.distinct, row.sum) for row in rows})
            receipts = [(row.part, bytes(row.receipt), row.matches) for row in rows if row.receipt is not None]
            attempts = [(row.part, row.attempts) for row in rows if row.attempts is not None]
            chosen = job.ended(receipts, attempts, [row.failed for row in rows if row.failed])
        _same_table(counted, [held.get(one) for one in chosen], job.count)
        return _Found(paths, [receipt for _, receipt in chosen], job.items_key, job.digest_bytes)

    def _split(self, job: Job) -> Callable[[Any], Any]:
        # The count job has told of invalid keys; if there are more of them now, the table has changed.
        options = {**self.key.options, "on_invalid": "skip", "on_null": "skip"}
        key, own, items_key, count = self.key._replace(options=options), self.application_key, job.items_key, job.count
        return lambda batches: tasks.split(batches, key, own, items_key, count)

    def _stored_items(self, job: Job) -> Any:
        """The items of all parts, written to ``workdir`` once."""
        path = self.store.path("items")
        items = self._keys().mapInArrow(self._split(job), tasks.ITEMS)
        spread = items.repartition(job.count, "part")
        watched(self.spark, job.check, lambda: self.store.write(spread, path, "part"))
        return self.store.read(path, tasks.ITEMS).select("part", "items", "fingerprints")

    def _play_there(self, job: Job, ticket: Any, items: Any) -> list[str]:
        """Play these parts on the executors: partition i of the job holds the i-th of them."""
        played, by_number = list(ticket.parts), hasattr(self.plain, "repartitionById")
        numbers = range(len(played)) if by_number else slots_of(len(played))
        lookup = tasks.lookup(job.count, dict(zip(played, numbers)))
        if items is None:
            split = self._split(job)
            placed = self._keys().mapInArrow(lambda batches: tasks.place(split(batches), lookup), tasks.PLACED)
        else:
            items = items.where(F.col("part").isin(played))
            placed = items.mapInArrow(lambda batches: tasks.place(batches, lookup), tasks.PLACED)
        # Spark 3.5 starts no tasks at all behind a shuffle without rows. The task leaves this row out.
        placed = placed.union(self.spark.createDataFrame([(numbers[0], played[0], None, None)], tasks.PLACED))
        if by_number:
            placed = placed.repartitionById(len(played), F.col("slot"))
        else:
            placed = placed.repartition(len(played), "slot")
        found = placed.mapInArrow(lambda batches: tasks.play(batches, ticket, played), tasks.FOUND)
        path = self.store.path(f"round={ticket.round}")
        watched(self.spark, job.check, lambda: self.store.write(found, path))
        return [path]

    def _play_here(self, job: Job, ticket: Any, items: Any) -> list[str]:
        """Play these parts in this process, several at once."""
        cancel = _internal.CancelToken()

        def played(part: int) -> str:
            mine = tasks.arrow(items.where(F.col("part") == part))
            found = tasks.play_here(mine, ticket.of(part), cancel)
            path = self.store.path(f"round={ticket.round}", f"part={part}")
            self.store.write(tasks.frame(self.spark, found), path)
            return path

        def all_of_them() -> list[str]:
            with ThreadPoolExecutor(self.slots) as threads:
                return list(threads.map(played, ticket.parts))

        try:
            return list(watched(self.spark, job.check, all_of_them))
        except BaseException:
            cancel.cancel()
            raise

    def _receipts(self, paths: list[str]) -> list[Any]:
        """What tasks said of their parts: the rows that Spark has committed. Only they have attempts, and so the items need
        not be read."""
        return list(self.store.read(paths, tasks.FOUND).drop("item").where("attempts is not null").collect())

    def _keys(self) -> Any:
        return self.plain.select(*(f"c{place}" for place in self.key.places))

    def _delivered(self, found: _Found) -> Any:
        """The matching rows; stored, if there is an output."""
        rows, output = self._matching(found), self.output
        if output is None:
            return rows
        is_path = "/" in output
        try:
            rows.write.parquet(output) if is_path else rows.write.saveAsTable(output)
        except Exception as error:
            remedy = f"both sides have confirmed the run: what it found is still in {self.store.folder}"
            raise failed(OutputError, f"{output}: {first_line(error)}", remedy, "write") from error
        self.store.empty()
        return self.spark.read.parquet(output) if is_path else self.spark.table(output)

    def _matching(self, found: _Found) -> Any:
        key, items_key, width = self.key, found.items_key, found.item_bytes
        chosen = self.spark.createDataFrame([(bytearray(receipt),) for receipt in found.receipts], "receipt binary")
        matched = self.store.read(found.paths, tasks.FOUND).where("item is not null")
        matched = matched.join(F.broadcast(chosen), "receipt", "left_semi").select("item")
        halves = matched.mapInArrow(lambda batches: tasks.halves(batches, width), tasks.HALVES)
        schema = tasks.with_halves(self.plain.schema, len(key.rules))
        rows = self.plain.mapInArrow(lambda batches: tasks.halves_of_rows(batches, key, items_key, width), schema)

        def same(rule: int) -> Any:
            # Spark sorts by one long far quicker than by two. The second one is hidden in a condition that cannot be sorted by.
            second = F.col(f"second{rule}").bitwiseXOR(F.col("matched_second")) == F.lit(0)
            return (F.col(f"first{rule}") == F.col("matched_first")) & second

        if len(key.rules) == 1:
            return rows.join(halves, same(0), "left_semi").select(*self.plain.columns).toDF(*self.df.columns)
        # A row must not come twice, whatever happened to tasks.
        halves = halves.dropDuplicates()
        for rule in range(len(key.rules)):
            rows = rows.join(halves, same(rule), "left").withColumnRenamed("matched_first", f"hit{rule}")
            rows = rows.drop("matched_second")
        named = zip(key.rules, range(len(key.rules)))
        first = F.coalesce(*(F.when(F.col(f"hit{rule}").isNotNull(), F.lit(name)) for name, rule in named))
        rows = rows.withColumn("rule", first).where("rule is not null")
        return rows.select(*self.plain.columns, "rule").toDF(*self.df.columns, self._matched_by())

    def _matched_by(self) -> str:
        """The name of the column that says by which rule a row matches: one that no other column has."""
        names = ("matched_by", *(f"matched_by_{number}" for number in range(2, len(self.df.columns) + 3)))
        return next(name for name in names if name not in self.df.columns)


def _checked(options: dict[str, Any], play: str) -> None:
    """Refuse what a DataFrame cannot have, before anything long."""
    if play not in ("executors", "driver"):
        raise usage(f"play={play!r} is neither 'executors' nor 'driver'", "give one of the two")
    for name, remedy in _ABSENT.items():
        if options.pop(name, None) is not None:
            raise usage(f"a run on Spark has no option {name}", remedy)
    if options.get("on_duplicates") == "first":
        raise usage("rows of a DataFrame have no order, so none is the first", 'give on_duplicates="all" or "error"')


def _input(message: str, remedy: str, phase: str) -> InputError:
    return failed(InputError, message, remedy, phase)  # type: ignore[no-any-return]


def _same_table(counted: _Counted, played: Sequence[tuple[int, int] | None], parts: int) -> None:
    """The parts together must hold the keys that were counted."""
    if len(played) != parts or any(part is None for part in played):
        raise InternalError(f"{parts} parts, and receipts of {len(played)}")
    sums = [part for part in played if part is not None]
    distinct, whole = sum(part[0] for part in sums), sum(part[1] for part in sums) % 2**64
    if (distinct, whole) != (counted.items, counted.sum):
        message = f"the DataFrame has changed: {counted.items} different keys were counted, and {distinct} were played"
        raise _input(message, "give a stored table, or persist the DataFrame before the run", "parts")
