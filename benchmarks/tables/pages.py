"""The pages: results at a glance, between the markers of one page, and a page of tables for each paper.

Those are in the folder beside the page that has its name.
"""

import os
from pathlib import Path

from .benches import benchmarks
from .figures import cells, figures, is_current, ours, plain, short, unit_name
from .program import BenchError
from .record import ABSENT, CELLS, FIGURES, by_cell

# Where the generated part of the page of results begins and ends.
MARKERS = ("<!-- begin: benchmarks/run.py report -->", "<!-- end: benchmarks/run.py report -->")

# The titles of the groups of tables, by their folders, in the order of the report.
GROUPS = {
    "vesica": "This project's own tables",
    "dcw13": "DCW13: Dong, Chen, Wen, When Private Set Intersection Meets Big Data",
    "hek12": "HEK12: Huang, Evans, Katz, Are Garbled Circuits Better than Custom Protocols?",
    "psz14": "PSZ14: Pinkas, Schneider, Zohner, Faster PSI Based on OT Extension",
    "pssz15": "PSSZ15: Pinkas, Schneider, Segev, Zohner, Phasing",
    "rr16": "RR16: Rindal, Rosulek, Improved PSI Against Malicious Adversaries",
}

# The pictures of the page of results, which `make plots` draws from the figures: their names and what they show.
PICTURES = {"at-a-glance": "time against traffic, every protocol", "growth": "time and memory against n"}

LEGEND = (
    "A cell has the paper's figure → **our figure** (ours divided by the paper's). Our figure is the median of the runs, and "
    "¹ marks a single run. † marks a run of an earlier form of the protocol, which sent other bytes than the form of today. "
    "~ marks an estimate of the paper, or \"about\". – means not measured: too large or too slow for this machine."
)

# Where the benchmarks of building blocks are.
BENCHES = Path(__file__).resolve().parents[1] / "blocks/benches"

NOT_BUILT = " is not built yet"

# Columns of a page. Rows of tables, headings and pictures cannot be cut.
WIDTH = 120


def wrapped(text):
    """The text with its long lines cut between words."""
    return "\n".join(wrapped_line(line) for line in text.split("\n"))


def wrapped_line(line):
    if line.startswith(("|", "#", "!", "<")) or len(line) <= WIDTH:
        return line
    lines, indent = [""], "  " if line.startswith("- ") else ""
    for word in line.split(" "):
        if lines[-1].strip() and len(lines[-1]) + 1 + len(word) > WIDTH:
            lines.append(indent + word)
        else:
            lines[-1] += f" {word}" if lines[-1].strip() else word
    return "\n".join(lines)


def bullets(lines):
    return "".join(f"- {line}\n" for line in lines)


