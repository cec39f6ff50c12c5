"""Results that are not rows, and rows with columns of the sender: between every kind of table, and between two threads with
TLS."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pandas
import pyarrow
import pyarrow.csv
import pytest
from scene import KINDS, columns_of, table

import vesica

CUSTOMERS: dict[str, list[Any]] = {"id": [1, 2, 3, 4], "email": ["ada@x.org", "bob@x.org", "Ada@X.org", "eve@x.org"]}
SALES: dict[str, list[Any]] = {
    "email": ["bob@x.org", "ada@x.org", "bob@x.org", "kim@x.org", None],
    "cents": [5, 7, 30, 1000, 9],
    "orders": [1, 1, 2, 5, 1],
    "city": ["Bern", None, "Bern", "Zug", "Chur"],
}
HALF: dict[str, Any] = {"key": "email:email", "security": "semi-honest"}


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_from_tables_of_every_kind(kind: str) -> None:
    mine, theirs = table(kind, CUSTOMERS), table(kind, SALES)
    if kind == "pandas":
        theirs = theirs.astype({"cents": "uint64"})
    assert vesica.local(mine, theirs, **HALF, result="count") == 2
    assert vesica.local(mine, theirs, **HALF, result="count", at_least=2) is True
    assert vesica.local(mine, theirs, **HALF, result="count", at_least=3) is False
    assert vesica.local(mine, theirs, **HALF, result="sum", value="cents") == 42
    both = vesica.local(mine, theirs, **HALF, result="sum", value=["orders", "cents"])
    assert both == {"orders": 4, "cents": 42} and list(both) == ["orders", "cents"]
    with pytest.warns(UserWarning, match="`pad_to N`"):
        assert isinstance(vesica.local(mine, theirs, **HALF, result="count", noise=0.5), int)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_get_the_senders_columns(kind: str) -> None:
    given = table(kind, {**CUSTOMERS, "city": [0, 0, 0, 0]})
    asked: dict[str, Any] = {"key": "email:email", "payload": ["city", "cents"], "on_duplicates": "first"}
    found = vesica.local(given, table(kind, SALES), **asked)
    assert type(found) is type(given)
    # (`first` is for both tables here: of my two rows of ada the first matches.)
    expected = {"city_partner": [None, "Bern"], "cents": ["7", "5"]}
    assert {name: columns_of(found)[name] for name in expected} == expected
    assert list(columns_of(found)) == ["id", "email", "city", *expected]


def test_a_frame_keeps_its_index_and_gets_text() -> None:
    frame = pandas.DataFrame(CUSTOMERS).set_index("id").reset_index().set_index("id", drop=False)
    plain = {name: values[:2] for name, values in SALES.items()}
    found = vesica.local(frame, pandas.DataFrame(plain), key="email:email", payload="city")
    assert list(found.index) == [1, 2, 3] and found["city"].dtype == "string"
    assert found["city"].isna().tolist() == [True, False, True]


def between(
    keys: dict[str, str], folder: Path, mine: Any, theirs: Any, *, sender: Any = None, receiver: Any = None, **both: Any
) -> tuple[Any, vesica.Report]:
    """A run between two threads, with TLS: what the receiver gets, and the sender's report."""
    address: list[str] = []
    there = threading.Event()
    reports: list[Any] = []

    def heard(event: vesica.Event) -> None:
        if event["event"] == "listening":
            address.append(str(event["address"]))
            there.set()

    def send() -> None:
        try:
            reports.append(
                vesica.send(
                    theirs, listen="127.0.0.1:0", identity=folder / "sender.pem", peer=keys["receiver"], events=heard,
                    **both, **(sender or {}),
                )
            )  # fmt: skip
        except vesica.VesicaError as error:
            reports.append(error)

    thread = threading.Thread(target=send)
    thread.start()
    assert there.wait(60)
    try:
        found: Any = vesica.receive(
            mine, connect=address[0], identity=folder / "receiver.pem", peer=keys["sender"], **both, **(receiver or {})
        )
    except vesica.VesicaError as error:
        found = error
    thread.join()
    return found, reports[0]


def test_two_parties_count_and_sum(tmp_path: Path, keys: dict[str, str]) -> None:
    mine, theirs = pandas.DataFrame(CUSTOMERS), pyarrow.table(SALES)
    found, report = between(keys, tmp_path, mine, theirs, **HALF, result="count")
    assert (found, report.result, report.kind) == (2, None, "count")
    assert report.revealed is not None and "how many keys match" in report.revealed["receiver"]
    assert "how many keys match" not in report.revealed["sender"]
    found, report = between(keys, tmp_path, mine, theirs, **HALF, result="count", learns="both")
    assert (found, report.result) == (2, 2) and report.learned()["keys in common"] == "2"
    found, report = between(keys, tmp_path, mine, theirs, **HALF, result="count", at_least=5)
    assert (found, report.result) == (False, False) and report.learned()["keys in common"] == "fewer than 5"
    found, report = between(keys, tmp_path, mine, theirs, **HALF, result="sum", value=["cents"], learns="both")
    assert found == report.result == {"cents": 42}


def test_below_the_minimum_both_raise(tmp_path: Path, keys: dict[str, str]) -> None:
    out = {"output": tmp_path / "out.csv"}
    ends = between(
        keys, tmp_path, pandas.DataFrame(CUSTOMERS), pandas.DataFrame(SALES), **HALF, result="count", min_matches=3,
        receiver=out,
    )  # fmt: skip
    for end in ends:
        assert isinstance(end, vesica.RefusedError) and "fewer than 3 keys" in str(end)
        assert "example" not in str(end) and "x.org" not in str(end)
    assert not out["output"].exists()


def test_an_output_takes_the_number_too(tmp_path: Path) -> None:
    mine, theirs = pyarrow.table(CUSTOMERS), pyarrow.table(SALES)
    out = tmp_path / "sum.csv"
    assert vesica.local(mine, theirs, **HALF, result="sum", value="cents", output=out) == 42
    assert out.read_text() == "cents\n42\n"
    large = pyarrow.table({**SALES, "cents": pyarrow.array([2**64 - 1] * 5, pyarrow.uint64())})
    assert vesica.local(mine, large, **HALF, result="sum", value="cents", on_duplicates="first") == 2 * (2**64 - 1)
    pyarrow.csv.write_csv(mine, tmp_path / "mine.csv")
    assert vesica.local(tmp_path / "mine.csv", theirs, **HALF, result="count") == 2


def test_what_does_not_fit_is_refused() -> None:
    mine, theirs = pandas.DataFrame(CUSTOMERS), pandas.DataFrame(SALES)
    for options, said in [
        ({"result": "sum"}, "`value`"),
        ({"result": "count", "row_numbers": True}, "row_numbers"),
        ({"payload": "city", "row_numbers": True}, "payload"),
        ({"at_least": 5}, "at_least"),
        ({"result": "count", "noise": 99}, "noise"),
        ({"result": "counts"}, "result"),
    ]:
        with pytest.raises(vesica.UsageError, match=said):
            vesica.local(mine, theirs, **HALF, **options)  # type: ignore[call-overload]
    with pytest.raises(vesica.UsageError, match="semi-honest"):
        vesica.local(mine, theirs, key="email:email", result="count")
    with pytest.raises(vesica.InputError, match="did you mean `cents`"):
        vesica.local(mine, theirs, **HALF, result="sum", value="Cents")
    fractions = theirs.assign(cents=[0.5] * 5)
    with pytest.raises(vesica.InputError, match="cannot be summed"):
        vesica.local(mine, fractions, **HALF, result="sum", value="cents")
