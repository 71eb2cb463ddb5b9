"""Has it changed? Two surveys of different people, randomized by different plans."""

import numpy as np

import deniable as dn

schema = dn.Schema([dn.Flag("cheated on taxes"), dn.Flag("trusts the state")])
first = dn.Plan(schema, epsilon=4.0)
second = dn.Plan(schema, epsilon=3.0)  # the second wave promised more privacy

rng = np.random.default_rng(4)
names = ["cheated on taxes", "trusts the state"]
waves = []
for plan, shares in ((first, [[0.25, 0.55], [0.12, 0.08]]), (second, [[0.32, 0.53], [0.10, 0.05]])):
    reports = dn.simulate.reports(dn.simulate.truth(schema, shares), plan, 40_000, rng)
    waves.append(dn.estimate(dn.count(reports, names), names))

print("cheated  trusts   before   after   change   95 % interval")
for row in dn.compare(*waves).to_pylist():
    cheated, trusts = (str(row[name]) for name in names)
    numbers = f"{row['before']:6.1%}  {row['after']:6.1%}  {row['difference']:+7.1%}"
    print(f"{cheated:7}  {trusts:6}  {numbers}   {row['low']:+.1%} to {row['high']:+.1%}")

# Different respondents also add up, whatever their plans.
both = waves[0] + waves[1]
print(f"both waves, {both.n:,} respondents: cheated {both.cell({'cheated on taxes': True})}")
