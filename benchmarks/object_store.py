"""Times a run whose table is 64 Parquet files in an object store, against the same files on a disk, within a memory budget.

    pip install 'moto[server]==5.2.5' boto3==1.44.8 pyarrow
    python benchmarks/object_store.py VESICA --log-rows 22 --memory 512M --runs 3
    … --endpoint http://127.0.0.1:7070      with keys of a store of its own in AWS_…, in the place of moto

Both sides have 2^N rows in 64 parts, half of them in common. The receiver's parts are objects, and its rows become one
object. Each run tells its wall time and the most memory that the receiver's process had. The rows are compared with the
plain join. With --kill N the receiver is killed N times at random moments, and the object must be whole or absent.
"""

import argparse
import io
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import boto3
import pyarrow
import pyarrow.parquet

PARTS = 64
BUCKET = "tables"


def parts(folder, rows, first):
    """Files of rows with the numbers from `first` on."""
    folder.mkdir()
    for part in range(PARTS):
        numbers = range(first + part * rows // PARTS, first + (part + 1) * rows // PARTS)
        table = pyarrow.table(
            {
                "id": [f"customer-{number:012}" for number in numbers],
                "name": [f"Person {number * 7919 % 1000003}" for number in numbers],
                "spent": [number * 31 % 100000 / 100 for number in numbers],
            }
        )
        pyarrow.parquet.write_table(table, folder / f"part-{part:05}.parquet")


def party(program, role, arguments, memory):
    command = [program, {"receiver": "receive", "sender": "send"}[role], "--key", "id", "--insecure-plaintext"]
    command += ["--memory", memory, "--timeout", "60s", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def run(program, folder, source, output, memory, killed_after=None):
    """Wall time, and the receiver's most memory in KiB; none if it was killed."""
    sender = party(program, "sender", ["--input", str(folder / "theirs"), "--listen", "127.0.0.1:0"], memory)
    address = next(line.split()[2].rstrip(";") for line in sender.stderr if line.startswith("listening on"))
    begun = time.monotonic()
    receiver = party(program, "receiver", ["--input", source, "--output", output, "--connect", address], memory)
    if killed_after is not None:
        time.sleep(killed_after)
        receiver.kill()
        sender.kill()
    said = receiver.stderr.read()
    _, status, usage = os.wait4(receiver.pid, 0)
    took = time.monotonic() - begun
    receiver.returncode = status
    sender.stderr.read()
    if killed_after is None and (sender.wait(), status) != (0, 0):
        sys.exit(f"a run failed:\n{said}")
    sender.wait()
    return took, usage.ru_maxrss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--log-rows", type=int, default=22)
    parser.add_argument("--memory", default="512M")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--kill", type=int, default=0)
    parser.add_argument("--endpoint")
    options = parser.parse_args()
    rows = 1 << options.log_rows
    server = None
    if options.endpoint is None:
        os.environ |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
        code = "from moto.server import main; main(['-H', '127.0.0.1', '-p', '0'])"
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        server = subprocess.Popen([sys.executable, "-c", code], **pipes)
        options.endpoint = next(line.split()[-1] for line in server.stdout if "Running on" in line)
    os.environ["AWS_ENDPOINT_URL"] = options.endpoint
    s3 = boto3.client("s3")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts(folder / "mine", rows, 0)
        parts(folder / "theirs", rows, rows // 2)
        s3.create_bucket(Bucket=BUCKET)
        for file in sorted((folder / "mine").iterdir()):
            s3.upload_file(str(file), BUCKET, f"mine/{file.name}")
        size = sum(file.stat().st_size for file in (folder / "mine").iterdir())
        print(f"{rows} rows a side, {PARTS} parts, {size / 1e6:.0f} MB a side, --memory {options.memory}")
        places = {
            "disk": (str(folder / "mine"), str(folder / "out.parquet")),
            "store": (f"s3://{BUCKET}/mine/", f"s3://{BUCKET}/out.parquet"),
        }
        took = {place: [] for place in places}
        for _ in range(options.runs):
            for place, (source, output) in places.items():
                seconds, memory = run(options.program, folder, source, output, options.memory)
                took[place].append(seconds)
                print(f"{place}: {seconds:.2f} s, {memory / 1024:.0f} MiB at most", flush=True)
        found = io.BytesIO(s3.get_object(Bucket=BUCKET, Key="out.parquet")["Body"].read())
        there = pyarrow.parquet.read_table(found)["id"].to_pylist()
        if there != [f"customer-{number:012}" for number in range(rows // 2, rows)]:
            sys.exit("the rows are not those of the plain join")
        if found.getvalue() != (folder / "out.parquet").read_bytes():
            sys.exit("the object is not the file that the same run on the disk writes")
        medians = {place: statistics.median(each) for place, each in took.items()}
        print(f"medians: disk {medians['disk']:.2f} s, store {medians['store']:.2f} s; {len(there)} rows, exact")
        chance = random.Random(1)
        ends = {"whole": 0, "absent": 0}
        for _ in range(options.kill):
            s3.delete_object(Bucket=BUCKET, Key="out.parquet")
            run(options.program, folder, *places["store"], options.memory, medians["store"] * chance.uniform(0, 1.05))
            listed = s3.list_objects_v2(Bucket=BUCKET, Prefix="out.parquet").get("Contents", [])
            if not listed:
                ends["absent"] += 1
            elif s3.get_object(Bucket=BUCKET, Key="out.parquet")["Body"].read() == found.getvalue():
                ends["whole"] += 1
            else:
                sys.exit("a run that was killed left an object that is not whole")
        if options.kill:
            print(f"killed {options.kill} times: {ends['absent']} times no object, {ends['whole']} times the whole one")
    if server is not None:
        server.kill()


if __name__ == "__main__":
    main()
