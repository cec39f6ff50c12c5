"""The program `vesica`: what it says of cells, and the runs that it makes."""

import json
import subprocess

# The exit code of `vesica bench once` if a party ended without a measurement.
PARTY_FAILED = 69


class BenchError(Exception):
    """A benchmark that could not be read, run or recorded."""


class RunFailed(BenchError):
    """A run that ended without a measurement; others may succeed."""


def key(cell):
    """A cell as a record writes it: the JSON form of the program, which leaves out defaults."""
    return json.dumps(cell, separators=(",", ":"), ensure_ascii=False)


class Program:
    """The program at that path. It says what it is, which protocols it has, and how much memory a run may take."""

    def __init__(self, path, networks, allow_debug=False):
        self.path, self.networks, self.allow_debug = str(path), networks, allow_debug
        self.about = self._describe([])

    def _describe(self, queries):
        ended = self._call(["describe"], json.dumps(queries, default=str))
        if ended.returncode != 0:
            raise BenchError(ended.stderr.strip() or f"{self.path} ended with code {ended.returncode}")
        return json.loads(ended.stdout)

    def describe(self, queries):
        """What the program says of each cell, circuit or parameter; of one that it does not offer, an `error`."""
        keys = [json.dumps(query, default=str) for query in queries]
        distinct = dict(zip(keys, queries))
        answers = dict(zip(distinct, self._describe(list(distinct.values()))["answers"]))
        return [answers[one] for one in keys]

    def run(self, cell, time_limit_s):
        """One run of a cell: what each party measured. A run that takes longer is stopped."""
        words = ["once", "--cell", key(cell), "--runs", "1", "--json", "--time-limit", f"{time_limit_s:.0f}s"]
        words += ["--benchmarks", str(self.networks.parent), *(["--allow-debug"] if self.allow_debug else [])]
        ended = self._call(words)
        if ended.returncode == 0:
            return json.loads(ended.stdout)
        message = ended.stderr.strip().removeprefix("vesica bench: ")
        message = message or f"{self.path} ended with code {ended.returncode}"
        raise (RunFailed if ended.returncode == PARTY_FAILED else BenchError)(message)

    def _call(self, words, text=""):
        try:
            return subprocess.run([self.path, "bench", *words], input=text, capture_output=True, text=True)
        except OSError as error:
            how = "build it with `cargo build --release --locked -p vesica-cli --features exhibits`"
            raise BenchError(f"{self.path}: {error.strerror}; {how}") from error
