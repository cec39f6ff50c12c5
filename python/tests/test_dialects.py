"""Text of other kinds, results that can be joined, and what is said of an empty one."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest
from scene import KINDS, columns_of, people, table

import vesica

MINE, THEIRS = people("receiver", 60, 20), people("sender", 50, 20)


def test_paths_to_text_of_other_kinds(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_bytes("Nr;Stadt\r\n1;Zürich\r\n2;Bern\r\n".encode("cp1252"))
    (tmp_path / "theirs.txt").write_bytes("ZÜRICH\tx\r\n".encode("utf-16"))
    out = vesica.local(
        tmp_path / "mine.csv",
        tmp_path / "theirs.txt",
        key=("Stadt", "1:text"),
        delimiter=(";", "\t"),
        encoding=("windows-1252", None),
        header=(True, False),
        output=tmp_path / "out.csv",
    )
    assert out.read_bytes() == "Nr;Stadt\r\n1;Zürich\r\n".encode("cp1252")
    rows = vesica.local(
        tmp_path / "mine.csv", polars.DataFrame({"Stadt": ["Bern"]}), key="Stadt", delimiter=";", row_numbers=True
    )
    assert list(rows) == [1]
    with pytest.raises(vesica.InputError) as raised:
        vesica.local(tmp_path / "mine.csv", tmp_path / "mine.csv", key="Stadt", row_numbers=True)
    assert '`delimiter=";"`' in str(raised.value) and "--" not in str(raised.value)
    (tmp_path / "commas.csv").write_text("Stadt,x\nBern,1\n")
    with pytest.raises(vesica.InputError, match=r'give `delimiter=\(";", ","\)`'):
        vesica.local(tmp_path / "mine.csv", tmp_path / "commas.csv", key="Stadt", row_numbers=True)
    with pytest.raises(vesica.UsageError, match="are for a path: delimiter"):
        vesica.local(table("pandas", MINE), table("pandas", THEIRS), key="email", delimiter=";")


def test_messy_text(tmp_path: Path) -> None:
    mine = tmp_path / "mine.csv"
    mine.write_text("Report, 2024\nid;mail\n1;ada@b.ch;\n2;NULL;\n# 4;eve@b.ch\n3;bob@b.ch;\nTotal: 3\n")
    (tmp_path / "theirs.tsv").write_text('mail\tsize\nada@b.ch\t12"\nNULL\t"x\neve@b.ch\t7\n')
    reports: list[vesica.Report] = []
    rows = vesica.local(
        mine,
        tmp_path / "theirs.tsv",
        key="mail:email",
        delimiter=("auto", "tab"),
        skip_lines=(1, None),
        comment="#",
        quote=(None, "none"),
        ragged=("pad", None),
        null=["NULL", "nan"],
        row_numbers=True,
        report=reports.append,
    )
    assert list(rows) == [0]
    assert any('`delimiter="auto"`' in hint for hint in reports[0].hints)
    with pytest.raises(vesica.InputError, match='`ragged="skip"`'):
        vesica.local(mine, mine, key="id", delimiter=";", skip_lines=1, row_numbers=True)
    with pytest.raises(vesica.UsageError, match="`quote`"):
        vesica.local(mine, mine, key="id", quote="ab", row_numbers=True)
    with pytest.raises(vesica.UsageError, match="are for a path: null"):
        vesica.local(table("pandas", MINE), table("pandas", THEIRS), key="email", null="NULL")


@pytest.mark.parametrize("kind", KINDS)
def test_match_numbers_are_a_column(kind: str) -> None:
    def run(columns: dict[str, list[Any]]) -> Any:
        found = vesica.local(
            table(kind, columns), table("polars", THEIRS), key="email:email", learns="both", match_id=True
        )
        return columns_of(found)

    found = run(MINE)
    keys = [mail.lower() for mail in found["email"]]
    numbers = found["match_id"]
    assert sorted(set(numbers)) == list(range(1, len(set(keys)) + 1))
    assert len(set(zip(keys, numbers))) == len(set(keys))
    again = run({**MINE, "match_id": MINE["id"]})
    assert set(again) == {*MINE, "match_id", "match_id_2"}
    with pytest.raises(vesica.UsageError, match="row_numbers"):
        vesica.local(table(kind, MINE), table(kind, THEIRS), key="email", match_id=True, row_numbers=True)
    with pytest.raises(vesica.UsageError) as raised:
        vesica.local(table(kind, MINE), table(kind, THEIRS), key="email", match_id=True)
    assert '`learns="both"`' in raised.value.remedy


def test_an_empty_result_comes_with_a_warning() -> None:
    mine = pandas.DataFrame({"word": ["Ada", "Bob"], "len": [3, 3]})
    reports: list[vesica.Report] = []
    with pytest.warns(UserWarning, match="no key in common"):
        found = vesica.local(mine, mine.assign(word=["ada", "bob"]), key="word", report=reports.append)
    assert len(found) == 0 and reports[0].hints[0].startswith("no key in common")
    with pytest.warns(UserWarning, match=r"key=\['word', 'len'\]"):
        vesica.local(mine, mine, key=("word", "len"))
    with pytest.warns(UserWarning, match="all 2 rows were left out"):
        vesica.local(mine, mine, key="word:int", on_invalid="skip")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(vesica.local(mine, mine, key=["word", "len"])) == 2


def test_errors_speak_python() -> None:
    frame = pandas.DataFrame({"word": ["Ada", None], "mail": ["a@b.c", "x"]})
    for key, options, words in [
        ("word", {"on_null": "error"}, '`on_null="skip"`'),
        ("mail:email", {}, '`on_invalid="skip"`'),
        ('"word,mail"', {}, "give `key` as a list of `word`, `mail`"),
    ]:
        with pytest.raises(vesica.VesicaError) as raised:
            vesica.local(frame, frame, key=key, **options)  # type: ignore[call-overload]
        assert words in str(raised.value) and "--" not in str(raised.value), str(raised.value)
    with pytest.raises(vesica.UsageError) as raised:
        vesica.send(frame, key="word")
    assert "listen" in raised.value.remedy and "--" not in str(raised.value)
    with pytest.raises(vesica.UsageError, match=r"series\.to_frame\(\)"):
        vesica.local(frame["word"], frame, key="word")
    with pytest.raises(vesica.UsageError, match=r"reset_index\(\)"):
        vesica.local(frame.set_index("word"), frame, key="word")
