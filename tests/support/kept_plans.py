"""Plans whose answers are kept, listed once by name: sent as they are, or under a fresh coin."""

import deniable as dn

SCHEMA = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["18-29", "30-64", "65+"]), dn.Flag("drinker")])
SKIPPED = dn.Schema([dn.Flag("smoker", missing="no answer"), dn.Choice("town", list("uvwxyz"))])
ARMS = [["smoker", "age"], ["drinker"]]

KEPT: dict[str, dn.Plan] = {
    "one flag, sent again": dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0, repeat="keep"),
    "one flag, two rounds": dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=2.0, repeat="keep", epsilon_1=1.0),
    "a flag that leans, two rounds": dn.Plan(
        dn.Schema([dn.Flag("smoker")]), {"smoker": dn.RandomizedResponse(p=0.1, q=0.8)}, repeat="keep", epsilon_1=0.5
    ),
    "apart, two rounds": dn.Plan(SCHEMA, epsilon=3.0, repeat="keep", epsilon_1=2.0),
    "public, two rounds": dn.Plan(SCHEMA, {"age": dn.Public()}, epsilon=3.0, repeat="keep", epsilon_1=1.0),
    "arms, two rounds": dn.Plan(SCHEMA, epsilon=2.0, arms=ARMS, repeat="keep", epsilon_1=1.0),
    "assigned, two rounds": dn.Plan(SCHEMA, epsilon=2.0, arms=ARMS, assigned=True, repeat="keep", epsilon_1=1.0),
    "missing answers, two rounds": dn.Plan(
        SKIPPED, {("smoker", "town"): dn.GRR(epsilon=2.0)}, repeat="keep", epsilon_1=1.0
    ),
    "every protocol, sent again": dn.Plan(
        dn.Schema([dn.Choice(name, list("abcde")) for name in ("one", "two", "three", "four")]),
        {
            "one": dn.UnaryEncoding.optimized(1.0),
            "two": dn.SubsetSelection(epsilon=1.0),
            "three": dn.LocalHashing(epsilon=1.0),
            "four": dn.GRR(epsilon=1.0),
        },
        repeat="keep",
    ),
}
