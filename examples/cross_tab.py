"""How many give both answers? A cross-tab with intervals, from randomized answers alone."""

import numpy as np

import deniable as dn

# What is asked, and a budget for one whole report: the odds of nobody's answers change by more than e^3, 20 times.
schema = dn.Schema([dn.Flag("in debt"), dn.Choice("work", ["employed", "self-employed", "none"])])
plan = dn.Plan(schema, epsilon=3.0)

# A made-up truth stands in for 20 000 respondents; each answer is randomized by itself.
rng = np.random.default_rng(1)
kinds = [
    (0.7, {"in debt": 0.2, "work": [0.8, 0.1, 0.1]}),  # most people
    (0.3, {"in debt": 0.6, "work": [0.3, 0.3, 0.4]}),  # and those who struggle
]
reports = dn.simulate.reports(dn.simulate.truth(schema, kinds), plan, 20_000, rng)

# Count what occurs together, and take the noise off.
est = dn.estimate(dn.count(reports, ["in debt", "work"]), ["in debt", "work"])
print("in debt  work            share    95 % interval")
for row in est.table().to_pylist():
    print(f"{row['in debt']!s:7}  {row['work']:14} {row['proportion']:6.1%}   {row['low']:6.1%} to {row['high']:6.1%}")
