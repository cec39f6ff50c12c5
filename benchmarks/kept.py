"""Times kept sets: publishing, serving, looking up, a night; and a server that is killed while many receivers ask.

    python benchmarks/kept.py VESICA --log-rows 20 --runs 5
    python benchmarks/kept.py VESICA --log-rows 20 --receivers 200 --kill 20

Beside each figure stands its floor. One product of the group with a hash to it is what `--example voprf` of
vesica-protocols prints; give it with --floor-us. Times of a phase are those of the program's own report, with base of
the clock and CPU of the process; the first connection of a run has its own phase. All rows are compared with a plain join.
"""

import argparse
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path


def table(path, names):
    with open(path, "w") as file:
        file.write("Email\n")
        file.writelines(f"{name}@example.org\n" for name in names)


class Scene:
    """A folder with two identities, a set and a server."""

    def __init__(self, program, folder):
        self.program, self.folder = program, Path(folder)
        self.keys = {}
        for name in ["sender", "receiver"]:
            made = self.run("keygen", "--output", f"{name}.pem")
            self.keys[name] = made.stdout.strip()

    def run(self, *arguments):
        command = [self.program, *map(str, arguments)]
        return subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True)

    def report(self, *arguments):
        """The report of a run."""
        path = self.folder / f"report-{random.getrandbits(64):x}.json"
        self.run(*arguments, "--quiet", "--report", path)
        report = json.loads(path.read_text())
        path.unlink()
        return {
            "phases": {phase["name"]: (phase["wall_s"], phase["cpu_s"]) for phase in report["phases"]},
            "bytes": report["bytes"]["payload"],
            "rss": report["peak_rss"],
        }

    def publish(self, output, *arguments):
        common = ["--key", "Email:email", "--secret", "set.key", "--identity", "sender.pem", "--output", output]
        return self.report("publish", *common, *arguments)

    def serve(self, port, *arguments):
        common = ["--secret", "set.key", "--set", "set", "--identity", "sender.pem", "--ledger", "ledger"]
        command = [self.program, "serve", "--listen", f"127.0.0.1:{port}", *common, *map(str, arguments)]
        server = subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE, text=True)
        for line in server.stderr:
            if line.startswith("listening on"):
                return server
        raise SystemExit("the server does not listen")

    def lookup(self, port, name, identity="receiver.pem"):
        return [
            *["lookup", "--set", "set", "--input", f"{name}.csv", "--key", "Email:email", "--output", f"{name}.out"],
            *["--connect", f"127.0.0.1:{port}", "--peer", self.keys["sender"], "--identity", identity],
        ]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def median(values):
    return f"{statistics.median(values):.4g} ({min(values):.4g} to {max(values):.4g})"


def figures(scene, options):
    keys, runs = 1 << options.log_rows, options.runs
    table(scene.folder / "list.csv", (f"user{number}" for number in range(keys)))
    cpu, size = [], 0
    for _ in range(runs):
        for path in ["set.key", "set/1.vset"]:
            (scene.folder / path).unlink(missing_ok=True)
        made = scene.publish("set/1.vset", "--input", "list.csv", "--threads", 1)
        cpu.append(sum(made["phases"][phase][1] for phase in ["publish", "write"]) * 1e6 / keys)
        size = (scene.folder / "set/1.vset").stat().st_size
    floor = options.floor_us
    print(f"publish 2^{options.log_rows}: CPU a key {median(cpu)} us, {statistics.median(cpu) / floor:.2f} of the floor")
    print(f"  {size / keys:.2f} bytes a key, peak {made['rss'] / 2**20:.0f} MiB")
    for name, few in [("changes", 1 << 10)]:
        table(scene.folder / f"{name}.csv", (f"new{number}" for number in range(few)))
        wall = []
        for _ in range(runs):
            (scene.folder / "night.vset").unlink(missing_ok=True)
            made = scene.publish("night.vset", "--added", f"{name}.csv", "--previous", "set", "--threads", 1)
            wall.append(sum(wall for wall, _ in made["phases"].values()))
        size = (scene.folder / "night.vset").stat().st_size
        print(f"a night of 2^10 keys: {median(wall)} s, {size} bytes")
    port = free_port()
    server = scene.serve(port, "--allow", scene.keys["receiver"])
    for log_asked in options.asked:
        asked = 1 << log_asked
        names = [f"user{number * 7 % keys}" if number % 2 else f"other{number}" for number in range(asked)]
        table(scene.folder / "query.csv", names)
        online, connect, cpu = [], [], []
        for _ in range(runs):
            ran = scene.report(*scene.lookup(port, "query"))
            online.append(ran["phases"]["lookup"][0] * 1e3)
            connect.append(ran["phases"]["connect"][0] * 1e3)
            cpu.append(ran["phases"]["lookup"][1] * 1e3)
        found = (scene.folder / "query.out").read_text().splitlines()[1:]
        assert found == [f"{name}@example.org" for name in names if name.startswith("user")], "the plain join's rows"
        payload = ran["bytes"]["sent"] + ran["bytes"]["received"]
        print(
            f"look-up of 2^{log_asked}: {median(online)} ms online, CPU {statistics.median(cpu):.3g} ms, "
            f"connect {median(connect)} ms, {payload} bytes ({payload - 64 * asked} beyond 64 a key), "
            f"peak {ran['rss'] / 2**20:.0f} MiB"
        )
    before = cpu_of(server.pid)
    began = time.monotonic()
    asked = 1 << options.asked[-1]
    clients = [
        subprocess.Popen([scene.program, *scene.lookup(port, "query"), "--quiet"], cwd=scene.folder)
        for _ in range(4)
    ]
    assert all(client.wait() == 0 for client in clients)
    spent = (cpu_of(server.pid) - before) * 1e6 / (4 * asked)
    print(f"serve: CPU a key {spent:.3g} us; {floor / spent:.2f} of the rate of the floor ({time.monotonic() - began:.2f} s)")
    server.send_signal(signal.SIGTERM)
    server.wait()


