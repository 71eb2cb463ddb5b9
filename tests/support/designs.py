"""Plans of blocks and arms, listed once by name: tests of every stage run over them."""

from itertools import combinations
from math import inf

import pytest

import deniable as dn
from tests.support.situations import values


def flags(count: int) -> dn.Schema:
    """So many flags, f0 and on."""
    return dn.Schema([dn.Flag(f"f{i}") for i in range(count)])


def subsets(schema: dn.Schema, size: int) -> list[list[str]]:
    """All sets of so many questions, as arms are given."""
    return [list(names) for names in combinations(schema.names, size)]


TRIO = dn.Schema([dn.Flag("smoker"), dn.Choice("age", values(3)), dn.Choice("town", values(5))])
WITH_REGION = dn.Schema([dn.Choice("region", values(3)), *TRIO, dn.Flag("invited")])
SHOWN = {"region": dn.Public(), "invited": dn.Public()}
SELECTED = dn.Schema(
    [dn.Flag("smoker"), dn.Flags("drinks", ["tea", "beer"]), dn.Choice.bins("income", [0, 10, 20.5, inf])]
)

SKIPPED = dn.Schema(
    [
        dn.Flag("smoker", missing="no answer", label="Do you smoke?", help="Cigars too"),
        dn.Choice("age", ["young", "refused", "old"], missing="refused", labels={"old": "65 or older"}),
        dn.Choice.bins("income", [0, 10, inf], missing="no answer"),
        dn.Flags("drinks", ["tea", "beer"], missing="skipped", label="What do you drink?", labels={"tea": "Tea"}),
        dn.Flag("last"),
        dn.Flag("invited", missing="not known"),
    ]
)

DESIGNS = {
    "two flags in one block": dn.Plan(flags(2), epsilon=1.0, together=[["f0", "f1"]]),
    "blocks beside questions alone": dn.Plan(
        dn.Schema([*TRIO, dn.Flag("last")]), epsilon=3.0, together=[["smoker", "town"]]
    ),
    "blocks of every protocol": dn.Plan(
        dn.Schema([dn.Flag(f"{kind} {i}") for i in range(2) for kind in ("grr", "sets", "unary", "hash")]),
        {
            ("grr 0", "grr 1"): dn.GRR(epsilon=1.0),
            ("sets 0", "sets 1"): dn.SubsetSelection(epsilon=1.0, size=2),
            ("unary 0", "unary 1"): dn.UnaryEncoding.optimized(1.0),
            ("hash 0", "hash 1"): dn.LocalHashing(epsilon=1.0, buckets=3),
        },
    ),
    "multi-select and ranges in blocks": dn.Plan(SELECTED, epsilon=2.0, together=[["drinks", "income"]]),
    "a block of 4096 combinations": dn.Plan(flags(12), epsilon=4.0, together=[[f"f{i}" for i in range(12)]]),
    "two arms": dn.Plan(flags(2), epsilon=1.0, arms=[["f0"], ["f1"]]),
    "arms of unequal length": dn.Plan(
        TRIO,
        {"town": dn.LocalHashing(epsilon=2.0, buckets=4)},
        epsilon=2.0,
        arms={("smoker", "age"): 0.5, ("town",): 0.3, ("smoker",): 0.2},
    ),
    "arms of several blocks": dn.Plan(
        TRIO, epsilon=2.0, arms=[[["smoker", "town"], ["age"]], ["smoker", "age"], ["town"]]
    ),
    "unequal epsilons": dn.Plan(
        TRIO,
        {("smoker", "age"): dn.GRR(epsilon=3.0), ("town",): dn.UnaryEncoding.symmetric(0.5)},
        arms={("smoker", "age"): 1, ("town",): 2},
        unequal=True,
    ),
    "one draw in 65 536": dn.Plan(flags(3), epsilon=1.0, arms={("f0",): 65534, ("f1",): 1, ("f2",): 1}),
    "assigned": dn.Plan(
        TRIO, epsilon=1.0, arms={"panel A": ["smoker", "age"], "panel B": ["age", "town"]}, assigned=True
    ),
    "public in every arm": dn.Plan(
        WITH_REGION, SHOWN, epsilon=2.0, arms=[["smoker", "age"], ["age", "town"], ["town"]]
    ),
    "public beside a block": dn.Plan(WITH_REGION, SHOWN, epsilon=2.0, together=[["smoker", "age", "town"]]),
    "multi-select and ranges in arms": dn.Plan(
        SELECTED, epsilon=2.0, arms=[["smoker", "drinks"], ["drinks", "income"], ["smoker", "income"]]
    ),
    "one question in two arms": dn.Plan(
        dn.Schema([dn.Flag("smoker"), dn.Choice('größe "🎈"', ["<b>", "Ünïcode", "日本"])]),
        epsilon=1.5,
        arms={"both, together": ["smoker", 'größe "🎈"'], "both, apart": [["smoker"], ['größe "🎈"']]},
    ),
    "missing answers alone": dn.Plan(
        SKIPPED,
        {
            "smoker": dn.UnaryEncoding.optimized(1.0),
            "age": dn.SubsetSelection(epsilon=1.0, size=2),
            "income": dn.LocalHashing(epsilon=1.0, buckets=2),
            "invited": dn.Public(),
        },
        epsilon=4.0,
    ),
    "missing answers in blocks": dn.Plan(SKIPPED, epsilon=3.0, together=[["smoker", "income"], ["age", "drinks"]]),
    "missing answers in arms": dn.Plan(
        SKIPPED,
        {"invited": dn.Public()},
        epsilon=2.0,
        arms=[["smoker", "age"], ["drinks"], [["smoker"], ["income", "last"]]],
    ),
    "labels alone": dn.Plan(
        dn.Schema([dn.Flag("smoker", label="Do you smoke?"), dn.Choice("age", values(3), labels={"v1": "one"})]),
        epsilon=2.0,
    ),
    "8 flags in threes": dn.Plan(flags(8), epsilon=1.0, arms=subsets(flags(8), 3)),
    "16 flags in threes": dn.Plan(flags(16), epsilon=1.0, arms=subsets(flags(16), 3)),
}
every_design = pytest.mark.parametrize("plan", DESIGNS.values(), ids=DESIGNS.keys())
