"""Tests of the tables: `make bench-test`, or `python3 -m unittest discover benchmarks/tests` with VESICA_PROGRAM.

The program must have the feature `exhibits`, since the records have runs of those protocols.
"""

import csv
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

from tables import definition, figures, pages, record, schedule, traffic  # noqa: E402
from tables.benches import Benchmark  # noqa: E402
from tables.program import BenchError, Program, RunFailed, key  # noqa: E402

PROGRAM_PATH = os.path.abspath(os.environ.get("VESICA_PROGRAM", ROOT / "target/release/vesica"))
NETWORKS = definition.read_networks(HERE / "networks.toml")
PROGRAM = Program(PROGRAM_PATH, HERE / "networks.toml", allow_debug=True)
RECORDS = sorted(path for path in (HERE / "record").iterdir() if path.is_dir())
TRAFFIC = traffic.Traffic(HERE / "record" / traffic.NAME)
EVERYTHING = "vesica/all-at-2-8"

# Names that rows of the repository may await, though no program has them yet.
AWAITED = set()

TEXT = """
title = "Traffic"
source = "none"
setting = "none"
measure = "traffic"
unit = "MB"
cell = { protocol = "dh", threads = 2 }
columns = [
    { name = "2^8", cell = { receiver = 256, sender = 256 }, quick = true },
    { name = "2^9", cell = { receiver = 512, sender = 512, threads = 1 } },
    { name = "GPU", cell = { receiver = 512, sender = 512 }, cannot = "no GPU" },
]
[[rows]]
name = "dh"
paper = [0.5, nan, "~7"]
[[rows]]
name = "elsewhere"
cannot = "another machine"
[[rows]]
name = "small"
only = ["2^8"]
slow = true
[[rows]]
name = "later"
awaits = "not-in-the-registry"
"""

TIMES = """
title = "Time"
source = "a paper"
setting = "a machine"
measure = "time"
unit = "ms"
columns = [
    { name = "n", cell = { receiver = 4, sender = 4 }, quick = true },
    { name = "m", cell = { receiver = 8, sender = 8 } },
]
[[rows]]
name = "dh"
cell = { protocol = "dh" }
paper = [500.0, "~1000"]
[[rows]]
name = "gpu"
cannot = "no GPU"
paper = [1.5, nan]
[[rows]]
name = "later"
awaits = "not-in-the-registry"
"""


@functools.cache
def repository():
    """All definitions of the repository."""
    folder = HERE / "definitions"
    return definition.read_all(folder, definition.all_names(folder), NETWORKS, PROGRAM)


def parsed(text, name="a/b"):
    return definition.read_text(name, text, NETWORKS, PROGRAM)


def dh(items, **more):
    return {"protocol": "dh", "receiver": items, "sender": items} | more


@functools.cache
def bytes_of_dh(items):
    """What a run of `dh` sends."""
    return PROGRAM.describe([{"cell": dh(items)}])[0]["bytes"]


def line(wall_s, items=4, **more):
    """A run of `dh` in which the receiver took so long."""
    values = dict.fromkeys(record.COLUMNS, 0.0) | {"row": "a, b", "column": "2^8", "run": 1, "wall_s": wall_s}
    values |= {"sent_receiver": bytes_of_dh(items), "phases": "blind=0.01 compare=0.02", "sender_phases": "answer=0.1", "cell": key(dh(items))}
    return values | more


