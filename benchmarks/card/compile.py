"""Compiles the kernels of `crates/kernels/src/cuda` for a card, without one, and says what they take.

    pip install nvidia-cuda-nvrtc==13.5.* nvidia-cuda-nvdisasm==13.5.*
    python benchmarks/card/compile.py [--kind sm_90] [--output FILE]

One line a kernel: registers, bytes of stack and of spills and, where nvdisasm is installed, instructions. It ends with 1
if the text does not compile or a kernel spills registers. `--output` keeps the machine code, which `Card::open_with`
takes.

`--emulate` then runs the kernels' PTX on an interpreter (`ptx.py`), a thread at a time, and compares them with `twin.c`
as the C compiler of this machine builds it. It also compares the branches and the addresses of every run under other
secret scalars and items: they must be the same. What the last step, from PTX to machine code, makes of them is not
checked here. All of it takes a minute at most.
"""

import argparse
import ctypes
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import checks

FOLDER = Path(__file__).resolve().parents[2] / "crates/kernels/src/cuda"
SITE = Path(sysconfig.get_paths()["purelib"]) / "nvidia"


def text():
    """The files in the order in which `twin.c` includes them."""
    names = re.findall(r'#include "(.+)"', (FOLDER / "twin.c").read_text())
    return "".join((FOLDER / name).read_text() for name in names)


class Nvrtc:
    """The compiler, from a package of Python or from the system."""

    def __init__(self):
        found = sorted(SITE.glob("**/lib/libnvrtc.so.*"))
        self.library = ctypes.CDLL(str(found[-1]) if found else "libnvrtc.so")

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result != 0:
            raise RuntimeError(f"{name} failed with {result}")

    def get(self, program, what):
        """What the compiler made: its log, machine code or PTX."""
        size = ctypes.c_size_t()
        self.call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self.call(f"nvrtcGet{what}", program, buffer)
        return buffer.raw

    def compile(self, source, kind):
        """The log, the machine code and the PTX."""
        program = ctypes.c_void_p()
        self.call("nvrtcCreateProgram", ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
        options = [f"--gpu-architecture={kind}".encode(), b"--std=c++17", b"--ptxas-options=-v"]
        array = (ctypes.c_char_p * len(options))(*options)
        result = self.library.nvrtcCompileProgram(program, len(options), array)
        log = self.get(program, "ProgramLog").rstrip(b"\0").decode()
        if result != 0:
            sys.exit(f"the kernels do not compile for {kind}:\n{log}")
        return log, self.get(program, "CUBIN"), self.get(program, "PTX").rstrip(b"\0").decode()


def resources(log):
    """Registers, bytes of stack, bytes of spill stores and loads, by kernel."""
    found = {}
    for part in log.split("Compiling entry function ")[1:]:
        name = re.match(r"'(\w+)'", part).group(1)
        registers = int(re.search(r"Used (\d+) registers", part).group(1))
        # A kernel's own, and those of the functions that it calls.
        numbers = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part)
        sums = [sum(map(int, column)) for column in zip(*numbers, strict=True)]
        found[name] = (registers, *sums)
    return found


def instructions(machine_code):
    """Instructions by kernel, with the functions that it calls; nothing without nvdisasm."""
    tools = [*sorted(SITE.glob("**/bin/nvdisasm")), shutil.which("nvdisasm")]
    if tools[0] is None:
        return {}
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(machine_code)
        file.flush()
        listing = subprocess.run([tools[0], "-c", file.name], check=True, capture_output=True, text=True).stdout
    counts, name = {}, None
    for line in listing.splitlines():
        if section := re.match(r"\.text\.(\w+):", line):
            name = section.group(1)
        elif name and re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(@!?U?P\w+ +)?[A-Z]", line):
            counts[name] = counts.get(name, 0) + 1
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", default="sm_90", help="what the card is: sm_80 (A100), sm_90 (H100, H200)")
    parser.add_argument("--output", type=Path, help="a file for the machine code")
    parser.add_argument("--emulate", action="store_true", help="run the kernels on an interpreter")
    arguments = parser.parse_args()
    log, machine_code, ptx = Nvrtc().compile(text(), arguments.kind)
    counts = instructions(machine_code)
    print(f"{arguments.kind:<24} registers     stack    spills  instructions")
    spills = 0
    for name, (registers, stack, stores, loads) in sorted(resources(log).items()):
        spills += stores + loads
        print(f"{name:<24} {registers:>9} {stack:>9} {stores + loads:>9} {counts.get(name, '-'):>13}")
    if arguments.output:
        arguments.output.write_bytes(machine_code)
    if arguments.emulate:
        checks.compare(ptx, FOLDER / "twin.c")
    if spills:
        sys.exit("a kernel spills registers")


if __name__ == "__main__":
    main()
