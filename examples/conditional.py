"""What share of those who...? Conditional shares, their difference and their ratio."""

import numpy as np

import deniable as dn

schema = dn.Schema([dn.Choice("age", ["18-34", "35-59", "60+"]), dn.Flag("vaped")])
plan = dn.Plan(schema, epsilon=4.0)

rng = np.random.default_rng(8)
truth = dn.simulate.truth(schema, [[0.18, 0.12], [0.36, 0.09], [0.248, 0.002]])  # rows are ages: no, yes
counts = dn.count(dn.simulate.reports(truth, plan, 30_000, rng), ["age", "vaped"])

# About the population the respondents were drawn from, so the sampling is in the intervals too.
est = dn.estimate(counts, ["age", "vaped"])
for row in est.conditional("vaped", given="age").to_pylist():
    if row["vaped"]:
        print(f"vaped, of those aged {row['age']}: {row['proportion']:.1%} ({row['low']:.1%} to {row['high']:.1%})")

print("the young less the middle-aged:", est.difference("vaped", between=("age", "18-34", "35-59")))
print("the young over the middle-aged:", est.ratio("vaped", between=("age", "18-34", "35-59")))

# The old vape so seldom that their share may be none at all: one cannot divide by it, and is told so.
print("the young over the old:", est.ratio("vaped", between=("age", "18-34", "60+")))
