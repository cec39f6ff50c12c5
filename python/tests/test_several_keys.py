"""Several keys in order: every kind of table, against a plain join that tries the rules one after the other."""

from __future__ import annotations

from typing import Any

import pytest
from scene import KINDS, columns_of, table

import vesica

MINE: dict[str, list[Any]] = {
    "id": [0, 1, 2, 3, 4, 5],
    "mail": ["Ada@example.org", None, "eve@example.org", "bob@example.org", None, None],
    "tel": ["1", "2", "3", None, None, "0006"],
    "born": ["1815-12-10", "1912-06-23", "19000101", "1900-01-02", "1900-01-03", None],
}
THEIRS: dict[str, list[Any]] = {
    "address": ["ada@example.org", "zoe@example.org", None, "bob@example.org"],
    "phone": ["9", "2", "6", "1"],
    "birthday": ["2000-01-01", "1900-01-01", "1900-01-03", None],
    "city": ["Bern", "Basel", "Chur", "Genf"],
}
RULES = ["mail=address:email", "tel=phone:int", "born=birthday:date"]
FOUND = {0: "mail:email", 1: "tel:int", 2: "born:date", 3: "mail:email", 4: "born:date", 5: "tel:int"}
CITIES = {0: "Bern", 1: "Basel", 2: "Basel", 3: "Genf", 4: "Chur", 5: "Chur"}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_match_by_the_first_rule_that_hits(kind: str) -> None:
    reports: list[vesica.Report] = []
    found = columns_of(
        vesica.local(
            table(kind, MINE),
            table("polars", THEIRS),
            match=RULES,
            payload="city",
            learns="both",
            match_id=True,
            security="semi-honest",
            report=reports.append,
        )
    )
    assert dict(zip(found["id"], found["matched_by"])) == FOUND
    assert dict(zip(found["id"], found["city"])) == CITIES
    assert [name for name in found if name not in MINE] == ["city", "matched_by", "match_id"]
    # Row 2 and 4, 1 and 5 have different keys of one rule.
    assert len(set(found["match_id"])) == len(FOUND)
    rules = reports[0].match_rules
    assert [(one.rule, one.keys, one.matching_rows) for one in rules] == [
        ("mail:email", 3, 2),
        ("tel:int", 4, 2),
        ("born:date", 5, 2),
    ]
    again = columns_of(vesica.local(table(kind, {**MINE, "matched_by": MINE["id"]}), table(kind, THEIRS), match=RULES))
    assert set(again) == {*MINE, "matched_by", "matched_by_2"}


def test_row_numbers_are_of_rows() -> None:
    rows = vesica.local(table("pandas", MINE), table("pandas", THEIRS), match=RULES, row_numbers=True)
    assert list(rows) == [0, 1, 2, 3, 4, 5]
    one = vesica.local(table("pandas", MINE), table("pandas", THEIRS), match="tel=phone:int", row_numbers=True)
    assert list(one) == list(
        vesica.local(table("pandas", MINE), table("pandas", THEIRS), key="tel=phone:int", row_numbers=True)
    )


def test_a_key_and_rules_do_not_go_together() -> None:
    for wrong, said in (({}, "needs a key"), ({"key": "mail", "match": ["mail"]}, "both say")):
        with pytest.raises(vesica.UsageError, match=said):
            vesica.local(table("pandas", MINE), table("pandas", THEIRS), **wrong)  # type: ignore[arg-type]
    with pytest.raises(vesica.UsageError, match=r"several keys of a row \(several `match`"):
        vesica.local(
            table("pandas", MINE), table("pandas", THEIRS), match=RULES, result="count", security="semi-honest"
        )
    with pytest.raises(vesica.InputError, match="nothing"):
        vesica.local(table("pandas", MINE), table("pandas", THEIRS), match=["mail=address + nothing"])
