"""The tutorial runs from its first cell to its last."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

TUTORIAL = Path(__file__).parents[2] / "examples" / "tutorial.ipynb"


def test_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(TUTORIAL, as_version=4)
    # Its kernel is this Python.
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(TUTORIAL.parent)}}).execute()
    kinds = {kind for cell in notebook.cells for output in cell.get("outputs", []) for kind in output.get("data", {})}
    assert {"image/png", "text/html"} <= kinds


def test_no_outputs_are_kept() -> None:
    notebook = nbformat.read(TUTORIAL, as_version=4)
    assert all(not cell.get("outputs") and not cell.get("execution_count") for cell in notebook.cells)
