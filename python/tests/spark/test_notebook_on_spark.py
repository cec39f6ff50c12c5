"""The notebook for data engineers runs from its first cell to its last."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[3] / "examples" / "spark.ipynb"


def test_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=280, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    shown = "".join(
        str(output.get("data", output.get("text"))) for cell in notebook.cells for output in cell.get("outputs", [])
    )
    # Rows, one of them with quotes, what was learned, requirements, and the error.
    for words in (
        "1004",
        'Hugo "Hugão" Silva',
        "which of my keys they are",
        "spark.executor.memoryOverhead",
        "has no column",
    ):
        assert words in shown, words


def test_no_outputs_are_kept() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") and not cell.get("execution_count") for cell in notebook.cells)
