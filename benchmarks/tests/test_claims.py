"""Tests of what definitions, pages and documents say: against the program, the papers' own arithmetic, the records, the
repository.

`make bench-test` runs them, with the tests of the tables.
"""

import functools
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from test_tables import HERE, NETWORKS, PROGRAM, RECORDS, ROOT, TRAFFIC, repository

from tables import definition, figures, pages, record, schedule, traffic
from tables.benches import Benchmark, benchmarks
from tables.definition import UNITS
from tables.program import BenchError, RunFailed, key

LEVELS = (80, 112, 128, 192, 256)

# Processors by the family and model that the system tells, as the makers name them.
PROCESSORS = {(6, 143): "Sapphire Rapids", (6, 167): "Rocket Lake", (25, 17): "Zen 4", (26, 2): "Zen 5"}


def named(name):
    """The definition of that name."""
    return next(one for one in repository() if one.name == name)


def entry(name, row, column):
    """A cell of a table."""
    table = named(name)
    at = [one.name for one in table.columns].index(column)
    return next(one for one in table.rows if one.name == row).entries[at]


def texts(name):
    """What a definition says in words: its notes, and why rows and columns are not run."""
    table = named(name)
    return [*table.notes, *(one.cannot for one in [*table.rows, *table.columns] if one.cannot)]


def document(path):
    """A page of the documents, as one line."""
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


@functools.cache
def levels(protocol):
    """The levels that a protocol offers."""
    usual = next(one for one in PROGRAM.about["protocols"] if one["protocol"] == protocol)
    asked = [{"cell": usual | {"receiver": 256, "sender": 256, "level": level}} for level in LEVELS]
    return [level for level, answer in zip(LEVELS, PROGRAM.describe(asked)) if "error" not in answer]


class Bytes(unittest.TestCase):
    def spreads(self, alone):
        """Each figure of traffic on the pages and in the files of figures, with its cell."""
        for path in RECORDS:
            runs = record.by_cell(record.Folder(path).read_all())
            for table in (one for one in repository() if one.measure == "traffic"):
                for row in table.rows:
                    for i, one in enumerate(row.entries):
                        if one.cell is not None and (spread := figures.ours(table, row, i, runs, alone)):
                            yield f"{path.name}, {table.name}: {row.name}, {table.columns[i].name}", one, spread, table.unit

    def disagreeing(self, alone):
        return [where for where, one, spread, unit in self.spreads(alone)
                if not all(traffic.agree(value * UNITS[unit][0], one.about) for value in (spread.least, spread.most))]

    def test_recorded_traffic_is_what_the_formula_says_today(self):
        found = self.disagreeing(TRAFFIC)
        self.assertEqual(found, [], "`python3 benchmarks/run.py traffic` measures these again, then write the pages")
        command = [sys.executable, "benchmarks/run.py", "traffic", "--dry-run", "--program", PROGRAM.path]
        left = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        self.assertEqual((left.returncode, left.stdout.strip()), (0, ""), left.stderr)

    def test_bytes_agree_within_half_a_percent_or_up_to_a_bound(self):
        exact, bound = {"bytes": 1000, "at_most": False}, {"bytes": 1000, "at_most": True}
        self.assertEqual([traffic.agree(sent, exact) for sent in (994, 996, 1004, 1006)], [False, True, True, False])
        self.assertEqual([traffic.agree(sent, bound) for sent in (1, 1004, 1006)], [True, True, False])

    def test_what_is_outdated_is_measured_once_and_stands_in_the_tables(self):
        asked = {"protocol": "dh", "receiver": 256, "sender": 256}
        about = PROGRAM.describe([{"cell": asked}])[0]
        one = definition.read_text("a/b", """
            title = "Traffic"
            source = "none"
            setting = "none"
            measure = "traffic"
            unit = "bytes"
            columns = [{ name = "n", cell = { protocol = "dh", receiver = 256, sender = 256, network = "lan" } }]
            rows = [{ name = "dh" }]
        """, NETWORKS, PROGRAM)
        line = {"cell": '{"protocol":"dh","receiver":256,"sender":256,"network":"lan","threads":2}', "sent_receiver": 1,
                "sent_sender": 2}
        with tempfile.TemporaryDirectory() as path:
            alone = traffic.Traffic(f"{path}/traffic.csv")
            self.assertEqual(traffic.outdated([one], [], alone), [], "nothing is known of it")
            unmeasured = traffic.outdated([one], [], alone, unmeasured=True)
            self.assertEqual(traffic.outdated([one], [line], alone), unmeasured)
            limits = schedule.Limits(False, 1, False, 60, 60, 1 << 34)
            counts = traffic.measure(unmeasured, limits, PROGRAM, alone, "abc", str)
            self.assertEqual(counts, {"recorded": 1, "left out": 0, "failed": 0})
            again = traffic.Traffic(alone.path)
            self.assertEqual((again.lines, again.sent(asked)), (alone.lines, about["bytes"]))
            self.assertEqual(traffic.outdated([one], [line], again, unmeasured=True), [])
            runs = record.by_cell([line | {"cell": line["cell"].replace(',"threads":2', "")}])
            spread = figures.ours(one, one.rows[0], 0, runs, again)
            self.assertEqual((spread.median, spread.runs), (about["bytes"], 1))
            alone.path.write_text("revision,cell\nabc,{\n", encoding="utf-8")
            with self.assertRaisesRegex(BenchError, "no record of traffic"):
                traffic.Traffic(alone.path)

    def test_what_does_not_end_is_left_out_with_what_is_larger(self):
        class Stopped:
            def run(self, *_):
                raise RunFailed("it took too long")

        entries = [one for row in named("vesica/equal-traffic").rows if row.name == "dh" for one in row.entries]
        with tempfile.TemporaryDirectory() as path:
            limits = schedule.Limits(False, 1, False, 60, 60, 1 << 40)
            counts = traffic.measure(entries, limits, Stopped(), traffic.Traffic(f"{path}/a.csv"), "", str)
        self.assertEqual((counts["recorded"], counts["failed"]), (0, 1))
        limits.memory = 1
        self.assertIn("GB", traffic.refusal(2, limits, 0, False))
        self.assertIn("budget", traffic.refusal(1, limits, 61, False))

    def test_a_time_of_an_earlier_form_is_marked(self):
        runs = record.by_cell(record.Folder(RECORDS[0]).read_all())
        page = (ROOT / "docs/benchmarks/vesica.md").read_text(encoding="utf-8")
        for row in ("dh", "kkrt"):
            is_current = figures.is_current(entry("vesica/equal-lan", row, "2^8"), runs)
            (line,) = re.findall(rf"(?m)^\| {row} \|.*$", page)[:1]
            self.assertEqual("†" not in line, is_current, line)


