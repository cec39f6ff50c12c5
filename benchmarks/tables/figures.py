"""What a cell of a table holds: the median of the record's runs with their spread, and the bound of the formulas.

Two files of a record come from it: every figure with its spread, and the times that `vesica plan` starts from.
"""

import csv
import io
import json
import math
import statistics
from dataclasses import dataclass
from decimal import Decimal

from .definition import UNITS
from .program import BenchError, key
from .record import by_cell, phase_seconds
from .traffic import agree, of_line

FIGURE = (
    "definition", "title", "source", "plot", "measure", "unit", "row", "column", "x", "protocol", "security", "standard",
    "paper", "estimated", "median", "least", "most", "runs", "bound",
)


@dataclass
class Spread:
    """Median, least and greatest of a cell's runs, in the table's unit, and how many there were; 0 for a computed figure."""

    median: float
    least: float
    most: float
    runs: int

    def columns(self):
        """What a file of figures has of it."""
        return number(self.median), number(self.least), number(self.most), self.runs


def short(value):
    """Three significant digits."""
    if value == 0 or not math.isfinite(value):
        return plain(value)
    digits = 2 - math.floor(math.log10(abs(value)))
    if digits >= 0:
        return f"{value:.{digits}f}"
    scale = 10**-digits
    return f"{math.floor(value / scale + 0.5) * scale}"


def plain(value):
    """A number as it is, without an exponent and without zeros that say nothing."""
    return format(Decimal(repr(float(value))), "f").removesuffix(".0")


def number(value):
    """A number in a file of figures; nothing if there is none."""
    return "" if value is None else repr(float(value))


def unit_name(definition):
    """The unit's name in tables; none for numbers."""
    return "" if definition.unit == "count" else definition.unit


def measured(line, measure):
    """The measure of a run, in seconds or bytes."""
    names = {
        "time": ("wall_s",),
        "cpu": ("cpu_receiver_s", "cpu_sender_s"),
        "traffic": ("sent_receiver", "sent_sender"),
        "memory": ("peak_receiver", "peak_sender"),
    }[measure]
    return sum(line[name] for name in names)


def ours(definition, row, i, runs, traffic):
    """The spread of column i of a row over the runs of a record; a computed figure has none.

    Traffic that was measured alone is taken where the record has no run, or runs that sent what is no longer sent.
    """
    entry = row.entries[i]
    if definition.measure == "traffic" and entry.cell is not None and not is_current(entry, runs):
        sent = traffic.sent(entry.cell)
        if sent is not None:
            value = sent / UNITS[definition.unit][0]
            return Spread(value, value, value, 1)
    return of_runs(definition, row, i, runs)


def is_current(entry, runs):
    """Whether the record has runs of a cell, and they sent what today's program sends."""
    lines = runs.get(key(entry.cell), [])
    return bool(lines) and all(agree(of_line(line), entry.about) for line in lines)


def of_runs(definition, row, i, runs):
    """What the runs of a record alone say of a cell."""
    entry, column = row.entries[i], definition.columns[i]
    if entry.value is not None:
        return Spread(entry.value, entry.value, entry.value, 0)
    if entry.cell is None:
        return None
    shown = row.phases or column.phases
    of_sender = row.party == "sender"
    values = []
    for line in runs.get(key(entry.cell), []):
        if shown:
            phases = line["sender_phases" if of_sender else "phases"]
            found = [seconds for name in shown if (seconds := phase_seconds(phases, name)) is not None]
            # There is no figure if the run has none of the phases: it is older, or its role has no such phase.
            whole = sum(found) if found else None
        elif of_sender and definition.measure == "time":
            whole = line["sender_wall_s"]
        else:
            whole = measured(line, definition.measure)
        if whole is not None:
            values.append(whole / UNITS[definition.unit][0])
    return Spread(statistics.median(values), min(values), max(values), len(values)) if values else None


def bound(definition, i, entry):
    """A cell's traffic or memory by the registry's formulas, in the table's unit: exact for traffic, at most for memory."""
    field = {"traffic": "bytes", "memory": "memory"}.get(definition.measure)
    if field is None or entry.about is None or definition.columns[i].phases:
        return None
    return entry.about[field] / UNITS[definition.unit][0]


def figures(definitions, runs, traffic):
    """Every figure of every table as CSV, with the spread that the pages leave out."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(FIGURE)
    for definition in definitions:
        for row in definition.rows:
            for i, (entry, column) in enumerate(zip(row.entries, definition.columns)):
                spread = ours(definition, row, i, runs, traffic)
                if spread is None and entry.paper is None:
                    continue
                about = entry.about or {"protocol": "", "security": "", "standard": False}
                writer.writerow((
                    definition.name, definition.title, definition.source, definition.plot or "", definition.measure,
                    unit_name(definition), row.name, column.name, number(column.x), about["protocol"], about["security"],
                    str(about["standard"]).lower(), number(entry.paper), str(entry.estimated).lower(),
                    *(spread.columns() if spread else [""] * 4), number(bound(definition, i, entry)) if spread else "",
                ))
    return file.getvalue()


def is_whole_circuit(cell, about, circuit, lines):
    """Whether runs evaluated the whole circuit that the formula counts today, and gave rows to the receiver or to both."""
    # Where both learn, matches may be revealed early, and the rest of their circuits is left out.
    whole = all(agree(of_line(line), about | {"at_most": False}) for line in lines)
    return circuit["ands"] + circuit["private_ands"] > 0 and whole and not {"tls", "result", "audit_max"} & set(cell)


def cells(folder, lines, program):
    """What `vesica plan` starts from, in crates/vesica/cells/, as CSV: the median time of every cell over loopback.

    A protocol that evaluates a circuit keeps a network busy, and may have no runs without one. Then its cells have the
    processor time of the busier party: both parties work at once.
    """
    machine = dict(line.partition(": ")[::2] for line in folder.text("machine.txt").splitlines())
    runs = by_cell(lines)
    found, of_circuits = [], {}
    asked = [{kind: json.loads(text)} for kind in ("cell", "circuit") for text in runs]
    answers = program.describe(asked)
    for text, answer, circuit in zip(runs, answers, answers[len(runs):]):
        if "error" in answer:
            raise BenchError(f"{folder.path}: a cell of the record: {answer['error']}")
        cell = answer["cell"]
        sizes = cell.get("threads", 1), cell["receiver"], cell["sender"]
        # Base OTs from ML-KEM are no column: `plan` adds their time by itself.
        if key(cell) != text or "base_ots" in cell:
            continue
        if not {"network", "tls", "learns", "result"} & set(cell):
            seconds = statistics.median(line["wall_s"] for line in runs[text])
            found.append((answer["configuration"], *sizes, "wall", f"{seconds:.6f}"))
        elif is_whole_circuit(cell, answer, circuit, runs[text]):
            busier = [max(line["cpu_receiver_s"], line["cpu_sender_s"]) for line in runs[text]]
            of_circuits.setdefault((answer["configuration"], *sizes), []).extend(busier)
    over_loopback = {configuration for configuration, *_ in found}
    found += [(*one, "processor", f"{statistics.median(seconds):.6f}") for one, seconds in of_circuits.items()
              if one[0] not in over_loopback]
    processor, cores = (machine.get(field, "unknown") for field in ("processor", "cores"))
    head = [f"# {folder.name}, {processor}, {cores} cores", program.about["columns"]]
    return "\n".join([*head, *(",".join(map(str, cell)) for cell in sorted(found))]) + "\n"
