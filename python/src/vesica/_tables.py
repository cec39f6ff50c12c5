"""Tables of every kind, in and out.

Rust takes a path, a file object, or an object with the Arrow PyCapsule interface. The result is of the kind of the input. From a pandas or
Polars frame only the key columns are converted; its result is the frame indexed by the row numbers. Other tables give all
their columns as record batches, which are not copied, and get back the matching rows.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from . import _internal
from ._options import READ
from .errors import usage

__all__ = ["Adapter", "adapt", "added", "is_file", "row_numbers"]


class Adapter(NamedTuple):
    """How a table is passed to Rust, and how its matching rows come back."""

    given: dict[str, Any]
    """What Rust takes."""
    taken: Callable[[_internal.Outcome], Any]
    """Turns an outcome into the rows."""


def row_numbers(outcome: _internal.Outcome) -> array[int]:
    """The numbers of the matching rows, counted from 0."""
    rows = array("Q")
    rows.frombytes(outcome.rows or b"")
    return rows


def added(outcome: _internal.Outcome, columns: Sequence[Any]) -> dict[str, Sequence[str | None] | array[int]]:
    """The sender's columns, the rules and the match numbers, if they were agreed, under names that no column has."""
    new: dict[str, Sequence[str | None] | array[int]] = {}

    def add(name: str, ending: str, values: Sequence[str | None] | array[int]) -> None:
        marked = name + ending
        names = [name, marked, *(f"{marked}_{number}" for number in range(2, len(columns) + len(new) + 3))]
        new[next(name for name in names if name not in columns and name not in new)] = values

    for name, texts in outcome.payload or []:
        add(name, "_partner", texts)
    if outcome.matched_by is not None:
        add("matched_by", "", outcome.matched_by)
    if outcome.numbers is not None:
        numbers = array("q")
        numbers.frombytes(outcome.numbers)
        add("match_id", "", numbers)
    return new


def _given(
    table: Any, name: str, *, stream: bool = False, file: bool = False, batches: bool = False, output: Any = None
) -> dict[str, Any]:
    output = None if output is None else os.fspath(output)
    kind = {"stream": stream, "file": file, "behind": _behind(table) if file else None, "batches": batches}
    return {"table": table, "name": name, **kind, "output": output, "read": READ}


def _behind(table: Any) -> str | None:
    """The path of the file that a file object reads, if there is one."""
    name = getattr(table, "name", None)
    try:
        number = table.fileno()
    except (AttributeError, OSError, ValueError):
        return None
    path = f"/dev/fd/{number}"
    return path if os.path.exists(path) else name if isinstance(name, str) else None


def _place(output: Any) -> Any:
    """Where the rows are: a path, or the address of an object as it was given."""
    return output if "://" in os.fspath(output) else Path(output)


def adapt(
    table: Any,
    columns: Sequence[str],
    output: Any,
    numbers: bool,
    learns: bool,
    read: dict[str, Any] = READ,
    answer: Callable[[_internal.Outcome], Any] | None = None,
) -> Adapter:
    """The adapter of this table, of which these columns are needed.

    ``output`` is a file for the rows, ``numbers`` asks for their numbers, ``learns`` says whether this side learns the rows,
    and ``read`` how a text file is read. ``answer`` takes a result that is not rows.
    """
    if answer is not None:
        return adapt(table, columns, output, output is None, False, read)._replace(taken=answer)
    if output is not None and numbers:
        raise usage("the rows can go to a file or come as numbers, not both", "leave out output or row_numbers")
    if is_file(table):
        adapter = _file(table, output, numbers, learns)
        adapter.given["read"] = read
        return adapter
    kind = type(table)
    library = kind.__module__.split(".")[0].lstrip("_")
    name = f"{library}.{kind.__name__}"
    if kind.__name__ == "Series":
        raise usage(f"{name}: is one column, not a table", "give a table: `series.to_frame()` makes one")
    if output is not None:
        given = _given(_arrow(table, name), name, stream=_is_stream(library, kind.__name__), output=output)
        return Adapter(given, lambda _: _place(output))
    if library == "pandas" and kind.__name__ == "DataFrame":
        adapter = _pandas(table, columns, name)
    elif library == "polars" and kind.__name__ in ("DataFrame", "LazyFrame"):
        adapter = _polars(table, columns, name)
    else:
        adapter = _batches(table, library, name, learns and not numbers)
    return adapter._replace(taken=row_numbers) if numbers else adapter


def is_file(table: Any) -> bool:
    """Whether it is a path, an address, or a file object that was opened for bytes, such as those of fsspec."""
    is_path = isinstance(table, (str, os.PathLike))
    return is_path or (hasattr(table, "read") and not hasattr(table, "__arrow_c_stream__"))