class Cells(unittest.TestCase):
    def cells(self, line):
        """The cells of a record of that run of a circuit, of 5 and 7 seconds of processor time."""
        line = dict.fromkeys(record.COLUMNS, 0.0) | {"wall_s": 99.0, "cpu_receiver_s": 5.0, "cpu_sender_s": 7.0} | line
        with tempfile.TemporaryDirectory() as path:
            return figures.cells(record.Folder(path), [line], PROGRAM).splitlines()[2:]

    def test_a_circuit_without_runs_over_loopback_has_the_processor_time_of_the_busier_party(self):
        circuit = {"protocol": "pwc", "receiver": 8, "sender": 8, "sigma": 32}
        for more, sent, expected in [
            ({"network": "lan"}, 1.0, ["processor,7.000000"]),
            ({}, 1.0, ["wall,99.000000"]),
            # Of an earlier form.
            ({"network": "lan"}, 1.5, []),
            # Matches were revealed early.
            ({"common_percent": 50, "learns": "both", "network": "lan"}, 0.5, []),
            ({"common_percent": 0, "learns": "both", "network": "lan"}, 1.0, ["processor,7.000000"]),
            ({"network": "lan", "tls": True}, 1.0, []),
        ]:
            about = PROGRAM.describe([{"cell": circuit | more}])[0]
            line = {"cell": key(about["cell"]), "sent_sender": sent * about["bytes"]}
            self.assertEqual([one.split(",1,8,8,")[1] for one in self.cells(line)], expected, more)
        kkrt = {"cell": key({"protocol": "kkrt", "receiver": 8, "sender": 8, "network": "lan"})}
        self.assertEqual(self.cells(kkrt), [], "no circuit")


