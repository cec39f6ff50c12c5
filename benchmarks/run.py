"""Runs the papers' tables again, and writes the pages of a record: `python3 benchmarks/run.py --help`.

docs/benchmarks.md tells how to measure again. Python 3.11 and the program `vesica` are all that is needed.
"""

import sys

if sys.version_info < (3, 11):
    sys.exit("benchmarks/run.py takes Python 3.11 or later")

import argparse
import os
import re
import subprocess
from pathlib import Path

from tables import definition, record, schedule, traffic
from tables.pages import Report, spliced
from tables.program import BenchError, Program

ROOT = Path(os.path.relpath(Path(__file__).resolve().parent.parent))
HERE = ROOT / "benchmarks"
NETWORKS, DEFINITIONS, RECORDS = HERE / "networks.toml", HERE / "definitions", HERE / "record"

# Seconds for one run, and for all runs. The quick profile must end within 15 minutes.
BUDGETS = {"quick": (10, 12 * 60), "full": (60, 1 << 30)}


def say(message):
    print(message, file=sys.stderr, flush=True)


def seconds(text):
    """A time such as 90s, 12m or 2h."""
    found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)([smh]?)", text)
    if not found or float(found[1]) >= 1e9:
        raise argparse.ArgumentTypeError("write a time such as 90s, 12m or 2h")
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


def times(text):
    """A number of runs."""
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError("write a number from 1 to 1000")
    return int(text)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = os.environ.get("VESICA_PROGRAM", ROOT / "target/release/vesica")
    commands = parser.add_subparsers(dest="command", required=True)
    program = argparse.ArgumentParser(add_help=False)
    program.add_argument("--program", default=usual, help="the program [default: $VESICA_PROGRAM, or %(default)s]")
    page = argparse.ArgumentParser(add_help=False)
    page.add_argument("--page", type=Path, default=ROOT / "docs/benchmarks.md", metavar="FILE",
                      help="the page of results, made if it is not there; a page of tables for each paper goes into a "
                           "folder of its name beside it [default: %(default)s]")
    run = commands.add_parser("run", parents=[program, page], help="run the cells that the record does not hold yet")
    run.add_argument("definitions", nargs="*", metavar="DEFINITION",
                     help="by its path below benchmarks/definitions: pssz15/table-08")
    run.add_argument("--all", action="store_true", help="all definitions; the pages are written, too")
    run.add_argument("--protocol", action="append", default=[], metavar="NAME",
                     help="only the cells of this protocol; may be given several times; no pages are written")
    run.add_argument("--profile", choices=list(BUDGETS), default="quick",
                     help="one run of the smaller columns within 15 minutes, or a warm-up and three runs of all that memory "
                          "and the budgets allow [default: quick]")
    run.add_argument("--runs", type=times, metavar="N", help="runs of each cell [default: 1 quick, 3 full]")
    run.add_argument("--budget", type=seconds, metavar="TIME",
                     help="time for everything: 90s, 12m, 2h; what does not fit is left out [default: 12m quick, none full]")
    run.add_argument("--run-budget", type=seconds, metavar="TIME",
                     help="time that one run may take, judged by a smaller run of its kind [default: 10s quick, 60s full]")
    run.add_argument("--dry-run", action="store_true", help="only show what would be run")
    run.add_argument("--record", type=Path, metavar="FOLDER",
                     help="the folder of this machine's record [default: a new one of today in benchmarks/record]")
    run.add_argument("--allow-debug", action="store_true", help="measure a debug build anyway")
    report = commands.add_parser("report", parents=[program, page], help="write the pages of a record")
    report.add_argument("--record", type=Path, metavar="FOLDER",
                        help="the folder of the record [default: the last one in benchmarks/record]")
    report.add_argument("--beside", type=Path, action="append", default=[], metavar="FOLDER",
                        help="the record of another machine, whose figures stand beside with its name; may be repeated")
    alone = commands.add_parser("traffic", parents=[program],
                                help="measure again, without any time, what cells send of which the record is outdated")
    alone.add_argument("--unmeasured", action="store_true", help="and of cells that no record has")
    alone.add_argument("--run-budget", type=seconds, default=60.0, metavar="TIME",
                       help="a run that takes longer is stopped [default: 60s]")
    alone.add_argument("--budget", type=seconds, default=float(1 << 30), metavar="TIME",
                       help="time for everything [default: none]")
    alone.add_argument("--dry-run", action="store_true", help="only show which cells these are")
    blocks = commands.add_parser("blocks", help="add what `make bench-blocks` measured to a record")
    blocks.add_argument("--criterion", type=Path, default=ROOT / "target/blocks/criterion", metavar="FOLDER",
                        help="the folder that criterion filled [default: %(default)s]")
    blocks.add_argument("--record", type=Path, required=True, metavar="FOLDER")
    args = parser.parse_args()
    if args.command == "run" and bool(args.definitions) == args.all:
        run.error("name a definition, or give `--all`")
    return args


