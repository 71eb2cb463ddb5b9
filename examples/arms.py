"""Many questions, few of each person: every three of eight are an arm, randomized together with all of epsilon."""

from itertools import combinations

import numpy as np

import deniable as dn

names = ["in debt", "gambles", "drinks daily", "lonely", "sleepless", "in therapy", "smokes", "jobless"]
schema = dn.Schema([dn.Flag(name) for name in names])
plan = dn.Plan(schema, epsilon=2.0, arms=[list(three) for three in combinations(names, 3)])
print(f"{len(plan.arms)} arms of 3 questions, epsilon {plan.epsilon:.3f}")

# Made-up respondents: more gamblers are in debt, and more of those who are lonely or in debt sleep badly.
rng = np.random.default_rng(12)
n = 20_000
answers = {name: rng.random(n) < 0.2 for name in names}
answers["in debt"] |= answers["gambles"] & (rng.random(n) < 0.5)
answers["sleepless"] |= (answers["lonely"] | answers["in debt"]) & (rng.random(n) < 0.4)

# Each person is put into an arm by chance; answers to other questions are never looked at.
counts = dn.count(dn.randomize(answers, plan, rng=rng))
est = dn.estimate(counts, ["gambles", "in debt"])
print(f"{est.asked:,} of {est.n:,} were asked both")
print("in debt, gamblers less others:", est.difference("in debt", between=("gambles", True, False)))

# Every pair stands in some arm, so that all of them can be ranked.
for row in dn.associations(counts).to_pylist()[:3]:
    print(f"  {row['first']:9} {row['second']:10} {row['effect']:6.3f}  ({row['low']:6.3f} to {row['high']:5.3f})")

# The same people, asked all eight questions, each answer apart with an eighth of epsilon:
apart = dn.count(dn.randomize(answers, dn.Plan(schema, epsilon=2.0), rng=rng))
wide = dn.estimate(apart, ["gambles", "in debt"])
errors = [one.cell({"gambles": True, "in debt": True}).stderr for one in (est, wide)]
print("standard error of who does both: {:.4f}, asked everything {:.4f}".format(*errors))
print(f"so it would take {(errors[1] / errors[0]) ** 2:.0f} times as many people")