class Units(unittest.TestCase):
    def test_the_units_are_those_that_the_papers_count_in(self):
        """Bytes by a paper's own formula are its printed figure, in the table's unit."""
        n, millions = 1 << 18, 1 << 24
        for name, row, column, size in [
            ("psz14/communication", "DH FFC, 2048 bits", "128-bit", 3 * 256 * n),
            ("psz14/hashing-schemes", "No hashing: ns OTs, n²λ bits", "overall", n * n * 40 // 8 + n * 32 * 16),
            ("pssz15/table-08", "Naive Hashing(*)", "2^24", millions * 11),
            ("pssz15/table-08", "OT PSI [PSZ14], σ = 32", "2^20", (24 * 4 * 32 + 6 * 10 * 10) * (1 << 20) // 10),
            ("pssz15/table-10", "Naive Hashing(*)", "2^8, 2^24", millions * 9),
        ]:
            printed, unit = entry(name, row, column).paper, UNITS[named(name).unit][0]
            self.assertAlmostEqual(size / unit, printed, delta=0.0005 * printed, msg=f"{name}: {row}")
        # Table 11 prints the figures of Table 8 again, rounded.
        for sigma in (32, 64, 128):
            whole = entry("pssz15/table-08", f"OT PSI [PSZ14], σ = {sigma}", "2^20").paper
            first = entry("pssz15/table-11-traffic", f"OT-Phasing, σ = {sigma}", "Original [PSZ14]").paper
            self.assertEqual(round(whole), first)
        self.assertEqual(named("pssz15/table-11-traffic").unit, named("pssz15/table-08").unit)

    def test_the_circuits_of_table_6_fit_into_their_unit(self):
        """Two labels of 16 bytes a gate are no more than the bytes that the paper prints."""
        table = named("pssz15/table-06")
        for column in ("2^8", "2^12", "2^16", "2^20"):
            gates = entry(table.name, "AND gates: Circuit-Phasing", column).paper
            size = entry(table.name, "MiB, Yao: Circuit-Phasing", column)
            self.assertLess(32 * gates, (size.paper + 0.5) * 2**20)
        sizes = {"receiver": 1 << 20, "sender": 1 << 20, "sigma": 32}
        about = PROGRAM.describe([{"cell": {"protocol": "circuit-phasing-yao"} | sizes}])[0]
        self.assertEqual(size.value, about["bytes"] / 2**20)


class Notes(unittest.TestCase):
    def test_no_note_speaks_of_the_place_of_a_row(self):
        """A row without a figure is not on the page."""
        place = re.compile(r"\b(last|first|next|previous|following|above|below)\b[^.;]*\b(rows?|columns?)\b"
                           r"|\b(rows?|columns?)\b[^.;]*\b(above|below)\b")
        for one in repository():
            for text in texts(one.name):
                self.assertIsNone(place.search(text), f"{one.name}: {text}")

    def test_levels_that_notes_name_are_those_of_the_program(self):
        known = [one["protocol"] for one in PROGRAM.about["protocols"]]
        checked = 0
        for one in repository():
            for note in one.notes:
                if found := re.search(r"^No protocol of this project has a level of (\d+)", note):
                    self.assertEqual([name for name in known if int(found[1]) in levels(name)], [], f"{one.name}: {note}")
                if found := re.search(r"^(.*) (?:has|have) only level (\d+)", note):
                    for name in re.findall(r"[a-z][a-z0-9-]+", found[1].replace(" and ", " ")):
                        self.assertEqual(levels(name), [int(found[2])], f"{one.name}: {note}")
                        checked += 1
        self.assertGreater(checked, 0)

    def test_a_level_that_a_protocol_lacks_is_told_by_the_program(self):
        whys = dict(map(reversed, pages.not_run(named("hek12/figure-11a"))))
        lacks = "protocol dt-dl does not offer level 256 (it has [80, 112, 128, 192])"
        self.assertIn("ultra-long (256)", whys[lacks])
        self.assertIn(112, levels("scs-wn"))

    def test_rows_of_a_paper_with_other_parameters_than_its_own_are_named(self):
        """A table says so if it has its own parameters where the program has the paper's, or the paper's."""
        for one in (one for one in repository() if one.name.startswith("pssz15/")):
            cells = [x.cell for row in one.rows for x in row.entries if x.cell is not None and x.paper is not None]
            answers = PROGRAM.describe([{"cell": cell | {"paper_parameters": True}} for cell in cells])
            offered = [cell for cell, answer in zip(cells, answers) if "error" not in answer]
            if offered:
                words = "the paper's parameters" if offered[0].get("paper_parameters") else "our own parameters"
                self.assertTrue(any(words in note for note in one.notes), f"{one.name}: no note says {words!r}")

    def test_a_protocol_of_a_paper_is_one_protocol_in_all_its_tables(self):
        for of_paper, protocol in (("De Cristofaro's", "dt-rsa"), ("Huang's", "scs-wn")):
            tables = [one for one in repository() if one.name.startswith("dcw13/")]
            cells = [x.cell["protocol"] for one in tables for row in one.rows if of_paper in row.name and "Java" not in
                     row.name.replace("Huang's (Java)", "") for x in row.entries if x.cell is not None]
            self.assertTrue(cells)
            self.assertEqual(set(cells), {protocol}, of_paper)

    def test_rows_of_a_level_stand_together(self):
        bits = [int(row.name.split()[0]) for row in named("dcw13/table-3").rows]
        self.assertEqual(bits, sorted(bits))

    def test_the_sizes_that_the_text_on_threads_names_have_columns(self):
        table = named("rr16/figure-6")
        sizes = set(re.findall(r"2\^\d+", " ".join(table.notes)))
        self.assertEqual(sizes, {"2^16", "2^20"})
        for size in sizes:
            threads = [column.name.split()[0] for column in table.columns if column.name.endswith(size)]
            self.assertEqual(threads, ["1", "2", "4", "16", "64"])

    def test_gates_are_counted_as_the_paper_counts_them(self):
        both = entry("hek12/table-1", "BWA: 2^σ", "gates, without XOR")
        self.assertEqual((both.paper, both.value), (1 << 20, 1 << 20))
        for row in named("hek12/table-1").rows:
            self.assertTrue(row.entries[0].paper.is_integer(), row.name)
        third = entry("hek12/table-1", named("hek12/table-1").rows[-1].name, "gates, without XOR")
        self.assertAlmostEqual(third.value, third.paper, delta=50)

    def test_networks_have_the_sections_of_the_papers(self):
        """HEK12 tells of its network in §7, "Performance"; the copies of the file say the same."""
        source = NETWORKS["lan-100"].source
        self.assertIn("HEK12 §7", source)
        copy = definition.read_networks(ROOT / "crates/bench/src/networks.toml")
        self.assertEqual({name: vars(one) for name, one in copy.items()}, {name: vars(one) for name, one in NETWORKS.items()})
        self.assertIn("HEK12 §7", (ROOT / "crates/channel/src/network.rs").read_text(encoding="utf-8"))


class Documents(unittest.TestCase):
    def test_what_is_sent_more_than_in_table_8_is_as_the_documents_say(self):
        sizes = ("2^8", "2^12", "2^16", "2^20", "2^24")
        for protocol, row in (("ot-phasing", "OT-Phasing"), ("ot-psi", "OT PSI [PSZ14]")):
            page = (ROOT / f"docs/protocols/{protocol}.md").read_text(encoding="utf-8")
            lines = re.findall(r"(?m)^\| (32|64|128) \| (.* %.*) \|$", page)
            self.assertEqual([sigma for sigma, _ in lines], ["32", "64", "128"], protocol)
            for sigma, cells in lines:
                for size, told in zip(sizes, cells.split(" | ")):
                    one = entry("pssz15/table-08", f"{row}, σ = {sigma}", size)
                    more = (one.about["bytes"] / 2**20 / one.paper - 1) * 100
                    percent = float(told.removesuffix(" %"))
                    digits = len(told.removesuffix(" %").partition(".")[2])
                    self.assertAlmostEqual(percent, more, delta=0.5 * 10**-digits + 0.01, msg=f"{protocol}: {sigma}, {size}")

    def test_base_ots_are_as_large_as_the_documents_say(self):
        for protocol in ("ot-phasing", "ot-psi"):
            cell = {"protocol": protocol, "receiver": 256, "sender": 256}
            fresh, kept = (one["bytes"] for one in PROGRAM.describe([{"cell": cell},
                                                                     {"cell": cell | {"kept_base_ots": True}}]))
            told = re.findall(r"(?i)base OTs\W[^.]*?\b(\d+ \d{3}) bytes", document(f"docs/protocols/{protocol}.md"))
            self.assertEqual([int(one.replace(" ", "")) for one in told], [fresh - kept], protocol)

    def test_processors_have_the_names_of_their_family_and_model(self):
        machines = {}
        for path in RECORDS:
            line = record.Folder(path).text("machine.txt").splitlines()[0]
            machines[path.name] = PROCESSORS[tuple(map(int, re.search(r"family (\d+), model (\d+)", line).groups()))]
        for name, processor in machines.items():
            if "zen" in name:
                self.assertEqual(processor.lower().replace(" ", ""), name[11:])
        checked = 0
        for path in (ROOT / "docs").rglob("*.md"):
            for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
                words = " ".join(paragraph.split())
                named_here = {processor for processor in PROCESSORS.values() if processor in words}
                if records := {name for name in machines if f"`{name}`" in words} if named_here else set():
                    self.assertEqual(named_here, {machines[name] for name in records}, f"{path.name}: {words}")
                    checked += 1
        self.assertGreater(checked, 0)

    def test_building_blocks_of_documents_are_measured(self):
        """A curve that a document calls a measured building block has a benchmark."""
        made = " ".join(map(str, benchmarks(pages.BENCHES)))
        checked = 0
        for path in (ROOT / "docs").rglob("*.md"):
            sentences = re.split(r"(?<=\.)\s", document(path.relative_to(ROOT)))
            for before, sentence in zip(["", *sentences], sentences):
                if "measured as a building block" in sentence:
                    told = before + sentence if sentence.startswith("They") else sentence
                    for curve in re.findall(r"P-\d+", told):
                        self.assertIn(curve, made, f"{path.name}: {told}")
                        checked += 1
        self.assertGreater(checked, 0)


class BuildingBlocks(unittest.TestCase):
    def test_the_page_has_what_is_made_and_names_what_has_no_figure(self):
        made = benchmarks(pages.BENCHES)
        page = (ROOT / "docs/benchmarks/building-blocks.md").read_text(encoding="utf-8")
        for name in re.findall(r"(?m)^\| (.*?: .*?) \| \*\*", page):
            group, _, rest = name.partition(": ")
            # A group may have a colon of its own.
            cuts = [name.split(": ", 1), name.rsplit(": ", 1), [group, rest]]
            self.assertTrue(any(one.makes(dict(zip(("group", "name"), cut))) for one in made for cut in cuts), name)
        measured = record.Folder(RECORDS[0]).blocks()
        for one in made:
            if not any(one.makes(block) for block in measured):
                self.assertIn(f"- {one}\n", page)

    def test_benchmarks_are_read_from_the_sources(self):
        with tempfile.TemporaryDirectory() as path:
            Path(path, "a.rs").write_text(
                'let mut group = c.benchmark_group(format!("modulo {bits} bits"));\ngroup.bench_function("product", |b| 1);'
                '\nlet group = c.benchmark_group(name);\ngroup.bench_function(\n    format!("{a}, {b:?} rows"), |b| 1);\n',
                encoding="utf-8")
            found = benchmarks(Path(path))
        self.assertEqual(list(map(str, found)), ["modulo … bits: product", "…: …, … rows"])
        self.assertTrue(found[0].makes({"group": "modulo 2048 bits", "name": "product"}))
        self.assertFalse(found[0].makes({"group": "modulo 2048 bits", "name": "products"}))

    def test_a_figure_of_a_benchmark_that_is_gone_is_not_shown(self):
        block = {"group": "a", "name": "old", "elements": 1, "median_ns": 1, "least_ns": 1, "most_ns": 1}
        text = pages.building_blocks([block, block | {"name": "new"}], [Benchmark("a", "new"), Benchmark("b", "{c}")])
        self.assertIn("| a: new | **1.00** |", text)
        self.assertNotIn("| a: old", text)
        self.assertIn("no longer made: a: old.", text)
        self.assertIn("- b: …\n", text)


class Revisions(unittest.TestCase):
    def revisions(self):
        """The revisions of each record that the page and the record of traffic name, and those said to be absent."""
        absent = {rev for path in RECORDS for rev in record.Folder(path).text(record.ABSENT).split()}
        of_runs = {rev for path in RECORDS for rev in record.revisions(record.Folder(path).text("commands.txt"))}
        return of_runs | {line["revision"] for line in TRAFFIC.lines.values()}, absent

    def test_revisions_are_in_the_repository_or_said_not_to_be(self):
        def git(*words):
            return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)

        if git("rev-parse", "--show-prefix").stdout.strip() or git("rev-parse", "--git-dir").returncode:
            self.skipTest("the sources are no repository of their own: an archive has no revisions to look up")
        if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
            self.skipTest("the repository is shallow: it lacks older revisions")
        revisions, absent = self.revisions()
        self.assertGreater(len(revisions), 4)
        self.assertEqual({one for one in revisions if git("merge-base", "--is-ancestor", one, "HEAD").returncode}, absent)

    def test_the_page_says_which_revisions_are_absent(self):
        page = document("docs/benchmarks.md")
        _, absent = self.revisions()
        for revision in absent:
            self.assertIn(f"The revision {revision} of this record is not in the repository", page)
        commands = "2026-11-29, vesica 0.1.0, revision 0a1b2c3: python3 run.py\nno revision\n2026-11-30: revision of: x\n"
        self.assertEqual(record.revisions(commands), ["0a1b2c3"])


if __name__ == "__main__":
    unittest.main()
