"""Several surveys of one population in one estimate: other people, other epsilons, partly other questions."""

import warnings

import numpy as np

import deniable as dn

vaccinated, doubts = dn.Flag("vaccinated"), dn.Flag("doubts")
age = dn.Choice("age", ["under 40", "40 to 64", "65 and over"])
spring = dn.Plan(dn.Schema([vaccinated, age]), epsilon=2.0, together=[["vaccinated", "age"]])
autumn = dn.Plan(
    dn.Schema([vaccinated, age, doubts]), epsilon=1.0, arms=[["vaccinated", "age"], ["vaccinated", "doubts"]]
)

# One population, of which each wave asks other people; not all of them everything.
of_all = dn.simulate.truth(autumn.schema, [
    (0.7, {"vaccinated": 0.9, "age": [0.3, 0.4, 0.3], "doubts": 0.1}),
    (0.3, {"vaccinated": 0.4, "age": [0.6, 0.3, 0.1], "doubts": 0.7}),
])  # fmt: skip
rng = np.random.default_rng(22)
counts = [
    dn.simulate.counts(dn.simulate.truth(spring.schema, of_all.shares.sum(axis=2)), spring, rng, n=6_000),
    dn.simulate.counts(of_all, autumn, rng, n=20_000),
]

for name, waves in (("spring", counts[:1]), ("autumn", counts[1:]), ("both", counts)):
    est = dn.estimate(waves, ["vaccinated", "age"])
    print(f"{name:6}  {est.asked:6,} asked   {est.cell(vaccinated=True, age='65 and over')}")
print("do they agree?", est.homogeneity)

# Where the population has changed in between, they do not, and one estimate of both would mean nothing.
changed = dn.simulate.truth(autumn.schema, {"vaccinated": 0.9, "age": [0.4, 0.4, 0.2], "doubts": 0.3})
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    dn.estimate([counts[0], dn.simulate.counts(changed, autumn, rng, n=20_000)], ["vaccinated", "age"])
print(caught[0].category.__name__, "-", str(caught[0].message).split(". ")[-1])