class Definitions(unittest.TestCase):
    def test_rows_and_columns_make_cells(self):
        dh_row, elsewhere, small, later = parsed(TEXT).rows
        cells = [entry.cell for entry in dh_row.entries]
        self.assertEqual(cells, [dh(256, threads=2), dh(512), None])
        self.assertEqual([(entry.paper, entry.estimated) for entry in dh_row.entries],
                         [(0.5, False), (None, False), (7.0, True)])
        self.assertEqual([entry.quick for entry in dh_row.entries], [True, False, False])
        self.assertEqual(dh_row.entries[2].cannot, "no GPU")
        self.assertFalse(any(entry.cell for entry in elsewhere.entries))
        self.assertTrue(small.entries[0].cell and not small.entries[1].cell and not small.entries[0].quick)
        self.assertEqual(later.cannot, "`not-in-the-registry` is not built yet")
        text = TEXT.replace('name = "dh"', 'name = "dh"\noverrides = { threads = 3 }')
        self.assertEqual([entry.cell and entry.cell["threads"] for entry in parsed(text).rows[0].entries], [3, 3, None])

    def test_a_row_runs_once_what_it_awaits_is_there(self):
        text = TEXT.replace("not-in-the-registry", "kkrt")
        chosen = parsed(text)
        self.assertEqual(chosen.rows[3].entries[0].cell["protocol"], "kkrt")
        definition.keep_protocols(chosen, ["kkrt"])
        self.assertEqual([sum(entry.cell is not None for entry in row.entries) for row in chosen.rows], [0, 0, 0, 2])
        # What it does not offer stands in the report, and is no error.
        refused = parsed(text.replace('awaits = "kkrt"', 'awaits = "kkrt"\ncell = { sigma = 32 }'))
        self.assertIn("kkrt", refused.rows[3].entries[0].cannot)

    def test_what_does_not_fit_is_told_with_its_place(self):
        for old, new, words in [
            ('"MB"', '"s"', "not measured"),
            ('"traffic"', '"luck"', "not measured"),
            ('[0.5, nan, "~7"]', "[0.5]", "1 figures for 3 columns"),
            ('"~7"', '"seven"', "row 'dh': 'seven'"),
            ('only = ["2^8"]', 'only = ["2^7"]', "no column '2^7'"),
            ('"dh", threads', '"dh2", threads', "row 'dh', column '2^8': there is no protocol named"),
            ("threads = 2", 'network = "moon"', "moon"),
            ("threads = 2", "thread = 2", "`thread`"),
            ("slow = true", "slwo = true", "unknown key 'slwo'"),
            ("slow = true", "slow = 1", "'slow' cannot be 1"),
            ("slow = true", "phases = [1]", "'phases' cannot be [1]"),
            ("slow = true", "cell = 3", "'cell' cannot be 3"),
            ("slow = true", 'party = "judge"', "no party 'judge'"),
            ('title = "Traffic"', "", "no 'title'"),
        ]:
            with self.subTest(new):
                self.assertIn(old, TEXT)
                with self.assertRaises(BenchError) as caught:
                    parsed(TEXT.replace(old, new))
                self.assertIn(words, str(caught.exception))
        with self.assertRaises(BenchError):
            parsed(re.sub(r"(?s)\[\[rows.*", "", TEXT).replace("cell = {", 'rows = "some"\ncell = {', 1))

    def test_parameters_are_computed(self):
        text = """
            title = "Parameters"
            source = "none"
            setting = "none"
            measure = "count"
            unit = "count"
            columns = [{ name = "n", cell = CELL }]
            [[rows]]
            name = "row"
        """
        for cell, value, slack in [
            ('{ program = "stash-by-regression", items = 256 }', 12, 0),
            ('{ program = "dt-rsa", operation = "long-exponents", items = 1024 }', 2048, 60),
            ('{ program = "dt-dl", operation = "long-exponents", items = 1024 }', 5000, 1000),
            ('{ program = "dt-dl", operation = "short-exponents", items = 1024 }', 0, 0),
            ('{ program = "garbled", protocol = "scs-wn", operation = "medium-exponents", items = 1024 }', 240, 100),
            ('{ program = "mebibytes", protocol = "scs-gmw", receiver = 256, sender = 256, sigma = 32 }', 10, 10),
        ]:
            computed = parsed(text.replace("CELL", cell)).rows[0].entries[0].value
            self.assertAlmostEqual(computed, value, delta=slack, msg=cell)
        for cell in [
            '{ program = "none", items = 256 }', '{ program = "stash" }', '{ program = "dt-dl", items = 256 }',
            '{ program = "dt-dl", operation = "none", items = 256 }', "{ items = 256 }",
            '{ program = "dt-dl", operation = "hashes", items = -4 }',
            '{ program = "dt-dl", operation = "hashes", items = 1.5 }',
            '{ program = "mebibytes", protocol = "scs-gmw", receiver = "256", sender = 256, sigma = 32 }',
            '{ program = "and-gates", protocol = "scs-gmw", receiver = 256, sender = 256, sigma = 32, private_gate = "x" }',
            '{ program = "bins", items = 0 }',
        ]:
            with self.assertRaises(BenchError, msg=cell):
                parsed(text.replace("CELL", cell))
            awaited = text.replace("CELL", cell).replace('name = "row"', 'name = "row"\nawaits = "scs-wn"')
            self.assertEqual(parsed(awaited).rows[0].entries[0].cannot, "no program tells it yet", cell)

    def test_every_definition_of_the_repository_is_well_formed(self):
        known = {cell["protocol"] for cell in PROGRAM.about["protocols"]}
        for one in repository():
            if one.plot is not None:
                self.assertTrue(all(column.x is not None for column in one.columns), f"{one.name}: x of a column")
            text = (HERE / f"definitions/{one.name}.toml").read_text(encoding="utf-8")
            awaited = re.findall(r'(?m)^awaits = "(.*)"$', text)
            self.assertLessEqual(set(awaited), known | AWAITED, f"{one.name}: if it is no slip, put the name into AWAITED")


