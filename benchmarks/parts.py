"""Times runs in several parts against runs in one: `python benchmarks/parts.py VESICA --log-keys 24 --parts 1 16 auto`

Two processes of the program on this machine, connected over loopback with TLS, with tables of 2^N keys each, half of them
in common. Printed are the seconds from keys in memory to matches (the report's phases but reading, connecting and writing),
and the peak memory of both sides. The quiet machine is yours to see to.

`--delay MS` puts a process between the two that delays all bytes by so much each way, which is what several parts at once
are of use for; it takes some of the processor. `--threads 1 2` gives the threads of each side; how many parts are played at
once follows from them, and so do the parts of `auto` (docs/scale.md). Whatever stands behind `--` goes to both sides:
`-- --protocol gbf --security semi-honest`.
"""

import argparse
import asyncio
import json
import multiprocessing
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

# Phases before the keys are in memory, and after the matches are there.
AROUND = {"prepare", "read", "connect", "spool", "count", "write"}


def table(path, name, keys):
    """Half of the keys are those of the other table."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("id\n")
        file.writelines(f"{'both' if key % 2 else name}{key}\n" for key in range(keys))


def party(program, folder, role, arguments):
    mine, other = ("receiver", "sender") if role == "receive" else ("sender", "receiver")
    peer = (folder / f"{other}.pub").read_text().strip()
    common = ["--input", f"{mine}.csv", "--key", "id:text", "--identity", f"{mine}.pem", "--peer", peer]
    (folder / f"{mine}.json").unlink(missing_ok=True)
    command = [program, role, *common, "--report", f"{mine}.json", "--memory", "64G", *arguments]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)


async def late(reader, writer, delay):
    """Passes bytes on, each so many seconds after it came."""
    waiting = asyncio.Queue()

    async def take():
        while data := await reader.read(1 << 18):
            waiting.put_nowait((asyncio.get_running_loop().time() + delay, data))
        waiting.put_nowait((asyncio.get_running_loop().time() + delay, b""))

    taking = asyncio.create_task(take())
    while True:
        due, data = await waiting.get()
        await asyncio.sleep(max(0, due - asyncio.get_running_loop().time()))
        if not data:
            break
        writer.write(data)
        await writer.drain()
    await taking
    writer.write_eof()


def pass_on(address, delay, told):
    """A process that listens, and passes on to that address."""

    async def serve(reader, writer):
        try:
            there = await asyncio.open_connection(*address.rsplit(":", 1))
            await asyncio.gather(late(reader, there[1], delay), late(there[0], writer, delay))
            there[1].close()
        except OSError:
            pass
        writer.close()

    async def listen():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        told.send("127.0.0.1:{}".format(server.sockets[0].getsockname()[1]))
        await server.serve_forever()

    asyncio.run(listen())


def seconds(report, of="wall_s"):
    return sum(phase[of] for phase in report["phases"] if phase["name"] not in AROUND)


def run(program, folder, arguments, delay):
    sender = party(program, folder, "send", ["--listen", "127.0.0.1:0", *arguments])
    address = next(found[1] for line in sender.stderr if (found := re.match(r"listening on ([^;\s]+)", line)))
    if delay:
        told, tells = multiprocessing.Pipe(False)
        between = multiprocessing.Process(target=pass_on, args=(address, delay / 1000, tells), daemon=True)
        between.start()
        address = told.recv()
    receiver = party(program, folder, "receive", ["--connect", address, "--output", "out.csv", *arguments])
    for ended in (receiver, sender):
        screen = ended.communicate()[1]
        if ended.returncode != 0:
            raise SystemExit(screen)
    if delay:
        between.terminate()
    return [json.loads((folder / f"{side}.json").read_text()) for side in ("receiver", "sender")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--log-keys", type=int, default=20)
    parser.add_argument("--parts", nargs="+", default=["1", "16", "auto"])
    parser.add_argument("--threads", type=int, nargs="+", default=[2])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--delay", type=float, help="milliseconds each way")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    own, given = sys.argv[1:at], sys.argv[at + 1:]
    arguments = parser.parse_args(own)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for side in ("receiver", "sender"):
            table(folder / f"{side}.csv", side, 2**arguments.log_keys)
            made = subprocess.run([arguments.program, "keygen", "--output", f"{side}.pem"], cwd=folder, capture_output=True)
            (folder / f"{side}.pub").write_bytes(made.stdout)
        for threads in arguments.threads:
            for parts in arguments.parts:
                options = {"auto": [], "1": ["--max-parts", "1"]}.get(parts, ["--parts", parts])
                options = [*options, "--threads", str(threads), *given]
                runs = range(arguments.runs)
                reports = [run(arguments.program, folder, options, arguments.delay) for _ in runs]
                times = [seconds(receiver) for receiver, _ in reports]
                played = reports[0][0]["parts"] or {"count": 1, "lanes": 1}
                cpu = [statistics.median(seconds(pair[side], "cpu_s") for pair in reports) for side in (0, 1)]
                peaks = [max(pair[side]["peak_rss"] for pair in reports) / 2**20 for side in (0, 1)]
                print(f"2^{arguments.log_keys} keys, {threads} threads a side, {parts}: {played['count']} parts, "
                      f"{played['lanes']} at once: "
                      f"median {statistics.median(times):.2f} s of {[round(time, 2) for time in times]}, "
                      f"CPU of {cpu[0]:.2f} and {cpu[1]:.2f} s, peaks of {peaks[0]:.0f} and {peaks[1]:.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
