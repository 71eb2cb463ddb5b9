"""Awkward situations, listed once by name: tests of every stage run over them."""

import pytest

import deniable as dn


def values(m: int) -> list[str]:
    return [f"v{i}" for i in range(m)]


PLANS = {
    "one flag": dn.Plan(dn.Schema([dn.Flag("a")]), {"a": dn.RandomizedResponse(p=0.1, q=0.8)}),
    "one flag, nearly open": dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=30.0),
    "one flag, nearly mute": dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=1e-4),
    "two values": dn.Plan(dn.Schema([dn.Choice("a", values(2))]), {"a": dn.GRR(epsilon=1.0)}),
    "hashing two values": dn.Plan(dn.Schema([dn.Choice("a", values(2))]), {"a": dn.LocalHashing(epsilon=1.0)}),
    "40 values, unary": dn.Plan(dn.Schema([dn.Choice("a", values(40))]), {"a": dn.UnaryEncoding.symmetric(2.0)}),
    "4096 values, hashed": dn.Plan(dn.Schema([dn.Choice("a", values(4096))]), epsilon=3.0),
    "4096 values, GRR": dn.Plan(dn.Schema([dn.Choice("a", values(4096))]), {"a": dn.GRR(epsilon=8.0)}),
    "public alone": dn.Plan(dn.Schema([dn.Flag("a"), dn.Choice("b", values(3))]), {"a": dn.Public(), "b": dn.Public()}),
    "multi-select and ranges": dn.Plan(
        dn.Schema([dn.Flags("drugs", ["none", "tea", "<b>&"]), dn.Choice.bins("income", [-5, 0.5, 20, float("inf")])]),
        epsilon=2.5,
    ),
    "powers of two": dn.Plan(
        dn.Schema(
            [
                dn.Choice("grr 2", values(2)),
                dn.Choice("grr 256", values(256)),
                dn.Choice("hash 4", values(5)),
                dn.Choice("hash 8", values(4096)),
            ]
        ),
        {
            "grr 2": dn.GRR(epsilon=1.0),
            "grr 256": dn.GRR(epsilon=1.0),
            "hash 4": dn.LocalHashing(epsilon=1.0, buckets=4),
            "hash 8": dn.LocalHashing(epsilon=2.0, buckets=8),
        },
    ),
    "subsets": dn.Plan(
        dn.Schema(
            [
                dn.Choice("one of two", values(2)),
                dn.Choice("one", values(5)),
                dn.Choice("three", values(8)),
                dn.Choice("all but one", values(4)),
                dn.Flag("flag"),
            ]
        ),
        {
            "one of two": dn.SubsetSelection(epsilon=1.0),
            "one": dn.SubsetSelection(epsilon=2.0, size=1),
            "three": dn.SubsetSelection(epsilon=0.5, size=3),
            "all but one": dn.SubsetSelection(epsilon=1.0, size=3),
            "flag": dn.RandomizedResponse(epsilon=0.5),
        },
    ),
    "subsets of 41 values": dn.Plan(
        dn.Schema([dn.Choice("many", values(41))]), {"many": dn.SubsetSelection(epsilon=1.0)}
    ),
    "odd names": dn.Plan(
        dn.Schema([dn.Choice('größe "🎈" \\', ["<script>", "Ünïcode", "日本"]), dn.Flags("été", ["a/b", "c\\d"])]),
        epsilon=3.0,
    ),
    "everything mixed": dn.Plan(
        dn.Schema(
            [
                dn.Flag("flag"),
                dn.Choice("grr", values(5)),
                dn.Choice("oue", values(11)),
                dn.Choice("hash", values(9)),
                dn.Choice("arm", ["treated", "control"]),
                dn.Flag("wave two"),
                dn.Choice("sue", values(3)),
            ]
        ),
        {
            "flag": dn.RandomizedResponse(epsilon=0.5),
            "grr": dn.GRR(epsilon=1.0),
            "oue": dn.UnaryEncoding.optimized(2.0),
            "hash": dn.LocalHashing(epsilon=4.0, buckets=7),
            "arm": dn.Public(),
            "wave two": dn.Public(),
            "sue": dn.UnaryEncoding(p=0.25, q=0.75),
        },
    ),
}


def tiny(kind: str) -> tuple[dn.Plan, list[tuple[int, ...]]]:
    """A plan and the true codes of a few respondents, small enough to enumerate every joint outcome of a report."""
    flags = [dn.Flag("a"), dn.Flag("b")]
    match kind:
        case "flags":
            schema = dn.Schema(flags)
            protocols = {"a": dn.RandomizedResponse(p=0.1, q=0.8), "b": dn.RandomizedResponse(p=0.25, q=0.5)}
            people = [(0, 1), (1, 1), (1, 0)]
        case "GRR":
            schema = dn.Schema([dn.Choice("a", values(3)), dn.Choice("b", values(2))])
            protocols = {"a": dn.GRR(epsilon=1.0), "b": dn.GRR(epsilon=0.5)}
            people = [(2, 0), (2, 1), (0, 1)]
        case "unary":
            schema = dn.Schema([dn.Choice("a", values(3)), dn.Flag("b")])
            protocols = {"a": dn.UnaryEncoding(p=0.2, q=0.7), "b": dn.RandomizedResponse(epsilon=1.0)}
            people = [(1, 0), (1, 1), (2, 1)]
        case "hashing":
            schema = dn.Schema([dn.Choice("a", values(3)), dn.Choice("b", values(2))])
            protocols = {"a": dn.LocalHashing(epsilon=1.0, buckets=2), "b": dn.GRR(epsilon=1.0)}
            people = [(0, 0), (2, 1)]
        case "subsets":
            schema = dn.Schema([dn.Choice("a", values(4)), dn.Flag("b")])
            protocols = {"a": dn.SubsetSelection(epsilon=1.0, size=2), "b": dn.RandomizedResponse(p=0.2, q=0.7)}
            people = [(0, 1), (3, 0)]
        case _:
            schema = dn.Schema([dn.Choice("a", values(3)), dn.Flag("b"), dn.Choice("c", values(2))])
            protocols = {
                "a": dn.UnaryEncoding.optimized(1.0),
                "b": dn.RandomizedResponse(p=0.3, q=0.6),
                "c": dn.Public(),
            }
            people = [(0, 1, 1), (2, 0, 0)]
    return dn.Plan(schema, protocols), people


KINDS = ["flags", "GRR", "unary", "hashing", "subsets", "mixed"]
METHODS = ["unbiased", "centred", "consistent"]


MIXED = PLANS["everything mixed"]
FLAGS = dn.Plan(dn.Schema([dn.Flag(f"f{i}") for i in range(12)]), epsilon=12.0)
every_plan = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
