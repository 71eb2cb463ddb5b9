"""A table that is a distribution: nothing negative. And synthetic records drawn from it, for code that wants rows."""

import numpy as np

import deniable as dn

schema = dn.Schema([dn.Flag("uses drugs"), dn.Choice("drives", ["never", "sometimes", "daily"])])
plan = dn.Plan(schema, epsilon=2.0)

rng = np.random.default_rng(7)
truth = dn.simulate.truth(schema, [[0.25, 0.30, 0.38], [0.05, 0.02, 0.00]])  # nobody who does drives daily
reports = dn.simulate.reports(truth, plan, 4_000, rng)
counts = dn.count(reports, ["uses drugs", "drives"])

unbiased = dn.estimate(counts, ["uses drugs", "drives"]).table().to_pylist()
proper = dn.estimate(counts, ["uses drugs", "drives"], method="feasible")
print("uses drugs  drives     unbiased   proper   interval of the proper one")
for raw, row in zip(unbiased, proper.table().to_pylist(), strict=True):
    shares = f"{raw['proportion']:8.2%} {row['proportion']:8.2%}"
    print(f"{row['uses drugs']!s:10}  {row['drives']:9} {shares}   {row['low']:.2%} to {row['high']:.2%}")

print("three synthetic records:", *proper.sample(3, rng).to_pylist(), sep="\n  ")
