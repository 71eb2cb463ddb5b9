"""Plans of one question, one for each protocol."""

import deniable as dn
from tests.support.situations import values

PROTOCOLS = {
    "randomized response": dn.RandomizedResponse(epsilon=1.0),
    "randomized response, unequal": dn.RandomizedResponse(p=0.1, q=0.8),
    "GRR": dn.GRR(epsilon=1.0),
    "unary encoding": dn.UnaryEncoding.optimized(1.5),
    "subset selection": dn.SubsetSelection(epsilon=1.0, size=2),
    "local hashing": dn.LocalHashing(epsilon=0.7, buckets=3),
}
SCHEMAS = {True: dn.Schema([dn.Flag("x")]), False: dn.Schema([dn.Choice("x", values(5))])}


def plan_of(title: str) -> dn.Plan:
    return dn.Plan(SCHEMAS["response" in title], {"x": PROTOCOLS[title]})