class Schedules(unittest.TestCase):
    LIMITS = schedule.Limits(quick=False, runs=1, warm_up=False, run_budget_s=10, budget_s=100, memory=1 << 30)

    def limits(self, **more):
        return schedule.Limits(**(vars(self.LIMITS) | more))

    def task(self, cell, runs_done=0):
        return schedule.Task("", "", "", cell, PROGRAM.describe([{"cell": cell}])[0], runs_done)

    def test_cells_beyond_memory_or_time_are_refused(self):
        small, large = self.task(dh(1 << 10)), self.task(dh(1 << 26))
        self.assertIsNone(schedule.refusal(small, self.LIMITS, 9, 0))
        self.assertIn("11 s, more than 10 s", schedule.refusal(small, self.LIMITS, 11, 0))
        self.assertIn("only 5 s of the budget", schedule.refusal(small, self.LIMITS, 9, 95))
        self.assertIn("GB of 1.1 GB", schedule.refusal(large, self.LIMITS, 1, 0))

    def test_a_cell_of_several_tables_is_run_once_and_small_ones_first(self):
        again = TIMES.replace('name = "gpu"\ncannot = "no GPU"', 'name = "kkrt"\ncell = { protocol = "kkrt", threads = 1 }')
        both = [parsed(again, "one"), parsed(TIMES, "two")]
        chosen = [(task.definition, task.row, task.column) for task in schedule.tasks(both, False, [])]
        self.assertEqual(chosen, [("one", "dh", "n"), ("one", "kkrt", "n"), ("one", "dh", "m"), ("one", "kkrt", "m")])
        self.assertEqual([task.column for task in schedule.tasks(both, True, [])], ["n", "n"])

    def test_what_remains_is_counted(self):
        def remaining(limits, known):
            return tuple(schedule.remaining([parsed(TIMES)], limits, NETWORKS, known)["a/b"].values())

        self.assertEqual(remaining(self.limits(runs=3), []), (2, 6, 0))
        self.assertEqual(remaining(self.limits(runs=3), [line(0.01)]), (2, 5, 0))
        self.assertEqual(remaining(self.limits(memory=1), []), (0, 0, 2))
        self.assertEqual(remaining(self.limits(memory=1), [line(0.01)]), (0, 0, 1), "what has a run stays in the tables")

    def test_the_first_of_small_runs_is_warmed_up(self):
        thorough = self.limits(warm_up=True)
        for task, limits, warmed in [
            (self.task(dh(256)), self.LIMITS, False), (self.task(dh(256)), thorough, True),
            (self.task(dh(256), runs_done=1), thorough, False), (self.task(dh(1 << 20)), thorough, False),
        ]:
            self.assertEqual(schedule.needs_warm_up(task, limits), warmed)

    def test_a_larger_run_is_expected_to_take_longer_in_proportion(self):
        largest, task = schedule.Largest(NETWORKS, []), self.task(dh(1 << 16))
        self.assertEqual(largest.expected_s(task), 0, "nothing of its kind is known")
        largest.record(dh(1 << 14), schedule.SETUP_S + 2)
        largest.record(dh(1 << 12), 100)
        self.assertAlmostEqual(largest.expected_s(task), schedule.SETUP_S + 8)
        self.assertEqual(largest.expected_s(self.task(dh(1 << 16, tls=True))), 0, "another kind")
        slow = self.task(dh(1 << 16, network="hsdpa"))
        self.assertAlmostEqual(largest.expected_s(slow), slow.about["bytes"] * 4 / 3.6e6)

    def test_every_cell_has_a_turn_before_any_has_two_and_a_failed_one_is_left_out(self):
        played = []

        class Fake:
            def run(self, cell, _):
                played.append(cell["receiver"])
                if cell["receiver"] == 8:
                    raise RunFailed("it broke")
                party = {"wall_s": 0.5, "cpu_s": 0.25, "peak_bytes": 7, "sent": 3, "phases": [["blind", 0.5], ["idle", 0]]}
                return {"receiver": party, "sender": party, "helper": {"sent": 4}}

        text = TIMES.replace('name = "m", cell = { receiver = 8', 'name = "m", cell = { receiver = 16')
        text = text.replace("columns = [", 'columns = [{ name = "k", cell = { receiver = 8, sender = 8 } },')
        text = re.sub("paper = .*", "", text)
        with tempfile.TemporaryDirectory() as path:
            folder, said = record.Folder.open(f"{path}/2026-11-21-xeon-8", "0.1.0"), []
            ended = schedule.fill([parsed(text)], self.limits(runs=2), NETWORKS, Fake(), folder, said.append)
            self.assertEqual((ended, played), ((4, 0, 1), [4, 8, 16, 4, 16]))
            self.assertTrue(any("a/b: dh, k: FAILED: it broke" in one for one in said))
            first = folder.read_all()[0]
            self.assertEqual((first["row"], first["wall_s"], first["sent_sender"]), ("dh", 0.5, 7))
            self.assertEqual((first["phases"], first["cell"]), ("blind=0.5000", key(dh(4))))
            # What is recorded is not run again.
            self.assertEqual(schedule.fill([parsed(text)], self.limits(runs=1), NETWORKS, Fake(), folder, str)[0], 0)
            self.assertEqual(folder.machine_name, "xeon-8")
            self.assertIn("cores: ", folder.text("machine.txt"))