def cpu_of(process):
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def killed(scene, options):
    """Receivers ask at once while the server is killed again and again; each is charged for its keys once."""
    table(scene.folder / "list.csv", (f"user{number}" for number in range(1 << options.log_rows)))
    if not (scene.folder / "set/1.vset").exists():
        scene.publish("set/1.vset", "--input", "list.csv")
    asked, port = 1 << options.asked[-1], free_port()
    allowed = []
    for number in range(options.receivers):
        allowed.append(scene.run("keygen", "--output", f"r{number}.pem").stdout.strip())
        names = [f"user{(number * asked + at) * 7 % (1 << options.log_rows)}" if at % 2 else f"o{number}.{at}" for at in range(asked)]
        table(scene.folder / f"q{number}.csv", names)
    (scene.folder / "allowed").write_text("\n".join(allowed))
    # Exactly what each asks for: a batch that is charged twice ends its receiver with 77.
    serve = ["--allow", "@allowed", "--max-keys-per-day", asked]
    (scene.folder / "ledger").unlink(missing_ok=True)
    server, began = scene.serve(port, *serve), time.monotonic()
    clients = []
    for number in range(options.receivers):
        command = [scene.program, *scene.lookup(port, f"q{number}", f"r{number}.pem"), "--quiet", "--timeout", "120s"]
        clients.append(subprocess.Popen(command, cwd=scene.folder, stderr=subprocess.PIPE, text=True))
    killed = 0
    while killed < options.kill and any(client.poll() is None for client in clients):
        time.sleep(random.uniform(0.02, options.pause))
        server.kill()
        server.wait()
        killed += 1
        server = scene.serve(port, *serve)
    codes = [client.wait() for client in clients]
    server.send_signal(signal.SIGTERM)
    server.wait()
    exact = 0
    for number in range(options.receivers):
        rows = (scene.folder / f"q{number}.csv").read_text().splitlines()[1:]
        out = scene.folder / f"q{number}.out"
        found = out.read_text().splitlines()[1:] if out.exists() else []
        wanted = [row for row in rows if row.startswith("user")]
        exact += found == wanted
        if found != wanted:
            print(f"receiver {number}: {len(found)} rows, {len(set(wanted) - set(found))} missing, exit code {codes[number]}")
    records = (scene.folder / "ledger").stat().st_size // 92
    print(
        f"{options.receivers} receivers of {asked} keys, server killed {killed} times: {codes.count(0)} ended well, {exact} exact, "
        f"{records} batches charged ({options.receivers * -(-asked // 512)} asked), {time.monotonic() - began:.1f} s"
    )
    assert exact == options.receivers == codes.count(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--log-rows", type=int, default=20)
    parser.add_argument("--asked", type=int, nargs="+", default=[8, 12], help="keys of a query, as powers of two")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--floor-us", type=float, default=5.6)
    parser.add_argument("--receivers", type=int, default=0)
    parser.add_argument("--kill", type=int, default=0)
    parser.add_argument("--pause", type=float, default=1.0, help="most seconds between two kills")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vesica-kept-") as folder:
        scene = Scene(options.program.resolve(), folder)
        (scene.folder / "set").mkdir()
        if options.receivers:
            killed(scene, options)
        else:
            figures(scene, options)


if __name__ == "__main__":
    main()
