"""The package as a whole: types, stubs, size, what importing it does."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import vesica

ROOT = Path(__file__).parents[1]


def run(*arguments: str) -> str:
    ended = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_stub_is_true() -> None:
    run("-m", "mypy.stubtest", "vesica._internal")


def test_the_types_hold() -> None:
    run("-m", "mypy", "--config-file", "pyproject.toml", "src/vesica")


def test_the_code_is_in_form() -> None:
    run("-m", "ruff", "check", "--no-cache", ".")
    run("-m", "ruff", "format", "--no-cache", "--check", ".")


def test_types_are_what_a_user_sees(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(
        "import polars, vesica\n"
        "found = vesica.receive(polars.DataFrame(), key='a', protocol='dh')\n"
        "reveal_type(found)\n"
        "reveal_type(vesica.receive('a.csv', key='a', output='b.csv'))\n"
        "reveal_type(vesica.send('a.csv', key='a').sizes.peer_items)\n"
        "reveal_type(vesica.local(polars.LazyFrame(), 'b.csv', key='a', delimiter=(None, ';')))\n"
        "reveal_type(vesica.receive('a.csv', key='a', row_numbers=True, header=False))\n"
    )
    shown = run("-m", "mypy", "--strict", str(tmp_path / "use.py"))
    for words in [
        "polars.dataframe.frame.DataFrame",
        "polars.lazyframe.frame.LazyFrame",
        "array[int]",
        "pathlib.Path",
        "int | None",
    ]:
        assert words in shown, shown


def test_everything_public_is_documented() -> None:
    for name in vesica.__all__:
        thing = getattr(vesica, name)
        assert name == "__version__" or inspect.getdoc(thing), name


def test_importing_needs_nothing_and_installs_nothing() -> None:
    run(
        "-c",
        "import signal, sys; before = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)]; import vesica;"
        "assert before == [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)];"
        "assert not {'pandas', 'polars', 'pyarrow', 'duckdb', 'numpy', 'tqdm'} & set(sys.modules)",
    )


def test_spark_does_not_come_with_the_package() -> None:
    run(
        "-c",
        "import sys; sys.modules['pyspark'] = None\n"
        "try: import vesica.spark\n"
        "except ImportError as error: assert 'pip install pyspark' in str(error), error\n"
        "else: raise SystemExit('imported')",
    )


def test_the_wheel_is_small() -> None:
    wheel = os.environ.get("VESICA_WHEEL")
    if wheel is None:
        pytest.skip("VESICA_WHEEL names the wheel; `make python-test` sets it")
    assert Path(wheel).stat().st_size <= 15 * 1000 * 1000
