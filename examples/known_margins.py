"""The register knows how many are old. Use it: conditioning on what is known makes the rest more precise."""

import numpy as np

import deniable as dn

schema = dn.Schema([dn.Flag("carer"), dn.Choice("age", ["under 40", "40 to 64", "65 and over"])])
plan = dn.Plan(schema, epsilon=2.0)

rng = np.random.default_rng(5)
truth = dn.simulate.truth(schema, [[0.42, 0.33, 0.05], [0.00, 0.05, 0.15]])  # rows: no, yes
counts = dn.count(dn.simulate.reports(truth, plan, 20_000, rng), ["carer", "age"])

people = dn.estimate(counts, ["carer", "age"])
margins = people.given({"age": {"under 40": 0.42, "40 to 64": 0.38, "65 and over": 0.20}})
zeros = margins.given(zeros=[{"carer": True, "age": "under 40"}])  # the law: carers are 40 or older

old = {"carer": True, "age": "65 and over"}
print("nothing known:       ", people.cell(old))
print("ages known:          ", margins.cell(old))
print("and no young carers: ", zeros.cell(old))
for condition in zeros.conditions:
    away = "says nothing new" if condition.distance is None else f"{condition.distance:+.1f} standard errors away"
    print(f"  {condition.what}: {away}")

try:
    margins.given({"age": {"65 and over": 0.25}})
except dn.EstimateError as error:
    print("refused:", error)
