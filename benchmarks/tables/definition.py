"""A definition: one table or figure as data. Columns by rows, each cell with the paper's own figure.

```toml
title = "Communication for equal sizes"
source = "PSSZ15 Table 8"
setting = "two PCs, Intel Core i7-4770K, Gigabit LAN"
measure = "traffic"                     # time, cpu, traffic, memory; or count: parameters, computed and not run
unit = "MB"                             # of the paper's figures: s, ms, min, bytes, KB, MB, GB, MiB, count
notes = ["..."]
plot = { x = "items of each set" }      # drawn, too: a line for each row, with the columns' x
cell = { network = "lan" }              # what all cells have, unless a row or a column says otherwise
columns = [
    { name = "2^8", cell = { receiver = 256, sender = 256 }, quick = true },
    { name = "4 threads", cell = { threads = 4 }, cannot = "two cores" },
]
[[rows]]
name = "OT-Phasing"
cell = { protocol = "ot-phasing", sigma = 32 }
paper = [0.1, "~0.2"]                   # one for each column; nan where the paper has none, "~" where it estimates
only = ["2^8"]                          # the columns that are run, if not all
slow = true                             # the quick profile leaves it out
overrides = { level = 112 }             # what its cells have whatever the column says
[[rows]]
name = "SCS"
awaits = "scs-wn"                       # its `protocol`; run once the registry has one of that name
[[rows]]
name = "GPU"
cannot = "no GPU in this machine"       # a row that is not run says why
paper = [1.0, nan]
```

`rows = "every protocol"` stands for a row for each protocol of the registry.

A column or a row with `phases` shows the sum of these phases' time in place of the whole, of the party that the row
names (`party = "sender"`; the receiver otherwise). In a table that counts, the cells name programs of parameters
(parameters.py).
"""

import math
import tomllib
from dataclasses import dataclass, field
from types import SimpleNamespace

from . import parameters
from .program import BenchError

# Seconds or bytes in one of each unit, and the measures that have it.
UNITS = {
    "ms": (1e-3, ("time", "cpu")),
    "s": (1.0, ("time", "cpu")),
    "min": (60.0, ("time", "cpu")),
    "bytes": (1.0, ("traffic", "memory")),
    "KB": (1e3, ("traffic", "memory")),
    "MB": (1e6, ("traffic", "memory")),
    "MiB": (2.0**20, ("traffic", "memory")),
    "GB": (1e9, ("traffic", "memory")),
    "count": (1.0, ("count",)),
}
MEASURES = ("time", "cpu", "traffic", "memory", "count")

LOOPBACK = "loopback"

# The entries of a definition, of a column and of a row: type, and default if there is one.
NUMBER = (int, float)
TEXTS = "texts"
DEFINITION = {
    "title": (str,), "source": (str,), "setting": (str,), "measure": (str,), "unit": (str,),
    "notes": (TEXTS, []), "plot": (dict, None), "cell": (dict, {}), "columns": (list,), "rows": ((list, str),),
}
PLOT = {"x": (str,)}
COLUMN = {
    "name": (str,), "cell": (dict, {}), "quick": (bool, False), "x": (NUMBER, None), "phases": (TEXTS, []),
    "cannot": (str, None),
}
ROW = {
    "name": (str,), "cell": (dict, {}), "paper": (list, []), "cannot": (str, None), "awaits": (str, None),
    "only": (TEXTS, None), "overrides": (dict, {}), "party": (str, "receiver"), "phases": (TEXTS, []), "slow": (bool, False),
}
NETWORK = {"megabits_per_s": (NUMBER,), "round_trip_ms": (NUMBER,), "source": (str,)}


@dataclass
class Entry:
    """One cell of a table."""

    paper: float | None = None  # the paper's figure, in the table's unit
    estimated: bool = False  # whether the paper itself calls it an estimate, or prints it as "about"
    quick: bool = False  # whether the quick profile runs it
    cell: dict | None = None  # what is run; none if it cannot be
    about: dict | None = None  # what the program says of it
    value: float | None = None  # what is computed, in a table that counts
    cannot: str | None = None  # why it is not run, where the row is


@dataclass
class Row:
    """A row: its entries, one for each column, and why it is not run, if it is not."""

    name: str
    cannot: str | None
    party: str
    phases: list
    entries: list = field(default_factory=list)


def read_table(table, shape, where):
    """The entries of a table of TOML by name; unknown, missing and mistyped ones are errors."""
    if not isinstance(table, dict):
        raise BenchError(f"{where} is no table")
    if unknown := sorted(set(table) - set(shape)):
        raise BenchError(f"{where}: unknown key {unknown[0]!r}")
    values = {}
    for name, (kind, *default) in shape.items():
        if name not in table and not default:
            raise BenchError(f"{where}: no {name!r}")
        value = table.get(name, *default)
        if name in table and not fits(value, kind):
            raise BenchError(f"{where}: {name!r} cannot be {value!r}")
        values[name] = value
    return SimpleNamespace(**values)