def run(args):
    """Runs definitions."""
    networks = definition.read_networks(NETWORKS)
    program = Program(args.program, NETWORKS, args.allow_debug)
    chosen = definition.read_all(DEFINITIONS, args.definitions or definition.all_names(DEFINITIONS), networks, program)
    if args.protocol:
        known = {cell["protocol"] for cell in program.about["protocols"]}
        if absent := [name for name in args.protocol if name not in known]:
            why = program.about["left_out"].get(absent[0], f"there is no protocol named {absent[0]!r}")
            raise BenchError(f"--protocol: {why}")
        for one in chosen:
            definition.keep_protocols(one, args.protocol)
    quick = args.profile == "quick"
    run_budget_s, budget_s = (given if given is not None else usual
                              for given, usual in zip((args.run_budget, args.budget), BUDGETS[args.profile]))
    limits = schedule.Limits(quick, args.runs or (1 if quick else 3), not quick, run_budget_s, budget_s,
                             program.about["memory"])
    path = args.record or RECORDS / record.default_name()
    say(f"the record: {path}")
    if args.dry_run:
        lines = record.Folder(path).read_all() if path.is_dir() else []
        return tell(schedule.remaining(chosen, limits, networks, lines))
    if not program.about["optimised"]:
        if not args.allow_debug:
            raise BenchError("this program is not optimised: its figures mean nothing; build a release")
        say("WARNING: this program is not optimised; its figures mean nothing")
    if args.all and not args.protocol:
        spliced(args.page, "")
    version = program.about["version"]
    folder = record.Folder.open(path, version)
    folder.note_command(command_line(version))
    runs, skipped, failed = schedule.fill(chosen, limits, networks, program, folder, say)
    say(f"{runs} runs recorded, {skipped} cells skipped, {failed} failed")
    if args.all and not args.protocol:
        write(folder, [], networks, program, args.page)
    else:
        command = f"python3 {HERE}/run.py report --record {path} --page tables.md"
        say(f"the tables, with the papers' figures: `{command}`")
    if failed:
        raise BenchError(f"{failed} runs failed, see above")


def tell(remaining):
    """What is left to run, a definition a line."""
    total = {name: sum(one[name] for one in remaining.values()) for name in ("cells", "runs", "skipped")}
    print("cells  runs  skipped  definition")
    for name, one in [*sorted(remaining.items()), ("all, without warm-ups", total)]:
        print(f"{one['cells']:>5}  {one['runs']:>4}  {one['skipped']:>7}  {name}")


def measure_traffic(args):
    """Measures what cells of tables of traffic send, where no record has it as it is today."""
    networks = definition.read_networks(NETWORKS)
    program = Program(args.program, NETWORKS, allow_debug=True)
    definitions = definition.read_all(DEFINITIONS, definition.all_names(DEFINITIONS), networks, program)
    known = [line for path in RECORDS.iterdir() if path.is_dir() for line in record.Folder(path).read_all()]
    alone = traffic.Traffic(RECORDS / traffic.NAME)
    entries = traffic.outdated(definitions, known, alone, args.unmeasured)
    if args.dry_run:
        print("\n".join(traffic.bare(entry.cell) for entry in entries))
        return
    limits = schedule.Limits(False, 1, False, args.run_budget, args.budget, program.about["memory"])
    counts = traffic.measure(entries, limits, program, alone, revision(), say)
    say(", ".join(f"{count} {what}" for what, count in counts.items()))


def revision():
    """The revision of the sources; empty outside a repository."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=HERE)
    return found.stdout.strip() if found.returncode == 0 else ""


def command_line(version):
    """Day, version, revision and what was typed."""
    of = f", revision {revision()}" if revision() else ""
    return f"{record.today()}, vesica {version}{of}: python3 benchmarks/run.py {' '.join(sys.argv[1:])}"


def report(args):
    """Writes the pages of a record."""
    path = args.record or max((path for path in RECORDS.iterdir() if path.is_dir()), default=RECORDS / "none")
    beside = [record.Folder(one) for one in args.beside]
    networks = definition.read_networks(NETWORKS)
    write(record.Folder(path), beside, networks, Program(args.program, NETWORKS), args.page)


def write(folder, beside, networks, program, page):
    """The pages of a record, of all definitions."""
    definitions = definition.read_all(DEFINITIONS, definition.all_names(DEFINITIONS), networks, program)
    others = "".join(f" --beside {one.path}" for one in beside)
    command = f"python3 benchmarks/run.py report --record {folder.path}{others} --page {page}"
    alone = traffic.Traffic(RECORDS / traffic.NAME)
    Report(definitions, folder, beside, alone, networks, program, page).write(command)
    say(f"the report: {page}")


def blocks(args):
    """Takes building blocks into a record."""
    found = record.collect_blocks(args.criterion)
    if not found:
        raise BenchError(f"{args.criterion} holds no results: run `make bench-blocks` first")
    record.Folder(args.record).keep_blocks(found)
    say(f"{len(found)} building blocks in {args.record}")


if __name__ == "__main__":
    try:
        given = arguments()
        {"run": run, "report": report, "traffic": measure_traffic, "blocks": blocks}[given.command](given)
    except (BenchError, OSError) as error:
        sys.exit(f"benchmarks/run.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
