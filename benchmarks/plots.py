"""Draws the pictures of a record from its figures.csv: `make plots`, or `python plots.py RECORD_FOLDER`.

Each protocol has one colour in every picture. Its forms have lighter shades and marks of their own. Our lines are solid.
The papers' lines are dashed, with hollow marks.
"""

import csv
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter, NullLocator

PROTOCOLS = ["vole", "dh", "kkrt", "ot-phasing", "ot-psi", "gbf-random", "gbf", "naive-hash"]
COLOURS = dict(zip(PROTOCOLS, ["#1f4e9c", "#d9730d", "#2e8b57", "#b22222", "#7b4fa3", "#8c6239", "#d16ba5", "#777777"]))
MARKERS = "os^Dv<>ph*"
GLANCE_SIZES = {"2^16": "o", "2^20": "s"}


def read(folder):
    """The figures by definition, in the order of the file."""
    definitions = defaultdict(list)
    with open(folder / "figures.csv", newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            for name in ("x", "paper", "median"):
                line[name] = float(line[name]) if line[name] else None
            definitions[line["definition"]].append(line)
    return definitions


def colour(protocol, form, index):
    """The protocol's colour, lighter for each further form; a colour of its own for a row that no protocol of ours runs."""
    others = plt.get_cmap("tab20").colors
    base = to_rgb(COLOURS.get(protocol) or others[(2 * index + 1) % len(others)])
    share = min(0.22 * form, 0.66) if protocol in COLOURS else 0.0
    return tuple(part + (1 - part) * share for part in base)


def axes(axis, columns, unit):
    """Logarithmic axes: a tick for each column that holds a point, and at least a few numbers on the y axis."""
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.xaxis.set_major_locator(NullLocator())
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xticks([x for x, _ in columns], [name for _, name in columns])
    low, high = axis.get_ylim()
    subs = (1.0,) if high / low > 1e3 else (1.0, 2.0, 5.0)
    axis.yaxis.set_major_locator(LogLocator(subs=subs))
    plain = LogFormatterSciNotation(minor_thresholds=(9, 9)) if high / low > 1e7 else (lambda value, _: f"{value:g}")
    axis.yaxis.set_major_formatter(plain)
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.set_ylabel(unit)
    axis.grid(True, which="major", color="#e5e5e5", linewidth=0.6)


def series(lines):
    """Rows in order, each with its points, ours and the paper's."""
    rows = {}
    for line in lines:
        row = rows.setdefault(line["row"].replace("`", ""), {"protocol": line["protocol"], "ours": [], "paper": []})
        row["protocol"] = row["protocol"] or line["protocol"]
        if line["x"] is not None:
            for key, value in (("ours", line["median"]), ("paper", line["paper"])):
                if value is not None and value > 0:
                    row[key].append((line["x"], value))
    return rows


def columns_of(lines):
    points = {(line["x"], line["column"]) for line in lines if line["x"] and (line["median"] or line["paper"])}
    return sorted(points)


def draw_rows(axis, rows):
    """A line for each row; forms of one protocol differ in their marks. Lines that lie on each other stay visible."""
    forms = defaultdict(int)
    for index, (name, row) in enumerate(rows.items()):
        form = forms[row["protocol"]]
        forms[row["protocol"]] += 1
        style = {
            "color": colour(row["protocol"], form, index),
            "marker": MARKERS[form % len(MARKERS)],
            "markersize": max(7.5 - 1.5 * form, 3.5),
            "linewidth": max(2.6 - 0.6 * form, 1.0),
        }
        if row["ours"]:
            axis.plot(*zip(*sorted(row["ours"])), label=name, alpha=0.85, **style)
        if row["paper"]:
            label = f"{name} (paper)"
            axis.plot(*zip(*sorted(row["paper"])), label=label, linestyle="--", markerfacecolor="none", **style)


def legend(axis):
    axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)


