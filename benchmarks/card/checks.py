"""The kernels on an interpreter against `twin.c`, and their traces under other secrets against each other."""

import random
import struct
import subprocess
import tempfile
from pathlib import Path

import ptx

ORDER = 2**252 + 27742317777372353535851937790883648493
GENERATOR = bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76")
# Scalars at the edges of the windows.
SCALARS = [0, 1, 8, ORDER - 1, *(int.from_bytes(bytes([byte] * 31 + [7]), "little") for byte in (0x77, 0x88))]
# No element is invalid.
NONE = b"\xff" * 4


class Twin:
    """`twin.c`, compiled."""

    def __init__(self, source, folder):
        self.program = Path(folder) / "twin"
        subprocess.run(["cc", "-std=c11", "-O2", "-o", self.program, source], check=True)

    def run(self, operation, width, keys, inputs, shape=(0, 0, 0)):
        head = struct.pack("<7I", operation, len(inputs) // width, width, *shape, len(keys) // 4)
        answer = subprocess.run([self.program], input=head + keys + inputs, check=True, capture_output=True)
        return answer.stdout


def read(machine, address, size):
    memory, at = machine.find(address)
    return bytes(memory[at : at + size])


def write(machine, address, data):
    memory, at = machine.find(address)
    memory[at : at + len(data)] = data


def group(machine, twin, rng):
    """Both kernels of the group. The trace may depend on nothing but the validity of an encoding."""
    scalars = SCALARS + [rng.randrange(ORDER) for _ in range(2)]
    edges = [bytes(64), b"\xff" * 64, ((2**255 - 19).to_bytes(32, "little")) * 2]
    traces = {"map": set(), "decode": set()}
    scalar_at, in_at, out_at, invalid_at = (machine.put(bytes(64)) for _ in range(4))
    for i, scalar in enumerate(scalars):
        scalar = scalar.to_bytes(32, "little")
        uniform = edges[i] if i < len(edges) else rng.randbytes(64)
        encoded = twin.run(0, 64, (1).to_bytes(32, "little"), rng.randbytes(64)) if i else GENERATOR
        for name, operation, data in (("map", 0, uniform), ("decode", 1, encoded)):
            write(machine, scalar_at, scalar)
            write(machine, in_at, data)
            write(machine, invalid_at, NONE)
            machine.launch(f"{name}_mul_encode", [scalar_at, in_at, out_at, 1] + [invalid_at] * operation, 0)
            answer = read(machine, invalid_at, 4) * operation + read(machine, out_at, 32)
            assert answer == twin.run(operation, len(data), scalar, data), f"{name} under {scalar.hex()}"
            traces[name].add(tuple(machine.trace))
    assert all(len(trace) == 1 for trace in traces.values()), "a branch or an address depends on a scalar or an element"
    for invalid in (bytes(32), b"\xff" * 32, b"\1" + bytes(31)):
        write(machine, in_at, invalid)
        write(machine, invalid_at, NONE)
        machine.launch("decode_mul_encode", [scalar_at, in_at, out_at, 1, invalid_at], 0)
        assert read(machine, invalid_at, 4) == bytes(4), "an invalid element is not found"
    print(f"emulated: {len(scalars)} elements each of map_ and decode_mul_encode as twin.c has them; one trace")


def bloom(machine, twin, rng):
    """Both kernels of the Bloom filter. The trace may depend on nothing but the width of an item."""
    for operation, name, hashes in ((2, "narrow", 20), (3, "wide", 132)):
        seed_key = rng.randbytes(32)
        keys = rng.randbytes(32 * 3 if operation == 2 else 32)
        for width in (16, 70):
            traces = set()
            for _ in range(3):
                item, shape = rng.randbytes(width), (77, 123456789, hashes)
                seed_at, keys_at, item_at = machine.put(seed_key), machine.put(keys), machine.put(item)
                blocks_at = keys_at
                if operation == 2:
                    blocks_at = machine.put(bytes(3 * 11 * 32))
                    for pair in range(3):
                        machine.launch("bloom_round_keys", [keys_at, 3, blocks_at], pair)
                out_at = machine.put(bytes(4 + 4 * hashes))
                arguments = [seed_at, blocks_at, item_at, width, struct.pack("<4I", *shape, 1), out_at, out_at + 4]
                machine.launch(f"bloom_positions_{name}", arguments, 0)
                out = read(machine, out_at, 4 + 4 * hashes)
                assert out == twin.run(operation, width, seed_key + keys, item, shape), f"{name}, {width} bytes"
                # Every item has memory of its own.
                moved = {item_at: 0, blocks_at: 1, out_at: 2, seed_at: 3}
                traces.add(tuple(relative(event, moved) for event in machine.trace))
            assert len(traces) == 1, "a branch or an address depends on an item"
    print("emulated: 12 items of bloom_positions_narrow and _wide as twin.c has them; one trace for each width")


def relative(event, moved):
    """A branch as it is, and an address counted from the buffer that it lies in."""
    if isinstance(event, bool):
        return event
    place = event if event >= 0 else ~event
    base = max((base for base in moved if base <= place), default=None)
    return (event >= 0, moved.get(base), place - (base or 0))


def compare(text, twin_source):
    """Everything; an error where something differs."""
    rng = random.Random(1)
    machine = ptx.Machine(text)
    with tempfile.TemporaryDirectory() as folder:
        twin = Twin(twin_source, folder)
        group(machine, twin, rng)
        bloom(machine, twin, rng)
