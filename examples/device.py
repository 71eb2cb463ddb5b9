"""What runs on a respondent's device: one file of the standard library. What the collector makes of its bytes."""

import deniable as dn
from deniable.client import report  # this file and the plan's JSON are all that a device needs

schema = dn.Schema([dn.Flag("pregnant"), dn.Choice("region", ["north", "south", "west"])])
plan_text = dn.Plan(schema, epsilon=2.0).to_json()

# On each device: an answer goes in, and bytes come out. Randomness is the operating system's, so there is no seed.
record = {"pregnant": True, "region": "north"}
sent = [report(record, plan_text) for _ in range(1_000)]
sent += [report({"pregnant": False, "region": "west"}, plan_text) for _ in range(1_000)]
print("lengths of 2 000 reports, in bytes:", {len(one) for one in sent})
print("different reports that one and the same record led to:", len(set(sent[:1_000])))

# At the collector: bytes and the plan, which is refused if anybody has changed it.
collected = dn.Reports.from_bytes(sent, dn.Plan.from_json(plan_text))
answer = dn.estimate(dn.count(collected, ["pregnant"]), ["pregnant"]).cell(pregnant=True)
low, high = answer.confidence_interval(1 - 1e-9)
print("the true share, one half, is in the interval:", low < 0.5 < high)
try:
    dn.Plan.from_json(plan_text.replace('"q": 47910', '"q": 65535'))
except dn.PlanError as error:
    print("refused:", str(error).split(":")[0])
