"""Every failure is an exception with the command line's words, holds no identifier, and the process goes on."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest
from scene import Meeting, Together, columns_of, command_line, joined, people, table, write_csv

import vesica
from vesica import _internal

MINE, THEIRS = people("receiver", 100, 40), people("sender", 80, 40)


def goes_on() -> None:
    """A run after a failure ends as any other."""
    found = vesica.local(table("pandas", MINE), table("pandas", THEIRS), key="email:email")
    assert columns_of(found) == joined(MINE, THEIRS)


def check(error: BaseException, *words: str) -> None:
    text = "".join(traceback.format_exception(error))
    for word in words:
        assert word in str(error), text
    assert "person" not in text.lower() and "example.org" not in text, text
    if isinstance(error, vesica.VesicaError) and error.report is not None:
        assert "person" not in json.dumps(error.report.to_dict()).lower()


def words_of(folder: Path, code: int, *arguments: str) -> str:
    """What the command line says in the same situation."""
    party = command_line(folder, *arguments)
    assert party.end()[0] == code, party.screen
    return party.screen.strip().split("\n", 1)[-1] if "\nvesica" in party.screen else party.screen.strip()


def test_one_class_for_each_kind() -> None:
    for kind, code, name in _internal.kinds():
        kind_of_error = getattr(vesica, name)
        assert issubclass(kind_of_error, vesica.VesicaError)
        assert (kind_of_error.kind, kind_of_error.exit_code) == (kind, code)
    assert len(_internal.kinds()) == len(vesica.VesicaError.__subclasses__())


def test_a_wrong_key_column_in_the_words_of_the_command_line(tmp_path: Path) -> None:
    write_csv(tmp_path / "frame.csv", MINE)
    said = words_of(
        tmp_path, 65, "local", "--receiver", "frame.csv", "--sender", "frame.csv", "--key", "mail:email",
        "--output", "out.csv",
    )  # fmt: skip
    words = said.removeprefix("vesica local: frame.csv: ").replace("the header has", "the schema has")
    for mine in (table("pandas", MINE), table("polars", MINE), table("pyarrow", MINE), table("duckdb", MINE)):
        with pytest.raises(vesica.InputError) as raised:
            vesica.local(mine, table("pandas", THEIRS), key="mail:email")
        check(raised.value)
        assert str(raised.value).split(": ", 1)[1] == words
        error = raised.value
        assert (error.side, error.phase, error.kind, error.exit_code) == ("ours", "read", "input", 65)
        assert error.remedy in words and error.report is not None and error.report.outcome == "failed"
    goes_on()


def test_values_that_are_no_keys() -> None:
    theirs = table("pandas", THEIRS)
    invalid = pandas.DataFrame({"email": ["a@example.org", "person without at"]})
    cases: list[tuple[Any, str, str]] = [
        (invalid, "email:email", "pandas.DataFrame, row 2, column `email`"),
        (pandas.DataFrame({"email": [1.5]}), "email:int", "the same float"),
        (pandas.DataFrame({"email": ["person", 3, object()]}), "email:raw", "cannot be read as an Arrow table"),
        (pandas.DataFrame([["a", "b"]], columns=["email", "email"]), "email:raw", "more than one column"),
        (polars.DataFrame({"email": [["person"]]}), "email:raw", "cannot be keys"),
    ]
    for frame, key, words in cases:
        with pytest.raises(vesica.InputError) as raised:
            vesica.local(frame, theirs, key=key)
        check(raised.value, words, "what to do")
    with pytest.raises(vesica.InputError) as raised:
        vesica.local(theirs, table("pandas", MINE), key="email:email", on_null="error")
    check(raised.value, "the key is empty")
    goes_on()


class Broken:
    """A table whose producer fails, with a value in its words."""

    def __init__(self, at: str) -> None:
        self.at = at

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        def rows() -> Any:
            yield pyarrow.record_batch({"email": ["a@x"]})
            raise ValueError("person7@example.org is not to my taste")

        if self.at == "pyarrow":
            raise ImportError("person7@example.org is not installed")
        if self.at == "once":
            raise ValueError("person7@example.org is not to my taste")
        return pyarrow.RecordBatchReader.from_batches(pyarrow.schema({"email": "string"}), rows()).__arrow_c_stream__()


@pytest.mark.parametrize("at", ["once", "later"])
def test_a_producer_that_fails(at: str) -> None:
    with pytest.raises(vesica.InputError) as raised:
        vesica.local(Broken(at), table("pandas", THEIRS), key="email:email")
    check(raised.value, "cannot be read as an Arrow table")
    goes_on()


def test_a_producer_without_pyarrow() -> None:
    with pytest.raises(vesica.InputError) as raised:
        vesica.local(Broken("pyarrow"), table("pandas", THEIRS), key="email:email")
    check(raised.value, "(ImportError)", "pip install pyarrow")
    goes_on()


def test_what_is_no_table() -> None:
    for wrong in (["a@x"], None, 7, object(), {"email": ["a@x"]}):
        with pytest.raises(vesica.UsageError, match="Arrow PyCapsule interface"):
            vesica.receive(wrong, key="email:email", listen="127.0.0.1:0", peer="vesica-pub1-xx")
    with pytest.raises(vesica.InputError, match=r"absent\.csv: cannot be opened"):
        vesica.local("absent.csv", table("pandas", THEIRS), key="email:email", row_numbers=True)
    goes_on()


def test_wrong_usage(tmp_path: Path, keys: dict[str, str]) -> None:
    mine = table("pandas", MINE)
    good = {
        "key": "email:email",
        "connect": "127.0.0.1:9",
        "identity": tmp_path / "receiver.pem",
        "peer": keys["sender"],
    }
    (tmp_path / "old.json").write_text("{}")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"connect": None}, "give `listen`, `connect` or `via`"),
        ({"listen": ":0"}, "either `listen` or `connect`"),
        ({"connect": "127.0.0.1"}, "HOST:PORT"),
        ({"peer": None}, "public key is missing"),
        ({"peer": "vesica-pub1-xx"}, "cut short"),
        ({"peer": keys["receiver"]}, "own public key"),
        ({"peer": "@absent"}, "@absent"),
        ({"identity": tmp_path / "absent.pem"}, "absent.pem"),
        ({"key": "email:e-mail"}, "unknown rule"),
        ({"protocol": "dhh"}, "no protocol named"),
        ({"protocol": "naive-hash", "security": "semi-honest"}, "the feature `exhibits`"),
        ({"protocol": "dh"}, 'security="semi-honest"'),
        ({"security": "strong"}, "malicious or semi-honest"),
        ({"timeout": "soon"}, "such as 90s or 5m"),
        ({"pad_to": "two"}, "pow2"),
        ({"sigma": 99}, "1 to 64"),
        ({"audit_max": False}, "`audit_max`: a value of another type"),
        ({"security": ["malicious", "semi-honest"]}, "`security`: a value of another type"),
        ({"match_id": "yes"}, "a value of another type"),
        ({"output": "a.arrow", "row_numbers": True}, "not both"),
        ({"output": "a.arrow", "report": "a.arrow"}, "name the same file"),
        ({"report": tmp_path / "old.json"}, "is there already"),
        ({"protocol": "volle"}, 'did you mean "vole"'),
        ({"keep_base_ots": "base.ots"}, 'security="semi-honest"'),
        ({"insecure_plaintext": True}, "`peer` nor `identity`"),
        ({"insecure_plaintext": True, "peer": None, "identity": None, "connect": "192.0.2.1:9"}, "loopback"),
    ]
    for change, words in cases:
        with pytest.raises(vesica.UsageError) as raised:
            vesica.receive(mine, **{**good, **change})
        check(raised.value, words, "what to do")
    with pytest.raises(vesica.UsageError, match="not overwritten") as raised:
        vesica.keygen(tmp_path / "receiver.pem")
    assert vesica.public_key(tmp_path / "receiver.pem") in str(raised.value)
    assert "`vesica.public_key`" in raised.value.remedy
    with pytest.raises(vesica.UsageError, match="learns no result"):
        vesica.send(mine, **{**good, "output": "rows.arrow"})
    with pytest.raises(vesica.OutputError, match="same file as an input"):
        vesica.receive(mine, **{**good, "report": tmp_path / "receiver.pem"})
    goes_on()


def test_terms_that_differ_and_a_report_of_it(tmp_path: Path) -> None:
    meeting = Meeting()

    def receive() -> Any:
        partner = meeting.connect(meeting.receiver, meeting.sender)
        return vesica.receive(table("pandas", MINE), key="email:text", report=tmp_path / "report.json", **partner)

    def send() -> Any:
        partner = meeting.listen(meeting.sender, meeting.receiver)
        page = tmp_path / "page.html"
        return vesica.send(table("pandas", THEIRS), key="email:email", report=page, **partner)

    for error in Together(receive, send).results:
        assert isinstance(error, vesica.RefusedError)
        check(error, "key rules: mine", "between the two sides", "phase agree")
    assert json.loads((tmp_path / "report.json").read_text())["error"]["kind"] == "refused"
    page = (tmp_path / "page.html").read_text()
    assert "The run failed" in page and page.count("<script") == 1
    data = page.split('<script type="application/json" id="vesica-report">')[1].split("</script>")[0]
    assert json.loads(data)["error"]["message"].startswith("the two sides asked for different things")
    goes_on()


def test_a_partner_with_another_key_is_refused() -> None:
    meeting, stranger = Meeting(), vesica.Identity.generate()

    def receive() -> Any:
        partner = meeting.connect(stranger, meeting.sender)
        return vesica.receive(table("pandas", MINE), key="email:email", **partner)

    def send() -> Any:
        partner = {**meeting.listen(meeting.sender, meeting.receiver), "timeout": "2s"}
        return vesica.send(table("pandas", THEIRS), key="email:email", **partner)

    for error in Together(receive, send).results:
        assert isinstance(error, vesica.RefusedError), error
        check(error, "compare the public keys with the partner")
    goes_on()


def test_both_learn_where_both_asked_for_it() -> None:
    found, report = Meeting().run(table("pyarrow", MINE), table("polars", THEIRS), learns="both")
    assert columns_of(found) == joined(MINE, THEIRS)
    assert columns_of(report.result) == joined(THEIRS, MINE)
    assert isinstance(report.result, polars.DataFrame)
