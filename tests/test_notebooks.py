"""The notebooks run from top to bottom, and what their cells end in has an HTML picture."""

import ast
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def code_cells(notebook: Path) -> list[str]:
    """The code of a notebook, which must be of version 4 and hold no output, no matter who ran it last."""
    document = json.loads(notebook.read_text(encoding="utf-8"))
    cells = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert document["nbformat"] == 4
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    return ["".join(cell["source"]) for cell in cells]


def run_cell(code: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does: the value of its last line, unless that ends in a semicolon."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) and not code.endswith(";") else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_notebooks_run(
    notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    for script in EXAMPLES.glob("*.py"):
        shutil.copy(script, tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    values = [run_cell(code, names) for code in code_cells(notebook)]
    pyplot.close("all")
    shown = [value for value in values if value is not None and not (isinstance(value, str) or callable(value))]
    assert [type(value) for value in shown if not value._repr_html_().startswith("<")] == []
    assert len(shown) >= 3
    assert "p = " in capsys.readouterr().out


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS
