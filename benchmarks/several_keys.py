"""Times a run by three rules (`--match`) against one of as many keys by one rule, over people with the mistakes of forms.

    pip install pseudopeople==1.3.1 duckdb==1.4.2
    python benchmarks/several_keys.py VESICA --log-rows 20 --runs 3

The two tables are the same people, written down twice: pseudopeople's sample population (Social Security and census), each
time with mistakes of another seed, repeated under other names and numbers up to 2^N rows; each side has three quarters of
them. The rows and their rules are compared with a plain join in DuckDB, which tries the rules one after the other.
"""

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# pseudopeople imports another package that is called `tables`.
sys.path = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]

import duckdb  # noqa: E402
import pseudopeople  # noqa: E402

RULES = ["ssn:text", "first:text + last:text + born:text", "last:text + street:text + zip:text"]
KEYS = ["ssn", "first || '|' || last || '|' || born", "last || '|' || street || '|' || zip"]
COLUMNS = ["ssn", "first", "last", "born", "street", "zip"]


def people(seed):
    """The sample population as one of the two sides wrote it down."""
    common = {"seed": seed, "verbose": False}
    # By default one number in a hundred is missing; here everybody has another reason not to give it.
    blank = {"social_security": {"column_noise": {"ssn": {"leave_blank": {"cell_probability": 0.3}}}}}
    security = pseudopeople.generate_social_security(year=2029, config=blank, **common)
    security = security[security.event_type == "creation"].drop_duplicates("simulant_id").set_index("simulant_id")
    census = pseudopeople.generate_decennial_census(year=2020, **common).drop_duplicates("simulant_id")
    census = census.set_index("simulant_id")
    table = security[["ssn", "first_name", "last_name", "date_of_birth"]].join(
        census[["street_name", "zipcode"]], how="inner"
    )
    table.columns = COLUMNS
    return table.sort_index().astype("string").fillna("")


def write(path, table, rows, skipped):
    """The population again and again, without one of four: each copy is of other people."""
    lines = list(table.itertuples(index=False, name=None))
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *COLUMNS])
        for row in range(rows):
            copy, at = divmod(row, len(lines))
            if row % 4 != skipped:
                ssn, first, last, *rest = lines[at]
                writer.writerow([row, ssn and f"{ssn}{copy}", first, last and f"{last} {copy}", *rest])


def write_keys(path, source):
    """A table of one column with all keys of that table: as many keys under one rule."""
    read = f"read_csv('{source}', all_varchar=true)"
    parts = [f"select {number} || '|' || {key} as k from {read} where {present(key)}" for number, key in enumerate(KEYS)]
    duckdb.sql(f"copy ({' union all '.join(parts)}) to '{path}' (header)")


def present(key):
    return " and ".join(f"{column} is not null" for column in COLUMNS if column in key.split())


def waterfall(mine, theirs):
    """Row and rule of each of mine that matches, by the first rule that hits."""
    tables = [f"read_csv('{path}', all_varchar=true)" for path in (mine, theirs)]
    cases = []
    for number, key in enumerate(KEYS):
        there = f"select lower({key}) from {tables[1]} where {present(key)}"
        cases.append(f"when {present(key)} and lower({key}) in ({there}) then {number}")
    rows = duckdb.sql(f"select id::bigint, case {' '.join(cases)} end as rule from {tables[0]}").fetchall()
    return sorted((row, rule) for row, rule in rows if rule is not None)


def run(program, folder, tables, keys, threads):
    """Seconds and report of a run between both tables in one process."""
    report, output = folder / "report.json", folder / "out.csv"
    report.unlink(missing_ok=True)
    names = ["--receiver", f"{tables[0]}.csv", "--sender", f"{tables[1]}.csv", "--threads", str(threads)]
    command = [program, "local", *names, *keys, "--output", str(output), "--report", str(report), "--quiet"]
    start = time.monotonic()
    subprocess.run(command, cwd=folder, check=True)
    return time.monotonic() - start, json.loads(report.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--log-rows", type=int, default=20)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    program = str(arguments.program.resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for side, seed in (("mine", 1), ("theirs", 2)):
            write(folder / f"{side}.csv", people(seed), 1 << arguments.log_rows, seed)
            write_keys(folder / f"{side}-keys.csv", folder / f"{side}.csv")
        rules = [part for rule in RULES for part in ("--match", rule)]
        times = {"three rules": [], "one rule, as many keys": []}
        for _ in range(arguments.runs):
            seconds, report = run(program, folder, ("mine", "theirs"), rules, arguments.threads)
            times["three rules"].append(seconds)
            with open(folder / "out.csv", newline="", encoding="utf-8") as file:
                found = sorted((int(row["id"]), RULES.index(row["matched_by"])) for row in csv.DictReader(file))
            expected = waterfall(folder / "mine.csv", folder / "theirs.csv")
            assert found == expected, f"{len(found)} rows instead of {len(expected)}"
            seconds, alone = run(program, folder, ("mine-keys", "theirs-keys"), ["--key", "k:text"], arguments.threads)
            times["one rule, as many keys"].append(seconds)
        rows = report["sizes"]["rows"]
        print(f"{rows} rows a side, {report['sizes']['items']} keys ({alone['sizes']['items']} by one rule)")
        for counts in report["match_rules"]:
            print(f"  {counts['matching_rows']:>8} rows match by {counts['rule']}, of {counts['keys']} with a key")
        medians = {}
        for name, seconds in times.items():
            medians[name] = statistics.median(seconds)
            print(f"{name}: {medians[name]:.2f} s ({min(seconds):.2f} to {max(seconds):.2f})")
        print(f"ratio {medians['three rules'] / medians['one rule, as many keys']:.2f}")


if __name__ == "__main__":
    main()