class Report:
    """The pages of a record, with the figures of other machines' records beside it, as texts by path."""

    def __init__(self, definitions, folder, beside, traffic, networks, program, page):
        self.definitions, self.folder, self.beside, self.traffic = definitions, folder, beside, traffic
        self.networks, self.page = networks, Path(page)
        self.files = {}
        self.runs = {}
        for one in (folder, *beside):
            lines = one.read_all()
            self.runs[one] = by_cell(lines)
            self.files[one.path / FIGURES] = figures(definitions, self.runs[one], traffic)
            self.files[one.path / CELLS] = cells(one, lines, program)

    def write(self, command):
        """Writes all files."""
        for path, text in self.texts(command).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def texts(self, command):
        """The pages, and the files of each record."""
        titles = {}
        for name, title in GROUPS.items():
            text = self.group(title, [one for one in self.definitions if one.name.split("/")[0] == name])
            if text:
                titles[name] = title
                self.keep(name, text)
        if blocks := self.folder.blocks():
            titles["building-blocks"] = "Building blocks"
            self.keep("building-blocks", building_blocks(blocks, benchmarks(BENCHES)))
        folder = self.page.with_suffix("").name
        pages = bullets(f"[{title}]({folder}/{name}.md)" for name, title in titles.items())
        self.files[self.page] = spliced(self.page, wrapped(self.results(command, pages)))
        return self.files

    def keep(self, name, text):
        """A page of its own."""
        self.files[self.page.with_suffix("") / f"{name}.md"] = wrapped(text.rstrip()) + "\n"

    def group(self, title, definitions):
        """The tables of a group; none if it has no figure."""
        text, nothing = "", []
        for definition in definitions:
            table = self.table(definition)
            if table is None:
                nothing.append(f"{definition.title} ({definition.source})")
                continue
            picture = definition.name.replace("/", "-")
            text += table + self.picture(self.page.with_suffix("") / "a page", picture, definition.title)
        if not text:
            return None
        head = [f"Record: `{self.folder.name}`; machine and networks: [results](../benchmarks.md)."]
        for beside in self.beside:
            head.append(
                f"A figure with _{beside.machine_name}_ behind it is of another machine, that of the record "
                f"`{beside.name}`. Compare it with figures of the same name only."
            )
        whys = [row.cannot for definition in definitions for row in definition.rows]
        awaited = {why.removesuffix(NOT_BUILT) for why in whys if why and why.endswith(NOT_BUILT)}
        if awaited:
            head.append(f"Rows whose protocol is not built yet are not shown: {', '.join(sorted(awaited))}.")
        if nothing:
            head.append(f"Tables without a figure are not shown: {'; '.join(nothing)}.")
        return f"# {title}\n\n{LEGEND}\n\n" + "\n".join(head) + f"\n\n{text}"

    def table(self, definition):
        """One table: rows and columns that hold a figure, and why the others do not; none if no cell holds a figure."""
        columns = range(len(definition.columns))
        rows = [(row.name, [self.cell(definition, row, i) for i in columns]) for row in definition.rows]
        rows = [(name, texts) for name, texts in rows if any(texts)]
        shown = [i for i in columns if any(texts[i] for _, texts in rows)]
        if not shown:
            return None
        unit = f", in {unit_name(definition)}" if unit_name(definition) else ""
        setting = "" if definition.setting == "none" else f" Setting: {definition.setting}."
        text = f"## {definition.title}\n\n{definition.source}{unit}.{setting} `{definition.name}`\n\n"
        text += f"| | {' | '.join(definition.columns[i].name for i in shown)} |\n|---|{'---|' * len(shown)}\n"
        for name, texts in rows:
            text += f"| {name} | {' | '.join(texts[i] or '–' for i in shown)} |\n"
        notes = [f"Not run here: {what}: {why}." for what, why in not_run(definition)] + definition.notes
        return f"{text}\n{bullets(notes)}".rstrip() + "\n\n"

    def cell(self, definition, row, i):
        """`paper → ours (ratio)`; none where there is neither. A figure of another machine has the machine's name."""
        entry = row.entries[i]
        paper = None if entry.paper is None else f"{'~' if entry.estimated else ''}{plain(entry.paper)}"
        texts = []
        for folder in (self.folder, *self.beside):
            spread = ours(definition, row, i, self.runs[folder], self.traffic)
            if spread is None:
                continue
            exact = definition.measure == "count" and (spread.median.is_integer() or spread.median >= 1000)
            text = f"**{plain(round(spread.median)) if exact else short(spread.median)}**{'¹' if spread.runs == 1 else ''}"
            if definition.measure != "traffic" and entry.cell is not None and not is_current(entry, self.runs[folder]):
                text += "†"
            text += "" if folder is self.folder else f" _{folder.machine_name}_"
            if entry.paper and definition.measure != "count":
                text += f" ({short(spread.median / entry.paper)}×)"
            texts.append(text)
            # Bytes are the same on every machine, and so are parameters.
            if folder is self.folder and definition.measure in ("traffic", "count"):
                break
        return (f"{paper} → " if paper else "") + "; ".join(texts) if texts else paper

    def picture(self, page, name, what):
        """A picture of the record for `page`; empty if it was not drawn."""
        path = self.folder.path / "plots" / f"{name}.svg"
        return f"![{what}]({link(page, path)})\n\n" if path.exists() else ""

    def results(self, command, pages):
        """The text between the markers."""
        text = f"Made by `{command}`.\n\n## At a glance\n\n"
        text += "".join(self.picture(self.page, name, what) for name, what in PICTURES.items())
        text += f"## Tables\n\n{pages}"
        text += bullets([
            f"[Every figure as CSV]({link(self.page, self.folder.path / FIGURES)}), with least and greatest run, and number "
            "of runs",
            *(f"[The same of the other machine]({link(self.page, one.path / FIGURES)}), _{one.machine_name}_"
              for one in self.beside),
        ])
        text += f"\n## Machine, record, networks\n\n{self.machine(self.folder)}"
        for one in self.beside:
            text += f"The other machine, _{one.machine_name}_:\n\n{self.machine(one)}"
        if self.traffic.lines:
            revisions = ", ".join(sorted({line["revision"] for line in self.traffic.lines.values()}))
            text += (
                f"Bytes of {len(self.traffic.lines)} cells were [measured alone]({link(self.page, self.traffic.path)}), without "
                f"any time, by programs of revision {revisions}. They stand in tables of traffic where a record has none, or "
                "other ones than the program sends today.\n\n"
            )
        networks = bullets(
            f"`{name}`: {plain(one.megabits_per_s)} Mbit/s, {plain(one.round_trip_ms)} ms round trip ({one.source})"
            for name, one in self.networks.items()
        )
        return f"{text}The networks:\n\n{networks}\n"

    @staticmethod
    def machine(folder):
        """What the machine of a record is, and what made the record."""
        machine, commands = (bullets(folder.text(name).splitlines()) for name in ("machine.txt", "commands.txt"))
        text = f"{machine}\nThe record `{folder.name}` was made by:\n\n{commands}\n"
        for revision in folder.text(ABSENT).split():
            text += (f"The revision {revision} of this record is not in the repository, so what it measured cannot be built "
                     "again.\n\n")
        return text