def draw_definition(lines):
    rows = series(lines)
    if not lines[0]["plot"] or all(len(row["ours"]) < 2 for row in rows.values()):
        return None
    figure, axis = plt.subplots(figsize=(8, 4.2))
    draw_rows(axis, rows)
    axes(axis, columns_of(lines), lines[0]["unit"])
    axis.set_xlabel(lines[0]["plot"])
    source = lines[0]["source"]
    axis.set_title(lines[0]["title"] if source == "this project" else f"{source}: {lines[0]['title']}", fontsize=9)
    legend(axis)
    return figure


def draw_glance(times, traffic):
    """Time against traffic: the mark's shape is the size of the sets, a ring is a malicious run, a cross protects nothing."""
    figure, axis = plt.subplots(figsize=(8, 4.8))
    sent = {(line["row"], line["column"]): line["median"] for line in traffic}
    forms, rows = defaultdict(int), {}
    for line in times:
        if line["row"] not in rows:
            rows[line["row"]] = colour(line["protocol"], forms[line["protocol"]], 0)
            forms[line["protocol"]] += 1
        place = (sent.get((line["row"], line["column"])), line["median"])
        if line["column"] in GLANCE_SIZES and None not in place:
            look = {"marker": GLANCE_SIZES[line["column"]], "color": rows[line["row"]], "markersize": 8}
            if line["standard"] != "true":
                look |= {"marker": "x"}
            elif line["security"] == "malicious":
                look |= {"markerfacecolor": "white", "markeredgewidth": 2.2}
            axis.plot(*place, linestyle="", **look)
    axis.set_xscale("log")
    axis.set_yscale("log")
    for one in (axis.xaxis, axis.yaxis):
        one.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_xlabel("traffic in MB, both directions")
    axis.set_ylabel("time in s, loopback, one thread a party")
    axis.set_title("circle: 2^16, square: 2^20 items a side; ring: malicious, cross: insecure", fontsize=9)
    axis.grid(True, which="major", color="#e5e5e5", linewidth=0.6)
    axis.legend(
        handles=[Line2D([], [], color=shade, marker="o", linestyle="", label=row) for row, shade in rows.items()],
        fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False,
    )
    return figure


def draw_growth(times, memory):
    """Time and memory against n: the forms of `vole` on the left, the other protocols on the right."""
    figure, panels = plt.subplots(2, 2, figsize=(10, 7), sharex=True)
    for line, (lines, unit) in zip(panels, ((times, "seconds"), (memory, "MB, both parties"))):
        for axis, ours in zip(line, (True, False)):
            chosen = [figure for figure in lines if (figure["protocol"] == "vole") == ours]
            draw_rows(axis, series(chosen))
            axes(axis, columns_of(chosen), unit)
    for axis in panels[0]:
        axis.legend(fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1.08), ncols=4, frameon=False)
    panels[0][0].set_title("vole", fontsize=9)
    panels[0][1].set_title("other protocols", fontsize=9)
    figure.supxlabel("items of each set; one thread a party, loopback", fontsize=9)
    return figure


def main(folder):
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "vesica", "font.size": 8, "font.family": "sans-serif"})
    definitions = read(folder)
    plots = folder / "plots"
    plots.mkdir(exist_ok=True)
    for old in plots.glob("*.svg"):
        old.unlink()
    pictures = {name.replace("/", "-"): draw_definition(lines) for name, lines in definitions.items()}
    times = definitions["vesica/equal-loopback"]
    pictures["at-a-glance"] = draw_glance(times, definitions["vesica/equal-traffic"])
    pictures["growth"] = draw_growth(times, definitions["vesica/equal-memory"])
    drawn = {name: figure for name, figure in pictures.items() if figure is not None}
    for name, figure in drawn.items():
        figure.savefig(plots / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)
    print(f"{len(drawn)} pictures in {plots}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: plots.py RECORD_FOLDER")
    main(Path(sys.argv[1]))
