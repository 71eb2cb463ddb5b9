"""Awkward situations, listed once by name: tests of every stage run over them."""

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