def fits(value, kind):
    """Whether a value is of that kind. A truth value is no number."""
    if kind is TEXTS:
        return isinstance(value, list) and all(isinstance(text, str) for text in value)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def read_toml(path):
    """What a file of TOML holds."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BenchError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def read_networks(path):
    """The networks that cells may name, in the order of their names."""
    return {name: read_table(table, NETWORK, f"{path}: {name}") for name, table in sorted(read_toml(path).items())}


def all_names(folder):
    """The names of all definitions, in order: their paths below the folder, without `.toml`."""
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.toml"))


def read_all(folder, names, networks, program):
    """The definitions of these names; every cell must be one that its protocol offers."""
    drafts = []
    for name in names:
        path = folder / f"{name}.toml"
        drafts.append(Draft(name, read_toml(path), program, str(path)))
    return resolve(drafts, networks, program)


def read_text(name, text, networks, program):
    """The definition of that text."""
    return resolve([Draft(name, tomllib.loads(text), program, name)], networks, program)[0]


def resolve(drafts, networks, program):
    """The definitions of drafts whose cells the program has answered for."""
    questions = [question for draft in drafts for question in draft.questions]
    answers = program.describe([question.asked for question in questions])
    for question, answer in zip(questions, answers):
        question.take(answer, networks)
    return [draft.definition for draft in drafts]


def figure(raw, at):
    """A figure that a paper prints, and whether it is an estimate."""
    if isinstance(raw, NUMBER) and not isinstance(raw, bool):
        return (float(raw), False) if math.isfinite(raw) else (None, False)
    try:
        if not raw.startswith("~"):
            raise ValueError
        if not math.isfinite(float(raw[1:])):
            raise ValueError
        return float(raw[1:]), True
    except (AttributeError, ValueError):
        raise BenchError(f"{at}: {raw!r} is neither a number nor \"~\" and one") from None


@dataclass
class Question:
    """What the program is asked about an entry."""

    asked: dict
    value_of: object  # the value that follows from the answer, in a table that counts
    entry: Entry
    at: str
    awaits: bool

    def take(self, answer, networks):
        """Completes the entry by the answer."""
        error = answer.get("error")
        network = None if error else answer.get("cell", {}).get("network", LOOPBACK)
        if network not in (None, LOOPBACK, *networks):
            error = f"no network {network!r}"
        if error and self.value_of and "parameter" in self.asked:
            self.refuse(error)
        elif error and (self.value_of or self.awaits):
            # What a protocol that came later does not offer is for its author to see in the report.
            self.entry.cannot = error
        elif error:
            raise BenchError(f"{self.at}: {error}")
        elif self.value_of and "value" in answer and answer["value"] is None:
            self.refuse("it has no value for these arguments")
        elif self.value_of:
            self.entry.value = float(self.value_of(answer))
        else:
            self.entry.cell, self.entry.about = answer["cell"], answer

    def refuse(self, error):
        """Arguments that fit no program are an error, unless the row awaits one."""
        if not self.awaits:
            raise BenchError(f"{self.at}: {error}")
        self.entry.cannot = "no program tells it yet"


class Draft:
    """A definition whose cells were not asked for yet."""

    def __init__(self, name, raw, program, where):
        self.about, self.where, self.questions = program.about, where, []
        self.definition = table = read_table(raw, DEFINITION, where)
        table.name = name
        if table.plot is not None:
            table.plot = read_table(table.plot, PLOT, f"{where}: plot").x
        if table.measure not in MEASURES or table.unit not in UNITS or table.measure not in UNITS[table.unit][1]:
            raise BenchError(f"{where}: {table.measure} is not measured in {table.unit}")
        table.columns = [read_table(column, COLUMN, f"{where}: a column") for column in table.columns]
        if table.rows == "every protocol":
            table.rows = [{"name": cell["protocol"], "cell": cell} for cell in self.about["protocols"]]
        if isinstance(table.rows, str):
            raise BenchError(f"{where}: rows = {table.rows!r} is not \"every protocol\"")
        table.rows = [self.row(read_table(row, ROW, f"{where}: a row")) for row in table.rows]

    def row(self, raw):
        at, columns = f"{self.where}: row {raw.name!r}", self.definition.columns
        if raw.paper and len(raw.paper) != len(columns):
            raise BenchError(f"{at}: {len(raw.paper)} figures for {len(columns)} columns")
        if unknown := set(raw.only or []) - {column.name for column in columns}:
            raise BenchError(f"{at}: no column {min(unknown)!r}")
        if raw.party not in ("receiver", "sender"):
            raise BenchError(f"{at}: no party {raw.party!r}")
        own, row = dict(raw.cell), Row(raw.name, raw.cannot, raw.party, raw.phases)
        if raw.awaits:
            own["protocol"] = raw.awaits
            if all(cell["protocol"] != raw.awaits for cell in self.about["protocols"]):
                row.cannot = row.cannot or self.about["left_out"].get(raw.awaits, f"`{raw.awaits}` is not built yet")
        for i, column in enumerate(columns):
            entry = Entry(quick=column.quick and not raw.slow, cannot=column.cannot)
            if raw.paper:
                entry.paper, entry.estimated = figure(raw.paper[i], at)
            if row.cannot is None and entry.cannot is None and (raw.only is None or column.name in raw.only):
                # What the table, the row, the column and the row's overrides say, the later ones first.
                merged = self.definition.cell | own | column.cell | raw.overrides
                self.ask(merged, entry, f"{at}, column {column.name!r}", raw.awaits is not None)
            row.entries.append(entry)
        return row

    def ask(self, merged, entry, at, awaits):
        question = Question({"cell": merged}, None, entry, at, awaits)
        if self.definition.measure == "count":
            try:
                question.asked, question.value_of = parameters.question(merged)
            except (TypeError, ValueError) as error:
                question.refuse(str(error))
                return
        if question.asked is None:
            entry.value = float(question.value_of({}))
        else:
            self.questions.append(question)


def keep_protocols(definition, names):
    """Leaves out the cells of other protocols than these."""
    for entry in (entry for row in definition.rows for entry in row.entries):
        if entry.cell is not None and entry.cell["protocol"] not in names:
            entry.cell = None
