"""More reports than one machine holds: count parts anywhere, as files, and add the counts up."""

from pathlib import Path

import numpy as np

import deniable as dn

schema = dn.Schema([dn.Flag("opted out"), dn.Choice("plan", ["free", "paid", "team"]), dn.Flag("crashed")])
plan = dn.Plan(schema, epsilon=3.0)
truth = dn.simulate.truth(schema, {"opted out": 0.2, "plan": [0.7, 0.2, 0.1], "crashed": 0.05})

# Each day writes a file. The plan travels inside it.
Path("days").mkdir(exist_ok=True)
for day in range(3):
    reports = dn.simulate.reports(truth, plan, 100_000, np.random.default_rng(day))
    reports.save(f"days/{day}.parquet")

# Two machines count their own files, in memory that does not grow with them, and save a few kilobytes.
dn.count(["days/0.parquet", "days/1.parquet"], order=2).save("here.npz")
dn.count("days/2.parquet", order=2).save("there.npz")
total = dn.Counts.load("here.npz") + dn.Counts.load("there.npz")
print(total)
print("the same as counting all at once:", total == dn.count("days/*.parquet", order=2))
print(dn.estimate(total, ["opted out", "plan"]).cell({"opted out": True, "plan": "team"}))

# Reports of another plan do not slip in.
try:
    total + dn.simulate.counts(truth, dn.Plan(schema, epsilon=4.0), np.random.default_rng(9), n=10)
except dn.CountError as error:
    print("refused:", str(error)[:60], "...")
