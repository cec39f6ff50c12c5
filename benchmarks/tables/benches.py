"""The benchmarks of building blocks that are made today, read from the sources in benchmarks/blocks/benches."""

import re
from dataclasses import dataclass

# A name in the sources: a text, `format!` of one with places in braces, or a variable.
NAMED = re.compile(
    r"""\.(benchmark_group|bench_function)\(\s*(?:format!\(\s*)?(?:"((?:[^"\\]|\\.)*)"|(\w+))""")
PLACE = re.compile(r"\{[^}]*\}")


@dataclass(frozen=True)
class Benchmark:
    """A benchmark, or several that differ in what stands at a place in braces."""

    group: str
    name: str

    def makes(self, block):
        """Whether it makes this block of a record."""
        return all(re.fullmatch(".+".join(map(re.escape, PLACE.split(text))), block[field])
                   for field, text in (("group", self.group), ("name", self.name)))

    def __str__(self):
        return re.sub("…+", "…", f"{PLACE.sub('…', self.group)}: {PLACE.sub('…', self.name)}")


def benchmarks(folder):
    """The benchmarks of the sources in that folder, in their order."""
    found = {}
    for path in sorted(folder.glob("*.rs")):
        group = None
        for kind, text, variable in NAMED.findall(path.read_text(encoding="utf-8")):
            name = text or f"{{{variable}}}"
            if kind == "benchmark_group":
                group = name
            elif group is not None:
                found[Benchmark(group, name)] = None
    return list(found)
