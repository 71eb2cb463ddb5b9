"""What runs on a respondent's device: one file of the standard library. What the collector makes of its bytes."""

import deniable as dn
from deniable import client  # this file and the plan's JSON are all that a device needs

schema = dn.Schema([dn.Flag("pregnant"), dn.Choice("region", ["north", "south", "west"])])
plan = dn.Plan(schema, epsilon=2.0)
plan_text = plan.to_json()

# On each device: the plan is read and checked once, and what it promises can be shown to the respondent.
checked = client.read(plan_text)
print(client.promise(checked))

# An answer goes in, and bytes come out. Randomness is the operating system's, so there is no seed.
agreed = {"expect": plan.fingerprint, "at_most": 2.0}  # this plan alone, and no more than this
record = {"pregnant": True, "region": "north"}
sent = [client.report(record, checked, **agreed) for _ in range(1_000)]
sent += [client.report({"pregnant": False, "region": "west"}, checked, **agreed) for _ in range(1_000)]
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

# With arms, a device draws one before any answer is there, and only that one's questions need be asked.
in_arms = client.read(dn.Plan(schema, epsilon=2.0, arms=[["pregnant"], ["region"]]).to_json())
arm = client.draw_arm(in_arms)
answers = {question["name"]: record[question["name"]] for question in client.questions(in_arms, arm)}
print("answers needed, and bytes sent:", len(answers), len(client.report(answers, in_arms, arm=arm)))

# A column that is shown as it is must be agreed to.
try:
    client.report(record, dn.Plan(schema, {"region": dn.Public()}, epsilon=2.0).to_json())
except dn.PlanError as error:
    print("refused:", error)
