"""The table of the page about designs, against the closed form that its picture is drawn from."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
ROW = re.compile(
    r"^\| (\d+) (flags|choices of 4), (pairs|triples|single shares) \| (\d+) "
    r"\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \((\d)\) \| ([\d ]+) \|$",
    re.M,
)
ROWS = ROW.findall((DOCS / "explain" / "designs.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "pictures" / "make_designs.py"))


def test_the_table_has_all_its_rows() -> None:
    assert len(ROWS) == 9


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(row[:4]))
def test_the_table_is_the_closed_form(row: tuple[str, ...], script: dict[str, Any]) -> None:
    number, kind, tables, epsilon, *errors = row
    order = {"single shares": 1, "pairs": 2, "triples": 3}[tables]
    setting = (int(number), 2 if kind == "flags" else 4, order, float(epsilon))
    everybody, apart, (together, k) = (script[name](*setting) for name in ("all_asked", "some_apart", "one_block"))
    assert [float(error) for error in errors[:3]] == pytest.approx([everybody, apart, together], rel=0.005)
    assert int(errors[3]) == k
    assert int(errors[4].replace(" ", "")) == pytest.approx((everybody / together) ** 2, rel=0.04)


def test_the_closed_form_of_flags_is_that_of_randomized_response(script: dict[str, Any]) -> None:
    """Every answer alone: a bit that is right with q has a contrast of variance 1 / (2q - 1)^2."""
    import deniable as dn

    q = dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=1.0)["a"].q
    assert script["variance"](2, 1, 1.0) == pytest.approx(1 / (2 * q - 1) ** 2)
    both = dn.Plan(dn.Schema([dn.Choice("a", ["x", "y"])]), {"a": dn.GRR(epsilon=1.0)})["a"]
    noise = both.dependence.noise
    assert 2 * noise.c0 + noise.alpha + 1 == pytest.approx(1 / (2 * both.q - 1) ** 2)