class Records(unittest.TestCase):
    def test_phases_are_read_back(self):
        self.assertEqual(record.phase_seconds("blind=0.5 exchange=1 blind=0.25", "blind"), 0.75)
        self.assertIsNone(record.phase_seconds("", "blind"))

    def test_a_record_is_named_by_its_day(self):
        self.assertRegex(record.default_name(), rf"^{record.today()}-[a-z0-9-]+$")

    def test_a_file_that_is_no_record_is_told(self):
        with tempfile.TemporaryDirectory() as path:
            Path(path, "a.csv").write_text("row,column\na,b\n", encoding="utf-8")
            with self.assertRaisesRegex(BenchError, "a.csv: it is no record of runs"):
                record.Folder(path).read_all()
            with self.assertRaisesRegex(BenchError, "no such folder"):
                record.Folder(f"{path}/none")

    def test_what_criterion_left_comes_into_the_record_and_the_report(self):
        with tempfile.TemporaryDirectory() as path:
            one = Path(path, "criterion/aes/counter/new")
            one.mkdir(parents=True)
            about = {"group_id": "aes", "function_id": "counter mode", "throughput": {"Elements": 1024}}
            (one / "benchmark.json").write_text(json.dumps(about), encoding="utf-8")
            interval = {"lower_bound": 1000.0, "upper_bound": 1100.0}
            median = {"median": {"confidence_interval": interval, "point_estimate": 1024.0}}
            (one / "estimates.json").write_text(json.dumps(median), encoding="utf-8")
            folder = record.Folder.open(f"{path}/record", "0.1.0")
            self.assertEqual(folder.blocks(), [])
            folder.keep_blocks(record.collect_blocks(f"{path}/criterion"))
            self.assertEqual(folder.read_all(), [], "blocks are no runs")
            table = pages.building_blocks(folder.blocks(), [Benchmark("aes", "counter mode")])
            self.assertIn("| aes: counter mode | **1.00** | 0.977–1.07 | 1024 |", table)
            (one / "estimates.json").write_text("{", encoding="utf-8")
            with self.assertRaises(BenchError):
                record.collect_blocks(f"{path}/criterion")

    def test_no_run_of_the_record_was_faster_than_its_round_trips(self):
        """`vesica plan` adds half a round trip for each flight; a faster run would show that there are fewer flights."""
        runs = record.by_cell(record.Folder(RECORDS[0]).read_all())
        delayed = 0
        for text, about in zip(runs, PROGRAM.describe([{"circuit": json.loads(text)} for text in runs])):
            network = NETWORKS.get(json.loads(text).get("network"))
            waiting_s = about["flights"] / 2 * network.round_trip_ms * 1e-3 if network else 0
            self.assertGreaterEqual(min(one["wall_s"] for one in runs[text]), waiting_s, text)
            delayed += len(runs[text]) if waiting_s else 0
        self.assertGreater(delayed, 100)


