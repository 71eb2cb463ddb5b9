"""Bugs planted in client and bulk code: the tests of all 65 536 draws catch them."""

from typing import Any

import pytest

import deniable as dn
from tests.support.all_draws import Perturbed, by_bulk, by_client, check_all_draws, single
from tests.support.situations import values
from tests.support.wrong_clients import (
    WRONG_SETS,
    off_by_one,
    plant_inclusive,
    plant_swapped,
    plant_unrandomized,
    plant_unrejected,
)

RR, UE, GRR_7, HASHED, SETS = (
    single(MIXED_7, name)
    for MIXED_7 in [
        dn.Plan(
            dn.Schema([dn.Flag("rr"), *(dn.Choice(name, values(7)) for name in ("ue", "grr", "lh", "ss"))]),
            {
                "rr": dn.RandomizedResponse(p=0.1, q=0.8),
                "ue": dn.UnaryEncoding(p=0.2, q=0.7),
                "grr": dn.GRR(epsilon=1.0),
                "lh": dn.LocalHashing(epsilon=1.0, buckets=7),
                "ss": dn.SubsetSelection(epsilon=1.0, size=3),
            },
        )
    ]
    for name in ("rr", "ue", "grr", "lh", "ss")
)
BITS, COINS = (("rr", RR), ("ue", UE)), (("grr", GRR_7), ("lh", HASHED))
PLANTED = {
    "p off by one": (off_by_one("p"), BITS),
    "q off by one": (off_by_one("q"), BITS),
    "keep off by one": (off_by_one("keep"), COINS),
    "threshold inclusive": (plant_inclusive, (*BITS, *COINS)),
    "p and q swapped": (plant_swapped, BITS),
    "left unrandomized": (plant_unrandomized, (*BITS, *COINS)),
    "nothing drawn again": (plant_unrejected, COINS),
    **{f"sets, {title}": (plant, (("ss", SETS),)) for title, plant in WRONG_SETS.items()},
}


@pytest.mark.slow
@pytest.mark.parametrize("perturbed", [by_client, by_bulk])
@pytest.mark.parametrize(
    ("plant", "plan"),
    [
        pytest.param(plant, plan, id=f"{title}, {kind}")
        for title, (plant, plans) in PLANTED.items()
        for kind, plan in plans
    ],
)
def test_planted_bugs_are_caught(
    plant: Any, plan: dn.Plan, perturbed: Perturbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    refused = (dn.ReportError,) if plan is SETS else ()  # sets of another size cannot be reports at all
    with pytest.raises((AssertionError, *refused)):
        check_all_draws(plan, perturbed)
