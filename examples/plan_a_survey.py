"""Plan a survey: who is asked what, what it will tell, what each question costs, and what a panel gives away."""

import deniable as dn

schema = dn.Schema([
    dn.Flag("smoker"),
    dn.Choice("age", ["18-29", "30-44", "45-64", "65+"]),
    dn.Flags("drinks", ["beer", "wine"]),
    dn.Choice("region", ["north", "east", "south", "west"]),
])  # fmt: skip
want = [("smoker", "age"), ("smoker", "drinks"), "region"]  # of each drink, a table with smoker
plan = dn.design(schema, epsilon=2.0, want=want, n=20_000)
for names in plan.want:
    print(f"{' x '.join(names):22} +- {100 * plan.expect(*names).half_width:.1f} points")

guess = {"smoker": 0.2, "drinks: beer": 0.5}
print(plan.detectable("smoker", "drinks: beer", guess=guess))
found = plan.interval("smoker", "drinks: beer", correlation=0.1, guess=guess)
print(f"a correlation of 0.1 will have an interval, with a chance of {found.chance:.0%}")

print(plan.costs())
smaller = plan.without("region")
print(f"without region: smoker x age +- {100 * smaller.expect('smoker', 'age').half_width:.1f} points")

modest = dn.design(schema, want=want, n=20_000, half_width=0.03)
print(f"3 points everywhere take epsilon {modest.epsilon:.2f}")
print(dn.budget([plan, modest], waves=6))