class Pages(unittest.TestCase):
    def report(self, main, beside=(), text=TIMES, alone=traffic.Traffic()):
        """The report of runs on one machine, and on another, and of traffic that was measured alone."""
        folders = []
        for name, lines in {"2026-11-21-zen": main, "2026-11-22-xeon": beside}.items():
            folder = record.Folder.open(f"{self.enterContext(tempfile.TemporaryDirectory())}/{name}", "0.1.0")
            for one in lines:
                folder.append("a/b", one)
            folders.append(folder)
        page = folders[0].path / "page.md"
        return pages.Report([parsed(text)], folders[0], folders[1:] if beside else [], alone, NETWORKS, PROGRAM, page)

    def table(self, *args, **more):
        report = self.report(*args, **more)
        return report.table(report.definitions[0])

    def test_a_table_shows_paper_ours_and_ratio_and_nothing_without_a_figure(self):
        runs = [line(0.1), line(0.3), line(0.25)]
        text = self.table(runs)
        self.assertIn("| dh | 500 → **250** (0.500×) | ~1000 |", text)
        self.assertIn("| gpu | 1.5 | – |", text)
        self.assertIn("- Not run here: gpu: no GPU.", text)
        self.assertNotIn("later", text)
        self.assertIn("not shown: `not-in-the-registry`.", self.report(runs).group("", [parsed(TIMES)]))
        self.assertIn("**250**¹", self.table([line(0.25)]), "a single run is marked")
        # Without the paper's figures: a row, a column and a table without a figure of ours are not there.
        bare = re.sub("paper = .*", "", TIMES)
        self.assertIn("| | n |\n|---|---|\n| dh | **250** |\n\n", self.table(runs, text=bare))
        self.assertIsNone(self.table([], text=bare))

    def test_figures_of_another_machine_have_its_name(self):
        others = [line(1.0), line(2.0, items=8)]
        both = ["500 → **250**¹ (0.500×); **1000**¹ _xeon_ (2.00×)", "~1000 → **2000**¹ _xeon_ (2.00×)"]
        self.assertIn(f"| dh | {' | '.join(both)} |", self.table([line(0.25)], others))
        # Bytes are those of any machine: one figure is enough.
        traffic = TIMES.replace('"time"', '"traffic"').replace('"ms"', '"bytes"')
        self.assertEqual(self.table([line(0.25)], others, text=traffic).count("_xeon_"), 1)

    def test_rows_and_columns_of_phases_sum_them(self):
        row = TIMES.replace('name = "dh"', 'name = "dh"\nphases = ["compare", "blind"]')
        self.assertIn("**30.0**", self.table([line(0.1)], text=row))
        sender = row.replace("[\"compare\", \"blind\"]", '["answer"]\nparty = "sender"')
        self.assertIn("**100**", self.table([line(0.2)], text=sender))
        column = TIMES.replace('sender = 8 }', 'sender = 8 }, phases = ["compare"]')
        self.assertIn("~1000 → **20.0**", self.table([line(0.1, items=8)], text=column))
        column = column.replace('"compare"', '"evaluate"')
        self.assertIn("| ~1000 |", self.table([line(0.1, items=8)], text=column), "no such phase")

    def test_the_page_keeps_what_is_outside_the_markers(self):
        with tempfile.TemporaryDirectory() as path:
            page, (begin, end) = Path(path, "page.md"), pages.MARKERS
            page.write_text(f"before\n{begin}\nold\n{end}\nafter\n", encoding="utf-8")
            self.assertEqual(pages.spliced(page, "new\n"), f"before\n{begin}\n\nnew\n{end}\nafter\n")
            page.write_text("no markers", encoding="utf-8")
            with self.assertRaises(BenchError):
                pages.spliced(page, "new")

    def test_long_lines_are_cut_between_words(self):
        words = "word " * 40
        self.assertEqual([len(one) for one in pages.wrapped(f"- {words.strip()}").split("\n")], [116, 86])
        self.assertEqual(pages.wrapped(f"| {words}"), f"| {words}")

    def test_three_digits_are_shown(self):
        texts = {0.0: "0", 0.012345: "0.0123", 1.0: "1.00", 12.34: "12.3", 123.4: "123", 123456.0: "123000"}
        self.assertEqual([figures.short(value) for value in texts], list(texts.values()))
        texts = {500.0: "500", 0.1: "0.1", 2e16: "20000000000000000", 1e-6: "0.000001"}
        self.assertEqual([figures.plain(value) for value in texts], list(texts.values()))

    def test_the_pages_of_the_repository_and_the_times_of_plan_are_those_of_the_records(self):
        page = ROOT / "docs/benchmarks.md"
        made_by = re.search("(?s)Made by `(.*?)`", page.read_text(encoding="utf-8"))[1].replace("\n", " ")
        main, *beside = (record.Folder(ROOT / path) for path in re.findall("--(?:record|beside) ([^ ]+)", made_by))
        self.assertEqual({folder.path for folder in (main, *beside)}, set(RECORDS))
        made = pages.Report(repository(), main, beside, TRAFFIC, NETWORKS, PROGRAM, page).texts(made_by)
        self.assertEqual(len(made), 1 + len(pages.GROUPS) + 1 + 2 * len(RECORDS))
        for path, text in made.items():
            committed = path.read_text(encoding="utf-8")
            if path.name == record.FIGURES:
                # Bounds follow the registry's formulas from day to day.
                committed, text = ([{**row, "bound": ""} for row in csv.DictReader(form.splitlines())]
                                   for form in (committed, text))
            self.assertEqual(committed, text, f"{path}: {made_by}")


