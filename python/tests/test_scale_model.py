"""benchmarks/scale-model.py: what it computes from a record, and that docs/scale.md has its table, called a model's."""

import importlib.util
import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "benchmarks" / "scale-model.py"

HEAD = "row,column,run,wall_s,sent_receiver,sent_sender,cell\n"


@pytest.fixture(scope="module")
def model():
    spec = importlib.util.spec_from_file_location("scale_model", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    sys.modules["scale_model"] = module
    spec.loader.exec_module(module)
    return module


def line(items, wall_s, sent, **more):
    fields = {"protocol": "vole", "receiver": items, "sender": items, "security": "malicious", **more}
    cell = str(fields).replace("'", '""')
    return f'vole,x,1,{wall_s},{sent},{sent},"{cell}"\n'


@pytest.fixture
def record(tmp_path):
    lines = [line(2**20, 0.5, 10_000_000), line(2**20, 0.3, 10_000_000), line(2**20, 0.4, 10_000_000)]
    lines += [line(2**21, 0.8, 20_000_000)]
    # Of other networks, threads and protocols, which do not count.
    lines += [line(2**20, 9, 1, network="wan"), line(2**20, 9, 1, threads=2), line(2**20, 9, 1, security="semi-honest")]
    (tmp_path / "a.csv").write_text(HEAD + "".join(lines))
    (tmp_path / "cells.csv").write_text("# a record\nprotocol,seconds\nvole,1\n")
    return tmp_path


def test_parts_are_padded_as_the_program_pads_them(model):
    assert [model.bound(2**24, parts) for parts in (4, 16, 64)] == [4_210_178, 1_056_780, 266_315]
    assert [model.bound(2**30, 1024), model.bound(2**32, 4096), model.bound(77, 1)] == [1_057_277, 1_057_398, 77]


def test_a_part_is_between_its_measured_neighbours(model, record):
    points = model.measured(record)
    assert {items: part.seconds for items, part in points.items()} == {2**20: 0.4, 2**21: 0.8}
    part = model.part_of(points, 3 * 2**19)
    assert (round(part.seconds, 9), part.bytes) == (0.6, 30_000_000)


def test_the_figures_are_those_of_the_formulas(model, record, monkeypatch):
    monkeypatch.setattr(model, "LOST", 0)
    monkeypatch.setattr(model, "SPREAD", 0)
    figures = model.model(model.Cluster(2**20 * 100, 10, 8, relays=2), model.measured(record))
    padded = model.bound(2**20 * 100, 100) / 2**20
    assert figures["parts"] == 100 and figures["losses"] == 1
    assert figures["parts_s"] == pytest.approx(10 * (0.4 * padded + 13 * 0.005))
    assert figures["traffic_gb"] == pytest.approx(2 * padded)
    assert figures["network_s"] == pytest.approx(padded)


def test_lost_tasks_take_longer_and_the_same_each_time(model):
    def with_seed(seed):
        return model.losses(1000, 64, random.Random(seed))

    assert with_seed(1) == with_seed(1) != with_seed(2)
    assert 1.0 < with_seed(1) < 1.3


def test_the_page_has_the_table_and_says_whose_figures_they_are():
    ended = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, check=True)
    label, table = ended.stdout.split("\n\n", 1)
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    assert table.strip() in page, f"`python benchmarks/scale-model.py` prints another table:\n{table}"
    label = label.splitlines()[1]
    assert "a model's" in label and page.index(label) < page.index(table.strip())
