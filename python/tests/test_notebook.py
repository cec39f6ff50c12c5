"""The tutorial runs from its first cell to its last, and shows what it did when it was written.

`UPDATE_DOCS=1` writes its outputs again. Cells with the tag `varies` keep none: each run has other keys and times.
"""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

TUTORIAL = Path(__file__).parents[2] / "examples" / "tutorial.ipynb"


def shown(cell: nbformat.NotebookNode) -> list[str]:
    """What a reader sees of a cell's outputs, pictures left out."""
    texts = [output.get("text") or output.get("data", {}).get("text/html") for output in cell.get("outputs", [])]
    return [text for text in texts if text]


def test_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    stored = nbformat.read(TUTORIAL, as_version=4)
    notebook = nbformat.read(TUTORIAL, as_version=4)
    # Its kernel is this Python.
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(TUTORIAL.parent)}}).execute()
    code = [(new, old) for new, old in zip(notebook.cells, stored.cells, strict=True) if new.cell_type == "code"]
    kinds = {kind for new, _ in code for output in new.outputs for kind in output.get("data", {})}
    assert {"image/png", "text/html"} <= kinds
    for new, old in code:
        if "varies" in old.metadata.get("tags", []):
            assert not old.outputs
        elif "UPDATE_DOCS" in os.environ:
            old.outputs = new.outputs
        else:
            assert shown(old) == shown(new), "UPDATE_DOCS=1 writes the outputs again"
            assert len(old.outputs) == len(new.outputs)
        assert old.execution_count is None
    if "UPDATE_DOCS" in os.environ:
        for output in (output for _, old in code for output in old.outputs if "execution_count" in output):
            output.execution_count = None
        nbformat.write(stored, TUTORIAL)
