"""Applies each mutant of the lists beside this file to a copy of the tree, and reports those that no test notices.

    python3 mutants/run.py [WORD ...]     all mutants, or those whose list or name has one of the words
    python3 mutants/run.py --fit          only whether each edit still fits the tree

A mutant is a one-line slip that gives a secret away, drops a check or a bound. Its entry names the test that must fail.
The snapshot of the wire (`wire_digest`) is no such test: every change moves it.

An entry, in `mutants/AREA.toml`:

    [[mutant]]
    name = "no-check-of-the-proof"     what the mutant does
    file = "crates/…/sender.rs"
    old = "proof.check(&challenge)?;"  stands in the file exactly once
    new = ""
    test = "-p vesica-protocols --lib dkt10"    arguments of `cargo test`
    caught_by = "a_wrong_proof_is_refused"      part of the failing test's name

`[[mutant.also]]` has further edits (file, old, new) of the same mutant.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "mutants"
TREE = WORK / "tree"
# These are compiled for each mutant, and spend less in their tests than in the optimiser.
QUICK = ["vesica", "vesica-cli", "vesica-net", "vesica-protocols", "vesica-table"]
# A mutant may make two parties wait for each other.
LIMIT_S = 900


def mutants(words):
    for path in sorted(ROOT.glob("mutants/*.toml")):
        for mutant in tomllib.loads(path.read_text())["mutant"]:
            mutant["list"] = path.stem
            if not words or any(word in f"{path.stem}/{mutant['name']}" for word in words):
                yield mutant


def copy_tree():
    """The files that git tracks, as they are in the working tree. Those that stand already keep their times."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    names = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    for path in [path for path in TREE.rglob("*") if path.is_file() and str(path.relative_to(TREE)) not in names]:
        path.unlink()
    for name in names:
        source, target = ROOT / name, TREE / name
        if not target.exists() or source.read_bytes() != target.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            shutil.copymode(source, target)


def edits(mutant):
    return [mutant, *mutant.get("also", [])]


def changed(mutant, tree):
    """The files before and after its edits, or None if an edit does not fit."""
    before = {edit["file"]: (tree / edit["file"]).read_text() for edit in edits(mutant)}
    after = dict(before)
    for edit in edits(mutant):
        if after[edit["file"]].count(edit["old"]) != 1:
            return None
        after[edit["file"]] = after[edit["file"]].replace(edit["old"], edit["new"])
    return before, after


def write(files):
    for file, text in files.items():
        (TREE / file).write_text(text)


def cargo(arguments):
    """Runs the tests: (whether they were built, the names of those that failed, whether all ended in time)."""
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(WORK / "build"),
        "CARGO_INCREMENTAL": "1",
        "VESICA_PROGRAM": str(WORK / "build/ci/vesica"),
        "RUSTFLAGS": "-Awarnings",
    }
    quick = [f"--config=profile.ci.package.{package}.opt-level=1" for package in QUICK]
    command = [os.environ.get("CARGO", "cargo"), "test", "--locked", "--profile", "ci", *quick, *arguments.split()]
    process = subprocess.Popen(
        command,
        cwd=TREE,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return True, [], False
    failed = re.findall(r"^test (.+?) \.\.\. FAILED", output, re.MULTILINE)
    built = process.returncode == 0 or bool(re.search(r"^running \d+ test", output, re.MULTILINE))
    if not failed and process.returncode != 0:
        # A program that was killed by a signal ends before it names a test.
        print("\n".join(output.splitlines()[-15:]))
    return built, failed, True


def verdict(mutant):
    before, after = changed(mutant, TREE)
    write(after)
    try:
        built, failed, ended = cargo(mutant["test"])
    finally:
        write(before)
    if not built:
        return "DOES NOT BUILD"
    if not ended:
        return "HANGS"
    if not failed:
        return "SURVIVES"
    if not any(mutant["caught_by"] in name for name in failed):
        return f"CAUGHT BY ANOTHER: {', '.join(failed)}"
    return "caught"


def main():
    only_fit = sys.argv[1:] == ["--fit"]
    words = [] if only_fit else sys.argv[1:]
    chosen = sorted(mutants(words), key=lambda mutant: (mutant["test"], mutant["file"]))
    stale = [mutant["name"] for mutant in chosen if changed(mutant, ROOT) is None]
    if stale:
        sys.exit(f"not once in the file it names, what these mutants replace: {', '.join(stale)}")
    if only_fit:
        return
    start = time.monotonic()
    copy_tree()
    for arguments in dict.fromkeys(mutant["test"] for mutant in chosen):
        built, failed, ended = cargo(arguments)
        if not built or failed or not ended:
            sys.exit(f"without a mutant `cargo test {arguments}` fails: {failed}")
    open_ones = []
    for mutant in chosen:
        said = verdict(mutant)
        print(f"{mutant['list']}/{mutant['name']}: {said}", flush=True)
        if said != "caught":
            open_ones.append(mutant["name"])
    print(f"{len(chosen) - len(open_ones)} of {len(chosen)} caught ({time.monotonic() - start:.0f} s)")
    if open_ones:
        sys.exit(f"not caught: {', '.join(open_ones)}")


if __name__ == "__main__":
    main()