class Runs(unittest.TestCase):
    """The program itself, with the real protocols."""

    def run_py(self, *args):
        command, environment = [sys.executable, "benchmarks/run.py", *args], os.environ | {"VESICA_PROGRAM": PROGRAM_PATH}
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)

    def test_every_protocol_runs_is_recorded_once_and_reported(self):
        names = {cell["protocol"] for cell in PROGRAM.about["protocols"]}
        with tempfile.TemporaryDirectory() as path:
            path, folder = Path(path), Path(path, "record")
            args = ("run", EVERYTHING, "--record", str(folder), "--allow-debug")
            first = self.run_py(*args)
            self.assertEqual(first.returncode, 0, first.stderr)
            self.assertIn(f"`python3 benchmarks/run.py report --record {folder} --page tables.md`", first.stderr)
            recorded = (folder / "vesica-all-at-2-8.csv").read_text(encoding="utf-8")
            rows = [one["row"] for one in csv.DictReader(recorded.splitlines())]
            self.assertEqual((sorted(rows), len(rows)), (sorted(names), len(names)))
            # What the record holds is not run again.
            self.assertEqual(self.run_py(*args).returncode, 0)
            self.assertEqual((folder / "vesica-all-at-2-8.csv").read_text(encoding="utf-8"), recorded)
            left = self.run_py(*args, "--dry-run", "--runs", "2", "--run-budget", "1h").stdout.splitlines()
            self.assertEqual(left[-1].split()[:3], [str(len(names)), str(len(names)), "0"])

            # A page that is not there is made.
            report = self.run_py("report", "--record", str(folder), "--page", str(path / "page.md"))
            self.assertEqual(report.returncode, 0, report.stderr)
            self.assertIn("(page/vesica.md)", (path / "page.md").read_text(encoding="utf-8"))
            tables = (path / "page/vesica.md").read_text(encoding="utf-8")
            self.assertEqual([name for name in names if f"| {name} | **" not in tables], [])
            # Every figure of the tables is in the file that the pictures are drawn from.
            drawn = (folder / "figures.csv").read_text(encoding="utf-8")
            self.assertEqual([name for name in names if f",{name},2^8," not in drawn], [])

    def test_what_no_budget_is_left_for_is_told_and_left_out(self):
        with tempfile.TemporaryDirectory() as path:
            ended = self.run_py("run", EVERYTHING, "--budget", "0s", "--record", path, "--allow-debug")
            count = len(PROGRAM.about["protocols"])
            self.assertEqual((ended.returncode, ended.stderr.count("s of the budget are left")), (0, count), ended.stderr)
            self.assertIn(f"0 runs recorded, {count} cells skipped, 0 failed", ended.stderr)
            self.assertIn("--budget 0s", Path(path, "commands.txt").read_text(encoding="utf-8"))

    def test_what_cannot_be_run_is_told(self):
        for args, words in [
            (["run", "--record", "/tmp"], "name a definition"),
            (["run", "no/such"], "no/such.toml"),
            (["run", EVERYTHING, "--protocol", "nothing"], "no protocol named 'nothing'"),
            (["run", EVERYTHING, "--program", "/nonexistent"], "/nonexistent: No such file"),
            (["run", EVERYTHING, "--budget", "soon"], "90s, 12m or 2h"),
            (["report", "--record", "/nonexistent"], "no such folder"),
            (["blocks", "--criterion", "/nonexistent", "--record", "/tmp"], "run `make bench-blocks` first"),
        ]:
            ended = self.run_py(*args)
            self.assertNotEqual(ended.returncode, 0, args)
            self.assertIn(words, ended.stderr)
            self.assertNotIn("Traceback", ended.stderr)

    def test_a_run_is_told_apart_from_a_wrong_cell(self):
        pair = PROGRAM.run(dh(64, learns="both", network="lan", tls=True), 60)
        self.assertEqual((pair["receiver"]["matches"], pair["sender"]["matches"], pair["helper"]), (16, 16, None))
        with self.assertRaises(RunFailed):
            PROGRAM.run(dh(1 << 14, protocol="blind-rsa"), 1)
        with self.assertRaisesRegex(BenchError, "no network"):
            PROGRAM.run(dh(64, network="moon"), 60)


if __name__ == "__main__":
    unittest.main()