def not_run(definition):
    """Rows, columns and single cells that are not run, and why. Protocols that are not built are listed once for the page."""
    rows = {}
    for row in definition.rows:
        if row.cannot and not row.cannot.endswith(NOT_BUILT):
            rows.setdefault(row.cannot, []).append(row.name)
    runnable = [row for row in definition.rows if row.cannot is None]
    columns = []
    for i, column in enumerate(definition.columns):
        whys = {row.entries[i].cannot for row in runnable}
        if len(whys) == 1 and None not in whys:
            columns.append((column.name, whys.pop()))
    cells, whole = {}, {name for name, _ in columns}
    for row in runnable:
        for entry, column in zip(row.entries, definition.columns):
            if entry.cannot is not None and column.name not in whole:
                cells.setdefault(entry.cannot, []).append(f"{row.name}, {column.name}")
    return [("; ".join(names), why) for why, names in rows.items()] + columns + [
        ("; ".join(names), why) for why, names in cells.items()]


def building_blocks(blocks, made):
    """The page of building blocks: figures of benchmarks that are made today, and which of these have none."""
    text = (
        "# Building blocks\n\nThe figures are medians in nanoseconds an element, measured by criterion on one thread, in "
        "memory (`make bench-blocks`).\n\n| | ns | 95 % confidence | elements at once |\n|---|---|---|---|\n"
    )
    gone = []
    for block in blocks:
        name = f"{block['group']}: {block['name']}"
        if any(one.makes(block) for one in made):
            median, least, most = (short(float(block[time])) for time in ("median_ns", "least_ns", "most_ns"))
            text += f"| {name} | **{median}** | {least}–{most} | {block['elements']} |\n"
        else:
            gone.append(name)
    if gone:
        text += f"\nThe record has figures of benchmarks that are no longer made: {'; '.join(gone)}.\n"
    if missing := [one for one in made if not any(one.makes(block) for block in blocks)]:
        text += "\nThese benchmarks have no figure in this record yet:\n\n" + bullets(map(str, missing))
    return text


def link(page, file):
    """The relative address of a file in a page."""
    return Path(os.path.relpath(os.path.realpath(file), os.path.realpath(page.parent))).as_posix()


def spliced(path, text):
    """The page with `text` between its markers; a page that is not there is made."""
    begin, end = MARKERS
    page = path.read_text(encoding="utf-8") if path.exists() else f"# Benchmarks\n\n{begin}\n{end}\n"
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise BenchError(f"{path}: the line {begin} or {end} is not there")
    return f"{before}{begin}\n\n{text.rstrip()}\n{end}{after}"