def _file(table: Any, output: Any, numbers: bool, learns: bool) -> Adapter:
    if isinstance(table, (str, os.PathLike)):
        path = os.fspath(table)
        given = _given(path, path, output=output)
    else:
        name = getattr(table, "name", None) or getattr(table, "path", None)
        name = name if isinstance(name, str) else f"the {type(table).__name__}"
        given = _given(table, name, file=True, output=output)
    if output is None and learns and not numbers:
        raise usage("the rows of a file go to a file", "name one with output, or give row_numbers=True")
    return Adapter(given, row_numbers if numbers else lambda _: _place(output))


def _arrow(table: Any, name: str) -> Any:
    """The object itself, if it is a table."""
    if type(table).__module__.startswith("polars") and hasattr(table, "collect"):
        return table.collect()
    if not hasattr(table, "__arrow_c_stream__"):
        raise usage(
            f"{name}: is neither a path nor a table with the Arrow PyCapsule interface",
            "give a path, a file opened with mode rb, or a table of pyarrow, pandas, Polars or DuckDB",
        )
    return table


def _is_stream(library: str, kind: str) -> bool:
    """Whether the rows can be read only once, and may be more than fit into memory."""
    return library in ("duckdb", "adbc_driver_manager") or kind == "RecordBatchReader"


def _all_there(columns: Sequence[str], names: Sequence[Any]) -> bool:
    return all(names.count(column) == 1 for column in columns)


def _pandas(table: Any, columns: Sequence[str], name: str) -> Adapter:
    import pandas

    # A label may be anything, such as a number; it is named by its text, as in Arrow.
    names = [str(label) for label in table.columns]
    levels = [str(level) for level in table.index.names if level is not None]
    hidden = [level for level in levels if level in columns and level not in names]
    if hidden:
        raise usage(f"{name}: `{hidden[0]}` is the index, not a column", "call `reset_index()` first")
    if _all_there(columns, names):
        needed = list(dict.fromkeys(columns))
        keys = table.iloc[:, [names.index(column) for column in needed]].set_axis(needed, axis=1).reset_index(drop=True)
    else:
        # Rust finds the same column missing or repeated, and says so. For that the names are enough.
        import pyarrow

        keys = pyarrow.table([pyarrow.nulls(0)] * len(names), names=names)

    def taken(outcome: _internal.Outcome) -> Any:
        found = table.iloc[row_numbers(outcome)]
        new = added(outcome, names)
        columns = {
            name: values if isinstance(values, array) else pandas.array(values, dtype="string")
            for name, values in new.items()
        }
        return found.assign(**columns) if columns else found

    return Adapter(_given(keys, name), taken)


def _polars(table: Any, columns: Sequence[str], name: str) -> Adapter:
    import polars

    lazy = isinstance(table, polars.LazyFrame)
    frame = table.collect() if lazy else table
    keys = frame.select(list(dict.fromkeys(columns))) if _all_there(columns, frame.columns) else frame.head(0)

    def taken(outcome: _internal.Outcome) -> Any:
        found = frame[polars.Series(row_numbers(outcome), dtype=polars.UInt64)]
        for name, values in added(outcome, frame.columns).items():
            kind = polars.Int64 if isinstance(values, array) else polars.String
            found = found.with_columns(polars.Series(name, values, dtype=kind))
        return found.lazy() if lazy else found

    return Adapter(_given(keys, name), taken)


def _batches(table: Any, library: str, name: str, wanted: bool) -> Adapter:
    kind = type(table).__name__
    given = _given(_arrow(table, name), name, stream=_is_stream(library, kind), batches=wanted)

    def taken(outcome: _internal.Outcome) -> Any:
        return _rebuild(outcome.batches, library, kind)

    return Adapter(given, taken)


def _rebuild(batches: Any, library: str, kind: str) -> Any:
    """Record batches as the kind of the input; as a pyarrow table if the kind is not known."""
    try:
        import pyarrow
    except ImportError:
        return batches
    reader = pyarrow.RecordBatchReader.from_stream(batches)
    if library == "pyarrow" and kind == "RecordBatchReader":
        return reader
    # (`pyarrow.table` would import pandas first.)
    table = reader.read_all()
    if library == "pyarrow" and kind == "RecordBatch":
        whole = table.combine_chunks().to_batches()
        return whole[0] if whole else pyarrow.RecordBatch.from_pylist([], schema=table.schema)
    if library == "duckdb":
        import duckdb

        return duckdb.from_arrow(table)
    return table
